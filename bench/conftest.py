"""Options of the benchmarks."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--large", action="store_true", help="full tables, 100,000 rows and more: takes many minutes")


@pytest.fixture(scope="session")
def large(request: pytest.FixtureRequest) -> bool:
    """Whether the full tables are wanted."""
    return bool(request.config.getoption("--large"))
