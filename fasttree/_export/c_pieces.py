"""Templates of C source for a tree called tree; `c.py` chooses them and fills in each ``@word``.

They are C99 that is also valid C++, compile without warnings, and need no library.  Fused multiply-add, which rounds once instead
of twice, cannot change results: products are exact (halves), are divided before they are added, or go through a volatile.  Only
losses, which are compared with a tolerance, may differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Feature
from fasttree._export.c_cells import row_of
from fasttree._export.subject import Formulas, Inputs
from fasttree._model.tree import EQUAL_LOSSES, Tree

DECLARATIONS = """
#ifndef TREE_DECLARED
#define TREE_DECLARED

#include <stdint.h>

#ifndef TREE_INPUT
#define TREE_INPUT double /* what a sample is an array of; float if that is what it is measured in */
#endif

@sizes

enum { /* the places of the features in a sample */
@features
};

#ifdef __cplusplus
extern "C" {
#endif

@functions
#ifdef __cplusplus
}
#endif

#endif /* TREE_DECLARED */
"""

FIRST_CLASS_NOTE = "/* Where in tree_classes, and among the probabilities, the classes of each target begin. */"

CHECKS = """
#include <float.h>

#if DBL_MANT_DIG != 53
#error "thresholds are doubles of 64 bits, which this compiler does not have"
#endif
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "missing values are NaN, which -ffast-math does not know"
#endif
"""

KNOWN_CODE = """
/* Whether a value is there, and of a category whether the tree knows it. */
static int tree_known(int32_t feature, double value)
{
    const int32_t n = tree_n_categories[feature];
    return n < 0 ? value == value : value >= 1 && value <= n;
}
"""

FIND_BRANCH = "tree_branch(node->first, node->count, value)"

BRANCH = """
/* The branch of a category in a part of tree_codes; -1 if it is not there. */
static int32_t tree_branch(int32_t first, int32_t count, double value)
{
    const int32_t code = (int32_t)value;
    const int32_t end = first + count;
    int32_t stop = end;
    while (first < stop) {
        const int32_t middle = first + (stop - first) / 2;
        if (tree_codes[middle] < code)
            first = middle + 1;
        else
            stop = middle;
    }
    return first < end && tree_codes[first] == code ? tree_branches[first] : -1;
}
"""

CUTS_BELOW = """
/* How many cuts of a part of tree_cuts are smaller than a value. */
static int32_t tree_cuts_below(int32_t first, int32_t count, double value)
{
    int32_t start = first;
    int32_t stop = first + count;
    while (start < stop) {
        const int32_t middle = start + (stop - start) / 2;
        if (tree_cuts[middle] < value)
            start = middle + 1;
        else
            stop = middle;
    }
    return start - first;
}
"""

LEFT_PART = """
/* The part of a sample that goes left of a soft threshold (Quinlan 1993, chapter 8). */
static double tree_left_part(const struct tree_node *node, double value)
{
    const double middle = 0.5 * node->threshold;
    if (value <= node->lower)
        return 1.0;
    if (value <= node->threshold)
        return 1.0 - 0.5 * (0.5 * value - 0.5 * node->lower) / (middle - 0.5 * node->lower + 0.0005);
    if (value < node->upper)
        return 0.5 - 0.5 * (0.5 * value - middle) / (0.5 * node->upper - middle + 0.0005);
    return 0.0;
}
"""

FOLLOW = """
/* Where a sample comes from a node: ~row of tree_values; or the node that divides it. */
static int32_t tree_follow(const TREE_INPUT *x, int32_t node)
{
    while (tree_nodes[node].child >= 0) {
        const int32_t next = tree_next(x, &tree_nodes[node]);
        if (next == TREE_DIVIDED)
            return node;
@stops        node = next;
    }
    return tree_nodes[node].child;
}
"""

ROW = """
/* The row of tree_values where a sample ends. */
static int32_t tree_row(const TREE_INPUT *x@from)
{
@root    while (tree_nodes[node].child >= 0) {
        const int32_t next = tree_next(x, &tree_nodes[node]);
@stops        node = next;
    }
    return ~tree_nodes[node].child;
}
"""

STOPS = """\
        if (next < 0)
            return @next;
