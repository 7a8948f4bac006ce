"""The colours of every picture of a tree: one palette, in light and in dark.

No colour speaks alone: what it says is written beside it too.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DARK", "LIGHT", "NUMERIC", "Theme", "class_colour", "contrast", "mix", "tint"]

# The first seven are those of Okabe and Ito (2008), "Color Universal Design", with a grey; each further one is as far as can be
# (in OKLab, for normal sight, protanopia and deuteranopia) from all before it.
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
NUMERIC = "#0072b2"  # a numeric prediction, the fuller the larger
FAINTEST, FULLEST = 0.06, 0.42  # how much of a colour lies over the paper where it says least, and most


@dataclass(frozen=True)
class Theme:
    """What is not a class: the paper, text on it, lesser text, lines, and the paper of what is folded."""

    paper: str
    ink: str
    muted: str
    line: str
    branch: str


LIGHT = Theme(paper="#ffffff", ink="#1a1c20", muted="#555b66", line="#9aa1ad", branch="#c5cad3")
DARK = Theme(paper="#16181d", ink="#eceef2", muted="#b6bcc8", line="#6b7280", branch="#474d59")


def class_colour(label: int) -> str:
    """Colour of a class by its index, as ``#rrggbb``; after 26 classes they begin again."""
    return CLASSES[label % len(CLASSES)]


def tint(certainty: float) -> float:
    """How much of a colour, in [0, 1], lies over the paper: the purer a node, or the larger its mean, the more.

    Text in `Theme.ink` is readable on each of them (WCAG 2.2, contrast 4.5), in light and in dark.

    Parameters
    ----------
    certainty : float
        0 for what is least certain (as likely as any other class), 1 for the surest.
    """
    return FAINTEST + (FULLEST - FAINTEST) * min(max(certainty, 0.0), 1.0)


def mix(colour: str, paper: str, share: float) -> str:
    """What is seen of a colour that covers a share of the paper; all as ``#rrggbb``."""
    pairs = zip(_channels(colour), _channels(paper), strict=True)
    return "#" + "".join(f"{round(share * over + (1 - share) * under):02x}" for over, under in pairs)


def contrast(a: str, b: str) -> float:
    """Contrast of two colours, from 1 to 21 (WCAG 2.2, section 1.4.3)."""
    lighter, darker = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def _luminance(colour: str) -> float:
    shares = (channel / 255 for channel in _channels(colour))
    linear = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return sum(factor * part for factor, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
