"""Write stubs of the modules that define estimators, with complete docstrings, for editors, which run no code.

python .ci/write_stubs.py folder

The source of an estimator has its parameters in groups, and `parameters` composes the docstring when the module is imported.  An
editor that only reads the source misses that docstring and the defaults.  A stub is the source with both put in, and without the
bodies of functions.  `folder` is the root of the sources that are then packaged; the package itself is imported as installed.
"""

import ast
import importlib
import inspect
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


def main(folder: str) -> None:
    """Write the stubs."""
    for module in modules():
        stub = Stub(module).visit(ast.parse(inspect.getsource(module)))
        text = HEAD + ast.unparse(ast.fix_missing_locations(stub)) + "\n"
        path = Path(folder, *module.__name__.split(".")).with_suffix(".pyi")
        path.write_text(text, encoding="utf-8")
        print(f"{len(text):>9,} characters  {path.name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
