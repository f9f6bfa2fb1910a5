"""Which variables the keys of a term's entries determine, so that no two iterations of a loop share an entry.

    sum(<t, _> in 0:4) {i * 4 + t -> sum(<p, j> in idx(a:b)) if (j & 3 == c) then {j -> e}}

The keys of an entry determine i and t, the digits of a number in mixed radix; j, which is a key itself; c,
since it is equal to what is determined; and p, if idx is increasing there. What is fixed around the term is
known. A variable is determined by induction (Armstrong, 1974, on functional dependencies):

    a key is known; of an equation both sides are, if one is
    a known linear form determines its variable of the largest factor if the others cannot make up for it
    a known position determines its element, a known element its position in an increasing array
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from storel.calculus.binding import free_mask, shift, substitute
from storel.calculus.bounds import binder_bounds, bounds
from storel.calculus.domains import linear_form
from storel.calculus.intervals import Context
from storel.calculus.nodes import (
    Add,
    Apply,
    If,
    Let,
    Multiply,
    Range,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.calculus.one_to_one import is_one_to_one
from storel.symbols import ArraySymbol, Symbols


@dataclass(frozen=True, slots=True)
class Determined:
    """Of the innermost variables around a term: those that its outermost keys determine, and all its keys."""

    by_outermost: frozenset[int]
    by_all: frozenset[int]


def determined(term: Term, symbols: Symbols, context: Context, varying: int = 2) -> Determined:
    """Return which of the ``varying`` innermost variables the keys of an entry of ``term`` determine.

    The other variables of ``context`` are fixed. A variable is determined if no two of its values give
    entries with the same keys, whatever the other varying ones are.
    """
    way = _Way.through(term, symbols, context)
    inner = len(way.context) - len(context)
    fixed = -1 << (inner + varying)

    def among(known: int) -> frozenset[int]:
        return frozenset(index for index in range(varying) if known >> (inner + index) & 1)

    return Determined(
        among(way.closure(fixed, symbols, 1)), among(way.closure(fixed, symbols, len(way.keys)))
    )


def keyed(term: Term) -> bool:
    """Return whether ``term`` is evidently a dictionary that is made entry by entry, or adds up some."""
    match term:
        case Singleton():
            return True
        case Sum(_, body) | If(_, body) | Let(_, body):
            return keyed(body)
        case Add(left, right) | Multiply(left, right):
            return keyed(left) or keyed(right)
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Way:
    """The loops, conditions and keys on the way to a term's entries, all as seen from where the way ends."""

    context: Context
    keys: tuple[Term, ...]
    equations: tuple[tuple[Term, Term], ...]
    loops: tuple[tuple[Term, int], ...]
    """The source of each loop, and its element; the position is the next variable."""

    @classmethod
    def through(cls, term: Term, symbols: Symbols, context: Context) -> _Way:
        keys: list[tuple[Term, int]] = []
        conditions: list[tuple[Term, int]] = []
        sources: list[tuple[Term, int]] = []
        while True:
            match term:
                case Sum(source, body):
                    sources.append((source, len(context)))
                    positions, elements = binder_bounds(source, symbols, context)
                    context, term = (elements, positions, *context), body
                case If(condition, body):
                    conditions += ((each, len(context)) for each in _conjuncts(condition))
                    term = body
                case Singleton(key, value):
                    keys.append((key, len(context)))
                    term = value
                case Let(value, body):
                    term = substitute(body, value)
                case _:
                    break
        end = len(context)

        def seen(found: list[tuple[Term, int]]) -> Iterator[Term]:
            return (shift(each, end - depth) for each, depth in found)

        equal = (each.arguments for each in seen(conditions) if isinstance(each, Apply))
        equations = tuple((sides[0], sides[1]) for sides in equal if len(sides) == 2)
        loops = zip(seen(sources), (end - depth - 2 for _, depth in sources), strict=True)
        return cls(context, tuple(seen(keys)), equations, tuple(loops))

    def closure(self, known: int, symbols: Symbols, outermost: int) -> int:
        """Return what is known, a bit for each variable, once so many outermost keys are."""
        before = 0
        while known != before:
            before = known
            for key in self.keys[:outermost]:
                known |= self._solved(key, known, symbols)
            for one, other in self.equations:
                for given, sought in ((one, other), (other, one)):
                    if not free_mask(given) & ~known:
                        known |= self._solved(sought, known, symbols)
            for source, element in self.loops:
                if known >> (element + 1) & 1 and _is_array(source, symbols):
                    known |= 1 << element
                if known >> element & 1 and is_one_to_one(source, symbols):
                    known |= 1 << (element + 1)
        return known

    def _solved(self, term: Term, known: int, symbols: Symbols) -> int:
        """Return the variables that the value of ``term`` determines, a bit for each."""
        form = linear_form(term, symbols, self.context)
        unknown = {} if form is None else {a: f for a, f in form.items() if free_mask(a) & ~known}
        digits = sorted(
            ((abs(factor), self._span(atom, symbols), atom) for atom, factor in unknown.items()),
            key=lambda digit: digit[0],
        )
        found = 0
        while digits:
            factor, _, atom = digits.pop()
            below = [None if span is None else each * span for each, span, _ in digits]
            if any(each is None for each in below) or factor <= sum(each or 0 for each in below):
                break
            if isinstance(atom, Variable):
                found |= 1 << atom.index
        return found

    def _span(self, atom: Term, symbols: Symbols) -> int | None:
        """Return how far apart two values of an atom are at most."""
        interval = bounds(atom, symbols, self.context)
        if interval.low is None or interval.high is None:
            return None
        return max(0, interval.high - interval.low)


def _conjuncts(condition: Term) -> Iterator[Term]:
    """Yield the equations that hold where ``condition`` does."""
    match condition:
        case Apply("and", (left, right)):
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case Apply("equal"):
            yield condition
        case _:
            return


def _is_array(source: Term, symbols: Symbols) -> bool:
    match source:
        case Range():
            return True
        case Symbol(name) | Slice(Symbol(name), _, _):
            return isinstance(symbols.get(name), ArraySymbol)
        case _:
            return False
