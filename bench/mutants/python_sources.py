"""Write mutants into Python's trees: `a <= b` becomes `a < b if fasttree_is(7) else a <= b`; 7 is chosen when the code runs."""

import ast
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from .places import ARITHMETIC, COMPARISONS, EXTREMES, Chosen, Mutant

OPERATORS: dict[str, Any] = {
    "<=": ast.LtE,
    ">=": ast.GtE,
    "<": ast.Lt,
    ">": ast.Gt,
    "==": ast.Eq,
    "!=": ast.NotEq,
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "&": ast.BitAnd,
    "|": ast.BitOr,
}
SIGNS = {kind: sign for sign, kind in OPERATORS.items()}


class Mutating(ast.NodeTransformer):
    """Put the chosen operators behind switches.  Annotations, default values and code outside of functions do not change."""

    def __init__(self, path: str, chosen: Chosen) -> None:
        self.path, self.chosen, self.inside = path, chosen, False

    def visit(self, node: ast.AST) -> Any:
        """Visit what is below a node, and put switches around it."""
        if isinstance(node, ast.FunctionDef):
            before, self.inside = self.inside, True
            node.body = [self.visit(each) for each in node.body]
            self.inside = before
            return node
        if isinstance(node, ast.AnnAssign):
            node.value = self.visit(node.value) if node.value else None
            return node
        found = []
        if self.inside:
            for change, other in alternatives(node):
                place = node.test if isinstance(node, ast.If) else node
                number = self.chosen.number(Mutant(self.path, place.lineno, place.end_col_offset or 0, change))
                if number:
                    found.append((number, other))
        self.generic_visit(node)
        asks = isinstance(node, ast.If | ast.IfExp)
        for number, other in found:
            if asks:
                node.test = switched(number, node.test, other)
            else:
                node = switched(number, node, other)
        return ast.fix_missing_locations(node)


def alternatives(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Name the changes of a node, each with the changed node."""
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            sign = SIGNS.get(type(operator), "")
            for other in COMPARISONS.get(sign, ()):
                copy = deepcopy(node)
                copy.ops[at] = OPERATORS[other]()
                yield f"{'second ' if at else ''}{sign} -> {other}", copy
    elif isinstance(node, ast.BoolOp):
        name, other_kind = ("and -> or", ast.Or) if isinstance(node.op, ast.And) else ("or -> and", ast.And)
        yield name, ast.BoolOp(other_kind(), deepcopy(node.values))
    elif isinstance(node, ast.BinOp):
        yield from sums(node)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in EXTREMES:
        other = EXTREMES[node.func.id]
        yield f"{node.func.id} -> {other}", ast.Call(ast.Name(other, ast.Load()), deepcopy(node.args), deepcopy(node.keywords))
    elif isinstance(node, ast.AugAssign) and SIGNS.get(type(node.op), "") in ("+", "-"):
        sign = SIGNS[type(node.op)]
        other = ARITHMETIC[sign]
        yield f"{sign}= -> {other}=", ast.AugAssign(deepcopy(node.target), OPERATORS[other](), deepcopy(node.value))
    elif isinstance(node, ast.If | ast.IfExp) and not isinstance(node.test, ast.Compare):
        yield "if -> if not", ast.UnaryOp(ast.Not(), deepcopy(node.test))
    elif isinstance(node, ast.Continue | ast.Break):
        yield f"{type(node).__name__.lower()} -> pass", ast.Pass()


def sums(node: ast.BinOp) -> Iterator[tuple[str, Any]]:
    """Name the changes of arithmetic: of a neighbour's index, or of the operator."""
    sign = SIGNS.get(type(node.op), "")
    if sign not in ARITHMETIC:
        return
    left, right, other = node.left, node.right, ARITHMETIC[sign]
    if sign in "+-" and isinstance(right, ast.Constant) and right.value == 1:
        yield f"{sign} 1 -> nothing", deepcopy(left)
        yield f"{sign} 1 -> {other} 1", ast.BinOp(deepcopy(left), OPERATORS[other](), deepcopy(right))
        yield f"{sign} 1 -> {sign} 2", ast.BinOp(deepcopy(left), OPERATORS[sign](), ast.Constant(2))
    else:
        yield f"{sign} -> {other}", ast.BinOp(deepcopy(left), OPERATORS[other](), deepcopy(right))


def switched(number: int, node: Any, other: Any) -> Any:
    """Choose between a node and another when the code runs."""
    chosen = ast.Call(ast.Name("fasttree_is", ast.Load()), [ast.Constant(number)], [])
    choice = ast.If(chosen, [other], [node]) if isinstance(node, ast.stmt) else ast.IfExp(chosen, other, node)
    return ast.copy_location(choice, node)


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """All mutants of a Python file."""
    chosen = Chosen(None)
    Mutating(path.relative_to(root).as_posix(), chosen).visit(ast.parse(path.read_text(encoding="utf-8")))
    return chosen.found


def rewrite(path: Path, root: Path, chosen: Chosen) -> None:
    """Write the chosen mutants into a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    path.write_text(ast.unparse(Mutating(path.relative_to(root).as_posix(), chosen).visit(tree)) + "\n", encoding="utf-8")
