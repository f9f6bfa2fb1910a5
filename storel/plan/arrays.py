"""What another phase filled, by name. Rows are three arrays, which are read as those of an operand are.

    loop k, v in entries of x(i): A
      =  guard 0 <= i && i < rows: loop p, k in keys(begins(i):begins(i + 1)): A, with values(p) for v

So what follows is divided by the entries that it meets, and its result is bounded by their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import cast

from storel.calculus.binding import shift
from storel.calculus.bounds import bounds
from storel.calculus.nodes import Add, Apply, Literal, Lookup, Symbol, Term, Variable
from storel.calculus.walk import map_children
from storel.plan.binding import binders, map_terms
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Elements,
    Enter,
    Entries,
    Gather,
    Guard,
    Levels,
    Loop,
    Place,
    RowsStore,
    ScalarStore,
    Together,
    Unite,
)
from storel.scalars import ScalarType, index_type
from storel.symbols import ArraySymbol, Symbols

MOST = 2**62
"""What no number of entries exceeds."""

_ZERO = Literal(0, ScalarType.INT64)
_ONE = Literal(1, ScalarType.INT64)


@dataclass(frozen=True, slots=True)
class RowArrays:
    """The arrays of a store of rows that has a ``number``: row i has the entries begins(i):begins(i + 1)."""

    number: int
    store: RowsStore

    @property
    def begins(self) -> str:
        """The name of the array of the rows' beginnings."""
        return f"rows.{self.number}.begins"

    @property
    def keys(self) -> str:
        """The name of the array of the entries' keys, increasing in each row."""
        return f"rows.{self.number}.keys"

    @property
    def values(self) -> str:
        """The name of the array of the entries' values."""
        return f"rows.{self.number}.values"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all three."""
        return self.begins, self.keys, self.values

    def symbols(self, sizes: Symbols) -> tuple[ArraySymbol, ...]:
        """Return what is known of the arrays before they are filled."""
        rows, columns = (bounds(extent, sizes).high for extent in self.store.extents)
        assert rows is not None and columns is not None
        index = index_type((rows, columns))
        return (
            ArraySymbol(self.begins, ScalarType.INT64, rows + 1, 0, MOST, ascending=True, holds_indices=True),
            ArraySymbol(
                self.keys, index, MOST, 0, max(0, columns - 1), within=self.begins, holds_indices=True
            ),
            ArraySymbol(self.values, self.store.type, MOST),
        )

    def destination(self, sizes: Symbols) -> Levels:
        """Return the result that the store is."""
        rows, columns = self.store.extents
        leaf = ScalarStore(self.store.type, self.store.operator, self.store.zero)
        highs = [bounds(extent, sizes).high or 0 for extent in self.store.extents]
        return Levels((Place(rows), Gather(columns, by_bitmap=False)), leaf, index_type(highs))

    def read(self, action: Action) -> Action:
        """Return ``action``, which only loops over rows of variable 0, with the arrays in its place."""
        return map_terms(self._with_arrays(action, 0), lambda term, depth: shift(term, -1, depth))

    def _with_arrays(self, action: Action, index: int) -> Action:
        match action:
            case Loop(Entries(Lookup(Variable(store), key)), body) if store == index:
                return self._row(key, self._with_arrays(body, index + 2))
            case Loop(source, body):
                return Loop(source, self._with_arrays(body, index + binders(source)))
            case Enter(key, body):
                return Enter(key, self._with_arrays(body, index))
            case Guard(condition, body):
                return Guard(condition, self._with_arrays(body, index))
            case Bind(store, value, body):
                inner = self._with_arrays(body, index + 1)
                return Bind(store, self._with_arrays(value, index), inner)
            case Together(actions):
                return Together(tuple(self._with_arrays(part, index) for part in actions))
            case Unite(branches):
                made = tuple(self._with_arrays(each, index) for each in branches)
                return Unite(cast("tuple[Loop | Enter, ...]", made))
            case Accumulate():
                return action

    def _row(self, key: Term, body: Action) -> Action:
        begins, values = Symbol(self.begins), Symbol(self.values)
        low, high = Lookup(begins, key), Lookup(begins, Add(key, _ONE))
        entries = map_terms(body, partial(_at_position, values))
        ends = Apply("less_equal", (_ZERO, key)), Apply("less", (key, self.store.extents[0]))
        return Guard(Apply("and", ends), Loop(Elements(self.keys, low, high), entries))


def store_name(number: int) -> str:
    """Return the name of the array that is the scalar or table with this number, in order of filling."""
    return f"store.{number}"


def _at_position(values: Symbol, term: Term, depth: int) -> Term:
    """Return a term below an entry's key (1) and value (0), below its position (1) and key (0) instead."""
    if isinstance(term, Variable):
        if term.index == depth + 1:
            return Variable(depth)
        return Lookup(values, Variable(depth + 1)) if term.index == depth else term
    return map_children(term, lambda child, inner: _at_position(values, child, depth + inner))
