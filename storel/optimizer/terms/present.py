"""Conditions that ask whether what is stored is there: it is, where no element of an array is zero.

    sum(<p, _> in A_idx(lo:hi)) if A_val(p) != 0 then e   =>   sum(<p, _> in A_idx(lo:hi)) e

So entries are counted without reading their values, and what is computed of each needs no branch. That no
element is zero is said of sparse operands, which store a zero on purpose if at all; the kernel is right as
long as that holds, and whoever calls it asks (``compilation/reliance.py``).
"""

from __future__ import annotations

from storel.calculus.nodes import Apply, Literal, Lookup, Range, Reduce, Slice, Sum, Symbol, Term, Variable
from storel.calculus.walk import map_children, names_in, subterms
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, Symbols


def without_questions(term: Term, symbols: Symbols) -> Term:
    """Return a term that does not ask whether elements are zero of arrays that have none."""
    name = _asked_of(term, symbols)
    if name is not None:
        assert isinstance(term, Apply)
        return Literal(term.function == "not_equal", ScalarType.BOOL)
    return map_children(term, lambda child, _: without_questions(child, symbols))


def asked(term: Term, symbols: Symbols) -> frozenset[str]:
    """Return the arrays of which a term asks what ``without_questions`` takes for granted."""
    return frozenset(filter(None, (_asked_of(part, symbols) for part in subterms(term))))


def visited(term: Term, symbols: Symbols) -> frozenset[str]:
    """Return the arrays without zeros that a term reads where it goes through a dictionary as it is.

    A plan need not ask of what is read there whether it is an entry.
    """
    sources = (part.source for part in subterms(term) if isinstance(part, Sum | Reduce))
    dictionaries = (each for each in sources if not isinstance(each, Range | Slice | Symbol | Variable))
    return frozenset(
        name for each in dictionaries for name in names_in(each) if has_no_zero(Symbol(name), symbols)
    )


def has_no_zero(array: Term, symbols: Symbols) -> bool:
    """Return whether a term is an array of which no element is zero."""
    fact = symbols[array.name] if isinstance(array, Symbol) else None
    return isinstance(fact, ArraySymbol) and fact.nonzero


def _asked_of(term: Term, symbols: Symbols) -> str | None:
    match term:
        case Apply(
            "equal" | "not_equal",
            (Lookup(Symbol(name) as array, _), Literal(value))
            | (Literal(value), Lookup(Symbol(name) as array, _)),
        ) if value == 0:
            return name if has_no_zero(array, symbols) else None
        case _:
            return None
