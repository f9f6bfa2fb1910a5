"""Operands in another format, where a plan would search for their entries again and again.

A program that reads a tensor against the order of its storage finds each entry by a search. Where the
estimated time of that exceeds the time of a conversion, plans for the operands' other default formats
are made, too, one operand after the other, and the cheapest, conversions included, is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from storel.calculus.nodes import (
    Apply,
    Find,
    If,
    Let,
    Multiply,
    Range,
    Singleton,
    Sum,
    Symbol,
    Term,
    Variable,
    children,
)
from storel.environment import Environment
from storel.storage.tensor import Tensor

CONVERSION = 30.0
"""Nanoseconds per stored entry that a conversion takes."""

WORTHWHILE = 4e5
"""Nanoseconds of estimated time below which nothing is converted."""


def conversion_cost(tensor: Tensor) -> float:
    """Return the estimated nanoseconds of converting ``tensor``."""
    return CONVERSION * (max((len(array) for array in tensor.arrays.values()), default=0) or tensor.nnz)


def least_conversion_cost(tensor: Tensor) -> float:
    """Return what ``conversion_cost`` is at least in any format: each stores all entries."""
    return CONVERSION * tensor.nnz


def convertible_operands(term: Term, environment: Environment, nanoseconds: float) -> list[str]:
    """Return the tensors that ``term`` reads, if it searches them and a conversion is cheap beside that.

    Not only what is searched is worth converting: of two operands stored by columns the one that is
    scanned decides that the other must be searched. What is stored without keys and has no zeros is found
    anywhere as it is.
    """
    arrays = frozenset(_arrays(term))
    if not _searches(term):
        return []
    return [
        name
        for name, tensor in sorted(environment.tensors.items())
        if tensor.rank > 1
        and any(f"{name}_{array.name}" in arrays for array in tensor.storage.arrays)
        and nanoseconds > WORTHWHILE + 2 * conversion_cost(tensor)
        and not _is_found_anywhere(tensor)
    ]


def _is_found_anywhere(tensor: Tensor) -> bool:
    """Return whether a tensor has an entry at each key, and no keys to be searched among."""
    has_keys = any(array.holds_indices for array in tensor.storage.arrays)
    return not has_keys and tensor.nnz == math.prod(tensor.shape)


def conversions(tensor: Tensor, environment: Environment) -> Iterator[Tensor]:
    """Yield ``tensor`` in each other format that data of its rank may be stored in unasked.

    One that was made for an earlier program is at hand; most of these are not worth keeping.
    """
    for alternative in environment.formats.alternatives(tensor.rank, is_dense=False):
        if alternative.name != tensor.storage.name:
            yield tensor.kept_as(alternative) or tensor.stored_as(alternative)


def _searches(term: Term) -> bool:
    """Return whether ``term`` looks for keys: by a search, by comparing all, or in a table made for it."""
    match term:
        case Find() | If(Apply("equal", _), _) | Sum(Sum() | Singleton(), _):
            return True
        case Let(value, _) if _depth(value) > 1 and not _is_in_order(value):
            return True
        case _:
            return any(_searches(child) for child, _ in children(term))


def _is_in_order(term: Term) -> bool:
    """Return whether a dictionary is made row after row, as it is read, which turns no operand."""
    match term:
        case Sum(Range(), Singleton(Variable(1), _)):
            return True
        case _:
            return False


def _depth(term: Term) -> int:
    """Return how deep the singletons of a dictionary nest, which is made by loops."""
    match term:
        case Singleton(_, value):
            return 1 + _depth(value)
        case Sum(_, body) | Let(_, body) | If(_, body) | Multiply(_, body):
            return _depth(body)
        case _:
            return 0


def _arrays(term: Term) -> Iterator[str]:
    if isinstance(term, Symbol):
        yield term.name
    for child, _ in children(term):
        yield from _arrays(child)
