"""Settings in model files, which are read in the words of all earlier versions, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fasttree._data.checks import is_integer
from fasttree.pruning import METHODS, method_of

_NAMES = {"max_split_p_value": "split_p_value"}
_RECIPE_WORDS = {("nominal", "category"): "declared", ("ordinal", "category"): "declared", ("continuous", "refuse"): "error"}

# Until 1.2 the parameters of each method were parameters of the estimator, under these names.
_OF_METHODS = {
    "cost_complexity": {
        "ccp_alpha": "alpha",
        "pruning_risk": "risk",
        "cv": "cv",
        "rule": "selection",
        "validation_fraction": "validation_fraction",
    },
    "c_alpha": {"alpha": "alpha", "alpha_unit": "unit"},
    "reduced_error": {"tolerance": "max_error_increase", "validation_fraction": "validation_fraction"},
    "error_based": {"confidence": "confidence"},
    "minimum_error": {"m": "m"},
    "critical_value": {"critical_value": "value", "rule": "selection", "validation_fraction": "validation_fraction"},
    "chi_square": {"max_p_value": "p_value"},
}


def in_todays_words(settings: Mapping[str, Any], kept: list[str]) -> dict[str, Any]:
    """Return settings with the names and values of this version.

    Parameters
    ----------
    settings : mapping
        Settings of a file; those of this version do not change.
    kept : list of str
        Parameters of the estimator in this version.
    """
    found = {_NAMES.get(name, name): value for name, value in settings.items()}
    recipe = found.get("recipe")
    if isinstance(recipe, dict):
        found["recipe"] = {
            name: _RECIPE_WORDS.get((name, value), value) if isinstance(value, str) else value for name, value in recipe.items()
        }
    if "validation_fraction" not in found:
        return found
    word = found.get("pruning")
    if word is None and found.get("ccp_alpha", 0.0) != 0:
        word = "cost_complexity"
    if not isinstance(word, str) or word not in _OF_METHODS:
        return found
    taken = _OF_METHODS[word]
    given = {new: found[old] for old, new in taken.items() if old in found and old not in kept}
    default = METHODS[word]().get_params(deep=False) if given else {}
    if any(value != default[name] for name, value in given.items()):
        if "ccp_alpha" in taken:
            given["alpha"], found["ccp_alpha"] = found["ccp_alpha"], 0.0
        found["pruning"] = {"method": word, **given}
    return found


def settings_of(pruning: Any) -> Any:
    """Return a pruning for a file: a word or None as it is, a value as its word with its parameters."""
    if pruning is None or isinstance(pruning, str):
        return pruning
    method = method_of(pruning)
    assert method is not None
    settings = {"method": method.word, **method.get_params(deep=False)}
    if "cv" in settings and not is_integer(settings["cv"]):
        settings["cv"] = 10  # a splitter or a list of rows is only for the samples of the fit
    return settings


def pruning_of(settings: Any) -> Any:
    """Read what `settings_of` wrote."""
    if not isinstance(settings, dict):
        return settings
    word = settings.get("method")
    if not isinstance(word, str) or word not in METHODS:
        raise ValueError(f"pruning: method must be one of {', '.join(METHODS)}; got {word!r}")
    given = {name: value for name, value in settings.items() if name != "method"}
    known = METHODS[word]._get_param_names()
    for name in given:
        if name not in known:
            raise ValueError(f"pruning: {word} has no {name!r}; it has {', '.join(known) or 'no parameters'}")
    return METHODS[word](**given)
