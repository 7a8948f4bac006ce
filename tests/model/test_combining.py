"""How an ensemble combines its trees: a plain program predicts the same, and files keep it."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_iris

from fasttree import CARTClassifier, CARTRegressor
from fasttree._data.schema import Feature, Kind, Schema
from fasttree._export.document.forests import read_ensemble, written_ensemble
from fasttree._export.document.values import DocumentError
from fasttree._learn.forest.out_of_bag import wrong
from fasttree._model.ensemble import COMBINE, Ensemble
from fasttree._model.tree import EQUAL_LOSSES

LOSS = np.array([[0, 1, 6], [1, 0, 1], [3, 2, 0]], dtype=float)
WEIGHTS = [0.5, 2.0, 0.25, 1.0]
SCHEMA = Schema(tuple(Feature(f"x{j}", Kind.CONTINUOUS) for j in range(4)), True)
CASES = {
    "packed": (CARTClassifier(max_depth=2), False),
    "losses": (CARTClassifier(max_depth=2, loss_matrix=LOSS), False),
    "fractional": (CARTClassifier(max_depth=2, missing="fractional"), False),
    "two targets": (CARTClassifier(max_depth=2), True),
    "numbers": (CARTRegressor(max_depth=3), False),
    "two numbers": (CARTRegressor(max_depth=3), True),
}


@pytest.fixture(scope="module")
def grown():
    """Some trees of every kind, and rows with missing values that they predict."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(150) < 0.3, rng.integers(0, 3, 150), y)
    y = np.where(rng.random(150) < 0.3, rng.integers(0, 3, 150), y)
    X[rng.random(X.shape) < 0.1] = np.nan
    trees = {}
    for name, (model, several) in CASES.items():
        target = np.column_stack([y, noisy % 2]) if several else y
        trees[name] = [model.fit(X, target, rng.integers(0, 3, 150).astype(float)).tree_ for _ in WEIGHTS]
    return trees, X[::3]


def ensemble(trees, **choices):
    return Ensemble.pack(trees, task=trees[0].task, n_features=4, impurity=choices.pop("impurity", "gini"), **choices)


def by_hand(whole, X, weights, combine):
    """What the trees predict together, row by row and tree by tree, from the predictions of each tree alone."""
    trees = [Ensemble([tree], task=whole.task, n_features=4, impurity="gini") for tree in whole.trees()]
    values = [tree.sums(X) for tree in trees]
    widths = whole.outputs or (values[0].shape[1],)
    found = []
    for row in range(len(X)):
        total = [Fraction(0)] * sum(widths)
        for weight, value in zip(weights, values, strict=True):
            first = 0
            for width in widths:
                part = [Fraction(float(v)) for v in value[row, first : first + width]]
                if combine in ("vote", "confidence"):
                    best = choice(value[row, first : first + width], whole.loss)
                    sure = Fraction(1) if combine == "vote" else confidence(part, best, whole.loss)
                    part = [sure if k == best else Fraction(0) for k in range(width)]
                for k in range(width):
                    total[first + k] += Fraction(weight) * part[k]
                first += width
        first = 0
        for width in widths:
            by = {"sum": 1, "confidence": sum(total[first : first + width])}.get(combine, sum(map(Fraction, weights)))
            total[first : first + width] = [v / by for v in total[first : first + width]]
            first += width
        found.append([float(v) for v in total])
    return np.array(found)


def choice(shares, loss):
    expected = [-share for share in shares] if loss is None else (shares @ loss).tolist()
    least = min(expected)
    return next(
        k for k, cost in enumerate(expected) if cost == least or (loss is not None and cost <= least * (1 + EQUAL_LOSSES))
    )


def confidence(shares, best, loss):
    if loss is None:
        return shares[best]
    expected = [sum(share * Fraction(float(loss[i][k])) for i, share in enumerate(shares)) for k in range(len(shares))]
    return 1 - expected[best] / sum(expected)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("combine", COMBINE)
def test_a_plain_program_predicts_the_same(grown, name, weights, combine):
    trees, X = grown[0][name], grown[1]
    if combine in ("vote", "confidence") and trees[0].task == "regression":
        return
    whole = ensemble(trees, weights=weights, combine=combine, impurity="gini" if "number" not in name else "squared_error")
    assert (whole.packed is not None) == (name in ("packed", "numbers"))
    found, expected = whole.predict(X), by_hand(whole, X, weights or [1] * 4, combine)
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert (whole.predict(X, n_jobs=3) == found).all()
    if combine != "sum" and trees[0].task == "classification":
        assert np.allclose(found.sum(axis=1), len(whole.outputs or [0]))
    assert (sum(whole.sums(X, i, i + 1) for i in range(4)) == whole.sums(X)).all()


def test_votes_have_taken_losses_into_account(grown):
    """The most frequent class of the trees is predicted, not the one of least loss by the shares of votes."""
    trees, X = grown[0]["losses"], grown[1]
    votes = ensemble(trees, combine="vote")
    shares = votes.predict(X)
    codes = votes.predicted_codes(shares)[:, 0]
    assert (codes == shares.argmax(axis=1)).all()
    by_loss = ensemble(trees).predicted_codes(shares)[:, 0]
    assert (codes != by_loss).any()
    assert (wrong(votes, shares, by_loss) == (codes != by_loss)).all()


