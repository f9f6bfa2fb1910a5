"""Whether a rule that can be read also means something: every name in it stands for something.

What is built on the right must have been matched on the left, the semiring included:

    ?a - ?b => ?a + ?b                   nothing on the left says in which semiring + adds
    foo(?a) => ?a                        foo is the variable of no loop
    sum(<k, v> in ?R) ?a => ?R * ?b      ?b is matched nowhere
"""

from __future__ import annotations

from collections.abc import Iterator

from storel.errors import ProgramSyntaxError, StorelError, UnknownNameError, nearest
from storel.functions import FUNCTIONS
from storel.optimizer.encoding import LAYOUTS
from storel.optimizer.patterns import Bound, Hole, Node, Pattern
from storel.optimizer.rulefile import Rule
from storel.optimizer.translate import translate


def require_meaning(rule: Rule, origin: str) -> None:
    """Raise UnknownNameError or ProgramSyntaxError, naming the file, for a name that stands for nothing."""
    try:
        _require_known(rule)
        translate(rule)
    except StorelError as error:
        error.message = f"{origin}, line {rule.line}: {error.message}"
        raise


def _require_known(rule: Rule) -> None:
    if not isinstance(rule.left, Node):
        raise ProgramSyntaxError(f"rule {rule.name}: the left side matches every term", found=rule.law)
    matched = frozenset(_holes(rule.left))
    bound = _binders(rule.left)
    for side in (rule.left, rule.right):
        for name in _free(side, frozenset()):
            raise UnknownNameError(
                f"rule {rule.name}: {name} is bound by no loop",
                expected="?x for any term, or a variable of the rule's loops",
                found=rule.law,
            )
        _require_functions(rule, side)
    for guard in rule.guards:
        for argument in guard.arguments:
            unmatched = sorted({*_holes(argument)} - matched)
            unbound = sorted(set(_free(argument, bound)))
            for name in (*(f"?{each}" for each in unmatched), *unbound):
                raise UnknownNameError(
                    f"rule {rule.name}: {name} of {guard.name} is not on the left", found=rule.law
                )


def _require_functions(rule: Rule, pattern: Pattern) -> None:
    for node in _nodes(pattern):
        name = node.arguments[0] if node.constructor.startswith("Apply") else None
        if isinstance(name, str) and name not in FUNCTIONS:
            raise UnknownNameError(
                f"rule {rule.name}: there is no function {name}",
                found=rule.law,
                hint=nearest(name, FUNCTIONS),
            )


def _nodes(pattern: Pattern) -> Iterator[Node]:
    if isinstance(pattern, Node):
        yield pattern
        for argument in pattern.arguments:
            if isinstance(argument, Node):
                yield from _nodes(argument)


def _holes(pattern: Pattern) -> Iterator[str]:
    """Yield the names of what stands for any term."""
    if isinstance(pattern, Hole):
        yield pattern.name
    for node in _nodes(pattern):
        yield from (each.name for each in node.arguments if isinstance(each, Hole))


def _binders(pattern: Pattern) -> frozenset[str]:
    """Return the variables that a pattern binds somewhere."""
    return frozenset(
        argument.name
        for node in _nodes(pattern)
        for argument, kind in _arguments(node)
        if kind == "b" and isinstance(argument, Bound)
    )


def _free(pattern: Pattern, bound: frozenset[str]) -> Iterator[str]:
    """Yield the variables that are used where no loop of the pattern binds them."""
    if isinstance(pattern, Bound) and pattern.name not in bound:
        yield pattern.name
    if not isinstance(pattern, Node):
        return
    arguments = _arguments(pattern)
    inner = bound.union(each.name for each, kind in arguments if kind == "b" and isinstance(each, Bound))
    for argument, kind in arguments:
        if kind != "b" and not isinstance(argument, str | int):
            yield from _free(argument, inner if kind == "B" else bound)


def _arguments(node: Node) -> list[tuple[str | int | Pattern, str]]:
    """Return the arguments of a node, and what kind of argument each is."""
    layout = LAYOUTS.get(node.constructor, "")
    return list(zip(node.arguments, layout, strict=True))
