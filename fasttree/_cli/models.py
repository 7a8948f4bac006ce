"""Models behind the command line: which there are, files of them, what they answer, and what they are, in words and figures."""

from __future__ import annotations

import json
import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import click
import numpy as np

from fasttree._cli.console import bars
from fasttree._cli.tables import print_notes
from fasttree._export.document import additive, committee, forests, values
from fasttree._export.document.file import errors_in, load
from fasttree._model.ensemble import voted
from fasttree._model.labels import labels_from_texts
from fasttree._model.ruleset import voted_classes
from fasttree._model.tree import best_classes
from fasttree._model.words import counted
from fasttree.estimators.common.documents import from_document, makes_rules
from fasttree.estimators.common.registry import BY_RECIPE, ESTIMATORS

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl
    from typing_extensions import TypeIs

    from fasttree._cli.tables import File
    from fasttree._data.files.blocks import Block
    from fasttree._data.files.plain import CellKind
    from fasttree.estimators.c45_rules import C45Rules
    from fasttree.estimators.c50 import C50Classifier
    from fasttree.estimators.common.saved import SavedRules, SavedTree
    from fasttree.estimators.common.tasks import BaseRegressor
    from fasttree.estimators.forests.base import BaseForest
    from fasttree.estimators.persistence import TreeEstimator

    Estimator: TypeAlias = TreeEstimator | C45Rules
    Shown: TypeAlias = SavedTree | SavedRules
    Floats: TypeAlias = npt.NDArray[np.float64]

LABELS = "fasttree.labels"  # path of a file of labels, in the context of a command
ALGORITHMS = {(entry.word, entry.task): entry for entry in ESTIMATORS if entry.on_command_line}
WORDS = tuple(dict.fromkeys(algorithm for algorithm, _ in ALGORITHMS))  # of the algorithms, each once
FOREST_FORMATS = ("html", "c", "python", "sql", "pmml", "onnx", "predictor", "json")  # of `show`, for a whole forest
BOOSTED_FORMATS = ("c", "python", "sql", "onnx", "json")  # for the trees of all trials
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)  # of a true class, as in scikit-learn's log loss


def load_model(path: str) -> tuple[Estimator, str]:
    """Read a tree or rules, and the name of the target (y where it has none)."""
    with errors_in(path):
        model: Estimator = from_document(_document(path))
        return model, model.target_names_[0]


def load_to_show(
    path: str, *, of_one_target: bool = False, tree: int | None = None, form: str | None = None
) -> tuple[Shown, str]:
    """Read as `load_model`, but without the estimator, which imports scikit-learn; of a forest, one tree by number.

    A format of `show` refuses the forests that it cannot write whole.
    """
    from fasttree.estimators.common.saved import SavedTree, saved_rules

    with errors_in(path):
        document = _document(path)
        is_forest = document.get("format") == forests.FORMAT
        whole = is_forest or document.get("format") in (additive.FORMAT, committee.FORMAT)
        if is_forest and (tree is not None or form not in (None, *_formats_of_all(document))):
            document, whole = _document_of_tree(document, tree), False
        elif tree is not None:
            raise ValueError(f"--tree {tree} is for forests, and the file holds a single model: leave it out")
        model: Shown
        model = from_document(document) if whole else saved_rules(document) if makes_rules(document) else SavedTree(document)
    if of_one_target:
        _check_one_target(model, path)
    context = click.get_current_context(silent=True)
    if context is not None and (labels := context.meta.get(LABELS)) is not None:
        _set_labels(model, labels)
    return model, model.target_names_[0]


def _formats_of_all(document: dict[str, Any]) -> Sequence[str]:
    """Return the formats that write all trees of a document."""
    return BOOSTED_FORMATS if document.get("combine") == "confidence" else FOREST_FORMATS


