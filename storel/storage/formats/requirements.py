"""What a format asks of its tensor's extents and its parameters, in order: ``WHERE r >= 1, m % r == 0``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from storel.storage.formats.sizes import evaluate_size
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Binary, Expression, Truth, Unary
from storel.syntax.spelling import CALLS, OPERATORS


def first_unmet(requirements: Iterable[Expression], sizes: Mapping[str, int]) -> Expression | None:
    """Return the first requirement that does not hold; those that name more than ``sizes`` are left out.

    Raises FormatError for one that cannot be computed.
    """
    known = sizes.keys() | CALLS.keys()
    return next((each for each in requirements if free_names(each) <= known and not holds(each, sizes)), None)


def holds(condition: Expression, sizes: Mapping[str, int]) -> bool:
    """Return whether a condition of sizes is true.

    >>> from storel.source import Source
    >>> from storel.syntax.parser import parse_expression
    >>> holds(parse_expression(Source("example", "r >= 1 and m % r == 0")), {"m": 6, "r": 4})
    False
    """
    match condition:
        case Truth(value):
            return value
        case Unary("not", operand):
            return not holds(operand, sizes)
        case Binary("and", left, right):
            return holds(left, sizes) and holds(right, sizes)
        case Binary("or", left, right):
            return holds(left, sizes) or holds(right, sizes)
        case Binary("==" | "!=" | "<" | "<=" | ">" | ">=" as operator, left, right):
            return bool(OPERATORS[operator].meaning(evaluate_size(left, sizes), evaluate_size(right, sizes)))
        case _:
            return evaluate_size(condition, sizes) != 0
