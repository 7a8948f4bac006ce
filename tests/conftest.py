"""Settings and fixtures that every test shares."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# No deadline: how long an example takes says something about the machine, nothing about the code.  The same examples in every
# run, so that a failure points at the last change; `pytest --hypothesis-profile=search` looks for new ones.
settings.register_profile("fasttree", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("few", deadline=None, derandomize=True, max_examples=15)  # for the slow build with bounds checks
settings.register_profile("nightly", deadline=None, max_examples=200, print_blob=True)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("fasttree")


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    """Make `random_state=None` draw the same numbers in each run, whatever ran before."""
    np.random.seed(0)  # noqa: NPY002  # the generator that scikit-learn uses then


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with the larger data sets and oracles, named by FASTTREE_SHARED; tests that need it are skipped without it."""
    folder = os.environ.get("FASTTREE_SHARED", "")
    if not Path(folder, "data").is_dir():
        pytest.skip("larger data sets: set FASTTREE_SHARED to the folder that holds data/ and reference/")
    return Path(folder)


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder with the small tables that ship with the tests."""
    return Path(__file__).parent / "tables"


@pytest.fixture(scope="session")
def oracles() -> Path:
    """Folder with figures that other programs computed."""
    return Path(__file__).parent / "oracles"
