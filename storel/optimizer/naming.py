"""Symbols called by their places, so that searches that differ in names only are one search.

A script that writes an iteration out defines the same things again and again under other names, and a user
may call a tensor as she likes: neither may cost a search of its own, nor lead to another plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

from storel.calculus.nodes import Symbol, Term
from storel.calculus.walk import children, map_children
from storel.optimizer.outcome import Optimized, Priced
from storel.symbols import ArraySymbol, Fact, MappingSymbol, Symbols


@dataclass(frozen=True)
class Naming:
    """Other names for symbols, the terms that are written with them, and the way back."""

    names: Mapping[str, str]
    _renamed: dict[int, tuple[Term, Term]] = field(default_factory=dict[int, tuple[Term, Term]], repr=False)

    @cached_property
    def back(self) -> Naming:
        """The naming that undoes this one."""
        return Naming({other: name for name, other in self.names.items()})

    def term(self, term: Term) -> Term:
        """Return a term with its symbols renamed; what occurs again is the same again.

        Terms are told by identity, since 0.0 equals -0.0; so what was renamed is held.
        """
        if id(term) not in self._renamed:
            if isinstance(term, Symbol):
                renamed = Symbol(self._name(term.name))
            else:
                renamed = map_children(term, lambda child, _: self.term(child))
            self._renamed[id(term)] = term, renamed
        return self._renamed[id(term)][1]

    def symbols(self, symbols: Symbols) -> Symbols:
        """Return the same facts about the other names, in the order of these."""
        return {other: self._fact(symbols[name]) for name, other in self.names.items()}

    def found(self, found: Optimized) -> Optimized:
        """Return the same outcome of a search with all that it names renamed."""
        return replace(
            found,
            term=self.term(found.term),
            normalized=self.term(found.normalized),
            nonzero=frozenset(map(self._name, found.nonzero)),
            considered=tuple(map(self._priced, found.considered)),
            graph=replace(found.graph, names=self.names),
        )

    def _name(self, name: str) -> str:
        return self.names.get(name, name)

    def _priced(self, priced: Priced) -> Priced:
        return replace(priced, term=self.term(priced.term))

    def _fact(self, fact: Fact) -> Fact:
        name = self._name(fact.name)
        match fact:
            case ArraySymbol():
                within = None if fact.within is None else self._name(fact.within)
                return replace(fact, name=name, within=within, group=tuple(map(self._name, fact.group)))
            case MappingSymbol(_, term):
                return replace(fact, name=name, term=self.term(cast("Term", term)))
            case _:
                return replace(fact, name=name)


def by_place(terms: Iterable[Term], symbols: Symbols) -> Naming:
    """Return the naming that numbers symbols as they are met, in terms before the facts about what was met.

    Facts about names that nothing leads to come last, as they stand. Names sort as they are numbered.
    """
    met = dict.fromkeys(name for term in terms for name in _met(term) if name in symbols)
    pending = list(met)
    for name in pending:  # grows
        for other in _said_with(symbols[name]):
            if other in symbols and other not in met:
                met[other] = None
                pending.append(other)
    ordered = dict.fromkeys((*met, *symbols))
    digits = len(str(len(ordered)))
    return Naming({name: f"s{number:0{digits}}" for number, name in enumerate(ordered)})


def _met(term: Term) -> Iterator[str]:
    """Yield the names of the symbols of a term, the leftmost first."""
    pending = [term]
    while pending:
        found = pending.pop()
        if isinstance(found, Symbol):
            yield found.name
        pending.extend(child for child, _ in reversed(children(found)))


def _said_with(fact: Fact) -> tuple[str, ...]:
    """Return the names that a fact about an array is said with."""
    if not isinstance(fact, ArraySymbol):
        return ()
    return fact.group if fact.within is None else (fact.within, *fact.group)
