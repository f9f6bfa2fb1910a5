"""Names are given where they are needed: to one of equal values, behind conditions that do not ask for them.

    let x = t in if c then e             =>  if c then let x = t in e          c does not depend on x
    let x = t in … let y = t in e        =>  let x = t in … e[y := x]

``t`` contains a loop: what does not is no more than another condition. So a row is only stored for those that
passed the tests in front of it: of a clique of four, for a triangle and not for each pair of edges.
"""

from __future__ import annotations

from collections.abc import Sequence

from storel.calculus.binding import occurs, shift, substitute
from storel.calculus.nodes import If, Let, Term, Variable
from storel.calculus.walk import map_children
from storel.optimizer.terms.occurrences import has_loop, reindexed


def placed(term: Term, named: Sequence[Term | None] = ()) -> Term:
    """Return ``term`` with equal values that loop named once, as far inside conditions as possible.

    ``named`` has the value of each free variable, as its binder sees it, or None.
    """
    if not has_loop(term):
        return term
    if isinstance(term, Let):
        value = placed(term.value, named)
        for index, known in enumerate(named):
            if known is not None and shift(known, index + 1) == value:
                return placed(substitute(term.body, Variable(index)), named)
        if not has_loop(value):
            return Let(value, placed(term.body, (None, *named)))
        return _behind_conditions(value, placed(term.body, (value, *named)))
    return map_children(term, lambda child, binders: placed(child, (*[None] * binders, *named)))


def _behind_conditions(value: Term, body: Term) -> Term:
    """Return ``let value in body``, behind the conditions before the body that do not depend on the name."""
    match body:
        case If(condition, inner, semiring) if not occurs(condition, 0):
            return If(shift(condition, -1), _behind_conditions(value, inner), semiring)
        case Let(other, If() | Let() as inner) if not occurs(other, 0):
            swapped = reindexed(inner, lambda index: 1 - index if index < 2 else index)
            further = _behind_conditions(shift(value, 1), swapped)
            if isinstance(further, If):
                return _behind_conditions(shift(other, -1), further)
            return Let(value, body)
        case _:
            return Let(value, body)
