"""Decision trees: grown exactly, fast, and made to be read.

>>> import fasttree
>>> model = fasttree.CARTClassifier(max_depth=2).fit([["red", 3.0], ["red", 1.0], ["blue", 2.0]], ["no", "yes", "yes"])
>>> model.predict([["blue", 9.0]])
array(['yes'], dtype='<U3')
"""

__version__ = "0.1.0"

from . import measures
from ._tree import Tree
from .estimators import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier, load

__all__ = ["C45Classifier", "CARTClassifier", "CARTRegressor", "ID3Classifier", "Tree", "__version__", "load", "measures"]
