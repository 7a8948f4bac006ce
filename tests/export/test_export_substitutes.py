"""What a format cannot express is refused, or replaced by what the caller named, and said."""

import numpy as np
import pytest
from exports import inputs, model_of, models
from hypothesis import given
from trees import random_trees

from fasttree._export.substitutes import Medium, adapt, asks_surrogates, heaviest_branch
from fasttree._model.arrays import KNOWN, SHARES

MEDIUM = Medium("telegram", refusal="gets no answer")
KNOWING = Medium("telegram", refusal="gets no answer", surrogates=True)


def test_a_tree_that_every_format_can_express_stays_as_it_is():
    for name in ("two classes", "all kinds", "own branch", "regression", "two targets", "a leaf"):
        adapted = adapt(models()[name]._subject(), MEDIUM, missing="error", soft="hard")
        assert adapted.subject.tree is models()[name].tree_
        assert not adapted.notes
        assert not adapted.refused.any()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fractional", r"shares a sample out .* \(the first time at node \d+, where it tests '.*'\), as no telegram can"),
        ("surrogates", "the tree asks surrogates .* missing='error', by which it gets no answer"),
        ("soft thresholds", "soft thresholds, near which samples go both ways, as no telegram can: choose soft='hard'"),
    ],
)
def test_what_cannot_be_expressed_is_refused_by_name(name, message):
    with pytest.raises(ValueError, match=message):
        adapt(models()[name]._subject(), MEDIUM)


def test_surrogates_stay_where_they_can_be_written():
    adapted = adapt(models()["surrogates"]._subject(), KNOWING)
    assert adapted.subject.tree.surrogates is not None
    assert not adapted.notes


def test_samples_that_were_never_divided_end_where_they_did():
    for name in ("fractional", "fractional regression", "C4.5", "intervals"):
        model = models()[name]
        X = inputs(model, 3_000)
        other = model._with_tree(adapt(model._subject(), MEDIUM, missing="majority").subject.tree)
        leaves = model.decision_path(X)[:, model.tree_.leaves()].sum(axis=1)
        whole = np.asarray(leaves).ravel() == 1
        assert 0.3 < whole.mean() < 0.99
        assert (other.apply(X)[whole] == model.apply(X)[whole]).all()
        assert np.isin(other.apply(X), model.tree_.leaves()).all()


@given(random_trees())
def test_an_adapted_tree_divides_nothing_and_says_where_it_refuses(tree):
    subject = model_of(tree)._subject()
    shared = tree.missing == SHARES
    majority = adapt(subject, MEDIUM, missing="majority", soft="hard")
    error = adapt(subject, MEDIUM, missing="error", soft="hard")
    assert not majority.subject.tree.divides
    assert not error.subject.tree.divides
    assert not majority.refused.any()
    assert (error.refused == shared).all()
    softened = tree.lower is not None and bool((tree.lower < tree.upper).any())
    assert len(majority.notes) == len(error.notes) == int(shared.any()) + int(softened)
    assert (majority.subject.tree.missing[shared] == heaviest_branch(tree)[shared]).all()
    assert (majority.subject.tree.missing[~shared] == tree.missing[~shared]).all()


def test_a_model_that_refuses_missing_values_refuses_them_everywhere():
    for name in ("refuses missing", "ID3"):
        subject = models()[name]._subject()
        adapted = adapt(subject, MEDIUM)
        inner = subject.tree.n_branches > 0
        assert (adapted.refused == (inner & (subject.tree.kind != KNOWN))).all()
        assert adapted.notes == ("a missing value gets no answer, as the model refuses it",)
        followed = adapt(subject, MEDIUM, missing="majority")
        assert not followed.refused.any()
        assert (followed.subject.tree.missing[inner] == heaviest_branch(subject.tree)[inner]).all()


def test_only_nodes_with_surrogates_ask_them():
    tree = models()["surrogates"].tree_
    asks = asks_surrogates(tree)
    assert asks.any()
    assert (tree.n_branches[asks] == 2).all()
    assert not asks_surrogates(models()["all kinds"].tree_).any()


@pytest.mark.parametrize("asked", [{"missing": "mean"}, {"soft": True}])
def test_unknown_substitutes_are_named(asked):
    with pytest.raises(ValueError, match="must be"):
        adapt(models()["two classes"]._subject(), MEDIUM, **asked)
