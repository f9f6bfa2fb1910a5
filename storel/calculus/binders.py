"""What is known of the variables that a term binds: their types, and their intervals."""

from __future__ import annotations

from storel.calculus.bounds import binder_bounds, bounds
from storel.calculus.intervals import Context, Interval
from storel.calculus.nodes import Find, Let, Merge, Reduce, Sum, Term
from storel.calculus.verify import KEY, Type, element, infer
from storel.symbols import Symbols


def binder_facts(
    term: Term, symbols: Symbols, types: tuple[Type, ...], intervals: Context
) -> tuple[tuple[Type, ...], tuple[Interval, ...]]:
    """Return the types and intervals of what ``term`` binds, the outermost first."""
    return binder_types(term, symbols, types), binder_intervals(term, symbols, intervals)


def seen_inside(
    term: Term, symbols: Symbols, types: tuple[Type, ...], intervals: Context
) -> tuple[tuple[Type, ...], tuple[Interval, ...]]:
    """Return the types and intervals of what a body of ``term`` sees, the innermost first."""
    own_types, own_intervals = binder_facts(term, symbols, types, intervals)
    return (*reversed(own_types), *types), (*reversed(own_intervals), *intervals)


def binder_types(term: Term, symbols: Symbols, types: tuple[Type, ...]) -> tuple[Type, ...]:
    """Return the types of what ``term`` binds, the outermost first."""
    match term:
        case Sum(source, _, _) | Reduce(_, source, _):
            return KEY, element(infer(source, symbols, types))
        case Let(value, _):
            return (infer(value, symbols, types),)
        case Merge(left):
            return KEY, KEY, element(infer(left, symbols, types))
        case Find():
            return (KEY,)
        case _:
            return ()


def binder_intervals(term: Term, symbols: Symbols, intervals: Context) -> tuple[Interval, ...]:
    """Return the intervals of what ``term`` binds, the outermost first."""
    match term:
        case Sum(source, _, _) | Reduce(_, source, _):
            return binder_bounds(source, symbols, intervals)
        case Let(value, _):
            return (bounds(value, symbols, intervals),)
        case Merge(left, right, _, _):
            left_keys, left_values = binder_bounds(left, symbols, intervals)
            right_keys, right_values = binder_bounds(right, symbols, intervals)
            return left_keys, right_keys, left_values.meet(right_values)
        case Find(source, _, _, _):
            return (binder_bounds(source, symbols, intervals)[0],)
        case _:
            return ()
