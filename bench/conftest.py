"""Options of the benchmarks."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rows", type=int, default=3_000, help="most rows of a table (default 3,000: the answers, hardly the times)"
    )


@pytest.fixture(scope="session")
def most_rows(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--rows"))
