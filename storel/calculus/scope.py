"""The enclosing binders of an expression on its way from names to De Bruijn indices."""

from __future__ import annotations

from dataclasses import dataclass

from storel.calculus.nodes import Symbol, Variable
from storel.calculus.verify import KEY, Context, Type


@dataclass(frozen=True, slots=True)
class Scope:
    """Names and types, the innermost first; a binder that the text does not name is None."""

    names: tuple[str | None, ...] = ()
    types: Context = ()

    def bind(self, name: str | None, kind: Type = KEY) -> Scope:
        """Return the scope inside a binder."""
        return Scope((name, *self.names), (kind, *self.types))

    def find(self, name: str) -> Variable | Symbol:
        """Return what ``name`` stands for here: a binder's variable, or a symbol."""
        return Variable(self.names.index(name)) if name in self.names else Symbol(name)
