"""The enclosing binders of an expression on its way from names to De Bruijn indices."""

from __future__ import annotations

from dataclasses import dataclass, replace

from storel.calculus.nodes import Empty, Symbol, Variable
from storel.calculus.verify import KEY, Context, Type

NOTHING = Empty(0)
"""``{}`` in the text: the zero of whatever rank is needed. It occurs while lowering, never in a term."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Names and types, the innermost first; a binder that the text does not name is None.

    ``empty`` are names that stand for ``{}``, or for what is in it, whatever rank that would be.
    """

    names: tuple[str | None, ...] = ()
    types: Context = ()
    empty: frozenset[str] = frozenset()

    def bind(self, name: str | None, kind: Type = KEY) -> Scope:
        """Return the scope inside a binder."""
        return Scope((name, *self.names), (kind, *self.types), self.empty)

    def name_nothing(self, name: str | None) -> Scope:
        """Return the scope in which ``name`` stands for ``{}``; no other binder has that name."""
        return self if name is None else replace(self, empty=self.empty | {name})

    def find(self, name: str) -> Variable | Symbol | Empty:
        """Return what ``name`` stands for here: a binder's variable, a symbol, or nothing."""
        if name in self.empty:
            return NOTHING
        return Variable(self.names.index(name)) if name in self.names else Symbol(name)
