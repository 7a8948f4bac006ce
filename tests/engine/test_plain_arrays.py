"""Float arrays take a way of their own through predictions: its answers and its errors are those of every other table."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, TreeClassifier
from fasttree.pruning import CostComplexity


class Wrapped(np.ndarray):
    """An array that is not plain, so that it goes the long way."""


def samples(n=700, d=5, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)).round(1)
    return X, (X[:, 0] * X[:, 1] + X[:, 2] > random.normal(size=n)).astype(int)


X, Y = samples()
HOLES = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
MODELS = {
    "cart": CARTClassifier().fit(X, Y),
    "shallow": CARTClassifier(max_depth=3).fit(X, Y),
    "root": CARTClassifier(max_leaf_nodes=2, min_samples_leaf=600).fit(X, Y),
    "with holes": CARTClassifier().fit(HOLES, Y),
    "surrogate": CARTClassifier(missing="surrogate").fit(HOLES, Y),
    "branch": CARTClassifier(missing="branch").fit(HOLES, Y),
    "refuses": CARTClassifier(missing="error").fit(X, Y),
    "losses": CARTClassifier(loss_matrix=[[0, 1], [5, 0]], max_depth=4).fit(X, Y),
    "numbers": CARTRegressor(max_depth=6).fit(X, X[:, 0] + Y),
    "several": CARTClassifier(max_depth=5).fit(X, np.column_stack([Y, X[:, 3] > 0])),
    "several numbers": CARTRegressor(max_depth=5).fit(X, X[:, :2]),
    "c45": C45Classifier().fit(HOLES, Y),
    "soft": C45Classifier(soft_thresholds=True).fit(HOLES, Y),
    "intervals": TreeClassifier(recipe={"continuous": "intervals", "missing": "majority"}).fit(HOLES, Y),
    "names": CARTClassifier().fit(pd.DataFrame(X, columns=list("abcde")), Y),
    "categories": CARTClassifier(categorical_features=[4]).fit(X, Y),
}
LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "one row for all": lambda X: np.broadcast_to(X[0], X.shape),
    "columns of rows": lambda X: np.asfortranarray(np.repeat(X, 2, axis=0))[::2],
}


def outcome(call, given):
    """What a call returns, or raises, in a form that compares."""
    try:
        answer = call(given)
    except Exception as error:
        return type(error), str(error)
    return [part.tolist() for part in answer] if isinstance(answer, list) else (answer.dtype.kind, answer.tolist())


def assert_same_both_ways(model, given):
    for method in ("predict", "predict_proba", "apply"):
        if hasattr(model, method):
            call = getattr(model, method)
            assert outcome(call, given) == outcome(call, given.view(Wrapped))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", MODELS)
def test_every_layout_of_a_float_array_is_predicted_as_any_table(name, layout, dtype):
    for rows in (X, HOLES, HOLES[:1], X[:256], X[3:260]):
        given = LAYOUTS[layout](rows.astype(dtype))
        given.flags.writeable = False
        assert_same_both_ways(MODELS[name], given)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_layout_takes_the_long_way(layout, dtype):
    assert MODELS["cart"].tree_.walker.ends(LAYOUTS[layout](X.astype(dtype))) is not None


BAD = {
    "infinity": np.where(np.arange(X.size).reshape(X.shape) == 3001, -np.inf, X),
    "infinity and NaN": np.where(np.arange(X.size).reshape(X.shape) == 3001, np.inf, HOLES),
    "narrow": X[:, :4],
    "wide": np.hstack([X, X]),
    "flat": X[0],
    "deep": X[None],
    "no dimension": np.array(1.0),
    "no rows": X[:0],
    "no columns": X[:, :0],
    "half": X.astype(np.float16),
    "long": X.astype(np.longdouble),
    "swapped": X.astype(X.dtype.newbyteorder()),
    "integers": X.astype(int),
    "small": X.astype(np.int8),
    "truth": X > 0,
    "objects": X.astype(object),
    "text": X.astype(str),
    "words": np.full(X.shape, "word"),
    "complex": X.astype(complex),
    "dates": np.zeros(X.shape, "datetime64[s]"),
    "records": np.zeros(X.shape, [("a", "f8"), ("b", "f8")]),
    "misaligned": np.frombuffer(b"x" + X.tobytes(), np.float64, offset=1).reshape(X.shape),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("given", BAD)
@pytest.mark.parametrize("name", ["cart", "refuses", "c45", "numbers", "names", "categories"])
def test_an_odd_array_has_the_answer_or_the_error_of_any_table(name, given, single):
    odd = BAD[given].astype(np.float32) if single and BAD[given].dtype == np.float64 else BAD[given]
    assert_same_both_ways(MODELS[name], odd)


def slow_end(tree, row):
    """The leaf of a row, by the arrays of a tree with thresholds."""
    node = 0
    while tree.first_child[node] >= 0:
        x = row[tree.feature[node]]
        node = tree.first_child[node] + (tree.missing[node] if np.isnan(x) else int(x > tree.threshold[node]))
    return node


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("holes", [False, True])
def test_rows_that_arrive_early_stay_in_their_leaf(holes, share, dtype):
    """Of the samples of each level, a share goes on: all rows walk the first levels, and then those that have not arrived."""
    random = np.random.default_rng(3)
    Z = random.random((900, 2)).astype(dtype)
    levels = (np.log(Z[:, 0]) / np.log(share)).astype(int)
    if holes:
        Z[random.random(Z.shape) < 0.1] = np.nan
    model = CARTClassifier().fit(Z, levels % 3)
    expected = [slow_end(model.tree_, row) for row in Z]
    for rows in (Z, np.asfortranarray(Z), Z[:130], Z[:1], Z.view(Wrapped)):
        assert model.apply(rows).tolist() == expected[: len(rows)]


def test_a_table_of_many_rows_is_predicted_as_its_parts():
    many = np.tile(X, (100, 1))
    for name in ("cart", "root", "numbers", "several numbers"):
        for method in ("predict", "predict_proba", "apply"):
            if hasattr(MODELS[name], method):
                assert np.array_equal(getattr(MODELS[name], method)(many), np.tile(getattr(MODELS[name], method)(X).T, 100).T)
    for row in (0, 35_000, 69_999):  # a part that goes the long way, or raises
        many[row, 1] = np.nan
        assert_same_both_ways(MODELS["c45"], many)
        assert_same_both_ways(MODELS["refuses"], many)
        many[row, 1] = 0.0


@given(row=st.integers(0, 699), column=st.integers(0, 4), fortran=st.booleans(), single=st.booleans())
def test_infinity_is_found_wherever_it_stands(row, column, fortran, single):
    holding = np.array(X, dtype=np.float32 if single else np.float64, order="F" if fortran else "C")
    holding[row, column] = np.inf
    with pytest.raises(ValueError, match=f"'x{column}' has infinite values in 1 row.*{row}"):
        MODELS["cart"].predict(holding)
    holding[row, column] = np.finfo(holding.dtype).max
    MODELS["cart"].predict(holding)


@pytest.mark.parametrize("scale", [1e-44, 1e-30, 1.0, 3.4e38])
@pytest.mark.parametrize("n", [1, 127, 128, 129, 1000])
def test_singles_go_where_the_same_numbers_go_as_doubles(scale, n):
    """Thresholds are singles, lie between two of them, or are larger than all."""
    random = np.random.default_rng(n)
    singles = (random.normal(size=150).clip(-1, 1) * scale).astype(np.float32)
    around = [singles, *(np.nextafter(singles, np.float32(way)) for way in (-np.inf, np.inf))]
    singles = np.unique(np.concatenate(around)[np.isfinite(np.concatenate(around))])
    doubles = np.concatenate([singles, np.nextafter(singles.astype(float), np.inf), [1e39, 2e39, -1e39, -2e39]])
    learnt = random.permutation(np.column_stack([doubles, doubles[::-1]]))
    walker = CARTClassifier().fit(learnt, random.integers(0, 2, len(learnt))).tree_.walker
    given = random.choice(singles, (n, 2))
    assert walker.ends(given).tolist() == walker.ends(given.astype(float)).tolist()


def test_lists_and_frames_are_predicted_as_arrays():
    expected = MODELS["cart"].predict(X).tolist()
    assert MODELS["cart"].predict(X.tolist()).tolist() == expected
    with pytest.warns(UserWarning, match="feature names"):
        assert MODELS["cart"].predict(pd.DataFrame(X, columns=list("abcde"))).tolist() == expected


def test_an_array_for_a_model_with_names_warns():
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        MODELS["names"].predict(X)


def test_the_predictions_follow_every_change_of_the_model():
    model = CARTClassifier().fit(X, Y)
    model.predict(X)
    other = CARTClassifier().fit(-X, Y)
    assert (model.fit(-X, Y).predict(X) == other.predict(X)).all()
    pruned = model.prune(CostComplexity(alpha=0.02))
    assert pruned.apply(X).max() < pruned.tree_.node_count < model.tree_.node_count
    for twin in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert (twin.predict(X) == other.predict(X)).all()
    assert "walker" not in model.tree_.__getstate__()
    with pytest.raises(ValueError, match="unseen='perhaps'"):
        model.set_params(unseen="perhaps").predict(X)


@pytest.mark.parametrize("name", ["c45", "soft", "with holes"])
def test_a_row_is_predicted_alike_in_any_company(name):
    model = MODELS[name]
    together = model.predict_proba(HOLES)
    assert (np.vstack([model.predict_proba(row[None]) for row in HOLES[:60]]) == together[:60]).all()
    assert (model.predict(HOLES) == model.classes_[together.argmax(axis=1)]).all()
