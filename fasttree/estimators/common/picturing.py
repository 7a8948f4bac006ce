"""Methods that draw a fitted tree: SVG, matplotlib, DOT and Mermaid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fasttree._data.table import Table
from fasttree._data.weights import check_same_length
from fasttree.estimators.common.flowcharts import GLANCE, Flowcharts
from fasttree.estimators.common.labelling import GivenLabels, check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.utils import Bunch

    from fasttree._explain.explanation import Explanation
    from fasttree._explain.pictures.charts import ChartSamples
    from fasttree._explain.pictures.style import ColourBy, Palette, Show, ThemeName

__all__ = ["GLANCE", "Pictures", "plot_tree"]


class Pictures(Flowcharts):
    """Methods that draw a fitted tree."""

    pruning_table_: Bunch
    unseen: str

    if TYPE_CHECKING:  # of the estimators

        def _encode_table(self, X: Any) -> Table: ...

        def _encode_target(self, y: Any) -> NDArray[Any]: ...

        @property
        def feature_importances_(self) -> NDArray[np.float64]: ...  # noqa: D102  # of `Views`

        def explain(self, x: Any) -> Explanation: ...  # noqa: D102  # of `Views`

    def export_svg(
        self,
        *,
        X: Any = None,
        y: Any = None,
        max_depth: int | None = None,
        max_nodes: int | Literal["all"] | None = None,
        orientation: Literal["down", "right"] | None = None,
        max_categories: int = 12,
        decimals: int = 2,
        show_missing: bool | None = None,
        legend: bool = True,
        labels: GivenLabels = None,
        title: str | None = None,
        subtitle: str | None = None,
        caption: str | None = None,
        x: Any = None,
        show: Show = "both",
        color_by: ColourBy = None,
        palette: Palette = None,
        theme: ThemeName = None,
        weights: bool = False,
        same_axes: bool = False,
        fontsize: float | None = None,
        kind: Literal["tree", "icicle"] = "tree",
    ) -> str:
        """Draw the tree as a stand-alone SVG document.

        A test is a box with the name of its feature above a bar of the classes in the node. In regression, a strip shows the mean
        and standard deviation of the node between the least and the largest value of the tree. A leaf has the colour of its
        class, more saturated if the leaf is purer. The width of a branch is proportional to its weight. Long names fill
        several lines or are shortened, but never read alike; a tooltip shows them in full. Categories without training samples
        share a box. The picture follows the light or dark mode of the reader's screen.

        Parameters
        ----------
        X : table of shape (n_samples, n_features) or None, default=None
            Samples to show at each node in a chart along the tested feature, usually the training samples. Needs `y`.
        y : array of shape (n_samples,) or None, default=None
            Classes or values of the samples.
        max_depth : int or None, default=None
            Levels of branches to draw; deeper nodes are only counted.
        max_nodes : int, "all" or None, default=None
            Maximum number of nodes to draw, expanding the heaviest first; the others are only counted. None: 31, or more if the
            root has more branches, unless `max_depth` is given.
        orientation : {"down", "right"} or None, default=None
            Direction in which the tree grows; None: down, unless that becomes very wide.
        max_categories : int, default=12
            Maximum number of categories to list in a condition that is written in full.
        decimals : int, default=2
            Number of decimals of weights and means.
        show_missing : bool or None, default=None
            Whether to mark the branch that missing values follow; None: only if it is not the heaviest of its node.
        legend : bool, default=True
            Whether to explain the colours of the classes above the tree, if there are at most 14.
        labels : mapping or None, default=None
            Labels of columns, categories and classes to write, in addition to those of `set_labels`, which describes them.
        title : str or None, default=None
            Title above the tree.
        subtitle : str or None, default=None
            Smaller text below the title.
        caption : str or None, default=None
            Text below the tree.
        x : mapping of names to values, 1-D sequence, table of one row, or None, default=None
            Sample whose path to draw in bold, with its values at the branches, and the rest pale; see `explain`.
        show : {"both", "percent", "count", "impurity"}, default="both"
            Figures beside a prediction: the share of the predicted class and the number of samples; the same, with the number as
            a share of all samples; the number of samples of the predicted class and of all; or "both" and the impurity.
        color_by : {"class", "probability", "lift", "error"} or None, default=None
            Meaning of the colour of a leaf. "class": the predicted class, more saturated if the leaf is purer. "probability":
            that of the second of two classes, in its colour, or of the predicted one if there are more. "lift": this probability
            divided by that at the root. "error": the share of other classes, or the standard deviation. None: the class or the
            mean.
        palette : mapping, sequence of str, str or None, default=None
            Colours such as "#0072b2": by class, in the order of `classes_`, or one for means. None: colours that people with
            colour vision deficiencies can distinguish.
        theme : {"light", "dark", "print"} or None, default=None
            "print": black on white, with greys for the classes. None: light or dark, as the reader's screen.
        weights : bool, default=False
            Whether each leaf has a disc whose area is proportional to its weight; its sectors are the shares of the classes.
        same_axes : bool, default=False
            Whether all charts of a feature have the same range, and charts of classes an axis that counts samples. The range
            leaves out the outermost percent of a side whose outliers would fill much of it; they are drawn at its end.
        fontsize : float or None, default=None
            Size of the names in pixels, with which the whole picture is scaled; None: 12.5.
        kind : {"tree", "icicle"}, default="tree"
            "icicle": rectangles as wide as the weights of their nodes, each below its parent, with all nodes of at least a pixel
            unless `max_nodes` or `max_depth` is given. It takes no `X`, `y` and `orientation`, and needs no `weights`.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If a parameter is out of range, only one of X and y is given, or y has several targets.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> CARTClassifier(max_depth=2).fit(X, y).export_svg(X=X, y=y)[:40]
        '<svg xmlns="http://www.w3.org/2000/svg" '
        """
        from fasttree._explain.pictures import svg

        return svg.export_svg(
            *self._labelled(labels),
            kind=_checked_kind(kind, X, y, orientation),
            samples=self._samples(X, y),
            max_depth=max_depth,
            max_nodes=self._most_nodes(max_depth, "all" if kind == "icicle" and max_nodes is None else max_nodes),
            orientation=orientation,
            max_categories=max_categories,
            decimals=decimals,
            show_missing=show_missing,
            legend=legend,
            targets=self._in_words(labels)[2],
            title=title,
            way=None if x is None else self._way(x, labels),
            style=self._style(
                show=show,
                color_by=color_by,
                palette=palette,
                theme=theme,
                caption=caption,
                subtitle=subtitle,
                weights=weights,
                same_axes=same_axes,
                fontsize=fontsize,
            ),
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        X: Any = None,
        y: Any = None,
        max_depth: int | None = None,
        max_nodes: int | Literal["all"] | None = None,
        orientation: Literal["down", "right"] | None = None,
        max_categories: int = 12,
        decimals: int = 2,
        show_missing: bool | None = None,
        legend: bool = True,
        labels: GivenLabels = None,
        title: str | None = None,
        subtitle: str | None = None,
        caption: str | None = None,
        x: Any = None,
        show: Show = "both",
        color_by: ColourBy = None,
        palette: Palette = None,
        theme: ThemeName = None,
        weights: bool = False,
        same_axes: bool = False,
        fontsize: float | None = None,
        kind: Literal["tree", "icicle"] = "tree",
    ) -> Axes:
        """Draw the tree with matplotlib, as `export_svg` does.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw in; None: a new figure that is as large as the tree needs, up to 32 inches. Text is scaled down to fit,
            to 4 points at least. If the tree still does not fit, the heaviest nodes are drawn and a note gives their number.
        X : table of shape (n_samples, n_features) or None, default=None
            Samples to show at each node in a chart along the tested feature, usually the training samples. Needs `y`.
        y : array of shape (n_samples,) or None, default=None
            Classes or values of the samples.
        max_depth : int or None, default=None
            Levels of branches to draw; deeper nodes are only counted.
        max_nodes : int, "all" or None, default=None
            Maximum number of nodes to draw, expanding the heaviest first; the others are only counted. None: 31, or more if the
            root has more branches, unless `max_depth` is given.
        orientation : {"down", "right"} or None, default=None
            Direction in which the tree grows; None: down, unless that becomes very wide; in given axes, the direction that leaves
            the text larger.
        max_categories : int, default=12
            Maximum number of categories to list in a condition that is written in full.
        decimals : int, default=2
            Number of decimals of weights and means.
        show_missing : bool or None, default=None
            Whether to mark the branch that missing values follow; None: only if it is not the heaviest of its node.
        legend : bool, default=True
            Whether to explain the colours of the classes above the tree, if there are at most 14.
        labels : mapping or None, default=None
            Labels of columns, categories and classes to write, in addition to those of `set_labels`, which describes them.
        title : str or None, default=None
            Title above the tree.
        subtitle : str or None, default=None
            Smaller text below the title.
        caption : str or None, default=None
            Text below the tree.
        x : mapping of names to values, 1-D sequence, table of one row, or None, default=None
            Sample whose path to draw in bold, with its values at the branches, and the rest pale; see `explain`.
        show : {"both", "percent", "count", "impurity"}, default="both"
            Figures beside a prediction: the share of the predicted class and the number of samples; the same, with the number as
            a share of all samples; the number of samples of the predicted class and of all; or "both" and the impurity.
        color_by : {"class", "probability", "lift", "error"} or None, default=None
            Meaning of the colour of a leaf. "class": the predicted class, more saturated if the leaf is purer. "probability":
            that of the second of two classes, in its colour, or of the predicted one if there are more. "lift": this probability
            divided by that at the root. "error": the share of other classes, or the standard deviation. None: the class or the
            mean.
        palette : mapping, sequence of str, str or None, default=None
            Colours such as "#0072b2": by class, in the order of `classes_`, or one for means. None: colours that people with
            colour vision deficiencies can distinguish.
        theme : {"light", "dark", "print"} or None, default=None
            "print": black on white, with greys for the classes. None: light or dark, as the figure.
        weights : bool, default=False
            Whether each leaf has a disc whose area is proportional to its weight; its sectors are the shares of the classes.
        same_axes : bool, default=False
            Whether all charts of a feature have the same range, and charts of classes an axis that counts samples. The range
            leaves out the outermost percent of a side whose outliers would fill much of it; they are drawn at its end.
        fontsize : float or None, default=None
            Size of the names in a new figure, in pixels of 1/96 inch, with which the whole picture is scaled; None: 12.5.
        kind : {"tree", "icicle"}, default="tree"
            "icicle": rectangles as wide as the weights of their nodes, each below its parent, with all nodes of at least a pixel
            unless `max_nodes` or `max_depth` is given. It takes no `X`, `y` and `orientation`, and needs no `weights`.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            If a parameter is out of range, only one of X and y is given, or y has several targets.
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
        from fasttree._explain.pictures import plot

        return plot.plot_tree(
            *self._labelled(labels),
            ax,
            kind=_checked_kind(kind, X, y, orientation),
            samples=self._samples(X, y),
            max_depth=max_depth,
            max_nodes=self._most_nodes(max_depth, "all" if kind == "icicle" and max_nodes is None else max_nodes),
            orientation=orientation,
            max_categories=max_categories,
            decimals=decimals,
            show_missing=show_missing,
            legend=legend,
            targets=self._in_words(labels)[2],
            title=title,
            way=None if x is None else self._way(x, labels),
            style=self._style(
                show=show,
                color_by=color_by,
                palette=palette,
                theme=theme,
                caption=caption,
                subtitle=subtitle,
                weights=weights,
                same_axes=same_axes,
                fontsize=fontsize,
            ),
        )

    def _way(self, x: Any, labels: GivenLabels) -> dict[int, str]:
        """Return the nodes that a sample reaches, and in words the value that leads to each."""
        from fasttree._model.words import percent

        shown = self._in_words(labels)[0].features
        way = {0: ""}
        for step in self.explain(x).steps:
            own = self.schema_.features[step.index].categories or ()
            value = shown[step.index].categories[own.index(step.value)] if step.value in own else step.value  # type: ignore[index]
            text = f"= {value:.9g}" if isinstance(value, float) else "missing" if value is None else f"= {value}"
            for branch in step.taken:
                way[branch.node] = text if branch.part == 1 else f"{text} ({percent(branch.part)})"
        return way

    def _samples(self, X: Any, y: Any) -> ChartSamples | None:
        """Return the samples to show in a picture, or None if none are given."""
        if X is None and y is None:
            return None
        if X is None or y is None:
            raise ValueError(f"only {'y' if X is None else 'X'} is given: charts of samples need both X and y, or neither")
        tree, *_ = self._parts_to_show()
        if tree.n_outputs > 1:
            raise ValueError(f"y: the tree has {tree.n_outputs} targets, but charts of samples need one target: omit X and y")
        table = self._encode_table(X)
        target = self._encode_target(y)
        check_same_length(table.n_samples, len(target))
        from fasttree._explain.pictures.charts import ChartSamples
        from fasttree._model import walks

        return ChartSamples(table, target, walks.decision_path(tree, table))

    def plot_regions(
        self,
        X: Any,
        y: Any,
        features: str | int | Sequence[str | int] | None = None,
        *,
        at: Any = None,
        ax: Axes | None = None,
        max_samples: int = 1000,
        palette: Palette = None,
        labels: GivenLabels = None,
    ) -> Axes:
        """Draw with matplotlib what the tree predicts along one feature or two, and the samples.

        The regions in which the tree predicts the same are exact: they end at its thresholds.  Lines separate its leaves.  For
        one feature, classes are a histogram above the regions, and numbers are dots with the prediction as a line.  For two,
        the samples are dots above regions in the colour of the class, fuller if it is more certain, or of the mean.  Samples of
        a category lie side by side.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Samples, with the columns of the fit.  Those with a missing value in `features` are not drawn, but counted.
        y : array-like of shape (n_samples,)
            Their targets.
        features : str, int, sequence of one or two of them, or None, default=None
            Names or indices of the features across and up; None: those that the tree tests, if they are one or two.
        at : mapping, 1-D sequence, table of one row, or None, default=None
            A sample, as in `explain`, whose values the other features have.  It may be None if the tree tests no others.
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw in; None: a new figure.
        max_samples : int, default=1000
            Maximum number of dots; of more samples, an evenly spaced part is drawn, with a note.  Histograms count all.
        palette : mapping, sequence of str, str or None, default=None
            Colours such as "#0072b2": by class, in the order of `classes_`, or one for means. None: those of `export_svg`.
        labels : mapping or None, default=None
            Labels of columns, categories and classes to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            If a feature is unknown, if the tree tests others and `at` is None, or if the tree has several targets.
        ImportError
            If matplotlib is not installed: it comes with the extra `plot`.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = CARTClassifier(max_depth=2).fit(X, y)
        >>> model.plot_regions(X, y).figure.savefig("regions.png")  # doctest: +SKIP
        """
        from fasttree._explain.follow import row_at
        from fasttree._explain.pictures.space import painting, regions
        from fasttree._model.words import Words, check_count

        check_count("max_samples", max_samples, 0)
        tree, schema, _ = self._parts_to_show()
        if tree.n_outputs > 1:
            raise ValueError(f"the tree has {tree.n_outputs} targets, and plot_regions draws one: fit a tree of one target")
        indices = regions.chosen_features(regions.used_by(tree), schema, features, has_rest=at is not None)
        rest = row_at(at, schema, self.unseen, type(self).__name__)
        table, target = self._encode_table(X), self._encode_target(y)
        check_same_length(table.n_samples, len(target))
        columns = [table.column(j) for j in indices]
        shown, shown_classes, targets = self._in_words(labels)
        words = Words(tree, shown, shown_classes, targets=targets)
        found = regions.regions_of(tree, schema, regions.lines_of(tree, schema, shown, indices, columns), rest)
        about = painting.Shown(
            columns,
            target,
            [shown.features[j].name for j in indices],
            words.targets[0],
            list(words.labels) if tree.task == "classification" else None,
            self._style(show="both", color_by=None, palette=palette),
            max_samples,
        )
        return painting.plot_regions(found, about, ax)

    def plot_importances(self, ax: Axes | None = None, *, max_features: int = 15, labels: GivenLabels = None) -> Axes:
        """Draw `feature_importances_` as bars with matplotlib, the largest on top.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw in; None: a new figure.
        max_features : int, default=15
            Maximum number of features to draw; those without importance are left out.
        labels : mapping or None, default=None
            Labels of features to write, in addition to those of `set_labels`, which describes them.

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
        >>> from fasttree import CARTClassifier
        >>> from sklearn.datasets import load_iris
        >>> model = CARTClassifier().fit(*load_iris(return_X_y=True))
        >>> model.plot_importances().figure.savefig("importances.png")  # doctest: +SKIP
        """
        names = [feature.name for feature in self._in_words(labels)[0].features]
        from fasttree._explain.pictures import contributions

        return contributions.plot_importances(names, self.feature_importances_, max_features, ax)

    def plot_pruning_table(self, ax: Axes | None = None) -> Axes:
        """Draw `pruning_table_`, the errors of the candidate subtrees on other samples, as rpart's `plotcp` does.

        The subtrees are drawn from the root alone (left) to the whole tree (right), at equal distances, or on a logarithmic axis
        if there are 200 or more.  The plot shows the error as a share of the error of the root alone, so that 1 is no better than
        predicting without features; a bar or band of one standard error; a dashed line one standard error above the least error;
        and a ring around the selected subtree.

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
            If the subtree was not selected on other samples.
        ImportError
            If matplotlib is not installed: it comes with the extra `plot`.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> from sklearn.datasets import load_iris
        >>> model = CARTClassifier(ccp_alpha="cv", random_state=0).fit(*load_iris(return_X_y=True))
        >>> model.plot_pruning_table().figure.savefig("pruning.png")  # doctest: +SKIP
        """
        check_is_fitted(self)
        if "pruning_table_" not in self.__dict__:
            raise ValueError(
                "there is no pruning_table_: no subtree was selected on other samples; fit with ccp_alpha='cv' or 'validation', "
                "or pruning='critical_value' (a loaded model has none)"
            )
        from fasttree._explain.pictures import plot

        return plot.plot_pruning_table(self.pruning_table_, ax)


