"""A tree as text: what people read."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import SCHEMA, chain, flat, house_tree, leaf, play_tree, random_trees, split

from fasttree import C45Classifier
from fasttree._data.schema import Feature, Kind, Schema
from fasttree._export.text import export_text
from fasttree._model.arrays import CATEGORY, KNOWN, NOMINAL, SHARES, THRESHOLD
from fasttree._model.tree import Tree
from fasttree._model.words import percent, threshold_texts

CLASSES = np.array(["yes", "no"])


def lines_of(text):
    """The lines without their last newline, which every text must have."""
    assert text.endswith("\n")
    return text[:-1].split("\n")


def test_a_classification_tree_reads_like_this():
    assert lines_of(export_text(play_tree(), SCHEMA, CLASSES)) == [
        "├── size = small",
        "│   ├── age <= 41.5: yes (4)",
        "│   └── age > 41.5: no (2.5 of 3)",
        "├── size = medium: yes (0)",
        "└── size = large or missing",
        "    ├── city in {Aachen, Ulm}: yes (2)",
        "    └── city = Bonn",
        "        ├── member is known: no (2)",
        "        └── member is missing: yes (1)",
    ]


def test_a_regression_tree_reads_like_this():
    assert lines_of(export_text(house_tree(), SCHEMA)) == [
        "├── size <= medium",
        "│   ├── age <= 2.45: 12.25 (3)",
        "│   └── age > 2.45 or missing: 0.0013 (1)",
        "└── size > medium: 20 (5)",
    ]


def test_weights_of_next_to_nothing_keep_their_digits():
    tree = stump([1.0, 0.0], 3.0)
    light = tree.replace(weight=tree.weight * 1.2345e-6, value=tree.value * 1.2345e-6)
    assert lines_of(export_text(light, SCHEMA, CLASSES)) == ["├── age <= 3: yes (1.23e-06)", "└── age > 3: yes (1.23e-06)"]


def test_names_that_read_as_part_of_a_condition_are_quoted():
    schema = Schema((Feature("age<=30", Kind.CONTINUOUS, None), *SCHEMA.features[1:]))
    classes = np.array(["<=50K", ">50K"])
    assert lines_of(export_text(stump([1.0, 0.0], 0.5), schema, classes))[0].startswith("├── 'age<=30' <= 0.5: <=50K (")


def test_weights_of_every_node_are_shown_on_request():
    assert lines_of(export_text(play_tree(), SCHEMA, CLASSES, show_weights=True))[:5] == [
        "{yes: 7.5, no: 5.5}",
        "├── size = small {yes: 4.5, no: 2.5}",
        "│   ├── age <= 41.5: yes {yes: 4}",
        "│   └── age > 41.5: no {yes: 0.5, no: 2.5}",
        "├── size = medium: yes (0)",
    ]
    assert lines_of(export_text(house_tree(), SCHEMA, show_weights=True))[:2] == ["(9)", "├── size <= medium (4)"]


def test_shares_of_every_node_are_shown_on_request():
    assert lines_of(export_text(play_tree(), SCHEMA, CLASSES, show_shares=True))[:5] == [
        "{yes: 58 %, no: 42 %} (13)",
        "├── size = small {yes: 64 %, no: 36 %} (7)",
        "│   ├── age <= 41.5: yes {yes: 100 %} (4)",
        "│   └── age > 41.5: no {yes: 17 %, no: 83 %} (3)",
        "├── size = medium: yes (0)",
    ]
    assert lines_of(export_text(house_tree(), SCHEMA, show_shares=True))[:3] == [
        "(9)",
        "├── size <= medium (4)",
        "│   ├── age <= 2.45: 12.25 (3)",
    ]


def test_shares_of_several_targets_stand_side_by_side():
    tree = flat(leaf([1.0, 3.0, 2.0, 2.0]), "classification").replace(outputs=(2, 2), weight=[4.0])
    classes = [CLASSES, np.array(["red", "blue"])]
    assert export_text(tree, SCHEMA, classes, show_shares=True) == "no {yes: 25 %, no: 75 %} | red {red: 50 %, blue: 50 %} (4)\n"
    assert export_text(tree, SCHEMA, classes, show_weights=True) == "no {yes: 1, no: 3} | red {red: 2, blue: 2}\n"


def test_of_many_classes_the_heaviest_are_told():
    weights = [1.0, 5.0, 0.0, 3.0, 5.0, 2.0]
    tree = flat(leaf(weights), "classification")
    classes = np.array(list("abcdef"))
    shown = {
        max_categories: export_text(tree, SCHEMA, classes, show_weights=True, max_categories=max_categories)
        for max_categories in (2, 3, 4)
    }
    assert shown[2] == "b {b: 5, e: 5, … 3 more}\n"
    assert shown[3] == "b {b: 5, d: 3, e: 5, … 2 more}\n"
    assert shown[4] == "b {a: 1, b: 5, d: 3, e: 5, f: 2}\n"
    assert "... 3 more}" in export_text(tree, SCHEMA, classes, show_shares=True, max_categories=2, ascii=True)


def test_wide_characters_are_aligned_past_the_indentation():
    text = export_text(chain(2), Schema((Feature("日本", Kind.CONTINUOUS),)), align=True)
    assert lines_of(text) == [
        "├── 日本 <= 0      0.5 (1)",
        "└── 日本 > 0",
        "    ├── 日本 <= 1  0.5 (1)",
        "    └── 日本 > 1   0.5 (1)",
    ]


def test_weights_and_shares_at_once_are_refused():
    with pytest.raises(ValueError, match="show_weights=True, show_shares=True: choose one of them"):
        export_text(play_tree(), SCHEMA, CLASSES, show_shares=True, show_weights=True)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (1, "100 %"), (0.5, "50 %"), (1e-9, "<0.1 %"), (1 - 1e-9, ">99.9 %"), (0.0042, "0.4 %"), (0.996, "99.6 %")],
)
def test_a_share_that_is_not_all_never_reads_as_all(share, text):
    assert percent(share) == text


def test_answers_stand_below_one_another_on_request():
    assert lines_of(export_text(play_tree(), SCHEMA, CLASSES, align=True)) == [
        "├── size = small",
        "│   ├── age <= 41.5            yes (4)",
        "│   └── age > 41.5             no (2.5 of 3)",
        "├── size = medium              yes (0)",
        "└── size = large or missing",
        "    ├── city in {Aachen, Ulm}  yes (2)",
        "    └── city = Bonn",
        "        ├── member is known    no (2)",
        "        └── member is missing  yes (1)",
    ]


def test_aligned_answers_make_no_room_for_a_line_that_is_very_long():
    schema = Schema((Feature("n" * 200, Kind.CONTINUOUS, None), *SCHEMA.features[1:]))
    lines = lines_of(export_text(play_tree(), schema, CLASSES, align=True, max_categories=1))
    assert lines[3].index("yes (0)") == lines[5].index("yes (2)") < 60
    assert lines[1].endswith(" yes (4)")


def test_wide_letters_are_aligned_as_terminals_show_them():
    schema = Schema((Feature("年齢", Kind.CONTINUOUS, None), *SCHEMA.features[1:]))
    first, second = lines_of(export_text(stump([1.0, 0.0], 3.0), schema, CLASSES, align=True))
    assert first == "├── 年齢 <= 3  yes (1)"
    assert second == "└── 年齢 > 3   yes (1)"


def test_few_nodes_show_the_heaviest_part_and_count_the_rest():
    assert lines_of(export_text(play_tree(), SCHEMA, CLASSES, max_nodes=6)) == [
        "├── size = small",
        "│   ├── age <= 41.5: yes (4)",
        "│   └── age > 41.5: no (2.5 of 3)",
        "├── size = medium: yes (0)",
        "└── size = large or missing: yes (3 of 6) … 4 nodes, depth 2",
    ]


def test_the_way_of_missing_values_is_shown_on_request():
    assert lines_of(export_text(play_tree(), SCHEMA, CLASSES, show_missing=True)) == [
        "├── size = small",
        "│   ├── age <= 41.5: yes (4)",
        "│   ├── age > 41.5: no (2.5 of 3)",
        "│   └── age is missing: every branch, as 4 : 3",
        "├── size = medium: yes (0)",
        "└── size = large or missing",
        "    ├── city in {Aachen, Ulm}: yes (2)",
        "    ├── city = Bonn",
        "    │   ├── member is known: no (2)",
        "    │   └── member is missing: yes (1)",
        "    └── city is missing: yes (3 of 6)",
    ]


def test_the_way_of_missing_values_is_shown_where_it_is_not_the_heaviest_branch():
    assert "or missing" in export_text(house_tree(), SCHEMA)
    assert "size > medium or missing" not in export_text(house_tree(), SCHEMA)
    assert "or missing" not in export_text(house_tree(), SCHEMA, show_missing=False)
    assert "size > medium or missing" in export_text(house_tree(), SCHEMA, show_missing=True)


def test_what_is_too_deep_is_counted():
    assert lines_of(export_text(play_tree(), SCHEMA, CLASSES, max_depth=1)) == [
        "├── size = small: yes (4.5 of 7) … 2 nodes, depth 1",
        "├── size = medium: yes (0)",
        "└── size = large or missing: yes (3 of 6) … 4 nodes, depth 2",
    ]
    assert lines_of(export_text(play_tree(), SCHEMA, CLASSES, max_depth=0)) == ["yes (7.5 of 13) … 9 nodes, depth 3"]
    whole = export_text(play_tree(), SCHEMA, CLASSES)
    assert export_text(play_tree(), SCHEMA, CLASSES, max_depth=3) == whole
    assert export_text(play_tree(), SCHEMA, CLASSES, max_depth=None) == whole


def test_ascii_drawing_uses_no_other_characters():
    text = export_text(play_tree(), SCHEMA, CLASSES, max_depth=2, ascii=True)
    assert text.isascii()
    assert lines_of(text)[-2:] == [
        "    |-- city in {Aachen, Ulm}: yes (2)",
        "    `-- city = Bonn: no (2 of 3) ... 2 nodes, depth 1",
    ]


def test_a_root_alone_says_what_it_predicts():
    assert export_text(flat(leaf([1.0, 2.0]), "classification"), SCHEMA, CLASSES) == "no (2 of 3)\n"
    assert export_text(flat(leaf([2.5], weight=4.0), "regression"), SCHEMA) == "2.5 (4)\n"


def stump(value, threshold=0.5, kind=THRESHOLD, feature=0, table=None):
    sides = [leaf(value), leaf(value)]
    both = [2 * number for number in value]
    return flat(split(sides, feature=feature, kind=kind, value=both, threshold=threshold, table=table), "classification")


@pytest.mark.parametrize(
    ("value", "decimals", "expected"),
    [
        ([3.0, 0.0], 2, "yes (3)"),
        ([1 / 3, 2 / 3], 2, "no (0.67 of 1)"),
        ([1 / 3, 2 / 3], 0, "no (1 of 1)"),
        ([1.5, 1.25], 1, "yes (1.5 of 2.8)"),
        ([1e-9, 0.0], 2, "yes (1e-09)"),
        ([1e20, 0.0], 2, "yes (1e+20)"),
        ([100.0, 20.0], 2, "yes (100 of 120)"),
    ],
)
def test_weights_print_without_trailing_zeros(value, decimals, expected):
    tree = flat(leaf(value, n_samples=1), "classification")
    assert export_text(tree, SCHEMA, CLASSES, decimals=decimals) == f"{expected}\n"


@pytest.mark.parametrize(
    ("threshold", "text"),
    [
        (41.5, "41.5"),
        (-3.0, "-3"),
        (0.0, "0"),
        (2.449999988079071, "2.45"),
        (0.30000000000000004, "0.3"),
        (1234567.5, "1234567.5"),
        (1234567.1234567, "1234567.1"),
        (-0.00012345678912, "-0.000123457"),
        (1e300, "1e+300"),
    ],
)
def test_thresholds_print_with_few_digits(threshold, text):
    assert lines_of(export_text(stump([1.0, 1.0], threshold), SCHEMA, CLASSES))[0].startswith(f"├── age <= {text}: ")


FLOATS = st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)


@given(st.lists(st.one_of(FLOATS, st.integers(0, 9).map(lambda k: 0.1 + k * 2.0**-50)), min_size=1, max_size=8, unique=True))
def test_thresholds_of_a_feature_print_apart_and_in_order(thresholds):
    tree = chain(len(thresholds))
    column = np.full(tree.node_count, np.nan)
    column[tree.n_branches > 0] = thresholds
    tree = Tree(**tree.__getstate__() | {"threshold": column})
    lines = lines_of(export_text(tree, Schema(SCHEMA.features[:1])))
    read = [float(line.split("<= ")[1].split(":")[0]) for line in lines if "<=" in line]
    assert len(set(read)) == len(thresholds)
    assert np.argsort(read).tolist() == np.argsort(thresholds).tolist()
    np.testing.assert_allclose(read, thresholds, rtol=1e-5)


@pytest.mark.parametrize(
    ("lower", "upper", "text"),
    [
        (0.415098, 0.705658, "0.6 [0.42, 0.71]"),
        (0.6, 1.0, "0.6 [0.6, 1]"),
        (-31285.4, 7.25, "0.6 [-31285, 7]"),
        (0.59999, 0.6, "0.6 [0.59999, 0.6]"),
        (np.nextafter(0.6, 0), 0.6, "0.6 [0.6, 0.6]"),
        (-1.5e308, 1.5e308, "0.6 [-1.5e+308, 1.5e+308]"),
        (0.6, 0.6, "0.6"),
    ],
)
def test_soft_thresholds_print_their_interval(lower, upper, text):
    tree = stump([1.0, 1.0], 0.6).replace(lower=[lower, np.nan, np.nan], upper=[upper, np.nan, np.nan])
    first, second = lines_of(export_text(tree, SCHEMA, CLASSES))
    assert first.startswith(f"├── age <= {text}: ")
    assert second.startswith("└── age > 0.6: ")


def test_soft_thresholds_between_ordinal_categories_print_the_category_alone():
    tree = stump([1.0, 1.0], 1.5, feature=1)
    soft = tree.replace(lower=[1.25, np.nan, np.nan], upper=[1.75, np.nan, np.nan])
    assert export_text(soft, SCHEMA, CLASSES) == export_text(tree, SCHEMA, CLASSES)


@pytest.mark.parametrize("place", [2.5, 3.0, -0.125])
def test_thresholds_just_below_a_number_do_not_read_as_if_it_were_on_their_side(place):
    threshold = float(np.nextafter(place, -np.inf))
    assert float(threshold_texts({(0, threshold)})[0, threshold]) == threshold


def test_thresholds_closer_than_six_digits_get_more():
    tree = Tree(**chain(2).__getstate__() | {"threshold": [0.12345678901, np.nan, 0.12345678999, np.nan, np.nan]})
    text = export_text(tree, Schema(SCHEMA.features[:1]))
    assert "age <= 0.123456789:" in text
    assert "age <= 0.12345679:" in text


def test_long_lists_of_categories_are_cut():
    schema = Schema((Feature("code", Kind.NOMINAL, tuple(range(100, 200))),))
    table = [(code, int(code > 50)) for code in range(1, 101)]
    tree = Tree(**stump([1.0, 0.0], np.nan, NOMINAL, table=table).__getstate__() | {"n_features": 1})
    first, second = lines_of(export_text(tree, schema, CLASSES, max_categories=3))
    assert first == "├── code in {100, 101, 102, … 47 more}: yes (1)"
    assert second == "└── code in {150, 151, 152, … 47 more}: yes (1)"
    assert "more" not in export_text(tree, schema, CLASSES, max_categories=49)


@pytest.mark.parametrize("options", [{}, {"show_shares": True}, {"ascii": True}, {"show_missing": True}], ids=str)
def test_a_condition_names_as_many_categories_as_its_line_has_room_for(options):
    schema = Schema((Feature("code", Kind.NOMINAL, tuple(range(100, 200))),))
    table = [(code, int(code > 50)) for code in range(1, 101)]
    tree = Tree(**stump([1.0, 0.0], np.nan, NOMINAL, table=table).__getstate__() | {"n_features": 1})
    by_most = [lines_of(export_text(tree, schema, CLASSES, max_categories=most, **options)) for most in range(2, 51)]
    seen = set()
    for width in range(1, 400):
        lines = lines_of(export_text(tree, schema, CLASSES, width=width, **options))
        for place, line in enumerate(lines):
            candidates = [each[place] for each in by_most]
            assert line == [candidates[0], *(each for each in candidates if len(each) <= width)][-1]
            seen.add(line)
    assert len(seen) > 90  # from two names to all of them, on both branches


def test_a_narrow_text_keeps_what_it_says_besides_categories():
    assert export_text(play_tree(), SCHEMA, CLASSES, width=1) == export_text(play_tree(), SCHEMA, CLASSES)
    assert export_text(house_tree(), SCHEMA, width=1) == export_text(house_tree(), SCHEMA)


@pytest.mark.parametrize(
    ("known", "missing", "second"),
    [
        (7, 0, "code not in {100, 101}"),
        (6, 1, "code not in {100, 101}"),  # the seventh follows this branch, as it is unknown to the node
        (6, 0, "code in {102, 103, 104, 105}"),
    ],
)
def test_the_shorter_side_of_a_set_is_written(known, missing, second):
    schema = Schema((Feature("code", Kind.NOMINAL, tuple(range(100, 107))),))
    table = [(code, int(code > 2)) for code in range(1, known + 1)]
    fields = stump([1.0, 0.0], np.nan, NOMINAL, table=table).__getstate__() | {"n_features": 1, "missing": [missing, -2, -2]}
    lines = lines_of(export_text(Tree(**fields), schema, CLASSES, show_missing=False))
    assert lines == ["├── code in {100, 101}: yes (1)", f"└── {second}: yes (1)"]


def test_a_branch_without_categories_is_an_empty_set():
    tree = stump([1.0, 0.0], np.nan, NOMINAL, feature=2, table=[(1, 0), (2, 0)])
    assert lines_of(export_text(tree, SCHEMA, CLASSES))[1] == "└── city in {}: yes (1)"


def test_groups_of_ordinal_categories_are_sets_too():
    tree = stump([1.0, 0.0], np.nan, NOMINAL, feature=1, table=[(1, 0), (2, 1), (3, 0)])
    assert "├── size in {small, large}" in export_text(tree, SCHEMA, CLASSES)


@pytest.mark.parametrize("name", ["", " a", "a,b", "a\nb", "{a}", "x: y"])
def test_names_that_would_be_misread_are_quoted(name):
    schema = Schema((*SCHEMA.features[:2], Feature(name, Kind.NOMINAL, (name, "b", "c", "d")), SCHEMA.features[3]))
    text = export_text(play_tree(), schema, np.array([name, "no"], object))
    assert f"{name!r} in {{{name!r}, d}}: {name!r} (2)" in text
    assert len(lines_of(text)) == 9


@given(random_trees(), st.sampled_from([None, True, False]), st.booleans())
def test_every_branch_has_its_line(tree, show_missing, show_weights):
    classes = np.array([1, 2, 3]) if tree.task == "classification" else None
    lines = lines_of(export_text(tree, SCHEMA, classes, show_missing=show_missing, show_weights=show_weights))
    # an extra line under each test whose missing values follow no branch, and the root's own
    extra = int(((tree.missing < 0) & (tree.n_branches > 0)).sum()) if show_missing else 0
    extra += int(show_weights and tree.node_count > 1) + int(tree.node_count == 1)
    # categories without samples share a line
    empty = [node for node in np.flatnonzero(tree.weight == 0) if tree.kind[tree.parent[node]] == CATEGORY]
    shared = sum(number - 1 for number in Counter(tree.parent[empty].tolist()).values())
    assert len(lines) == tree.node_count - 1 + extra - shared
    depths = sorted((len(line) - len(line.lstrip("│├└─ "))) // 4 for line in lines)
    if not extra and not shared:
        assert depths == sorted(tree.depth()[1:].tolist())


def test_an_empty_branch_for_missing_values_is_no_category_without_samples():
    branches = [leaf([3.0, 0.0]), leaf([0.0, 0.0]), leaf([0.0, 0.0]), leaf([0.0, 2.0]), leaf([0.0, 0.0])]
    tree = flat(split(branches, feature=2, kind=CATEGORY, value=[3.0, 2.0], missing=4), "classification")
    assert [line.split(": ")[0] for line in lines_of(export_text(tree, SCHEMA, CLASSES))] == [
        "├── city = Aachen",
        "├── city = Ulm",
        "├── city is missing",
        "└── city in {Bonn, Köln}",
    ]


def test_a_known_test_has_no_other_way_for_missing_values():
    tree = flat(
        split([leaf([1.0, 0.0]), leaf([5.0, 0.0])], feature=0, kind=KNOWN, value=[6.0, 0.0], missing=1), "classification"
    )  # fmt: skip
    assert "or missing" not in export_text(tree, SCHEMA, CLASSES, show_missing=True)


def test_a_chain_of_100_000_levels_is_cut_at_a_hundred():
    lines = lines_of(export_text(chain(100_000), Schema(SCHEMA.features[:1])))
    assert len(lines) == 200
    assert lines[-1].endswith("└── age > 99: 49950.5 (99901) … 199800 nodes, depth 99900")


def test_a_deep_tree_is_drawn_whole_when_asked():
    lines = lines_of(export_text(chain(2_000), Schema(SCHEMA.features[:1]), max_depth=None))
    assert len(lines) == 4_000


@pytest.mark.parametrize("option", ["max_depth", "max_categories", "width", "decimals"])
@pytest.mark.parametrize("number", [-1, 1.5, "2", True])
def test_options_out_of_range_are_refused(option, number):
    with pytest.raises(ValueError, match=f"{option}={number!r}: must be an integer >= "):
        export_text(play_tree(), SCHEMA, CLASSES, **{option: number})


def test_classes_and_schema_must_fit_the_tree():
    with pytest.raises(ValueError, match="classes: must have a label for each column"):
        export_text(play_tree(), SCHEMA)
    with pytest.raises(ValueError, match="classes: must have a label for each column"):
        export_text(house_tree(), SCHEMA, CLASSES[:1])
    with pytest.raises(ValueError, match="schema: has 1 features; the tree was grown on 4"):
        export_text(house_tree(), Schema(SCHEMA.features[:1]))


def test_fractional_shares_are_shown_as_weights():
    tree = flat(
        split([leaf([1.25, 0.0]), leaf([0.0, 2.5])], feature=0, kind=THRESHOLD, value=[1.25, 2.5], threshold=1.0, missing=SHARES),
        "classification",
    )
    assert (
        lines_of(export_text(tree, SCHEMA, CLASSES, show_missing=True))[-1] == "└── age is missing: every branch, as 1.25 : 2.5"
    )


def test_categories_without_samples_share_a_line():
    X = pd.DataFrame({"size": pd.Categorical(["s", "s", "s", "l", "l", "l"], ["xs", "s", "m", "l", "xl"])})
    text = C45Classifier().fit(X, ["no", "no", "no", "yes", "yes", "yes"]).export_text()
    assert text.splitlines() == ["├── size = s: no (3)", "├── size = l: yes (3)", "└── size in {xs, m, xl}: no (0)"]
