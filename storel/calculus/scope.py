"""The enclosing binders of an expression on its way from names to De Bruijn indices."""

from __future__ import annotations

from dataclasses import dataclass

from storel.calculus.nodes import Symbol, Variable
from storel.calculus.verify import KEY, Type


@dataclass(frozen=True, slots=True)
class Scope:
    """Names and types, the innermost first; a binder that the text does not name is None.

    ``keys`` are the names that address: keys, positions, and what is computed from them.
    """

    names: tuple[str | None, ...] = ()
    types: tuple[Type, ...] = ()
    keys: frozenset[str] = frozenset()

    def bind(self, name: str | None, kind: Type) -> Scope:
        """Return the scope inside a binder of a value."""
        keys = self.keys if name is None else self.keys - {name}
        return Scope((name, *self.names), (kind, *self.types), keys)

    def bind_key(self, name: str | None, kind: Type = KEY) -> Scope:
        """Return the scope inside a binder of a key or a position."""
        inner = self.bind(name, kind)
        return inner if name is None else Scope(inner.names, inner.types, inner.keys | {name})

    def find(self, name: str) -> Variable | Symbol:
        """Return what ``name`` stands for here: a binder's variable, or a symbol."""
        return Variable(self.names.index(name)) if name in self.names else Symbol(name)
