"""The enclosing binders of an expression on its way from names to De Bruijn indices."""

from __future__ import annotations

from dataclasses import dataclass, replace

from storel.calculus.bounds import narrowed
from storel.calculus.intervals import ANY, Interval
from storel.calculus.nodes import Empty, Symbol, Term, Variable
from storel.calculus.verify import KEY, Context, Type
from storel.symbols import Symbols

NOTHING = Empty(0)
"""``{}`` in the text: the zero of whatever rank is needed. It occurs while lowering, never in a term."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Names, types and bounds, the innermost first; a binder that the text does not name is None.

    ``empty`` are names that stand for ``{}``, or for what is in it, whatever rank that would be. ``filled``
    are binders, counted from the outermost, of rows that loops meet: there is something in them.
    """

    names: tuple[str | None, ...] = ()
    types: Context = ()
    intervals: tuple[Interval, ...] = ()
    empty: frozenset[str] = frozenset()
    filled: frozenset[int] = frozenset()

    def bind(
        self, name: str | None, kind: Type = KEY, within: Interval = ANY, *, is_filled: bool = False
    ) -> Scope:
        """Return the scope inside a binder of values ``within`` an interval."""
        names, types, intervals = (name, *self.names), (kind, *self.types), (within, *self.intervals)
        filled = self.filled | {len(self.names)} if is_filled else self.filled
        return Scope(names, types, intervals, self.empty, filled)

    def is_filled(self, term: Term) -> bool:
        """Return whether ``term``, a dictionary, is known to have entries."""
        return isinstance(term, Variable) and len(self.names) - 1 - term.index in self.filled

    def where(self, condition: Term, symbols: Symbols) -> Scope:
        """Return the scope of what is only evaluated where ``condition`` holds."""
        return replace(self, intervals=narrowed(condition, symbols, self.intervals))

    def name_nothing(self, name: str | None) -> Scope:
        """Return the scope in which ``name`` stands for ``{}``; no other binder has that name."""
        return self if name is None else replace(self, empty=self.empty | {name})

    def find(self, name: str) -> Variable | Symbol | Empty:
        """Return what ``name`` stands for here: a binder's variable, a symbol, or nothing."""
        if name in self.empty:
            return NOTHING
        return Variable(self.names.index(name)) if name in self.names else Symbol(name)
