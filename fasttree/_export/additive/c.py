"""An additive model as C source: tables of cuts and scores, and a binary search for each feature."""

from __future__ import annotations

from collections.abc import Iterator

from fasttree._export.additive.subject import AdditiveSubject
from fasttree._export.c import CSource
from fasttree._export.c_cells import CLASS_NAMES, labels_of
from fasttree._export.c_pieces import CHECKS, NAN
from fasttree._model.additive.model import Axis
from fasttree._version import __version__

__all__ = ["export_additive_c"]


def export_additive_c(subject: AdditiveSubject, name: str = "gam") -> str:
    """Write an additive model as C source; parameters and errors are those of `export_c`.

    ``gam_scores`` gives the scores.  Probabilities need ``exp`` of the library of C, so link it (``-lm``).
    """
    return _AdditiveSource(subject, name).source()


class _AdditiveSource(CSource):
    def __init__(self, subject: AdditiveSubject, name: str) -> None:
        self.additive = subject
        self.take_inputs(subject, name)
        self.classifies, self.n_targets = subject.classes is not None, 1
        self.n_values = len(subject.classes or ())
        self.is_nested, self.asks_codes = False, False

    def description(self) -> list[str]:
        written = f"Written by fasttree {__version__}; scores and predictions are those of the model, to the last bit."
        return [f"{self.additive.description()}.", written]

    def fate_of_missing(self) -> str:
        return "each term has a score for it"

    def fate_of_unseen(self) -> str:
        return "refused" if self.inputs.refuses_unseen else "it counts as missing"

    def prototypes(self) -> Iterator[str]:
        yield from super().prototypes()
        yield f"/* The scores of x, {self.additive.model.n_scores} in number: the intercept, and what each term adds. */"
        yield "void tree_scores(const TREE_INPUT *x, double *out);\n"

    def tables(self) -> Iterator[str]:
        yield self.named(CHECKS + ("\n#include <math.h>\n" if self.classifies else ""))
        if self.additive.classes is not None:
            yield self.array("", CLASS_NAMES, labels_of(self.additive.classes))
        yield from self.category_tables()
        cuts: list[float] = []
        axes: list[str] = []
        scores: list[float] = []
        terms: list[str] = []
        for term in self.additive.model.terms:
            terms.append(f"{{{len(axes)}, {len(term.axes)}, {len(scores)}, {term.weight.size}}}")
            axes += [self._axis(axis, cuts) for axis in term.axes]
            scores += term.scores.reshape(-1).tolist()
        intercept = map(repr, self.additive.model.intercept.tolist())
        yield self.array("", "static const double tree_intercept[]", intercept)
        yield self.array("Ascending cuts of the axes.", "static const double tree_cuts[]", map(repr, cuts or [0.0]))
        comment = "Feature, bins, and where its cuts begin; -1: its values are codes."
        declared = "static const struct tree_axis { int32_t feature, n_bins, cuts; } tree_axes[]"
        yield self.array(comment, declared, axes or ["{0, 1, -1}"])
        yield self.array("Scores of the terms, for each score in turn.", "static const double tree_tables[]", map(repr, scores))
        comment = "First axis, number of axes, where its scores begin, and cells."
        declared = "static const struct tree_term { int32_t axis, n_axes, table, n_cells; } tree_terms[]"
        yield self.array(comment, declared, terms)

    def _axis(self, axis: Axis, cuts: list[float]) -> str:
        start = -1 if axis.cuts is None else len(cuts)
        cuts += [] if axis.cuts is None else axis.cuts.tolist()
        return f"{{{axis.feature}, {axis.n_bins}, {start}}}"

    def functions(self) -> Iterator[str]:
        n_terms, n_scores = len(self.additive.model.terms), self.additive.model.n_scores
        yield self.named(SCORES.replace("@n_terms", str(n_terms)).replace("@n_scores", str(n_scores)))
        yield from map(self.named, self.outer_functions())

    def answers(self) -> Iterator[str]:
        refusal = "    if (tree_refuses(x))\n        return -1;\n" if self.refuses else ""
        if self.additive.classes is None:
            refusal = NAN if self.refuses else ""
            yield PREDICT.replace("@refusal", refusal)
        else:
            source = LOGIT if self.additive.model.link == "logit" else SOFTMAX
            yield source.replace("@refusal", refusal)


SCORES = """
/* The bin of a value: 0 for a missing one. */
static int32_t tree_bin(const struct tree_axis *axis, double value)
{
    int32_t start = 0;
    int32_t stop = axis->n_bins - 2;
    if (value != value)
        return 0;
    if (axis->cuts < 0)
        return value >= 1 && value < axis->n_bins ? (int32_t)value : 0;
    while (start < stop) {
        const int32_t middle = start + (stop - start) / 2;
        if (tree_cuts[axis->cuts + middle] < value)
            start = middle + 1;
        else
            stop = middle;
    }
    return start + 1;
}

void tree_scores(const TREE_INPUT *x, double *out)
{
    int32_t i, j, k;
    for (k = 0; k < @n_scores; k++)
        out[k] = tree_intercept[k];
    for (i = 0; i < @n_terms; i++) {
        const struct tree_term *term = &tree_terms[i];
        int32_t cell = 0;
        for (j = term->axis; j < term->axis + term->n_axes; j++)
            cell = cell * tree_axes[j].n_bins + tree_bin(&tree_axes[j], (double)x[tree_axes[j].feature]);
        for (k = 0; k < @n_scores; k++)
            out[k] += tree_tables[term->table + k * term->n_cells + cell];
    }
}
"""

PREDICT = """
double tree_predict(const TREE_INPUT *x)
{
    double score;
@refusal    tree_scores(x, &score);
    return score;
}
"""

LOGIT = """
int tree_predict(const TREE_INPUT *x)
{
    double score;
@refusal    tree_scores(x, &score);
    return score > 0;
}

int tree_predict_proba(const TREE_INPUT *x, double *out)
{
    double score, size;
@refusal    tree_scores(x, &score);
    size = exp(-fabs(score));
    out[score >= 0] = 1 / (1 + size);
    out[score < 0] = size / (1 + size);
    return 0;
}
"""

SOFTMAX = """
int tree_predict(const TREE_INPUT *x)
{
    double scores[TREE_N_CLASSES];
    int k, best = 0;
@refusal    tree_scores(x, scores);
    for (k = 1; k < TREE_N_CLASSES; k++)
        if (scores[k] > scores[best])
            best = k;
    return best;
}

int tree_predict_proba(const TREE_INPUT *x, double *out)
{
    double scores[TREE_N_CLASSES];
    double total = 0.0;
    int k, best = 0;
@refusal    tree_scores(x, scores);
    for (k = 1; k < TREE_N_CLASSES; k++)
        if (scores[k] > scores[best])
            best = k;
    for (k = 0; k < TREE_N_CLASSES; k++) {
        out[k] = exp(scores[k] - scores[best]);
        total += out[k];
    }
    for (k = 0; k < TREE_N_CLASSES; k++)
        out[k] /= total;
    return 0;
}
"""
