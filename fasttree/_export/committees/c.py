"""Rules with models as C source: a condition and a sum for each rule."""

from __future__ import annotations

from collections.abc import Iterator

from fasttree._export.c import CSource
from fasttree._export.c_pieces import CHECKS, NAN
from fasttree._export.committees.subject import CommitteeSubject
from fasttree._model.committees.committee import ModelRule
from fasttree._model.conditions import Condition
from fasttree._version import __version__

__all__ = ["export_committee_c"]


def export_committee_c(subject: CommitteeSubject, name: str = "rules") -> str:
    """Write rules with models as C source; parameters and errors are those of `export_c`."""
    return _CommitteeSource(subject, name).source()


class _CommitteeSource(CSource):
    def __init__(self, subject: CommitteeSubject, name: str) -> None:
        self.rules = subject
        self.take_inputs(subject, name)
        self.classifies, self.n_targets, self.n_values = False, 1, 1
        self.is_nested, self.asks_codes = True, False

    def description(self) -> list[str]:
        written = f"Written by fasttree {__version__}; its results are those of the model's predict, to the last bit."
        return [self.rules.text(), written]

    def fate_of_missing(self) -> str:
        return "it counts as the mean or the most frequent category of the fit"

    def tables(self) -> Iterator[str]:
        yield self.named(CHECKS)
        yield from self.category_tables()

    def functions(self) -> Iterator[str]:
        members = ["".join(self.rule_lines(member)) for member in self.rules.committee.members]
        for name, source in HELPERS.items():
            if any(name in lines for lines in members):
                yield self.named(source)
        default = repr(self.rules.committee.default)
        for number, lines in enumerate(members):
            rules = lines if "x[" in lines else f"    (void)x;\n{lines}"
            yield self.named(MEMBER.replace("@number", str(number)).replace("@default", default).replace("@rules", rules))
        yield from map(self.named, self.outer_functions())

    def rule_lines(self, member: tuple[ModelRule, ...]) -> Iterator[str]:
        """Yield the rules of a member."""
        for rule in member:
            tests = " && ".join(map(self.test, rule.conditions)) or "1"
            yield f"    if ({tests}) {{\n        value = {rule.intercept!r};\n"
            for feature, coefficient in rule.terms:
                filling = float(self.rules.committee.filling[feature])
                yield f"        value += {coefficient!r} * tree_filled((double)x[{self.feature_names[feature]}], {filling!r});\n"
            yield f"        total += tree_bounded(value, {rule.lower!r}, {rule.upper!r});\n        count += 1.0;\n    }}\n"

    def test(self, condition: Condition) -> str:
        value = f"(double)x[{self.feature_names[condition.index]}]"
        missing = f"tree_is_missing(x[{self.feature_names[condition.index]}])"
        if condition.threshold is not None:
            known = f"{value} {condition.operator} {float(condition.threshold)!r}"
        else:
            known = " || ".join(f"{value} == {code}" for code in self.rules.codes(condition))
            if condition.missing:
                chosen = set(self.rules.codes(condition))
                size = len(self.rules.schema.features[condition.index].categories or ())
                excluded = [code for code in range(1, size + 1) if code not in chosen]
                return "!(" + (" || ".join(f"{value} == {code}" for code in excluded) or "0") + ")"
        known = f"({known})" if " || " in known else known
        return f"({known} || {missing})" if condition.missing else known

    def answers(self) -> Iterator[str]:
        refusal = NAN if self.refuses else ""
        members = self.rules.committee.members
        calls = "".join(f"    total += tree_member_{number}(x);\n" for number in range(len(members)))
        yield PREDICT.replace("@refusal", refusal).replace("@calls", calls).replace("@size", repr(float(len(members))))


HELPERS = {  # by their names; a compiler warns of those that are not called
    "tree_is_missing": """
static int tree_is_missing(double value)
{
    return value != value;
}
""",
    "tree_filled": """
static double tree_filled(double value, double filling)
{
    return value != value ? filling : value;
}
""",
    "tree_bounded": """
static double tree_bounded(double value, double lower, double upper)
{
    value = value < lower ? lower : value;
    return value > upper ? upper : value;
}
""",
}

MEMBER = """
/* The mean of the rules of a rule set that hold. */
static double tree_member_@number(const TREE_INPUT *x)
{
    double total = 0.0;
    double count = 0.0;
    double value;
@rules    return count > 0.0 ? total / count : @default;
}
"""

PREDICT = """
double tree_predict(const TREE_INPUT *x)
{
    double total = 0.0;
@refusal@calls    return total / @size;
}
"""
