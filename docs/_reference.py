"""Reference pages of the estimators: groups of parameters and tables of methods, made from the classes at every build."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

from fasttree import CARTClassifier
from fasttree._learn.parameters import defaults_of
from fasttree.estimators.common.registry import ESTIMATORS

# Parameters by group: title, guide, names.  Every parameter of every estimator is in one group.
PARAMETERS = (
    (
        "Splits and growth",
        "/choosing",
        "recipe criterion lookahead variant nominal subset midpoint monotonic_cst interaction_cst max_features max_bins "
        "merge_p_value max_intervals soft_thresholds windowing winnow trials early_stopping n_trials window_size "
        "window_increment method alpha_merge resplit alpha_resplit bonferroni exhaustive_multiplier n_intervals balanced",
    ),
    (
        "Stopping",
        "/choosing",
        "max_depth max_leaf_nodes min_samples_split min_samples_leaf min_samples_branch min_weight_fraction_leaf min_gain "
        "epsilon min_impurity_decrease min_impurity least_deviation split_p_value alpha_split spss_limits leaf_penalty "
        "max_gap time_limit memory_limit",
    ),
    (
        "Additive model",
        "/algorithms/gam",
        "learning_rate max_iter n_bags validation_fraction n_iter_no_change smoothing_rounds interactions l2_regularization",
    ),
    ("Linear models", "/algorithms/m5", "linear indicators path_features elimination smoothing extrapolation"),
    ("Forest", "/guide/forests", "n_estimators bootstrap max_samples oob_score warm_start"),
    ("Missing values", "/choosing", "missing min_part_weight max_surrogates surrogate_agreement no_surrogate unseen"),
    ("Pruning", "/pruning", "pruning ccp_alpha confidence global_pruning pruning_factor"),
    ("Rules", "/algorithms/c45rules", "rules rule_order redundancy significance annealing"),
    ("Rules with linear models", "/algorithms/cubist", "committees neighbors unbiased max_rules"),
    ("Costs and class imbalance", "/costs", "class_weight priors loss_matrix"),
    (
        "Columns, seed, threads and progress",
        "/tutorials/sklearn",
        "categorical_features ordinal_features random_state n_jobs verbose",
    ),
)
# Methods by group.  Every public method of every estimator is in one group.
METHODS = (
    (
        "Train and predict",
        "fit from_tree predict decision_function predict_proba predict_log_proba smoothed_proba staged_predict trial_errors "
        "score",
    ),
    ("Prune", "prune collapse apply_edits cost_complexity_pruning_path plot_pruning_table"),
    (
        "Explain",
        "summary diff export_text to_rules to_frame to_markdown explain shap_values competing_splits node_test "
        "feature_importances_ surrogate_importances get_depth get_n_leaves",
    ),
    (
        "Trees of a forest",
        "estimators_ estimators_samples_ agreement most_representative_tree shared_rules oob_curve plot_oob_curve "
        "permutation_importances proximity predict_quantiles predict_std",
    ),
    ("Shapes of an additive model", "contributions plot_shape set_scores make_monotone"),
    ("Edit by hand", "split regrow"),
    ("Draw", "plot plot_regions plot_importances plot_usage export_svg export_dot export_mermaid export_html set_labels"),
    ("Find leaves", "apply decision_path leaf_indicator"),
    ("Save", "save load to_json"),
    ("Export", "to_predictor export_c export_python export_sql export_pmml export_onnx to_sklearn"),
    ("scikit-learn", "get_params set_params get_metadata_routing set_fit_request set_score_request"),
)
HIDDEN = {"get_metadata_routing", "set_fit_request", "set_score_request"}
_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r":ref:`([^`<]*?) *(?:<[^`]*>)?`")  # into scikit-learn's own documentation


def estimator_of(name: str) -> type | None:
    """Return the estimator of a name such as "fasttree.CARTClassifier", or None."""
    return next((entry.load() for entry in ESTIMATORS if entry.name == name.rpartition(".")[2]), None)


def split_parameters(text: str) -> tuple[str, dict[str, str]]:
    """Return a docstring without its section of parameters, and the text of each parameter."""
    found = _SECTION.search(text)
    if not found:
        raise ValueError("the docstring has no section of parameters")
    each = re.split(r"^(?=\w+ : )", found[1], flags=re.MULTILINE)[1:]
    return text[: found.start()] + text[found.end() :], {part.partition(" : ")[0]: part for part in each}


def grouped_parameters(described: dict[str, str]) -> Iterator[str]:
    """Write the parameters by group as fields, as numpydoc writes a section."""
    left = dict(described)
    for title, guide, names in PARAMETERS:
        here = [name for name in names.split() if name in left]
        if not here:
            continue
        yield f":{title}:\n\n    See :doc:`{guide}`.\n"
        for name in here:
            head, _, body = left.pop(name).partition("\n")
            type_ = head.partition(" : ")[2].replace("\\", "\\\\").replace("*", "\\*")
            yield indent(f"**{name}** : {type_}\n{body.rstrip()}\n", "    ")
    if left:
        raise ValueError(f"parameters without a group in docs/_reference.py: {sorted(left)}")


def public_methods(estimator: type) -> set[str]:
    """Return the names of the public methods and properties of an estimator, including those of scikit-learn's base classes."""
    members = inspect.getmembers(estimator, lambda member: inspect.isroutine(member) or isinstance(member, property))
    return {name for name, _ in members if not name.startswith("_")}


