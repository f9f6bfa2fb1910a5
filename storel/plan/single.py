"""Actions that come down to one value: they need no accumulator, or no branch."""

from __future__ import annotations

from storel.calculus.nodes import Add, Apply, Literal, Lookup, Multiply, Symbol, Term, Variable
from storel.functions import AS_AN_ADDITION, FUNCTIONS
from storel.plan.nodes import Accumulate, Action, Bind, Enter, Guard, Loop, Together, Unite


def adds_one_value(action: Action) -> bool:
    """Return whether ``action`` adds exactly one value to a scalar target, whatever the data."""
    match action:
        case Accumulate():
            return True
        case Bind(_, _, body):
            return adds_one_value(body)
        case Enter() | Loop() | Guard() | Together() | Unite():
            return False


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
