"""Whether values of a plan may be inf or NaN, which dense products must not meet: zero times them is zero."""

from __future__ import annotations

import math
from typing import TypeAlias

from storel.calculus import finite
from storel.calculus.binding import free_variables
from storel.calculus.nodes import Lookup, Term, Variable
from storel.plan.binding import binders
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Enter,
    Entries,
    Guard,
    Loop,
    Together,
    Unite,
)
from storel.symbols import Symbols

Scope: TypeAlias = tuple[bool, ...]
"""Whether what each variable stands for is finite, the innermost first."""


def is_finite(action: Action, symbols: Symbols, scope: Scope = (), *, is_made_so: bool = False) -> bool:
    """Return whether no value that ``action`` combines can be inf or NaN, overflow of sums excepted.

    ``is_made_so`` says to take it that all functions make finite numbers of finite ones.
    """

    def of(part: Action, scope: Scope) -> bool:
        return is_finite(part, symbols, scope, is_made_so=is_made_so)

    match action:
        case Accumulate(value):
            is_value_finite = finite.is_finite(value, symbols, is_made_so=is_made_so)
            return is_value_finite and all(scope[index] for index in free_variables(value))
        case Enter(_, body) | Guard(_, body):
            return of(body, scope)
        case Loop(Entries(row), body):
            return of(body, (_is_finite_row(row, scope), True, *scope))
        case Loop(source, body):
            return of(body, (*(True,) * binders(source), *scope))
        case Bind(store, value, body):
            is_zero_finite = store.zero is None or math.isfinite(store.zero)
            return of(body, (is_zero_finite and of(value, scope), *scope))
        case Together(actions) | Unite(actions):
            return all(of(each, scope) for each in actions)


def _is_finite_row(row: Term, scope: Scope) -> bool:
    while isinstance(row, Lookup):
        row = row.mapping
    return isinstance(row, Variable) and scope[row.index]
