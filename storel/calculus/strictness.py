"""How a term depends on one of its variables: two conservative analyses.

    strict(e, v):  e[v := 0] = 0                     nothing is lost by not visiting zeros
    linear(e, v):  e[v := a ⊕ b] = e[v := a] ⊕ e[v := b], and strict(e, v)

0 is the semiring's zero for scalars and {} for dictionaries, ⊕ its sum. "Yes" is a proof, "no" is
ignorance. Both are equalities over the reals: floating-point addition keeps them up to rounding.
They decide whether stored zeros, and repeated keys, need a guard (ARCHITECTURE.md, what must stay true).
"""

from __future__ import annotations

from storel.calculus.binding import occurs
from storel.calculus.nodes import (
    Add,
    Apply,
    Empty,
    Find,
    If,
    Let,
    Literal,
    Lookup,
    Merge,
    Multiply,
    Range,
    Reduce,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Unique,
    Variable,
)
from storel.functions import FUNCTIONS
from storel.semiring import SEMIRINGS


def strict(term: Term, index: int, semiring: str = "plus_times") -> bool:
    """Return whether ``term`` is surely zero where variable ``index`` is zero.

    >>> strict(Multiply(Variable(0), Variable(1)), 0), strict(Apply("exp", (Variable(0),)), 0)
    (True, False)
    """
    return vanishes(term, 1 << index, semiring)


def vanishes(term: Term, zeros: int, semiring: str = "plus_times") -> bool:
    """Return whether ``term`` is surely zero where the variables ``zeros``, a bit for each, are zero."""
    zero = SEMIRINGS[semiring].zero

    def agrees(other: str) -> bool:
        """Whether ``other`` has the same zero, so that its operations pass it on."""
        return SEMIRINGS[other].zero == zero

    def of(child: Term, binders: int = 0) -> bool:
        return vanishes(child, zeros << binders, semiring)

    match term:
        case Variable(position):
            return bool(zeros >> position & 1)
        case Literal(value, _):
            return value == zero
        case Empty():
            return True
        case Singleton(_, value, over):
            return agrees(over) and of(value)
        case Sum(source, body, over):
            return agrees(over) and (of(source) or of(body, 2))
        case Merge(_, _, body, over):
            return agrees(over) and of(body, 3)
        case Find(_, _, body, over):
            return agrees(over) and of(body, 1)
        case Lookup(mapping, _, over):
            return agrees(over) and of(mapping)
        case Let(value, body):
            return vanishes(body, zeros << 1 | of(value), semiring)
        case If(condition, body, over):
            return agrees(over) and (of(body) or _is_false(condition, zeros, zero))
        case Add(left, right, over):
            return agrees(over) and of(left) and of(right)
        case Multiply(left, right, over):
            return agrees(over) and (of(left) or of(right))
        case Apply(name, (operand,)) if FUNCTIONS[name].conversion is not None:
            return of(operand)
        case Apply(name, arguments):
            return zero == 0 and _application_is_zero(name, arguments, zeros)
        case Reduce(monoid, source, body):
            return zero == 0 and monoid == "any" and (of(source) or of(body, 2))
        case Symbol() | Range() | Slice() | Unique():
            return False


def _is_false(condition: Term, zeros: int, zero: bool | int | float) -> bool:
    """Return whether ``condition`` is surely false where the variables ``zeros`` are ``zero``."""
    match condition:
        case Apply("not_equal", (Variable(position), Literal(value))):
            return bool(zeros >> position & 1) and value == zero
        case Apply("not_equal", (Sum(Variable(position), _, over), Literal(value))):
            return bool(zeros >> position & 1) and value == SEMIRINGS[over].zero
        case Apply("and", (left, right)):
            return _is_false(left, zeros, zero) or _is_false(right, zeros, zero)
        case Apply("or", (left, right)):
            return _is_false(left, zeros, zero) and _is_false(right, zeros, zero)
        case _:
            return zero == 0 and vanishes(condition, zeros)


def _application_is_zero(name: str, arguments: tuple[Term, ...], zeros: int) -> bool:
    """Return whether a function of ``arguments``, each of which is asked once, is surely zero."""
    function = FUNCTIONS[name]
    vanishing = [vanishes(argument, zeros) for argument in arguments]
    if any(vanishing[position] for position in function.annihilators):
        return True
    match name, arguments:
        case (("divide" | "floor_divide" | "modulo"), (_, Literal(value))):
            return value != 0 and value == value and vanishing[0]
        case "power", (_, Literal(value)):
            return value > 0 and vanishing[0]
        case (("greater" | "less" | "not_equal"), _):
            return all(vanishing)
        case "not", (Apply("equal" | "greater_equal" | "less_equal", sides),):
            return all(vanishes(side, zeros) for side in sides)
        case _:
            return function.preserves_zero and all(vanishing)


def linear(term: Term, index: int, semiring: str = "plus_times") -> bool:
    """Return whether ``term`` is surely additive and strict in variable ``index``.

    >>> square = Multiply(Variable(0), Variable(0))
    >>> linear(Multiply(Variable(1), Variable(0)), 0), linear(square, 0)
    (True, False)
    """

    def of(child: Term, binders: int = 0) -> bool:
        return linear(child, index + binders, semiring)

    def free(child: Term, binders: int = 0) -> bool:
        return not occurs(child, index + binders)

    match term:
        case Variable(position):
            return position == index
        case Literal(value, _):
            return value == SEMIRINGS[semiring].zero
        case Empty():
            return True
        case Singleton(key, value, over):
            return over == semiring and free(key) and of(value)
        case Sum(source, body, over):
            return over == semiring and (
                (free(source) and of(body, 2)) or (free(body, 2) and of(source) and linear(body, 0, semiring))
            )
        case Merge(left, right, body, over):
            return over == semiring and free(left) and free(right) and of(body, 3)
        case Find(source, key, body, over):
            return over == semiring and free(source) and free(key) and of(body, 1)
        case Lookup(mapping, key, over):
            return over == semiring and free(key) and of(mapping)
        case Let(value, body):
            return (free(value) and of(body, 1)) or (
                free(body, 1) and of(value) and linear(body, 0, semiring)
            )
        case If(condition, body, over):
            return over == semiring and free(condition) and of(body)
        case Add(left, right, over):
            return over == semiring and of(left) and of(right)
        case Multiply(left, right, over):
            return over == semiring and ((free(left) and of(right)) or (of(left) and free(right)))
        case Apply(name, (operand,)) if FUNCTIONS[name].conversion is not None:
            return of(operand)
        case Apply("negate", (operand,)):
            return semiring == "plus_times" and of(operand)
        case Apply("subtract", (left, right)):
            return semiring == "plus_times" and of(left) and of(right)
        case Apply("divide", (dividend, Literal(value))):
            return semiring == "plus_times" and value != 0 and value == value and of(dividend)
        case Apply() | Reduce() | Symbol() | Range() | Slice() | Unique():
            return False
