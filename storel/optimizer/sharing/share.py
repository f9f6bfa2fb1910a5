"""Sharing after extraction: what is computed more than once gets a name.

    store       sum(R) {k -> c * t}   =>  let x = t in sum(R) {k -> c * x}         t is a dictionary
                … t … t …             =>  let x = t in … x … x …
    hoist       what does not depend on a loop, or is written twice (hoisting.py)
    interchange sum(<k,_> in R) {k -> sum(S) e}  =>  sum(S) sum(<k,_> in R) {k -> e}
    tabulate    … t(g) …              =>  let x = sum(<y,_> in 0:n) {y -> t(y)} in … x(g) …  (tabulating.py)
    visit       the entries that a loop over all keys searches for (visiting.py)
    group       by key what a loop looks for (grouping.py)
    mark        one side of an intersection, to be looked up (marking.py)
    divide      a sum as a whole (dividing.py)
    guard       what may fail, if loops come to it (guarding.py)
    collect     what loops bring to a key, before a loop over what lies there (collecting.py)

``t`` is a term that contains a loop, or a costly function: a scalar, but to be stored or tabulated also a
dictionary. A table pays if it is read more often than it has rows, or if the loops that fill it run in a
better order; both are left to the full cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, zip_longest

from storel.calculus.binding import free_variables
from storel.calculus.nodes import Range, Singleton, Sum, Term, Variable
from storel.calculus.verify import KEY, infer
from storel.calculus.walk import length
from storel.optimizer.cost.model import CostModel, Nanoseconds
from storel.optimizer.cost.whole import Estimator
from storel.optimizer.limits import FEW_TERM_NODES, TERM_NODE, Stop
from storel.optimizer.sharing.collecting import collected
from storel.optimizer.sharing.dividing import divided
from storel.optimizer.sharing.filling import tables
from storel.optimizer.sharing.grouping import grouped
from storel.optimizer.sharing.guarding import guarded
from storel.optimizer.sharing.hoisting import ROUNDS, Seen, hoisted, is_met_again, is_movable, named
from storel.optimizer.sharing.indexing import indexed
from storel.optimizer.sharing.marking import marked
from storel.optimizer.sharing.tabulating import tabulated
from storel.optimizer.sharing.visiting import visited
from storel.optimizer.terms.occurrences import (
    occurrences,
    replaced,
)
from storel.optimizer.terms.products import Arranged, arranged
from storel.symbols import Symbols

COMPARED = 6
"""How many moves are compared before the best of them is taken; most programs have no more."""

EFFORT = 250_000
"""Nodes of all terms that moves may make for one program: a chain of twelve dense matrices takes 106,000.

