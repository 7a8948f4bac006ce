"""A tree or a forest as a Python module that imports only `math`: tables, and the few functions that read them.

It has only the tables and functions that the tree needs: the walk of a tree of plain thresholds has ten lines.
"""

from __future__ import annotations

import keyword
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from fasttree._export.layout import (
    Joined,
    Layout,
    as_python,
    description,
    feature_names,
    join,
    node_notes,
    ranges,
)
from fasttree._export.nested import MOST_LEAVES, nested_lines, reads_nested
from fasttree._export.python_module import block, head_tables, module_source
from fasttree._export.subject import Inputs, Subject
from fasttree._model.arrays import CATEGORY, INTERVALS, KNOWN, LEAF, NOMINAL, THRESHOLD
from fasttree._model.surrogates import Surrogates
from fasttree._model.tree import EQUAL_LOSSES, Tree
from fasttree._model.words import by_target

__all__ = ["export_forest_python", "export_python", "module_of", "reading"]

KIND_NAMES = {THRESHOLD: "THRESHOLD", NOMINAL: "NOMINAL", CATEGORY: "CATEGORY", KNOWN: "KNOWN", INTERVALS: "INTERVALS"}


def export_python(subject: Subject, name: str = "tree", *, most_nested: int = MOST_LEAVES) -> str:
    """Write a tree as the source of a Python module.

    Parameters
    ----------
    subject : Subject
    name : str, default "tree"
        Name of the tree in the docstring of the module.
    most_nested : int, default 64
        Largest number of leaves of a plain tree that is written as nested conditions; other trees are written as tables.

    Returns
    -------
    str
        Source for CPython 3.8 and later, with `predict` and, for classes, `predict_proba` for one row.

    Raises
    ------
    ValueError
        If the name is not a Python name.
    """
    joined = join([subject], is_forest=False)
    return module_of(joined, name, nested=reads_nested(joined.layout, most_nested))


def export_forest_python(subjects: Iterable[Subject], name: str = "tree") -> str:
    """Write the trees of a forest, whose predictions are averaged, as a module; see `export_python`."""
    return module_of(join(subjects, is_forest=True), name, nested=False)


def module_of(joined: Joined, name: str, *, nested: bool, votes: tuple[str, str] | None = None) -> str:
    """Write the module of a tree or of several; `votes` has the source of the sum and of the class of trees that vote."""
    first, *rest = description(joined.subject, joined.roots, by_vote=votes is not None)
    parts = [_tables(joined, nested), *_functions(joined, nested, votes)]
    return module_source(name, "tree", [_decapitalised(first), *rest], joined.subject, parts)


def _decapitalised(text: str) -> str:
    return text[0].lower() + text[1:]


# --- tables


def _tables(joined: Joined, nested: bool) -> str:
    """Return the constants of the module with comments."""
    subject, layout = joined.subject, joined.layout
    tree, features = subject.tree, subject.schema.features
    written = [*head_tables(features, [labels.tolist() for labels in by_target(subject.classes)])]
    if not nested:
        written += _walk_tables(joined)
    written += _value_tables(tree, layout, compares_shares=joined.roots is not None or tree.divides)
    return "\n".join(written)


def _walk_tables(joined: Joined) -> Iterator[str]:
    """Yield the tables that a walk from node to node needs."""
    subject, layout = joined.subject, joined.layout
    tree = subject.tree
    if len(layout.kinds) > 1:
        names = [KIND_NAMES[kind] for kind in sorted(layout.kinds)]
        yield f"{', '.join(names)} = range({len(names)})  # kinds of tests"
    places = _table_places(tree)
    notes = node_notes(subject) if joined.roots is None else None
    yield block("NODES", _node_comment(layout), _nodes(tree, layout, places), notes=notes)
    if joined.roots is not None:
        yield block("ROOTS", "the first node of each tree", map(str, joined.roots))
    if places:
        tables = ("{" + ", ".join(f"{code}: {branch}" for code, branch in entries) + "}" for entries in places)
        yield block("TABLES", "the branch of each category, by its code", tables)
    if tree.surrogates is not None and len(tree.surrogates):
        comment = "where a value is missing: feature, threshold or None, table or branch of values up to the threshold"
        yield block("SURROGATES", comment, _surrogates(tree, tree.surrogates, places), "{}")
    if layout.shares:
        shares = (f"{node}: {tuple(parts)!r}" for node, parts in layout.shares.items())
        yield block("SHARES", "nodes that share out samples with a missing value: the part of each child", shares, "{}")
    if layout.soft:
        assert tree.lower is not None
        assert tree.upper is not None
        soft = (f"{node}: {(float(tree.lower[node]), float(tree.upper[node]))!r}" for node in sorted(layout.soft))
        yield block("SOFT", "values between these, around a threshold, go both ways in part", soft, "{}")


