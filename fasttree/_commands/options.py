"""Options that several commands have, and what the user writes in them: parameters of estimators and their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click

from .._files import STANDARD_INPUT, open_table
from .console import read_value
from .models import ALGORITHMS, Estimator
from .tables import FEW

FILE = click.Path(readable=False)  # shells complete its name; whether it is there is found out when it is opened
PARAMETERS = {
    "max_depth": "Largest number of tests on a path; a c45 tree may stay shallower, as splits that do not reduce the training "
    "errors are taken back, and by pruning.",
    "max_leaf_nodes": "Most leaves; the best nodes are split first.",
    "min_samples_split": "A node with fewer samples is a leaf; 0.05 is a share of all samples.",
    "min_samples_leaf": "Least number of samples in a branch; 0.01 is a share of all samples.",
    "min_impurity_decrease": "Least gain of a split, weighted by the node's share of the samples.",
    "max_bins": "Columns of more values are cut only between so many bins of nearly equal numbers of rows; by default anywhere.",
    "n_jobs": "Threads for large tables; -1 for all cores.",
    "criterion": "cart: gini, entropy, misclassification, or to regress squared_error, absolute_error, poisson; c45: gain_ratio, "
    "gain.",
    "missing": "cart: where a missing value goes: direction (gains most), surrogate, fractional, majority, branch, or error.",
    "class_weight": "balanced, or {'class': weight, ...}.",
    "priors": "cart: share of each class where the tree will be used, {'class': share, ...}.",
    "loss_matrix": "cart: what a mistake costs, {'true': {'predicted': cost, ...}, ...}; 1 where not named.",
    "min_samples_branch": "c45: a split needs two branches with so many samples.",
    "pruning": "error_based (what c45 does unasked), cost_complexity, c_alpha, reduced_error, pessimistic, minimum_error, "
    "critical_value, chi_square, or none; a cart that regresses: cost_complexity, c_alpha, reduced_error.",
    "ccp_alpha": "cost_complexity: what a leaf costs, or cv or validation to choose it; asks for that pruning.",
    "confidence": "error_based: level of the limit that is the predicted error, such as 0.25; smaller prunes more.",
}
FLAGS = {
    "subset": "c45: group the categories of nominal columns.",
    "windowing": "c45: grow trees on a part of the rows and on what they get wrong, and keep the best; see --param n_trials.",
    "soft_thresholds": "c45: values near a threshold go to both branches in part, in prediction.",
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
            help=f"auto: regression for cart and a target with fractions or more than {FEW} distinct numbers.",
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
    data = context.params.get("data")
    if data is None:  # what stands before an option without its value is not parsed, but kept
        arguments = [found.name for found in context.command.params if isinstance(found, click.Argument)]
        place = arguments.index("data")
        data = context.args[place] if place < len(context.args) else None
    try:
        names = [] if data in (None, STANDARD_INPUT) else open_table(data, (), ",").names
    except (OSError, ValueError):
        return []  # there is nothing to complete from
    return [name for name in names if name.startswith(incomplete)]


def parameter_options(command: Callable[..., None]) -> Callable[..., None]:
    for name, text in reversed(FLAGS.items()):
        command = click.option(f"--{name.replace('_', '-')}", is_flag=True, default=None, help=text)(command)
    for name, text in reversed(PARAMETERS.items()):
        command = click.option(f"--{name.replace('_', '-')}", metavar="VALUE", help=text)(command)
    return command


def other_parameters() -> str:
    """List, by algorithm, the names for --param that have no option of their own."""
    own = {*PARAMETERS, *FLAGS, "categorical_features", "ordinal_features", "random_state"}
    names: dict[str, list[str]] = {algorithm: [] for algorithm, _ in ALGORITHMS}
    for (algorithm, _), estimator in ALGORITHMS.items():
        names[algorithm] += [name for name in estimator._get_param_names() if name not in {*own, *names[algorithm]}]
    return " ".join(f"{algorithm}: {', '.join(listed)}." for algorithm, listed in names.items())


def read_parameters(
    estimator: type[Estimator],
    seed: int,
    kinds: Mapping[str, Any],
    common: Mapping[str, str | bool | None],
    params: Sequence[str],
) -> dict[str, Any]:
    given: dict[str, Any] = {
        name: read_parameter(name, asked) if isinstance(asked, str) else asked
        for name, asked in common.items()
        if asked is not None
    }
    given |= kinds
    for text in params:
        add_parameter(given, text, "--param")
    check_parameters(estimator, given)
    return {"random_state": seed} | given


def add_parameter(given: dict[str, Any], text: str, where: str) -> None:
    """Read NAME=VALUE into the parameters given so far."""
    name, equals, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if not equals or not name:
        raise click.UsageError(f"{where} {text!r}: must be NAME=VALUE")
    if name in given:
        raise click.UsageError(f"{name} is given twice")
    given[name] = read_parameter(name, value)


def check_parameters(estimator: type[Estimator], given: Iterable[str]) -> None:
    """Refuse names that are no parameters of an estimator."""
    known = estimator._get_param_names()
    for name in given:
        if name not in known:
            raise ValueError(f"{estimator.__name__} has no parameter {name!r}; it has {', '.join(known)}")


def read_parameter(name: str, text: str) -> Any:
    """Read the value of a parameter, none of which is text that looks like a dict or a list."""
    value = read_value(text)
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        raise click.UsageError(
            f"{name}: {text!r} cannot be read: write text in quotes, such as {{'yes': 2, 'no': 1}} or ['a', 'b']"
        )
    return value
