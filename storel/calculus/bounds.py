"""Bounds of integer terms, from the facts about arrays, sizes and enclosing binders.

    bounds(e)   ⊇ {value of e | every enclosing binder takes a value within its interval}

Data is at hand when a program is compiled, so extents have values although terms keep their names. An
enclosing condition narrows the intervals of the variables that it compares.
"""

from __future__ import annotations

from functools import reduce

from storel.calculus.intervals import (
    ANY,
    LONG,
    NONE,
    SHORT,
    Context,
    EntryBounds,
    Interval,
    added,
    applied,
    multiplied,
    summed,
    wrapped,
)
from storel.calculus.nodes import (
    Add,
    Apply,
    Empty,
    Find,
    If,
    Let,
    Literal,
    Lookup,
    Merge,
    Multiply,
    Range,
    Reduce,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Unique,
    Variable,
)
from storel.calculus.one_to_one import finds_one, is_one_to_one, unique_keys
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, EndSymbol, SizeSymbol, Symbols

_MIRRORED = {
    "equal": "equal", "less": "greater", "less_equal": "greater_equal",
    "greater": "less", "greater_equal": "less_equal",
}  # fmt: skip


def bounds(term: Term, symbols: Symbols, context: Context = ()) -> Interval:
    """Return an interval that holds the value of ``term``; ``ANY`` for what is not an integer.

    >>> bounds(Add(Variable(0), Variable(1)), {}, (Interval(0, 3), Interval(1, 2)))
    Interval(low=1, high=5, is_short=False)
    """
    match term:
        case Variable(index):
            return context[index] if index < len(context) else ANY
        case Literal(value, type):
            if not isinstance(value, int):
                return ANY
            return Interval(int(value), int(value), is_short=type is not ScalarType.INT64)
        case Symbol(name):
            fact = symbols.get(name)
            if isinstance(fact, EndSymbol):
                return Interval(fact.low, fact.high)
            return Interval(fact.value, fact.value) if isinstance(fact, SizeSymbol) else ANY
        case Lookup(mapping, _, semiring):
            return _found(mapping, semiring, symbols, context)
        case Add(left, right, semiring):
            return added(bounds(left, symbols, context), bounds(right, symbols, context), semiring)
        case Multiply(left, right, semiring):
            return multiplied(bounds(left, symbols, context), bounds(right, symbols, context), semiring)
        case Apply(name, arguments):
            return wrapped(applied(name, *(bounds(argument, symbols, context) for argument in arguments)))
        case Let(value, body):
            return bounds(body, symbols, (bounds(value, symbols, context), *context))
        case If(condition, body, semiring):
            return _or_zero(bounds(body, symbols, narrowed(condition, symbols, context)), semiring)
        case Unique(key):
            return bounds(key, symbols, context)
        case Singleton(key, value):
            return EntryBounds(keys=bounds(key, symbols, context), values=bounds(value, symbols, context))
        case Empty(rank):
            return reduce(lambda values, _: EntryBounds(keys=NONE, values=values), range(rank), NONE)
        case Sum(source, body, semiring):
            keys, values = binder_bounds(source, symbols, context)
            found = bounds(body, symbols, (values, keys, *context))
            if finds_one(source, body, symbols):
                return _or_zero(found, semiring)
            return found if unique_keys(source, body, symbols) > 0 else summed(found)
        case Reduce("min" | "max", source, body):
            keys, values = binder_bounds(source, symbols, context)
            return bounds(body, symbols, (values, keys, *context))
        case Merge(left, right, body):
            (p, x), (q, y) = (binder_bounds(side, symbols, context) for side in (left, right))
            return summed(bounds(body, symbols, (x.meet(y), q, p, *context)))
        case Find(source, _, body, semiring):
            found = bounds(body, symbols, (binder_bounds(source, symbols, context)[0], *context))
            return _or_zero(found, semiring) if is_one_to_one(source, symbols) else summed(found)
        case Reduce() | Range() | Slice():
            return ANY


