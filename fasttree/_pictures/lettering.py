"""How much room text takes in a picture, without a font at hand.

Widths are those of DejaVu Sans, which is wider than Helvetica, Arial and what browsers and matplotlib take by default: text
stays in its box with each of them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

__all__ = ["listed", "one_line", "shortened", "text_width"]

# hundredths of the size, from the space to the tilde
_ASCII = (
    "32 40 46 84 64 95 78 27 39 39 50 84 32 36 32 34 64 64 64 64 64 64 64 64 64 64 34 34 84 84 84 53 "
    "100 68 69 70 77 63 58 77 75 29 29 66 56 86 75 79 60 79 69 63 61 73 68 99 69 61 69 39 34 39 84 50 "
    "50 61 63 55 63 62 35 63 63 28 28 58 28 97 63 61 63 63 41 52 39 63 59 82 59 59 52 64 34 64 84"
)
_WIDTHS = {chr(code): int(width) / 100 for code, width in enumerate(_ASCII.split(), 32)}
_OTHER, _WIDE, _EMOJI = 0.86, 1.0, 1.4  # most letters of other alphabets are narrower; a square; pictures are wider than a square
ELLIPSIS = "…"
_ELLIPSIS_WIDTH = 1.0


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Room that a line of text takes, in the unit of its size.

    Parameters
    ----------
    text : str
    size : float
        Of the font.
    bold : bool, default False
    """
    widths = map(_width, text)
    return size * (sum(1.04 * width + 0.05 for width in widths) if bold else sum(widths))


def _width(character: str) -> float:
    known = _WIDTHS.get(character)
    if known is not None:
        return known
    if character == ELLIPSIS:
        return _ELLIPSIS_WIDTH
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if ord(character) >= 0x1F000:
        return _EMOJI
    return _WIDE if unicodedata.east_asian_width(character) in "WF" else _OTHER


def one_line(text: str) -> str:
    """Text without line breaks and other characters that cannot be seen."""
    return "".join(character if character.isprintable() else " " for character in text)


def shortened(text: str, room: float, size: float, bold: bool = False) -> str:
    """Cut text off, with an ellipsis, where it needs more room than there is; a character at least is left.

    Parameters
    ----------
    text : str
    room, size : float
        In one unit.
    bold : bool, default False
    """
    text = one_line(text)
    if text_width(text, size, bold) <= room:
        return text
    room -= text_width(ELLIPSIS, size, bold)
    end = 0
    for end, character in enumerate(text):  # noqa: B007  # where the loop stops is what is wanted
        room -= text_width(character, size, bold)
        if room < 0:
            break
    return text[: max(end, 1)].rstrip() + ELLIPSIS


def listed(names: Sequence[str], room: float, size: float, max_lines: int) -> list[str]:
    """Write names with commas between them, in lines; those for which there is no room are counted.

    Parameters
    ----------
    names : sequence of str
        At least one.
    room, size : float
        Of a line and of the font, in one unit.
    max_lines : int
        The last of them is for the count, where one is needed.

    Returns
    -------
    list of str
        Lines, each but the last one ended by a comma where a name follows.
    """
    lines = _filled((shortened(name, room, size) for name in names), room, size)
    if len(lines) <= max_lines:
        return [", ".join(line) + ("," if at < len(lines) - 1 else "") for at, line in enumerate(lines)]
    kept = lines[: max(max_lines - 1, 1)]
    left = len(names) - sum(map(len, kept))
    return [*(", ".join(line) + "," for line in kept), f"{ELLIPSIS} {left} more"]


def _filled(names: Iterable[str], room: float, size: float) -> list[list[str]]:
    lines: list[list[str]] = []
    left = 0.0
    comma = text_width(", ", size)
    for name in names:
        width = text_width(name, size) + comma
        if not lines or width > left + comma:
            lines.append([])
            left = room
        lines[-1].append(name)
        left -= width
    return lines
