"""Terms rewritten by the eager rules, before there is an e-graph.

The right side of an eager rule replaces the left one at once; in an e-graph, too, no other rule sees the
left side afterwards. So what these rules make of a term, of the composed storage mappings above all, is made
of the term itself, and the e-graph is left with what there is to choose from. Where the other rules of a
phase match nowhere, that is nothing.

A value that has loops is only inlined where that does not repeat them. What is rewritten keeps its type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from storel.calculus.intervals import Interval
from storel.calculus.nodes import Let, Term
from storel.calculus.verify import InvariantError, Type, infer
from storel.calculus.walk import children
from storel.optimizer.encoding.layouts import LAYOUTS, TERMS
from storel.optimizer.rules.guards import holds
from storel.optimizer.rules.matching import Match, MismatchError, Place, head, is_repeated, matched
from storel.optimizer.rules.patterns import Hole, Node
from storel.optimizer.rules.rulefile import EAGER, Rule, RuleSet
from storel.optimizer.rules.skeletons import Fitting
from storel.optimizer.terms.occurrences import has_loop, replaced
from storel.semiring import SEMIRINGS
from storel.symbols import Symbols

STEPS = 20_000
"""Rewritings after which the rest is left to the e-graph; only rules that undo each other take as many."""

DEEPEST = 200
"""Levels of a term, and changes at one place; only rules that match what they make reach as many."""

_KINDS = {
    "": "",
    **{name: "".join(kind for kind in layout if kind in TERMS) for name, layout in LAYOUTS.items()},
}
"""What the children of a constructor are, "" being a leaf that no rule names."""

_Seen = tuple[Term, bool, tuple[Type, ...], tuple[Interval, ...]]


class _OutgrownError(Exception):
    """A term has become deeper, or has changed more often at one place, than any program's does."""


class Rewriter:
    """Rewrites terms by the eager rules; ``matches`` counts what each of them did."""

    def __init__(self, rules: RuleSet, symbols: Symbols) -> None:
        self._eager = _fitting(rules, EAGER)
        self._rules = rules
        self._symbols = symbols
        self._known: dict[_Seen, Term] = {}
        self.matches = Counter[str]()

    def normal(self, term: Term) -> Term:
        """Return ``term``, which is closed, as no eager rule changes it.

        Where rules let it grow without end it stays as it is: an e-graph has a limit.
        """
        before = self.matches.copy()
        try:
            return self._normal(term, Place(self._symbols), 0)
        except _OutgrownError:
            self.matches = before
            return term

    def _normal(self, term: Term, place: Place, depth: int) -> Term:
        """Return a term at a place as no eager rule changes it; raises _OutgrownError."""
        if depth > DEEPEST:
            raise _OutgrownError
        if not children(term):
            return term
        asked = (term, place.is_index, *place.relevant(term))
        found = self._known.get(asked)
        if found is None:
            found = self._known[asked] = self._settled(term, place, depth)
            if found is not term and self.matches.total() < STEPS:  # it is normal, and will be asked for
                self._known[(found, place.is_index, *place.relevant(found))] = found
        return found

    def _settled(self, term: Term, place: Place, depth: int) -> Term:
        for _ in range(DEEPEST):
            term = self._with_normal_children(term, place, depth)
            made = self._rewritten(term, place)
            if made is None or self.matches.total() >= STEPS:
                return term if made is None else made
            term = made
        raise _OutgrownError

    def _with_normal_children(self, term: Term, place: Place, depth: int) -> Term:
        """Return ``term`` with its children made normal, in turn: what the first are, later ones may see."""
        for position, kind in enumerate(_KINDS[head(term, place)[0]]):
            child, binders = children(term)[position]
            made = self._normal(child, place.of_child(term, kind, binders), depth + 1)
            if made is not child:
                term = replaced(term, (position,), made)
        return term

    def _rewritten(self, term: Term, place: Place, *, inlines: bool = False) -> Term | None:
        """Return what the first rule that matches makes of a term; loops are inlined only if that is said."""
        for rule in self._eager.to(term):
            match = _matched(rule, term, place)
            if match is not None and all(holds(guard, match) for guard in rule.guards):
                made = _made(rule, match, term, place, inlines=inlines)
                if made is not None:
                    self.matches[rule.name] += 1
                    return made
        return None

    def settled(self, term: Term, phase: str) -> Term | None:
        """Return what a phase is certain to make of a normal term, None if there may be something to choose.

        That is the term itself, but for numbers that loops make: those named and used once are inlined.
        """
        before = self.matches.copy()
        inlined = self._inlined(term, Place(self._symbols))
        if self.is_settled(inlined, phase):
            return inlined
        self.matches = before
        return None

    def _inlined(self, term: Term, place: Place) -> Term:
        """Return a normal term whose names are replaced where rules do that, and no loop is repeated."""
        for position, kind in enumerate(_KINDS[head(term, place)[0]]):
            child, binders = children(term)[position]
            made = self._inlined(child, place.of_child(term, kind, binders))
            if made is not child:
                term = replaced(term, (position,), made)
        made = self._rewritten(term, place, inlines=True) if isinstance(term, Let) else None
        return term if made is None else made

    def is_settled(self, term: Term, phase: str) -> bool:
        """Return whether it is certain that no rule of a phase, nor any eager one, changes a normal term.

        That the sides of one operation may be exchanged is no change if other rules match neither way round:
        both cost the same.
        """
        phases = (*EAGER, phase)
        exchanged = list(self._exchanged(term, _fitting(self._rules, phases, exchanging=True)))
        others = _fitting(self._rules, phases, exchanging=False)
        return len(exchanged) <= 1 and not any(
            self._may_change(rule, part, place)
            for each in (term, *exchanged)
            for _, part, place in _parts(each, Place(self._symbols))
            for rule in others.to(part)
        )

    def _exchanged(self, term: Term, rules: Fitting) -> Iterator[Term]:
        """Yield ``term`` changed at one place by one of these rules, which exchange sides."""
        for path, part, place in _parts(term, Place(self._symbols)):
            for rule in rules.to(part):
                match = _matched(rule, part, place)
                made = None if match is None else _made(rule, match, part, place)
                if made is not None:
                    yield replaced(term, path, made)

    def _may_change(self, rule: Rule, term: Term, place: Place) -> bool:
        match = _matched(rule, term, place)
        if match is None or any(holds(guard, match) is False for guard in rule.guards):
            return False
        try:
            kind = infer(term, place.symbols, place.types)
            match.built(rule.right, (), rule.is_about_keys, kind, repeats=True)
        except MismatchError:
            return False
        return True


