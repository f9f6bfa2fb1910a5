"""A dictionary over one semiring, seen over another: the same entries, the same values.

What its own semiring counts as missing stays missing, although over the other its zero may be a number
like any other (0 in a path length). The leaf of a mapping becomes

    val(p)   →   let v = val(p) in if_s v != 0 then v

and its sums, singletons and conditions are taken over s, so that what is known about sums over s applies to
the whole. That is right where nothing is added up, since no key repeats; a mapping of which this is not
evident is read entry by entry, ``sum_s(<k, v> in mapping) {k -> v}``, its sums its own. Over ``or_and``,
whose sums would make truths of numbers, these are seen over ``plus_times``: what is missing is as false as 0.
What is looked up there is a truth, so that the leaf becomes ``val(p) != 0``. An entry whose value is the zero
of s is lost: a dictionary over s cannot hold it. So a tensor that is the source of a sum is not seen over the
program's semiring, but as it is (``mixed.py``). A scalar is the same number everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from storel.calculus.nodes import (
    Apply,
    If,
    Let,
    Singleton,
    Sum,
    Term,
    Variable,
)
from storel.calculus.one_to_one import unique_keys
from storel.calculus.verify import KEY, Context, Type, element, infer, zero_literal
from storel.scalars import ScalarType
from storel.semiring import PLUS_TIMES, SEMIRINGS
from storel.symbols import Symbols


def seen_over(term: Term, own: str, semiring: str, symbols: Symbols, *, as_truths: bool = False) -> Term:
    """Return the closed ``term`` over the semiring ``own`` as one over ``semiring``.

    ``as_truths`` says that what is read of it are truths where the numbers of the semiring are.
    """
    kind = infer(term, symbols)
    makes_truths = SEMIRINGS[semiring].has_truths and kind.scalar is not ScalarType.BOOL
    if makes_truths and not as_truths:
        semiring = PLUS_TIMES.name
    if own == semiring or kind.rank == 0:
        return term
    return _View(own, semiring, symbols, makes_truths and as_truths).of(term, ())


def entry_by_entry(term: Term, kind: Type, own: str, semiring: str) -> Term:
    """Return a ``term`` of a ``kind`` over ``own`` as one over ``semiring``, each of its entries looked at.

    Over ``or_and`` numbers are seen over ``plus_times``.
    """
    if SEMIRINGS[semiring].has_truths and kind.scalar is not ScalarType.BOOL:
        semiring = PLUS_TIMES.name
    if own == semiring:
        return term
    if kind.rank == 0:
        return _present(term, kind, own, semiring)
    inner = entry_by_entry(Variable(0), element(kind), own, semiring)
    return Sum(term, Singleton(Variable(1), inner, semiring), semiring)


def truths(term: Term, kind: Type, own: str, semiring: str) -> Term:
    """Return the truths of a term's numbers, over a semiring of them: those there and not 0 are true."""
    if kind.rank > 0:
        inner = truths(Variable(0), element(kind), own, semiring)
        return Sum(term, Singleton(Variable(1), inner, semiring), semiring)
    if kind.scalar is ScalarType.BOOL:
        return term
    number = _present(term, kind, own, PLUS_TIMES.name)
    return Apply("not_equal", (number, zero_literal(kind, PLUS_TIMES.name)))


def _present(value: Term, kind: Type, own: str, semiring: str) -> Term:
    """Return a scalar of the program's semiring: its zero where the other one's is found."""
    if SEMIRINGS[own].zero == SEMIRINGS[semiring].zero:
        return value
    is_there = Apply("not_equal", (Variable(0), zero_literal(kind, own)))
    return Let(value, If(is_there, Variable(0), semiring))


@dataclass(frozen=True, slots=True)
class _View:
    own: str
    semiring: str
    symbols: Symbols
    makes_truths: bool

    def of(self, term: Term, context: Context) -> Term:
        match term:
            case Sum(source, body, _) if unique_keys(source, body, self.symbols):
                entry = element(infer(source, self.symbols, context))
                return Sum(source, self.of(body, (entry, KEY, *context)), self.semiring)
            case Singleton(key, value, _):
                return Singleton(key, self.of(value, context), self.semiring)
            case If(condition, body, _):
                return If(condition, self.of(body, context), self.semiring)
            case Let(value, body):
                return Let(value, self.of(body, (infer(value, self.symbols, context), *context)))
            case _ if self.makes_truths:
                return truths(term, infer(term, self.symbols, context), self.own, self.semiring)
            case _:
                return entry_by_entry(term, infer(term, self.symbols, context), self.own, self.semiring)