"""

DIVIDE = """
/* What a sample is given that a node divides: its parts come down one by one, the first branch first. */
static void tree_divide(const TREE_INPUT *x, int32_t start, double *out)
{
    int32_t at[TREE_WAITING];
    double parts[TREE_WAITING];
    int32_t waiting = 1;
@branch    int k;
    at[0] = start;
    parts[0] = 1.0;
    for (k = 0; k < @width; k++)
        out[k] = 0.0;
    while (waiting > 0) {
        const double part = parts[--waiting];
        const int32_t end = tree_follow(x, at[waiting]);
        if (end < 0) {
            for (k = 0; k < @width; k++)
                @add        } else {
            const struct tree_node *const node = &tree_nodes[end];
@value@test        }
    }
}
"""

VALUE = "            const double value = (double)x[node->feature];\n"

SOFT_DIVISION = """\
            const double left = tree_left_part(node, value);
            at[waiting] = node->child + 1;
            parts[waiting++] = part * (1 - left);
            at[waiting] = node->child;
            parts[waiting++] = part * left;
"""

SHARING = """\
            for (branch = node->n_branches - 1; branch >= 0; branch--) {
                const int32_t child = node->child + branch;
                if (tree_nodes[child].share > 0) {
                    at[waiting] = child;
                    parts[waiting++] = part * tree_nodes[child].share;
                }
            }
"""

EITHER_DIVISION = (
    """\
            if (@soft) {
                const double left = tree_left_part(node, value);
                at[waiting] = node->child + 1;
                parts[waiting++] = part * (1 - left);
                at[waiting] = node->child;
                parts[waiting++] = part * left;
                continue;
            }
"""
    + SHARING
)

CLASS = """
int tree_predict(const TREE_INPUT *x)
{
@refusal    return tree_answers[tree_row(x)];
}
"""

CLASS_DIVIDED = """
int tree_predict(const TREE_INPUT *x)
{
    const int32_t end = tree_follow(x, 0);
    double shares[TREE_N_CLASSES];
@refusal    if (end < 0)
        return tree_answers[~end];
    tree_divide(x, end, shares);
    return tree_best(shares, TREE_N_CLASSES);
}
"""

CLASSES = """
int tree_predict(const TREE_INPUT *x, int *out)
{
    const int32_t row = tree_row(x);
    int i;
@refusal    for (i = 0; i < TREE_N_TARGETS; i++)
        out[i] = tree_answers[row][i];
    return 0;
}
"""

CLASSES_DIVIDED = """
int tree_predict(const TREE_INPUT *x, int *out)
{
    const int32_t end = tree_follow(x, 0);
    double shares[TREE_N_CLASSES];
    int i;
@refusal    if (end >= 0)
        tree_divide(x, end, shares);
    for (i = 0; i < TREE_N_TARGETS; i++) {
        const int first = tree_first_class[i];
        out[i] = end < 0 ? tree_answers[~end][i] : tree_best(shares + first, tree_first_class[i + 1] - first);
    }
    return 0;
}
"""

GIVE = """
int @function(const TREE_INPUT *x, double *out)
{
    const int32_t row = tree_row(x);
    int k;
@refusal    for (k = 0; k < @width; k++)
        out[k] = tree_values[row][k];
    return 0;
}
"""

GIVE_DIVIDED = """
int @function(const TREE_INPUT *x, double *out)
{
    const int32_t end = tree_follow(x, 0);
    int k;
@refusal    if (end >= 0) {
        tree_divide(x, end, out);
        return 0;
    }
    for (k = 0; k < @width; k++)
        out[k] = tree_values[~end][k]@whole;
    return 0;
}
"""

MEAN = """
double tree_predict(const TREE_INPUT *x)
{
@refusal    return tree_values[tree_row(x)][0];
}
"""

PREDICT_BY_MODEL = """
double tree_predict(const TREE_INPUT *x)
{
    const double *const model = tree_values[tree_row(x)];
    double value = model[0];
@terms@refusal@bounds    return value;
}
"""

PREDICT_BY_MODELS = """
static double tree_of_model(const TREE_INPUT *x, const double *const model)
{
    double value = model[0];
@terms@bounds    return value;
}

int tree_predict(const TREE_INPUT *x, double *out)
{
    int k;
    const double *models;
@refusal    models = tree_values[tree_row(x)];
    for (k = 0; k < TREE_N_TARGETS; k++)
        out[k] = tree_of_model(x, models + k * @width);
    return 0;
}
"""

# the volatile prevents a fused multiply-add, which rounds once instead of twice
TERMS = """\
    int k;
    for (k = 0; k < @n_terms; k++) {
        const double given = (double)x[tree_terms[k].feature];
        const volatile double term = model[k + 1] * (given == given ? given : tree_terms[k].filling);
        value += term;
    }
