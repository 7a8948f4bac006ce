"""Colours of all pictures of trees: one palette for light and dark mode.

No information is given by colour alone; it is always written, too.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CERTAIN",
    "CLASSES",
    "DARK",
    "ERROR",
    "FADED",
    "LIGHT",
    "NUMERIC",
    "PRINT",
    "Theme",
    "class_colour",
    "contrast",
    "greys",
    "mix",
    "tint",
]

# The first seven are those of Okabe and Ito (2008), "Color Universal Design", followed by a grey.  Each further colour is as
# distant as possible (in OKLab, for normal vision, protanopia and deuteranopia) from all before it.
CLASSES = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#f0e442",
    "#7a7a7a",
    "#851d51",
    "#1010ed",
    "#aceded",
    "#44d392",
    "#5e2a9f",
    "#9278ed",
    "#785110",
    "#855185",
    "#d310b9",
    "#445eed",
    "#9fed9f",
    "#c61044",
    "#b9c6ed",
    "#446b51",
    "#514478",
    "#85ac6b",
    "#b9d344",
    "#c69fb9",
)
NUMERIC = "#0072b2"  # a numeric prediction, more opaque if larger
CERTAIN = "#6b7280"  # a probability that belongs to no one class
ERROR = "#d55e00"  # an error, more opaque if larger
FADED = 0.35  # opacity of what is beside the path of a sample
FAINTEST, FULLEST = 0.06, 0.42  # least and largest opacity of a colour over the paper


@dataclass(frozen=True)
class Theme:
    """Colours other than those of classes: paper, text, secondary text, lines, and branches."""

    paper: str
    ink: str
    muted: str
    line: str
    branch: str


LIGHT = Theme(paper="#ffffff", ink="#1a1c20", muted="#555b66", line="#9aa1ad", branch="#c5cad3")
DARK = Theme(paper="#16181d", ink="#eceef2", muted="#b6bcc8", line="#6b7280", branch="#474d59")
PRINT = Theme(paper="#ffffff", ink="#000000", muted="#333333", line="#555555", branch="#b8b8b8")
DARKEST, LIGHTEST = 0x30, 0xB4  # of the greys of classes in print


def class_colour(label: int) -> str:
    """Return the colour of a class by its index, as ``#rrggbb``; colours repeat after 26 classes."""
    return CLASSES[label % len(CLASSES)]


def greys(n_classes: int) -> list[str]:
    """Return a grey for each class, from dark to light, for a print without colours."""
    steps = max(n_classes - 1, 1)
    return ["#" + 3 * f"{round(DARKEST + (LIGHTEST - DARKEST) * step / steps):02x}" for step in range(n_classes)]


def tint(certainty: float) -> float:
    """Return the opacity, in [0, 1], of a colour over the paper; it grows with the purity of a node or with its mean.

    Text in `Theme.ink` is readable on all results (WCAG 2.2, contrast 4.5), in light and dark mode.

    Parameters
    ----------
    certainty : float
        0 for the least certain (as likely as any other class), 1 for the most certain.
    """
    return FAINTEST + (FULLEST - FAINTEST) * min(max(certainty, 0.0), 1.0)


def mix(colour: str, paper: str, share: float) -> str:
    """Blend a colour over the paper with an opacity of `share`; all colours are ``#rrggbb``."""
    pairs = zip(_channels(colour), _channels(paper), strict=True)
    return "#" + "".join(f"{round(share * over + (1 - share) * under):02x}" for over, under in pairs)


def contrast(a: str, b: str) -> float:
    """Return the contrast of two colours, from 1 to 21 (WCAG 2.2, section 1.4.3)."""
    lighter, darker = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def _luminance(colour: str) -> float:
    shares = (channel / 255 for channel in _channels(colour))
    linear = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return sum(factor * part for factor, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
