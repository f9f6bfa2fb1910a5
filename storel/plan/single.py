"""Actions that come down to one value: they need no accumulator, or no branch; when there is one."""

from __future__ import annotations

from storel.calculus.binding import is_outside, shift
from storel.calculus.nodes import Add, Apply, Literal, Lookup, Multiply, Symbol, Term, Variable
from storel.functions import AS_AN_ADDITION, FUNCTIONS
from storel.plan.binding import binders
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Elements,
    Enter,
    Guard,
    Loop,
    Positions,
    Together,
    Unite,
)


def adds_one_value(action: Action) -> bool:
    """Return whether ``action`` adds exactly one value to a scalar target, whatever the data."""
    match action:
        case Accumulate():
            return True
        case Bind(_, _, body):
            return adds_one_value(body)
        case Enter() | Loop() | Guard() | Together() | Unite():
            return False


def adds_values_where(action: Action) -> tuple[Term, ...] | None:
    """Return what holds, all of it, exactly where ``action`` adds any value to a scalar target.

    None where that depends on more than the ends of loops that stand in one another, each as long each time.
    """
    match action:
        case Loop(Positions(low, high) | Elements(_, low, high) as source, body):
            inside, inner = adds_values_where(body), binders(source)
            if inside is None or not all(is_outside(each, inner) for each in inside):
                return None
            return (Apply("less", (low, high)), *(shift(each, -inner) for each in inside))
        case _:
            return () if adds_one_value(action) else None


def is_light(value: Term) -> bool:
    """Return whether a value is read, or made of what is read by little more than sums and products."""
    match value:
        case Variable() | Literal() | Symbol():
            return True
        case Lookup(Symbol(), key):
            return is_light(key)
        case Add(left, right) | Multiply(left, right):
            return is_light(left) and is_light(right)
        case Apply(name, operands) if name in AS_AN_ADDITION or FUNCTIONS[name].conversion is not None:
            return all(map(is_light, operands))
        case _:
            return False
