"""Size expressions: lengths, bounds and addresses over named integers."""

from __future__ import annotations

from collections.abc import Mapping

from storel.errors import FormatError
from storel.functions import Domain
from storel.syntax.nodes.expressions import Binary, Call, Expression, Name, Number, Unary
from storel.syntax.spelling import CALLS, OPERATORS


def evaluate_size(expression: Expression, sizes: Mapping[str, int]) -> int:
    """Return the value of an integer expression; raises FormatError if it is none.

    >>> from storel.syntax.nodes.expressions import Binary, Name, Number
    >>> evaluate_size(Binary("+", Name("m"), Number(1)), {"m": 4})
    5
    """
    match expression:
        case Number(int() as value):
            return value
        case Name(name) if name in sizes:
            return sizes[name]
        case Unary("-", operand):
            return -evaluate_size(operand, sizes)
        case Binary(operator, left, right):
            return _apply(operator, evaluate_size(left, sizes), evaluate_size(right, sizes), expression)
        case Call(Name("min" | "max" as name), arguments):
            values = [evaluate_size(argument, sizes) for argument in arguments]
            return min(values) if name == "min" else max(values)
        case Call(Name(name), arguments) if name in CALLS and CALLS[name].domain is Domain.INTEGERS:
            return int(CALLS[name].meaning(*(evaluate_size(argument, sizes) for argument in arguments)))
        case _:
            raise FormatError(
                "a size must be an integer expression over extents and parameters", span=expression.span
            )


def _apply(operator: str, left: int, right: int, expression: Binary) -> int:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "//" if right != 0:
            return left // right
        case "%" if right != 0:
            return left % right
        case "//" | "%":
            raise FormatError("a size is divided by 0", span=expression.span)
        case _ if operator in OPERATORS and OPERATORS[operator].domain is Domain.INTEGERS:
            return int(OPERATORS[operator].meaning(left, right))
        case _:
            raise FormatError(f"'{operator}' cannot be used in a size", span=expression.span)


def solved_size(expression: Expression, value: int, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the value of the one name in a linear expression that is not known yet; {} if there is none.

    >>> from storel.syntax.nodes.expressions import Binary, Name
    >>> solved_size(Binary("*", Name("rows"), Name("f")), 12, {"f": 4})
    {'rows': 3}
    """
    unknown = sorted(free_size_names(expression) - sizes.keys())
    if len(unknown) != 1:
        return {}
    (name,) = unknown
    at_none, at_one = (evaluate_size(expression, {**sizes, name: number}) for number in (0, 1))
    found = (value - at_none) // (at_one - at_none) if at_one != at_none else 0
    return {name: found} if evaluate_size(expression, {**sizes, name: found}) == value else {}


def free_size_names(expression: Expression) -> frozenset[str]:
    """Return the names in a size expression."""
    match expression:
        case Name(name):
            return frozenset((name,))
        case Unary(_, operand):
            return free_size_names(operand)
        case Binary(_, left, right):
            return free_size_names(left) | free_size_names(right)
        case Call(_, arguments):
            return frozenset[str]().union(*(free_size_names(argument) for argument in arguments))
        case _:
            return frozenset()


def is_same_size(one: Expression, other: Expression) -> bool:
    """Return whether two integer expressions are the same polynomial, tried at a few distinct points."""
    names = sorted(free_size_names(one) | free_size_names(other))
    try:
        for seed in (3, 17, 101):
            point = {name: (seed * (number + 2) ** 3) % 997 + 1 for number, name in enumerate(names)}
            if evaluate_size(one, point) != evaluate_size(other, point):
                return False
    except FormatError:
        return False
    return True