"""

# a code that is no category's counts as missing, as in the walk
TERMS_OR_INDICATORS = """\
    int k;
    for (k = 0; k < @n_terms; k++) {
        const struct tree_term *const term = &tree_terms[k];
        const double given = (double)x[term->feature];
        double number = given;
        volatile double product;
        if (term->code != 0)
            number = given == term->code ? 1 : 0;
        if (term->code != 0 ? !(given >= 1 && given <= term->last) : given != given)
            number = term->filling;
        product = model[k + 1] * number;
        value += product;
    }
"""

BOUNDS = """\
    if (value < model[@n_terms + 1])
        return model[@n_terms + 1];
    if (value > model[@n_terms + 2])
        return model[@n_terms + 2];
"""

MEAN_DIVIDED = """
double tree_predict(const TREE_INPUT *x)
{
    const int32_t end = tree_follow(x, 0);
    double mean;
@refusal    if (end < 0)
        return tree_values[~end][0];
    tree_divide(x, end, &mean);
    return mean;
}
"""

OVER_TREES = """
/* @comment */
static void @function(const TREE_INPUT *x, double *out)
{
    int i, k;
    for (k = 0; k < @width; k++)
        out[k] = 0.0;
    for (i = 0; i < TREE_N_TREES; i++) {
        const double *const row = tree_values[tree_row(x, tree_roots[i])];
@add    }
@end}
"""

OVER_TREES_DIVIDED = """
/* @comment */
static void @function(const TREE_INPUT *x, double *out)
{
    int i, k;
    for (k = 0; k < @width; k++)
        out[k] = 0.0;
    for (i = 0; i < TREE_N_TREES; i++) {
        const int32_t end = tree_follow(x, tree_roots[i]);
        double of_tree[@width];
        if (end >= 0)
            tree_divide(x, end, of_tree);
        else
            for (k = 0; k < @width; k++)
                of_tree[k] = tree_values[~end][k]@whole;
@add    }
@end}
"""

ADD_ALL = """\
        for (k = 0; k < @width; k++)
            out[k] += @row[k];
"""

DIVIDE_BY_TREES = """\
    for (k = 0; k < @width; k++)
        out[k] /= TREE_N_TREES;
"""

CLASS_OF_MEAN = """
int tree_predict(const TREE_INPUT *x)
{
    double shares[TREE_N_CLASSES];
@refusal    tree_mean(x, shares);
    return tree_best(shares, TREE_N_CLASSES);
}
"""

CLASSES_OF_MEAN = """
int tree_predict(const TREE_INPUT *x, int *out)
{
    double shares[TREE_N_CLASSES];
    int i;
@refusal    tree_mean(x, shares);
    for (i = 0; i < TREE_N_TARGETS; i++)
        out[i] = tree_best(shares + tree_first_class[i], tree_first_class[i + 1] - tree_first_class[i]);
    return 0;
}
"""

GIVE_MEAN = """
int @function(const TREE_INPUT *x, double *out)
{
@refusal    tree_mean(x, out);
    return 0;
}
"""

MEAN_PREDICTED = """
double tree_predict(const TREE_INPUT *x)
{
    double mean;
@refusal    tree_mean(x, &mean);
    return mean;
}
"""

NAN = """\
    if (tree_refuses(x)) {
        const volatile double zero = 0.0;
        return zero / zero;
    }