def _table_places(tree: Tree) -> dict[tuple[tuple[int, int], ...], int]:
    """Return the distinct tables of nodes and surrogates, with their positions."""
    places: dict[tuple[tuple[int, int], ...], int] = {}
    for node in np.flatnonzero(tree.kind == NOMINAL).tolist():
        places.setdefault(_entries(*tree.categories_of(node)), len(places))
    if tree.surrogates is not None:
        for i in np.flatnonzero(tree.surrogates.kind == NOMINAL).tolist():
            places.setdefault(_entries(*tree.surrogates.categories_of(i)), len(places))
    return places


def _entries(codes: Any, branches: Any) -> tuple[tuple[int, int], ...]:
    return tuple(zip(codes.tolist(), branches.tolist(), strict=True))


def _node_comment(layout: Layout) -> str:
    kind = "kind, " if len(layout.kinds) > 1 else ""
    tests = {THRESHOLD: "threshold", NOMINAL: "table", CATEGORY: "None", KNOWN: "None", INTERVALS: "cuts"}
    named = " or ".join(dict.fromkeys(tests[kind] for kind in sorted(layout.kinds)))
    return f"{kind}feature, {named}, first child or ~row of VALUES, where a missing value goes"


def _nodes(tree: Tree, layout: Layout, places: dict[tuple[tuple[int, int], ...], int]) -> Iterator[str]:
    several = len(layout.kinds) > 1
    columns = (tree.kind.tolist(), tree.feature.tolist(), tree.threshold.tolist(), layout.child, layout.missing)
    for node, (kind, feature, threshold, child, missing) in enumerate(zip(*columns, strict=True)):
        test: Any = None
        if kind == THRESHOLD:
            test = threshold
        elif kind == NOMINAL:
            test = places[_entries(*tree.categories_of(node))]
        elif kind == INTERVALS:
            test = tuple(tree.cuts_of(node).tolist())
        named = f"{KIND_NAMES.get(kind)}, " if several else ""
        fields = f"{None if kind == LEAF else feature}, {test}, {child}, {missing}"
        yield f"({named}{fields})"


def _surrogates(tree: Tree, surrogates: Surrogates, places: dict[tuple[tuple[int, int], ...], int]) -> Iterator[str]:
    start = surrogates.start.tolist()
    for node in np.flatnonzero(np.diff(surrogates.start)).tolist():
        tests = []
        for i in range(start[node], start[node + 1]):
            if surrogates.kind[i] == THRESHOLD:
                test = f"{float(surrogates.threshold[i])!r}, {int(surrogates.low_branch[i])}"
            else:
                test = f"None, {places[_entries(*surrogates.categories_of(i))]}"
            tests.append(f"({int(surrogates.feature[i])}, {test}),")
        yield f"{node}: ({' '.join(tests)})"