def test_a_class_without_a_share_may_win_by_its_losses():
    """It costs 1 of 10, the others 4.5 each: its vote is 0.9, beside that of a tree for another class."""
    loss = [[0, 9, 1], [9, 0, 1], [9, 9, 0]]
    even = CARTClassifier(loss_matrix=loss).fit([[0.0]] * 4 + [[1.0]], [0, 1, 0, 1, 2]).tree_
    sure = CARTClassifier(loss_matrix=loss).fit([[0.0]] * 4 + [[1.0], [2.0]], [0, 0, 0, 0, 2, 1]).tree_
    both = Ensemble([even, sure], task="classification", n_features=1, impurity="gini", combine="confidence")
    assert both.predict(np.array([[0.0]]))[0] == pytest.approx([1 / 1.9, 0, 0.9 / 1.9])


def test_weights_follow_the_trees(grown):
    trees, X = grown[0]["packed"], grown[1]
    whole = ensemble(trees, weights=WEIGHTS, combine="vote")
    first, rest = (
        ensemble(trees[:1], weights=WEIGHTS[:1], combine="vote"),
        ensemble(trees[1:], weights=WEIGHTS[1:], combine="vote"),
    )
    assert first.joined(rest) == whole
    assert whole.prefix(1) == first
    assert pickle.loads(pickle.dumps(whole)) == whole
    assert whole != ensemble(trees, combine="vote")
    assert whole != ensemble(trees, weights=WEIGHTS)
    assert whole != ensemble(trees, weights=WEIGHTS[::-1], combine="vote")
    assert ensemble(trees, weights=[*WEIGHTS[:1], 1, 1, 1]) == ensemble(trees[:1], weights=WEIGHTS[:1]).joined(
        ensemble(trees[1:])
    )
    assert ensemble(trees, weights=np.ones(4)) != ensemble(trees)
    assert (ensemble(trees, weights=np.ones(4)).predict(X) == ensemble(trees).predict(X)).all()
    assert not whole.weights.flags.writeable
    assert repr(whole).endswith("combined by vote>")
    assert ensemble(trees).is_plain_mean
    assert not whole.is_plain_mean
    with pytest.raises(ValueError, match="combine by 'vote' and 'mean' cannot be joined"):
        whole.joined(ensemble(trees))


@pytest.mark.parametrize(
    ("choices", "match"),
    [
        ({"combine": "median"}, "combine='median': must be one of mean, sum, vote, confidence"),
        ({"weights": [1.0, 2.0]}, r"the shape must be \(4,\), .*got \(2,\)"),
        ({"weights": [[1.0] * 4]}, "shape"),
        ({"weights": [1, 1, 1, 0]}, "positive and finite"),
        ({"weights": [1, 1, 1, -1], "combine": "vote"}, "positive and finite"),
        ({"weights": [1, 1, 1, np.nan], "combine": "sum"}, "must be finite"),
        ({"weights": [1e308] * 4}, "their sum must be finite"),
    ],
)
def test_a_wrong_combination_is_refused(grown, choices, match):
    with pytest.raises(ValueError, match=match):
        ensemble(grown[0]["packed"], **choices)


def test_numbers_do_not_vote(grown):
    with pytest.raises(ValueError, match="combine='vote' is for classes"):
        ensemble(grown[0]["numbers"], combine="vote", impurity="squared_error")
    assert ensemble(grown[0]["numbers"], weights=[1, -1, 0, 2], combine="sum").weights.tolist() == [1, -1, 0, 2]


# Documents


def written(whole):
    return {"task": whole.task, **written_ensemble(whole, SCHEMA, np.arange(3))}


def read(document):
    return read_ensemble(document, SCHEMA, (3,), None, "gini")


@pytest.mark.parametrize("name", ["packed", "fractional"])
def test_a_document_keeps_the_combination(grown, name):
    for choices in ({}, {"combine": "vote"}, {"weights": WEIGHTS}, {"weights": [0.1, -1 / 3, 0, 5], "combine": "sum"}):
        whole = ensemble(grown[0][name], **choices)
        document = written(whole)
        assert read(document).weights is None or (read(document).weights == whole.weights).all()
        assert read(document).combine == whole.combine
        assert (read(document).predict(grown[1]) == whole.predict(grown[1])).all()
    assert not {"combine", "weights"} & written(ensemble(grown[0][name])).keys()  # as in files of earlier versions


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"combine": "median"}, "combine='median'"),
        ({"combine": 1}, "combine: must be text"),
        ({"combine": None}, "combine"),
        ({"weights": None}, "weights: must be a list"),
        ({"weights": "AAAA"}, "weights: must be a list"),
        ({"weights": []}, "weights: the shape"),
        ({"weights": [1, 2, 3]}, "weights: the shape"),
        ({"weights": [1, 2, 3, "4"]}, r"weights\[3\]: must be a finite number"),
        ({"weights": [1, 2, 3, True]}, r"weights\[3\]: must be a finite number"),
        ({"weights": [1, 2, 3, [4]]}, r"weights\[3\]: must be a finite number"),
        ({"weights": [1, 2, 3, float("inf")]}, r"weights\[3\]: must be a finite number"),
        ({"weights": [1, 2, 3, -4]}, "positive"),
        ({"weights": [1, 2, 3, 10**400]}, r"weights\[3\]: must be a finite number"),
    ],
)
@pytest.mark.parametrize("name", ["packed", "fractional"])
def test_a_hostile_combination_is_refused(grown, name, changed, match):
    with pytest.raises(DocumentError, match=match):
        read(written(ensemble(grown[0][name])) | changed)
