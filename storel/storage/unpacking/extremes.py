"""How small and how large expressions of vectors become: interval arithmetic on whole numbers.

What is proven of the extremes is not computed for each entry, and what stays small is computed in 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from storel.syntax.nodes.expressions import Binary, Call, Expression, Name, Number, Unary

Interval: TypeAlias = tuple[int, int]
"""The least and the greatest value, or numbers below and above them."""

Known: TypeAlias = Callable[[str], "Interval | None"]
"""What is known of a name's values."""

LARGEST_INT32 = 2**31 - 1


def interval(expression: Expression, known: Known, largest: int | None = None) -> Interval | None:
    """Return between which numbers the values of an expression lie.

    None if that is not known, or if some part of the expression may be beyond ``largest`` or its negative.

    >>> from storel.source import Source
    >>> from storel.syntax.parser import parse_expression
    >>> interval(parse_expression(Source("", "min(4, i * 2 - 1)")), {"i": (0, 3)}.get)
    (-1, 4)
    """
    found = _interval(expression, known, largest)
    if found is None or largest is None or -largest <= found[0] <= found[1] <= largest:
        return found
    return None


def is_always(condition: Expression, known: Known) -> bool:
    """Return whether it is proven that a condition holds."""
    match condition:
        case Binary("and", left, right):
            return is_always(left, known) and is_always(right, known)
        case Binary("<=" | "<" as operator, left, right) | Binary(">=" | ">" as operator, right, left):
            found = interval(Binary("-", right, left), known)
            return found is not None and found[0] >= (1 if operator in ("<", ">") else 0)
        case _:
            return False


def are_within(expression: Expression, known: Known, largest: int) -> bool:
    """Return whether no number that an expression or a condition is computed from is beyond ``largest``."""
    match expression:
        case Binary("and" | "or" | "<" | "<=" | ">" | ">=" | "==" | "!=", left, right):
            return are_within(left, known, largest) and are_within(right, known, largest)
        case _:
            return interval(expression, known, largest) is not None


def _interval(expression: Expression, known: Known, largest: int | None) -> Interval | None:
    parts: list[Interval] = []
    for each in _operands(expression):
        part = interval(each, known, largest)
        if part is None:
            return None
        parts.append(part)
    match expression:
        case Number(int(value)):
            return value, value
        case Name(name):
            return known(name)
        case Unary("-"):
            return -parts[0][1], -parts[0][0]
        case Binary(operator) if operator in _OPERATORS:
            return _OPERATORS[operator](*parts)
        case Call(Name("min")):
            return min(low for low, _ in parts), min(high for _, high in parts)
        case Call(Name("max")):
            return max(low for low, _ in parts), max(high for _, high in parts)
        case _:
            return None


def _operands(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Unary(_, operand):
            return (operand,)
        case Binary(_, left, right):
            return left, right
        case Call(_, arguments):
            return arguments
        case _:
            return ()


def _sum(one: Interval, other: Interval) -> Interval:
    return one[0] + other[0], one[1] + other[1]


def _difference(one: Interval, other: Interval) -> Interval:
    return one[0] - other[1], one[1] - other[0]


def _product(one: Interval, other: Interval) -> Interval:
    corners = [a * b for a in one for b in other]
    return min(corners), max(corners)


def _quotient(one: Interval, other: Interval) -> Interval | None:
    if other[0] <= 0:
        return None
    corners = [a // b for a in one for b in other]
    return min(corners), max(corners)


def _remainder(_: Interval, other: Interval) -> Interval | None:
    return (0, other[1] - 1) if other[0] > 0 else None


_OPERATORS: dict[str, Callable[[Interval, Interval], Interval | None]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "//": _quotient,
    "%": _remainder,
}