def _value_tables(tree: Tree, layout: Layout, *, compares_shares: bool) -> Iterator[str]:
    rows = (repr(tuple(row)) for row in layout.values.tolist())
    if layout.formulas is not None:
        formulas, bounds = layout.formulas, ", lower and upper bound" * layout.formulas.is_bounded
        each = " of each target" * (formulas.n_targets > 1)
        if each:
            by_target = layout.values.reshape(-1, formulas.n_targets, formulas.width).tolist()
            rows = (repr(tuple(map(tuple, row))) for row in by_target)
        yield block("VALUES", f"linear models{each}: intercept, coefficients of TERMS{bounds}", rows)
        meaning = "features, and what takes the place of a missing value"
        codes = [formulas.codes] if any(formulas.codes) else []
        meaning += ", and the code of a category whose indicator is meant, or 0" * len(codes)
        yield block("TERMS", meaning, map(repr, zip(formulas.features, formulas.filling, *codes, strict=True)))
        return
    meaning = (
        "means" if tree.task == "regression" else "shares of the classes" if layout.whole is None else "weights of the classes"
    )
    yield block("VALUES", meaning, rows)
    if layout.whole is not None:
        yield block("WHOLE", "what to divide them by", map(repr, layout.whole.tolist()))
    if layout.answers is not None:
        answers = (repr(tuple(row) if len(row) > 1 else row[0]) for row in layout.answers.tolist())
        yield block("ANSWERS", "places in CLASSES", answers)
    if tree.loss is not None and compares_shares:
        rows = (repr(tuple(row)) for row in tree.loss.tolist())
        yield block("LOSS", "what it costs to answer a class (column) where another is true (row)", rows)


# --- functions


def _functions(joined: Joined, nested: bool, votes: tuple[str, str] | None) -> Iterator[str]:
    subject, layout = joined.subject, joined.layout
    yield from _answers(joined, votes)
    yield from reading(subject)
    if nested:
        yield _nested(subject, layout)
    else:
        yield from _walk(joined)


def _nested(subject: Subject, layout: Layout) -> str:
    """Return the walk as nested conditions on values with the names of their features."""
    names = [_local_name(name) for name in feature_names([feature.name for feature in subject.schema.features], {"X"})]
    asked = sorted(set(layout.tree.feature[layout.tree.feature >= 0].tolist()))
    lines = [
        "def _row(x):",
        '    """Return the row of VALUES where a sample ends."""',
        *(f"    {names[j]} = x[{j}]" for j in asked),
    ]
    starts = {"if": "if {}:", "else if": "elif {}:", "else": "else:", "return": "return {}"}
    for line in nested_lines(subject, layout, names, " and ", _among):
        if line.word != "end":
            start = starts[line.word].format(line.row if line.word == "return" else line.condition)
            lines.append("    " * (line.level + 1) + start + (f"  # {line.note}" if line.note else ""))
    return "\n".join(lines)


def _among(x: str, codes: Sequence[int]) -> str:
    return f"{x} == {codes[0]}" if len(codes) == 1 else f"{x} in {tuple(codes)!r}"


def _local_name(name: str) -> str:
    """Return a name for the value of a feature inside a function."""
    name = name.lower()
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"{name}_" if name[0].isalpha() else f"_{name}"


def _answers(joined: Joined, votes: tuple[str, str] | None) -> Iterator[str]:
    tree, layout = joined.subject.tree, joined.layout
    divides = bool(layout.shares or layout.soft)
    several = tree.outputs is not None
    if layout.formulas is not None:
        source = PREDICT_BOUNDED if layout.formulas.is_bounded else PREDICT_BY_MODEL
        if several:
            source = source.replace("VALUES[_row(x)]", "model").replace(OF_ONE_MODEL, OF_MODELS)
        yield source.replace(ADD_TERM, ADD_TERM_OR_INDICATOR) if any(layout.formulas.codes) else source
        return
    if tree.task == "regression":
        what = "the means of the targets, a tuple" if several else "the mean of the leaf" if joined.roots is None else "the mean"
        result = "tuple(_given(_sample(row)))" if several else "_given(_sample(row))[0]"
        yield f'def predict(row):\n    """Return the prediction for a row: {what}."""\n    return {result}\n'
    else:
        what = "the classes of a row, a tuple with one per target" if several else "the class of a row"
        label = "tuple(labels[i] for labels, i in zip(CLASSES, {}))" if several else "CLASSES[{}]"
        if joined.roots is not None:
            given = "_given" if votes is None else "_votes"
            body = [f"return {label.format(f'_best({given}(_sample(row)))')}"]
        elif divides:
            best = "_best(_divided(x, end))"
            body = ["x = _sample(row)", "end = _follow(x, 0)", f"answer = ANSWERS[~end] if end < 0 else {best}"]
            body.append(f"return {label.format('answer')}")
        else:
            body = [f"return {label.format('ANSWERS[_row(_sample(row))]')}"]
        yield f'def predict(row):\n    """Return {what}."""\n' + "".join(f"    {line}\n" for line in body)
        yield _proba(tree)
    if joined.roots is not None:
        yield MEAN_OF_TREES.format(width=tree.n_values) if votes is None else votes[0]
    yield _given_source(joined, divides)
    if divides:
        yield _divided_source(tree, layout)
    if tree.task == "classification" and (divides or joined.roots is not None):
        yield _best_source(tree) if votes is None else votes[1]


