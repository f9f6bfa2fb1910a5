"""Variables eliminated one by one: every factor and every loop stands where its variables are bound.

    sum(R) sum(S) sum(T) f(r) * g(r, s) * h(r, t)  =  sum(R) f(r) * (sum(S) g(r, s)) * (sum(T) h(r, t))

Inside a loop, what is left falls into components that share no variable, and each is summed on its own:
the elimination of variables in functional aggregate queries (Abo Khamis, Ngo, Rudra, "FAQ: Questions Asked
Frequently", PODS 2016), in an order that storage allows. Rewriting finds the same for few loops; for many
the orders of a product outgrow every budget, and this is done at once, before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count

from storel.calculus.binding import shift, substitute
from storel.calculus.nodes import Add, If, Literal, Multiply, Singleton, Sum, Symbol, Term, children
from storel.optimizer.occurrences import abstracted
from storel.optimizer.products import factors
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop with its binders as symbols: the key's and the value's, and those that its source mentions."""

    source: Term
    key: str
    value: str
    needs: frozenset[str]

    @property
    def binds(self) -> frozenset[str]:
        return frozenset((self.key, self.value))


@dataclass(frozen=True, slots=True)
class _Part:
    """A factor, or the condition of one, with the binders that it mentions."""

    term: Term
    needs: frozenset[str]
    is_condition: bool = False


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
    nest = _Nest(term.semiring)
    nest.open(term)
    entry = nest.entry()
    parts = nest.parts if entry is None else [entry, *nest.parts]
    return nest.closed(nest.loops, parts)


class _Nest:
    """The loops and the factors of a nest of sums, taken apart."""

    def __init__(self, semiring: str) -> None:
        self.semiring = semiring
        self.loops: list[_Loop] = []
        self.parts: list[_Part] = []
        self.keys: list[Term] = []
        self.numbers = count()
        one = SEMIRINGS[semiring].one
        self.one = Literal(one, ScalarType.BOOL if isinstance(one, bool) else ScalarType.INT64)

    def open(self, term: Term) -> None:
        """Take ``term`` apart; binders become symbols that no program can write."""
        match term:
            case Sum(source, body, semiring) if semiring == self.semiring:
                key, value = (f"%{next(self.numbers)}" for _ in range(2))
                self.loops.append(_Loop(source, key, value, _binders(source)))
                self.open(substitute(substitute(body, Symbol(value)), Symbol(key)))
            case If(condition, body, semiring) if semiring == self.semiring:
                self.parts.append(_Part(condition, _binders(condition), is_condition=True))
                self.open(body)
            case Multiply(_, _, semiring) if semiring == self.semiring:
                for factor in factors(term, semiring):
                    self.open(factor)
            case Singleton(key, value, semiring) if semiring == self.semiring:
                self.keys.append(key)
                self.open(value)
            case _:
                self.parts.append(_Part(term, _binders(term)))

    def entry(self) -> _Part | None:
        """Return the entry of one that the product scales, None if the sum is a scalar."""
        if not self.keys:
            return None
        entry: Term = self.one
        for key in reversed(self.keys):
            entry = Singleton(key, entry, self.semiring)
        return _Part(entry, _binders(entry))

    def closed(self, loops: Sequence[_Loop], parts: Sequence[_Part]) -> Term:
        """Return the sum over ``loops`` of the product of ``parts``."""
        inner = frozenset[str]().union(*(loop.binds for loop in loops))
        here = [part for part in parts if not part.needs & inner]
        product = [part.term for part in here if not part.is_condition]
        for members, own in _components(loops, [part for part in parts if part.needs & inner]):
            first = members[0]
            body = self.closed(members[1:], own)
            keyed = abstracted(shift(body, 1), Symbol(first.key), 0)
            product.append(
                Sum(first.source, abstracted(shift(keyed, 1), Symbol(first.value), 0), self.semiring)
            )
        if not product:
            product.append(self.one)
        whole = reduce(lambda left, right: Multiply(left, right, self.semiring), product)
        for part in here:
            if part.is_condition:
                whole = If(part.term, whole, self.semiring)
        return whole


def _components(loops: Sequence[_Loop], parts: Sequence[_Part]) -> Iterator[tuple[list[_Loop], list[_Part]]]:
    """Yield the loops that depend on one another, or meet in a factor, with their factors."""
    groups: list[frozenset[str]] = []
    for names in (*(loop.binds | loop.needs for loop in loops), *(part.needs for part in parts)):
        local = names & frozenset[str]().union(*(loop.binds for loop in loops))
        joined = [group for group in groups if group & local]
        groups = [group for group in groups if not group & local] + [local.union(*joined)]
    for group in groups:
        members = [loop for loop in loops if loop.binds & group]
        yield members, [part for part in parts if part.needs & group]


def _binders(term: Term) -> frozenset[str]:
    if isinstance(term, Symbol):
        return frozenset((term.name,)) if term.name.startswith("%") else frozenset()
    return frozenset[str]().union(*(_binders(child) for child, _ in children(term)))
