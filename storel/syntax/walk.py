"""The direct subexpressions of an expression, and the names that it binds around each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from storel.syntax.nodes.expressions import (
    Binary,
    Binder,
    BlankRange,
    Call,
    Comprehension,
    EmptyDictionary,
    Expression,
    Extent,
    Generator,
    If,
    Let,
    Mapped,
    Merge,
    Name,
    Number,
    Range,
    Singleton,
    Sum,
    Text,
    Truth,
    Unary,
    Unique,
    Window,
)

Names: TypeAlias = frozenset[str]

NONE: Names = frozenset()


def map_children(expression: Expression, function: Callable[[Expression], Expression]) -> Expression:
    """Rebuild ``expression`` with ``function`` applied to each direct subexpression, as in the text."""
    return map_scoped(expression, NONE, lambda child, _: function(child))


def map_scoped(
    expression: Expression, bound: Names, function: Callable[[Expression, Names], Expression]
) -> Expression:
    """Rebuild ``expression`` with ``function`` applied to each direct subexpression.

    ``function`` is told which names are bound there: those ``bound`` around ``expression``, and its own.
    """

    def inside(child: Expression) -> Expression:
        return function(child, bound)

    match expression:
        case Name() | Number() | Truth() | Text() | EmptyDictionary() | BlankRange():
            return expression
        case Sum(generators, body, where):
            generators, inner = _map_generators(generators, bound, function)
            where = tuple(replace(each, range=inside(each.range)) for each in where)
            return replace(expression, generators=generators, where=where, body=function(body, inner))
        case Comprehension(_, generators, body):
            generators, inner = _map_generators(generators, bound, function)
            body = None if body is None else function(body, inner)
            return replace(expression, generators=generators, body=body)
        case Singleton(keys, value):
            return replace(expression, keys=tuple(map(inside, keys)), value=inside(value))
        case Call(called, arguments):
            return replace(expression, function=inside(called), arguments=tuple(map(inside, arguments)))
        case Range(low, high):
            return replace(expression, low=inside(low), high=inside(high))
        case Let(binder, value, body):
            return replace(expression, value=inside(value), body=function(body, bound | _names(binder)))
        case If(condition, positive, negative):
            condition, positive = inside(condition), inside(positive)
            return If(condition, positive, None if negative is None else inside(negative), expression.span)
        case Binary(_, left, right):
            return replace(expression, left=inside(left), right=inside(right))
        case Unary(_, operand):
            return replace(expression, operand=inside(operand))
        case Merge(p, q, key, left, right, body):
            left, right = inside(left), inside(right)
            return replace(expression, left=left, right=right, body=function(body, bound | _names(p, q, key)))
        case Window(_, ordered, within):
            ordered = None if ordered is None else inside(ordered)
            return replace(expression, ordered=ordered, within=tuple(map(inside, within)))
        case Unique(key):
            return replace(expression, key=inside(key))
        case Extent(tensor):
            return replace(expression, tensor=inside(tensor))
        case Mapped(_, mapping):
            return replace(expression, mapping=inside(mapping))


def children(expression: Expression) -> list[Expression]:
    """Return the direct subexpressions, in the order of the text."""
    return [child for child, _ in scoped_children(expression)]


def scoped_children(expression: Expression) -> list[tuple[Expression, Names]]:
    """Return the direct subexpressions, each with the names that ``expression`` binds around it.

    Most expressions are of the first few kinds, and to list those takes a tenth of the time to rebuild them.
    """
    found: list[tuple[Expression, Names]] = []

    def note(child: Expression, bound: Names) -> Expression:
        found.append((child, bound))
        return child

    match expression:
        case Name() | Number():
            pass
        case Binary(_, left, right):
            found = [(left, NONE), (right, NONE)]
        case Call(called, arguments):
            found = [(each, NONE) for each in (called, *arguments)]
        case _:
            map_scoped(expression, NONE, note)
    return found


def _map_generators(
    generators: tuple[Generator, ...], bound: Names, function: Callable[[Expression, Names], Expression]
) -> tuple[tuple[Generator, ...], Names]:
    """Rebuild the generators of a loop, each of which binds to its right; return what the body sees, too."""
    changed: list[Generator] = []
    for generator in generators:
        changed.append(replace(generator, source=function(generator.source, bound)))
        bound |= _names(*generator.keys, generator.value)
    return tuple(changed), bound


def _names(*binders: Binder) -> Names:
    return frozenset(binder.name for binder in binders if binder.name is not None)
