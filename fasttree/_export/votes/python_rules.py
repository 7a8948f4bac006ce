"""Rules that vote as a Python module that imports only `math`."""

from __future__ import annotations

from collections.abc import Iterator

from fasttree._export.python import reading
from fasttree._export.python_module import block, head_tables, module_source
from fasttree._export.subject import RuleSubject
from fasttree._model.ruleset import NO_RULE_FIRES, Rule, TrialRules, figures_of, ranks_of, votes_of
from fasttree._model.words import counted
from fasttree._version import __version__

__all__ = ["export_rules_python", "rules_text"]


def export_rules_python(subject: RuleSubject, name: str = "rules") -> str:
    """Write rules that vote as the source of a Python module.

    Parameters
    ----------
    subject : RuleSubject
    name : str, default "rules"
        Name of the rules in the docstring of the module.

    Returns
    -------
    str
        Source for CPython 3.8 and later, with `predict` and `predict_proba` for one row.

    Raises
    ------
    ValueError
        If the name is not a Python name.
    """
    votes = VOTES if len(subject.trials) == 1 else VOTES_OF_TRIALS.format(none=NO_RULE_FIRES)
    parts = [_tables(subject), PREDICT, votes, RULES_THAT_FIRE, *reading(subject)]
    about = [
        rules_text(subject),
        f"Written by fasttree {__version__}; its results are those of the model's predict and predict_proba, to the last bit.",
    ]
    return module_source(name, "rules", about, subject, parts)


def rules_text(subject: RuleSubject) -> str:
    """Describe the rules in a line."""
    several = f" in {len(subject.trials)} trials" if len(subject.trials) > 1 else ""
    n_rules = sum(len(trial.rules) for trial in subject.trials)
    return f"{counted(n_rules, 'rule')} that vote{several}, for classification ({subject.algorithm})."


def _tables(subject: RuleSubject) -> str:
    written = [*head_tables(subject.schema.features, [subject.classes])]
    written.append(f"NO_VOTES = {tuple(subject.none_fires())!r}  # the probabilities if no rule votes")
    comment = "of each trial the place of the default class, and the rules: place of the class, votes, conditions"
    written.append(block("TRIALS", comment, (_trial(subject, trial) for trial in subject.trials)))
    return "\n".join(written)


def _trial(subject: RuleSubject, trial: TrialRules) -> str:
    """Write the rules of a trial, those that cover the fewest samples first."""
    votes, ranks = votes_of(*figures_of(trial.rules)).tolist(), ranks_of(trial.rules).tolist()
    order = sorted(range(len(ranks)), key=ranks.__getitem__)
    rules = (f"        {_rule(subject, trial.rules[i], votes[i])}," for i in order)
    return f"({trial.default}, (\n" + "".join(f"{rule}\n" for rule in rules) + "    ))"


def _rule(subject: RuleSubject, rule: Rule, votes: int) -> str:
    return f"({subject.classes.index(rule.label)}, {votes}, ({' '.join(_conditions(subject, rule))}))"


def _conditions(subject: RuleSubject, rule: Rule) -> Iterator[str]:
    for condition in rule.conditions:
        if condition.threshold is None:
            yield f'({condition.index}, "in", {tuple(subject.codes(condition))!r}),'
        else:
            yield f'({condition.index}, "{condition.operator}", {float(condition.threshold)!r}),'


PREDICT = '''
def predict(row):
    """Return the class of a row."""
    return CLASSES[_best(_votes(_sample(row)), TRIALS[0][0])]


def predict_proba(row):
    """Return the probability of each class, a list."""
    votes = _votes(_sample(row))
    total = sum(votes)
    return [vote / total for vote in votes] if total else list(NO_VOTES)


def _best(votes, default):
    """Return the place of the class with the most votes; on ties the default class, or else the first."""
    return default if votes[default] == max(votes) else votes.index(max(votes))
'''

VOTES = '''
def _votes(x):
    """Return the votes for each class: each rule that fires votes for its class."""
    votes = [0] * len(CLASSES)
    for label, vote in _fire(x, TRIALS[0][1]):
        votes[label] += vote
    return votes
'''

VOTES_OF_TRIALS = '''
def _votes(x):
    """Return the votes for each class: each trial votes for its class, with the vote of the first rule that fires for it."""
    votes = [0] * len(CLASSES)
    for default, rules in TRIALS:
        given, first = [0] * len(CLASSES), dict()
        for label, vote in _fire(x, rules):
            first.setdefault(label, vote)
            given[label] += vote
        best = _best(given, default)
        votes[best] += first.get(best, {none})
    return votes
'''

RULES_THAT_FIRE = '''
def _fire(x, rules):
    """Yield class and votes of each rule whose conditions all hold; a missing value passes none."""
    for label, vote, conditions in rules:
        for feature, operator, value in conditions:
            x_j = x[feature]
            if not (x_j <= value if operator == "<=" else x_j > value if operator == ">" else x_j in value):
                break
        else:
            yield label, vote
'''