def _document_of_tree(document: dict[str, Any], tree: int | None) -> dict[str, Any]:
    """Return the document of one tree of a forest."""
    forest = from_document(document)
    n_trees = forest.ensemble_.n_trees
    if tree is None:
        *forms, last = _formats_of_all(document)
        found = counted(n_trees, "boosted tree") if is_boosted(forest) else f"a forest of {counted(n_trees, 'tree')}"
        whole = "all trees" if is_boosted(forest) else "the whole forest"
        raise values.DocumentError(
            f"holds {found}, and this shows a single one: `fasttree show MODEL --tree 0` shows the "
            f"first; --format {', '.join(forms)} and {last} take {whole}"
        )
    if tree >= n_trees:
        raise ValueError(f"--tree {tree}: must be from 0 to {n_trees - 1}, as the forest has {counted(n_trees, 'tree')}")
    chosen: dict[str, Any] = forest.estimators_[tree]._to_document()
    return chosen


def _set_labels(model: Shown, path: str) -> None:
    """Keep the labels of a JSON file."""
    with errors_in(path):
        try:
            entries = json.loads(Path(path).read_text(encoding="utf-8-sig"))
            model.set_labels(labels_from_texts(entries, model.schema_, getattr(model, "classes_", None), model.target_names_))
        except (TypeError, ValueError) as error:
            raise ValueError(f"labels of columns, categories and classes as a JSON object are needed: {error}") from None


def _document(path: str) -> dict[str, Any]:
    try:
        return load(path)
    except values.DocumentError as error:
        reason = re.sub("^(?=(is|has) )", "it ", str(error))  # of a file, said without naming it
        raise values.DocumentError(f"not a saved model, as train --output writes them: {reason}") from None


def load_of_one_target(path: str) -> tuple[Estimator, str]:
    """Read as `load_model`; raise an error for a tree of several targets, which only Python grows."""
    model, target = load_model(path)
    _check_one_target(model, path)
    return model, target


def _check_one_target(model: Estimator | Shown, path: str) -> None:
    if holds_several_targets(model):
        raise ValueError(
            f"{path} holds a tree of {len(model.target_names_)} targets: the command line shows it, but answers for one target "
            f"alone; use fasttree.load in Python"
        )


def holds_rules(model: Estimator | Shown) -> TypeIs[C45Rules | C50Classifier | SavedRules]:
    return hasattr(model, "rules_") and not holds_committee(model)


def holds_committee(model: Estimator | Shown | BaseForest) -> bool:
    """Whether a model is rules with linear models."""
    return hasattr(model, "committee_")


def holds_any_rules(model: Estimator | Shown | BaseForest) -> bool:
    """Whether a model is rules that conclude classes or linear models."""
    return hasattr(model, "rules_")


def holds_several_targets(model: Estimator | Shown | BaseForest) -> bool:
    n_outputs: int = getattr(model, "n_outputs_", 1)  # of trees alone
    return n_outputs > 1


def holds_shapes(model: Estimator | Shown | BaseForest) -> bool:
    """Whether a model is an additive model."""
    return hasattr(model, "additive_")


def holds_forest(model: Estimator | Shown | BaseForest) -> bool:
    return hasattr(model, "ensemble_")


def is_boosted(model: Any) -> bool:
    """Whether the trees of a forest are those of trials."""
    return bool(model.ensemble_.combine == "confidence")


def predicts_numbers(model: Estimator | Shown) -> TypeIs[BaseRegressor]:
    return not hasattr(model, "classes_")


def check_output(path: str, inputs: Sequence[str | None]) -> None:
    """Find out before the work what would spoil it at the end."""
    if path in ("-", ""):
        raise ValueError(f"--output {path or repr(path)}: names no file; leave it out to write to the standard output")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise ValueError(f"--output {path}: the folder {folder} does not exist")
    if os.path.isdir(path):
        raise ValueError(f"--output {path}: is a folder")
    if not os.path.exists(path) and not os.access(folder, os.W_OK):
        raise ValueError(f"--output {path}: the folder {folder} is not writable")
    for given in inputs:
        if given is not None and os.path.exists(given) and os.path.exists(path) and os.path.samefile(given, path):
            raise ValueError(f"--output {path}: would replace the input; choose another name")


