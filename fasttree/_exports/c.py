"""A tree as C source without dependencies: tables, and the few functions that follow them.

The source is ASCII but for its comments, needs no library, and compiles as C99 and as C++.  The tables hold what the tree has,
and the functions know no more than it asks for.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._schema import Feature
from .._surrogates import Surrogates
from .._tree import CATEGORY, EQUAL_LOSSES, INTERVALS, KNOWN, LEAF, NOMINAL, THRESHOLD
from .._words import by_target
from .c_pieces import (
    BEST,
    BEST_BY_LOSS,
    BRANCH,
    CHECKS,
    CLASS,
    CLASS_DIVIDED,
    CLASSES,
    CLASSES_DIVIDED,
    CODE,
    CODE_OF_NUMBER,
    CUTS_BELOW,
    DECLARATIONS,
    DIVIDE,
    EITHER_DIVISION,
    FIND_BRANCH,
    FIRST_CLASS_NOTE,
    FOLLOW,
    GIVE,
    GIVE_DIVIDED,
    KNOWN_CODE,
    LEFT_PART,
    MEAN,
    MEAN_DIVIDED,
    NAN,
    REFUSES,
    ROW,
    SHARING,
    SOFT_DIVISION,
    STOPS,
    VALUE,
)
from .layout import as_python, description, feature_lines, feature_names, lay_out, lists_all, node_notes, ranges
from .nested import MOST_LEAVES, nested_lines, reads_nested
from .subject import Subject

__all__ = ["export_c"]

KIND_NAMES = {THRESHOLD: "THRESHOLD", NOMINAL: "NOMINAL", CATEGORY: "CATEGORY", KNOWN: "KNOWN", INTERVALS: "INTERVALS"}
RESERVED = {
    "DECLARE", "DECLARED", "DIVIDED", "INPUT", "N_CLASSES", "N_FEATURES", "N_TARGETS", "WAITING", *KIND_NAMES.values()
}  # fmt: skip
SHORT = 2**15 - 1  # nodes up to which 16 bits number nodes and rows, and leave one number over
SIZES = {"double": 8, "int64_t": 8, "int32_t": 4, "int16_t": 2, "int8_t": 1}
LINE = 110  # characters, as far as cells allow


def export_c(subject: Subject, name: str = "tree", *, most_nested: int = MOST_LEAVES) -> str:
    """Write a tree as C source.

    Parameters
    ----------
    subject : Subject
    name : str, default "tree"
        What the names of its functions, tables and (in capitals) macros begin with.
    most_nested : int, default 64
        A plain tree of up to so many leaves is written as nested conditions, any other as tables.

    Returns
    -------
    str
        One file, to be compiled and to be included.

    Raises
    ------
    ValueError
        If the name is not one of C, or a text holds the character of code 0, or a category is a number that no double is.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(f"name={name!r}: must be a name of C, of letters and digits of ASCII, such as 'tree'")
    return _Writer(subject, name, most_nested).source()


