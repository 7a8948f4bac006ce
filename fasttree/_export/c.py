"""A tree or a forest as C source without dependencies: tables, and the few functions that read them.

The source is ASCII except for its comments, needs no library, and compiles as C99 and as C++.  It has only the tables and
functions that the tree needs.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

import numpy as np

from fasttree._export.c_cells import (
    CLASS_NAMES,
    RecordColumn,
    among,
    branches,
    commented,
    doubles,
    integer,
    integers,
    is_text,
    labels_of,
    numbers_of,
    row_of,
    texts_of,
    wrapped,
)
from fasttree._export.c_pieces import (
    BRANCH,
    CHECKS,
    CLASS,
    CLASS_DIVIDED,
    CLASS_OF_MEAN,
    CLASSES,
    CLASSES_DIVIDED,
    CLASSES_OF_MEAN,
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
    GIVE_MEAN,
    KNOWN_CODE,
    LEFT_PART,
    MEAN,
    MEAN_DIVIDED,
    MEAN_PREDICTED,
    NAN,
    ROW,
    SHARING,
    SOFT_DIVISION,
    STOPS,
    VALUE,
    best_source,
    mean_of_trees,
    model_tables,
    predict_by_model,
    refuses_source,
)
from fasttree._export.layout import (
    Joined,
    description,
    feature_lines,
    feature_names,
    join,
    lists_all,
    node_notes,
    ranges,
)
from fasttree._export.nested import MOST_LEAVES, nested_lines, reads_nested
from fasttree._export.subject import Inputs, Subject
from fasttree._model.arrays import CATEGORY, INTERVALS, KNOWN, LEAF, NOMINAL, THRESHOLD
from fasttree._model.surrogates import Surrogates
from fasttree._model.words import by_target

__all__ = ["CSource", "export_c", "export_forest_c"]

KIND_NAMES = {THRESHOLD: "THRESHOLD", NOMINAL: "NOMINAL", CATEGORY: "CATEGORY", KNOWN: "KNOWN", INTERVALS: "INTERVALS"}
RESERVED = {
    "DECLARE", "DECLARED", "DIVIDED", "INPUT", "N_CLASSES", "N_FEATURES", "N_TARGETS", "N_TREES", "WAITING", *KIND_NAMES.values()
}  # fmt: skip
SHORT = 2**15 - 1  # largest number of nodes for which 16 bits number nodes and rows, with one number to spare
SIZES = {"double": 8, "int64_t": 8, "int32_t": 4, "int16_t": 2, "int8_t": 1}


def export_c(subject: Subject, name: str = "tree", *, most_nested: int = MOST_LEAVES) -> str:
    """Write a tree as C source.

    Parameters
    ----------
    subject : Subject
    name : str, default "tree"
        Prefix of the names of functions, tables and (in capitals) macros.
    most_nested : int, default 64
        Largest number of leaves of a plain tree that is written as nested conditions; other trees are written as tables.

    Returns
    -------
    str
        A file to compile and to include.

    Raises
    ------
    ValueError
        If the name is not a name in C, a text holds the character of code 0, or a category is a number that no double equals.
    """
    return CSource(join([subject], is_forest=False), name, most_nested).source()


def export_forest_c(subjects: Iterable[Subject], name: str = "tree") -> str:
    """Write the trees of a forest, whose predictions are averaged, as C source; parameters and errors are those of `export_c`."""
    return CSource(join(subjects, is_forest=True), name).source()


class CSource:
    """Writer of the source of a model; `named` inserts its name into source for a tree called ``tree``."""

    def __init__(self, joined: Joined, name: str, most_nested: int = 0) -> None:
        self.subject, self.layout, self.roots = joined.subject, joined.layout, joined.roots
        self.tree = self.subject.tree
        self.take_inputs(joined.subject, name)
        self.is_nested = self.roots is None and reads_nested(self.layout, most_nested)
        self.divides = bool(self.layout.shares or self.layout.soft)
        self.several = len(self.layout.kinds) > 1
        self.surrogates = self.tree.surrogates if self.tree.surrogates is not None and len(self.tree.surrogates) else None
        asked = set(self.tree.feature[self.tree.feature >= 0].tolist())
        if self.surrogates is not None:
            asked |= set(self.surrogates.feature.tolist())
        self.asks_codes = any(self.features[j].categories is not None for j in asked)
        self.classifies = self.tree.task == "classification"
        self.n_values = int(self.tree.value.shape[1])
        self.n_targets = self.tree.n_outputs

    def take_inputs(self, inputs: Inputs, name: str) -> None:
        """Take the features of a model, and its name in the source."""
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
            raise ValueError(f"name={name!r}: must be a name in C, of ASCII letters and digits, such as 'tree'")
        self.inputs, self.name, self.features = inputs, name, inputs.schema.features
        self.by_text = any(is_text(feature) for feature in self.features)
        self.by_number = any(feature.categories and not is_text(feature) for feature in self.features)
        self.feature_names = [
            f"{name.upper()}_{feature}" for feature in feature_names([feature.name for feature in self.features], RESERVED)
        ]

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
        """Insert the name of the tree into names that begin with tree or TREE."""
        return re.sub(r"\btree_", f"{self.name}_", re.sub(r"\bTREE_", f"{self.name.upper()}_", text))

    # --- what others see

    def head(self) -> str:
        first, *rest = self.description()
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
        return "/* " + "\n".join(f" * {commented(line)}".rstrip() for line in lines).removeprefix(" * ") + "\n */\n"

    def description(self) -> list[str]:
        """Describe the model in lines."""
        return description(self.subject, self.roots)

    def how_to_give(self) -> Iterator[str]:
        """Yield lines on the codes of categories, missing values and rejected values."""
        if any(feature.categories is not None for feature in self.features):
            calls = ["tree_code"] * self.by_text + ["tree_code_of_number"] * self.by_number
            yield f"A category is given by its code, 1 and up in the order above: {' or '.join(calls)} gives it."
            if not lists_all(self.features):
                tables = ["tree_texts"] * self.by_text + ["tree_numbers"] * self.by_number
                yield f"Where the list above is cut, {' or '.join(tables)} below has all categories with their codes."
            yield f"A code of 0 is a category that the fit did not see: {self.fate_of_unseen()}."
        yield f"NaN is a missing value: {self.fate_of_missing()}."

    def fate_of_missing(self) -> str:
        below = "conditions" if self.is_nested else "nodes"
        return "refused" if self.inputs.refuses_missing else f"the {below} below say where it goes"

    def fate_of_unseen(self) -> str:
        return "refused" if self.inputs.refuses_unseen else "it goes where a missing value goes"

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
        if self.inputs.refuses_missing or self.inputs.refuses_unseen:
            return "; returns 0, or -1 where x is refused and out left as it is"
        return "" if self.classifies and self.n_targets == 1 else "; returns 0"

    # --- tables

    def tables(self) -> Iterator[str]:
        yield self.named(CHECKS)
        if self.classifies:
            yield self.array("", CLASS_NAMES, labels_of([label for each in by_target(self.subject.classes) for label in each]))
        if self.classifies and self.n_targets > 1:
            starts = [0, *(stop for _, stop in ranges(self.tree))]
            yield self.array("", "const int tree_first_class[TREE_N_TARGETS + 1]", map(str, starts))
        yield from self.category_tables()
        if not self.is_nested:
            yield from self.walk_tables()
        yield from self.value_tables()

    def walk_tables(self) -> Iterator[str]:
        """Yield the tables that a walk from node to node needs."""
        if self.several:
            kinds = ", ".join(f"TREE_{KIND_NAMES[kind]}" for kind in sorted(self.layout.kinds))
            yield self.named(f"enum {{ {kinds} }}; /* kinds of tests */")
        if self.layout.shares or self.layout.soft:
            divided = f"({-SHORT} - 1)" if self.tree.node_count <= SHORT else f"({-(2**31) + 1} - 1)"
            yield self.named(f"#define TREE_DIVIDED {divided}\n#define TREE_WAITING {self.layout.waiting}")
        if self.roots is None:
            yield self.records("node", "The nodes, level by level.", self.node_columns(), node_notes(self.subject))
        else:
            yield self.records("node", "The nodes of the trees, one after the other, level by level.", self.node_columns())
            yield self.named(f"#define TREE_N_TREES {len(self.roots)}")
            declared = f"static const {integer(self.roots)} tree_roots[TREE_N_TREES]"
            yield self.array("The first node of each tree.", declared, map(str, self.roots))
        if self.surrogates is not None:
            yield self.records("surrogate", "Asked in turn where a value is missing.", self.surrogate_columns(self.surrogates))
        yield from self.test_tables()

    def category_tables(self) -> Iterator[str]:
        """Yield the tables of categories by text or number, and of their number in each feature."""
        features = self.features
        if (self.asks_codes and not self.is_nested) or self.inputs.refuses_unseen:
            numbers = [-1 if feature.categories is None else len(feature.categories) for feature in features]
            declared = f"static const {integer(numbers)} tree_n_categories[TREE_N_FEATURES]"
            yield self.array("-1: the values are numbers.", declared, map(str, numbers))
        for is_there, table, field, cells in (
            (self.by_text, "text", "const char *text", texts_of),
            (self.by_number, "number", "double number", numbers_of),
        ):
            if is_there:
                chosen = [cells(feature) for feature in features]
                starts = np.cumsum([0, *map(len, chosen)]).tolist()
                comment = f"Categories and their codes, ascending; those of feature i from tree_{table}_start[i] on."
                declared = f"static const struct tree_{table} {{ {field}; int32_t code; }} tree_{table}s[]"
                yield self.array(comment, declared, (f"{{{cell}, {code}}}" for some in chosen for cell, code in some))
                yield self.array("", f"static const int32_t tree_{table}_start[TREE_N_FEATURES + 1]", map(str, starts))

    def node_columns(self) -> Iterator[RecordColumn]:
        tree, layout = self.tree, self.layout
        wide = "int16_t" if tree.node_count <= SHORT else "int32_t"
        inner = (tree.n_branches > 0).tolist()
        if THRESHOLD in layout.kinds:
            yield doubles("threshold", tree.threshold, "of a soft threshold a half goes either way" if layout.soft else "")
        if layout.soft:
            yield doubles("lower", tree.lower, "values up to here all go to the first branch")
            yield doubles("upper", tree.upper, "and from here on none")
        if layout.shares:
            share = np.zeros(tree.node_count)
            for node, parts in layout.shares.items():
                first = int(tree.first_child[node])
                share[first : first + len(parts)] = parts
            yield doubles("share", share, "the part of a sample that the parent shares out")
        if layout.kinds & {NOMINAL, INTERVALS}:
            start = (
                tree.categories_start[:-1]
                if tree.cut_start is None
                else np.where(tree.kind == INTERVALS, tree.cut_start[:-1], tree.categories_start[:-1])
            )
            size = np.diff(tree.categories_start) + (0 if tree.cut_start is None else np.diff(tree.cut_start))
            yield integers("first", np.where(size, start, 0), "of its codes or cuts")
            yield integers("count", size, "of them")
        if self.surrogates is not None:
            yield integers("surrogate", np.where(tree.n_branches > 0, self.surrogates.start[:-1], 0), "the first")
            yield integers("n_surrogates", np.diff(self.surrogates.start), "")
        yield integers("feature", np.where(tree.n_branches > 0, tree.feature, 0), "")
        yield RecordColumn(wide, "child", list(map(str, layout.child)), "the first; of a leaf ~row of tree_values")
        divided = self.named("TREE_DIVIDED")
        place = [divided if is_inner and to is None else str(to or 0) for is_inner, to in zip(inner, layout.missing, strict=True)]
        yield RecordColumn(wide, "missing", place, "where a missing value goes: a node, or ~row")
        if layout.shares:
            yield integers("n_branches", tree.n_branches, "")
        if self.several:
            kinds = [self.named(f"TREE_{KIND_NAMES[kind]}") if kind != LEAF else "0" for kind in tree.kind.tolist()]
            yield RecordColumn("int8_t", "kind", kinds, "")

    def surrogate_columns(self, surrogates: Surrogates) -> Iterator[RecordColumn]:
        threshold = surrogates.kind == THRESHOLD
        if threshold.any():
            yield doubles("threshold", surrogates.threshold, "")
        if not threshold.all():
            start = surrogates.categories_start[:-1] + self.tree.categories_code.size  # after those of the nodes
            size = np.diff(surrogates.categories_start)
            yield integers("first", np.where(size, start, 0), "of its codes")
            yield integers("count", size, "0: it has a threshold")
        yield integers("feature", surrogates.feature, "")
        if threshold.any():
            yield integers("low", np.where(threshold, surrogates.low_branch, 0), "the branch of values up to the threshold")

    def test_tables(self) -> Iterator[str]:
        """Yield the tables of codes with their branches, and of cuts."""
        tree = self.tree
        codes, branches = [tree.categories_code], [tree.categories_branch]
        if self.surrogates is not None:
            codes.append(self.surrogates.categories_code)
            branches.append(self.surrogates.categories_branch)
        all_codes, all_branches = np.concatenate(codes), np.concatenate(branches)
        if all_codes.size:
            kind = integer(all_codes.tolist())
            yield self.array(
                "The categories that a test knows, ascending, and their branches.",
                f"static const {kind} tree_codes[]",
                map(str, all_codes.tolist()),
            )
            kind = integer(all_branches.tolist())
            yield self.array("", f"static const {kind} tree_branches[]", map(str, all_branches.tolist()))
        if tree.cut is not None:
            yield self.array("", "static const double tree_cuts[]", map(repr, tree.cut.tolist()))

    def value_tables(self) -> Iterator[str]:
        layout = self.layout
        if layout.formulas is not None:
            yield from itertools.starmap(self.array, model_tables(layout.formulas, layout.values, self.features))
            return
        what = "weights of the classes" if layout.whole is not None else "shares of the classes" if self.classifies else "means"
        yield self.array(
            f"What samples are given: {what}.",
            f"static const double tree_values[][{self.width}]",
            map(row_of, layout.values.tolist()),
        )
        if layout.whole is not None:
            yield self.array("What to divide them by.", "static const double tree_whole[]", map(repr, layout.whole.tolist()))
        if layout.answers is not None:
            answers = layout.answers.tolist()
            declared = f"static const {integer(layout.answers.ravel().tolist())} tree_answers[]"
            if self.n_targets > 1:
                yield self.array("The classes of each row.", f"{declared}[TREE_N_TARGETS]", map(row_of, answers))
            else:
                yield self.array("The class of each row.", declared, (str(answer) for (answer,) in answers))
        if self.tree.loss is not None and self.compares_shares:
            yield self.array(
                "What it costs to answer a class (column) where another is true (row).",
                "static const double tree_loss[TREE_N_CLASSES][TREE_N_CLASSES]",
                map(row_of, self.tree.loss.tolist()),
            )

    @property
    def width(self) -> str:
        """Number of columns of the values."""
        return "TREE_N_CLASSES" if self.classifies else "TREE_N_TARGETS" if self.n_targets > 1 else "1"

    def records(self, name: str, comment: str, columns: Iterable[RecordColumn], notes: Iterable[str] | None = None) -> str:
        """Write a table of records, one per line, with aligned fields."""
        columns = sorted(columns, key=lambda column: -SIZES[column.type])  # avoids padding between fields
        fields = "".join(
            f"    {column.type} {column.name};{f' /* {column.comment} */' if column.comment else ''}\n" for column in columns
        )
        declared = f"/* {comment} */\nstatic const struct tree_{name} {{\n{fields}}} tree_{name}s[] = {{"
        widths = [max(map(len, column.cells)) for column in columns]
        padded = [[cell.rjust(width) for cell in column.cells] for column, width in zip(columns, widths, strict=True)]
        ends = itertools.repeat("") if notes is None else (f" /* {commented(note)} */" for note in notes)
        rows = "".join(f"    {{{', '.join(cells)}}},{end}\n" for *cells, end in zip(*padded, ends, strict=False))
        return f"{self.named(declared)}\n{rows}}};"

    def array(self, comment: str, declared: str, cells: Iterable[str]) -> str:
        """Write an array in lines of limited length."""
        above = f"/* {comment} */\n" if comment else ""
        return f"{self.named(above + declared)} = {{\n{wrapped(cells)}}};"

    # --- functions

    def functions(self) -> Iterator[str]:
        if self.is_nested:
            yield self.nested_source()
        else:
            yield from map(self.named, self.walk_functions())
        yield from map(self.named, self.outer_functions())

    def outer_functions(self) -> Iterator[str]:
        """Yield the public functions."""
        if self.refuses:
            yield refuses_source(self.inputs)
        yield from self.answers()
        if self.by_text:
            yield CODE
        if self.by_number:
            yield CODE_OF_NUMBER

    def nested_source(self) -> str:
        nested = list(nested_lines(self.subject, self.layout, [f"x[{name}]" for name in self.feature_names], " && ", among))
        lines = branches(nested)
        if not any("x[" in line.condition for line in nested):  # one leaf, or a test that all samples pass alike
            lines.insert(0, "    (void)x;\n")
        head = "/* The row of tree_values where a sample ends. */\nstatic int32_t tree_row(const TREE_INPUT *x)\n{\n"
        return f"{self.named(head)}{''.join(lines)}}}"

    def walk_functions(self) -> Iterator[str]:
        if self.asks_codes:
            yield KNOWN_CODE
        if NOMINAL in self.layout.kinds or (self.surrogates is not None and self.surrogates.categories_code.size):
            yield BRANCH
        if INTERVALS in self.layout.kinds:
            yield CUTS_BELOW
        if self.layout.soft:
            yield LEFT_PART
        yield self.next_source()
        yield self.follow_source()
        if self.divides:
            yield self.divide_source()
        if self.roots is not None:
            yield self.sum_source()
        if self.compares_shares:
            yield best_source(self.tree)

    def sum_source(self) -> str:
        """Return what makes one prediction of those of several trees."""
        mean = mean_of_trees(self.divides)
        return mean.replace("@whole", self.whole).replace("@width", self.width)

    @property
    def compares_shares(self) -> bool:
        """Whether some predicted classes follow from shares that are no row of a table."""
        return self.classifies and (self.divides or self.roots is not None)

    @property
    def whole(self) -> str:
        """Source that divides class weights of the row `end`, if the values are weights."""
        return "" if self.layout.whole is None else " / tree_whole[~end]"

    @property
    def refuses(self) -> bool:
        """Whether some samples get no prediction."""
        return self.inputs.refuses_missing or self.inputs.refuses_unseen

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
        """Return the lines for a tree with several kinds of tests, surrogates or soft thresholds."""
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
        source = ROW.replace("@stops", STOPS.replace("@next", "~next") if stops else "")
        if self.roots is None:
            return source.replace("@from", "").replace("@root", "    int32_t node = 0;\n")
        return source.replace("@from", ", int32_t node").replace("@root", "")

    def divide_source(self) -> str:
        if self.layout.whole is not None:
            add = "out[k] += part * tree_values[~end][k] / tree_whole[~end];\n"
        else:  # the volatile prevents a fused multiply-add, which rounds once instead of twice
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

    def answers(self) -> Iterator[str]:
        refusal, nan = ("    if (tree_refuses(x))\n        return -1;\n", NAN) if self.refuses else ("", "")
        if self.layout.formulas is not None:
            yield predict_by_model(self.layout.formulas, refusal if self.n_targets > 1 else nan)
            return
        give = self.way_of(GIVE_MEAN, GIVE_DIVIDED, GIVE)
        give = give.replace("@whole", self.whole).replace("@width", self.width).replace("@refusal", refusal)
        if not self.classifies:
            if self.n_targets > 1:
                yield give.replace("@function", "tree_predict")
                return
            yield self.way_of(MEAN_PREDICTED, MEAN_DIVIDED, MEAN).replace("@refusal", nan)
            return
        if self.n_targets > 1:
            yield self.way_of(CLASSES_OF_MEAN, CLASSES_DIVIDED, CLASSES).replace("@refusal", refusal)
        else:
            yield self.way_of(CLASS_OF_MEAN, CLASS_DIVIDED, CLASS).replace("@refusal", refusal)
        yield give.replace("@function", "tree_predict_proba")

    def way_of(self, of_mean: str, of_divided: str, of_row: str) -> str:
        """Return the source for a forest, a tree that divides samples, or another tree."""
        return of_mean if self.roots is not None else of_divided if self.divides else of_row
