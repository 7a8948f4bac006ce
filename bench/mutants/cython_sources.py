"""Write mutants into Cython's trees: `a <= b` becomes `a < b if fasttree_is(7) else a <= b`; 7 is chosen when the code runs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from Cython.Compiler import ExprNodes, Nodes, Parsing
from Cython.Compiler.StringEncoding import EncodedString
from Cython.Compiler.TreeFragment import TreeCopier, parse_from_strings
from Cython.Compiler.Visitor import VisitorTransform

from .places import ARITHMETIC, COMPARISONS, EXTREMES, Chosen, Mutant

# What each source needs to call the switch.  The variables are in a library that is loaded before.
DECLARATION = '''

cdef extern from *:
    """
    #ifndef FASTTREE_MUTANT
    #define FASTTREE_MUTANT
    extern const int fasttree_mutant;
    extern unsigned char fasttree_reached[];
    static inline int fasttree_is(int number) { fasttree_reached[number] = 1; return fasttree_mutant == number; }
    #endif
    """
    bint fasttree_is(int number) noexcept nogil
'''

Alternative = tuple[str, Callable[[Any], Any]]


class Mutating(VisitorTransform):
    """Give the chosen operators of function bodies a switch; declarations, types and what is decided in compilation stay."""

    def __init__(self, path: str, chosen: Chosen) -> None:
        super().__init__()
        self.path, self.chosen, self.inside = path, chosen, False

    def visit_Node(self, node: Any) -> Any:  # Cython's name
        """Visit what is below a node, and put switches around it."""
        found = []
        if self.inside:
            for change, make in alternatives(node):
                number = self.chosen.number(Mutant(self.path, node.pos[1], node.pos[2], change))
                if number:
                    found.append((number, make(TreeCopier().visit(node))))
        self.visitchildren(node)
        for number, other in found:
            node = switched(number, node, other)
        return node

    def visit_FuncDefNode(self, node: Any) -> Any:
        """Visit the body of a function alone."""
        before, self.inside = self.inside, True
        node.body = self.visit(node.body)
        self.inside = before
        return node

    def visit_IfClauseNode(self, node: Any) -> Any:
        """Leave out conditions on types, which must be constant."""
        if not asks_types(node.condition):
            return self.visit_Node(node)
        node.body = self.visit(node.body)
        return node

    def visit_CondExprNode(self, node: Any) -> Any:
        """Leave out conditions on types, which must be constant."""
        if not asks_types(node.condition):
            return self.visit_Node(node)
        node.true_val, node.false_val = self.visit(node.true_val), self.visit(node.false_val)
        return node

    def unchanged(self, node: Any) -> Any:
        """Leave a node and all below it as it is."""
        return node

    visit_CArrayDeclaratorNode = visit_CFuncDeclaratorNode = visit_CBaseTypeNode = visit_CEnumDefNode = unchanged
    visit_CStructOrUnionDefNode = unchanged


def asks_types(condition: Any) -> bool:
    """Whether a condition asks which type a function is compiled for, or whether an object is another."""
    if isinstance(condition, ExprNodes.PrimaryCmpNode):
        return condition.operator not in COMPARISONS
    if isinstance(condition, ExprNodes.BoolBinopNode):
        return asks_types(condition.operand1) or asks_types(condition.operand2)
    return isinstance(condition, ExprNodes.NotNode) and asks_types(condition.operand)


def alternatives(node: Any) -> Iterator[Alternative]:
    """Name the changes of a node, each with what makes the changed node of a copy."""
    if isinstance(node, ExprNodes.PrimaryCmpNode | ExprNodes.CascadedCmpNode):
        yield from comparisons(node)
    elif isinstance(node, ExprNodes.BoolBinopNode):
        other = {"and": "or", "or": "and"}[node.operator]
        yield f"{node.operator} -> {other}", lambda copy: changed(copy, operator=other)
    elif isinstance(node, ExprNodes.AddNode | ExprNodes.SubNode | ExprNodes.MulNode | ExprNodes.IntBinopNode):
        yield from sums(node)
    elif isinstance(node, ExprNodes.SimpleCallNode) and getattr(node.function, "name", None) in EXTREMES:
        other = EXTREMES[node.function.name]
        yield f"{node.function.name} -> {other}", lambda copy: changed(copy, function=named(copy.function.pos, other))
    elif isinstance(node, Nodes.InPlaceAssignmentNode) and node.operator in "+-":
        other = ARITHMETIC[node.operator]
        yield f"{node.operator}= -> {other}=", lambda copy: changed(copy, operator=other)
    elif isinstance(node, Nodes.IfClauseNode) and not isinstance(node.condition, ExprNodes.PrimaryCmpNode):
        yield "if -> if not", lambda copy: ExprNodes.NotNode(copy.pos, operand=copy.condition)
    elif isinstance(node, Nodes.ContinueStatNode | Nodes.BreakStatNode):
        name = "continue" if isinstance(node, Nodes.ContinueStatNode) else "break"
        yield f"{name} -> pass", lambda copy: Nodes.PassStatNode(copy.pos)


def comparisons(node: Any) -> Iterator[Alternative]:
    """Name the changes of a comparison, or of its second operator where it has two."""
    primary = isinstance(node, ExprNodes.PrimaryCmpNode)
    for other in COMPARISONS.get(node.operator, ()) if primary else ():
        yield f"{node.operator} -> {other}", lambda copy, other=other: changed(copy, operator=other)
    if primary and node.cascade is not None:
        for other in COMPARISONS.get(node.cascade.operator, ()):

            def second(copy: Any, other: str = other) -> Any:
                copy.cascade.operator = other
                return copy

            yield f"second {node.cascade.operator} -> {other}", second


def sums(node: Any) -> Iterator[Alternative]:
    """Name the changes of arithmetic: of a neighbour's index, or of the operator."""
    operator = node.operator
    one = isinstance(node.operand2, ExprNodes.IntNode) and node.operand2.value == "1"
    if operator in "+-" and one:
        other = ARITHMETIC[operator]
        yield f"{operator} 1 -> nothing", lambda copy: copy.operand1
        yield f"{operator} 1 -> {other} 1", lambda copy: binary(copy, other)
        yield f"{operator} 1 -> {operator} 2", lambda copy: changed(copy, operand2=ExprNodes.IntNode(copy.pos, value="2"))
    elif operator in ARITHMETIC:
        yield f"{operator} -> {ARITHMETIC[operator]}", lambda copy: binary(copy, ARITHMETIC[operator])