ADD_TERM = """\
    for (feature, filling), coefficient in zip(TERMS, coefficients):
        value += coefficient * (x[feature] if x[feature] == x[feature] else filling)
"""

ADD_TERM_OR_INDICATOR = """\
    for (feature, filling, code), coefficient in zip(TERMS, coefficients):
        given = float(x[feature] == code) if code else x[feature]
        value += coefficient * (given if x[feature] == x[feature] else filling)
"""

OF_MODELS = '''\
def predict(row):
    """Return the predictions for a row: what the linear models of its leaf give, a tuple."""
    x = _sample(row)
    return tuple(_of_model(x, model) for model in VALUES[_row(x)])


def _of_model(x, model):
    """Return what a linear model gives a sample."""
'''

OF_ONE_MODEL = '''\
def predict(row):
    """Return the prediction for a row: what the linear model of its leaf gives."""
    x = _sample(row)
'''

PREDICT_BY_MODEL = f"""
{OF_ONE_MODEL}    value, *coefficients = VALUES[_row(x)]
{ADD_TERM}    return value
"""

PREDICT_BOUNDED = PREDICT_BY_MODEL.replace("*coefficients", "*coefficients, lower, upper").replace(
    "return value", "return min(max(value, lower), upper)"
)

MEAN_OF_TREES = '''
def _given(x):
    """Return the mean of what the trees give a sample, added in their order: a number per column of VALUES."""
    given = [0.0] * {width}
    for root in ROOTS:
        for k, value in enumerate(_given_by_tree(x, root)):
            given[k] += value
    return [value / len(ROOTS) for value in given]
'''


def _proba(tree: Tree) -> str:
    if tree.outputs is None:
        return (
            'def predict_proba(row):\n    """Return the probability of each class, a list."""\n    return _given(_sample(row))\n'
        )
    parts = ", ".join(f"given[{start}:{stop}]" for start, stop in ranges(tree))
    return (
        'def predict_proba(row):\n    """Return a list per target with the probability of each class."""\n'
        f"    given = _given(_sample(row))\n    return [{parts}]\n"
    )


def _given_source(joined: Joined, divides: bool) -> str:
    head, root = ("def _given(x):", "") if joined.roots is None else ("def _given_by_tree(x, root):", ", root")
    source = f'{head}\n    """Return what a sample is given{" by a tree" if root else ""}: a number per column of VALUES."""\n'
    if not divides:
        return f"{source}    return list(VALUES[_row(x{root})])\n"
    row = "list(VALUES[~end])" if joined.layout.whole is None else "[value / WHOLE[~end] for value in VALUES[~end]]"
    return f"{source}    end = _follow(x{root or ', 0'})\n    return {row} if end < 0 else _divided(x, end)\n"


def _divided_source(tree: Tree, layout: Layout) -> str:
    share = "part * value" if layout.whole is None else "part * value / WHOLE[~end]"
    division = SOFT_DIVISION if layout.soft else SHARING
    if layout.soft and layout.shares:
        soft, shares = textwrap.indent(SOFT_DIVISION, "    "), textwrap.indent(SHARING, "    ")
        division = f"if end in SOFT and x[feature] == x[feature]:\n{soft}else:\n{shares}"
    return f'''
def _divided(x, start):
    """Return what a sample is given that a node divides: its parts come down one by one, the first branch first."""
    given = [0.0] * {tree.value.shape[1]}
    waiting = [(start, 1.0)]
    while waiting:
        node, part = waiting.pop()
        end = _follow(x, node)
        if end < 0:
            for k, value in enumerate(VALUES[~end]):
                given[k] += {share}
            continue
        {_names(layout)} = NODES[end]
{textwrap.indent(division, "        ")}\
    return given
'''


SOFT_DIVISION = """\
left = _left_part(end, test, x[feature])
waiting.append((child + 1, part * (1 - left)))
waiting.append((child, part * left))
"""

