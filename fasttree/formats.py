"""Readers of files that declare their columns: Quinlan's C4.5 files and Weka's ARFF.

>>> from fasttree import C45Classifier, formats
>>> X, y = formats.read_c45("examples/golf")
>>> C45Classifier().fit(X, y).classes_.tolist()
['Play', "Don't Play"]

All declared values of nominal attributes and all declared classes are kept in their order, whether they occur or not.  The
readers need polars (``pip install polars``).
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read_arff", "read_c45"]


def read_c45(path: str | os.PathLike[str], *, max_undeclared: int | None = 10) -> tuple[pl.DataFrame, pl.Series]:
    r"""Read the files of Quinlan's C4.5: declarations in stem.names, cases in stem.data or stem.test.

    In stem.names the classes come first, then ``attribute: declaration`` for each attribute: ``continuous``, a list of at least
    two values, ``discrete N`` (at most N values, collected from stem.data in order of appearance) or ``ignore``.  A case is a
    line of values and a class, separated by commas.  A name ends at a comma, a colon, a line end, or a period before white space.
    Several blanks in a name count as one, a backslash escapes the next character, and a bar starts a comment.

    Parameters
    ----------
    path : path
        The stem, or one of the files.  The cases are those of stem.test if it is that file, else those of stem.data.  Each file
        may be compressed with gzip; its name then ends in .gz.  Text is UTF-8; bytes that are not UTF-8 are read as Latin-1.
    max_undeclared : int or None, default=10
        Largest number of undeclared values and classes together (C4.5 stops at the 11th); None for no limit.

    Returns
    -------
    X : polars.DataFrame of shape (n_samples, n_features)
        The attributes that are not ignored: Float64 if continuous, else Enum of the declared values.  Empty cells and ``?`` are
        missing (null).  So are, as in C4.5, undeclared values and -999 in a continuous attribute, and values of a ``discrete N``
        attribute in stem.test that do not occur in stem.data.
    y : polars.Series of shape (n_samples,)
        Enum of the declared classes, named "class" (with underscores added if an attribute has that name).  As in C4.5, an
        undeclared class is read as the first class.

    Warns
    -----
    UserWarning
        If there are undeclared values or classes, or -999 in a continuous attribute, with their number and the first of them.

    Raises
    ------
    ImportError
        If polars is not installed.
    OSError
        If a file cannot be read.
    ValueError
        If a file is not as described above, or more than `max_undeclared` values are undeclared.

    References
    ----------
    Quinlan, J. R. (1993). C4.5: Programs for Machine Learning. Morgan Kaufmann.

    Examples
    --------
    >>> from fasttree.formats import read_c45
    >>> X, y = read_c45("examples/golf.names")
    >>> X["outlook"].dtype.categories.to_list()
    ['sunny', 'overcast', 'rain']
    """
    _require_polars()
    from fasttree._data.files.c45 import C45Table

    if not (max_undeclared is None or (isinstance(max_undeclared, int) and max_undeclared >= 0)):
        raise ValueError(f"max_undeclared={max_undeclared!r}: must be an integer >= 0, or None for any number")
    table = C45Table(os.fsdecode(path), max_undeclared)
    frame = table.read()
    for note in table.notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return _parted(frame, table.target)


def read_arff(path: str | os.PathLike[str], target: str | None = None) -> tuple[pl.DataFrame, pl.Series]:
    """Read a file of Weka's attribute-relation file format (ARFF).

    Rows may be dense, with values separated by commas, or sparse: ``{index value, ...}``, where omitted values are 0 or the first
    declared value.  Names and values may be quoted.  A percent sign at the start of a line or a value starts a comment.  Weights
    of rows and relational attributes are not supported.

    Parameters
    ----------
    path : path
        The file, compressed with gzip or not.  Text is UTF-8; bytes that are not UTF-8 are read as Latin-1.
    target : str or None, default=None
        Attribute to predict; None for the last attribute.

    Returns
    -------
    X : polars.DataFrame of shape (n_samples, n_features)
        The other attributes: Float64 if numeric, real or integer; Enum of the declared values if nominal; String if string;
        Datetime if date (patterns of yyyy, MM, dd, HH, mm, ss, SSS).  An unquoted ``?`` is missing (null).
    y : polars.Series of shape (n_samples,)
        The target, of one of these types.

    Raises
    ------
    ImportError
        If polars is not installed.
    OSError
        If the file cannot be read.
    ValueError
        If the file is not as described above, a value does not match its declaration, or `target` is no attribute or the only
        one.

    References
    ----------
    Witten, I. H., Frank, E. and Hall, M. A. (2011). Data Mining, 3rd edition, section 2.4. Morgan Kaufmann.
    """
    _require_polars()
    from fasttree._data.files.arff import ArffTable

    table = ArffTable(os.fsdecode(path))
    name = table.target if target is None else target
    if name not in table.names:
        raise ValueError(f"target={target!r}: {table.path} has no such attribute; it has {', '.join(map(repr, table.names))}")
    if len(table.names) == 1:
        raise ValueError(f"{table.path} has no attribute but the target, {name!r}")
    return _parted(table.read(), name)


def _parted(frame: pl.DataFrame, target: str) -> tuple[pl.DataFrame, pl.Series]:
    # By position, because methods of polars take a name such as * for a pattern.
    j = frame.columns.index(target)
    return frame[:, [k for k in range(frame.width) if k != j]], frame.to_series(j)


def _require_polars() -> None:
    if importlib.util.find_spec("polars") is None:
        raise ModuleNotFoundError("fasttree.formats needs polars, which is not installed: pip install polars", name="polars")
