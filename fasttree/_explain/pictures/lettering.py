"""Widths of texts in a picture, estimated without a font.

Widths are those of DejaVu Sans, which is wider than Helvetica, Arial and the default fonts of browsers.  Text stays in its box
with all of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["distinct", "listed", "one_line", "shortened", "terms_wrapped", "text_width", "wrapped"]

BREAKS = " _-/:.("  # characters after which a line may end
_PARTS = re.compile(rf"[^{re.escape(BREAKS)}]*[{re.escape(BREAKS)}]?")
_TERMS = re.compile(r" (?=[+-] |from -?[0-9]|to -?[0-9])")
LEAST_LEAD = 4  # characters of a shared beginning to replace by an ellipsis

# hundredths of the size, from the space to the tilde
_ASCII = (
    "32 40 46 84 64 95 78 27 39 39 50 84 32 36 32 34 64 64 64 64 64 64 64 64 64 64 34 34 84 84 84 53 "
    "100 68 69 70 77 63 58 77 75 29 29 66 56 86 75 79 60 79 69 63 61 73 68 99 69 61 69 39 34 39 84 50 "
    "50 61 63 55 63 62 35 63 63 28 28 58 28 97 63 61 63 63 41 52 39 63 59 82 59 59 52 64 34 64 84"
)
_WIDTHS = {chr(code): int(width) / 100 for code, width in enumerate(_ASCII.split(), 32)}
_OTHER, _WIDE, _EMOJI = 0.86, 1.0, 1.4  # most letters of other alphabets are narrower; a square; wider than a square
ELLIPSIS = "…"
_ELLIPSIS_WIDTH = 1.0


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return the width of a line of text, in the unit of the font size `size`."""
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
    """Replace line breaks and other unprintable characters by spaces."""
    return "".join(character if character.isprintable() else " " for character in text)


def shortened(text: str, room: float, size: float, bold: bool = False) -> str:
    """Shorten text to the width `room`, in the unit of `size`, by an ellipsis in its middle; keep at least one character.

    The end remains, because similar names often differ there.
    """
    text = one_line(text)
    if text_width(text, size, bold) <= room:
        return text
    kept, too_many = 1, len(text)
    while too_many - kept > 1:
        middle = (kept + too_many) // 2
        if text_width(_without_middle(text, middle), size, bold) <= room:
            kept = middle
        else:
            too_many = middle
    return _without_middle(text, kept)


def _without_middle(text: str, kept: int) -> str:
    """Replace all but `kept` characters by an ellipsis; three fifths of them are before it."""
    after = 2 * kept // 5
    return f"{text[: kept - after].rstrip()}{ELLIPSIS}{text[len(text) - after :].lstrip()}"


def wrapped(text: str, room: float, size: float, max_lines: int, bold: bool = False) -> list[str]:
    """Break text into lines at spaces, underscores, hyphens and slashes; shorten it if it needs more than `max_lines`."""
    shown = one_line(text)
    length = max_lines * room
    while len(lines := list(_broken(shown, room, size, bold))) > max_lines and length > size:
        shown = shortened(text, length, size, bold)
        length *= 0.9
    return lines[:max_lines]


def terms_wrapped(text: str, room: float, size: float, max_lines: int = 7) -> list[str]:
    """Break a formula in bold into lines before its signs and bounds; those beyond `max_lines` are left out."""
    lines = [""]
    for part in _TERMS.split(one_line(text)):
        if lines[-1] and text_width(f"{lines[-1]} {part}", size, True) > room:
            lines.append(part)
        else:
            lines[-1] = f"{lines[-1]} {part}".lstrip()
    return lines if len(lines) <= max_lines else [*lines[: max_lines - 1], f"{lines[max_lines - 1]} {ELLIPSIS}"]


def _broken(text: str, room: float, size: float, bold: bool) -> Iterator[str]:
    line = ""
    for part in _PARTS.findall(text):
        if text_width((line + part).rstrip(), size, bold) <= room:
            line += part
            continue
        if line:
            yield line.strip()
        line = ""
        for character in part:  # a part that is too long itself is broken anywhere
            if line and text_width((line + character).rstrip(), size, bold) > room:
                yield line
                line = ""
            line += character
    yield line.strip()


def distinct(names: Sequence[str], room: float, size: float) -> dict[str, str]:
    """Shorten names to the width `room` in such a way that different names remain different.

    Names that are too long lose the beginning that all of them share; then they are shortened in the middle.  If some still read
    alike, they are reduced to the part in which they differ, or numbered.
    """
    texts = {name: one_line(name) for name in dict.fromkeys(names)}
    wide = [text for text in texts.values() if text_width(text, size) > room]
    lead = _shared_lead(wide) if len(wide) > 1 else 0
    brief = {
        name: shortened(ELLIPSIS + text[lead:] if lead and text_width(text, size) > room else text, room, size)
        for name, text in texts.items()
    }
    for alike in _alike(brief):
        start = _shared_lead([texts[name] for name in alike])
        stop = min(_common([texts[name][::-1] for name in alike]), min(len(texts[name]) for name in alike) - start - 1)
        for name in alike:
            brief[name] = shortened(f"{ELLIPSIS}{texts[name][start : len(texts[name]) - stop]}{ELLIPSIS}", room, size)
    for alike in _alike(brief):
        for number, name in enumerate(alike, 1):
            brief[name] += f" #{number}"
    return brief


def _alike(brief: Mapping[str, str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name, text in brief.items():
        groups.setdefault(text, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _common(texts: Sequence[str]) -> int:
    """Return the number of characters with which all texts begin."""
    first, last = min(texts), max(texts)
    return next((at for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), min(len(first), len(last)))


def _shared_lead(texts: Sequence[str]) -> int:
    """Return the length of the beginning that texts share, up to the end of a word; 0 if it is short."""
    shared = texts[0][: _common(texts)]
    while shared and shared[-1] not in BREAKS:
        shared = shared[:-1]
    return len(shared) if len(shared) >= LEAST_LEAD and all(len(text) > len(shared) for text in texts) else 0


def listed(names: Sequence[str], room: float, size: float, max_lines: int) -> list[str]:
    """Write names in lines, separated by commas; count those that do not fit.

    Parameters
    ----------
    names : sequence of str
        At least one.
    room, size : float
        Width of a line and size of the font, in the same unit.
    max_lines : int
        Maximum number of lines; the last one holds the count if needed.
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