SHARING = """\
for branch in reversed(range(len(SHARES[end]))):
    if SHARES[end][branch] > 0:
        waiting.append((child + branch, part * SHARES[end][branch]))
"""


def _names(layout: Layout) -> str:
    return ("kind, " if len(layout.kinds) > 1 else "") + "feature, test, child, missing"


def _best_source(tree: Tree) -> str:
    if tree.loss is not None:
        return f'''
def _best(shares):
    """Return the place of the class of least expected loss, the first of equal ones."""
    n = len(shares)
    expected = [sum(shares[i] * LOSS[i][j] for i in range(n)) for j in range(n)]
    least = min(expected) * (1 + {EQUAL_LOSSES!r})  # losses that differ by rounding are equal
    return next(j for j in range(n) if expected[j] <= least)
'''
    if tree.outputs is None:
        return '''
def _best(shares):
    """Return the place of the largest share, the first of equal ones."""
    return shares.index(max(shares))
'''
    parts = ", ".join(f"shares[{start}:{stop}]" for start, stop in ranges(tree))
    return f'''
def _best(shares):
    """Return of each target the place of its largest share, the first of equal ones."""
    return tuple(part.index(max(part)) for part in ({parts}))
'''


def reading(subject: Inputs) -> Iterator[str]:
    """Yield the functions that make numbers of a row."""
    features = subject.schema.features
    some_codes = any(feature.categories is not None for feature in features)
    some_numbers = any(feature.categories is None for feature in features)
    loop = "for name, value in zip(FEATURES, row)"
    read = "_number(name, value)"
    if some_codes:
        loop = "for name, codes, value in zip(FEATURES, CODES, row)"
        read = f"codes.get(value) or _without_code(name, {'codes, ' * _has_fractions(subject)}value)"
        read = f"_number(name, value) if codes is None else {read}" if some_numbers else read
    yield f'''
def _sample(row):
    """Return the values of a row as numbers: codes of categories, and NaN for what is missing."""
    shape = getattr(row, "shape", (0,))
    if isinstance(row, (str, bytes)) or not hasattr(row, "__getitem__") or len(shape) != 1:
        raise TypeError(f"a row is a sequence of values, one per feature, or a mapping by name; got {{type(row).__name__}}")
    if hasattr(row, "keys"):
        values = []
        try:
            for name in FEATURES:
                values.append(row[name])
        except (KeyError, IndexError):
            raise ValueError(f"the row has no value for {{name!r}}: give it, or None if it is missing") from None
        row = values
    if len(row) != len(FEATURES):
        raise ValueError(f"a row must have {{len(FEATURES)}} values, one per feature; got {{len(row)}}")
    return [{read} {loop}]
'''
    if some_numbers:
        yield _number_source(subject)
    if some_codes:
        yield _code_source(subject)
    if some_numbers or subject.refuses_missing or subject.refuses_unseen:
        yield IS_MISSING


IS_MISSING = '''
def _is_missing(value):
    """Return whether there is no value; missing values of pandas are known by name, as pandas need not be installed."""
    return type(value).__name__ in ("NoneType", "NAType", "NaTType") or value != value
'''


def _number_source(subject: Inputs) -> str:
    missing = 'raise ValueError(f"{name} is missing, which the tree refuses")' if subject.refuses_missing else "return math.nan"
    return f'''
def _number(name, value):
    """Return the value of a continuous feature."""
    if type(value) is float and value - value == 0:  # finite
        return value
    if type(value) is not int and _is_missing(value):
        {missing}
    if isinstance(value, (str, bytes)):
        raise ValueError(f"{{name}} is the text {{value!r}}: give a number, as float() reads it, or None where it is missing")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if math.isinf(number):
        raise ValueError(f"{{name}} takes finite numbers; got {{number}}")
    return number
'''


def _has_fractions(subject: Inputs) -> bool:
    """Return whether some categories are floats, which a number of another type, such as a Decimal, need not equal exactly."""
    return any(isinstance(as_python(each), float) for feature in subject.schema.features for each in feature.categories or ())


NEAREST = """
    try:
        code = None if isinstance(value, (str, bytes)) else codes.get(float(value))  # of a Decimal, which databases give
    except (OverflowError, TypeError, ValueError):
        code = None
    if code is not None:
        return code
"""


