"""Two loops whose variables are the digits of one number are one loop over that number.

    for i in l:h { for j in 0:n { … b[x + c * (i * n + j)] … } }  =  for k in l * n:h * n { … b[x + c * k] … }

where neither variable occurs otherwise, and n does not change: loop coalescing (Polychronopoulos, ICPP 1987),
without the divisions that tell i and j. The iterations keep their order. Blocks that lie one after
the other are then passed over as a stream, by vector instructions if these would have been too short.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from storel.loops.dependence import assigned, changing
from storel.loops.nodes import (
    Binary,
    Constant,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    Load,
    Local,
    Role,
    Statement,
    While,
)
from storel.loops.passes.polynomials import (
    Polynomial,
    added,
    coefficient,
    expression_of,
    multiplied,
    polynomial,
)
from storel.loops.types import type_of
from storel.loops.walk import (
    all_parts,
    evaluated,
    loads_of,
    mapped,
    note,
    parts,
    rewritten,
    substituted,
    walk,
)
from storel.scalars import ScalarType

ZERO = Constant(0, ScalarType.INT64)


def coalesce(kernel: Kernel) -> Kernel:
    """Return the same kernel with fewer loops."""
    return replace(kernel, compute=replace(kernel.compute, body=_block(kernel.compute.body)))


def _block(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    return tuple(_statement(each) for each in body)


def _statement(statement: Statement) -> Statement:
    match statement:
        case For(body=body):
            loop = replace(statement, body=_block(body))
            return _coalesced(loop) or loop
        case While(body=body):
            return replace(statement, body=_block(body))
        case If(_, body, otherwise):
            return replace(statement, body=_block(body), otherwise=_block(otherwise))
        case _:
            return statement


def _coalesced(outer: For) -> For | None:
    """Return one loop for a loop that does nothing but to run another one, where that can be."""
    match outer.body:
        case (*names, For(low=low) as inner) if low == ZERO and all(
            isinstance(each, Declare) for each in names
        ):
            pass
        case _:
            return None
    needed = all_parts(part for statement in walk((inner,)) for part in evaluated(statement))
    moving, inside = changing(outer), set(needed)
    declared = {each.local for each in names if isinstance(each, Declare)}
    known = _known(names, inner)
    changes = any(part in moving or isinstance(part, Load) for part in parts(inner.high))
    if changes or inside & (declared - known.keys()) or {outer.role, inner.role} != {Role.LOOP}:
        return None
    high, breadth = outer.high, polynomial(inner.high)
    if any(each <= 0 for each in breadth.values()) or list(breadth) != [()]:
        high = Binary("maximum", outer.low, high)  # n may be negative: then there are no iterations
    digits = _Digits(outer.local, inner.local, breadth, known)
    try:
        body = rewritten(inner.body, digits.read)
    except _OccursOtherwise:
        return None
    low, high = (expression_of(multiplied(polynomial(each), breadth)) for each in (outer.low, high))
    return replace(inner, low=low, high=high, body=body)


def _known(names: list[Statement], inner: For) -> dict[Local, Expression]:
    """Return the values of names for which nothing is read, and that mean the same all through ``inner``."""
    known: dict[Local, Expression] = {}
    others: set[Expression] = set(assigned(inner.body))
    for each in names:
        if isinstance(each, Declare):
            stays = each.local not in others and others.isdisjoint(parts(each.value))
            if not (stays and not loads_of(each.value) and note(each, known)):
                others.add(each.local)
    return known


class _OccursOtherwise(Exception):
    """A variable is used not only as a digit of the number."""


@dataclass(frozen=True, slots=True)
class _Digits:
    """Rewrites what contains ``outer * breadth + inner``, which is called ``inner`` from then on."""

    outer: Local
    inner: Local
    breadth: Polynomial
    known: Mapping[Local, Expression]

    def read(self, expression: Expression) -> Expression:
        return self._renamed(substituted(expression, self.known))

    def _renamed(self, expression: Expression) -> Expression:
        inside = set(parts(expression))
        if self.outer not in inside and self.inner not in inside:
            return expression
        if type_of(expression) is ScalarType.INT64 and (found := self._number(expression)) is not None:
            return found
        if isinstance(expression, Local):
            raise _OccursOtherwise
        return mapped(expression, self._renamed)

    def _number(self, expression: Expression) -> Expression | None:
        """Return a sum with the number's name in it; None if it contains the digits otherwise."""
        terms = polynomial(expression)
        by_outer, by_inner = coefficient(terms, self.outer), coefficient(terms, self.inner)
        if not by_outer or not by_inner or by_outer != multiplied(by_inner, self.breadth):
            return None
        rest = {each: factor for each, factor in terms.items() if not {self.outer, self.inner} & set(each)}
        if {self.outer, self.inner} & set(
            all_parts(factor for each in (*rest, *by_inner) for factor in each)
        ):
            return None
        return expression_of(added(rest, multiplied(by_inner, {(self.inner,): 1})))
