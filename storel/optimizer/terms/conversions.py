"""Numbers are converted where they meet numbers of a longer type, so that a product has one type.

    a · b · x       =>   int64(a) · int64(b) · x            a, b of 32 bits, x of 64
    1.0 · a · x     =>   1.0 · float64(a) · float64(x)      a, x integers
    (a + b) · x     =>   int64(a + b) · x

Rules take products and sums apart and put them together again in any order. What they combine then has
one type, that of the whole: of ``sum(R) a · x`` they make ``x · sum(R) int64(a)``, which does not wrap
around, and ``1.0`` is the unit, which they leave out. After the search, conversions that happen anyway are
removed (``plain``).
"""

from __future__ import annotations

from storel.calculus.binders import binder_types
from storel.calculus.nodes import (
    Add,
    Apply,
    Empty,
    Find,
    If,
    Literal,
    Lookup,
    Merge,
    Multiply,
    Range,
    Singleton,
    Slice,
    Sum,
    Term,
    Unique,
    Variable,
)
from storel.calculus.verify import KEY, Context, element, infer
from storel.calculus.walk import children
from storel.functions import FUNCTIONS, conversion
from storel.optimizer.terms.occurrences import has_loop, replaced
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.symbols import Symbols

_RING = "plus_times"


def converted(
    term: Term, symbols: Symbols, types: Context = (), *, is_strict: bool, is_key: bool = False
) -> Term:
    """Return ``term`` with the operands of sums and products converted to the type of the whole.

    Keys and conditions without loops are computed in 64 bits: for their parts, ``is_key`` holds. If it
    ``is_strict``, products of reals are rounded as they are written.
    """
    for position, (child, binders) in enumerate(children(term)):
        inner = _inside(term, symbols, types) if binders else types
        below = not has_loop(child) and (is_key or not _takes_values(term, position))
        made = converted(child, symbols, inner, is_strict=is_strict, is_key=below)
        if made is not child:
            term = replaced(term, (position,), made)
    if not _is_arithmetic(term):
        return term
    whole = infer(term, symbols, types).scalar
    if is_key and not whole.is_real:
        return term
    for position, (child, _) in enumerate(children(term)):
        if _is_converted(child, term, whole, symbols, types):
            made = _as(child, whole, _semiring(term), symbols, types, is_strict=is_strict)
            term = replaced(term, (position,), made)
    return term


def plain(term: Term, symbols: Symbols, types: Context = ()) -> Term:
    """Return ``term`` without the conversions of what is converted anyway where it is added or multiplied."""
    for position, (child, binders) in enumerate(children(term)):
        inner = _inside(term, symbols, types) if binders else types
        made = plain(child, symbols, inner)
        if made is not child:
            term = replaced(term, (position,), made)
    if not _is_arithmetic(term):
        return term
    kind = infer(term, symbols, types)
    for position, (child, _) in enumerate(children(term)):
        if isinstance(child, Apply) and FUNCTIONS[child.function].conversion is not None:
            without = replaced(term, (position,), child.arguments[0])
            if infer(without, symbols, types) == kind:
                term = without
    return term


def _inside(term: Term, symbols: Symbols, types: Context) -> Context:
    return (*reversed(binder_types(term, symbols, types)), *types)


def _takes_values(term: Term, position: int) -> bool:
    """Return whether a child of ``term`` is or has a value: it is no key, address, bound or condition."""
    match term:
        case Range() | Slice() | Unique():
            return False
        case Lookup():
            return position == 0
        case Singleton() | If():
            return position == 1
        case Find() | Merge():
            return position == 2
        case _:
            return True


def _is_arithmetic(term: Term) -> bool:
    """Return whether rules take ``term`` apart, and put its operands together with others."""
    match term:
        case Add(_, _, semiring) | Multiply(_, _, semiring):
            return not SEMIRINGS[semiring].has_truths
        case Apply(name):
            return name == "subtract"
        case _:
            return False


def _semiring(term: Term) -> str:
    return term.semiring if isinstance(term, Add | Multiply) else _RING


def _is_converted(child: Term, term: Term, whole: ScalarType, symbols: Symbols, types: Context) -> bool:
    """Return whether an operand of ``term``, which is of type ``whole``, may decide the type of what is left.

    Truths are counted, which takes 64 bits, so that they only may where there are no other reals than those
    that rules leave out.
    """
    kind = infer(child, symbols, types)
    if kind.scalar is whole or kind.is_array or isinstance(child, Empty):
        return False
    if kind.scalar is not ScalarType.BOOL:
        return True
    is_summand = isinstance(term, Add)
    return (
        whole.is_real
        and _semiring(term) == _RING
        and not _has_real_data(term, symbols, types, is_summand=is_summand)
    )


def _has_real_data(term: Term, symbols: Symbols, types: Context, *, is_summand: bool = False) -> bool:
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
            inner = _inside(term, symbols, types)
            return _has_real_data(body, symbols, inner, is_summand=is_summand)
        case _:
            return not isinstance(term, Literal)


def _as(
    term: Term, whole: ScalarType, semiring: str, symbols: Symbols, types: Context, *, is_strict: bool
) -> Term:
    """Return ``term``, of a shorter type, as one of the type ``whole``; over ``semiring`` it is added up."""

    def of(part: Term) -> Term:
        return _as(part, whole, semiring, symbols, types, is_strict=is_strict)

    kind = infer(term, symbols, types)
    match term:
        case Literal(value):
            return Literal(float(value) if whole.is_real else int(value), whole)
        case If(condition, body, own) if own == semiring:
            return If(condition, of(body), semiring)
        case Multiply(left, right, own) if (
            own == semiring and kind.scalar is not ScalarType.BOOL and not (is_strict and kind.scalar.is_real)
        ):
            one, two = (
                each if infer(each, symbols, types).scalar is ScalarType.BOOL else of(each)
                for each in (left, right)
            )
            return Multiply(one, two, semiring)
        case Add(left, right, own) if own == semiring and _is_either(left, right):
            return Add(of(left), of(right), semiring)
        case _ if kind.rank > 0:
            inner = (element(kind), KEY, *types)
            value = _as(Variable(0), whole, semiring, symbols, inner, is_strict=is_strict)
            return Sum(term, Singleton(Variable(1), value, semiring), semiring)
        case _ if kind.scalar is ScalarType.BOOL:
            return If(term, Literal(1.0, whole))
        case _:
            return Apply(conversion(whole), (term,))


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
