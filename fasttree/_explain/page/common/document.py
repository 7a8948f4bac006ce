"""A page as one document: a template with its style, script and data, and the policy that forbids everything else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any

from fasttree._explain.page.lean import apart, lean_markup, lean_script, lean_style
from fasttree._explain.pictures.colours import DARK, LIGHT

__all__ = ["assembled"]

PAGES = "fasttree._explain.page"
_MARKS = re.compile(r"\{\{(\w+)\}\}")
_SHARED = re.compile(r"\{\{(common/\w+)\}\}\n")  # markup of several pages, by its name


def assembled(title: str, data: Any, *, template: str, scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Write a document that needs no other file and no network.

    Parameters
    ----------
    title : str
    data : dict
        What the scripts read, as plain values.
    template : str
        Name of the markup, with marks for the other parts.
    scripts, styles : sequence of str
        Names of the files, without endings, in their order; all relative to the folder of the pages.
    """
    read = _reader()
    # marks within the inserted texts are not replaced
    style = lean_style(_variables() + "".join(read(f"{name}.css") for name in styles))
    script = lean_script("".join(read(f"{part}.js") for part in scripts))
    # allow only this script and this style, images within the page (the drawing, to become a PNG), and no connections
    policy = f"default-src 'none'; img-src data:; script-src {_hash(script)}; style-src {_hash(style)}; "
    policy += "base-uri 'none'; form-action 'none'"
    # without "<", the data cannot end their element
    embedded = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    parts = {"title": html.escape(title), "policy": policy, "style": style, "script": script, "data": embedded}
    markup = _SHARED.sub(lambda mark: read(f"{mark[1]}.html"), read(f"{template}.html"))
    return _MARKS.sub(lambda mark: parts[mark[1]], lean_markup(markup))


def _reader() -> Callable[[str], str]:
    """Return what reads a file by its name: itself, or from the one in which a wheel has all of them (`setup.py`)."""
    folder = resources.files(PAGES)
    of_wheel = folder / "parts.txt"
    if of_wheel.is_file():
        return apart(of_wheel.read_text(encoding="utf-8")).__getitem__
    return lambda name: (folder / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _variables() -> str:
    """Return the light and dark colours of all pictures as variables of the style."""
    pairs = zip(vars(LIGHT).items(), vars(DARK).values(), strict=True)
    return f":root {{ {' '.join(f'--{name}: light-dark({light}, {dark});' for (name, light), dark in pairs)} }}\n"
