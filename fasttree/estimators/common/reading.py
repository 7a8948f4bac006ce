"""Methods to inspect a fitted tree: texts, figures, rules, explanations and importances.

Each method passes the tree, its schema and its classes to a function that knows no estimator, and imports that function when it
is called, so that a saved tree is shown at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fasttree._data.table import Table
from fasttree._data.weights import check_same_length
from fasttree._learn.recipe import Recipe
from fasttree._model.words import check_count, counted
from fasttree.estimators.common.labelling import GivenLabels, check_is_fitted
from fasttree.estimators.common.picturing import GLANCE, Pictures

if TYPE_CHECKING:
    from fasttree._explain.explanation import Explanation
    from fasttree._explain.page.page import Given
    from fasttree._explain.pictures.style import Palette
    from fasttree._explain.rule_list import RuleList
    from fasttree._explain.shap import ShapValues
    from fasttree._learn.grow.competing import CompetingSplit

__all__ = ["Views"]

GLANCE_DEPTH = 4  # levels of branches in its picture


class Views(Pictures):
    """Methods that show a fitted tree."""

    n_features_in_: int
    recipe_: Recipe
    unseen: str

    if TYPE_CHECKING:  # of the estimators

        def _name(self) -> str: ...

        def _encode_table(self, X: Any) -> Table: ...

        def _encode_target(self, y: Any) -> NDArray[Any]: ...

        competing_splits: Callable[[int, Any, Any], list[CompetingSplit]]

        def _class_factor(
            self, target: NDArray[Any], weight: NDArray[np.float64] | None, classes: NDArray[Any] | None = None
        ) -> NDArray[np.float64] | None: ...

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return scikit-learn's repr of the parameters, followed by the upper part of a fitted tree."""
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]  # of scikit-learn's base
        if "tree_" in self.__dict__:
            drawn = self.export_text(max_nodes=GLANCE, max_categories=6).rstrip()
            bundle["text/plain"] += f"\n{self._figures()}\n\n{drawn}"
        return bundle

    def _html_repr(self) -> str:
        """Return scikit-learn's HTML of the parameters, followed by the upper part of a fitted tree."""
        html: str = super()._html_repr()  # type: ignore[misc]  # of scikit-learn's base
        if "tree_" not in self.__dict__:
            return html
        from fasttree._explain.pictures import svg

        return html + svg.notebook_html(
            *self._labelled(), targets=self._in_words()[2], max_depth=GLANCE_DEPTH, max_nodes=self._most_nodes(None, None)
        )

    def _figures(self) -> str:
        """Return one line with the numbers of features, classes, samples and nodes."""
        tree, _, classes = self._parts_to_show()
        about = [counted(tree.n_features, "feature")]
        if classes is not None and not isinstance(classes, list):
            about.append(counted(len(classes), "class", "classes"))
        if tree.n_outputs > 1:
            about.append(counted(tree.n_outputs, "target"))
        size = [counted(tree.node_count, "node"), counted(tree.n_leaves, "leaf", "leaves"), f"depth {tree.max_depth}"]
        return f"{', '.join(about)}; grown on {counted(int(tree.n_samples[0]), 'sample')}: {', '.join(size)}"

    def get_depth(self) -> int:
        """Return the depth of the tree: the largest number of tests between the root and a leaf."""
        check_is_fitted(self)
        return int(self.tree_.max_depth)

    def get_n_leaves(self) -> int:
        """Return the number of leaves of the tree."""
        check_is_fitted(self)
        return int(self.tree_.n_leaves)

    def export_text(
        self,
        *,
        max_depth: int | None = 100,
        max_nodes: int | None = None,
        max_categories: int = 12,
        width: int | None = None,
        decimals: int = 2,
        show_weights: bool = False,
        show_shares: bool = False,
        show_missing: bool | None = None,
        show_surrogates: bool = False,
        show_tests: bool = False,
        align: bool = False,
        ascii: bool = False,
        labels: GivenLabels = None,
    ) -> str:
        """Draw the tree as text, with one line per branch.

        A leaf reads ``yes (6)`` if its whole weight of 6 is of class yes, and ``no (6 of 9)`` if 6 of 9 are of class no.  In
        regression, ``2.4 (9)`` is the prediction and the weight.  Several targets are written side by side.  Thresholds of more
        than nine digits are rounded to six, or to as many as distinguish the thresholds of a feature.  To predict from an
        exported text, use ``to_rules().to_sql()``, which is exact.

        Parameters
        ----------
        max_depth : int or None, default=100
            Levels of branches to draw; deeper nodes are only counted.  None: all, which is very long for a deep tree.
        max_nodes : int or None, default=None
            Maximum number of nodes to draw, expanding the heaviest first; the others are only counted.
        max_categories : int, default=12
            Maximum number of categories to list in one condition, and of classes to list by weight; the rest are counted.
        width : int or None, default=None
            Number of columns of a line, for example of a terminal.  A condition then lists as many categories as its line has
            room for, at least two, instead of `max_categories`; a line without such a list may be longer.
        decimals : int, default=2
            Number of decimals of weights and means.
        show_weights : bool, default=False
            Whether to write the weight of each class in every node.
        show_shares : bool, default=False
            Whether to write the share of each class in every node, and the weight of the node.
        show_missing : bool or None, default=None
            Whether to mark the branch that missing values follow; None: only if it is not the heaviest of its node.
        show_surrogates : bool, default=False
            Whether to write each surrogate of a test above its branches: ``width is missing: width <= 0.6 if length <= 4
            (agreement 0.9, adjusted 0.7)``, else the second branch.
        show_tests : bool, default=False
            With CHAID: whether to write above the branches of a test the significance tests of the features that compete, and
            how categories merged.  The test of the branches themselves is always written.
        align : bool, default=False
            Whether to align the predictions in a column to the right of all conditions.
        ascii : bool, default=False
            Whether to draw with ASCII characters only.
        labels : mapping or None, default=None
            Labels of columns, categories and classes to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        str
            The lines, each with a newline at its end.

        Raises
        ------
        ValueError
            If a number is out of range, or both weights and shares are requested.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> print(CARTClassifier(max_depth=2).fit(X, y).export_text(align=True, ascii=True), end="")
        |-- petal length (cm) <= 2.45     0 (50)
        `-- petal length (cm) > 2.45
            |-- petal width (cm) <= 1.75  1 (49 of 54)
            `-- petal width (cm) > 1.75   2 (45 of 46)
        """
        from fasttree._export.text import export_text

        return export_text(
            *self._labelled(labels),
            max_depth=max_depth,
            max_nodes=max_nodes,
            max_categories=max_categories,
            width=width,
            decimals=decimals,
            show_weights=show_weights,
            show_shares=show_shares,
            show_missing=show_missing,
            show_surrogates=show_surrogates,
            show_tests=show_tests,
            align=align,
            ascii=ascii,
        )

    def _refuses_missing_cells(self) -> bool:
        """Say whether a missing value is an error.  It is asked late: a tree of a file must make its estimator to know."""
        return self.recipe_.missing == "error"

    def to_rules(self, *, simplify: bool = True, labels: GivenLabels = None, verbose: int = 0) -> RuleList:
        """Return the paths of the tree as rules, one for every node where samples end.

        Samples end in leaves, and in inner nodes where a missing value stops them.  Each sample is covered by exactly one rule,
        or by several rules in parts if the tree divides samples.

        Parameters
        ----------
        simplify : bool, default=True
            Whether to join the conditions of a path on the same feature into one equivalent condition: intervals are
            intersected, categories are written as a set.  False: list the tests of the path unchanged.
        labels : mapping or None, default=None
            Labels of columns, categories and classes to write, in addition to those of `set_labels`, which describes them.
        verbose : int, default=0
            Whether to draw a bar of progress for more than 1,000 rules, as `fasttree.progress` does: 0 draws none.

        Returns
        -------
        RuleList
            Rules in the order of the tree, from the first branch to the last, with methods to sort, filter, and write them as a
            data frame, text, Markdown or SQL.

        See Also
        --------
        fasttree.C45Rules : Fewer and shorter rules, selected on the training samples and applied in order.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> print(CARTClassifier(max_depth=2).fit(X, y).to_rules().sort("support").to_text(), end="")
        if petal length (cm) > 2.45 and petal width (cm) <= 1.75 then 1  (support 36 %, 54 samples, precision 91 %, lift 2.72)
        if petal length (cm) <= 2.45 then 0  (support 33 %, 50 samples, precision 100 %, lift 3)
        if petal length (cm) > 2.45 and petal width (cm) > 1.75 then 2  (support 31 %, 46 samples, precision 98 %, lift 2.93)
        """
        from fasttree._explain import rule_list
        from fasttree._learn.progress import verbosely

        with verbosely(verbose):
            return rule_list.rules_of(
                *self._parts_to_show(),
                simplify=simplify,
                shown=self._in_words(labels),
                impurity=self.recipe_.impurity if self.tree_.task == "regression" else "",
                unseen=self.unseen,
                refuses_missing=self._refuses_missing_cells,
                estimator_name=self._name(),
            )

    def export_html(
        self,
        *,
        title: str | None = None,
        X: Any = None,
        y: Any = None,
        max_rows: int = 200,
        max_depth: int | None = None,
        max_nodes: int | None = None,
        max_categories: int = 12,
        decimals: int = 2,
        n_competing: int = 0,
        labels: GivenLabels = None,
        palette: Palette = None,
    ) -> str:
        """Write an interactive web page of the tree, which needs no network and no other file.

        The page zooms, folds and unfolds nodes, searches, follows a sample to its prediction, shows the figures and the rule of
        each node, and saves the drawing as SVG or PNG.  A slider prunes the tree along the sequence of cost-complexity pruning
        (Breiman et al. 1984, chapter 3).  Another view shows the nodes as rectangles by weight, and a presentation unfolds the
        tree level by level.  Leaves with models have their formulas, and their trees no slider.  The page works by mouse, touch
        and keyboard, with a screen reader, and in light or dark mode.

        Parameters
        ----------
        title : str or None, default=None
            Title of the page; None: the name of the class.
        X : table of shape (n_samples, n_features), default=None
            Samples with the columns of the fit.  The page holds `max_rows` of them, at equal distances, to choose and follow; of
            each, only the values of the features that the tree uses.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets of the samples.  The page then shows charts of all of X along the feature that a node tests, and for one
            target the error of each pruned tree on all of X beside its training error.  It holds counts, not the samples.
        max_rows : int, default=200
            Maximum number of samples in the page.
        max_depth : int or None, default=None
            Levels of branches that are unfolded at first.
        max_nodes : int or None, default=None
            Maximum number of nodes that are unfolded at first, the heaviest.  If both limits are None, as many as are readable on
            the screen, 64 at most.  The page always holds the whole tree.
        max_categories : int, default=12
            Maximum number of categories to list in one condition; the rest are counted.
        decimals : int, default=2
            Number of decimals of weights and means.
        n_competing : int, default=0
            Number of `competing_splits` to list at each node that is unfolded at first, with their division of the samples and
            the call of `split`.  X and y must then be the samples of the fit.  It takes a `competing_splits` for each node.
        labels : mapping or None, default=None
            Labels of columns, categories and classes to write, in addition to those of `set_labels`, which describes them.
        palette : mapping, sequence of str, str or None, default=None
            Colours such as "#0072b2": by class, in the order of `classes_`, or one for means; see `export_svg`.

        Returns
        -------
        str
            HTML document.  It predicts with the exact numbers of the tree, as `predict_proba` does.

        Raises
        ------
        ValueError
            If a number is out of range, y is given without X, the samples do not match the fit, or `n_competing` is positive
            without X and y, for several targets, or where splits do not compete by gain.

        Examples
        --------
        >>> from pathlib import Path
        >>> from fasttree import CARTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> page = CARTClassifier().fit(X, y).export_html(title="Irises", X=X, y=y)
        >>> Path("irises.html").write_text(page, encoding="utf-8")  # doctest: +SKIP
        """
        from fasttree._explain.page.page import written_page

        data = self._page_data(
            title=self._name() if title is None else str(title),
            given=self._given(X, y, n_competing),
            max_rows=max_rows,
            max_depth=max_depth,
            max_nodes=max_nodes,
            max_categories=max_categories,
            decimals=decimals,
            labels=labels,
            style=None if palette is None else self._style(show="both", color_by=None, palette=palette),
        )
        return written_page(data["title"], [data])

    def _page_data(self, *, labels: GivenLabels = None, **how: Any) -> dict[str, Any]:
        """Return the data of the tree in its page."""
        from fasttree._explain.page.page import tree_data

        return tree_data(
            *self._labelled(labels),
            impurity=self.recipe_.impurity,
            risk=self._pruning_risk,  # type: ignore[attr-defined]  # of the estimators
            targets=self._in_words(labels)[2],
            **how,
        )

    def _given(self, X: Any, y: Any, n_competing: int) -> Given | None:
        """Return the samples for a page, or None if none are given."""
        from fasttree._explain.page.page import Given

        check_count("n_competing", n_competing, 0)
        if n_competing and (X is None or y is None):
            raise ValueError(f"n_competing={n_competing}: competing splits need X and y, the samples of the fit")
        if X is None:
            if y is not None:
                raise ValueError("y is given without X: give both or neither")
            return None
        table = self._encode_table(X)
        if y is None:
            return Given(table)
        target = self._encode_target(y)
        check_same_length(table.n_samples, len(target))
        if self.tree_.outputs is not None:
            if n_competing:
                raise ValueError(f"n_competing={n_competing}: the tree has several targets, and competing splits need one")
            if target.shape[1:] != (self.tree_.n_outputs,):
                raise ValueError(f"y has shape {target.shape}: the tree has {self.tree_.n_outputs} targets, a column each")
            return Given(table, target)
        competing = (lambda node: self.competing_splits(node, X, y)[:n_competing]) if n_competing else None
        return Given(table, target, self._class_factor(target, None), competing)

    def explain(self, x: Any, *, max_categories: int = 12, decimals: int = 2, labels: GivenLabels = None) -> Explanation:
        """Explain the prediction for one sample.

        Parameters
        ----------
        x : mapping of names to values, 1-D sequence, or table of one row
            The sample, such as ``{"width": 3.5, "colour": "red"}``, ``X.iloc[0]`` or ``X[0]``.  None and NaN are missing values.
        max_categories : int, default=12
            Maximum number of categories to list in one condition; the rest are counted.
        decimals : int, default=2
            Number of decimals of weights and means.
        labels : mapping or None, default=None
            Labels of columns, categories and classes to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        Explanation
            Printed, it shows each test on the path, what decided it, and what the other branches would predict; then the leaf,
            and the smallest change of few features that leads to another class. Its data are `steps`, `ends`, `prediction`,
            `probabilities`, `change` and `to_dict()`.

        Raises
        ------
        ValueError, TypeError
            If `x` is not one sample with the features of the fit, or `predict` refuses its values.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> print(CARTClassifier(max_depth=2).fit(X, y).explain(X.iloc[70]))
        prediction: 2  (2: 98 %, 1: 2 %)
        petal length (cm) > 2.45, as it is 4.8, 2.35 above the threshold
            else petal length (cm) <= 2.45: 0 (50)
        petal width (cm) > 1.75, as it is 1.8, 0.05 above the threshold
            else petal width (cm) <= 1.75: 1 (49 of 54)
        leaf 4: 2 (45 of 46), 31 % of the training weight
        smallest change to get 1: petal width (cm) <= 1.75 (now 1.8)
        """
        from fasttree._explain import follow

        return follow.explain(
            *self._parts_to_show(),
            x,
            shown=self._in_words(labels),
            max_categories=max_categories,
            decimals=decimals,
            unseen=self.unseen,
            refuses_missing=self._refuses_missing_cells,
            estimator_name=self._name(),
        )

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the decrease of weighted impurity, float64 of shape (n_features,); sums to 1.

        Breiman et al. (1984), section 5.3, without surrogates: the decrease of risk (weight times impurity) at the nodes that
        test the feature.  Where samples of unknown value stay in the node, only the others count.  All shares are zero for a tree
        without a test.
        """
        check_is_fitted(self)
        from fasttree._model.importances import impurity_importances

        return impurity_importances(self.tree_)

    def surrogate_importances(self) -> NDArray[np.float64]:
        """Return the importance of each feature as a test or as a surrogate (Breiman et al. 1984, section 5.3).

        The gain of each test, in units of weight times impurity, counts for the tested feature.  For the feature of each
        surrogate, the gain times the adjusted agreement counts.  As in rpart, importances are not normalised, and the gain is
        that of the samples whose tested value is known.  In a tree without surrogates only the tests count.

        Returns
        -------
        ndarray of shape (n_features,), float64

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> X = [[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0], [5.0, 5.0]]
        >>> CARTClassifier(missing="surrogate").fit(X, ["a", "a", "b", "b", "b"]).surrogate_importances()
        array([2.4, 1.2])
        """
        check_is_fitted(self)
        from fasttree._model.importances import surrogate_importances

        return surrogate_importances(self.tree_)

    def shap_values(self, X: Any, background: Any = None, *, labels: GivenLabels = None) -> ShapValues | list[ShapValues]:
        """Return exact Shapley values of the tree: the contribution of each feature to each prediction.

        A prediction is divided among the features like the payoff of a game among its players (Shapley 1953; Lundberg and Lee
        2017).  A feature gets the change of the prediction when its value becomes known, averaged over all orders in which the
        values may become known.  An unknown value follows all branches in proportion to their training weights (path-dependent),
        or takes the values of background samples, averaged over the background (interventional).

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.
        background : table of shape (n_background, n_features) or None, default=None
            Samples whose values replace unknown ones.  The time grows with n_samples times n_background; a few hundred background
            samples are enough.  None: use the training weights in the tree.
        labels : mapping or None, default=None
            Labels of features and classes to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        ShapValues
            Object with `values` of shape (n_samples, n_features) in regression and (n_samples, n_features, n_classes) in
            classification, in the unit of `predict` and `predict_proba`; `base_values`, the prediction when no value is known;
            `data` and `feature_names`.  The base value and the values of a sample sum to its prediction.  With several targets, a
            classifier returns a list with one object per target; the values of a regressor have a last axis of targets.

        Raises
        ------
        ValueError
            If X or the background does not have the columns of the fit, or has no rows.

        Notes
        -----
        All forms of tests, missing values and soft thresholds are supported; a divided sample follows several branches.  Where
        surrogates decide, the branch of the whole sample is credited to the feature that the node tests.  In classification, the
        values explain the class probabilities, even if `predict` uses a loss matrix.  The time of path-dependent values is
        proportional to the number of nodes times half the number of features on a path.

        References
        ----------
        Shapley 1953, "A value for n-person games".  Lundberg and Lee 2017, "A unified approach to interpreting model
        predictions" (NeurIPS).  Lundberg et al. 2020, "From local explanations to global understanding with explainable AI for
        trees" (Nature Machine Intelligence 2).  Yu et al. 2022, "Linear TreeShap" (NeurIPS).

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> found = CARTClassifier(max_depth=2).fit(X, y).shap_values(X)
        >>> found
        ShapValues: 150 samples, 4 features, 3 outputs; mean |value|:
          petal length (cm)  0.296296
          petal width (cm)   0.193141
          sepal length (cm)  0
          sepal width (cm)   0
        >>> found.values[0, :, 0].round(3)  # of the class of the first flower
        array([0.   , 0.   , 0.667, 0.   ])
        """
        tree, schema, classes = self._labelled(labels)
        names = [feature.name for feature in schema.features]
        table = self._encode_table(X)
        from fasttree._explain.shap import shap_values

        return shap_values(tree, table, None if background is None else self._encode_table(background), classes, names)
