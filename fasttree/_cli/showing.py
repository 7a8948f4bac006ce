"""The command show: a saved tree as text, rules, a picture, a page, or for other programs; saved rules as text, tables or SQL."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from fasttree._cli.console import draws, examples, learning, listed, print_json
from fasttree._cli.models import (
    check_output,
    describe,
    holds_committee,
    holds_rules,
    holds_shapes,
    load_to_show,
    predicts_numbers,
    read_table,
    summarize,
)
from fasttree._cli.options import DIALECTS, FILE, SORT_KEYS, json_option, labels_option, table_options, truth_option
from fasttree._cli.tables import find_target, open_file, without
from fasttree._cli.terminal import columns, fitted
from fasttree._data.files.whole import whole_file
from fasttree._model.words import counted

if TYPE_CHECKING:
    from fasttree._cli.models import Shown
    from fasttree._cli.tables import File
    from fasttree._explain.rule_list import RuleList
    from fasttree.estimators.common.saved import SavedTree

__all__ = ["show"]


class Format(NamedTuple):
    """A way to show a tree.

    Parameters
    ----------
    write : function of a model and its options
    options : tuple of str
        Which options it takes.
    suffixes : tuple of str
        Ends of file names that ask for it.
    is_text : bool
        Whether people read it in a terminal.
    """

    write: Callable[[SavedTree, dict[str, Any]], str | bytes]
    options: tuple[str, ...]
    suffixes: tuple[str, ...]
    is_text: bool = True


def _rules(model: SavedTree, options: dict[str, Any]) -> str:
    with learning(counted(model.get_n_leaves(), "leaf", "leaves")):
        return _selected(model, options).to_text(**options)


def _markdown(model: SavedTree, options: dict[str, Any]) -> str:
    with learning(counted(model.get_n_leaves(), "leaf", "leaves")):
        return _selected(model, options).to_markdown(**options)


def _selected(model: SavedTree, options: dict[str, Any]) -> RuleList:
    """The rules that are asked for, in the order that is asked for; what asks for them is taken out of the options."""
    by = options.pop("sort", None)
    bounds = {name: options.pop(name) for name in BOUNDS if name in options}
    if "min_precision" in bounds and predicts_numbers(model):
        raise ValueError("--min-precision: a tree that predicts numbers has none; choose its rules by --min-support")
    rules = model.to_rules().filter(**bounds)
    return rules if by is None else rules.sort(by)


def _export(form: str, of_one_target: bool = False) -> Callable[[SavedTree, dict[str, Any]], str | bytes]:
    """Write a tree by the method of this name; `of_one_target` says that it asks which of several."""

    def write(model: SavedTree, options: dict[str, Any]) -> str | bytes:
        if of_one_target and model.n_outputs_ > 1:
            raise ValueError(
                f"the model has {model.n_outputs_} targets, and {form} is of one: in Python, export_{form}(target=...) says which"
            )
        try:
            written: str | bytes = getattr(model, "to_json" if form == "json" else f"export_{form}")(**options)
        except ValueError as error:
            raise ValueError(_about_options(str(error), form)) from None
        except ImportError as error:
            raise ValueError(str(error)) from None
        if form == "sql" and isinstance(written, str):
            written += "\n"  # that the method leaves out, as an expression is to be put into others
        return written

    return write


def _about_options(text: str, form: str) -> str:
    """Turn what a message says about parameters into the options that they are here."""
    names = {PARAMETERS.get(name, name): name for name in FORMATS[form].options}

    def option(found: re.Match[str]) -> str:
        name = names.get(found[1])
        return found[0] if name is None else f"--{name.replace('_', '-')} {shlex.quote(found[2])}"

    return re.sub(r"\b([a-z]+)='([^']*)'", option, text)


def _renamed(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options under the names that the exports have for them."""
    return {PARAMETERS.get(name, name): value for name, value in options.items()}