def _code_source(subject: Inputs) -> str:
    unseen = 'raise ValueError(f"{name} is {value!r}, a category that the fit did not see")'
    missing = 'raise ValueError(f"{name} is missing, which the tree refuses")' if subject.refuses_missing else "return math.nan"
    if subject.refuses_unseen:
        lines = ["if _is_missing(value):", f"    {missing}", unseen]
    elif subject.refuses_missing:
        lines = ["if _is_missing(value):", f"    {missing}", "return math.nan"]
    else:
        lines = ["return math.nan"]
    what = '"""Return the number for a category that is missing, or that the fit did not see."""'
    body = "".join(f"    {line}\n" for line in lines)
    if not _has_fractions(subject):
        return f"def _without_code(name, value):\n    {what}\n{body}"
    return f"def _without_code(name, codes, value):\n    {what}{NEAREST}{body}"


def _walk(joined: Joined) -> Iterator[str]:
    tree, layout = joined.subject.tree, joined.layout
    tests = [
        (THRESHOLD, "value == value", "value > test"),
        (NOMINAL, "value in TABLES[test]", "TABLES[test][value]"),
        (CATEGORY, "value == value", "value - 1"),
        (KNOWN, "True", "value != value"),
        (INTERVALS, "value == value", "sum(cut < value for cut in test)"),
    ]
    several = len(layout.kinds) > 1
    surrogates = tree.surrogates is not None and len(tree.surrogates) > 0
    divides = bool(layout.shares or layout.soft)
    if divides:
        lines = [
            "def _follow(x, node):",
            '    """Return where a sample comes from a node: ~row of VALUES; or the node that divides it."""',
        ]
    elif joined.roots is None:
        lines = ["def _row(x):", '    """Return the row of VALUES where a sample ends."""', "    node = 0"]
    else:
        lines = ["def _row(x, node):", '    """Return the row of VALUES where a sample ends in the tree whose root is a node."""']
    lines += [
        "    while True:",
        f"        {_names(layout)} = NODES[node]",
        "        if child < 0:",
        f"            return {'' if divides else '~'}child",
        "        value = x[feature]",
    ]
    if layout.soft:
        soft_threshold = "node in SOFT and value == value and 0 < _left_part(node, test, value) < 1"
        lines += [f"        if {soft_threshold}:", "            return node"]
    word = "if"
    for kind, condition, branch in tests:
        if kind in layout.kinds:
            named = " and ".join([f"kind == {KIND_NAMES[kind]}"] * several + [condition] * (condition != "True" or not several))
            lines += [f"        {word} {named}:", f"            node = child + ({branch})"]
            word = "elif"
    lines.append("        else:")
    if surrogates:
        lines.append("            missing = _stand_in(x, node, child, missing)")
    if layout.shares:
        lines += ["            if missing is None:", "                return node"]
    if any(place is not None and place < 0 for place in layout.missing):
        lines += ["            if missing < 0:", f"                return {'' if divides else '~'}missing"]
    lines.append("            node = missing")
    yield "\n".join(lines)
    if layout.soft:
        yield LEFT_PART
    if surrogates:
        yield STAND_IN


LEFT_PART = '''
def _left_part(node, threshold, x):
    """Return the part of a sample that goes left of a soft threshold (Quinlan 1993, chapter 8)."""
    lower, upper = SOFT[node]
    if x <= lower:
        return 1.0
    if x <= threshold:
        return 1.0 - 0.5 * (0.5 * x - 0.5 * lower) / (0.5 * threshold - 0.5 * lower + 0.0005)
    if x < upper:
        return 0.5 - 0.5 * (0.5 * x - 0.5 * threshold) / (0.5 * upper - 0.5 * threshold + 0.0005)
    return 0.0
'''

STAND_IN = '''
def _stand_in(x, node, child, missing):
    """Return where a sample goes as the first surrogate says that knows its value."""
    for feature, threshold, test in SURROGATES.get(node, ()):
        value = x[feature]
        if threshold is None:
            if value in TABLES[test]:
                return child + TABLES[test][value]
        elif value == value:
            return child + (test ^ (value > threshold))
    return missing
'''
