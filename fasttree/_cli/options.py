"""Options that several commands have, and what the user writes in them: parameters of estimators and their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from fasttree._cli.console import read_value
from fasttree._cli.models import LABELS
from fasttree._cli.tables import FEW
from fasttree._learn.recipe import IMPURITIES, IMPURITIES_OF_NUMBERS

if TYPE_CHECKING:
    from fasttree._cli.models import Estimator
    from fasttree.pruning import PruningMethod

FILE = click.Path(readable=False)  # shells complete its name; whether it is there is found out when it is opened
# Help pages and shells read these lists, since importing what they list takes long; tests compare them.
PRUNINGS = {  # the words of the methods, with their parameters and default values
    "cost_complexity": "alpha 0.0, risk impurity, selection best",
    "c_alpha": "alpha 0.0, unit bits",
    "reduced_error": "max_error_increase 0.0",
    "pessimistic": "",
    "error_based": "confidence 0.25",
    "minimum_error": "m 2.0",
    "critical_value": "selection best, value none",
    "chi_square": "p_value 0.05",
}
SORT_KEYS = ("support", "n_samples", "precision", "lift", "spread", "prediction", "n_conditions", "node")  # of rules
DIALECTS = ("standard", "sqlite", "duckdb", "postgresql", "bigquery", "snowflake", "tsql", "spark")
PRUNINGS_FOR_NUMBERS = ("cost_complexity", "c_alpha", "reduced_error")
OTHER_PARAMETERS = {  # of the algorithms, without an option of their own
    "id3": "epsilon, min_impurity, min_weight_fraction_leaf, split_p_value, unseen",
    "c45": "epsilon, min_gain, min_impurity, min_part_weight, min_weight_fraction_leaf, n_trials, split_p_value, "
    "unseen, variant, window_increment, window_size",
    "c45rules": "annealing, epsilon, min_impurity, min_part_weight, min_weight_fraction_leaf, n_trials, "
    "redundancy, significance, unseen, variant, window_increment, window_size",
    "c50": "early_stopping, global_pruning, min_gain, min_impurity, min_weight_fraction_leaf, rule_order, split_p_value, "
    "unseen, winnow",
    "cart": "interaction_cst, max_surrogates, midpoint, min_gain, min_impurity, min_part_weight, "
    "min_weight_fraction_leaf, monotonic_cst, no_surrogate, nominal, split_p_value, surrogate_agreement, unseen",
    "chaid": "alpha_merge, alpha_resplit, alpha_split, bonferroni, exhaustive_multiplier, method, min_weight_fraction_leaf, "
    "n_intervals, resplit, spss_limits, unseen",
    "gam": "interactions, l2_regularization, learning_rate, max_iter, monotonic_cst, n_bags, n_iter_no_change, smoothing_rounds, "
    "unseen, validation_fraction",
    "cubist": "committees, extrapolation, max_rules, neighbors, unbiased, unseen",
    "m5": "balanced, elimination, extrapolation, indicators, least_deviation, linear, min_weight_fraction_leaf, path_features, "
    "pruning_factor, smoothing, unseen, variant",
    "optimal": "leaf_penalty, max_gap, memory_limit, min_weight_fraction_leaf, time_limit, unseen",
    "forest": "bootstrap, interaction_cst, max_samples, max_surrogates, midpoint, min_gain, min_impurity, min_part_weight, "
    "min_weight_fraction_leaf, monotonic_cst, no_surrogate, nominal, oob_score, recipe, split_p_value, surrogate_agreement, "
    "unseen, warm_start",
    "extra-trees": "bootstrap, interaction_cst, max_samples, midpoint, min_gain, min_impurity, min_part_weight, "
    "min_weight_fraction_leaf, monotonic_cst, nominal, oob_score, recipe, split_p_value, unseen, warm_start",
}
OPTIONS = {"n_estimators": "--trees"}  # of parameters whose options have other names
PARAMETERS = {
    "n_estimators": "forest, extra-trees: number of trees; default: 100.",
    "trials": "c50: number of trials of boosting; default: 1, a single tree.",
    "max_features": "Features that each node draws: a number, a share such as 0.3, sqrt or log2; default: sqrt for classes in "
    "forests, else all.",
    "max_depth": "Largest number of tests on a path; a c45 tree may stay shallower, as splits that do not reduce the training "
    "errors are taken back, and by pruning.",
    "max_leaf_nodes": "Most leaves; the best nodes are split first.",
    "min_samples_split": "A node with fewer samples is a leaf; 0.05 is a share of all samples.",
    "min_samples_leaf": "Least number of samples in a branch; 0.01 is a share of all samples.",
    "min_impurity_decrease": "Least gain of a split, weighted by the node's share of the samples.",
    "max_bins": "Columns of more values are cut only between so many bins of nearly equal numbers of rows; by default anywhere.",
    "n_jobs": "Threads for large tables, forests and optimal trees; -1 for all cores.",
    "criterion": f"cart: {', '.join(IMPURITIES)}, or to regress {', '.join(IMPURITIES_OF_NUMBERS)}; c45: gain_ratio, gain; "
    "m5: fifth_root, squared_error; forest, extra-trees: as cart.",
    "lookahead": "cart: 2: each split is the root of the best tree of two levels, which takes longer; default: 1.",
    "missing": "cart, forest: where a missing value goes: direction (gains most), surrogate, fractional, majority, branch, or "
    "error; extra-trees: all but surrogate.",
    "class_weight": "balanced, or {'class': weight, ...}.",
    "priors": "cart, forest, extra-trees: share of each class where the tree will be used, {'class': share, ...}.",
    "loss_matrix": "cart, c50, forest, extra-trees: cost of mistakes, {'true': {'predicted': cost, ...}, ...}; 1 if not named.",
    "min_samples_branch": "c45, c50: a split needs two branches with so many samples.",
    "pruning": f"{', '.join(PRUNINGS)}, or none; c45 prunes by error_based and c50 by c50, unless asked. "
    "Parameters follow a colon: cost_complexity:alpha=cv,selection=1se. `fasttree prune --help` lists them.",
    "ccp_alpha": "Short for --pruning cost_complexity:alpha=VALUE: the cost of a leaf, or cv or validation to choose it; forest, "
    "extra-trees: a number, which prunes each tree.",
    "confidence": "c45: short for --pruning error_based:confidence=VALUE, such as 0.25; smaller prunes more; c50: level of its "
    "pruning.",
}
FLAGS = {
    "rules": "c50: learn rules that vote instead of a tree.",
    "subset": "c45, c50: group the categories of nominal columns.",
    "windowing": "c45: grow trees on a part of the rows and on what they get wrong, and keep the best; see --param n_trials.",
    "soft_thresholds": "c45, c50: values near a threshold go to both branches in part, in prediction.",
}


def table_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how a CSV file is written."""
    command = click.option(
        "--separator", default=",", show_default=True, help="Between the cells of a CSV file: one character, or 'tab'."
    )(command)
    return click.option(
        "--missing-marker",
        "markers",
        multiple=True,
        metavar="TEXT",
        help="A cell of a CSV file that means missing, such as '?'; repeatable. An empty cell always does.",
    )(command)


