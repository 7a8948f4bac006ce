"""What the package promises to programs that use it, one line for each name: signatures, defaults, attributes and errors.

    python tests/helpers/public_interface.py

rewrites `tests/tables/public_interface.txt`.  A line that goes away or changes may break programs: it needs a line in
CHANGELOG.md.  Parameters of a constructor are attributes, too.
"""

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import fasttree
from fasttree import pruning

RECORD = Path(__file__).parents[1] / "tables" / "public_interface.txt"
MODULES = ("evaluation", "formats", "measures", "pruning")
_PLACE = re.compile(r"\b(?:fasttree|numpy|typing|collections\.abc|pathlib|scipy|sklearn)(?:\.\w+)*\.(\w+)")


def signature_of(function: Any) -> str:
    """Write a signature without the modules that types come from, where the implementation is free to move."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    parts = [each.replace(annotation=each.empty) for each in signature.parameters.values() if each.name != "self"]
    return _PLACE.sub(r"\1", str(signature.replace(parameters=parts, return_annotation=signature.empty)))


def errors_of(function: Any) -> str:
    """Name the exceptions that the docstring says the function raises."""
    section = re.search(r"^Raises\n-+\n((?:.*\n?)*?)(?=\n[A-Z][A-Za-z ]+\n-+\n|\Z)", inspect.getdoc(function) or "", re.MULTILINE)
    names = re.findall(r"^(\w+(?:, \w+)*)$", section[1], re.MULTILINE) if section else []
    return f" raises {', '.join(names)}" if names else ""


def attributes_of(kind: type) -> list[str]:
    """Name the attributes that the docstring of a class or the fields of a dataclass promise."""
    section = re.search(r"^Attributes\n-+\n((?:.*\n?)*?)(?=\n[A-Z][A-Za-z ]+\n-+\n|\Z)", inspect.getdoc(kind) or "", re.MULTILINE)
    named = re.findall(r"^(\w+(?:, \w+)*)(?: : .*)?$", section[1], re.MULTILINE) if section else []
    held = {field.name for field in fields(kind) if not field.name.startswith("_")} if is_dataclass(kind) else set()
    return sorted({name for line in named for name in line.split(", ")} | held - set(inspect.signature(kind).parameters))


def lines_of_class(name: str, kind: type) -> Iterator[str]:
    """Describe the constructor, attributes, properties and methods of a class."""
    yield f"{name}{signature_of(kind)}{errors_of(kind)}"
    for attribute in attributes_of(kind):
        yield f"{name}.{attribute}"
    for member, value in inspect.getmembers(kind):
        home = next((base.__module__ for base in kind.__mro__ if member in vars(base)), "")
        if member.startswith("_") or member.endswith("_request") or not home.startswith("fasttree"):
            continue  # what scikit-learn adds is its own promise
        if inspect.isroutine(value):
            yield f"{name}.{member}{signature_of(value)}{errors_of(value)}"
        elif isinstance(inspect.getattr_static(kind, member), property):
            yield f"{name}.{member} (read)"


def lines_of(name: str, value: Any) -> Iterator[str]:
    """Describe one public name."""
    if inspect.isclass(value):
        yield from lines_of_class(name, value)
    elif callable(value):
        yield f"{name}{signature_of(value)}{errors_of(value)}"
    elif isinstance(value, dict):
        yield from (f"{name}[{key!r}]" for key in value)
    elif not inspect.ismodule(value):
        yield name


def public_interface() -> str:
    """Describe all public names, sorted."""
    found = {line for name in fasttree.__all__ for line in lines_of(f"fasttree.{name}", getattr(fasttree, name))}
    for short in MODULES:
        module = importlib.import_module(f"fasttree.{short}")
        public = getattr(module, "__all__", None) or [method.__name__ for method in pruning.METHODS.values()]
        for name in public:
            found.update(lines_of(f"fasttree.{short}.{name}", getattr(module, name)))
    return "".join(f"{line}\n" for line in sorted(found))


if __name__ == "__main__":
    RECORD.write_text(public_interface(), encoding="utf-8")