PARAMETERS = {  # of the methods, for options of other names
    "weights": "show_weights",
    "shares": "show_shares",
    "missing": "show_missing",
    "surrogates": "show_surrogates",
    "tests": "show_tests",
    "missing_as": "missing",
    "soft_as": "soft",
}
SUBSTITUTES = ("missing_as", "soft_as")
SQL_OPTIONS = ("name", "table", "dialect", "cast", "nan_as_missing", *SUBSTITUTES)
BOUNDS = ("min_support", "min_precision", "max_conditions")
RULES_OPTIONS = ("max_categories", "decimals", "missing", "sort", *BOUNDS)
ORDERED_FORMATS: dict[str, tuple[str, tuple[str, ...]]] = {  # of C45Rules: method and options of each
    "text": ("export_text", ()),
    "rules": ("export_text", ()),
    "markdown": ("to_markdown", ()),
    "html": ("export_html", ("title",)),
    "json": ("to_json", ()),
    "sql": ("export_sql", SQL_OPTIONS[: -len(SUBSTITUTES)]),
}
VOTING_FORMATS = ORDERED_FORMATS | {"c": ("export_c", ("name",)), "python": ("export_python", ("name",))}  # of C50Classifier
ADDITIVE_FORMATS: dict[str, tuple[str, tuple[str, ...]]] = {  # of additive models: method and options of each
    "text": ("export_text", ("decimals",)),
    "html": ("export_html", ("title", "decimals", "data")),
    "json": ("to_json", ()),
    "sql": ("export_sql", SQL_OPTIONS[: -len(SUBSTITUTES)]),
    "c": ("export_c", ("name",)),
    "python": ("export_python", ("name",)),
    "onnx": ("export_onnx", ("dtype",)),
}
COMMITTEE_FORMATS: dict[str, tuple[str, tuple[str, ...]]] = {  # of CubistRegressor: method and options of each
    "text": ("export_text", ()),
    "rules": ("export_text", ()),
    "markdown": ("to_markdown", ()),
    "html": ("export_html", ("title", "data")),
    "json": ("to_json", ()),
    "sql": ("export_sql", SQL_OPTIONS[: -len(SUBSTITUTES)]),
    "c": ("export_c", ("name",)),
    "python": ("export_python", ("name",)),
    "pmml": ("export_pmml", ("name",)),
    "onnx": ("export_onnx", ("dtype",)),
}
SHARE = click.FloatRange(0, 1)
SIZE = ("max_depth", "max_nodes", "max_categories", "decimals")
FORMATS = {
    "text": Format(
        _export("text"),
        (*SIZE, "weights", "shares", "missing", "surrogates", "tests", "align", "ascii"),
        (".txt",),
    ),
    "rules": Format(_rules, (*RULES_OPTIONS, "tests"), ()),
    "markdown": Format(_markdown, RULES_OPTIONS, (".md",)),
    "dot": Format(_export("dot"), (*SIZE, "missing", "orientation"), (".dot", ".gv")),
    "svg": Format(_export("svg"), (*SIZE, "missing", "orientation", "data"), (".svg",), is_text=False),
    "html": Format(_export("html"), (*SIZE, "title", "data"), (".html", ".htm"), is_text=False),
    "json": Format(_export("json"), (), (".json", ".json.gz")),
    "onnx": Format(_export("onnx"), ("dtype", *SUBSTITUTES), (".onnx",), is_text=False),
    "pmml": Format(_export("pmml", of_one_target=True), ("name", *SUBSTITUTES), (".pmml", ".xml")),
    "c": Format(_export("c"), ("name",), (".c",)),
    "python": Format(_export("python"), ("name",), (".py",)),
    "sql": Format(_export("sql", of_one_target=True), SQL_OPTIONS, (".sql",)),
    "predictor": Format(lambda model, options: model.to_predictor().to_bytes(), (), (".tree",), is_text=False),
}


