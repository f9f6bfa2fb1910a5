"""Terms that are alike but for what stands in the place of one variable."""

from __future__ import annotations

from storel.calculus.binding import free_mask, shift
from storel.calculus.nodes import Empty, Term, Variable, children, map_children


def instance(pattern: Term, term: Term) -> Term | None:
    """Return what variable 0 of ``pattern`` is in ``term``, None if that is no instance of it.

    All other variables are the same in both.

    >>> instance(Add(Variable(0), Variable(3)), Add(Multiply(Variable(1), Variable(2)), Variable(3)))
    Multiply(left=Variable(index=1), right=Variable(index=2), semiring='plus_times')
    """
    found: list[Term] = []
    return found[0] if _is_instance(pattern, term, 0, found) and found else None


def _is_instance(pattern: Term, term: Term, variable: int, found: list[Term]) -> bool:
    """Return whether ``pattern`` is ``term`` for what is ``found`` for a variable, which is added."""
    if pattern == Variable(variable):
        if free_mask(term) & ((1 << variable) - 1):
            return False  # something bound in between
        seen = shift(term, -variable)
        found.append(seen)
        return seen == found[0]
    if not free_mask(pattern) >> variable & 1:
        return pattern == term
    if type(pattern) is not type(term) or _shell(pattern) != _shell(term):
        return False
    pairs = zip(children(pattern), children(term), strict=True)
    return all(_is_instance(one, other, variable + binders, found) for (one, binders), (other, _) in pairs)


def _shell(term: Term) -> Term:
    """Return ``term`` with nothing in it."""
    return map_children(term, lambda child, binders: Empty(0))
