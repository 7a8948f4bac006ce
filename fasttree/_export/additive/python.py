"""An additive model as a Python module that imports only `math` and `bisect`."""

from __future__ import annotations

from fasttree._export.additive.subject import AdditiveSubject
from fasttree._export.python import reading
from fasttree._export.python_module import block, head_tables, module_source
from fasttree._model.additive.model import Term
from fasttree._version import __version__

__all__ = ["export_additive_python"]


def export_additive_python(subject: AdditiveSubject, name: str = "gam") -> str:
    """Write an additive model as the source of a Python module.

    Parameters
    ----------
    subject : AdditiveSubject
    name : str, default "gam"
        Name of the model in the docstring of the module.

    Returns
    -------
    str
        Source for CPython 3.8 and later, with `predict`, and for classes `decision_function` and `predict_proba`, for one row.

    Raises
    ------
    ValueError
        If the name is not a Python name.
    """
    answers = {"identity": PREDICT, "logit": LOGIT, "softmax": SOFTMAX}[subject.model.link]
    about = [
        f"{subject.description()}.",
        f"Written by fasttree {__version__}; scores and predictions are those of the model, to the last bit.",
    ]
    return module_source(name, "gam", about, subject, [_tables(subject), answers, SCORES, *reading(subject)])


def _tables(subject: AdditiveSubject) -> str:
    written = [*head_tables(subject.schema.features, [] if subject.classes is None else [subject.classes])]
    written.append(f"INTERCEPT = {tuple(subject.model.intercept.tolist())!r}")
    comment = "of each term its features, their cuts (None: categories), and a table for each score"
    written.append(block("TERMS", comment, map(_term, subject.model.terms)))
    return "\n".join(written)


def _term(term: Term) -> str:
    cuts = [None if axis.cuts is None else axis.cuts.tolist() for axis in term.axes]
    tables = [scores.reshape(-1).tolist() for scores in term.scores]
    width = term.axes[-1].n_bins if len(term.axes) > 1 else 0
    return f"({term.features!r}, {cuts!r}, {width}, {tables!r})"


SCORES = '''
def _scores(x):
    """Return the scores of a sample: the intercept, and what each term adds, in their order."""
    scores = list(INTERCEPT)
    for features, cuts, width, tables in TERMS:
        place = 0
        for feature, limits in zip(features, cuts):
            value = x[feature]
            if value != value:
                found = 0
            elif limits is None:
                found = int(value)
            else:
                found = bisect_left(limits, value) + 1
            place = place * width + found
        for k, table in enumerate(tables):
            scores[k] += table[place]
    return scores
'''

PREDICT = '''
def predict(row):
    """Return the predicted value of a row."""
    return _scores(_sample(row))[0]
'''

LOGIT = '''
def decision_function(row):
    """Return the log odds of the second class."""
    return _scores(_sample(row))[0]


def predict(row):
    """Return the class of a row."""
    return CLASSES[decision_function(row) > 0]


def predict_proba(row):
    """Return the probability of each class, a list."""
    score = decision_function(row)
    size = math.exp(-abs(score))
    smaller, larger = size / (1 + size), 1 / (1 + size)
    return [smaller, larger] if score >= 0 else [larger, smaller]
'''

SOFTMAX = '''
def decision_function(row):
    """Return the score of each class, a list."""
    return _scores(_sample(row))


def predict(row):
    """Return the class of a row: that of the largest score, the first of equal ones."""
    scores = decision_function(row)
    return CLASSES[scores.index(max(scores))]


def predict_proba(row):
    """Return the probability of each class, a list."""
    scores = decision_function(row)
    each = [math.exp(score - max(scores)) for score in scores]
    return [one / sum(each) for one in each]
'''