@click.command(
    epilog=examples(
        "fasttree train examples/adult.csv.gz --target income --output model.json",
        "fasttree train examples/adult.csv.gz --target income --max-depth 6 --output small.json",
        "fasttree show model.json --max-depth 3",
        "fasttree show model.json --max-nodes 40 --shares --align",
        "fasttree show model.json --weights --missing | less",
        "fasttree show model.json --format rules --sort lift --min-support 0.01",
        "fasttree show model.json --output model.onnx",
        "fasttree show model.json --output model.c --name income",
        "fasttree show model.json --format sql --table people > model.sql",
        "fasttree show model.json --max-nodes 60 --format dot | dot -Tpdf -o model.pdf",
        "fasttree show model.json --max-nodes 60 --output model.svg",
        "fasttree show model.json examples/adult.test.csv.gz --format svg --max-depth 3 > charts.svg",
        "fasttree show small.json examples/adult.test.csv.gz --output small.html",
        "fasttree show model.json --json",
        "fasttree train examples/iris.csv --target class --algorithm forest --output forest.json",
        "fasttree show forest.json --tree 3",
    ),
)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE, required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    metavar="FORMAT",  # the choices would fill more than a line
    help=f"What to make of it: {', '.join(FORMATS)}; by default what the name of --output ends in, or text.",
)
@click.option("--tree", type=click.IntRange(0), metavar="N", help="The tree of a forest; programs and pages take all without.")
@click.option("--output", "-o", metavar="FILE", type=FILE, help="Write a file; default: standard output.")
@click.option("--max-depth", type=click.IntRange(0), metavar="N", help="Levels of branches to show; the rest is counted.")
@click.option("--max-nodes", type=click.IntRange(1), metavar="N", help="Nodes to show, the heaviest first; the rest is counted.")
@click.option("--max-categories", type=click.IntRange(1), metavar="N", help="Categories to name; default: 12, or what fits.")
@click.option("--decimals", type=click.IntRange(0), metavar="N", help="Digits after the point of weights and means; default: 2.")
@click.option("--weights", is_flag=True, default=None, help="text: say the weight of each class at every branch.")
@click.option("--shares", is_flag=True, default=None, help="text: say the share of each class at every branch.")
@click.option("--missing/--no-missing", default=None, help="Say where missing values go; default: where it is a surprise.")
@click.option("--surrogates", is_flag=True, default=None, help="text: say what stands in where a tested value is missing.")
@click.option("--tests", is_flag=True, default=None, help="text, rules: significance tests, and what merged (chaid).")
@click.option("--align", is_flag=True, default=None, help="text: answers below one another.")
@click.option("--ascii", is_flag=True, default=None, help="text: with ASCII characters alone.")
@click.option("--orientation", type=click.Choice(["down", "right"]), help="dot, svg: where branches go; default: what fits.")
@click.option("--title", metavar="TEXT", help="html: of the page.")
@labels_option
@click.option("--sort", type=click.Choice(SORT_KEYS), help="rules, markdown: largest first; default: as in the tree.")
@click.option("--min-support", type=SHARE, metavar="SHARE", help="rules, markdown: least share of the rows that a rule is for.")
@click.option("--min-precision", type=SHARE, metavar="SHARE", help="rules, markdown: least share of its rows that are right.")
@click.option("--max-conditions", type=click.IntRange(0), metavar="N", help="rules, markdown: most conditions of a rule.")
@click.option("--name", metavar="TEXT", help="c, python, pmml, sql: name of source, tree or prediction; each has a default.")
@click.option("--table", metavar="NAME", help="sql: a query of this table; default: an expression.")
@click.option("--dialect", type=click.Choice(DIALECTS), help="sql: default: that of SQLite, DuckDB and PostgreSQL.")
@click.option("--cast", is_flag=True, default=None, help="sql: convert columns of text to numbers where features are numbers.")
@click.option("--nan-as-missing", is_flag=True, default=None, help="sql: columns may hold NaN, a missing value as NULL is.")
@click.option("--dtype", type=click.Choice(["float32", "float64"]), help="onnx: of the numbers; default: float32.")
@click.option(
    "--missing-as",
    type=click.Choice(["majority", "error"]),
    help="onnx, pmml, sql: missing values that they cannot treat as the tree does follow the heaviest branch, or get no answer.",
)
@click.option("--soft-as", type=click.Choice(["hard"]), help="onnx, pmml, sql: take soft thresholds for hard ones.")
@truth_option
@json_option(
    "algorithm, task, target, n_rows (grown on, null for cubist), nodes, leaves, depth (of rules: rules, conditions), classes "
    "(null for numbers), features (name, kind, importance: share in the decrease of impurity, null for rules)."
)
@table_options
def show(
    model: str,
    data: str | None,
    form: str | None,
    output: str | None,
    target: str | None,
    as_json: bool,
    markers: Sequence[str],
    separator: str,
    **options: Any,
) -> None:
    """Show a saved tree, forest or rules, or write them for other programs.

    As text; as rules: a line for each leaf, or a Markdown table; as a picture: dot for Graphviz, svg for browsers; or as html, a
    page that folds, searches and prunes the tree, or shows the shapes of an additive model.

    For other programs: json, as trees are saved; onnx, pmml; source in c and python; sql; predictor, a file that servers map into
    memory.  These predict as the tree does.  What one of them cannot express raises an error, unless --missing-as or --soft-as
    says what to put in its place.

    DATA is a file as for `train`, with the target.  An svg has charts of its rows in the nodes; on a page some of them can be
    followed to their prediction, and all judge the pruned trees.
    """
    given = {name: value for name, value in options.items() if value is not None} | ({} if data is None else {"data": data})
    if output is not None:
        check_output(output, [model, data])
    chosen = _choose_format(form, output)
    loaded, saved = _load(model, chosen, given)
    if as_json:
        if given or form is not None or output is not None:
            raise click.UsageError("--json prints figures to standard output, and takes no other option")
        print_json(_structure(loaded, saved))
        return
    own = _own_formats(loaded)
    _check_options(chosen, given, own, model)
    if output is None and not FORMATS[chosen].is_text and sys.stdout.isatty():
        raise click.UsageError(f"--format {chosen} is not for a terminal: name a file by --output, or redirect it")
    if data is not None and not holds_rules(loaded):  # whose formats take none
        del given["data"]
        given |= _samples(open_file(data, markers, separator), loaded, target, saved)
    if own:
        written = _written_as(loaded, own[chosen][0], given)
    elif not holds_rules(loaded):
        if chosen == "text" and output is None:
            given = {"ascii": not draws()} | ({} if "max_categories" in given else {"width": columns()}) | given
        written = FORMATS[chosen].write(loaded, _renamed(given))
    content = written if isinstance(written, bytes) else written.encode()  # in UTF-8, whatever the terminal has
    if output is not None:
        if chosen == "json":
            _estimator(loaded).save(output)  # which compresses, too
        else:
            with whole_file(output) as file:
                file.write(content)
        click.echo(f"Saved as {output}")
    elif chosen == "text":
        click.echo(f"{fitted(str(written))}\n{summarize(loaded)}")
    elif not written:
        click.echo("Note: no rule meets all that is asked", err=True)
    else:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def _written_as(model: Any, method: str, given: Mapping[str, Any]) -> str | bytes:
    """Write rules or an additive model by a method; SQL gets the newline that the method leaves out."""
    try:
        written: str | bytes = getattr(model, method)(**given)
    except ImportError as error:
        raise ValueError(str(error)) from None
    return written + "\n" if method == "export_sql" and isinstance(written, str) else written


