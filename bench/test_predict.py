"""Prediction: answers checked, then both sides timed."""

from typing import Any

from .cases import Case
from .duels import check_and_time, of_subject


@of_subject("predict")
def test_predicts_what_scikit_learn_predicts(benchmark: Any, case: Case, side: str, large: bool) -> None:
    check_and_time(benchmark, case, side, large)