"""

CODE = """
int tree_code(int feature, const char *category)
{
    const int known = feature >= 0 && feature < TREE_N_FEATURES;
    int32_t start = known ? tree_text_start[feature] : 0;
    int32_t stop = known ? tree_text_start[feature + 1] : 0;
    while (start < stop) {
        const int32_t middle = start + (stop - start) / 2;
        const char *a = tree_texts[middle].text;
        const char *b = category;
        while (*a && *a == *b) {
            a++;
            b++;
        }
        if (*a == *b)
            return tree_texts[middle].code;
        if ((unsigned char)*a < (unsigned char)*b)
            start = middle + 1;
        else
            stop = middle;
    }
    return 0;
}
"""

CODE_OF_NUMBER = """
int tree_code_of_number(int feature, double category)
{
    const int known = feature >= 0 && feature < TREE_N_FEATURES;
    int32_t start = known ? tree_number_start[feature] : 0;
    const int32_t end = known ? tree_number_start[feature + 1] : 0;
    int32_t stop = end;
    while (start < stop) {
        const int32_t middle = start + (stop - start) / 2;
        if (tree_numbers[middle].number < category)
            start = middle + 1;
        else
            stop = middle;
    }
    return start < end && tree_numbers[start].number <= category ? tree_numbers[start].code : 0;
}
"""

BEST = """
/* The place of the largest share, the first of equal ones. */
static int tree_best(const double *shares, int n)
{
    int best = 0;
    int k;
    for (k = 1; k < n; k++)
        if (shares[k] > shares[best])
            best = k;
    return best;
}
"""

BEST_BY_LOSS = """
/* The place of the class of least expected loss, the first of equal ones; losses that differ by rounding are equal. */
static int tree_best(const double *shares, int n)
{
    double expected[TREE_N_CLASSES];
    double least = 0.0;
    int i, k;
    for (k = 0; k < n; k++) {
        expected[k] = 0.0;
        for (i = 0; i < n; i++)
            expected[k] += shares[i] * tree_loss[i][k];
        if (k == 0 || expected[k] < least)
            least = expected[k];
    }
    for (k = 0; expected[k] > least * @slack; k++)
        ;
    return k;
}
"""

REFUSES = """
/* Whether a sample must not be answered. */
static int tree_refuses(const TREE_INPUT *x)
{
    int i;
    for (i = 0; i < TREE_N_FEATURES; i++) {
@lines    }
    return 0;
}
"""


def over_trees(divides: bool, comment: str, function: str, add: str, end: str = "") -> str:
    """Return a function that adds up what the trees give a sample: `add` adds what `@row` has of a tree."""
    source = OVER_TREES_DIVIDED if divides else OVER_TREES
    add = add.replace("@row", "of_tree" if divides else "row")
    return source.replace("@comment", comment).replace("@function", function).replace("@add", add).replace("@end", end)


def mean_of_trees(divides: bool) -> str:
    """Return the function of the mean of what the trees give a sample."""
    comment = "The mean of what the trees give a sample, added in their order."
    return over_trees(divides, comment, "tree_mean", ADD_ALL, DIVIDE_BY_TREES)


def best_source(tree: Tree) -> str:
    """Return the function that chooses a class by shares."""
    return BEST if tree.loss is None else BEST_BY_LOSS.replace("@slack", repr(1 + EQUAL_LOSSES))


def refuses_source(inputs: Inputs) -> str:
    """Return the function that knows which samples get no prediction."""
    lines = ["const double value = (double)x[i];"]
    if inputs.refuses_missing and not inputs.refuses_unseen:
        lines += ["if (value != value)", "    return 1;"]
    else:
        both = "" if inputs.refuses_missing else "value == value && "
        unseen = "tree_n_categories[i] >= 0 && !(value >= 1 && value <= tree_n_categories[i])"
        lines += [f"if ({both}{unseen})", "    return 1;"]
        if inputs.refuses_missing:
            lines += ["if (value != value)", "    return 1;"]
    return REFUSES.replace("@lines", "".join(f"        {line}\n" for line in lines))


def model_tables(
    formulas: Formulas, values: NDArray[np.float64], features: Sequence[Feature]
) -> Iterator[tuple[str, str, Iterable[str]]]:
    """Yield comment, declaration and cells of the tables: the models that occur, and the features that have terms."""
    bounds = ", lower and upper bound" * formulas.is_bounded
    each = " of each target" * (formulas.n_targets > 1)
    comment = f"Linear models{each}: intercept, coefficients of tree_terms{bounds}."
    yield comment, f"static const double tree_values[][{values.shape[1]}]", map(row_of, values.tolist())
    if formulas.features:
        comment = "The features of the coefficients, and what takes the place of a missing value"
        fields, terms = "double filling; int32_t feature;", [formulas.filling, formulas.features]
        if any(formulas.codes):
            comment += "; for an indicator its code and the last one, else 0"
            fields += " int32_t code, last;"
            terms += [formulas.codes, [len(features[feature].categories or ()) for feature in formulas.features]]
        declared = f"static const struct tree_term {{ {fields} }} tree_terms[]"
        cells = (f"{{{', '.join(map(repr, term))}}}" for term in zip(*terms, strict=True))
        yield f"{comment}.", declared, cells


def predict_by_model(formulas: Formulas, refusal: str) -> str:
    """Return the function that predicts; `refusal` is source for samples that get no prediction."""
    n_terms = len(formulas.features)
    source = PREDICT_BY_MODEL if formulas.n_targets == 1 else PREDICT_BY_MODELS.replace("@width", str(formulas.width))
    source = source.replace("@refusal", refusal).replace("@bounds", BOUNDS if formulas.is_bounded else "")
    unused = "" if formulas.n_targets == 1 else "    (void)x;\n"
    terms = TERMS_OR_INDICATORS if any(formulas.codes) else TERMS if n_terms else unused
    return source.replace("@terms", terms).replace("@n_terms", str(n_terms))