def _load(path: str, form: str, given: dict[str, Any]) -> tuple[Shown, str]:
    """Read a model, or the tree of a forest if one is named or the format is of one; take the number of the tree out."""
    return load_to_show(path, of_one_target="data" in given, tree=given.pop("tree", None), form=form)


def _estimator(model: Any) -> Any:
    return getattr(model, "estimator", model)  # that of a tree


def _choose_format(asked: str | None, output: str | None) -> str:
    if asked is not None:
        return asked
    suffix = "" if output is None else os.path.splitext(output)[1]
    if output is None or not suffix:
        return "text"
    for name, form in FORMATS.items():
        if output.lower().endswith(form.suffixes):
            return name
    known = ", ".join(suffix for form in FORMATS.values() for suffix in form.suffixes)
    raise click.UsageError(f"--output {output}: no format ends in {suffix!r}; it may end in {known}, or --format says what it is")


def _own_formats(model: Any) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the formats of rules or of an additive model; none for trees, which have those of `FORMATS`."""
    if holds_committee(model):
        return COMMITTEE_FORMATS
    if holds_rules(model):
        return VOTING_FORMATS if hasattr(model, "export_c") else ORDERED_FORMATS
    return ADDITIVE_FORMATS if holds_shapes(model) else {}


def _check_options(form: str, given: Mapping[str, Any], own: Mapping[str, tuple[str, tuple[str, ...]]], path: str) -> None:
    """Refuse a format that cannot be, and options that it does not take."""
    if own:
        what = "an additive model, not a tree: its" if own is ADDITIVE_FORMATS else "rules, not a tree: their"
        if form not in own:
            raise ValueError(f"{path} holds {what} formats are {listed(list(own), len(own))}, not {form!r}")
        if other := [name for name in given if name not in own[form][1]]:
            kind = what.partition(",")[0]
            raise click.UsageError(f"{path} holds {kind}, which {form} lists as they are: leave out {_written(other)}")
    elif other := [name for name in given if name not in FORMATS[form].options]:
        raise click.UsageError(
            f"{_written(other)} is not for --format {form}, which takes {_written(FORMATS[form].options) or 'no options'}"
        )


def _samples(file: File, model: SavedTree, target: str | None, saved: str) -> dict[str, Any]:
    """The rows of a table, and their truth, as the pictures take them."""
    truth = find_target(file, target, saved)
    table = read_table(file, model, truth)
    return {"X": without(table, [truth]), "y": table[truth]}


def _written(names: Sequence[str] | Mapping[str, Any]) -> str:
    return ", ".join("DATA" if name == "data" else f"--{name.replace('_', '-')}" for name in names)


def _structure(model: Shown, target: str) -> dict[str, Any]:
    """What a model is made of."""
    classes: Any = getattr(model, "classes_", None)
    labels = [each.tolist() for each in classes] if isinstance(classes, list) else None if classes is None else classes.tolist()
    importances: list[float | None] = [None] * model.n_features_in_
    if not holds_rules(model) and not holds_committee(model):
        importances = model.feature_importances_.tolist()
    features = [
        {"name": feature.name, "kind": feature.kind.name.lower(), "importance": importance}
        for feature, importance in zip(model.schema_.features, importances, strict=True)
    ]
    return describe(model, target) | {"classes": labels, "features": features}