def _checked_kind(kind: str, X: Any, y: Any, orientation: str | None) -> str:
    """Raise a ValueError unless a picture of a kind can be drawn."""
    if kind not in ("tree", "icicle"):
        raise ValueError(f"kind={kind!r}: must be 'tree' or 'icicle'")
    if kind == "icicle":
        for name, given in (("X", X), ("y", y), ("orientation", orientation)):
            if given is not None:
                raise ValueError(f"{name}: an icicle has no charts and grows down; omit {name}, or use kind='tree'")
    return kind


def plot_tree(model: Pictures, ax: Axes | None = None, **how: Any) -> Axes:
    """Draw a fitted tree with matplotlib; the same as ``model.plot(ax, **how)``.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor of fasttree.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw in; None: a new figure.
    **how
        Parameters of the method `plot`: `X`, `y`, `max_depth`, `max_nodes`, `orientation`, ...

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        If the model is not a tree of fasttree.

    Examples
    --------
    >>> from fasttree import CARTClassifier, plot_tree
    >>> plot_tree(CARTClassifier().fit([[1.0], [2.0]], ["a", "b"]))  # doctest: +SKIP
    """
    if not isinstance(model, Pictures):
        raise TypeError(f"model is a {type(model).__name__}: plot_tree draws fitted trees of fasttree only")
    return model.plot(ax, **how)
