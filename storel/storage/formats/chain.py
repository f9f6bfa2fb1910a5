"""A mapping as chains: loops, guards, keys and a leaf, in the order in which they nest.

    sum(<i,_> in 0:m) { i -> sum(<p,j> in idx(pos(i):pos(i+1))) { j -> val(p) } }
      =  for i in 0:m, for p in pos(i):pos(i+1), j = idx(p): key (i, j), leaf val(p)

A mapping is a sum of chains (``docs/formats.md``: How data is stored).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count

from storel.errors import FormatError
from storel.syntax.nodes.expressions import (
    Binary,
    Binder,
    Call,
    Expression,
    If,
    Let,
    Name,
    Range,
    Singleton,
    Sum,
    Unary,
)
from storel.syntax.substitution import rename, substitute
from storel.syntax.walk import children


@dataclass(frozen=True, slots=True)
class ChainLoop:
    """``position`` runs over low … high - 1; ``element``, if any, is ``array(position)``.

    ``written`` is what the mapping's text calls the two.
    """

    position: str
    low: Expression
    high: Expression
    array: str | None = None
    element: str | None = None
    written: tuple[str | None, str | None] = field(default=(None, None), compare=False)


@dataclass(frozen=True, slots=True)
class ChainGuard:
    """Only where ``condition`` holds."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Chain:
    """One product of loops and guards, the keys of the entries it makes, and their value."""

    steps: tuple[ChainLoop | ChainGuard, ...]
    keys: tuple[Expression, ...]
    leaf: Expression

    @property
    def loops(self) -> tuple[ChainLoop, ...]:
        return tuple(step for step in self.steps if isinstance(step, ChainLoop))


def chains(mapping: Expression) -> tuple[Chain, ...]:
    """Return the chains whose sum ``mapping`` is; binders are made distinct.

    Raises FormatError where the mapping has another shape, naming the part.
    """
    numbers = count()
    return tuple(_chains(mapping, Chain((), (), mapping), numbers))


def _chains(expression: Expression, so_far: Chain, numbers: count[int]) -> list[Chain]:
    match expression:
        case Sum(generators, body) if generators:
            steps, renaming = so_far.steps, {}
            for generator in generators:
                source = rename(generator.source, renaming)
                loop, renaming = _loop(generator.keys, generator.value, source, renaming, numbers)
                steps = (*steps, loop)
            inner = Chain(steps, so_far.keys, so_far.leaf)
            return _chains(rename(body, renaming), inner, numbers)
        case Singleton(keys, value):
            return _chains(value, Chain(so_far.steps, so_far.keys + keys, value), numbers)
        case If(condition, positive, None):
            guarded = Chain((*so_far.steps, ChainGuard(condition)), so_far.keys, so_far.leaf)
            return _chains(positive, guarded, numbers)
        case Let(binder, value, body):
            named = body if binder.name is None else substitute(body, binder.name, value)
            return _chains(named, so_far, numbers)
        case Binary("+", left, right):
            return _chains(left, so_far, numbers) + _chains(right, so_far, numbers)
        case Binary("-", left, right) if _makes_entries(left) and _makes_entries(right):
            return _chains(left, so_far, numbers) + _negated(_chains(right, so_far, numbers))
        case Unary("-", operand) if _makes_entries(operand):
            return _negated(_chains(operand, so_far, numbers))
        case _:
            return [Chain(so_far.steps, so_far.keys, expression)]


def _makes_entries(expression: Expression) -> bool:
    """Return whether a value is a dictionary; a difference of numbers is computed as one."""
    return isinstance(expression, Singleton) or any(map(_makes_entries, children(expression)))


def _negated(found: list[Chain]) -> list[Chain]:
    return [replace(each, leaf=_negative(each.leaf)) for each in found]


def _negative(value: Expression) -> Expression:
    match value:
        case Unary("-", operand):
            return operand
        case _:
            return Unary("-", value)


def _loop(
    keys: tuple[Binder, ...], value: Binder, source: Expression, renaming: dict[str, str], numbers: count[int]
) -> tuple[ChainLoop, dict[str, str]]:
    """Return the loop of one generator, and ``renaming`` extended by its binders."""
    if len(keys) != 1:
        raise FormatError("a mapping sums over ranges and arrays, with one key each", span=source.span)
    number = next(numbers)
    position, element = f"p {number}", f"x {number}"  # no text contains these names
    extended = dict(renaming)
    written = (keys[0].name, value.name)
    match source:
        case Range(low, high):
            loop = ChainLoop(position, low, high, written=written)
            element = position
        case Call(Name(array), (Range(low, high),)):
            loop = ChainLoop(position, low, high, array, element, written)
        case _:
            raise FormatError("a mapping sums over a range or a sub-array", span=source.span)
    if keys[0].name is not None:
        extended[keys[0].name] = position
    if value.name is not None:
        extended[value.name] = element
    return loop, extended