def is_outgrown(term: Term, levels: int = DEEPEST) -> bool:
    """Return whether a term has more levels than any that a program means."""
    return levels == 0 or any(is_outgrown(child, levels - 1) for child, _ in children(term))


def size(term: Term) -> int:
    """Return how many nodes a term has, equal ones counted once."""
    seen: set[Term] = set()

    def visit(term: Term) -> None:
        if term not in seen:
            seen.add(term)
            for child, _ in children(term):
                visit(child)

    visit(term)
    return len(seen)


def _parts(
    term: Term, place: Place, path: tuple[int, ...] = ()
) -> Iterator[tuple[tuple[int, ...], Term, Place]]:
    yield path, term, place
    kinds = _KINDS[head(term, place)[0]]
    for position, ((child, binders), kind) in enumerate(zip(children(term), kinds, strict=True)):
        yield from _parts(child, place.of_child(term, kind, binders), (*path, position))


@lru_cache(maxsize=32)
def _fitting(rules: RuleSet, phases: tuple[str, ...], exchanging: bool | None = None) -> Fitting:
    """Return the rules of some phases: all, or those that exchange sides of an operation, or the others."""
    return Fitting(
        rule
        for rule in rules.rules
        if any(phase in phases for phase in rule.phases) and exchanging in (None, _exchanges_sides(rule))
    )


def _exchanges_sides(rule: Rule) -> bool:
    """Return whether a rule exchanges the sides of an operation, whatever they are."""
    match rule.left:
        case Node(operation, (name, Hole() as left, Hole() as right)) if left != right:
            return rule.right == Node(operation, (name, right, left)) and not rule.guards
        case _:
            return False


def _matched(rule: Rule, term: Term, place: Place) -> Match | None:
    match = matched(rule.left, term, place, is_key=rule.is_about_keys)
    if match is None or "ring" not in rule.tags:
        return match
    return match if match.semiring in SEMIRINGS and SEMIRINGS[match.semiring].has_negation else None


def _stays_named(term: Let, place: Place, *, inlines: bool) -> bool:
    """Return whether a value is named for a purpose: it has loops, or is used again and is no leaf.

    If loops are inlined, they have to make a dictionary.
    """
    if not children(term.value):
        return False
    is_stored = not inlines or infer(term.value, place.symbols, place.types).rank > 0
    return (is_stored and has_loop(term.value)) or is_repeated(term.body, 0)


def _made(rule: Rule, match: Match, term: Term, place: Place, *, inlines: bool = False) -> Term | None:
    """Return the right side of a rule, None if it is of another type or cannot be built.

    What is named in the term itself may have to stay so.
    """
    try:
        kind = infer(term, place.symbols, place.types)
        if isinstance(term, Let) and _stays_named(term, place, inlines=inlines):
            return None
        made = match.built(rule.right, (), rule.is_about_keys, kind)
        return made if infer(made, place.symbols, place.types) == kind else None
    except (MismatchError, InvariantError):
        return None