class _Writer:
    """Writes the source of one tree; `named` puts the name of the tree into what is written for one called ``tree``."""

    def __init__(self, subject: Subject, name: str, most_nested: int) -> None:
        self.subject = subject
        self.tree = subject.tree
        self.features = subject.schema.features
        self.name = name
        self.layout = lay_out(subject.tree)
        self.is_nested = reads_nested(self.layout, most_nested)
        self.divides = bool(self.layout.shares or self.layout.soft)
        self.several = len(self.layout.kinds) > 1
        self.surrogates = self.tree.surrogates if self.tree.surrogates is not None and len(self.tree.surrogates) else None
        self.by_text = any(_is_text(feature) for feature in self.features)
        self.by_number = any(feature.categories and not _is_text(feature) for feature in self.features)
        asked = set(self.tree.feature[self.tree.feature >= 0].tolist())
        if self.surrogates is not None:
            asked |= set(self.surrogates.feature.tolist())
        self.asks_codes = any(self.features[j].categories is not None for j in asked)
        self.feature_names = [
            f"{name.upper()}_{feature}" for feature in feature_names([feature.name for feature in self.features], RESERVED)
        ]
        self.classifies = self.layout.answers is not None
        self.n_values = int(self.tree.value.shape[1])
        self.n_targets = self.tree.n_outputs

    def source(self) -> str:
        parts = [
            self.head(),
            self.declarations(),
            self.named("#ifndef TREE_DECLARE"),
            *self.tables(),
            *self.functions(),
            self.named("#endif /* TREE_DECLARE */"),
        ]
        return "\n\n".join(part.strip("\n") for part in parts) + "\n"

    def named(self, text: str) -> str:
        """Put the name of the tree into names that begin with tree, or TREE."""
        return re.sub(r"\btree_", f"{self.name}_", re.sub(r"\bTREE_", f"{self.name.upper()}_", text))

    # --- what others see

    def head(self) -> str:
        first, *rest = description(self.subject)
        lines = [
            f"{self.name}: {first[0].lower()}{first[1:]}",
            *rest,
            "",
            self.named("A sample x is an array of TREE_N_FEATURES numbers:"),
            *(f"  {line}" for line in feature_lines(self.features)),
            "",
            *map(self.named, self.how_to_give()),
            "",
            self.named(
                "Compile this file as C99 or C++, without -ffast-math (missing values are NaN).  To call it from another file,"
            ),
            self.named("#define TREE_DECLARE and #include this one there: that declares the functions, and nothing else."),
        ]
        return "/* " + "\n".join(f" * {_commented(line)}".rstrip() for line in lines).removeprefix(" * ") + "\n */\n"

    def how_to_give(self) -> Iterator[str]:
        """How categories and missing values are given, and what is refused."""
        if any(feature.categories is not None for feature in self.features):
            calls = ["tree_code"] * self.by_text + ["tree_code_of_number"] * self.by_number
            yield f"A category is given by its code, 1 and up in the order above: {' or '.join(calls)} tells it."
            if not lists_all(self.features):
                tables = ["tree_texts"] * self.by_text + ["tree_numbers"] * self.by_number
                yield f"Where the list above is cut, {' or '.join(tables)} below has all categories with their codes."
            yield f"A code of 0 is a category that the fit did not see: {self.fate_of_unseen()}."
        told = "conditions" if self.is_nested else "nodes"
        fate = "refused" if self.subject.refuses_missing else f"where it goes is told by the {told} below"
        yield f"NaN is a missing value: {fate}."

    def fate_of_unseen(self) -> str:
        return "refused" if self.subject.refuses_unseen else "it goes where a missing value goes"

    def declarations(self) -> str:
        features = ",\n".join(f"    {name}" for name in self.feature_names)
        sizes = [f"#define TREE_N_FEATURES {len(self.features)}"]
        if self.classifies:
            sizes.append(f"#define TREE_N_CLASSES {self.n_values}{' /* of all targets */' if self.n_targets > 1 else ''}")
        if self.n_targets > 1:
            sizes.append(f"#define TREE_N_TARGETS {self.n_targets}")
        source = DECLARATIONS.replace("@sizes", "\n".join(sizes)).replace("@functions", "\n".join(self.prototypes()))
        return self.named(source).replace("@features", features)

    def prototypes(self) -> Iterator[str]:
        refusal = self.refusal()
        if self.classifies:
            yield "extern const char *const tree_classes[TREE_N_CLASSES];\n"
            if self.n_targets > 1:
                yield FIRST_CLASS_NOTE
                yield "extern const int tree_first_class[TREE_N_TARGETS + 1];\n"
                yield f"/* Of each target the place of its class among its own{refusal}. */"
                yield "int tree_predict(const TREE_INPUT *x, int *out);\n"
                yield f"/* The probability of each class, target by target{refusal}. */"
            else:
                minus = "; -1 where x is refused" if refusal else ""
                yield f"/* The place of the class of x in tree_classes{minus}. */"
                yield "int tree_predict(const TREE_INPUT *x);\n"
                yield f"/* The probability of each class{refusal}. */"
            yield "int tree_predict_proba(const TREE_INPUT *x, double *out);\n"
        elif self.n_targets > 1:
            yield f"/* The TREE_N_TARGETS predictions for x{refusal}. */"
            yield "int tree_predict(const TREE_INPUT *x, double *out);\n"
        else:
            yield f"/* The prediction for x{'; NaN where x is refused' if refusal else ''}. */"
            yield "double tree_predict(const TREE_INPUT *x);\n"
        if self.by_text:
            yield "/* The code of a category of a feature, in UTF-8; 0 where the tree does not know it, or the feature. */"
            yield "int tree_code(int feature, const char *category);\n"
        if self.by_number:
            yield "/* The code of a category that is a number, or 0 or 1 for false or true; 0 where the tree does not know it. */"
            yield "int tree_code_of_number(int feature, double category);\n"

    def refusal(self) -> str:
        if self.subject.refuses_missing or self.subject.refuses_unseen:
            return "; returns 0, or -1 where x is refused and out left as it is"
        return "" if self.classifies and self.n_targets == 1 else "; returns 0"

    # --- tables

    def tables(self) -> Iterator[str]:
        yield self.named(CHECKS)
        if self.classifies:
            labels = [str(as_python(label)) for column in by_target(self.subject.classes) for label in column.tolist()]
            yield self.array("", "const char *const tree_classes[TREE_N_CLASSES]", map(_string, labels))
        if self.classifies and self.n_targets > 1:
            starts = [0, *(stop for _, stop in ranges(self.tree))]
            yield self.array("", "const int tree_first_class[TREE_N_TARGETS + 1]", map(str, starts))
        yield from self.category_tables()
        if not self.is_nested:
            yield from self.walk_tables()
        yield from self.value_tables()

    def walk_tables(self) -> Iterator[str]:
        """What a walk from node to node asks."""
        if self.several:
            kinds = ", ".join(f"TREE_{KIND_NAMES[kind]}" for kind in sorted(self.layout.kinds))
            yield self.named(f"enum {{ {kinds} }}; /* kinds of tests */")
        if self.layout.shares or self.layout.soft:
            divided = f"({-SHORT} - 1)" if self.tree.node_count <= SHORT else f"({-(2**31) + 1} - 1)"
            yield self.named(f"#define TREE_DIVIDED {divided}\n#define TREE_WAITING {self.layout.waiting}")
        yield self.records("node", "The nodes, level by level.", self.node_columns(), node_notes(self.subject))
        if self.surrogates is not None:
            yield self.records("surrogate", "Asked in turn where a value is missing.", self.surrogate_columns(self.surrogates))
        yield from self.test_tables()

    def category_tables(self) -> Iterator[str]:
        """The categories by text or number, and how many each feature has."""
        features = self.features
        if (self.asks_codes and not self.is_nested) or self.subject.refuses_unseen:
            numbers = [-1 if feature.categories is None else len(feature.categories) for feature in features]
            declared = f"static const {_integer(numbers)} tree_n_categories[TREE_N_FEATURES]"
            yield self.array("-1: the values are numbers.", declared, map(str, numbers))
        for is_there, table, field, cells in (
            (self.by_text, "text", "const char *text", _texts),
            (self.by_number, "number", "double number", _numbers),
        ):
            if is_there:
                chosen = [cells(feature) for feature in features]
                starts = np.cumsum([0, *map(len, chosen)]).tolist()
                comment = f"Categories and their codes, ascending; those of feature i from tree_{table}_start[i] on."
                declared = f"static const struct tree_{table} {{ {field}; int32_t code; }} tree_{table}s[]"
                yield self.array(comment, declared, (f"{{{cell}, {code}}}" for some in chosen for cell, code in some))
                yield self.array("", f"static const int32_t tree_{table}_start[TREE_N_FEATURES + 1]", map(str, starts))

    def node_columns(self) -> Iterator[_Column]:
        tree, layout = self.tree, self.layout
        wide = "int16_t" if tree.node_count <= SHORT else "int32_t"
        inner = (tree.n_branches > 0).tolist()
        if THRESHOLD in layout.kinds:
            yield _doubles("threshold", tree.threshold, "of a soft threshold a half goes either way" if layout.soft else "")
        if layout.soft:
            yield _doubles("lower", tree.lower, "values up to here all go to the first branch")
            yield _doubles("upper", tree.upper, "and from here on none")
        if layout.shares:
            share = np.zeros(tree.node_count)
            for node, parts in layout.shares.items():
                first = int(tree.first_child[node])
                share[first : first + len(parts)] = parts
            yield _doubles("share", share, "the part of a sample that the parent shares out")
        if layout.kinds & {NOMINAL, INTERVALS}:
            start = (
                tree.table_start[:-1]
                if tree.cut_start is None
                else np.where(tree.kind == INTERVALS, tree.cut_start[:-1], tree.table_start[:-1])
            )
            size = np.diff(tree.table_start) + (0 if tree.cut_start is None else np.diff(tree.cut_start))
            yield _integers("first", np.where(size, start, 0), "of its codes or cuts")
            yield _integers("count", size, "of them")
        if self.surrogates is not None:
            yield _integers("surrogate", np.where(tree.n_branches > 0, self.surrogates.start[:-1], 0), "the first")
            yield _integers("n_surrogates", np.diff(self.surrogates.start), "")
        yield _integers("feature", np.where(tree.n_branches > 0, tree.feature, 0), "")
        yield _Column(wide, "child", list(map(str, layout.child)), "the first; of a leaf ~row of tree_values")
        divided = self.named("TREE_DIVIDED")
        place = [divided if is_inner and to is None else str(to or 0) for is_inner, to in zip(inner, layout.missing, strict=True)]
        yield _Column(wide, "missing", place, "where a missing value goes: a node, or ~row")
        if layout.shares:
            yield _integers("n_branches", tree.n_branches, "")
        if self.several:
            kinds = [self.named(f"TREE_{KIND_NAMES[kind]}") if kind != LEAF else "0" for kind in tree.kind.tolist()]
            yield _Column("int8_t", "kind", kinds, "")

    def surrogate_columns(self, surrogates: Surrogates) -> Iterator[_Column]:
        threshold = surrogates.kind == THRESHOLD
        if threshold.any():
            yield _doubles("threshold", surrogates.threshold, "")
        if not threshold.all():
            start = surrogates.table_start[:-1] + self.tree.table_code.size  # behind those of the nodes
            size = np.diff(surrogates.table_start)
            yield _integers("first", np.where(size, start, 0), "of its codes")
            yield _integers("count", size, "0: it has a threshold")
        yield _integers("feature", surrogates.feature, "")
        if threshold.any():
            yield _integers("low", np.where(threshold, surrogates.low_branch, 0), "the branch of values up to the threshold")

    def test_tables(self) -> Iterator[str]:
        """Codes with their branches, and cuts."""
        tree = self.tree
        codes, branches = [tree.table_code], [tree.table_branch]
        if self.surrogates is not None:
            codes.append(self.surrogates.table_code)
            branches.append(self.surrogates.table_branch)
        all_codes, all_branches = np.concatenate(codes), np.concatenate(branches)
        if all_codes.size:
            kind = _integer(all_codes.tolist())
            yield self.array(
                "The categories that a test knows, ascending, and their branches.",
                f"static const {kind} tree_codes[]",
                map(str, all_codes.tolist()),
            )
            kind = _integer(all_branches.tolist())
            yield self.array("", f"static const {kind} tree_branches[]", map(str, all_branches.tolist()))
        if tree.cut is not None:
            yield self.array("", "static const double tree_cuts[]", map(repr, tree.cut.tolist()))

    def value_tables(self) -> Iterator[str]:
        layout = self.layout
        what = "weights of the classes" if layout.whole is not None else "shares of the classes" if self.classifies else "means"
        yield self.array(
            f"What samples are given: {what}.",
            f"static const double tree_values[][{self.width}]",
            map(_row, layout.values.tolist()),
        )
        if layout.whole is not None:
            yield self.array("What to divide them by.", "static const double tree_whole[]", map(repr, layout.whole.tolist()))
        if layout.answers is not None:
            answers = layout.answers.tolist()
            declared = f"static const {_integer(layout.answers.ravel().tolist())} tree_answers[]"
            if self.n_targets > 1:
                yield self.array("The classes of each row.", f"{declared}[TREE_N_TARGETS]", map(_row, answers))
            else:
                yield self.array("The class of each row.", declared, (str(answer) for (answer,) in answers))
        if self.tree.loss is not None and self.divides:
            yield self.array(
                "What it costs to answer a class (column) where another is true (row).",
                "static const double tree_loss[TREE_N_CLASSES][TREE_N_CLASSES]",
                map(_row, self.tree.loss.tolist()),
            )

    @property
    def width(self) -> str:
        """The number of columns of the values."""
        return "TREE_N_CLASSES" if self.classifies else "TREE_N_TARGETS" if self.n_targets > 1 else "1"

    def records(self, name: str, comment: str, columns: Iterable[_Column], notes: Iterable[str] | None = None) -> str:
        """Write a table of records, one a line, their fields below one another."""
        columns = sorted(columns, key=lambda column: -SIZES[column.type])  # so that nothing lies between them
        fields = "".join(
            f"    {column.type} {column.name};{f' /* {column.comment} */' if column.comment else ''}\n" for column in columns
        )
        declared = f"/* {comment} */\nstatic const struct tree_{name} {{\n{fields}}} tree_{name}s[] = {{"
        widths = [max(map(len, column.cells)) for column in columns]
        padded = [[cell.rjust(width) for cell in column.cells] for column, width in zip(columns, widths, strict=True)]
        ends = itertools.repeat("") if notes is None else (f" /* {_commented(note)} */" for note in notes)
        rows = "".join(f"    {{{', '.join(cells)}}},{end}\n" for *cells, end in zip(*padded, ends, strict=False))
        return f"{self.named(declared)}\n{rows}}};"

    def array(self, comment: str, declared: str, cells: Iterable[str]) -> str:
        """Write an array, with lines that are not long."""
        above = f"/* {comment} */\n" if comment else ""
        return f"{self.named(above + declared)} = {{\n{_wrapped(cells)}}};"

    # --- functions

    def functions(self) -> Iterator[str]:
        if self.is_nested:
            yield self.nested_source()
        else:
            yield from map(self.named, self.walk_functions())
        yield from map(self.named, self.outer_functions())

    def outer_functions(self) -> Iterator[str]:
        """What others call."""
        if self.refuses:
            yield self.refuses_source()
        yield from self.answers()
        if self.by_text:
            yield CODE
        if self.by_number:
            yield CODE_OF_NUMBER

    def nested_source(self) -> str:
        lines = []
        values = [f"x[{name}]" for name in self.feature_names]
        for line in nested_lines(self.subject, self.layout, values, " && ", _among):
            indent = "    " * (line.level + 1)
            note = f" /* {_commented(line.note)} */" if line.note else ""
            if line.word == "if":
                lines.append(f"{indent}if ({line.condition}) {{{note}\n")
            elif line.word == "else if":
                lines.append(f"{indent}}} else if ({line.condition}) {{{note}\n")
            elif line.word == "else":
                lines.append(f"{indent}}} else {{{note}\n")
            elif line.word == "return":
                lines.append(f"{indent}return {line.row};{note}\n")
            else:
                lines.append(f"{indent}}}\n")
        if self.tree.node_count == 1:
            lines.insert(0, "    (void)x;\n")
        head = "/* The row of tree_values where a sample ends. */\nstatic int32_t tree_row(const TREE_INPUT *x)\n{\n"
        return f"{self.named(head)}{''.join(lines)}}}"

    def walk_functions(self) -> Iterator[str]:
        if self.asks_codes:
            yield KNOWN_CODE
        if NOMINAL in self.layout.kinds or (self.surrogates is not None and self.surrogates.table_code.size):
            yield BRANCH
        if INTERVALS in self.layout.kinds:
            yield CUTS_BELOW
        if self.layout.soft:
            yield LEFT_PART
        yield self.next_source()
        yield self.follow_source()
        if self.divides:
            yield self.divide_source()
        if self.divides and self.classifies:
            yield self.best_source()

    @property
    def refuses(self) -> bool:
        """Whether there are samples without an answer."""
        return self.subject.refuses_missing or self.subject.refuses_unseen

    def next_source(self) -> str:
        known = "tree_known(node->feature, value)" if self.asks_codes else "value == value"
        lines = []
        if not self.several and self.surrogates is None and not self.layout.soft:
            (kind,) = self.layout.kinds
            lines += self.one_kind(kind, known)
        else:
            lines += self.any_kind(known)
        divided = ", or TREE_DIVIDED" if self.divides else ""
        body = "".join(f"    {line}\n" for line in lines)
        return (
            f"/* Where a sample goes from an inner node: to a node, or to ~row of tree_values{divided}. */\n"
            "static int32_t tree_next(const TREE_INPUT *x, const struct tree_node *node)\n{\n"
            f"    const double value = (double)x[node->feature];\n{body}}}"
        )

    def one_kind(self, kind: int, known: str) -> list[str]:
        if kind == THRESHOLD:
            return [f"if ({known})", "    return node->child + (value > node->threshold);", "return node->missing;"]
        if kind == KNOWN:
            return [f"return node->child + !({known});"]
        if kind == CATEGORY:
            return [f"if ({known})", "    return node->child + (int32_t)value - 1;", "return node->missing;"]
        find = "tree_cuts_below(node->first, node->count, value)" if kind == INTERVALS else FIND_BRANCH
        return [
            f"const int32_t branch = {known} ? {find} : -1;",
            "return branch >= 0 ? node->child + branch : node->missing;",
        ]

    def any_kind(self, known: str) -> list[str]:
        """Of a tree of several kinds of tests, of surrogates or soft thresholds."""
        branches = {
            THRESHOLD: ["branch = value > node->threshold;"],
            NOMINAL: [f"branch = {FIND_BRANCH};"],
            CATEGORY: ["branch = (int32_t)value - 1;"],
            KNOWN: ["branch = 0;"],
            INTERVALS: ["branch = tree_cuts_below(node->first, node->count, value);"],
        }
        if self.layout.soft:
            branches[THRESHOLD] = [
                "left = tree_left_part(node, value);",
                "if (left > 0 && left < 1)",
                "    return TREE_DIVIDED;",
                "branch = left <= 0;",
            ]
        lines = ["int32_t branch = -1;"]
        if self.layout.soft:
            lines.append("double left;")
        if self.surrogates is not None:
            lines.append("int32_t i;")
        kinds = sorted(self.layout.kinds)
        if self.several:
            lines += [f"if ({known}) {{", "    switch (node->kind) {"]
            for kind in kinds:
                last = kind == kinds[-1]
                lines.append("    default:" if last else f"    case TREE_{KIND_NAMES[kind]}:")
                lines += [f"        {line}" for line in branches[kind]]
                lines += [] if last else ["        break;"]
            lines += ["    }", "}"]
        else:
            lines += [f"if ({known}) {{", *(f"    {line}" for line in branches[kinds[0]]), "}"]
        lines += ["if (branch >= 0)", "    return node->child + branch;"]
        if self.surrogates is not None:
            lines += self.surrogate_lines(self.surrogates)
        return [*lines, "return node->missing;"]

    def surrogate_lines(self, surrogates: Surrogates) -> list[str]:
        known = "tree_known(other->feature, stand_in)" if self.asks_codes else "stand_in == stand_in"
        by_threshold = "branch = other->low ^ (stand_in > other->threshold);"
        by_code = "branch = tree_branch(other->first, other->count, stand_in);"
        is_threshold = surrogates.kind == THRESHOLD
        if is_threshold.any() and not is_threshold.all():
            tests = [
                f"if ({known} && other->count)",
                f"    {by_code}",
                f"else if ({known})",
                f"    {by_threshold}",
            ]
        else:
            tests = [f"if ({known})", f"    {by_threshold if is_threshold.all() else by_code}"]
        return [
            "for (i = node->surrogate; i < node->surrogate + node->n_surrogates; i++) {",
            "    const struct tree_surrogate *const other = &tree_surrogates[i];",
            "    const double stand_in = (double)x[other->feature];",
            *(f"    {line}" for line in tests),
            "    if (branch >= 0)",
            "        return node->child + branch;",
            "}",
        ]

    def follow_source(self) -> str:
        stops = any(place is not None and place < 0 for place in self.layout.missing)
        if self.divides:
            return FOLLOW.replace("@stops", STOPS.replace("@next", "next") if stops else "")
        return ROW.replace("@stops", STOPS.replace("@next", "~next") if stops else "")

    def divide_source(self) -> str:
        if self.layout.whole is not None:
            add = "out[k] += part * tree_values[~end][k] / tree_whole[~end];\n"
        else:  # no multiplication and addition in one: it would round once, where two roundings are wanted
            add = "const volatile double product = part * tree_values[~end][k];\n"
            add = f"{{\n                    {add}                    out[k] += product;\n                }}\n"
        soft, shares = bool(self.layout.soft), bool(self.layout.shares)
        test = SOFT_DIVISION if not shares else SHARING if not soft else EITHER_DIVISION
        known = "tree_known(node->feature, value)" if self.asks_codes else "value == value"
        kind = "node->kind == TREE_THRESHOLD && " if self.several else ""
        source = DIVIDE.replace("@test", test).replace("@add", add).replace("@soft", f"{kind}{known}")
        return (
            source.replace("@width", self.width)
            .replace("@value", VALUE if soft else "")
            .replace("@branch", "    int32_t branch;\n" if shares else "")
        )

    def best_source(self) -> str:
        if self.tree.loss is not None:
            return BEST_BY_LOSS.replace("@slack", repr(1 + EQUAL_LOSSES))
        return BEST

    def refuses_source(self) -> str:
        lines = ["const double value = (double)x[i];"]
        if self.subject.refuses_missing and not self.subject.refuses_unseen:
            lines += ["if (value != value)", "    return 1;"]
        else:
            both = "" if self.subject.refuses_missing else "value == value && "
            unseen = "tree_n_categories[i] >= 0 && !(value >= 1 && value <= tree_n_categories[i])"
            lines += [f"if ({both}{unseen})", "    return 1;"]
            if self.subject.refuses_missing:
                lines += ["if (value != value)", "    return 1;"]
        return REFUSES.replace("@lines", "".join(f"        {line}\n" for line in lines))

    def answers(self) -> Iterator[str]:
        refusal = "    if (tree_refuses(x))\n        return -1;\n" if self.refuses else ""
        give = GIVE_DIVIDED if self.divides else GIVE
        whole = "" if self.layout.whole is None else " / tree_whole[~end]"
        give = give.replace("@whole", whole).replace("@width", self.width).replace("@refusal", refusal)
        if not self.classifies:
            if self.n_targets > 1:
                yield give.replace("@function", "tree_predict")
                return
            refusal = NAN if self.refuses else ""
            yield (MEAN_DIVIDED if self.divides else MEAN).replace("@refusal", refusal)
            return
        if self.n_targets > 1:
            yield (CLASSES_DIVIDED if self.divides else CLASSES).replace("@refusal", refusal)
        else:
            yield (CLASS_DIVIDED if self.divides else CLASS).replace("@refusal", refusal)
        yield give.replace("@function", "tree_predict_proba")


