"""Write stubs of the modules that define estimators, with complete docstrings, for editors, which run no code.

python .ci/write_stubs.py folder

The source of an estimator has its parameters in groups, and `parameters` composes the docstring when the module is imported.  An
editor that only reads the source misses that docstring and the defaults.  A stub is the source with both put in, and without the
bodies of functions.  All are written into `_stubs.pyi`: texts that estimators share take less space in a wheel.  The stubs
of modules take their names from there.  `folder` is the root of the sources that are then packaged.  The package itself is
imported as installed.
"""

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from fasttree.estimators.common.registry import ESTIMATORS

HEAD = "# Written by .ci/write_stubs.py from the module beside it.\n\n"


def with_text(body: list[ast.stmt], docstring: str | None) -> list[ast.stmt]:
    """Return a body with this docstring in place of its own."""
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    return [ast.Expr(ast.Constant(docstring)), *body] if docstring else body


class Stub(ast.NodeTransformer):
    """Turns the source of a module into its stub."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.owner: Any = None

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Put in the docstring that `parameters` has composed, and the defaults."""
        self.owner = getattr(self.module, node.name)
        node.body = with_text([self.visit(each) for each in node.body], inspect.getdoc(self.owner))
        self.owner = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Put in the default of a parameter."""
        if is_dataclass(self.owner) and isinstance(node.target, ast.Name) and node.value is not None:
            defaults: dict[str, Any] = {each.name: each.default for each in fields(self.owner)}
            if node.target.id in defaults:
                default = defaults[node.target.id]
                is_choice_of_heirs = default is None and "None" not in ast.unparse(node.annotation)
                node.value = ast.Constant(... if is_choice_of_heirs else default)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Drop the body, but not the docstring."""
        node.body = [*with_text([], ast.get_docstring(node)), ast.Expr(ast.Constant(...))]
        return node


def modules() -> Iterator[ModuleType]:
    """Yield each module that defines an estimator."""
    for name in dict.fromkeys(entry.module for entry in ESTIMATORS):
        yield importlib.import_module(f"fasttree.estimators.{name}")


def names_of(node: ast.stmt) -> list[str]:
    """Return the names that a statement at the top of a module defines."""
    match node:
        case ast.ClassDef() | ast.FunctionDef():
            return [node.name]
        case ast.Assign():
            return [each.id for each in node.targets if isinstance(each, ast.Name)]
        case ast.AnnAssign(target=ast.Name()):
            return [node.target.id]
    return []


def imports_of(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield each name that a module imports, also for types alone, with the statement that imports it."""
    for node in body:
        match node:
            case ast.ImportFrom(module=source):
                yield from ((each.asname or each.name, f"from {source} import {ast.unparse(each)}") for each in node.names)
            case ast.Import():
                yield from ((each.asname or each.name, f"import {ast.unparse(each)}") for each in node.names)
            case ast.If():
                yield from imports_of(node.body)


def main(folder: str) -> None:
    """Write the stubs."""
    meanings: dict[str, str] = {}  # of all names: an import, or the module that defines them
    texts = []
    for module in modules():
        stub = ast.fix_missing_locations(Stub(module).visit(ast.parse(inspect.getsource(module))))
        own = [name for node in stub.body for name in names_of(node) if name != "__all__"]
        here = dict(imports_of(stub.body)) | dict.fromkeys(own, f"from {module.__name__} import")
        for name, meaning in here.items():
            if not meanings.setdefault(name, meaning).startswith(meaning.removesuffix(f" {name}")):
                sys.exit(f"{name} is {meaning!r} and {meanings[name]!r}: give one of them another name")
        meanings |= {name: here[name] for name in own}
        texts += [ast.unparse(node) for node in stub.body if names_of(node) not in ([], ["__all__"])]
        lines = [f"from fasttree.estimators._stubs import {name} as {name}\n" for name in own]
        Path(folder, *module.__name__.split(".")).with_suffix(".pyi").write_text(HEAD + "".join(lines), encoding="utf-8")
    body = "\n\n".join(texts)
    words = set(re.findall(r"\w+", body))
    imports = [line for name, line in meanings.items() if name in words and not line.endswith(" import")]
    text = HEAD.replace("module", "modules") + "\n".join([*imports, "", body]) + "\n"
    Path(folder, "fasttree", "estimators", "_stubs.pyi").write_text(text, encoding="utf-8")
    print(f"{len(text):>9,} characters of {len(texts)} definitions")


if __name__ == "__main__":
    main(*sys.argv[1:])
