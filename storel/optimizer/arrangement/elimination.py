"""Variables eliminated one by one: every factor and every loop stands where its variables are bound.

    sum(R) sum(S) sum(T) f(r) * g(r, s) * h(r, t)  =  sum(R) f(r) * (sum(S) g(r, s)) * (sum(T) h(r, t))

Inside a loop, what is left falls into components that share no variable, and each is summed on its own:
the elimination of variables in functional aggregate queries (Abo Khamis, Ngo, Rudra, "FAQ: Questions Asked
Frequently", PODS 2016), in an order that storage allows. Rewriting finds the same for few loops; for many
the orders of a product outgrow every budget, and this is done at once, before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from storel.calculus.nodes import Add, Apply, Range, Sum, Term
from storel.calculus.walk import children
from storel.optimizer.arrangement.nests import Loop, Nest, Part, binders_in, bound, keyed


def loops(term: Term) -> int:
    """Return how many loops a term has that may trade places: none does with one outside of a function.

    >>> from storel.calculus.nodes import Apply, Literal, Range, Symbol
    >>> from storel.scalars import ScalarType
    >>> once = Sum(Range(Literal(0, ScalarType.INT64), Symbol("n")), Symbol("x"))
    >>> loops(Add(once, once)), loops(Sum(once.source, Apply("exp", (Add(once, once),))))
    (2, 2)
    """
    around, inside = _loops(term)
    return max(around, inside)


def _loops(term: Term) -> tuple[int, int]:
    """Return how many loops there are around functions in a term, and the most in an argument of one."""
    found = [_loops(child) for child, _ in children(term)]
    if isinstance(term, Apply):
        return 0, max(map(max, found), default=0)
    around = isinstance(term, Sum) + sum(outside for outside, _ in found)
    return around, max((inside for _, inside in found), default=0)


def eliminated(term: Term, *, earlier: bool = False) -> Term:
    """Return sums in which no factor and no loop stands deeper than it must.

    With ``earlier``, loops that need no other one are moved outward, to the first factor that needs them.
    A product of two dictionaries is not told from one that scales: whoever calls this compares types.
    """
    if isinstance(term, Add):
        left, right = (eliminated(side, earlier=earlier) for side in (term.left, term.right))
        return Add(left, right, term.semiring)
    if not isinstance(term, Sum):
        return term
    nest = Nest(term)
    loops = _moved_outward(nest.loops, nest.parts) if earlier else nest.loops
    return _closed(nest, loops, nest.parts, nest.keys)


def in_order_of_keys(term: Term) -> Term:
    """Return sums whose loops stand in the order of the keys that they make, those that make none last.

    Only loops that need no other one are moved: a result is then filled place by place.
    """
    if not isinstance(term, Sum):
        return term
    nest = Nest(term)
    making = [loop for key in nest.keys for loop in nest.loops if binders_in(key) & loop.binds]
    first = [loop for loop in dict.fromkeys(making) if not loop.needs]
    return _closed(nest, [*first, *(loop for loop in nest.loops if loop not in first)], nest.parts, nest.keys)


def in_order_of_joins(term: Term) -> Term | None:
    """Return a sum each of whose loops an equality joins with those around it, None if it has but one join.

    Loops that only a third one joins, if that is inside of both, go through all pairs of their elements. A
    search for an order may prefer that: it does not know that what is looked for gets an index. Only columns
    are joined so, where a step for each row is all that is known; what is stored tells which order is best.
    """
    if not isinstance(term, Sum):
        return None
    nest = Nest(term)
    columns = bound(loop for loop in nest.loops if isinstance(loop.source, Range))
    joins = [part.needs for part in nest.parts if _joins(part) and part.needs <= columns]
    if len(joins) < 2:
        return None
    ordered, left = list[Loop](), list(nest.loops)
    while left:
        ready = [loop for loop in left if not loop.needs & bound(left)]
        around = bound(ordered)
        joined = (
            loop for loop in ready if any(join & loop.binds and join <= around | loop.binds for join in joins)
        )
        ordered.append(next(joined, ready[0]))
        left.remove(ordered[-1])
    return _closed(nest, ordered, nest.parts, nest.keys)


def _joins(part: Part) -> bool:
    """Return whether a condition is that two numbers are equal, each of loops of its own."""
    match part.term:
        case Apply("equal", (left, right)) if part.is_condition:
            one, other = binders_in(left), binders_in(right)
            return bool(one and other) and not one & other
        case _:
            return False


def _moved_outward(loops: Sequence[Loop], parts: Sequence[Part]) -> Sequence[Loop]:
    """Return the loops, those that need no other one right below the loops of the first factor with them.

    What is summed by the loops that now stand deeper is multiplied by that factor once, not in each.
    """
    ordered = list(loops)
    for loop in loops:
        users = [part.needs for part in parts if part.needs & loop.binds and not part.is_condition]
        if loop.needs or any(other.needs & loop.binds for other in loops) or not users:
            continue
        ordered.remove(loop)
        ends = [
            max((at for at, other in enumerate(ordered) if needs & other.binds), default=-1)
            for needs in users
        ]
        ordered.insert(1 + min(ends), loop)
    return ordered


def _closed(nest: Nest, loops: Sequence[Loop], parts: Sequence[Part], keys: Sequence[Term]) -> Term:
    """Return the sum over ``loops`` of the product of ``parts``, each of the ``keys`` where it is bound."""
    inner = bound(loops)
    entered = list(takewhile(lambda key: not binders_in(key) & inner, keys))
    deeper = keys[len(entered) :]
    together = frozenset[str]().union(*map(binders_in, deeper))
    here = [part for part in parts if not part.needs & inner]
    within: list[Term] = []
    for members, own in _components(loops, [part for part in parts if part.needs & inner], together):
        body = _closed(nest, members[1:], own, deeper if together & bound(members) else ())
        within.append(members[0].around(body, nest.semiring))
    factors = nest.product([part for part in here if not part.is_condition], within)
    conditions = [part for part in here if part.is_condition]
    return nest.product(conditions, (keyed(entered, factors, nest),))


def _components(
    loops: Sequence[Loop], parts: Sequence[Part], together: frozenset[str]
) -> Iterator[tuple[list[Loop], list[Part]]]:
    """Yield the loops that depend on one another, or meet in a factor or the keys, with their factors."""
    inner, groups = bound(loops), list[frozenset[str]]()
    for names in (*(loop.binds | loop.needs for loop in loops), *(part.needs for part in parts), together):
        local = names & inner
        joined = [group for group in groups if group & local]
        groups = [group for group in groups if not group & local] + [local.union(*joined)]
    for group in filter(None, groups):
        members = [loop for loop in loops if loop.binds & group]
        yield members, [part for part in parts if part.needs & group]
