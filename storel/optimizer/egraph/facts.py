"""What is known of the symbols and binders of one term, as facts for the e-graph.

Facts about a binder come from its source in the term as it was written. Later the binder may stand
over an instance of that source (a substitution made it); there it runs over fewer elements, never
over others. Only a loop over an element-wise product may become one over an operand, which has more keys:
what is known of it is what is known of the keys of both operands.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from storel.calculus.apart import determined, keyed
from storel.calculus.binders import binder_intervals, binder_types
from storel.calculus.bounds import elements
from storel.calculus.intervals import ANY, LONG, Interval
from storel.calculus.nodes import Add, If, Literal, Multiply, Range, Singleton, Slice, Sum, Symbol, Term
from storel.calculus.strictness import linear
from storel.calculus.verify import KEY, Type, infer
from storel.calculus.walk import children, map_children, names_in
from storel.optimizer.encoding.binders import Encoding
from storel.optimizer.encoding.layouts import Numbering, encode
from storel.optimizer.encoding.named import NAMED
from storel.optimizer.estimation.cardinality import bound_estimates
from storel.optimizer.estimation.estimate import Estimate
from storel.semiring import SEMIRINGS
from storel.symbols import ArraySymbol, EndSymbol, MappingSymbol, ParameterSymbol, SizeSymbol, Symbols


@dataclass(frozen=True, slots=True)
class Encoded:
    """A term as egglog text, with the facts about its names, and the estimates of what they stand for."""

    text: str
    facts: str
    numbering: Numbering
    estimates: dict[int, Estimate]


def encoded(term: Term, symbols: Symbols, encoding: Encoding = NAMED, *, shares: bool = True) -> Encoded:
    """Return ``term`` (closed) for the e-graph.

    Loops over one source that are added share their variables, so that to unite them takes no renaming.
    """
    numbering = Numbering(encoding)
    estimates: dict[int, Estimate] = {}
    bound: list[Bound] = []
    numbered: dict[Hashable, tuple[int, ...]] = {}
    has_products = _with_unions(term, symbols, ()) is not term

    def bind(binding: Term, scope: tuple[int, ...], path: tuple[int, ...]) -> tuple[int, ...]:
        sources = (child for child, binders in children(binding) if not binders)
        place = (type(binding), path, scope, *sources) if shares else len(bound)
        if place not in numbered:
            numbered[place] = number(binding, scope)
        bound.append((binding, scope, numbered[place]))
        return numbered[place]

    def number(binding: Term, scope: tuple[int, ...]) -> tuple[int, ...]:
        types = tuple(numbering.binders[each][0] for each in scope)
        intervals = tuple(numbering.binders[each][1] for each in scope)
        kinds = binder_types(binding, symbols, types)
        known_by = _with_unions(binding, symbols, types) if has_products else binding
        ranges = binder_intervals(known_by, symbols, intervals)
        numbers = tuple(map(numbering.binder, zip(kinds, map(_taken, ranges), strict=True)))
        known = bound_estimates(binding, symbols, tuple(estimates[each] for each in scope))
        for each, estimate in zip(numbers, known, strict=True):
            estimates.setdefault(each, estimate)
        return numbers

    text = encode(term, numbering, bind)
    lines = list(_about_symbols(term, symbols))
    if _takes_entries_apart(term):
        lines += _about_entries(bound, numbering, symbols)
        for fact in symbols.values():
            if isinstance(fact, MappingSymbol) and fact.makes_keys_once:
                lines += _about_mapping(fact, bound, numbering)
    for place, (kind, interval) in enumerate(numbering.binders):
        lines += _about(encoding.binder(place), kind, interval)
    for index, literal in enumerate(numbering.literals):
        lines += _about_literal(f"(Const {index})", literal)
    return Encoded(text, "\n".join(lines), numbering, estimates)


def _with_unions(term: Term, symbols: Symbols, types: tuple[Type, ...]) -> Term:
    """Return ``term`` with sums of dictionaries for their element-wise products.

    Those have the keys of both; a loop over one may come to go through either operand.
    """
    inside = (*reversed(binder_types(term, symbols, types)), *types)
    made = map_children(
        term, lambda child, binders: _with_unions(child, symbols, inside if binders else types)
    )
    match made:
        case Multiply(left, right, semiring) if all(infer(e, symbols, types).rank > 0 for e in (left, right)):
            return Add(left, right, semiring)
        case _:
            return made


Bound: TypeAlias = tuple[Term, tuple[int, ...], tuple[int, ...]]
"""A term that binds variables, the binders around it (innermost first), and those that it binds."""


_ARRAYS = (Range, Slice, Symbol)


def _takes_entries_apart(term: Term) -> bool:
    """Return whether a sum over a dictionary needs more than that equal keys are added up."""
    match term:
        case Sum(source, body, semiring) if not (isinstance(source, _ARRAYS) or linear(body, 0, semiring)):
            return True
        case _:
            return any(_takes_entries_apart(child) for child, _ in children(term))


def _about_entries(bound: Sequence[Bound], numbering: Numbering, symbols: Symbols) -> Iterator[str]:
    """Yield of each loop that makes entries which of its variables their keys determine."""
    for place, (loop, scope, numbers) in enumerate(bound):
        if not isinstance(loop, Sum) or not keyed(loop.body):
            continue
        inner = (*reversed(numbers), *scope)
        context = tuple(_taken(numbering.binders[number][1]) for number in inner)
        known = determined(loop.body, symbols, context)
        if known.by_all:
            following = (binders for _, _, binders in bound[place + 1 :])
            text = encode(loop.body, numbering, lambda _, __, ___: next(following), inner)  # noqa: B023
            variables = list(reversed(numbering.encoding.inside(numbers)))
            for relation, indices in (("distinct", known.by_outermost), ("apart", known.by_all)):
                yield from (f"({relation} {text} {variables[index]})" for index in sorted(indices))


def _about_mapping(mapping: MappingSymbol, bound: Sequence[Bound], numbering: Numbering) -> Iterator[str]:
    """Yield that the iterations and the parts of a mapping that makes no entry twice have none in common.

    Wherever a closed part of it stands, whose terms are the same, they have none in common there, too.
    """

    def text(term: Term, place: int, scope: tuple[int, ...]) -> str:
        following = (binders for _, _, binders in bound[place:])
        return encode(term, numbering, lambda _, __, ___: next(following), scope)

    def visit(term: Term, place: int, scope: tuple[int, ...]) -> Iterator[str]:
        match term:
            case Sum(Range() | Slice() | Symbol() as source, body):
                inner = (*reversed(bound[place][2]), *scope)
                yield f"(separate {text(source, place, scope)} {text(body, place + 1, inner)})"
                yield from visit(body, place + 1, inner)
            case Add(left, right) if keyed(left) and keyed(right):
                middle = place + len(_loops_of(left))
                yield f"(disjoint {text(left, place, scope)} {text(right, middle, scope)})"
                yield from visit(left, place, scope)
                yield from visit(right, middle, scope)
            case If(condition, body):
                yield from visit(body, place + len(_loops_of(condition)), scope)
            case Singleton(key, value):
                yield from visit(value, place + len(_loops_of(key)), scope)
            case _:
                return

    term = cast("Term", mapping.term)
    loops = _loops_of(term)
    for place in range(len(bound) - len(loops) + 1) if loops else ():
        if [loop for loop, _, _ in bound[place : place + len(loops)]] == loops:
            yield from visit(term, place, bound[place][1])


def _loops_of(term: Term) -> list[Term]:
    """Return the nodes of a term that bind variables, in the order in which they are encoded."""
    outside = [loop for child, binders in children(term) if not binders for loop in _loops_of(child)]
    inside = [loop for child, binders in children(term) if binders for loop in _loops_of(child)]
    return [*outside, *([term] if any(binders for _, binders in children(term)) else []), *inside]


def _taken(interval: Interval) -> Interval:
    """Return what a binder is said to be within, of a loop without iterations only where it would begin.

    No number is within an empty interval, so that all conditions would be decided both ways.
    """
    low, high = interval.low, interval.high
    return Interval(low) if low is not None and high is not None and high < low else interval


def _held(interval: Interval) -> Interval:
    """Return the same interval without bounds that exceed 64 bits, as those of a product of extents may."""
    low, high = (each if each is None or each in LONG else None for each in (interval.low, interval.high))
    return Interval(low, high)


def _about(text: str, kind: Type, interval: Interval) -> Iterator[str]:
    """Yield what is known of a variable or a symbol; of short integers, whose sums may wrap, no bounds."""
    interval = ANY if interval.is_short else _held(interval)
    if kind.is_array:
        yield f"(array {text})"
        return
    if kind.rank == 0 and interval.low is not None and interval.high is not None:
        yield f"(number {text} {interval.low} {interval.high})"
        return
    yield f"(set (rank {text}) {kind.rank})"
    if kind.rank > 0:
        yield f"(dictionary {text})"
    if interval.low is not None:
        yield f"(set (low {text}) {interval.low})"
    if interval.high is not None:
        yield f"(set (high {text}) {interval.high})"


def _about_literal(text: str, literal: Literal) -> Iterator[str]:
    for name, semiring in SEMIRINGS.items():
        if literal.value == semiring.zero:
            yield f'(is-zero {text} "{name}")'
        if literal.value == semiring.one:
            yield f'(is-one {text} "{name}")'


def _about_symbols(term: Term, symbols: Symbols) -> Iterator[str]:
    for name in sorted(names_in(term)):
        text = f'(Sym "{name}")'
        match symbols[name]:
            case SizeSymbol(_, value):
                yield from _about(text, KEY, Interval(value, value))
            case EndSymbol(_, low, high):
                yield from _about(text, KEY, Interval(low, high))
            case ParameterSymbol(_, type):
                yield from _about(text, Type(type), ANY)
            case ArraySymbol() as array:
                yield from _about_array(text, array)
            case MappingSymbol():
                raise AssertionError(f"{name} is a mapping, which no term names")


def _about_array(text: str, array: ArraySymbol) -> Iterator[str]:
    yield from _about(text, Type(array.element_type, 1, is_array=True), ANY)
    within = elements(array)
    within = LONG if within.is_short and array.type.is_integer else _held(within)
    if within.low is not None and within.high is not None:
        yield f"(elements {text} {within.low} {within.high})"
    elif within.low is not None:
        yield f"(set (element-low {text}) {within.low})"
    elif within.high is not None:
        yield f"(set (element-high {text}) {within.high})"
    if array.ascending:
        yield f"(ascending {text})"
    if array.increasing:
        yield f"(increasing {text})"
    if len(array.group) in (2, 3):
        relation = "pairs" if len(array.group) == 2 else "triples"
        yield f"({relation} {' '.join(f'(Sym {chr(34)}{name}{chr(34)})' for name in array.group)})"
    if array.within is not None:
        yield f'(within {text} (Sym "{array.within}"))'
