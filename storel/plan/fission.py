"""Loops around several stages, taken apart: each stage is done for all iterations before the next one.

    loop i in 0:n: bind t[m] <- A in B      =      bind T[n, m] <- loop i in 0:n: enter i: A
                                                   in loop i in 0:n: B with T(i) for t

Row by row a chain of dense products needs room for one row only, but each stage is a product of a vector;
taken apart, each stage is a product of matrices. Source: loop distribution with array expansion, Kennedy,
Allen, "Optimizing Compilers for Modern Architectures", 2001, chapters 5 and 6.
"""

from __future__ import annotations

from storel.calculus.binding import free_variables, shift
from storel.calculus.nodes import Literal, Lookup, Term, Variable
from storel.calculus.walk import map_children
from storel.plan.binding import map_terms, store_terms
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Enter,
    ListStore,
    Loop,
    Plan,
    Positions,
    ScalarStore,
    Store,
    TableStore,
    Together,
)
from storel.plan.summands import summands


def fission(plan: Plan) -> Plan:
    """Return ``plan`` with the outermost loops of each summand taken apart, where they fill dense rows."""
    parts = tuple(map(_taken_apart, summands(plan.action)))
    return Plan(plan.destination, parts[0] if len(parts) == 1 else Together(parts))


def _taken_apart(action: Action) -> Action:
    match action:
        case Bind(store, value, body):
            return after(_taken_apart(value), store, _taken_apart(body))
        case Loop(Positions(Literal(0), high) as source, body):
            stage = _bind_first(_inside(body))
            if not isinstance(stage, Bind) or isinstance(stage.value, Accumulate):
                return action
            row = stage.store
            if not isinstance(row, ScalarStore | TableStore | ListStore) or row.zero is None:
                return action
            extents = (high, *store_terms(row))
            if any(map(free_variables, extents)):  # rows of lengths of their own
                return action
            table = TableStore(row.type, row.operator, row.zero, extents)
            filling = Loop(source, Enter(Variable(0), stage.value))
            using = Loop(Positions(shift(source.low, 1), shift(high, 1)), map_terms(stage.body, _of_rows))
            return after(_taken_apart(filling), table, _taken_apart(using))
        case _:
            return action


def _inside(body: Action) -> Action:
    """Return the body of a loop with the loop in it, if there is one, taken apart."""
    match body:
        case Enter(key, inner):
            return Enter(key, _inside(inner))
        case Loop():
            return _taken_apart(body)
        case _:
            return body


def after(value: Action, store: Store, body: Action) -> Action:
    """Return a bind of ``value``, after the binds that it begins with."""
    match value:
        case Bind(TableStore() as first, inner, rest):
            moved = map_terms(body, lambda term, depth: shift(term, 1, depth + 1))
            return Bind(first, inner, after(rest, store, moved))
        case _:
            return Bind(store, value, body)


def _bind_first(action: Action) -> Action:
    """Return ``action`` with a bind that follows keys and scalars before them; scalars are found again."""
    match action:
        case Enter(key, body):
            inner = _bind_first(body)
            if isinstance(inner, Bind):
                return Bind(inner.store, inner.value, Enter(shift(key, 1), inner.body))
            return action
        case Bind(ScalarStore() as scalar, Accumulate(value), body):
            inner = _bind_first(body)
            if not isinstance(inner, Bind) or any(map(free_variables, store_terms(inner.store))):
                return action
            after_it = Bind(scalar, Accumulate(shift(value, 1)), map_terms(inner.body, _exchanged))
            return Bind(inner.store, Bind(scalar, Accumulate(value), inner.value), after_it)
        case _:
            return action


def _exchanged(term: Term, depth: int) -> Term:
    """Return ``term`` with the two innermost variables that are ``depth`` binders outside exchanged."""
    match term:
        case Variable(index) if index in (depth, depth + 1):
            return Variable(2 * depth + 1 - index)
        case _:
            return map_children(term, lambda child, bound: _exchanged(child, depth + bound))


def _of_rows(term: Term, depth: int) -> Term:
    """Return ``term``, ``depth`` binders below one of a row, in a loop below one of the table of all rows."""
    match term:
        case Variable(index) if index == depth:
            return Lookup(Variable(depth + 2), Variable(depth))
        case Variable(index) if depth < index <= depth + 2:
            return Variable(index - 1)
        case _:
            return map_children(term, lambda child, bound: _of_rows(child, depth + bound))
