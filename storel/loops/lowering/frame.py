"""A procedure under construction: where its statements go, and the bounds that it has counted so far."""

from __future__ import annotations

from collections.abc import Sequence

from storel.calculus.nodes import Term
from storel.loops.emitter import Emitter, index, times
from storel.loops.lowering.actions import ActionLowering
from storel.loops.lowering.bindings import given
from storel.loops.lowering.expressions import ExpressionLowering
from storel.loops.lowering.hashing import capacity_for
from storel.loops.lowering.scope import Scope
from storel.loops.lowering.targets import LocalTarget
from storel.loops.nodes import Binary, Expression, Failure, Role
from storel.plan.binding import store_terms
from storel.plan.count import total
from storel.plan.nodes import Action, HashStore, RowsStore, Store
from storel.symbols import Symbols

UNBOUNDED = 2**48
"""What stands for a bound that is not known: results get what memory there is, no temporary fits."""


class Frame:
    """One procedure under construction; its actions read ``stores``, the last one filled first.

    Procedures of one kernel share the ``failures`` that they may end with.
    """

    def __init__(
        self,
        symbols: Symbols,
        is_unguarded: bool,
        stores: tuple[Store, ...] = (),
        failures: list[Failure] | None = None,
    ) -> None:
        self.emitter = Emitter(symbols, failures)
        self.extents = tuple(map(store_terms, stores))
        self._counts: dict[tuple[int, bool], Expression] = {}
        self._inserted: dict[int, tuple[Expression, Expression]] = {}
        self.expressions = ExpressionLowering(self.emitter, symbols, is_unguarded)
        self.actions = ActionLowering(self.expressions)
        self.scope = given(stores, self.expressions)

    def extent(self, term: Term) -> Expression:
        """Return an extent, which is closed, as an index."""
        return self.expressions.key(term, Scope())

    def product(self, terms: Sequence[Term]) -> Expression:
        """Return the product of extents."""
        result: Expression = index(1)
        for term in terms:
            result = times(result, self.extent(term))
        return result

    def count(self, action: Action, level: int, extents: tuple[Term, ...] | None) -> Expression:
        """Emit a bound on the entries at ``level``, or on all arrivals there if ``extents`` is None."""
        known = self._counts.get((level, extents is None))
        if known is not None:
            return known
        counted = total(action, level, extents, self.extents)
        if counted is None:
            return index(UNBOUNDED) if extents is None else self.product(extents[: level + 1])
        self.actions.role = Role.INDEX
        local = self.emitter.declare("count", index(0))
        self.actions.run(counted, LocalTarget(self.emitter, local, "add"), self.scope)
        self._counts[level, extents is None] = local
        return local

    def inserted(
        self, number: int, store: HashStore | RowsStore, counted: Action | None
    ) -> tuple[Expression, Expression]:
        """Emit a bound on the keys in the hash store of this number; return it, and the capacity it needs."""
        if number not in self._inserted:
            keys: Expression = index(UNBOUNDED)
            if counted is not None:
                self.actions.role = Role.INDEX
                arrivals = self.emitter.declare("arrivals", index(0))
                self.actions.run(counted, LocalTarget(self.emitter, arrivals, "maximum"), self.scope)
                keys = Binary("minimum", arrivals, keys)
            keys = self.emitter.declare("keys", Binary("minimum", keys, self.product(store.extents)))
            self._inserted[number] = keys, capacity_for(self.emitter, keys)
        return self._inserted[number]
