"""Explanation of one prediction of boosted trees: how the trials vote."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._explain.follow import shares_text
from fasttree._model.words import by_target, percent, word

__all__ = ["Vote", "VoteExplanation", "explain_vote"]


@dataclass(frozen=True)
class Vote:
    """The vote of a trial.

    Attributes
    ----------
    trial : int
        Its number, as in `estimators_`.
    prediction : object
        The class that its tree predicts.
    confidence : float
        Share of the class in the leaf, which the class gets as a vote.
    """

    trial: int
    prediction: Any
    confidence: float


@dataclass(frozen=True)
class VoteExplanation:
    """How boosted trees come to a prediction.

    Attributes
    ----------
    prediction : object
        The class with the most votes.
    probabilities : dict
        Share of each class in the votes.
    votes : tuple of Vote
        One per trial.

    Examples
    --------
    >>> from fasttree import C50Classifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> C50Classifier(trials=4).fit(X, y).explain(X[70]).votes[0]
    Vote(trial=0, prediction=2, confidence=0.9782608695652174)
    """

    prediction: Any
    probabilities: dict[Any, float]
    votes: tuple[Vote, ...]
    _text: str = field(repr=False)

    def __str__(self) -> str:
        return self._text

    def to_dict(self) -> dict[str, Any]:
        """Return the data as plain values, for JSON."""
        return {
            "prediction": self.prediction,
            "probabilities": dict(self.probabilities),
            "votes": [vars(vote) for vote in self.votes],
        }


def explain_vote(votes: NDArray[np.float64], chosen: int, classes: NDArray[Any], shown: Any) -> VoteExplanation:
    """Explain the prediction for one sample.

    Parameters
    ----------
    votes : ndarray, shape (n_trials, n_classes)
        Confidence of each trial in the class that it predicts; 0 for the others.
    chosen : int
        Code of the predicted class.
    classes, shown : ndarray
        The classes, and their words.
    """
    labels = [word(label) for label in by_target(shown)[0].tolist()]
    names, total = classes.tolist(), votes.sum(axis=0)
    shares = total / total.sum()
    codes = votes.argmax(axis=1).tolist()
    found = tuple(Vote(i, names[code], float(votes[i, code])) for i, code in enumerate(codes))
    n_agreeing = codes.count(chosen)
    lines = [f"prediction: {labels[chosen]}  ({shares_text(labels, shares)}), as {n_agreeing} of {len(codes)} trials"]
    lines += [f"  trial {i}: {labels[code]}, confidence {percent(found[i].confidence)}" for i, code in enumerate(codes)]
    return VoteExplanation(names[chosen], dict(zip(names, shares.tolist(), strict=True)), found, "\n".join(lines))
