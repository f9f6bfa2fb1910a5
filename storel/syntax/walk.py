"""The children of expressions; nothing here knows of scopes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from storel.syntax.nodes.expressions import (
    Binary,
    BlankRange,
    Call,
    Comprehension,
    EmptyDictionary,
    Expression,
    Extent,
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
)


def map_children(expression: Expression, function: Callable[[Expression], Expression]) -> Expression:
    """Rebuild ``expression`` with ``function`` applied to each direct subexpression, as in the text."""
    match expression:
        case Name() | Number() | Truth() | Text() | EmptyDictionary() | BlankRange():
            return expression
        case Sum(generators, body, where):
            generators = tuple(replace(each, source=function(each.source)) for each in generators)
            where = tuple(replace(each, range=function(each.range)) for each in where)
            return replace(expression, generators=generators, where=where, body=function(body))
        case Comprehension(_, generators, body):
            generators = tuple(replace(each, source=function(each.source)) for each in generators)
            return replace(expression, generators=generators, body=None if body is None else function(body))
        case Singleton(keys, value):
            return replace(expression, keys=tuple(map(function, keys)), value=function(value))
        case Call(called, arguments):
            return replace(expression, function=function(called), arguments=tuple(map(function, arguments)))
        case Range(low, high):
            return replace(expression, low=function(low), high=function(high))
        case Let(_, value, body):
            return replace(expression, value=function(value), body=function(body))
        case If(condition, positive, negative):
            condition, positive = function(condition), function(positive)
            return If(condition, positive, None if negative is None else function(negative), expression.span)
        case Binary(_, left, right):
            return replace(expression, left=function(left), right=function(right))
        case Unary(_, operand):
            return replace(expression, operand=function(operand))
        case Merge(_, _, _, left, right, body):
            return replace(expression, left=function(left), right=function(right), body=function(body))
        case Unique(key):
            return replace(expression, key=function(key))
        case Extent(tensor):
            return replace(expression, tensor=function(tensor))
        case Mapped(_, mapping):
            return replace(expression, mapping=function(mapping))


def children(expression: Expression) -> list[Expression]:
    """Return the direct subexpressions, in the order of the text."""
    found: list[Expression] = []

    def note(child: Expression) -> Expression:
        found.append(child)
        return child

    map_children(expression, note)
    return found
