"""Renaming and substitution in the small language of mappings and sizes.

Binders of a mapping are renamed apart before anything is substituted, so that nothing is captured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from storel.syntax.nodes.expressions import (
    Binary,
    Call,
    Expression,
    Generator,
    If,
    Let,
    Name,
    Range,
    Singleton,
    Sum,
    Unary,
)


def rename(expression: Expression, names: Mapping[str, str]) -> Expression:
    """Replace free names; inner binders hide outer ones.

    >>> rename(Binary("+", Name("i"), Name("n")), {"i": "p0"})
    Binary(operator='+', left=Name(name='p0'), right=Name(name='n'))
    """
    replacements: dict[str, Expression] = {old: Name(new) for old, new in names.items()}
    return _replace(expression, replacements)


def substitute(expression: Expression, name: str, value: Expression) -> Expression:
    """Replace the free name by an expression."""
    return _replace(expression, {name: value})


def _replace(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    if not values:
        return expression

    def inside(child: Expression) -> Expression:
        return _replace(child, values)

    match expression:
        case Name(name):
            return values.get(name, expression)
        case Sum(generators, body):
            return _replace_sum(expression, generators, body, values)
        case Let(binder, value, body):
            hidden = _without(values, [binder.name])
            return replace(expression, value=inside(value), body=_replace(body, hidden))
        case _:
            return _map(expression, inside)


def _replace_sum(
    node: Sum, generators: tuple[Generator, ...], body: Expression, values: Mapping[str, Expression]
) -> Expression:
    changed: list[Generator] = []
    for generator in generators:
        changed.append(replace(generator, source=_replace(generator.source, values)))
        values = _without(values, [*(key.name for key in generator.keys), generator.value.name])
    return replace(node, generators=tuple(changed), body=_replace(body, values))


def _without(values: Mapping[str, Expression], names: list[str | None]) -> dict[str, Expression]:
    return {name: value for name, value in values.items() if name not in names}


def _map(expression: Expression, function: Callable[[Expression], Expression]) -> Expression:
    """Apply ``function`` to the children of an expression without binders."""
    match expression:
        case Singleton(keys, value):
            return replace(expression, keys=tuple(map(function, keys)), value=function(value))
        case Call(head, arguments):
            return replace(expression, function=function(head), arguments=tuple(map(function, arguments)))
        case Range(low, high):
            return replace(expression, low=function(low), high=function(high))
        case If(condition, positive, negative):
            otherwise = None if negative is None else function(negative)
            return replace(
                expression, condition=function(condition), positive=function(positive), negative=otherwise
            )
        case Binary(_, left, right):
            return replace(expression, left=function(left), right=function(right))
        case Unary(_, operand):
            return replace(expression, operand=function(operand))
        case _:
            return expression