# --- tables of the source


class _Column(NamedTuple):
    """A field of the records of a table."""

    type: str
    name: str
    cells: list[str]
    comment: str


def _doubles(name: str, values: Any, comment: str) -> _Column:
    """A column of doubles; NaN, where a record has none, is written as 0."""
    return _Column("double", name, [repr(value) if value == value else "0" for value in values.tolist()], comment)


def _integers(name: str, values: Any, comment: str) -> _Column:
    values = values.tolist()
    return _Column(_integer(values), name, list(map(str, values)), comment)


def _integer(values: Sequence[int]) -> str:
    """The smallest signed integer type that holds some values."""
    low, high = min(values, default=0), max(values, default=0)
    return next((f"int{n}_t" for n in (8, 16, 32) if -(2 ** (n - 1)) <= low and high < 2 ** (n - 1)), "int64_t")


def _wrapped(cells: Iterable[str]) -> str:
    """Put cells on lines, which are no longer than `LINE` unless a cell is."""
    lines: list[list[str]] = [[]]
    length = 0
    for cell in cells:
        if lines[-1] and length + len(cell) > LINE:
            lines.append([])
            length = 0
        lines[-1].append(cell)
        length += len(cell) + 2
    return "".join(f"    {', '.join(line)},\n" for line in lines).removesuffix(",\n") + "\n"