def _role(estimator: type, name: str) -> str:
    """Return the role of a link to a member."""
    return "attr" if isinstance(getattr(estimator, name), property) else "meth"


def table_of_methods(estimator: type) -> Iterator[str]:
    """Write a table of the methods: name, and first sentence of the docstring."""
    left = public_methods(estimator)
    yield ".. rubric:: Methods\n\n.. list-table::\n    :widths: 35 65\n    :class: methods\n"
    for title, names in METHODS:
        here = [name for name in names.split() if name in left]
        left -= set(here)
        shown = [name for name in here if name not in HIDDEN]
        if shown:
            yield f"    * - **{title}**\n      -"
        for name in shown:
            summary = " ".join((inspect.getdoc(getattr(estimator, name)) or "").partition("\n\n")[0].split())
            summary = _LINK.sub(r"\1", summary)
            yield f"    * - :{_role(estimator, name)}:`~fasttree.{estimator.__name__}.{name}`\n      - {summary}"
    if left:
        raise ValueError(f"methods without a group in docs/_reference.py: {sorted(left)}")


def overview_of_parameters() -> str:
    """Return a Markdown table of all parameters by group, with their defaults in each estimator."""
    defaults = {entry.name: defaults_of(entry.load()) for entry in ESTIMATORS}
    lines = [
        "| | " + " | ".join(f"{{py:class}}`~fasttree.{name}`" for name in defaults) + " |",
        "|---" * (len(defaults) + 1) + "|",
    ]
    for title, guide, names in PARAMETERS:
        lines.append(f"| **[{title}](..{guide}.md)** |" + " |" * len(defaults))
        for name in names.split():
            cells = (_code(each[name]) if name in each else "" for each in defaults.values())
            lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _code(default: object) -> str:
    """Return a default as code, as a call would have it."""
    return f'`"{default}"`' if isinstance(default, str) else f"`{default!r}`"


def overview_of_methods(estimator: type) -> str:
    """Return a Markdown table of the methods of an estimator by group, as links."""
    here = public_methods(estimator) - HIDDEN
    lines = ["| | |", "|---|---|"]
    for title, names in METHODS:
        links = [
            f"{{py:{_role(estimator, name)}}}`~fasttree.{estimator.__name__}.{name}`" for name in names.split() if name in here
        ]
        lines.append(f"| {title} | {', '.join(links)} |")
    return "\n".join(lines) + "\n"


def write_overviews(folder: Path) -> None:
    """Write the tables that the pages of the reference include."""
    (folder / "parameters.md").write_text(overview_of_parameters(), encoding="utf-8")
    (folder / "methods.md").write_text(overview_of_methods(CARTClassifier), encoding="utf-8")


def take_parameters(app, what, name, obj, options, lines) -> None:
    """Remove the section of parameters from an estimator's docstring, before numpydoc reads it."""
    if what == "class" and estimator_of(name) is obj:
        text, app.env.fasttree_parameters = split_parameters("\n".join(lines))
        lines[:] = text.split("\n")


def add_groups(app, what, name, obj, options, lines) -> None:
    """Add the groups of parameters and the table of methods, after numpydoc."""
    if what == "class" and estimator_of(name) is obj:
        place = next((i for i, line in enumerate(lines) if line.startswith((":Attributes:", ".. rubric::"))), len(lines))
        parts = ["", *grouped_parameters(app.env.fasttree_parameters), ""]
        table = ["", *table_of_methods(obj), ""]
        lines[:] = [*lines[:place], *"\n".join(parts).split("\n"), *lines[place:], *"\n".join(table).split("\n")]


def setup(app) -> None:
    """Connect both hooks around numpydoc's, whose priority is 500."""
    app.connect("autodoc-process-docstring", take_parameters, priority=300)
    app.connect("autodoc-process-docstring", add_groups, priority=600)