def best_answers(model: Estimator, probability: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """Index of the class that a classifier answers for each row of probabilities."""
    found: Any = model
    if holds_forest(model):
        return voted(found.ensemble_, probability) if is_boosted(found) else best_classes(probability, found.ensemble_.loss)
    if holds_rules(model):
        default = found.classes_.tolist().index(found.default_class_) if found._rules_vote else None
        return best_classes(probability, None) if default is None else voted_classes(probability, default)
    return best_classes(probability, None if holds_shapes(model) else found.tree_.loss)


def answers(model: Estimator, blocks: Iterable[pl.DataFrame], ask: Callable[[Any], Any]) -> Iterator[Any]:
    """Ask a model about each block of rows."""
    import polars as pl

    features_asked = [(feature.name, _enum(feature.categories)) for feature in model.schema_.features]
    start = 0
    for block in blocks:
        if block.height == 0:
            continue
        features = pl.DataFrame([_coded(block[name], categories) for name, categories in features_asked])
        try:
            with warnings.catch_warnings():
                # A model of nameless columns calls them x0, x1, ...; going by these names is right here.
                warnings.filterwarnings("ignore", message="X has feature names", category=UserWarning)
                yield ask(features)
        except (ValueError, TypeError) as error:
            counted = f" (rows counted from row {start})" if start and "row" in str(error) else ""
            raise ValueError(f"{error}{counted}") from None
        start += block.height


def _enum(categories: Sequence[Any] | None) -> pl.Enum | None:
    """The type of a column with these categories, if they are text."""
    import polars as pl

    return pl.Enum(categories) if categories and isinstance(categories[0], str) else None


def _coded(column: pl.Series, categories: pl.Enum | None) -> pl.Series:
    """Text as known categories and, after them, others: found once for a block, where a model looks for them every few rows."""
    import polars as pl

    if categories is None or column.dtype != pl.String:
        return column
    codes = column.alias("").cast(categories, strict=False)
    if codes.null_count() > column.null_count():
        others = column.alias("").filter(codes.is_null()).drop_nulls().unique().sort()
        codes = column.alias("").cast(pl.Enum([*categories.categories, *others]))
    return codes.alias(column.name)


def answers_of(model: Estimator, table: pl.DataFrame) -> npt.NDArray[np.float64]:
    """What a model answers to a whole table: a row of probabilities per row, or a number."""
    found = list(answers(model, [table], model.predict if predicts_numbers(model) else model.predict_proba))
    return np.concatenate(found)


def read_blocks(file: File, model: Estimator | Shown, target: str | None = None) -> Iterator[pl.DataFrame]:
    """Read the model's columns, and its target if named, in blocks; a bar shows the progress on a terminal."""
    return (block.asked for block in read_with_kept(file, model, target))


def read_with_kept(
    file: File, model: Estimator | Shown, target: str | None = None, kept: Sequence[str] = (), quiet: bool = False
) -> Iterator[Block]:
    """Read as `read_blocks`, and beside these columns others as they stand in the file."""
    import polars as pl

    from fasttree._data.files.blocks import BLOCK_CELLS, Block

    cell_types = {"number": pl.Float64(), "integer": pl.Int64(), "boolean": pl.Boolean(), "text": pl.String()}
    types: dict[str, pl.DataType] = {name: cell_types[kind] for name, kind in cell_kinds(model, target).items()}
    # What is made of a block is to be bounded too: a row of CSV may be two bytes, and its answer a thousand probabilities.
    n_answers = len(model.classes_) if hasattr(model, "classes_") else 1
    step = 1 + BLOCK_CELLS // (len(types) + n_answers + len(kept))
    with bars(quiet=quiet) as add:
        update = add(os.path.basename(file.path), None if file.share_read is None else 1.0)
        n_rows = 0
        for number, block in enumerate(file.blocks(types, kept)):
            if number == 0:
                print_notes(file)
            for start in range(0, max(1, block.asked.height), step):
                yield Block(*(part[start : start + step] for part in block))
            n_rows += block.asked.height
            update(completed=file.share_read, note=f"{n_rows:,} rows")


def read_table(file: File, model: Estimator | Shown, target: str) -> pl.DataFrame:
    """Read the model's columns and its target whole, and see that there are rows and that each has a target."""
    import polars as pl

    table = pl.concat(read_blocks(file, model, target))
    if table.height == 0:
        raise ValueError(f"{file.path} has no rows")
    if n_missing := table[target].null_count():
        raise ValueError(
            f"{file.path}: column {target!r} is missing in {n_missing:,} of {table.height:,} rows: leave these rows out"
        )
    return table


def cell_kinds(model: Estimator | Shown, target: str | None) -> dict[str, CellKind]:
    """Return how cells of CSV are to be read in the columns of a model, and in its target if named."""
    kinds = {feature.name: _cell_kind(feature.categories) for feature in model.schema_.features}
    if target is not None:
        kinds[target] = _cell_kind(model.classes_.tolist() if hasattr(model, "classes_") else None)
    return kinds


def _cell_kind(labels: Sequence[Any] | None) -> CellKind:
    """Return how cells are to be read to equal these categories or classes, or numbers if None."""
    if labels is None or not labels:
        return "number" if labels is None else "text"
    if isinstance(labels[0], str):
        return "text"
    if isinstance(labels[0], bool):
        return "boolean"
    is_exact = isinstance(labels[0], float) or max(map(abs, labels)) <= 2**53
    return "number" if is_exact else "integer"  # 3.0 is the category 3


def task_of(model: Estimator | Shown) -> str:
    return "regression" if predicts_numbers(model) else "classification"


def n_grown_on(model: Estimator | Shown | BaseForest) -> int:
    """Rows that a model was learned from."""
    if holds_forest(model):
        bags = getattr(model, "_bags", None)
        if bags is None:  # boosted trees
            return int(cast("BaseForest", model).ensemble_.tree(0).n_samples[0])
        return bags.n_samples if bags.rows is None else len(bags.rows)
    if holds_shapes(model):
        return round(float(cast("Any", model).additive_.terms[0].weight.sum()))
    return int(model.class_count_.sum()) if holds_rules(model) else int(model.tree_.n_samples[0])


def describe(model: Estimator | Shown, target: str) -> dict[str, Any]:
    if holds_rules(model):
        return {
            "algorithm": next(entry.word for entry in ESTIMATORS if entry.name == model._name()),
            "task": task_of(model),
            "target": target,
            "n_rows": n_grown_on(model),
            "rules": len(model.rules_),
            "conditions": sum(len(rule.conditions) for rule in model.rules_),
        }
    if holds_forest(model):
        return _describe_forest(cast("BaseForest", model), target)
    if holds_shapes(model):
        return _describe_shapes(model, target)
    if holds_committee(model):
        return _describe_committee(model, target)
    tree = model.tree_
    return {
        "algorithm": model.recipe_.name if model._algorithm() == BY_RECIPE else model._algorithm(),
        "task": task_of(model),
        "target": target,
        "n_rows": n_grown_on(model),
        "nodes": tree.node_count,
        "leaves": model.get_n_leaves(),
        "depth": model.get_depth(),
    }


def _describe_committee(model: Any, target: str) -> dict[str, Any]:
    rules = list(model.committee_.rules())
    return {
        "algorithm": next(entry.word for entry in ESTIMATORS if entry.name == type(model).__name__),
        "task": task_of(model),
        "target": target,
        "n_rows": None,  # a file has the covers of rules, which may overlap
        "rule_sets": len(model.rules_),
        "rules": len(rules),
        "conditions": sum(len(rule.conditions) for rule in rules),
    }


def _describe_shapes(model: Any, target: str) -> dict[str, Any]:
    importances = zip(model.term_names_, model.term_importances_.tolist(), strict=True)
    return {
        "algorithm": next(entry.word for entry in ESTIMATORS if entry.name == type(model).__name__),
        "task": task_of(model),
        "target": target,
        "n_rows": n_grown_on(model),
        "terms": len(model.additive_.terms),
        "bags": model.additive_.n_bags,
        "importances": [{"name": name, "score": importance} for name, importance in importances],
    }


def _describe_forest(model: BaseForest, target: str) -> dict[str, Any]:
    shares = zip(model.schema_.features, model.feature_importances_.tolist(), strict=True)
    return {
        "algorithm": next(entry.word for entry in ESTIMATORS if entry.name == type(model).__name__),
        "task": model.ensemble_.task,
        "target": target,
        "n_rows": n_grown_on(model),
        "trees": model.ensemble_.n_trees,
        "nodes": model.ensemble_.node_count,
        "oob_score": oob_score(model),
        "importances": [{"name": feature.name, "impurity": share} for feature, share in shares],
    }


def oob_score(model: Estimator | BaseForest) -> float | None:
    """Return the accuracy or R² of a forest out of its bags; None without one."""
    score: float = getattr(model, "oob_score_", math.nan)
    return None if math.isnan(score) else score


def judged_out_of_bag(model: Estimator) -> str | None:
    """Describe the out-of-bag error of a forest; None without one."""
    if (score := oob_score(model)) is None:
        return None
    if predicts_numbers(model):
        return f"Out-of-bag R² {score:.4f} (error {1 - score:.4f} of the variance) in training"
    return f"Out-of-bag accuracy {score:.4f} (error {1 - score:.4f}) in training"


def summarize(model: Estimator | Shown) -> str:
    if holds_forest(model):
        forest = cast("BaseForest", model)
        sizes = f"{counted(forest.ensemble_.n_trees, 'tree')}, {counted(forest.ensemble_.node_count, 'node')}"
        return f"{type(forest).__name__}: {sizes}, grown on {counted(n_grown_on(model), 'row')}"
    if holds_rules(model):
        n_conditions = sum(len(rule.conditions) for rule in model.rules_)
        sizes = f"{counted(len(model.rules_), 'rule')}, {counted(n_conditions, 'condition')}"
        return f"{model._name()}: {sizes}, learned from {counted(n_grown_on(model), 'row')}"
    if holds_shapes(model):
        shapes: Any = model
        sizes = f"{counted(len(shapes.additive_.terms), 'term')}, mean of {counted(shapes.additive_.n_bags, 'bag')}"
        return f"{type(model).__name__}: {sizes}, fitted to {counted(n_grown_on(model), 'row')}"
    if holds_committee(model):
        found = _describe_committee(model, "")
        sets = f" in {counted(found['rule_sets'], 'rule set')}" if found["rule_sets"] > 1 else ""
        return f"{type(model).__name__}: {counted(found['rules'], 'rule')}, {counted(found['conditions'], 'condition')}{sets}"
    tree = model.tree_
    sizes = f"{counted(tree.node_count, 'node')}, {counted(model.get_n_leaves(), 'leaf', 'leaves')}, depth {model.get_depth()}"
    return f"{model._name()}: {sizes}, grown on {counted(n_grown_on(model), 'row')}"


def row_scores(model: Estimator, truth: Sequence[Any], answer: npt.NDArray[Any]) -> dict[str, Floats]:
    """Return the scores of each row; the figures of a model are their means over rows.

    Parameters
    ----------
    model : estimator
    truth : sequence of length n_rows
        Classes or numbers.
    answer : array, shape (n_rows, n_classes) or (n_rows,)
        The model's probabilities or predictions.

    Returns
    -------
    dict of str to float64 array, shape (n_rows,)
        For classes: accuracy (1 or 0), balanced_accuracy (accuracy divided by the class's share and the number of classes),
        log_loss (nats; as in scikit-learn a probability is at least the float64 epsilon).  For numbers: r2 (1 less the squared
        error in units of the variance of the truth; NaN if that is 0) and mae (the absolute error).
    """
    if predicts_numbers(model):
        values = np.asarray(truth, dtype=np.float64)
        variance = float(np.var(values)) or math.nan
        return {"r2": 1 - (values - answer) ** 2 / variance, "mae": np.abs(values - answer)}
    index = {label: k for k, label in enumerate(model.classes_.tolist())}
    n_known = len(index)
    codes = np.fromiter((index.setdefault(label, len(index)) for label in truth), dtype=np.intp, count=len(truth))
    right = (best_answers(model, answer) == codes).astype(np.float64)
    counts = np.bincount(codes)
    probability = np.zeros(len(codes))  # 0 for classes that the model does not know
    is_known = codes < n_known
    probability[is_known] = answer[is_known, codes[is_known]]
    return {
        "accuracy": right,
        "balanced_accuracy": right * (len(codes) / (counts[codes] * np.count_nonzero(counts))),
        "log_loss": -np.log(np.clip(probability, LEAST_PROBABILITY, None)),
    }
