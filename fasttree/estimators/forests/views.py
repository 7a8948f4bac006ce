"""Methods of forests that explain and draw them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fasttree._data.checks import is_integer, is_list
from fasttree._data.weights import check_same_length
from fasttree._explain import follow, shared_rules
from fasttree._explain.forest_explanation import ForestExplanation, explain_forest
from fasttree._explain.page import page
from fasttree._explain.pictures import contributions
from fasttree._explain.shap import ShapValues, mean_shap_values
from fasttree._explain.shared_rules import SharedRules
from fasttree._model.words import check_count
from fasttree.estimators.by_recipe import TreeClassifier
from fasttree.estimators.common.labelling import GivenLabels
from fasttree.estimators.forests.exporting import ForestExports

if TYPE_CHECKING:
    from fasttree._explain.pictures.contributions import Axes


TREES_IN_PAGE = 10


class ForestViews(ForestExports):
    """Methods that explain and draw a forest."""

    if not TYPE_CHECKING:  # else every name would be an attribute

        def __getattr__(self, name: str) -> Any:
            if not name.startswith("_") and hasattr(TreeClassifier, name) and not hasattr(type(self), name):
                raise AttributeError(
                    f"{type(self).__name__} has no {name}, which is for single trees: use estimators_[i].{name}, or that of "
                    f"most_representative_tree(X)"
                )
            return self.__getattribute__(name)  # raises the error that led here

    def shap_values(self, X: Any, background: Any = None) -> ShapValues | list[ShapValues]:
        """Return exact Shapley values of the forest: the contribution of each feature to each prediction.

        They are the mean of the values of the trees, because Shapley values are linear.  In a tree, an unknown value follows all
        branches in proportion to their training weights (path-dependent), or takes the values of background samples, averaged
        over the background (interventional).

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.
        background : table of shape (n_background, n_features) or None, default=None
            Samples whose values replace unknown ones.  The time grows with n_samples times n_background.  None: use the training
            weights in the trees.

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
        The time of path-dependent values is proportional to the number of samples times the number of nodes of all trees times
        half the number of features on a path: a few hundred samples of deep trees take seconds.  `n_jobs` threads share the
        samples.

        References
        ----------
        Lundberg et al. 2020, "From local explanations to global understanding with explainable AI for trees" (Nature Machine
        Intelligence 2).  Yu et al. 2022, "Linear TreeShap" (NeurIPS).

        Examples
        --------
        >>> from fasttree import RandomForestClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y)
        >>> found = forest.shap_values(X[:50])
        >>> found.values.shape
        (50, 4, 3)
        >>> total = found.base_values + found.values.sum(axis=1)
        >>> bool(abs(total - forest.predict_proba(X[:50])).max() < 1e-12)
        True
        """
        check_is_fitted(self)
        table = self._encode_table(X)
        others = None if background is None else self._encode_table(background)
        names = [feature.name for feature in self.schema_.features]
        classes = self.__dict__.get("classes_")
        return mean_shap_values(self.ensemble_.trees(), table, others, classes, names, n_jobs=self._threads())

    def export_html(
        self,
        tree: int | Sequence[int] | None = None,
        *,
        title: str | None = None,
        X: Any = None,
        y: Any = None,
        max_rows: int = 200,
        max_depth: int | None = None,
        max_nodes: int | None = None,
        max_categories: int = 12,
        decimals: int = 2,
        labels: GivenLabels = None,
    ) -> str:
        """Write an interactive web page of some trees, which needs no network and no other file.

        It is the page of a single tree, with a list from which the reader chooses the tree.  The address of the page holds the
        number of the tree.

        Parameters
        ----------
        tree : int, sequence of int, or None, default=None
            Numbers of the trees in the page, as in `estimators_`.  A single number gives a page without a list.  None: at most
            ten; those whose predictions on X are closest to those of the other trees, the closest first (see
            `most_representative_tree`), or without X the first ones.
        title : str or None, default=None
            Title of the page; None: the name of the class.
        X : table of shape (n_samples, n_features), default=None
            Samples with the columns of the fit, to choose and follow.
        y : array-like of shape (n_samples,), default=None
            Targets of the samples, for charts and the errors of pruned trees.
        max_rows, max_depth, max_nodes, max_categories, decimals, labels
            As in `export_html` of a single tree.

        Returns
        -------
        str
            HTML document.  It holds all nodes of these trees, about 40 bytes each.

        Raises
        ------
        ValueError
            If there is no such tree, one is named twice, or a parameter of the page is invalid.

        Examples
        --------
        >>> from pathlib import Path
        >>> from fasttree import RandomForestClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
        >>> page = forest.export_html(title="Irises", X=X, y=y)
        >>> Path("irises.html").write_text(page, encoding="utf-8")  # doctest: +SKIP
        """
        check_is_fitted(self)
        title = type(self).__name__ if title is None else str(title)
        pages = []
        for number in self._numbers_of_trees(tree, X):
            one = self._estimator(number)
            data = one._page_data(
                title=f"{title}: tree {number}",
                given=one._given(X, y, 0),
                max_rows=max_rows,
                max_depth=max_depth,
                max_nodes=max_nodes,
                max_categories=max_categories,
                decimals=decimals,
                labels=labels,
            )
            pages.append(data if is_integer(tree) else data | {"number": number})
        return page.written_page(pages[0]["title"] if is_integer(tree) else title, pages)

    def _numbers_of_trees(self, given: Any, X: Any) -> list[int]:
        """Return the numbers of the trees for a page."""
        n_trees = self.ensemble_.n_trees
        if given is None:
            order = range(n_trees) if X is None else self._most_representative(X).tolist()
            return list(order[:TREES_IN_PAGE])
        numbers = [given] if is_integer(given) else list(given) if is_list(given) else []
        if not numbers or not all(is_integer(number) and 0 <= number < n_trees for number in numbers):
            raise ValueError(f"tree={given!r}: must be numbers from 0 to {n_trees - 1}, as the forest has {n_trees} trees")
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"tree={given!r}: names a tree twice")
        return list(map(int, numbers))

    def explain(self, x: Any, *, decimals: int = 2, labels: GivenLabels = None) -> ForestExplanation:
        """Explain the prediction for one sample: how the trees vote, and what each feature contributes.

        Parameters
        ----------
        x : mapping of names to values, 1-D sequence, or table of one row
            The sample, as for `explain` of a single tree.  None and NaN are missing values.
        decimals : int, default=2
            Number of decimals of means.
        labels : mapping or None, default=None
            Labels of columns, categories and classes to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        ForestExplanation
            Printed, it shows the prediction, the number of trees that agree, and the contribution of each feature, which are
            those of `shap_values`.  Its data are attributes, and `to_dict()`.

        Raises
        ------
        ValueError, TypeError
            If `x` is not one sample with the features of the fit, or the forest has several targets.

        Examples
        --------
        >>> from fasttree import RandomForestRegressor
        >>> X, y = [[k, k % 3] for k in range(40)], [k // 10 for k in range(40)]
        >>> print(RandomForestRegressor(n_estimators=50, random_state=0).fit(X, y).explain([33, 1]))
        prediction: 3, the mean of 50 trees
        prediction if no value is known: 1.48
          +1.52  x0 = 33
        """
        check_is_fitted(self)
        check_count("decimals", decimals, 0)
        if self.ensemble_.outputs is not None:
            raise ValueError("explain is for forests of one target: see shap_values, or a tree of estimators_")
        cells = follow.cells_of(x, self.schema_, type(self).__name__)
        refuses, name = self.recipe_.missing == "error", type(self).__name__
        table = follow.encoded_row(cells, self.schema_, self.unseen, name, refuses_missing=lambda: refuses)
        shown, classes, _ = self._in_words(labels)
        return explain_forest(
            self.ensemble_,
            (table, cells),
            self.schema_,
            self.__dict__.get("classes_"),
            (shown, classes),
            decimals=int(decimals),
            n_jobs=self._threads(),
        )

    def shared_rules(
        self,
        X: Any,
        y: Any,
        *,
        n_quantiles: int = 10,
        max_depth: int = 2,
        min_share: float = 0.05,
        labels: GivenLabels = None,
    ) -> SharedRules:
        """Return rules that many trees share, the most frequent first.

        A rule is the path from the root of a tree to a node, as one condition per feature.  Two rules are the same if they have
        the same features, with the same categories and the same intervals of numbers.  Before they are compared, each threshold
        is replaced by the nearest quantile of X, because trees rarely have equal thresholds (Bénard et al. 2021).  Where missing
        values go does not count.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Samples that give the quantiles and the figures, such as those of the fit.
        y : array-like of shape (n_samples,)
            Their targets.
        n_quantiles : int, default=10
            Number of parts into which the quantiles divide the samples; 10: deciles.
        max_depth : int, default=2
            Maximum number of tests on a path.
        min_share : float, default=0.05
            Minimum share of the trees in which a rule occurs.
        labels : mapping or None, default=None
            Labels of columns, categories and classes to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        SharedRules
            Sequence of rules with their share of the trees, and support, prediction and confidence on X and y, with methods that
            write them as text, Markdown and a data frame.  Rules that no sample meets are left out.

        Raises
        ------
        ValueError
            If a number is out of range, the samples do not have the columns of the fit, or there are several targets.

        References
        ----------
        Bénard, C., Biau, G., Da Veiga, S. and Scornet, E. (2021). SIRUS: Stable and Interpretable RUle Set for classification.
        Electronic Journal of Statistics, 15(1), 427-505.

        Examples
        --------
        >>> from fasttree import RandomForestClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> forest = RandomForestClassifier(n_estimators=200, random_state=0).fit(X, y)
        >>> print(forest.shared_rules(X, y, max_depth=1)[:2].to_text(), end="")
        if petal width (cm) > 0.4 then 1  (trees 44 %, support 68 %, confidence 49 %)
        if petal width (cm) <= 0.4 then 0  (trees 44 %, support 32 %, confidence 100 %)
        """
        check_is_fitted(self)
        check_count("n_quantiles", n_quantiles, 2)
        check_count("max_depth", max_depth, 1)
        if isinstance(min_share, bool) or not isinstance(min_share, Real) or not 0 <= min_share <= 1:
            raise ValueError(f"min_share={min_share!r}: must be a number from 0 to 1")
        if self.ensemble_.outputs is not None:
            raise ValueError("shared_rules and several targets exclude each other: fit a forest for each target")
        table, target = self._encode_table(X), self._encode_target(y)
        check_same_length(table.n_samples, len(target))
        shown, shown_classes, _ = self._in_words(labels)
        classes = self.__dict__.get("classes_")
        names = [] if classes is None else classes.tolist()
        rules = shared_rules.shared_rules(
            self.ensemble_,
            (table, self.schema_, target, names),
            n_quantiles=int(n_quantiles),
            max_depth=int(max_depth),
            min_share=float(min_share),
        )
        words = shared_rules.class_words(names, [] if classes is None else np.asarray(shown_classes).tolist())
        return shared_rules.SharedRules(rules, (self.schema_, shown), words)

    def plot_importances(self, ax: Axes | None = None, *, max_features: int = 15) -> Axes:
        """Draw `feature_importances_` as bars with matplotlib, the largest on top.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw in; None: a new figure.
        max_features : int, default=15
            Maximum number of features to draw; those without importance are left out.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            If `max_features` is out of range.
        ImportError
            If matplotlib is not installed: it comes with the extra `plot`.

        Examples
        --------
        >>> from fasttree import RandomForestClassifier
        >>> from sklearn.datasets import load_iris
        >>> forest = RandomForestClassifier(random_state=0).fit(*load_iris(return_X_y=True))
        >>> forest.plot_importances().figure.savefig("importances.png")  # doctest: +SKIP
        """
        check_is_fitted(self)
        names = [feature.name for feature in self._in_words()[0].features]
        return contributions.plot_importances(names, self.feature_importances_, max_features, ax)

    def plot_oob_curve(self, ax: Axes | None = None) -> Axes:
        """Draw `oob_curve`, the out-of-bag error by the number of trees, with matplotlib.

        If the line still falls at its right end, more trees help.  A dashed line shows the error of all trees.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw in; None: a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            If the forest was fitted without `oob_score`, or read from a file, which does not keep the curve.
        ImportError
            If matplotlib is not installed: it comes with the extra `plot`.

        Examples
        --------
        >>> from fasttree import RandomForestClassifier
        >>> from sklearn.datasets import load_iris
        >>> forest = RandomForestClassifier(oob_score=True, random_state=0).fit(*load_iris(return_X_y=True))
        >>> forest.plot_oob_curve().figure.savefig("curve.png")  # doctest: +SKIP
        """
        errors = self.oob_curve()
        what = "share of wrong classes" if self.ensemble_.task == "classification" else "mean squared error"
        return contributions.plot_error_curve(errors, ax, f"out-of-bag error: {what}")