Terms with names inside of names have so many moves, each of a long term, that all of them take minutes.
"""


class Sharing:
    """The terms of one program with shared parts named, and what they cost; each is found once.

    ``stake`` is what the best of them costs, all that more effort may save; the search may take ``patience``
    times as long. ``made`` is how many nodes the moves have made, and ``stop`` why there are no more.
    """

    def __init__(
        self, symbols: Symbols, model: CostModel, patience: float, *, reassociates: bool = True
    ) -> None:
        self._symbols = symbols
        self._reassociates = reassociates
        self._estimator = Estimator(symbols, model)
        self.cost = self._estimator.cost
        self.price = self._estimator.nanoseconds
        self.operations = self._estimator.operations
        self._arranged: Arranged = {}
        self._shared: dict[Term, Term] = {}
        self._settled: dict[Term, Term] = {}
        self._patience = patience
        self._is_timed = isinstance(model, Nanoseconds)
        self.stake = math.inf
        self.made = 0
        self.stop: Stop | None = None

    def meet(self, term: Term) -> None:
        """Take note that ``term`` (closed) is a plan."""
        self.stake = min(self.stake, self.price(self._settle(term)))

    @property
    def worth(self) -> float:
        """How many nanoseconds the search may take for what it may still save.

        They have no end under a user's cost model, whose unit is not known.
        """
        return self._patience * self.stake if self._is_timed else math.inf

    def worth_beside(self, plans: Iterable[Term]) -> float:
        """Return how many nanoseconds it may take to look for another plan, beside these shared ones."""
        return self._patience * min(map(self.price, plans)) if self._is_timed else math.inf

    def share(self, term: Term) -> Term:
        """Return ``term`` (closed) with shared parts named, as long as that is cheaper."""
        if term not in self._shared:
            self._shared[term] = self._share(term)
        return self._shared[term]

    def _share(self, term: Term) -> Term:
        self.meet(term)
        # Rows are stored before products are arranged, which takes a row's scalar factors to its leaves.
        stored = _improved(
            term,
            lambda term: self._afforded(_stored(term, self._symbols, self._reassociates)),
            lambda term: self.price(self._settle(term)),
        )
        return min(map(self._tabulate, dict.fromkeys((term, stored))), key=self.price)

    def _tabulate(self, term: Term) -> Term:
        self.meet(term)
        return _improved(
            self._settle(term),
            lambda term: self._afforded(self._moves(term)),
            self.price,
            self._hoist,
        )

    def _moves(self, term: Term) -> Iterator[Term]:
        """Yield the moves of each kind in turn: one that saves much is among the first to be compared."""
        kinds = [
            grouped(term, self._symbols, reassociates=self._reassociates),
            indexed(term, self._symbols, reassociates=self._reassociates),
            _interchanged(term, self._symbols),
            divided(term, self._symbols) if self._reassociates else iter(()),
            tabulated(term, self._symbols),
            marked(term, self._symbols),
            guarded(term, self._symbols),
        ]
        return (move for moves in zip_longest(*kinds) for move in moves if move is not None)

    def _afforded(self, moves: Iterator[Term]) -> Iterator[Term]:
        """Yield moves as long as there is effort left for them, and they are worth it."""
        worth = max(FEW_TERM_NODES, self.worth / TERM_NODE)
        for move in moves:
            self.made += length(move)
            if self.made > min(EFFORT, worth):
                self.stop = Stop.GOOD_ENOUGH if worth < EFFORT else Stop.NODES
                break
            yield move

    def _hoist(self, term: Term) -> Term:
        return hoisted(term, self._symbols)

    def _settle(self, term: Term) -> Term:
        if term not in self._settled:
            made = arranged(term, self._symbols, (), self._arranged)
            self._settled[term] = hoisted(made, self._symbols)
        return self._settled[term]


def _improved(
    term: Term,
    moves: Callable[[Term], Iterator[Term]],
    price: Callable[[Term], float],
    finished: Callable[[Term], Term] = lambda term: term,
) -> Term:
    """Take moves as long as there is one that is cheaper: the best of a few, going on where that one stood.

    A long chain has dozens of moves, most of which pay, and are still there when another one is taken. They
    are made, and ``finished``, as they are looked at.
    """
    least, start = price(term), 0
    for _ in range(ROUNDS):
        pending = _in_turn(moves(term), start)
        while batch := {number: finished(made) for number, made in islice(pending, COMPARED)}:
            best = min((price(made), number) for number, made in batch.items())
            if best[0] < least:
                least, start = best
                term = batch[start]
                break
        else:
            break
    return term


def _in_turn(moves: Iterator[Term], start: int) -> Iterator[tuple[int, Term]]:
    """Yield all distinct moves with their numbers, those from number ``start`` on first."""
    seen: set[Term] = set()
    distinct = enumerate(move for move in moves if not (move in seen or seen.add(move)))
    earlier = list(islice(distinct, start))
    yield from distinct
    yield from earlier


def _stored(term: Term, symbols: Symbols, reassociates: bool) -> Iterator[Term]:
    """Yield ``term`` with a row visited, or stored as it is and after a loop that fills one moved out."""
    swapped = list(_interchanged(term, symbols))
    yield from visited(term, symbols, reassociates=reassociates)
    for moved in (term, *swapped):
        yield from _materialized(moved, symbols)
    yield from swapped
    yield from tabulated(term, symbols, rows=True)
    yield from collected(term, symbols)


def _materialized(term: Term, symbols: Symbols) -> Iterator[Term]:
    """Yield ``term`` with one dictionary stored that a loop makes each time, or that is written twice."""
    seen: Seen = {}
    for found in occurrences(term, symbols):
        kind = infer(found.term, symbols, found.types)
        depth = found.inside(min(free_variables(found.term), default=len(found.scope)))
        if kind.rank == 0 or kind.is_array:
            continue
        again = any(binder.is_loop for binder in found.scope[:depth]) or is_met_again(found, depth, seen)
        if again and is_movable(found, depth, symbols):
            yield named(term, found, depth)


def _interchanged(term: Term, symbols: Symbols) -> Iterator[Term]:
    """Yield ``term`` with one loop that fills a row, key by key, filling it once per inner iteration."""
    for found in occurrences(term, symbols):
        match found.term:
            case Sum(Range() as keys, Singleton(Variable(1), entry), semiring):
                made = tables(keys, entry, symbols, (KEY, KEY, *found.types))
                rows = [row for row in made if row.semiring == semiring]
                yield from (replaced(term, found.path, row) for row in rows[1:])
            case _:
                continue
