"""scikit-learn's checks of estimators, as cases of a test."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks


def every_check(estimators: list[Any], **choices: Any) -> pytest.MarkDecorator:
    """Return `parametrize_with_checks` with a list of cases: that of scikit-learn 1.8 has a generator, of which pytest warns."""
    mark = parametrize_with_checks(estimators, **choices).mark
    names, cases = mark.args
    return pytest.mark.parametrize(names, list(cases), **mark.kwargs)
