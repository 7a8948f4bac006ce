"""Trees as text that other programs draw: DOT and Mermaid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fasttree._learn.recipe import Recipe
from fasttree.estimators.common.labelling import GivenLabels, Labelled

if TYPE_CHECKING:
    from fasttree._explain.pictures.style import ColourBy, Palette, Show, Style

__all__ = ["GLANCE", "Flowcharts"]

GLANCE = 31  # nodes in a picture by default


class Flowcharts(Labelled):
    """Methods that write a fitted tree for Graphviz and Mermaid."""

    if TYPE_CHECKING:  # of the estimators

        @property
        def recipe_(self) -> Recipe: ...  # noqa: D102

    def export_dot(
        self,
        *,
        max_depth: int | None = None,
        max_nodes: int | Literal["all"] | None = None,
        orientation: Literal["down", "right"] | None = None,
        max_categories: int = 12,
        decimals: int = 2,
        show_missing: bool | None = None,
        labels: GivenLabels = None,
        title: str | None = None,
        show: Show = "both",
        color_by: ColourBy = None,
        palette: Palette = None,
    ) -> str:
        """Write the tree in DOT, the language of Graphviz, with boxes like those of `export_svg` (which needs no Graphviz).

        Node ``i`` of `tree_` is ``n<i>`` in the graph; categories without training samples share the node of the first one.

        Parameters
        ----------
        max_depth : int or None, default=None
            Levels of branches to draw; deeper nodes are only counted.
        max_nodes : int, "all" or None, default=None
            Maximum number of nodes to draw, expanding the heaviest first; the others are only counted. None: all.
        orientation : {"down", "right"} or None, default=None
            Direction in which the tree grows; None: down.
        max_categories : int, default=12
            Maximum number of categories to list in a condition that is written in full.
        decimals : int, default=2
            Number of decimals of weights and means.
        show_missing : bool or None, default=None
            Whether to mark the branch that missing values follow; None: only if it is not the heaviest of its node.
        labels : mapping or None, default=None
            Labels of columns, categories and classes to write, in addition to those of `set_labels`, which describes them.
        title : str or None, default=None
            Title above the tree.
        show : {"both", "percent", "count", "impurity"}, default="both"
            Figures beside a prediction; see `export_svg`.
        color_by : {"class", "probability", "lift", "error"} or None, default=None
            Meaning of the colour of a leaf; see `export_svg`. No legend explains it.
        palette : mapping, sequence of str, str or None, default=None
            Colours such as "#0072b2": by class, in the order of `classes_`, or one for means. None: those of `export_svg`.

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
        from fasttree._explain.pictures import dot

        return dot.export_dot(
            *self._labelled(labels),
            max_depth=max_depth,
            max_nodes=self._most_nodes(max_depth, "all" if max_nodes is None else max_nodes),
            orientation=orientation,
            max_categories=max_categories,
            decimals=decimals,
            show_missing=show_missing,
            targets=self._in_words(labels)[2],
            title=title,
            style=self._style(show=show, color_by=color_by, palette=palette),
        )

    def export_mermaid(
        self,
        *,
        max_depth: int | None = None,
        max_nodes: int | Literal["all"] | None = None,
        orientation: Literal["down", "right"] | None = None,
        max_categories: int = 12,
        decimals: int = 2,
        show_missing: bool | None = None,
        labels: GivenLabels = None,
        title: str | None = None,
        show: Show = "both",
        color_by: ColourBy = None,
        palette: Palette = None,
    ) -> str:
        """Write the tree as a Mermaid flowchart, which GitHub, GitLab and many wikis draw in a Markdown block ``mermaid``.

        Node ``i`` of `tree_` is ``n<i>``; categories without training samples share the node of the first one.  The chart has no
        bars.

        Parameters
        ----------
        max_depth : int or None, default=None
            Levels of branches to draw; deeper nodes are only counted.
        max_nodes : int, "all" or None, default=None
            Maximum number of nodes to draw, expanding the heaviest first; the others are only counted. None: 31, or more if the
            root has more branches, unless `max_depth` is given.
        orientation : {"down", "right"} or None, default=None
            Direction in which the tree grows; None: down.
        max_categories : int, default=12
            Maximum number of categories to list in a condition that is written in full.
        decimals : int, default=2
            Number of decimals of weights and means.
        show_missing : bool or None, default=None
            Whether to mark the branch that missing values follow; None: only if it is not the heaviest of its node.
        labels : mapping or None, default=None
            Labels of columns, categories and classes to write, in addition to those of `set_labels`, which describes them.
        title : str or None, default=None
            Title above the tree.
        show : {"both", "percent", "count", "impurity"}, default="both"
            Figures beside a prediction; see `export_svg`.
        color_by : {"class", "probability", "lift", "error"} or None, default=None
            Meaning of the colour of a leaf; see `export_svg`. No legend explains it.
        palette : mapping, sequence of str, str or None, default=None
            Colours such as "#0072b2": by class, in the order of `classes_`, or one for means. None: those of `export_svg`.

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
        >>> print(CARTClassifier(max_depth=1).fit([[1.0], [2.0]], ["a", "b"]).export_mermaid(), end="")
        flowchart TD
        n0["<b>x0</b><br/>50 % a · 2"]
        n1("<b>a</b><br/>100 % of 1")
        n0 -->|"≤ 1.5"| n1
        style n1 fill:#94c4df,stroke:#9aa1ad,color:#1a1c20
        n2("<b>b</b><br/>100 % of 1")
        n0 -->|"#62; 1.5"| n2
        style n2 fill:#f4d794,stroke:#9aa1ad,color:#1a1c20
        """
        from fasttree._explain.pictures import mermaid

        return mermaid.export_mermaid(
            *self._labelled(labels),
            max_depth=max_depth,
            max_nodes=self._most_nodes(max_depth, max_nodes),
            orientation=orientation,
            max_categories=max_categories,
            decimals=decimals,
            show_missing=show_missing,
            targets=self._in_words(labels)[2],
            title=title,
            style=self._style(show=show, color_by=color_by, palette=palette),
        )

    def _most_nodes(self, max_depth: int | None, max_nodes: int | Literal["all"] | None) -> int | None:
        """Return the number of nodes to draw; None for all."""
        if isinstance(max_nodes, str):
            if max_nodes != "all":
                raise ValueError(f"max_nodes={max_nodes!r}: must be an integer >= 1, 'all' or None")
            return None
        if max_nodes is not None or max_depth is not None:
            return max_nodes
        return max(GLANCE, 1 + int(self._parts_to_show()[0].n_branches[0]))

    def _style(self, **choices: Any) -> Style:
        """Check the choices for the look of a picture."""
        from fasttree._explain.pictures.style import style_of

        # the recipe of a saved tree needs its estimator, which imports scikit-learn
        needs_recipe = choices["show"] == "impurity" or choices["color_by"] == "error"
        return style_of(self._parts_to_show()[2], impurity=self.recipe_.impurity if needs_recipe else "", **choices)
