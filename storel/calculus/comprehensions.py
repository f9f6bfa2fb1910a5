"""Loops of a program: sums over semirings, and comprehensions over monoids as such sums where they are.

    count(G)      =  sum(G) 1                 over plus_times
    any(G) b      =  sum(G) b                 over or_and
    all(G) b      =  not sum(G) not b         over or_and
    min(G) b      =  min(<0, _> in {0 -> any(G) true}) least(G) b

where the last line is for generators that may find nothing inside of a row; ``max`` is like it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from storel.calculus.binding import shift
from storel.calculus.generators import Body, Nest, Reduction, SourceOf, Total, only_if, required
from storel.calculus.nodes import Apply, Literal, Reduce, Term
from storel.calculus.scope import Scope
from storel.scalars import ScalarType
from storel.semiring import PLUS_TIMES
from storel.symbols import Symbols
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Generator, Name

_WITH_UNIT = {"min": "least", "max": "greatest"}


@dataclass(frozen=True, slots=True)
class Loops:
    """Lowers loops; ``total`` makes their sums, ``source_of`` lowers their sources."""

    symbols: Symbols
    total: type[Total]
    source_of: SourceOf

    def sum(self, generators: tuple[Generator, ...], scope: Scope, body: Body, semiring: str) -> Term:
        """Lower a sum over ``semiring``."""
        return self._nest(self.total(semiring), generators, scope, body)

    def comprehension(self, monoid: str, generators: tuple[Generator, ...], scope: Scope, body: Body) -> Term:
        """Lower a loop in another monoid; only min, max and prod are no sum over a semiring."""
        match monoid:
            case "count":
                one = Literal(1, ScalarType.INT64)
                return self.sum(generators, scope, lambda _: one, PLUS_TIMES.name)
            case "any":
                return self.sum(generators, scope, lambda inner: required(body(inner)), "or_and")
            case "all":
                fails = self.sum(generators, scope, lambda inner: Apply("not", (body(inner),)), "or_and")
                return Apply("not", (fails,))
            case _:
                return self._reduction(monoid, generators, scope, body)

    def _reduction(self, monoid: str, generators: tuple[Generator, ...], scope: Scope, body: Body) -> Term:
        """Lower min, max or prod.

        Sources by themselves, without repeated keys, find something each time or never, and have no empty
        rows, so that min and max nest; where all there is are rows, of which the first is known to have
        entries, they cannot fail. Else the loops inside may find nothing, and whether all of them do is
        asked for apart.
        """
        keys = [key.name for generator in generators for key in generator.keys if key.name is not None]
        if monoid == "prod" or (_are_by_themselves(generators) and len(set(keys)) == len(keys)):
            source = generators[0].source
            is_filled = isinstance(source, Name) and scope.is_filled(scope.find(source.name))
            if is_filled and _is_one_source(generators):
                monoid = _WITH_UNIT.get(monoid, monoid)
            return self._nest(Reduction(monoid), generators, scope, body)
        found = self._nest(Reduction(_WITH_UNIT[monoid]), generators, scope, body)
        truth = Literal(True, ScalarType.BOOL)
        some = self.sum(generators, scope, lambda _: truth, "or_and")
        return Reduce(monoid, only_if(some), shift(found, 2))

    def _nest(
        self, form: Total | Reduction, generators: tuple[Generator, ...], scope: Scope, body: Body
    ) -> Term:
        return Nest(self.symbols, form, self.source_of).lower(generators, scope, body)


def _is_one_source(generators: tuple[Generator, ...]) -> bool:
    """Return whether each generator but the first goes through the rows of the one before, by their name."""
    return all(
        isinstance(row.source, Name) and row.source.name == before.value.name
        for before, row in pairwise(generators)
    )


def _are_by_themselves(generators: tuple[Generator, ...]) -> bool:
    """Return whether each generator has a source of its own, or goes through an earlier one's row by name."""
    rows: set[str] = set()
    bound: set[str] = set()
    for generator in generators:
        source = generator.source
        if not (isinstance(source, Name) and source.name in rows) and free_names(source) & bound:
            return False
        names = {binder.name for binder in (*generator.keys, generator.value) if binder.name is not None}
        bound |= names
        rows -= names
        if generator.value.name is not None:
            rows.add(generator.value.name)
    return True
