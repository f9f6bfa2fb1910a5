"""Variables eliminated one by one: every factor and every loop stands where its variables are bound.

    sum(R) sum(S) sum(T) f(r) * g(r, s) * h(r, t)  =  sum(R) f(r) * (sum(S) g(r, s)) * (sum(T) h(r, t))

Inside a loop, what is left falls into components that share no variable, and each is summed on its own:
the elimination of variables in functional aggregate queries (Abo Khamis, Ngo, Rudra, "FAQ: Questions Asked
Frequently", PODS 2016), in an order that storage allows. Rewriting finds the same for few loops; for many
the orders of a product outgrow every budget, and this is done at once, before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from storel.calculus.nodes import Add, Singleton, Sum, Term, children
from storel.optimizer.nests import Loop, Nest, Part, binders_in


def loops(term: Term) -> int:
    """Return how many loops a term has."""
    return isinstance(term, Sum) + sum(loops(child) for child, _ in children(term))


def eliminated(term: Term) -> Term:
    """Return sums in which no factor and no loop stands deeper than it must.

    A product of two dictionaries is not told from one that scales: whoever calls this compares types.
    """
    if isinstance(term, Add):
        return Add(eliminated(term.left), eliminated(term.right), term.semiring)
    if not isinstance(term, Sum):
        return term
    nest = Nest(term)
    entry = _entry(nest)
    return _closed(nest, nest.loops, nest.parts if entry is None else [entry, *nest.parts])


def _entry(nest: Nest) -> Part | None:
    """Return the entry of one that the product scales, None if the sum is a scalar."""
    if not nest.keys:
        return None
    entry: Term = nest.one
    for key in reversed(nest.keys):
        entry = Singleton(key, entry, nest.semiring)
    return Part(entry, binders_in(entry))


def _closed(nest: Nest, loops: Sequence[Loop], parts: Sequence[Part]) -> Term:
    """Return the sum over ``loops`` of the product of ``parts``."""
    inner = frozenset[str]().union(*(loop.binds for loop in loops))
    here = [part for part in parts if not part.needs & inner]
    within = [
        members[0].around(_closed(nest, members[1:], own), nest.semiring)
        for members, own in _components(loops, [part for part in parts if part.needs & inner])
    ]
    return nest.product(here, within)


def _components(loops: Sequence[Loop], parts: Sequence[Part]) -> Iterator[tuple[list[Loop], list[Part]]]:
    """Yield the loops that depend on one another, or meet in a factor, with their factors."""
    groups: list[frozenset[str]] = []
    for names in (*(loop.binds | loop.needs for loop in loops), *(part.needs for part in parts)):
        local = names & frozenset[str]().union(*(loop.binds for loop in loops))
        joined = [group for group in groups if group & local]
        groups = [group for group in groups if not group & local] + [local.union(*joined)]
    for group in groups:
        members = [loop for loop in loops if loop.binds & group]
        yield members, [part for part in parts if part.needs & group]

