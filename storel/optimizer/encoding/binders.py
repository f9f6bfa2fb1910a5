"""What there is to choose about binders in the e-graph: the interface of ``named.py`` and ``debruijn.py``.

The calculus is De Bruijn-indexed; rules and analyses are written with names. An encoding says how either
looks in the e-graph, and what it takes to move a term from under some binders to under others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

from storel.calculus.intervals import Interval
from storel.calculus.verify import Type

BinderFact: TypeAlias = tuple[Type, Interval]
"""What is known of the values that a binder takes."""

Scope: TypeAlias = tuple[str, ...]
"""The binders of a rule that a pattern stands under, the innermost first; "" is one that is shadowed."""


class Encoding(Protocol):
    """How the e-graph holds variables and binders.

    A term of the calculus numbers its binders, by ``number_binder``, and the numbers stand at the places
    ``b`` of the layouts. All else that depends on the choice is asked here.
    """

    @property
    def layouts(self) -> Mapping[str, str]:
        """``LAYOUTS`` with this encoding's variables."""
        ...

    @property
    def operators(self) -> Mapping[str, str]:
        """The layouts of the constructors that are no terms."""
        ...

    @property
    def most_matches(self) -> int | None:
        """The matches in a step after which a rule is held back for some steps, if there is a limit."""
        ...

    def number_binder(self, known: Sequence[BinderFact], fact: BinderFact) -> int:
        """Return the number of a binder; it is the next one, or that of a binder already known."""
        ...

    def binder(self, number: int) -> str:
        """Return the class that carries the facts about the variables of a binder."""
        ...

    def variable(self, index: int, scope: tuple[int, ...]) -> str:
        """Return a variable under the binders ``scope``, the innermost first."""
        ...

    def index(self, variable: tuple[object, ...], scope: tuple[int, ...]) -> int:
        """Return the De Bruijn index of a variable, given its arguments."""
        ...

    def binder_of(self, variable: tuple[object, ...]) -> int:
        """Return the number of the binder whose facts hold for a variable, given its arguments."""
        ...

    def inside(self, binders: Sequence[int]) -> list[int]:
        """Return the first arguments of the variables that a node's binders bind, seen from its body."""
        ...

    def outside(self, free: int, binders: Sequence[int]) -> int:
        """Return the variables free in a node, given those of its body, as masks of first arguments."""
        ...

    def program(self) -> Iterator[str]:
        """Yield the rules that find free variables and push operators down."""
        ...

    def analysis(self, facts: str, actions: str) -> tuple[str, str]:
        """Return a rule of an analysis, which is written for names, in this encoding."""
        ...

    def bound(self, name: str, scope: Scope) -> str:
        """Return a rule's variable."""
        ...

    def place(self, name: str, scope: Scope) -> str:
        """Return what a guard calls a rule's variable."""
        ...

    def moved(self, hole: str, before: Scope, after: Scope) -> tuple[str, list[str]]:
        """Return a term as seen under other binders, and the facts that allow it."""
        ...

    def let(self, name: str, value: str, body: str) -> str:
        """Return ``body`` with the innermost variable, ``name``, replaced by ``value``."""
        ...

    def distinct(self, binders: Sequence[str]) -> list[str]:
        """Return that the binders of a rule are different ones, where that must be said."""
        ...
