"""Where in a program a kernel failed, as far as its cause tells."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from storel.errors import Cause, EvaluationError
from storel.source import NOWHERE
from storel.storage.compose import operand_of
from storel.syntax.nodes.expressions import (
    Binary,
    Call,
    Comprehension,
    Expression,
    If,
    Let,
    Mapped,
    Merge,
    Name,
    Number,
    Range,
    Singleton,
    Sum,
    Unary,
)
from storel.syntax.walk import scoped_children

_REDUCING = {"min": "minimum", "max": "maximum"}


def show_place(error: EvaluationError, expression: Expression, stored: Collection[str]) -> None:
    """Let a kernel's error show its place in the program that became the kernel, if there is but one.

    ``expression`` is the program with its views, and ``stored`` the tensors in it. Kernels know of no texts:
    a plan is hardly ever what was written.
    """
    if error.cause is Cause.KEY:
        places = {each.span for each in _entered(expression, stored)}
    else:
        parts = _parts(expression, stored)
        places = {each.span for each in parts if _may_fail(each, error)}
    if error.span is None and len(places) == 1 and NOWHERE not in places:
        error.span = places.pop()


def _entered(expression: Expression, stored: Collection[str]) -> Iterator[Expression]:
    """Yield what makes the keys of the value of ``expression``."""
    match expression:
        case Singleton():
            yield expression
        case Mapped(name) if operand_of(name) in stored:
            yield expression
        case Mapped(_, body) | Sum(body=body) | Merge(body=body) | Unary(_, body):
            yield from _entered(body, stored)
        case Let(_, one, two) | If(_, one, two) | Binary(_, one, two):
            yield from _entered(one, stored)
            if two is not None:
                yield from _entered(two, stored)
        case _:
            pass


def _parts(expression: Expression, stored: Collection[str]) -> Iterator[Expression]:
    """Yield what a user wrote: an expression and all in it, but for how tensors are stored."""
    if not isinstance(expression, Mapped) or operand_of(expression.tensor) not in stored:
        yield expression
        for child, _ in scoped_children(expression):
            yield from _parts(child, stored)


def _may_fail(expression: Expression, error: EvaluationError) -> bool:
    """Return whether the failure may be one of ``expression`` itself."""
    match expression, error.cause:
        case Binary("//" | "%", _, divisor), Cause.DIVISION:
            return not (isinstance(divisor, Number) and divisor.value)
        case (Call(Name("pow")), Cause.POWER) | (Call(Name("int")), Cause.CONVERSION):
            return True
        case Call(Name(name)), Cause.READ:
            return name == error.subject
        case Call(Range() | Call(arguments=(Range(),))), Cause.READ:
            return not error.subject
        case Comprehension(monoid), Cause.NOTHING:
            return error.subject == _REDUCING.get(monoid)
        case _:
            return False
