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


def is_finite(action: Action, symbols: Symbols, scope: Scope = ()) -> bool:
    """Return whether no value that ``action`` combines can be inf or NaN, overflow of sums excepted."""
    match action:
        case Accumulate(value):
            return finite.is_finite(value, symbols) and all(scope[index] for index in free_variables(value))
        case Enter(_, body) | Guard(_, body):
            return is_finite(body, symbols, scope)
        case Loop(Entries(row), body):
            return is_finite(body, symbols, (_is_finite_row(row, scope), True, *scope))
        case Loop(source, body):
            return is_finite(body, symbols, (*(True,) * binders(source), *scope))
        case Bind(store, value, body):
            is_zero_finite = store.zero is None or math.isfinite(store.zero)
            own = is_zero_finite and is_finite(value, symbols, scope)
            return is_finite(body, symbols, (own, *scope))
        case Together(actions) | Unite(actions):
            return all(is_finite(each, symbols, scope) for each in actions)


def _is_finite_row(row: Term, scope: Scope) -> bool:
    while isinstance(row, Lookup):
        row = row.mapping
    return isinstance(row, Variable) and scope[row.index]
