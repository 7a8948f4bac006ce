"""Choices for the look of a picture: figures, colours, theme, caption, discs and axes; and their checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from fasttree._data.checks import is_number
from fasttree._explain.pictures.colours import CLASSES, DARK, LIGHT, NUMERIC, PRINT, contrast, greys, mix, tint
from fasttree._model.words import Classes, by_target

__all__ = ["COLOUR_BY", "DEFAULT", "SHOW", "THEMES", "ColourBy", "Palette", "Show", "Style", "ThemeName", "style_of"]

Show: TypeAlias = Literal["both", "percent", "count", "impurity"]
ColourBy: TypeAlias = Literal["class", "probability", "lift", "error"] | None
ThemeName: TypeAlias = Literal["light", "dark", "print"] | None
Palette: TypeAlias = Mapping[Any, str] | Sequence[str] | str | None

SHOW = ("both", "percent", "count", "impurity")
COLOUR_BY = ("class", "probability", "lift", "error", None)
THEMES = ("light", "dark", "print", None)
NAME_SIZE = 12.5  # pixels of names
LEAST_CONTRAST = 4.5  # of text (WCAG 2.2, section 1.4.3)
HEX = re.compile("#[0-9a-fA-F]{6}")


@dataclass(frozen=True)
class Style:
    """The look of a picture, checked.

    Attributes
    ----------
    show : str
        Figures beside predictions.
    color_by : str or None
        Meaning of the colour of a leaf; None: its class or mean.
    classes : sequence of str
        Colours of the classes of all targets, which repeat if there are more.
    numeric : str
        Colour of means, and of scales.
    theme : str or None
        None: light or dark, as the reader's screen.
    caption : str or None
        Text below the tree.
    subtitle : str or None
        Smaller text below the title.
    weights : bool
        Whether leaves show their weight as a disc.
    same_axes : bool
        Whether charts of a feature have one range.
    impurity : str
        Name of the impurity in the recipe.
    scale : float
        Size of the picture, 1 for names of 12.5 pixels.
    """

    show: str = "both"
    color_by: str | None = None
    classes: Sequence[str] = CLASSES
    numeric: str = NUMERIC
    theme: str | None = None
    caption: str | None = None
    weights: bool = False
    same_axes: bool = False
    impurity: str = ""
    scale: float = 1.0
    subtitle: str | None = None

    def colour(self, label: int) -> str:
        """Return the colour of a class by its index."""
        return self.classes[label % len(self.classes)]

    def opacity(self, colour: str, certainty: float) -> float:
        """Return the opacity of a colour, less than `tint` where text on it would be hard to read."""
        return min(tint(certainty), _fullest(colour))


@lru_cache(maxsize=256)
def _fullest(colour: str) -> float:
    """Return the largest opacity of a colour at which text on it is readable in light and dark mode."""
    opacity = tint(1.0)
    while any(contrast(mix(colour, each.paper, opacity), each.ink) < LEAST_CONTRAST for each in (LIGHT, DARK)):
        opacity *= 0.95
    return opacity


DEFAULT = Style()


def style_of(
    classes: Classes,
    *,
    show: str = "both",
    color_by: str | None = None,
    palette: Palette = None,
    theme: str | None = None,
    caption: str | None = None,
    subtitle: str | None = None,
    weights: bool = False,
    same_axes: bool = False,
    fontsize: float | None = None,
    impurity: str = "",
) -> Style:
    """Check the choices for a picture.

    Parameters
    ----------
    classes : array, list of arrays, or None
        The classes of the fit, which `palette` may name; None for regression.
    show, color_by, palette, theme, caption, subtitle, weights, same_axes, fontsize
        See `Pictures.export_svg`.
    impurity : str, default ""
        Name of the impurity in the recipe.

    Returns
    -------
    Style

    Raises
    ------
    TypeError, ValueError
        If a choice is not among those allowed.
    """
    for name, value, allowed in (("show", show, SHOW), ("color_by", color_by, COLOUR_BY), ("theme", theme, THEMES)):
        if not (value is None or isinstance(value, str)) or value not in allowed:
            raise ValueError(f"{name}={value!r}: must be one of {', '.join(map(repr, allowed))}")
    if classes is None and color_by in ("class", "probability", "lift"):
        raise ValueError(f"color_by={color_by!r}: a regression tree has no classes; use 'error', or None for the mean")
    for name, text in (("caption", caption), ("subtitle", subtitle)):
        if not (text is None or isinstance(text, str)):
            raise TypeError(f"{name} is a {type(text).__name__}: must be a text or None")
    for name, flag in (("weights", weights), ("same_axes", same_axes)):
        if not isinstance(flag, bool):
            raise TypeError(f"{name}={flag!r}: must be True or False")
    if not (fontsize is None or (is_number(fontsize) and 4 <= fontsize <= 100)):
        raise ValueError(f"fontsize={fontsize!r}: must be a number of pixels in [4, 100], or None for {NAME_SIZE}")
    scale = 1.0 if fontsize is None else float(fontsize) / NAME_SIZE
    labels = [label for each in by_target(classes) for label in each.tolist()]
    numeric = PRINT.ink if theme == "print" else NUMERIC
    if classes is None:
        numeric = numeric if palette is None else _one_colour(palette)
        return Style(show, color_by, CLASSES, numeric, theme, caption, weights, same_axes, impurity, scale, subtitle)
    base = greys(max(len(each) for each in by_target(classes))) if theme == "print" else CLASSES
    own = _colours_of(palette, labels, [base[label % len(base)] for label in range(len(labels))])
    return Style(show, color_by, own, numeric, theme, caption, weights, same_axes, impurity, scale, subtitle)


def _one_colour(palette: Any) -> str:
    colours = [palette] if isinstance(palette, str) else list(palette.values() if isinstance(palette, Mapping) else palette)
    if len(colours) != 1:
        raise ValueError(f"palette has {len(colours)} colours: a regression tree has one, such as '#0072b2'")
    return _checked(colours)[0]


def _colours_of(palette: Palette, labels: Sequence[Any], colours: Sequence[str]) -> Sequence[str]:
    """Return the colours of all classes: those of a palette, and `colours` for the classes that it does not name."""
    if palette is None:
        return colours
    if isinstance(palette, str) or not isinstance(palette, Mapping | Iterable):
        raise TypeError(f"palette={palette!r}: must map classes to colours such as '#0072b2', or list colours")
    if not isinstance(palette, Mapping):
        return _checked(list(palette))
    for label in palette:
        if label not in labels:
            raise ValueError(f"palette: {label!r} is not a class; the classes are {', '.join(map(repr, labels[:20]))}")
    chosen = dict(zip(palette, _checked(palette.values()), strict=True))
    return [chosen.get(label, own) for label, own in zip(labels, colours, strict=True)]


def _checked(colours: Iterable[Any]) -> list[str]:
    found = list(colours)
    for colour in found:
        if not isinstance(colour, str) or not HEX.fullmatch(colour):
            raise ValueError(f"palette: {colour!r} is not a colour; write red, green and blue as in '#0072b2'")
    if not found:
        raise ValueError("palette is empty: must have at least one colour")
    return [colour.lower() for colour in found]
