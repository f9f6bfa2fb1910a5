"""Collect by key what several loops bring to one, then do once for each key what depends on nothing else.

    sum(R) sum(<_, w> in S) c * t(w)
      =>  let x = sum(R) sum(<_, w> in S) {w -> c} in sum(<w, v> in x) v * t(w)

where ``t`` is a loop that depends on w and on nothing else that R and S bind. It pays where R and S
meet the same keys again and again: the product of two matrices, row by row, before it meets a third. So does
one loop over an array that holds the same integers again: facts that refer to few rows of a table. What is
searched for is collected, too, so that nothing has to be:

    sum(R) find(<p> in S at e) c * t(p)
      =>  let x = sum(R) {e -> c} in sum(<p, w> in S) x(w) * t(p)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import cast

from storel.calculus.binding import free_variables, shift
from storel.calculus.bounds import bounds
from storel.calculus.nodes import (
    Find,
    If,
    Let,
    Literal,
    Lookup,
    Merge,
    Multiply,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.calculus.safety import is_safe
from storel.calculus.verify import infer
from storel.calculus.walk import children
from storel.optimizer.terms.occurrences import (
    Binder,
    Occurrence,
    at,
    intervals_of,
    occurrences,
    reindexed,
    replaced,
    types_of,
)
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.symbols import ArraySymbol, Symbols


def collected(term: Term, symbols: Symbols) -> Iterator[Term]:
    """Yield ``term`` (closed) with one loop done once for each key."""
    for found in occurrences(term, symbols):
        key = min(free_variables(found.term), default=None)
        if key is None:
            continue
        others = free_variables(found.term) - {key}
        outer = found.inside(min(others)) if others else len(found.scope)
        if outer > key and found.is_key(key):
            yield from _with_collection(term, found, key, outer, symbols)


def _with_collection(term: Term, found: Occurrence, key: int, outer: int, symbols: Symbols) -> Iterator[Term]:
    """Collect in the outermost loop inside ``outer`` binders whose value is linear in the part found."""
    home = found.home(outer)
    for length in range(len(home), len(found.path)):
        path, rest = found.path[:length], found.path[length:]
        loop = at(term, path)
        if not isinstance(loop, Sum) or not _is_linear(loop, rest, loop.semiring):
            continue
        depth = _binders(loop, rest)
        if key >= depth or not _is_scaled(loop, rest, found, symbols):
            return
        yield from _brought_to_all(term, found, key, path, depth, symbols)
        loops = sum(binder.is_loop for binder in found.scope[:depth])
        if loops < 4 and not _repeats_elements(loop, symbols):
            return
        part = _placed(found, key, depth)
        row = _row(loop, rest, Variable(key))
        entry = Multiply(Variable(0), part, loop.semiring)
        yield replaced(term, path, Let(row, Sum(Variable(0), entry, loop.semiring)))
        return


def _brought_to_all(
    term: Term, found: Occurrence, key: int, path: tuple[int, ...], depth: int, symbols: Symbols
) -> Iterator[Term]:
    """Collect by what is searched for: then nothing is, but all that it may be found among is looked at.

    ``key`` is where it is found, ``depth`` the number of binders between the loop at ``path`` and the part.
    """
    loop, search = cast("Sum", at(term, path)), found.scope[key]
    if not isinstance(search.term, Find) or search.term.semiring != loop.semiring:
        return
    above = key + 1  # binders from the part to what is around the search
    sought, source = shift(search.term.key, above), shift(search.term.source, above)
    if any(index < depth for index in free_variables(source)):
        return
    row = _row(loop, found.path[len(path) :], sought)
    place = search.body[len(path) : -1]
    inner = cast("Find", at(row, place)).body
    if 0 in free_variables(inner) or not _is_key(search, symbols):
        return
    if not is_safe(found.term, symbols, found.types, found.intervals):
        return  # it would be made where nothing is found, too, as what it is multiplied with
    if not is_safe(inner, symbols, search.binding.types, search.binding.intervals):
        return
    entry = Multiply(
        Lookup(Variable(2), Variable(0), loop.semiring), _placed(found, key, depth), loop.semiring
    )
    everywhere = Sum(shift(source, 1 - depth), entry, loop.semiring)
    yield replaced(term, path, Let(replaced(row, place, shift(inner, -1)), everywhere))


def _is_key(search: Binder, symbols: Symbols) -> bool:
    """Return whether what a search is for is proved to be an integer that is not negative."""
    outer = search.binding.scope
    sought = cast("Find", search.term).key
    low = bounds(sought, symbols, intervals_of(outer)).low
    return low is not None and low >= 0 and infer(sought, symbols, types_of(outer)).scalar.is_integer


def _placed(found: Occurrence, key: int, depth: int) -> Term:
    """Return the part found in a loop over what was collected.

    Inside are the element (0), its position or key (1), the collection (2), then what was around the loop.
    """
    places = {index: index - depth + 3 for index in free_variables(found.term)} | {key: 1}
    return reindexed(found.term, places.__getitem__)


def _repeats_elements(loop: Sum, symbols: Symbols) -> bool:
    """Return whether a loop goes over an array in which integers may occur again."""
    match loop.source:
        case Symbol(name) | Slice(Symbol(name), _, _):
            fact = symbols.get(name)
            return isinstance(fact, ArraySymbol) and not (
                fact.unique or fact.increasing or fact.within is not None
            )
        case _:
            return False


def _row(loop: Sum, path: tuple[int, ...], key: Term) -> Term:
    """Return ``loop`` with the product around its subterm at ``path``, less that, as an entry at ``key``."""
    top = len(path)
    while isinstance(at(loop, path[: top - 1]), Multiply):
        top -= 1
    factors: list[Term] = []
    for length in range(top, len(path)):
        (factor,) = (
            child for n, (child, _) in enumerate(children(at(loop, path[:length]))) if n != path[length]
        )
        factors.append(factor)
    one = SEMIRINGS[loop.semiring].one
    unit = Literal(one, ScalarType.BOOL if isinstance(one, bool) else ScalarType.INT64)
    value = reduce(lambda left, right: Multiply(left, right, loop.semiring), factors) if factors else unit
    return replaced(loop, path[:top], Singleton(key, value, loop.semiring))


def _is_linear(term: Term, path: tuple[int, ...], semiring: str) -> bool:
    """Return whether ``term`` is additive, over ``semiring``, in its subterm at ``path``."""
    if not path:
        return True
    match term:
        case If() if path[0] == 0:
            return False
        case Sum(_, _, own) | Find(_, _, _, own) | Merge(_, _, _, own) | If(_, _, own) | Multiply(_, _, own):
            return own == semiring and _is_linear(children(term)[path[0]][0], path[1:], semiring)
        case Let():
            return path[0] == 1 and _is_linear(term.body, path[1:], semiring)
        case _:
            return False


def _is_scaled(loop: Sum, path: tuple[int, ...], found: Occurrence, symbols: Symbols) -> bool:
    """Return whether all that is multiplied with the part found, at ``path`` below ``loop``, are scalars."""
    for length, index in enumerate(path):
        product = at(loop, path[:length])
        if isinstance(product, Multiply):
            context = found.types[_binders(product, path[length:]) :]
            if infer(children(product)[1 - index][0], symbols, context).rank > 0:
                return False
    return True


def _binders(term: Term, path: tuple[int, ...]) -> int:
    """Return how many variables are bound between ``term`` and its subterm at ``path``."""
    count = 0
    for index in path:
        term, binders = children(term)[index]
        count += binders
    return count