def _or_zero(found: Interval, semiring: str) -> Interval:
    """Return the bounds of what is there or is zero: a dictionary without entries has none."""
    if isinstance(found, EntryBounds):
        return found
    return found.hull(Interval(0, 0)) if semiring == "plus_times" else ANY


def binder_bounds(source: Term, symbols: Symbols, context: Context = ()) -> tuple[Interval, Interval]:
    """Return the intervals of the key and of the value that a sum over ``source`` binds."""
    match source:
        case Range(low, high):
            first, last = bounds(low, symbols, context), bounds(high, symbols, context)
            positions = Interval(first.low, None if last.high is None else last.high - 1)
            return positions, positions
        case Slice(array, low, high):
            first, last = bounds(low, symbols, context), bounds(high, symbols, context)
            positions = Interval(first.low, None if last.high is None else last.high - 1)
            whole, values = binder_bounds(array, symbols, context)
            return positions.meet(whole), values
        case Symbol(name):
            fact = symbols.get(name)
            if isinstance(fact, ArraySymbol):
                return Interval(0, fact.length - 1), elements(fact)
            return Interval(0), ANY
        case _:  # a dictionary that is read: its keys are not negative (``lower`` sees to it)
            match bounds(source, symbols, context):
                case EntryBounds(keys=keys, values=values):
                    return keys.meet(Interval(0)), values
                case _:
                    return Interval(0), ANY


def decided(condition: Term, symbols: Symbols, context: Context = ()) -> bool | None:
    """Return the truth of ``condition`` if the bounds decide it.

    >>> decided(Apply("less", (Variable(0), Variable(1))), {}, (Interval(0, 3), Interval(4, 9)))
    True
    """
    truth = bounds(condition, symbols, context)
    return bool(truth.low) if truth.low is not None and truth.low == truth.high else None


def narrowed(condition: Term, symbols: Symbols, context: Context) -> Context:
    """Return ``context`` inside a body that is only evaluated where ``condition`` holds."""
    match condition:
        case Apply("and", (left, right)):
            return narrowed(right, symbols, narrowed(left, symbols, context))
        case Apply(name, (left, right)) if name in _MIRRORED:
            context = _compared(name, left, bounds(right, symbols, context), context)
            return _compared(_MIRRORED[name], right, bounds(left, symbols, context), context)
        case _:
            return context


def _compared(name: str, term: Term, other: Interval, context: Context) -> Context:
    if not isinstance(term, Variable) or term.index >= len(context):
        return context
    if name != "equal" and not context[term.index].is_known:
        return context  # it may be a real: 2.5 is less than 3, and not at most 2
    strict = 1 if name in ("less", "greater") else 0
    at_most = None if other.high is None else other.high - strict
    at_least = None if other.low is None else other.low + strict
    match name:
        case "equal":
            known = other
        case "less" | "less_equal":
            known = Interval(None, at_most)
        case _:
            known = Interval(at_least, None)
    narrowed_interval = context[term.index].meet(known)
    return (*context[: term.index], narrowed_interval, *context[term.index + 1 :])


def elements(array: ArraySymbol) -> Interval:
    """Return an interval that holds the elements of an array: all of its type, if nothing is known."""
    if not array.type.is_integer:
        return ANY
    if array.low is None and array.high is None:
        return SHORT if array.element_type is ScalarType.INT32 else LONG
    return Interval(array.low, array.high, is_short=array.element_type is ScalarType.INT32)


def _found(mapping: Term, semiring: str, symbols: Symbols, context: Context) -> Interval:
    """Return the bounds of what is looked up in an array, or in a dictionary, where it may be missing."""
    match mapping:
        case Symbol(name):
            fact = symbols.get(name)
            return elements(fact) if isinstance(fact, ArraySymbol) else ANY
        case Slice(inner, _, _):
            return _found(inner, semiring, symbols, context)
        case _:
            match bounds(mapping, symbols, context):
                case EntryBounds(values=EntryBounds() as row):
                    return row
                case EntryBounds(values=value) if semiring == "plus_times":
                    return value.hull(Interval(0, 0))
                case _:
                    return ANY
