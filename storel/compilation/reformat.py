"""Operands in another format, where a plan would read them against the order of their storage.

A program that does so finds each entry by a search, or goes through all of an operand time and again, or
where each key has a place, reads it far from the last one. Or it meets the rows of a small operand so often
that each key had better have a place.
Where the estimated time of that exceeds the time of a conversion, plans for the operands' other default
formats are made, too, all at once and one operand after the other, and the cheapest, conversions included,
is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from storel.calculus.binding import free_mask, shift
from storel.calculus.nodes import (
    Add,
    Apply,
    Find,
    If,
    Let,
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
    Variable,
)
from storel.calculus.walk import children
from storel.compilation.environment import Environment
from storel.optimizer.physical.destination import is_dense
from storel.storage.formats.format import Format
from storel.storage.tensor import Tensor

CONVERSION = 30.0
"""Nanoseconds per stored entry that a conversion takes."""

TURNING = 4.0
"""Nanoseconds per place that it takes to turn what has a place for each key."""

MOST_IMAGES = 6
"""Entries that a stored number may stand for, in half of a matrix or a sixth of a tensor of rank 3."""

SMALL = 2**16
"""Places up to which a tensor may have one for each key, though it has few entries."""

SMALL_SHARE = 1 / 8
"""The share of entries from which on it may: a processor takes as many numbers of a row at once."""

WORTHWHILE = 4e5
"""Nanoseconds of estimated time below which nothing is converted, however soon plans for that are found."""


def conversion_cost(source: Tensor, target: Tensor) -> float:
    """Return the estimated nanoseconds of converting a tensor to another one."""
    if _is_full(target):
        return least_conversion_cost(source)
    longest = max(map(len, target.arrays.values()), default=0)
    # The parts of a composed format have values of their own, and what is in one of them is in no other.
    values = (target.arrays.get(each.name, ()) for each in target.storage.arrays if each.holds_values)
    return CONVERSION * (max(longest, sum(map(len, values))) or target.nnz)


def least_conversion_cost(tensor: Tensor) -> float:
    """Return what converting ``tensor`` costs at least in any format: each stores all entries."""
    return TURNING * math.prod(tensor.shape) if _is_full(tensor) else CONVERSION * tensor.nnz


def convertible_operands(
    term: Term, environment: Environment, time: Callable[[], float], *, is_listed: bool = False
) -> list[str]:
    """Return the tensors that ``term`` reads in another order, if a conversion is cheap beside that.

    Its ``time`` is asked for where there are such tensors: most terms have none.
    A result that is listed in no order, and sorted afterwards, is as good a reason.

    Not only what is searched is worth converting: of two operands stored by columns the one that is
    scanned decides that the other must be searched. What has a place for each key is never searched, but
    its innermost reads may be a row apart. What has many more entries than it stores, such as a product of
    matrices, stays what it is. What has most of its entries, as half of a symmetric matrix in one array, may
    be an operand of a dense product; rows of what is small may be met so often that it is better full.
    """
    named = frozenset(_arrays(term))
    searched = named if is_listed or _searches(term) else frozenset[str]()
    crossed = frozenset(_crossed(term))
    repeated = frozenset((*_repeated(term), *_paired(term)))

    def is_turned(name: str, tensor: Tensor) -> bool:
        arrays = array_names(name, tensor)
        if (_may_be_full(tensor) or _is_small(tensor)) and not arrays.isdisjoint(named):
            return True
        return bool(arrays & crossed) or (_may_be_sparse(tensor) and bool(arrays & (searched | repeated)))

    tensors = {
        name: tensor
        for name, tensor in sorted(environment.tensors.items())
        if tensor.rank > 1 and is_turned(name, tensor)
    }
    nanoseconds = time() if tensors else 0.0
    return [
        name
        for name, tensor in tensors.items()
        if nanoseconds > WORTHWHILE and tensor.lists_entries
        if nanoseconds > WORTHWHILE + 2 * conversion_cost(tensor, tensor)
    ]


def array_names(name: str, tensor: Tensor) -> set[str]:
    """Return what the arrays of an operand are called in a term in which it is called ``name``."""
    return {f"{name}_{array.name}" for array in tensor.storage.arrays}


def _is_full(tensor: Tensor) -> bool:
    """Return whether a tensor has a place for each key."""
    return tensor.signature is not None and tensor.signature.is_full


def _may_be_full(tensor: Tensor) -> bool:
    """Return whether a tensor without a place for each key has so many entries that it might as well.

    They are only counted where they may be so many: most mappings have to be gone through for that.
    """
    if _is_full(tensor) or tensor.rank < 2:
        return False
    held = sum(len(tensor.arrays.get(each.name, ())) for each in tensor.storage.arrays if each.holds_values)
    return is_dense(MOST_IMAGES * held, tensor.shape) and is_dense(tensor.nnz, tensor.shape)


def _is_small(tensor: Tensor) -> bool:
    """Return whether a sparse tensor takes little memory with a place for each key, and has some entries."""
    places = math.prod(tensor.shape)
    return not _is_full(tensor) and places <= SMALL and tensor.nnz >= SMALL_SHARE * places


def _may_be_sparse(tensor: Tensor) -> bool:
    """Return whether a format without a place for each key may suit a tensor."""
    return not (_is_full(tensor) and is_dense(tensor.nnz, tensor.shape))


def forms(tensor: Tensor, environment: Environment) -> Iterator[Tensor]:
    """Yield ``tensor`` in each format that data of its rank may be stored in unasked, its own if it is one.

    One that was made for an earlier program is at hand; most of these are not worth keeping.
    """
    for alternative in _alternatives(tensor, environment):
        if alternative.name == tensor.storage.name:
            yield tensor
        else:
            kept = tensor.kept_as(alternative)
            yield tensor.stored_as(alternative) if kept is None else kept


def is_default(tensor: Tensor, environment: Environment) -> bool:
    """Return whether ``tensor`` is stored as such data is unasked: the first of its forms is itself."""
    return _alternatives(tensor, environment)[0].name == tensor.storage.name


def _alternatives(tensor: Tensor, environment: Environment) -> list[Format]:
    alternatives = environment.formats.alternatives
    sparse = alternatives(tensor.rank, is_dense=False) if _may_be_sparse(tensor) else []
    if _is_full(tensor) or _may_be_full(tensor):
        return alternatives(tensor.rank, is_dense=True) + sparse
    return sparse + alternatives(tensor.rank, is_dense=True) if _is_small(tensor) else sparse


def conversions(tensor: Tensor, environment: Environment) -> Iterator[Tensor]:
    """Yield ``tensor`` in each other format that data of its rank may be stored in unasked."""
    return (each for each in forms(tensor, environment) if each is not tensor)


def _crossed(term: Term) -> Iterator[str]:
    """Yield the arrays of which an innermost loop reads elements that do not follow one another."""
    match term:
        case Sum(Range(), body) if _loops(body) == 0:
            yield from _strided(body, Variable(1))
        case _:
            for child, _ in children(term):
                yield from _crossed(child)


def _strided(term: Term, key: Variable) -> Iterator[str]:
    """Yield the arrays that are read at multiples of a key."""
    match term:
        case Lookup(Symbol(name), index) if _is_multiplied(index, key):
            yield name
        case _:
            for child, binders in children(term):
                yield from _strided(child, Variable(key.index + binders))


def _is_multiplied(index: Term, key: Variable) -> bool:
    match index:
        case Multiply(left, right) if key in (left, right):
            return True
        case Add(left, right) | Multiply(left, right):
            return _is_multiplied(left, key) or _is_multiplied(right, key)
        case _:
            return False


def _repeated(term: Term, varying: int = 0) -> Iterator[str]:
    """Yield the arrays that a loop inside of another one goes through each time.

    The loop is over all rows, or over all that is stored: no loop around it chooses among them. Bit i of
    ``varying`` stands for variable i, and says that it is not the same in all iterations of those.
    """
    if varying and isinstance(term, Sum) and _is_steady(term.source, varying):
        if isinstance(term.source, Slice):
            yield from _arrays(term.source.array)
        yield from _chosen(term.body, 0b11)
    is_loop = isinstance(term, Sum | Reduce | Merge | Find)
    is_changed = is_loop or any(
        free_mask(child) & varying for child, binders in children(term) if not binders
    )
    for child, binders in children(term):
        bound = (1 << binders) - 1 if is_changed else 0
        yield from _repeated(child, varying << binders | bound)


def _paired(term: Term, around: tuple[Term | None, ...] = ()) -> Iterator[str]:
    """Yield the arrays of which pairs of elements are gone through, to look up which belong together.

    ``around`` has for each variable, from the innermost on, what it is an element of in a loop around.
    """
    if isinstance(term, Sum) and isinstance(term.source, Slice) and _looks_up(term.body):
        outer = (shift(each, n) for n, each in enumerate(around) if each is not None)
        if term.source in outer:
            yield from _arrays(term.source.array)
    for child, binders in children(term):
        own = (shift(term.source, 2), None) if isinstance(term, Sum) and binders else (None,) * binders
        yield from _paired(child, (*own, *around))


def _looks_up(term: Term) -> bool:
    """Return whether a dictionary that was stored is looked up in ``term``."""
    return (isinstance(term, Lookup) and isinstance(term.mapping, Variable)) or any(
        _looks_up(child) for child, _ in children(term)
    )


def _is_steady(source: Term, varying: int) -> bool:
    """Return whether a loop is over a range, or over what is the same in each of its runs."""
    return isinstance(source, Range) or not free_mask(source) & varying


def _chosen(term: Term, variables: int) -> Iterator[str]:
    """Yield the arrays of which these variables, and no others, choose what is read.

    Bit i of ``variables`` stands for variable i. What a loop over elements so chosen binds is among them.
    """
    match term:
        case Lookup(Symbol(name), _) | Slice(Symbol(name), _, _):
            if free_mask(term) and not free_mask(term) & ~variables:
                yield name
        case _:
            pass
    outside = [child for child, binders in children(term) if binders == 0]
    is_chosen = all(not free_mask(child) & ~variables for child in outside)
    for child, binders in children(term):
        bound = (1 << binders) - 1 if is_chosen else 0
        yield from _chosen(child, variables << binders | bound)


def _searches(term: Term) -> bool:
    """Return whether ``term`` looks for keys: by a search, by comparing all, or in a table made for it."""
    match term:
        case Find() | If(Apply("equal", _), _) | Sum(Sum() | Singleton(), _):
            return True
        case Let(value, body) if _depth(value) > 1 and (not _is_in_order(value) or _is_probed(body)):
            return True
        case _:
            return any(_searches(child) for child, _ in children(term))


def _is_probed(term: Term, index: int = 0) -> bool:
    """Return whether ``term`` looks for entries, by all their keys, in the matrix that a variable is."""
    match term:
        case Lookup(Lookup(Variable(position), _), _):
            return position == index
        case _:
            return any(_is_probed(child, index + binders) for child, binders in children(term))


def _loops(term: Term) -> int:
    return isinstance(term, Sum | Reduce | Merge | Find) + sum(_loops(child) for child, _ in children(term))


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
