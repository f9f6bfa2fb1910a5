"""Conditions that always hold, since the loops around them have such bounds, or since it was asked before.

    sum(<j, _> in 0:min(c, n - k * c)) if k * c + j < n then e   =>   sum(<j, _> in 0:min(c, n - k * c)) e
    if 0 <= j then sum(R) if 0 <= j then e                       =>   if 0 <= j then sum(R) e

Rules decide conditions by intervals, which are coarser: there, j may be c - 1 whatever k is. Kernels do not
ask what always holds (``loops/lowering``), so that plans are not to be compared as if they did.
"""

from __future__ import annotations

from storel.calculus.binders import binder_facts
from storel.calculus.bounds import decided, narrowed
from storel.calculus.domains import Domains, binder_domains, holds
from storel.calculus.intervals import Context
from storel.calculus.nodes import If, Term
from storel.calculus.verify import Type
from storel.calculus.walk import children, map_children
from storel.symbols import Symbols


def without_implied(term: Term, symbols: Symbols) -> Term:
    """Return a closed term without the conditions that the bounds of loops imply; itself if there is none."""
    return _without(term, symbols, (), (), (), ()) if _has_condition(term) else term


def _has_condition(term: Term) -> bool:
    return isinstance(term, If) or any(_has_condition(child) for child, _ in children(term))


def _without(
    term: Term, symbols: Symbols, types: tuple[Type, ...], anywhere: Context, here: Context, domains: Domains
) -> Term:
    """``anywhere`` are the bounds of variables where they are bound, ``here`` where what was asked holds."""
    if isinstance(term, If):
        is_open = decided(term.condition, symbols, anywhere) is None  # else it is for rules to decide
        if is_open and _is_implied(term.condition, symbols, here, domains):
            return _without(term.body, symbols, types, anywhere, here, domains)

    def visit(child: Term, binders: int) -> Term:
        if isinstance(term, If) and child is not term.condition:
            inside = narrowed(term.condition, symbols, here)
            return _without(child, symbols, types, anywhere, inside, domains)
        if not binders:
            return _without(child, symbols, types, anywhere, here, domains)
        kinds, bounds = binder_facts(term, symbols, types, here)
        _, all_ = binder_facts(term, symbols, types, anywhere)
        return _without(
            child,
            symbols,
            (*reversed(kinds), *types),
            (*reversed(all_), *anywhere),
            (*reversed(bounds), *here),
            (*reversed(binder_domains(term, binders)), *domains),
        )

    return map_children(term, visit)


def _is_implied(condition: Term, symbols: Symbols, intervals: Context, domains: Domains) -> bool:
    return bool(decided(condition, symbols, intervals)) or holds(condition, symbols, intervals, domains)
