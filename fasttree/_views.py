"""The methods by which a fitted tree is read: as text and figures.

Each is thin: it hands the tree, the names of its features and its classes to a function that knows no estimator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from . import _explain, _grow, _path_rules, _shap, _surrogates, _text
from ._explanation import Explanation
from ._path_rules import RuleList
from ._pictures import charts, dot, page, plot, svg
from ._recipe import Recipe
from ._table import Schema, Table
from ._tree import STOP, Tree
from ._weights import check_same_length
from ._words import Classes, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Views", "plot_tree"]

GLANCE = 31  # nodes that a notebook shows of a tree unasked
GLANCE_DEPTH = 4  # levels of branches in a picture, which are higher than lines of text


class Views:
    """How a fitted tree is read."""

    tree_: Tree
    schema_: Schema
    n_features_in_: int
    pruning_table_: Bunch
    recipe_: Recipe
    unseen: str

    if TYPE_CHECKING:  # of the estimators

        def _encode_table(self, X: Any) -> Table: ...

        def _encode_target(self, y: Any) -> NDArray[Any]: ...

        def _class_factor(self, target: NDArray[Any], weight: NDArray[np.float64] | None) -> NDArray[np.float64] | None: ...

    def _shown(self) -> tuple[Tree, Schema, Classes]:
        """What every way of showing the tree is told: the tree, its features, and its classes if it has some."""
        check_is_fitted(self)
        return self.tree_, self.schema_, getattr(self, "classes_", None)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """What a notebook or IPython shows: the parameters, as scikit-learn does, and the upper part of a fitted tree."""
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]  # of scikit-learn's base
        if "tree_" in self.__dict__:
            drawn = self.export_text(max_nodes=GLANCE, max_categories=6).rstrip()
            bundle["text/plain"] += f"\n{self._figures()}\n\n{drawn}"
        return bundle

    def _html_repr(self) -> str:
        """What a notebook shows: the parameters, as scikit-learn does, and the upper part of a fitted tree."""
        html: str = super()._html_repr()  # type: ignore[misc]  # of scikit-learn's base
        if "tree_" not in self.__dict__:
            return html
        return html + svg.notebook_html(*self._shown(), max_depth=GLANCE_DEPTH, max_nodes=GLANCE)

    def _figures(self) -> str:
        """How large the tree is, and what it is about, on a line."""
        tree, _, classes = self._shown()
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
        decimals: int = 2,
        show_weights: bool = False,
        show_shares: bool = False,
        show_missing: bool | None = None,
        show_surrogates: bool = False,
        align: bool = False,
        ascii: bool = False,
    ) -> str:
        """Draw the tree in text, a line per branch.

        A leaf reads ``yes (6)`` where all of weight 6 are of class yes, and ``no (6 of 9)`` where 6 of 9 are of class no; in
        regression ``2.4 (9)`` is the prediction and the weight; several targets stand side by side.  Thresholds of more than nine
        digits are rounded, to six or to as many as tell those of a feature apart: who wants to predict by what stands in a text
        takes ``to_rules().to_sql()``, which is exact.

        Parameters
        ----------
        max_depth : int or None, default=100
            Levels of branches to draw; what lies deeper is counted.  None: all, which is very long where paths are.
        max_nodes : int or None, default=None
            Nodes to draw: the heaviest are opened first, what is not opened is counted.
        max_categories : int, default=12
            Categories to name in one condition, and classes with their weights or shares, the heaviest; the rest are counted.
        decimals : int, default=2
            Digits after the point of weights and means.
        show_weights : bool, default=False
            Whether every line says the weight of each class in its node.
        show_shares : bool, default=False
            Whether every line says the share of each class in its node, and the node's weight.
        show_missing : bool or None, default=None
            Whether conditions say where a missing value goes; None: where it follows a branch that is not the heaviest.
        show_surrogates : bool, default=False
            Whether a line above the branches of a test tells each of its surrogates: ``width is missing: width <= 0.6 if length
            <= 4 (agreement 0.9, adjusted 0.7)``, else the second branch.
        align : bool, default=False
            Whether the answers stand below one another, to the right of all conditions.
        ascii : bool, default=False
            Whether to draw with ASCII characters alone.

        Returns
        -------
        str
            Lines, each ended by a newline.

        Raises
        ------
        ValueError
            If a number is out of range, or both weights and shares are asked for.

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
        return _text.export_text(
            *self._shown(),
            max_depth=max_depth,
            max_nodes=max_nodes,
            max_categories=max_categories,
            decimals=decimals,
            show_weights=show_weights,
            show_shares=show_shares,
            show_missing=show_missing,
            show_surrogates=show_surrogates,
            align=align,
            ascii=ascii,
        )

    def export_svg(
        self,
        *,
        X: Any = None,
        y: Any = None,
        max_depth: int | None = None,
        max_nodes: int | None = None,
        orientation: Literal["down", "right"] | None = None,
        max_categories: int = 12,
        decimals: int = 2,
        show_missing: bool | None = None,
        legend: bool = True,
    ) -> str:
        """Draw the tree as a stand-alone SVG document, which any browser shows.

        A test is a box with its feature over a bar of the classes that reached it (in regression a strip: mean and standard
        deviation between the least and the largest value of the tree); an answer has the colour of its class, the fuller the
        purer. Branches are as wide as the weight that takes them. Names that are too long for their place are cut off; they
        stand in full where the pointer rests on a node. Empty categories share a box. The picture is light or dark as the
        reader's screen.

        Parameters
        ----------
        X : table of shape (n_samples, n_features) or None, default=None
            With `y`: samples to show at each node in a chart along the tested feature. Usually those of the fit.
        y : array of shape (n_samples,) or None, default=None
            Their classes or values.
        max_depth : int or None, default=None
            Levels of branches to draw; what lies deeper is counted.
        max_nodes : int or None, default=None
            Nodes to draw: the heaviest are opened first, what is not opened is counted.
        orientation : {"down", "right"} or None, default=None
            Where the tree grows; None: down, unless that becomes very wide.
        max_categories : int, default=12
            Categories to name in one condition where it is written in full.
        decimals : int, default=2
            Digits after the point of weights and means.
        show_missing : bool or None, default=None
            Whether a branch says that missing values follow it; None: where it is not the heaviest of its node.
        legend : bool, default=True
            Whether the colours of up to 14 classes are explained above the tree.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If a parameter is out of range, X or y lacks the other, or y has several targets.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> CARTClassifier(max_depth=2).fit(X, y).export_svg(X=X, y=y)[:40]
        '<svg xmlns="http://www.w3.org/2000/svg" '
        """
        return svg.export_svg(
            *self._shown(),
            samples=self._samples(X, y),
            max_depth=max_depth,
            max_nodes=max_nodes,
            orientation=orientation,
            max_categories=max_categories,
            decimals=decimals,
            show_missing=show_missing,
            legend=legend,
        )

    def export_dot(
        self,
        *,
        max_depth: int | None = None,
        max_nodes: int | None = None,
        orientation: Literal["down", "right"] | None = None,
        max_categories: int = 12,
        decimals: int = 2,
        show_missing: bool | None = None,
    ) -> str:
        """Write the tree in DOT, the language of Graphviz, with boxes as those of `export_svg` (which needs no Graphviz).

        Node ``i`` of `tree_` is ``n<i>`` in the graph; empty categories share the first one's.

        Parameters
        ----------
        max_depth : int or None, default=None
            Levels of branches to draw; what lies deeper is counted.
        max_nodes : int or None, default=None
            Nodes to draw: the heaviest are opened first, what is not opened is counted.
        orientation : {"down", "right"} or None, default=None
            Where the tree grows; None: down.
        max_categories : int, default=12
            Categories to name in one condition where it is written in full.
        decimals : int, default=2
            Digits after the point of weights and means.
        show_missing : bool or None, default=None
            Whether a branch says that missing values follow it; None: where it is not the heaviest of its node.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If a parameter is out of range.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> print(CARTClassifier().fit([[1.0], [2.0]], ["a", "b"]).export_dot().splitlines()[0])
        digraph "Decision tree: 3 nodes, 2 leaves, depth 1" {
        """
        return dot.export_dot(
            *self._shown(),
            max_depth=max_depth,
            max_nodes=max_nodes,
            orientation=orientation,
            max_categories=max_categories,
            decimals=decimals,
            show_missing=show_missing,
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        X: Any = None,
        y: Any = None,
        max_depth: int | None = None,
        max_nodes: int | None = None,
        orientation: Literal["down", "right"] | None = None,
        max_categories: int = 12,
        decimals: int = 2,
        show_missing: bool | None = None,
        legend: bool = True,
    ) -> Axes:
        """Draw the tree with matplotlib, as `export_svg` does.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw; None: on a new figure that is as large as the tree needs, up to 32 inches. Text is scaled with the room
            there is, down to 4 points; for what still does not fit the heaviest nodes are drawn, and a note below says how many.
        X : table of shape (n_samples, n_features) or None, default=None
            With `y`: samples to show at each node in a chart along the tested feature. Usually those of the fit.
        y : array of shape (n_samples,) or None, default=None
            Their classes or values.
        max_depth : int or None, default=None
            Levels of branches to draw; what lies deeper is counted.
        max_nodes : int or None, default=None
            Nodes to draw: the heaviest are opened first, what is not opened is counted.
        orientation : {"down", "right"} or None, default=None
            Where the tree grows; None: down, unless that becomes very wide; in given axes the one that leaves text larger.
        max_categories : int, default=12
            Categories to name in one condition where it is written in full.
        decimals : int, default=2
            Digits after the point of weights and means.
        show_missing : bool or None, default=None
            Whether a branch says that missing values follow it; None: where it is not the heaviest of its node.
        legend : bool, default=True
            Whether the colours of up to 14 classes are explained above the tree.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            If a parameter is out of range, X or y lacks the other, or y has several targets.
        ImportError
            If matplotlib is not installed: it comes with the extra `plot`.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = CARTClassifier(max_depth=2).fit(X, y)
        >>> model.plot(X=X, y=y).figure.savefig("iris.png")  # doctest: +SKIP
        """
        return plot.plot_tree(
            *self._shown(),
            ax,
            samples=self._samples(X, y),
            max_depth=max_depth,
            max_nodes=max_nodes,
            orientation=orientation,
            max_categories=max_categories,
            decimals=decimals,
            show_missing=show_missing,
            legend=legend,
        )

    def _samples(self, X: Any, y: Any) -> charts.Samples | None:
        """Samples to be seen in a picture of the tree, if there are some."""
        if X is None and y is None:
            return None
        if X is None or y is None:
            raise ValueError(f"{'y' if X is None else 'X'} alone was given: charts of samples need X and y, or neither")
        tree, *_ = self._shown()
        if tree.n_outputs > 1:
            raise ValueError(f"y: the tree has {tree.n_outputs} targets; charts of samples are drawn for one: leave X and y out")
        table = self._encode_table(X)
        target = self._encode_target(y)
        check_same_length(table.n_samples, len(target))
        return charts.Samples(table, target, _grow.decision_path(tree, table))

    def to_rules(self, *, simplify: bool = True) -> RuleList:
        """Return the paths of the tree as rules: a rule for every place where samples end.

        Such places are the leaves, and inner nodes where samples stop whose value is missing.  The rules divide all samples among
        them: each is taken by exactly one, or by several in parts where the tree divides samples.

        Parameters
        ----------
        simplify : bool, default=True
            Whether the conditions of a path on one feature are joined into one, which changes nothing that passes: intervals are
            intersected, categories told as a set.  False: the tests as they stand on the path.

        Returns
        -------
        RuleList
            In the order of the tree, from the first branch to the last: to sort, to filter, and to write as a data frame, text,
            Markdown or SQL.

        See Also
        --------
        fasttree.C45Rules : Rules chosen and shortened on samples, which are fewer and read in an order.

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
        return _path_rules.rules_of(
            *self._shown(),
            simplify=simplify,
            impurity=self.recipe_.impurity,
            unseen=self.unseen,
            estimator_name=type(self).__name__,
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
    ) -> str:
        """Make one web page that shows the tree and needs nothing else: no network, no other file.

        It zooms, folds and unfolds, searches, follows a sample to its prediction, prunes by a slider along the sequence of
        cost-complexity pruning (Breiman et al. 1984, chapter 3), tells of each node its figures and its rule, and saves its
        drawing as SVG; by mouse, by touch, by keyboard, and with a screen reader; in light and in dark.

        Parameters
        ----------
        title : str or None, default=None
            Of the page; None: the name of the class.
        X : table of shape (n_samples, n_features), default=None
            Samples with the columns of the fit.  Some of them, `max_rows` at equal distances, become part of the page, to be
            chosen and followed: only their values of features that the tree looks at.
        y : array-like of shape (n_samples,), default=None
            Their targets.  All samples then judge the pruned trees, and the page tells their error beside that of the
            training.
        max_rows : int, default=200
            Samples to put in the page.
        max_depth : int or None, default=None
            Levels of branches that are open at first.
        max_nodes : int or None, default=None
            Nodes that are open at first, the heaviest.  With neither of the two, as many as the screen shows at a size to be
            read, 64 at most.  The page always holds the whole tree.
        max_categories : int, default=12
            Categories to name in one condition; the rest are counted.
        decimals : int, default=2
            Digits after the point of weights and means.

        Returns
        -------
        str
            HTML.  The page walks the tree with the numbers of the tree itself: it predicts what `predict_proba` does.

        Raises
        ------
        ValueError
            If a number is out of range, y comes without X or with several targets, or the samples do not fit.

        Examples
        --------
        >>> from pathlib import Path
        >>> from fasttree import CARTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> page = CARTClassifier().fit(X, y).export_html(title="Irises", X=X, y=y)
        >>> Path("irises.html").write_text(page, encoding="utf-8")  # doctest: +SKIP
        """
        tree, schema, classes = self._shown()
        return page.export_html(
            tree,
            schema,
            classes,
            title=type(self).__name__ if title is None else str(title),
            given=self._given(X, y),
            max_rows=max_rows,
            max_depth=max_depth,
            max_nodes=max_nodes,
            max_categories=max_categories,
            decimals=decimals,
            impurity=self.recipe_.impurity,
            risk="impurity" if tree.outputs is not None else getattr(self, "pruning_risk", "impurity"),
        )

    def _given(self, X: Any, y: Any) -> page.Given | None:
        """Samples as a page takes them."""
        if X is None:
            if y is not None:
                raise ValueError("y without X: give the samples too, or leave out both")
            return None
        table = self._encode_table(X)
        if y is None:
            return page.Given(table)
        if self.tree_.outputs is not None:
            raise ValueError("y and several targets exclude each other here, as no common error is known: leave out y")
        target = self._encode_target(y)
        check_same_length(table.n_samples, len(target))
        return page.Given(table, target, self._class_factor(target, None))

    def explain(self, x: Any, *, max_categories: int = 12, decimals: int = 2) -> Explanation:
        """Tell why the tree predicts what it predicts for one sample.

        Parameters
        ----------
        x : mapping of names to values, 1-D sequence, or table of one row
            The sample, such as ``{"width": 3.5, "colour": "red"}``, ``X.iloc[0]`` or ``X[0]``; None or NaN where a value is
            missing.
        max_categories : int, default=12
            Categories to name in one condition; the rest are counted.
        decimals : int, default=2
            Digits after the point of weights and means.

        Returns
        -------
        Explanation
            To print: each test on the way, what decided there, and what the branches not taken would have answered; the leaf;
            and the smallest change of few features that leads to another class. As data: `steps`, `ends`, `prediction`,
            `probabilities`, `change`, `to_dict()`.

        Raises
        ------
        ValueError, TypeError
            If `x` is not one sample with the features of the fit.

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
        nearest other answer: 1 if petal width (cm) <= 1.75 (now 1.8)
        """
        return _explain.explain(
            *self._shown(),
            x,
            max_categories=max_categories,
            decimals=decimals,
            unseen=self.unseen,
            estimator_name=type(self).__name__,
        )

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the decrease of weighted impurity, float64 of shape (n_features,); sums to 1.

        Breiman et al. (1984), section 5.3, without surrogates: the decrease of risk (weight times impurity) at the nodes that
        test the feature; where samples of unknown value stay at the node, that of the others (their part of the risk went
        nowhere).  All zero for a tree without a test.
        """
        check_is_fitted(self)
        tree = self.tree_
        risk = tree.risk
        children = np.bincount(tree.parent[1:], weights=risk[1:], minlength=tree.node_count)
        inner = tree.feature >= 0
        at_node = np.where(tree.missing == STOP, tree.weight * tree.gain, risk - children)
        decrease = np.bincount(tree.feature[inner], weights=at_node[inner], minlength=self.n_features_in_)
        total = decrease.sum()
        return decrease / total if total > 0 else np.zeros(self.n_features_in_)

    def surrogate_importances(self) -> NDArray[np.float64]:
        """Importance of each feature as a test or in place of one (Breiman et al. 1984, section 5.3).

        The gain of each test, in units of weight times impurity, counts for the tested feature; and for the feature of each of
        its surrogates as much of it as the surrogate's adjusted agreement says.  As rpart reports it: not normalised, and of the
        samples whose tested value is known.  In a tree without surrogates the tests count alone.

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
        return _surrogates.importances(self.tree_)

    def shap_values(self, X: Any, background: Any = None) -> _shap.ShapValues | list[_shap.ShapValues]:
        """Return what each feature adds to each prediction: exact Shapley values of the tree.

        A prediction is shared out among the features as the payoff of a game among its players (Shapley 1953; Lundberg and Lee
        2017): a feature gets what it adds to the prediction when its value becomes known, on average over all orders in which the
        values may become known.  A value that is not known goes down the branches in proportion to their training weights
        (path-dependent), or as the value of a background sample does, on average over the background (interventional).

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.
        background : table of shape (n_background, n_features) or None, default=None
            Samples that stand in for what is not known.  The time grows with n_samples times n_background: some hundreds of
            samples are enough.  None: the weights in the tree do.

        Returns
        -------
        ShapValues
            With `values` of shape (n_samples, n_features) in regression and (n_samples, n_features, n_classes) in classification,
            in the unit of `predict` and `predict_proba`; `base_values`, what is predicted when nothing is known; `data` and
            `feature_names`.  Base value and values of a sample sum to its prediction.  A classifier of several targets returns a
            list of such, a regressor of several has a last axis of one entry per target.

        Raises
        ------
        ValueError
            If X or the background is no such table, or has no rows.

        Notes
        -----
        Every form of test, missing values and soft thresholds are explained as they are walked, several branches at once where a
        sample divides.  Where surrogates decide, the branch that the whole sample takes is credited to the feature that the node
        tests.  In classification the shares of the classes are explained, whatever `predict` makes of them by a loss matrix.
        Path-dependent values take time proportional to the nodes of the tree times half the features on a path.

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
        tree, _, classes = self._shown()
        table = self._encode_table(X)
        return _shap.shap_values(tree, table, None if background is None else self._encode_table(background), classes)

    def plot_pruning_table(self, ax: Axes | None = None) -> Axes:
        """Draw `pruning_table_`: how the subtrees among which the pruning chose do on other samples, as rpart's `plotcp` does.

        From the root alone on the left to the whole tree on the right, at equal distances, or closer and closer (by logarithm)
        where subtrees are 200 or more: the error with a bar of one standard
        error, a dashed line one standard error above the least, and a ring around the subtree that was chosen.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw; None: on a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            If no subtree was chosen on other samples.
        ImportError
            If matplotlib is not installed: it comes with the extra `plot`.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> from sklearn.datasets import load_iris
        >>> model = CARTClassifier(ccp_alpha="cv", rule="1se", random_state=0).fit(*load_iris(return_X_y=True))
        >>> model.plot_pruning_table().figure.savefig("pruning.png")  # doctest: +SKIP
        """
        check_is_fitted(self)
        if "pruning_table_" not in self.__dict__:
            raise ValueError(
                "there is no pruning_table_: no subtree was chosen on other samples; fit with ccp_alpha='cv' or 'validation', or "
                "pruning='critical_value' (a loaded model has none)"
            )
        return plot.plot_pruning_table(self.pruning_table_, ax)


def plot_tree(model: Views, ax: Axes | None = None, **how: Any) -> Axes:
    """Draw a fitted tree with matplotlib: `model.plot(ax, **how)` as a function.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor of fasttree.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None: on a new figure.
    **how
        As for the method `plot`: `X`, `y`, `max_depth`, `max_nodes`, `orientation`, ...

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        If the model is no tree of fasttree.

    Examples
    --------
    >>> from fasttree import CARTClassifier, plot_tree
    >>> plot_tree(CARTClassifier().fit([[1.0], [2.0]], ["a", "b"]))  # doctest: +SKIP
    """
    if not isinstance(model, Views):
        raise TypeError(f"model is a {type(model).__name__}: plot_tree draws the fitted trees of fasttree")
    return model.plot(ax, **how)
