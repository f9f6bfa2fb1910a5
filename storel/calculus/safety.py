"""Whether a term has a value whatever those of its variables are: what fails ends the whole program."""

from __future__ import annotations

from storel.calculus.binders import seen_inside
from storel.calculus.binding import shift
from storel.calculus.bounds import bounds, narrowed
from storel.calculus.domains import Domains, binder_domains
from storel.calculus.intervals import Interval
from storel.calculus.nodes import Apply, If, Lookup, Range, Reduce, Singleton, Slice, Symbol, Term
from storel.calculus.reads import reads_in_bounds, scans_in_bounds
from storel.calculus.verify import Type, infer
from storel.calculus.walk import children
from storel.symbols import Symbols


def is_safe(
    term: Term,
    symbols: Symbols,
    types: tuple[Type, ...],
    intervals: tuple[Interval, ...],
    *,
    reads: bool = True,
    domains: Domains = (),
    conditions: tuple[Term, ...] = (),
) -> bool:
    """Return whether ``term`` is proved not to fail; without ``reads``, array reads are taken to succeed.

    ``domains`` are those of the loops around it that are known, the innermost first, and ``conditions`` hold.

    What may fail: an array read, a loop over a part of an array, the minimum of nothing, an integer division
    by zero, an integer to a negative power, the conversion of a real to an integer. So may storing a
    dictionary with a negative key, which counts as a read.
    """
    match term:
        case Lookup(Symbol() | Range() | Slice() as array, key) if reads:
            if not reads_in_bounds(array, key, symbols, intervals, domains, conditions):
                return False
        case Slice() if reads and not scans_in_bounds(term, symbols, intervals):
            return False
        case Singleton(key) if reads and not bounds(key, symbols, intervals).is_natural:
            return False
        case Reduce("min" | "max", source) if not has_elements(source, symbols, intervals):
            return False
        case Apply("floor_divide" | "modulo", (_, divisor)) if 0 in bounds(divisor, symbols, intervals):
            if not infer(divisor, symbols, types).scalar.is_real:
                return False
        case Apply("power", operands) if not bounds(operands[1], symbols, intervals).is_natural:
            if not any(infer(each, symbols, types).scalar.is_real for each in operands):
                return False
        case Apply("truncate", (operand,)) if infer(operand, symbols, types).scalar.is_real:
            return False
        case _:
            pass
    for index, (child, binders) in enumerate(children(term)):
        inner_types, inner, around, asked = types, intervals, domains, conditions
        if binders:
            inner_types, inner = seen_inside(term, symbols, types, intervals)
            around = (*reversed(binder_domains(term, binders)), *domains)
            asked = tuple(shift(each, binders) for each in conditions)
        if isinstance(term, If) and index == 1:
            inner = narrowed(term.condition, symbols, intervals)
            asked = (*conditions, term.condition)
        if not is_safe(child, symbols, inner_types, inner, reads=reads, domains=around, conditions=asked):
            return False
    return True


def has_elements(source: Term, symbols: Symbols, intervals: tuple[Interval, ...]) -> bool:
    """Return whether it is proved that a loop over ``source`` runs at least once."""
    match source:
        case Range(low, high) | Slice(_, low, high):
            last, first = bounds(low, symbols, intervals).high, bounds(high, symbols, intervals).low
            return last is not None and first is not None and last < first
        case _:
            return False
