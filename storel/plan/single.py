"""Actions that come down to one value: they need no accumulator, or no branch."""

from __future__ import annotations

from storel.calculus.nodes import Add, Apply, Literal, Lookup, Multiply, Symbol, Term, Variable
from storel.functions import FUNCTIONS
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


def light_value(branch: Loop) -> Term | None:
    """Return what a branch of a union adds to its element, if it is one value that takes no time."""
    match branch.body:
        case Enter(_, Accumulate(value)) if is_light(value):
            return value
        case _:
            return None


def is_light(value: Term) -> bool:
    """Return whether a value is read, or sums and products of what is read, which takes no time."""
    match value:
        case Variable() | Literal() | Symbol():
            return True
        case Lookup(Symbol(), key):
            return is_light(key)
        case Add(left, right) | Multiply(left, right) | Apply("subtract", (left, right)):
            return is_light(left) and is_light(right)
        case Apply(name, (operand,)) if name == "negate" or FUNCTIONS[name].conversion is not None:
            return is_light(operand)
        case _:
            return False
