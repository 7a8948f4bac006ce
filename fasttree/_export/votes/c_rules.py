"""Rules that vote as C source: a condition for each rule, and the counts of their votes."""

from __future__ import annotations

from collections.abc import Iterator

from fasttree._export.c import CSource
from fasttree._export.c_cells import CLASS_NAMES, labels_of
from fasttree._export.c_pieces import CHECKS
from fasttree._export.subject import RuleSubject
from fasttree._export.votes.python_rules import rules_text
from fasttree._model.conditions import Condition
from fasttree._model.ruleset import NO_RULE_FIRES, TrialRules, figures_of, ranks_of, votes_of
from fasttree._version import __version__

__all__ = ["export_rules_c"]


def export_rules_c(subject: RuleSubject, name: str = "rules") -> str:
    """Write rules that vote as C source; parameters and errors are those of `export_c`."""
    return _RuleSource(subject, name).source()


class _RuleSource(CSource):
    def __init__(self, subject: RuleSubject, name: str) -> None:
        self.rules = subject
        self.take_inputs(subject, name)
        self.classifies, self.n_targets, self.n_values = True, 1, len(subject.classes)
        self.is_nested, self.asks_codes = True, False

    def description(self) -> list[str]:
        written = (
            f"Written by fasttree {__version__}; its results are those of the model's predict and predict_proba, to the last bit."
        )
        return [rules_text(self.rules), written]

    def fate_of_missing(self) -> str:
        return "no condition on it holds"

    def tables(self) -> Iterator[str]:
        yield self.named(CHECKS)
        yield self.array("", CLASS_NAMES, labels_of(self.rules.classes))
        yield from self.category_tables()
        declared = "static const double tree_no_votes[TREE_N_CLASSES]"
        yield self.array("The probabilities if no rule votes.", declared, map(repr, self.rules.none_fires()))

    def functions(self) -> Iterator[str]:
        yield self.named(MOST)
        for number, trial in enumerate(self.rules.trials):
            head = RULES_OF_TRIAL.replace("@number", str(number)).strip("\n")
            yield f"{self.named(head)}\n{''.join(self.rule_lines(trial))}}}"
        yield self.named(self.votes_source())
        yield from map(self.named, self.outer_functions())

    def rule_lines(self, trial: TrialRules) -> Iterator[str]:
        """Yield the rules of a trial, those that cover the fewest samples first."""
        votes, ranks = votes_of(*figures_of(trial.rules)).tolist(), ranks_of(trial.rules).tolist()
        if not ranks:
            yield "    (void)x;\n    (void)votes;\n    (void)first;\n"
        for i in sorted(range(len(ranks)), key=ranks.__getitem__):
            rule, label = trial.rules[i], self.rules.classes.index(trial.rules[i].label)
            tests = " && ".join(map(self.test, rule.conditions))
            yield f"    if ({tests}) {{\n        votes[{label}] += {votes[i]};\n"
            yield f"        if (first[{label}] < 0)\n            first[{label}] = {votes[i]};\n    }}\n"

    def test(self, condition: Condition) -> str:
        value = f"(double)x[{self.feature_names[condition.index]}]"
        if condition.threshold is not None:
            return f"{value} {condition.operator} {float(condition.threshold)!r}"
        equal = " || ".join(f"{value} == {code}" for code in self.rules.codes(condition))
        return f"({equal})" if " || " in equal else equal

    def votes_source(self) -> str:
        trials = self.rules.trials
        if len(trials) == 1:
            return VOTES
        calls = (f"    tree_trial(tree_rules_{number}, {trial.default}, x, votes);\n" for number, trial in enumerate(trials))
        return VOTES_OF_TRIALS.replace("@none", str(NO_RULE_FIRES)).replace("@calls", "".join(calls))

    def answers(self) -> Iterator[str]:
        refusal = "    if (tree_refuses(x))\n        return -1;\n" if self.refuses else ""
        default = str(self.rules.trials[0].default)
        yield PREDICT.replace("@refusal", refusal).replace("@default", default)


MOST = """
/* The class with the most votes; on ties the default class, or else the first. */
static int tree_most(const int32_t *votes, int best)
{
    int k;
    for (k = 0; k < TREE_N_CLASSES; k++)
        if (votes[k] > votes[best])
            best = k;
    return best;
}
"""

RULES_OF_TRIAL = """
/* Add the votes of the rules that fire; `first` has the votes of the first one of each class, or -1. */
static void tree_rules_@number(const TREE_INPUT *x, int32_t *votes, int32_t *first)
{
"""

VOTES = """
/* The votes for each class: each rule that fires votes for its class. */
static void tree_votes(const TREE_INPUT *x, int32_t *votes)
{
    int32_t first[TREE_N_CLASSES];
    int k;
    for (k = 0; k < TREE_N_CLASSES; k++) {
        votes[k] = 0;
        first[k] = -1;
    }
    tree_rules_0(x, votes, first);
}
"""

VOTES_OF_TRIALS = """
/* Add the vote of a trial for its class: that of the first rule that fires for it. */
static void tree_trial(
    void (*rules)(const TREE_INPUT *, int32_t *, int32_t *), int best, const TREE_INPUT *x, int32_t *votes)
{
    int32_t given[TREE_N_CLASSES];
    int32_t first[TREE_N_CLASSES];
    int k;
    for (k = 0; k < TREE_N_CLASSES; k++) {
        given[k] = 0;
        first[k] = -1;
    }
    rules(x, given, first);
    best = tree_most(given, best);
    votes[best] += first[best] < 0 ? @none : first[best];
}

/* The votes of the trials for each class. */
static void tree_votes(const TREE_INPUT *x, int32_t *votes)
{
    int k;
    for (k = 0; k < TREE_N_CLASSES; k++)
        votes[k] = 0;
@calls}
"""

PREDICT = """
int tree_predict(const TREE_INPUT *x)
{
    int32_t votes[TREE_N_CLASSES];
@refusal    tree_votes(x, votes);
    return tree_most(votes, @default);
}

int tree_predict_proba(const TREE_INPUT *x, double *out)
{
    int32_t votes[TREE_N_CLASSES];
    int32_t total = 0;
    int k;
@refusal    tree_votes(x, votes);
    for (k = 0; k < TREE_N_CLASSES; k++)
        total += votes[k];
    for (k = 0; k < TREE_N_CLASSES; k++)
        out[k] = total > 0 ? (double)votes[k] / total : tree_no_votes[k];
    return 0;
}
"""