def changed(node: Any, **parts: Any) -> Any:
    """Set parts of a node."""
    for name, part in parts.items():
        setattr(node, name, part)
    return node


def binary(node: Any, operator: str) -> Any:
    """Another operator between the operands of a node."""
    return ExprNodes.binop_node(node.pos, operator, node.operand1, node.operand2)


def named(pos: Any, name: str) -> Any:
    """A name, as a node."""
    return ExprNodes.NameNode(pos, name=EncodedString(name))


def switched(number: int, node: Any, other: Any) -> Any:
    """Choose between a node and another when the code runs."""
    arguments = [ExprNodes.IntNode(node.pos, value=str(number))]
    chosen = ExprNodes.SimpleCallNode(node.pos, function=named(node.pos, "fasttree_is"), args=arguments)
    if isinstance(node, Nodes.IfClauseNode):
        kept = ExprNodes.NotNode(node.pos, operand=ExprNodes.NotNode(node.pos, operand=node.condition))
        return changed(node, condition=ExprNodes.CondExprNode(node.pos, condition=chosen, true_val=other, false_val=kept))
    if isinstance(node, Nodes.StatNode):
        clause = Nodes.IfClauseNode(node.pos, condition=chosen, body=other)
        return Nodes.IfStatNode(node.pos, if_clauses=[clause], else_clause=node)
    return ExprNodes.CondExprNode(node.pos, condition=chosen, true_val=other, false_val=node)


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """All mutants of a header or a module."""
    chosen = Chosen(None)
    tree = parse_from_strings(path.stem, path.read_text(encoding="utf-8"), level="module")
    Mutating(path.relative_to(root).as_posix(), chosen).visit(tree)
    return chosen.found


def declare(path: Path) -> None:
    """Let a source call the switch."""
    path.write_text(path.read_text(encoding="utf-8") + DECLARATION, encoding="utf-8")


def install(chosen: Chosen, root: Path) -> None:
    """Let Cython's parser write the chosen mutants into the sources of a folder."""
    parse = Parsing.p_module
    files = {mutant.path for mutant in chosen.numbers or ()}

    def p_module(scanner: Any, *arguments: Any, **more: Any) -> Any:
        tree = parse(scanner, *arguments, **more)
        path = Path(tree.pos[0].get_filenametable_entry())
        name = (root / path).resolve()
        if name.is_relative_to(root) and name.relative_to(root).as_posix() in files:
            Mutating(name.relative_to(root).as_posix(), chosen).visit(tree)
        return tree

    Parsing.p_module = p_module