def _row(cells: Sequence[float]) -> str:
    return "{" + ", ".join(map(repr, cells)) + "}"


def _among(x: str, codes: Sequence[int]) -> str:
    """Write that a value is one of some codes, ascending; neighbours as a range."""
    last = [i for i in range(len(codes)) if i + 1 == len(codes) or codes[i + 1] > codes[i] + 1]
    first = [0, *(i + 1 for i in last[:-1])]
    tests = [
        f"{x} == {codes[i]}" if i == j else f"{x} >= {codes[i]} && {x} <= {codes[j]}" for i, j in zip(first, last, strict=True)
    ]
    return tests[0] if len(tests) == 1 else " || ".join(f"({test})" if "&&" in test else test for test in tests)


# --- texts and names


def _is_text(feature: Feature) -> bool:
    return isinstance(next(iter(feature.categories or ()), None), str)


def _texts(feature: Feature) -> list[tuple[str, int]]:
    """The categories of a feature as strings of C with their codes, in the order of their bytes; none if they are numbers."""
    if not _is_text(feature):
        return []
    assert feature.categories is not None
    texts = sorted((str(category).encode("utf-8", "surrogatepass"), code) for code, category in enumerate(feature.categories, 1))
    return [(_string_of(text), code) for text, code in texts]


def _numbers(feature: Feature) -> list[tuple[str, int]]:
    """The categories of a feature that are numbers, as doubles with their codes, ascending; none if they are texts."""
    if not feature.categories or _is_text(feature):
        return []
    values = sorted((as_python(category), code) for code, category in enumerate(feature.categories, 1))
    for value, _ in values:
        if float(value) != value:
            raise ValueError(
                f"column {feature.name!r}: its category {value} is not exact as a double, by which C would look it up: make its "
                f"categories text"
            )
    return [(repr(float(value)), code) for value, code in values]


def _string(text: str) -> str:
    return _string_of(text.encode("utf-8", "surrogatepass"))


def _string_of(text: bytes) -> str:
    """Write a string of C in ASCII; no escape can take the next character for one of its own, and no trigraph arises."""
    if 0 in text:
        raise ValueError(f"{text.decode('utf-8', 'replace')!r}: holds the character of code 0, which ends a string in C")
    return '"' + "".join(chr(c) if 32 <= c < 127 and c not in b'"\\?' else f"\\{c:03o}" for c in text) + '"'


def _commented(text: str) -> str:
    """Write a line so that nothing in it ends a comment, begins one, or is a trigraph."""
    return re.sub(r"\?(?=\?)", "? ", text.replace("*/", "* /").replace("/*", "/ *"))