def json_option(text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add --json, which prints one object on one line instead of words; `text` says which keys it has."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print one JSON object for programs: {text}")


def _keep_labels(context: click.Context, _: click.Parameter, path: str | None) -> None:
    context.meta[LABELS] = path


labels_option = click.option(
    "--labels",
    metavar="FILE",
    type=FILE,
    expose_value=False,
    callback=_keep_labels,
    help='Labels to show, a JSON file such as {"sex": ["Gender", {"f": "women"}], "age": "Age", "survived": {"0": "died"}}.',
)


def seed_option(text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add --seed; `text` says of what."""
    return click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, metavar="N", help=text)


def truth_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add --target where a model is measured: it may know the column's name itself."""
    return click.option(
        "--target",
        metavar="NAME",
        shell_complete=complete_columns,
        help="Column with the truth; by default the one that the tree was grown for.",
    )(command)


def learning_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say what is to be learned from a table."""
    for option in (
        click.option(
            "--ignore", multiple=True, metavar="A,B", shell_complete=complete_columns, help="Columns to leave out; repeatable."
        ),
        click.option("--ordinal", multiple=True, metavar="NAME=LOW,...,HIGH", help="Column with an order; repeatable."),
        click.option(
            "--categorical",
            multiple=True,
            metavar="A,B",
            shell_complete=complete_columns,
            help="Columns to be taken as nominal; repeatable.",
        ),
        click.option(
            "--task",
            type=click.Choice(["auto", "classification", "regression"]),
            default="auto",
            show_default=True,
            help=f"auto: regression for cart and forests, and a target with fractions or more than {FEW} distinct numbers.",
        ),
        click.option(
            "--target",
            metavar="NAME",
            shell_complete=complete_columns,
            help="Column to predict; by default the class of C4.5's files, the last attribute of ARFF.",
        ),
    ):
        command = option(command)
    return command


def complete_columns(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Give the shell the names of the columns of the table that the command line names so far."""
    from fasttree._data.files.plain import plain_names

    data = context.params.get("data")
    if data is None:  # arguments before an option without its value are kept, but not parsed
        arguments = [found.name for found in context.command.params if isinstance(found, click.Argument)]
        place = arguments.index("data")
        data = context.args[place] if place < len(context.args) else None
    try:
        names = [] if data is None else plain_names(data, ",") or _names_by_polars(data)
    except (OSError, ValueError):
        return []  # there is nothing to complete from
    return [name for name in names if name.startswith(incomplete)]


def _names_by_polars(data: str) -> list[str]:
    """Return the names of the columns of any table; importing polars takes longer than a shell should wait."""
    from fasttree._data.files.blocks import STANDARD_INPUT, open_table

    return [] if data == STANDARD_INPUT else open_table(data, (), ",").names


def complete_methods(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Give the shell the words of the methods of pruning."""
    return [word for word in PRUNINGS if word.startswith(incomplete)]


def option_of(name: str) -> str:
    """Return the option of a parameter."""
    return OPTIONS.get(name, f"--{name.replace('_', '-')}")


def parameter_options(command: Callable[..., None]) -> Callable[..., None]:
    for name, text in reversed(FLAGS.items()):
        command = click.option(option_of(name), is_flag=True, default=None, help=text)(command)
    for name, text in reversed(PARAMETERS.items()):
        complete = complete_methods if name == "pruning" else None
        command = click.option(option_of(name), name, metavar="VALUE", shell_complete=complete, help=text)(command)
    return command


def any_parameter_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add --param, which gives a parameter that has no option of its own."""
    others = " ".join(f"{algorithm}: {names}." for algorithm, names in OTHER_PARAMETERS.items())
    return click.option(
        "--param",
        "params",
        multiple=True,
        metavar="NAME=VALUE",
        help=f"Any parameter of the estimator; repeatable. {others}",
    )(command)


def read_parameters(
    estimator: type[Estimator],
    seed: int,
    kinds: Mapping[str, Any],
    common: Mapping[str, str | bool | None],
    params: Sequence[str],
) -> dict[str, Any]:
    _check_options(estimator, [name for name, asked in common.items() if asked is not None])
    given: dict[str, Any] = {
        name: _read_option(name, asked) if isinstance(asked, str) else asked
        for name, asked in common.items()
        if asked is not None
    }
    given |= kinds
    for text in params:
        add_parameter(given, text, "--param")
    given = with_pruning(given)
    check_parameters(estimator, given)
    return {"random_state": seed} | given


def _check_options(estimator: type[Estimator], given: Sequence[str]) -> None:
    """Raise one error for all options of trees that are given for a forest, or the other way round."""
    known = estimator._get_param_names()
    if "n_estimators" not in known:
        if "n_estimators" in given:
            raise click.UsageError("--trees is for forests: add --algorithm forest or extra-trees, or leave it out")
        return
    if wrong := [name for name in given if name not in known]:
        pruning = "; --ccp-alpha VALUE prunes each tree" if {"pruning", "confidence"} & set(wrong) else ""
        options = ", ".join(option_of(name) for name in [*PARAMETERS, *FLAGS] if name in known)
        given_wrongly = ", ".join(map(option_of, wrong))
        raise click.UsageError(
            f"{estimator.__name__} does not take {given_wrongly}: leave this out{pruning}. It takes {options}, and "
            f"others by --param"
        )


def _read_option(name: str, text: str) -> Any:
    return read_pruning(text) if name == "pruning" else read_parameter(name, text)


def add_parameter(given: dict[str, Any], text: str, where: str) -> None:
    """Read NAME=VALUE into the parameters given so far."""
    name, equals, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if not equals or not name:
        raise click.UsageError(f"{where} {text!r}: must be NAME=VALUE")
    if name in given:
        raise click.UsageError(f"{name} is given twice")
    given[name] = read_parameter(name, value)


def parts_of(text: str) -> Iterator[str]:
    """Cut a text at its commas outside brackets and quotes: a value may be {'yes': 2, 'no': 1}."""
    start = depth = 0
    quote = ""
    for i, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth <= 0:
            yield text[start:i]
            start = i + 1
    yield text[start:]


def read_pruning(text: str) -> Any:
    """Read METHOD, or METHOD:NAME=VALUE,..., as a pruning; `none` is None."""
    word, colon, rest = text.partition(":")
    word = word.strip().replace("-", "_")
    if word.lower() == "none" and not colon:
        return None
    given: dict[str, Any] = {}
    for part in parts_of(rest) if colon else ():
        add_parameter(given, part, f"--pruning {word}")
    return _pruning(word, given)


def _pruning(word: Any, given: Mapping[str, Any]) -> Any:
    """Return a word, or with parameters the value of the method."""
    from fasttree.pruning import METHODS

    if word not in METHODS:
        raise click.UsageError(
            f"--pruning {word}: must be one of {', '.join(METHODS)}, or none; parameters follow a colon, such as "
            "cost_complexity:alpha=0.001"
        )
    if not given:
        return word
    check_parameters(METHODS[word], given)
    method = METHODS[word](**given)
    method.check()
    return method


def with_pruning(given: dict[str, Any]) -> dict[str, Any]:
    """Make one pruning of a word and its parameters, such as pruning__alpha."""
    own = {name: value for name, value in given.items() if name.startswith("pruning__")}
    if not own:
        return given
    rest = {name: value for name, value in given.items() if name not in own}
    if not isinstance(rest.get("pruning"), str):
        raise click.UsageError(f"{next(iter(own))} needs a pruning, such as pruning=cost_complexity")
    return rest | {"pruning": _pruning(rest["pruning"], {name.removeprefix("pruning__"): own[name] for name in own})}


def check_parameters(estimator: type[Estimator | PruningMethod], given: Iterable[str]) -> None:
    """Check that names are parameters of an estimator, or of a method of pruning."""
    known = estimator._get_param_names()
    for name in given:
        if name not in known:
            raise ValueError(f"{estimator.__name__} has no parameter {name!r}; it has {', '.join(known) or 'none'}")


def read_parameter(name: str, text: str) -> Any:
    """Read the value of a parameter, none of which is text that looks like a dict or a list."""
    value = read_value(text)
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        raise click.UsageError(
            f"{name}: {text!r} cannot be read: write text in quotes, such as {{'yes': 2, 'no': 1}} or ['a', 'b']"
        )
    return value
