"""What a plan adds up, one summand after the other, each in loops of its own.

    loop R: enter i: together A, B      =      together (loop R: enter i: A), (loop R: enter i: B)

A product of matrices and what is added to it, in the same loops, is no product of matrices; by itself it is,
and to go through the result once more takes little beside it. Source: loop distribution, Kennedy, Allen,
"Optimizing Compilers for Modern Architectures", 2001, chapter 5.
"""

from __future__ import annotations

from storel.plan.nodes import Accumulate, Action, Bind, Enter, Loop, ScalarStore, Together


def summands(action: Action) -> tuple[Action, ...]:
    """Return actions that do together what ``action`` does; loops and scalars around them are repeated."""
    match action:
        case Together(actions) if actions:
            return tuple(part for each in actions for part in summands(each))
        case Loop(source, body):
            return tuple(Loop(source, part) for part in summands(body))
        case Enter(key, body):
            return tuple(Enter(key, part) for part in summands(body))
        case Bind(ScalarStore() as store, Accumulate() as value, body):
            return tuple(Bind(store, value, part) for part in summands(body))
        case _:
            return (action,)
