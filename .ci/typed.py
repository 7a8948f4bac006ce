"""A user's program for `mypy --strict`, to check the types of the installed package.

Every `type: ignore` marks a mistake that mypy must find; it reports needless ones as errors.
"""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import fasttree
from fasttree import (
    C45Classifier,
    C45Rules,
    CARTClassifier,
    CARTRegressor,
    Explanation,
    ID3Classifier,
    PathRule,
    Recipe,
    RuleList,
    ShapValues,
    Tree,
    TreeClassifier,
    measures,
)
from fasttree.pruning import CostComplexity

X = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0], [4.0, 8.0]])
y = ["a", "a", "b", "b"]

model = CARTClassifier(max_depth=3, missing="surrogate").fit(X, y)
assert_type(model, CARTClassifier)
assert_type(model.predict(X), npt.NDArray[Any])
assert_type(model.apply(X), npt.NDArray[np.int32])
assert_type(model.tree_, Tree)
assert_type(model.tree_.node_count, int)
assert_type(model.tree_.threshold, npt.NDArray[np.float64])
assert_type(model.get_n_leaves(), int)
assert_type(model.export_text(max_depth=2), str)
assert_type(model.export_svg(), str)
assert_type(model.export_c(name="loan"), str)
assert_type(model.export_onnx(), bytes)
assert_type(model.explain(X[0]), Explanation)
assert_type(model.to_rules(), RuleList)
assert_type(model.to_rules()[0], PathRule)
assert_type(model.shap_values(X), ShapValues | list[ShapValues])
assert_type(model.prune(CostComplexity(alpha=0.01)), CARTClassifier)
assert_type(model.score(X, y), float)
assert_type(measures.entropy([9, 5]), float)
assert_type(CARTRegressor(criterion="poisson").fit(X, [1.0, 2.0, 3.0, 4.0]), CARTRegressor)
assert_type(C45Rules().fit(X, y), C45Rules)
assert_type(Recipe(impurity="gini", rank="gain_ratio").rank, str)
assert_type(fasttree.__version__, str)

for other in (ID3Classifier(), C45Classifier(subset=True), TreeClassifier(recipe={"impurity": "entropy"})):
    other.fit(X, y).save("tree.json")

CARTClassifier(max_depth="3")  # type: ignore[arg-type]
model.export_text(max_dept=3)  # type: ignore[call-arg]
svg: str = model.export_svg(show="percent", color_by="error", palette={"a": "#0072b2"}, theme="print", kind="icicle")
model.export_svg(show="gini")  # type: ignore[arg-type]
C45Rules(confidence="low")  # type: ignore[arg-type]
print(model.tree_.thresholds)  # type: ignore[attr-defined]
