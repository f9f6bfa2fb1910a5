"""Integers that meet reals are made reals where they do, so that none of the reals decides a type.

    1.0 · a · x   =>   1.0 · (a / 1.0) · (x / 1.0)      a, x integers, which a quotient makes real

Rules take 1.0 for the unit, and the branch of a condition that never holds for nothing: left out, they would
leave integers, which are added up in their own type and wrap around.
"""

from __future__ import annotations

from storel.calculus.binders import binder_types
from storel.calculus.nodes import (
    Add,
    Apply,
    If,
    Literal,
    Multiply,
    Singleton,
    Sum,
    Term,
    Variable,
    children,
)
from storel.calculus.verify import Type, infer
from storel.optimizer.terms.occurrences import replaced
from storel.scalars import ScalarType
from storel.symbols import Symbols

_RING = "plus_times"


def converted(term: Term, symbols: Symbols, types: tuple[Type, ...] = ()) -> Term:
    """Return ``term`` with the integers among the factors and summands of reals as reals."""
    for position, (child, binders) in enumerate(children(term)):
        inner = (*reversed(binder_types(term, symbols, types)), *types) if binders else types
        made = converted(child, symbols, inner)
        if made is not child:
            term = replaced(term, (position,), made)
    if not isinstance(term, Add | Multiply) or term.semiring != _RING:
        return term
    real = infer(term, symbols, types).scalar
    if not real.is_real or _has_real_data(term, symbols, types, is_summand=isinstance(term, Add)):
        return term
    for position, (child, _) in enumerate(children(term)):
        kind = infer(child, symbols, types)
        if not (kind.scalar.is_real or kind.is_array or isinstance(child, Literal)):
            term = replaced(term, (position,), _as_real(child, kind, real))
    return term


def _has_real_data(
    term: Term, symbols: Symbols, types: tuple[Type, ...], *, is_summand: bool = False
) -> bool:
    """Return whether ``term`` is of reals because of data, which no rule leaves out, if it is a factor.

    A summand under a condition may be left out.
    """
    if not infer(term, symbols, types).scalar.is_real:
        return False
    match term:
        case Add(left, right):
            return any(_has_real_data(each, symbols, types, is_summand=True) for each in (left, right))
        case Multiply(left, right):
            return any(_has_real_data(each, symbols, types, is_summand=is_summand) for each in (left, right))
        case If(_, body):
            return not is_summand and _has_real_data(body, symbols, types)
        case Sum(_, body) | Singleton(_, body):
            inner = (*reversed(binder_types(term, symbols, types)), *types)
            return _has_real_data(body, symbols, inner, is_summand=is_summand)
        case _:
            return not isinstance(term, Literal)


def _as_real(term: Term, kind: Type, real: ScalarType) -> Term:
    """Return ``term``, of integers or of truths, as one of reals."""
    match term:
        case Literal(value):
            return Literal(float(value), real)
        case If(condition, body, semiring) if semiring == _RING:
            return If(condition, _as_real(body, kind, real), semiring)
        case Add(left, right, semiring) if semiring == _RING and _is_either(left, right):
            return Add(_as_real(left, kind, real), _as_real(right, kind, real), semiring)
        case _ if kind.rank > 0:
            entry = _as_real(Variable(0), Type(kind.scalar, kind.rank - 1), real)
            return Sum(term, Singleton(Variable(1), entry))
        case _ if kind.scalar is ScalarType.BOOL:
            return If(term, Literal(1.0, real))
        case _:
            return Apply("divide", (term, Literal(1.0, real)))


def _is_either(left: Term, right: Term) -> bool:
    """Return whether a sum cannot wrap around: one summand is zero, or both are chosen among literals."""
    match left, right:
        case If(condition, _), If(Apply("not", (other,)) | Apply("and", (Apply("not", (other,)), _)), _):
            return condition == other
        case _:
            return _is_literal(left) and _is_literal(right)


def _is_literal(term: Term) -> bool:
    match term:
        case If(_, body):
            return _is_literal(body)
        case Add(left, right):
            return _is_literal(left) and _is_literal(right)
        case _:
            return isinstance(term, Literal)
