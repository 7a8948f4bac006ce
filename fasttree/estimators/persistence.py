"""`load` and `from_json`, for saved models of all estimators."""

from __future__ import annotations

import os
from typing import BinaryIO, TypeAlias

from fasttree._export.document import file
from fasttree.estimators.c45_rules import C45Rules
from fasttree.estimators.common.documents import from_document
from fasttree.estimators.common.tasks import BaseClassifier, BaseRegressor

TreeEstimator: TypeAlias = BaseClassifier | BaseRegressor


def load(source: str | os.PathLike[str] | BinaryIO, *, max_bytes: int | None = None) -> TreeEstimator | C45Rules:
    """Read a fitted estimator from a file that its `save` wrote.

    No code in a file is run, and everything in it is checked: a damaged or forged file raises one error, which says where it is
    wrong.  The memory that reading takes is proportional to the size of the text.

    Parameters
    ----------
    source : path or binary file
        JSON file, or compressed JSON file.
    max_bytes : int or None, default=None
        Largest size of the text, after decompression.  None: 2 GiB, and for a compressed file also 200 times its size, or 64 KiB
        if that is more.  Set it lower for files that you do not trust.

    Returns
    -------
    estimator
        Fitted estimator with the saved class, parameters and tree or rules; its predictions are those of the saved one, bit for
        bit.

    Raises
    ------
    ValueError
        If the file is not such a document, or its algorithm is unknown.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import fasttree
    >>> model = fasttree.CARTClassifier().fit([[1.0], [2.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.json"))
    ...     fasttree.load(os.path.join(folder, "model.json")).predict([[3.0]])
    array(['yes'], dtype='<U3')
    """
    with file.errors_in(source):
        model: TreeEstimator | C45Rules = from_document(file.load(source, max_bytes=max_bytes))
    return model


def from_json(text: str | bytes, *, max_bytes: int | None = None) -> TreeEstimator | C45Rules:
    """Read a fitted estimator from the result of its `to_json`, or from the bytes of its file.

    Parameters
    ----------
    text : str or bytes
        JSON; bytes are in UTF-8, or compressed by gzip.
    max_bytes : int or None, default=None
        As for `load`, for compressed bytes.

    Returns
    -------
    estimator
        As from `load`.

    Raises
    ------
    ValueError
        If the text is not such a document, or its algorithm is unknown.

    Examples
    --------
    >>> import fasttree
    >>> model = fasttree.CARTClassifier().fit([[1.0], [2.0]], ["no", "yes"])
    >>> fasttree.from_json(model.to_json()).predict([[3.0]])
    array(['yes'], dtype='<U3')
    """
    model: TreeEstimator | C45Rules = from_document(file.loads(text, max_bytes=max_bytes))
    return model
