"""Operands of dense products that are computed, stored first.

    loop i, k, j: enter i, j: accumulate tanh(a(i, k)) · d(k) · b(k, j)
      =  bind t <- loop i, k: enter i, k: accumulate tanh(a(i, k)) · d(k)
         in loop i, k, j: enter i, j: accumulate t(i, k) · b(k, j)

What remains is a product of matrices, each of whose elements is used many times. Factors belong together that
depend on a row, or on a column, of the result; what depends on a summand alone goes with fewer of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from storel.calculus.binding import free_variables, shift
from storel.calculus.nodes import Literal, Lookup, Multiply, Symbol, Term, Variable
from storel.calculus.safety import is_safe
from storel.calculus.verify import Type, infer
from storel.calculus.walk import map_children
from storel.plan.binding import destination_of, store_terms
from storel.plan.contraction import contraction, operand_of
from storel.plan.fission import after
from storel.plan.nest import Nest, nest_of, product
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Destination,
    Enter,
    Levels,
    Loop,
    Plan,
    Positions,
    Store,
    TableStore,
    Together,
)
from storel.plan.summands import summands
from storel.scalars import ScalarType
from storel.symbols import Symbols


def stored_operands(plan: Plan, symbols: Symbols) -> Plan:
    """Return ``plan`` with the computed operands of its dense products in tables."""
    return Plan(plan.destination, _stored(plan.action, plan.destination, (), symbols))


def _stored(action: Action, destination: Destination, stores: tuple[Store, ...], symbols: Symbols) -> Action:
    match action:
        case Bind(store, value, body) if not isinstance(value, Accumulate):
            filled = destination_of(store)
            if filled is not None:
                value = _stored(value, filled, stores, symbols)
            return after(value, store, _stored(body, destination, (store, *stores), symbols))
        case _:
            parts = summands(action)
            made = tuple(_with_operands(Plan(destination, each), stores, symbols) or each for each in parts)
            return action if made == parts else made[0] if len(made) == 1 else Together(made)


@dataclass(frozen=True, slots=True)
class _Side:
    """Factors that depend on some of the loops; those among the ``terms`` by the loops' numbers."""

    loops: frozenset[int]
    terms: tuple[Term, ...]

    def joined(self, other: _Side) -> _Side:
        return _Side(self.loops | other.loops, (*self.terms, *other.terms))


def _with_operands(plan: Plan, stores: tuple[Store, ...], symbols: Symbols) -> Action | None:
    """Return what ``plan`` does as a product of stored operands; None if it is none, or all are stored."""
    nest = nest_of(plan.action, stores, symbols)
    if nest is None or not isinstance(plan.destination, Levels) or not plan.destination.leaf.type.is_real:
        return None
    scalar_type, count = plan.destination.leaf.type, len(nest.extents)
    found = nest.factors
    scalars = [term for term in found if isinstance(term, Literal | Symbol)]
    sides = _sides([term for term in found if term not in scalars], nest)
    if len(sides) != 2 or frozenset().union(*(side.loops for side in sides)) != frozenset(range(count)):
        return None
    tables: list[tuple[TableStore, Action]] = []
    operands: list[Term] = []
    for side, other in zip(sides, reversed(sides), strict=True):
        value = product(side.terms, Literal(1.0, scalar_type))
        bound = shift(value, len(tables), count)
        if operand_of(value, nest, scalar_type, stores, symbols) is not None:
            operands.append(bound)
            continue
        types = _types(count, stores)
        intervals = nest.context(len(stores))
        # What is stored is also evaluated where rows have no entries.
        if infer(value, symbols, types) != Type(scalar_type) or not is_safe(value, symbols, types, intervals):
            return None
        keys = [loop for loop in sorted(side.loops) if loop in nest.entered or loop in other.loops]
        table = TableStore(scalar_type, "add", 0.0, tuple(_extent(nest, loop) for loop in keys))
        tables.append((table, _loops(nest, (*keys, *sorted(side.loops - set(keys))), keys, bound)))
        operands = [shift(operand, 1, count) for operand in operands]
        operands.append(reduce(Lookup, map(Variable, keys), Variable(count)))
    order = (*nest.entered, *(loop for loop in range(count) if loop not in nest.entered))
    action = _loops(nest, order, nest.entered, reduce(Multiply, (*operands, *scalars)))
    known = (*(table for table, _ in reversed(tables)), *stores)
    if not tables or contraction(Plan(plan.destination, action), known, symbols) is None:
        return None
    for table, filling in reversed(tables):
        action = Bind(table, filling, action)
    return action


def _sides(terms: Sequence[Term], nest: Nest) -> list[_Side]:
    """Return the factors that depend on the same rows or columns, with what depends on neither.

    Loops of a batch are those that all operands know.
    """
    entered = frozenset(nest.entered)
    found = [
        _Side(frozenset(index for index in free_variables(term) if index < len(nest.extents)), (term,))
        for term in terms
    ]
    summed = [side.loops for side in found if side.loops - entered]
    batch = entered.intersection(*summed) if summed else entered
    sides: list[_Side] = []
    for side in found:
        own = side.loops & entered - batch
        if own:
            met = [each for each in sides if each.loops & own]
            sides = [each for each in sides if each not in met] + [reduce(_Side.joined, met, side)]
    for side in found:
        if not side.loops & entered - batch and sides:
            least = min(sides, key=lambda each: math.prod(nest.extents[loop] for loop in each.loops))
            sides[sides.index(least)] = least.joined(side)
    return sides


def _loops(nest: Nest, order: Sequence[int], keys: Sequence[int], value: Term) -> Action:
    """Return loops around ``value``, which is said by their numbers, those of ``keys`` entered."""

    def placed(term: Term, depth: int = 0) -> Term:
        match term:
            case Variable(index) if index >= depth + len(nest.extents):
                return Variable(index - len(nest.extents) + 2 * len(order))
            case Variable(index) if index >= depth:
                return Variable(2 * (len(order) - 1 - order.index(index - depth)) + depth)
            case _:
                return map_children(term, lambda child, bound: placed(child, depth + bound))

    action: Action = Accumulate(placed(value))
    for loop in reversed(order):
        body = Enter(Variable(0), action) if loop in keys else action
        action = Loop(Positions(Literal(0, ScalarType.INT64), _extent(nest, loop)), body)
    return action


def _extent(nest: Nest, loop: int) -> Literal:
    return Literal(nest.extents[loop], ScalarType.INT64)


def _types(count: int, stores: tuple[Store, ...]) -> tuple[Type, ...]:
    """Return the types of what the variables of a term by loops stand for."""
    counters = (Type(ScalarType.INT64),) * count
    return (*counters, *(Type(store.type, len(store_terms(store))) for store in stores))
