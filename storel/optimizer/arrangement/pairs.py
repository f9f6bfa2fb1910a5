"""Products of many dense factors, two at a time: what two of them make is stored for the next.

    sum(k) sum(l) sum(c) sum(d) V(k, l, c, d) * t(c, d, i, j) * t(a, b, k, l)
      =  let W = {k, l, i, j -> sum(c) sum(d) V(k, l, c, d) * t(c, d, i, j)}
         in sum(k) sum(l) W(k, l, i, j) * t(a, b, k, l)

where i, j, a, b are keys of the result. Of all trees of pairs the one that multiplies least is found by
dynamic programming over sets of factors (Pfeifer, Haegeman, Verstraete, "Faster identification of optimal
contraction sequences for tensor networks", Physical Review E 90, 2014). Chains, which go by one symbol from
factor to factor, may have sparse operands (association.py); these may not, but go by any number of symbols.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import compress
from typing import cast

from storel.calculus.binding import substitute
from storel.calculus.bounds import binder_bounds
from storel.calculus.nodes import Let, Lookup, Range, Sum, Symbol, Term
from storel.calculus.walk import map_children
from storel.optimizer.arrangement.nests import Loop, Nest, keyed, named
from storel.optimizer.terms.occurrences import has_loop, has_only_ranges
from storel.symbols import Symbols

FEWEST, MOST = 3, 9
"""Factors between which there is a choice, and of which all sets are tried."""


@dataclass(frozen=True, slots=True)
class _Factor:
    """A factor, and the loops that bind what it mentions, by their numbers."""

    term: Term
    loops: frozenset[int]


def in_pairs(term: Term, symbols: Symbols) -> Term | None:
    """Return a product of dense factors, two at a time multiplied; None if it is none, or no better."""
    if not isinstance(term, Sum) or not has_only_ranges(term):
        return None
    nest = Nest(cast("Sum", _without_names(term)))
    numbers = {name: number for number, loop in enumerate(nest.loops) for name in loop.binds}
    keys = [numbers.get(key.name, -1) if isinstance(key, Symbol) else -1 for key in nest.keys]
    factors = [_Factor(part.term, frozenset(numbers[name] for name in part.needs)) for part in nest.parts]
    lengths = [_length(loop, symbols) for loop in nest.loops]
    is_dense = all(map(math.isfinite, lengths)) and not any(part.is_condition for part in nest.parts)
    if not is_dense or -1 in keys or len(set(keys)) < len(keys):
        return None
    scalars = [factor.term for factor in factors if not factor.loops]
    factors = [factor for factor in factors if factor.loops]
    if not FEWEST <= len(factors) <= MOST:
        return None
    pairs = _Pairs(nest, factors, keys, lengths)
    return pairs.made(scalars) if pairs.work < math.prod(lengths) else None


def _without_names(term: Term) -> Term:
    """Return ``term`` with what has a name and takes no loop where it is used."""
    match term:
        case Let(value, body) if not has_loop(value):
            return _without_names(substitute(body, value))
        case _:
            return map_children(term, lambda child, _: _without_names(child))


def _length(loop: Loop, symbols: Symbols) -> float:
    """Return the number of iterations of a loop over a range; inf if it depends on another one, or if it
    goes over what is no key of a table.
    """
    if loop.needs or not isinstance(loop.source, Range):
        return math.inf
    keys, _ = binder_bounds(loop.source, symbols)
    if keys.low is None or keys.low < 0 or keys.high is None:
        return math.inf
    return max(0, keys.high - keys.low + 1)


class _Pairs:
    """The best tree of pairs of factors. Sets of factors are bit masks."""

    def __init__(
        self, nest: Nest, factors: Sequence[_Factor], keys: Sequence[int], lengths: Sequence[float]
    ) -> None:
        self._nest, self._factors, self._keys, self._lengths = nest, factors, keys, lengths
        self._all = (1 << len(factors)) - 1
        self._left: dict[int, int] = {}
        self._tables: list[tuple[str, Term]] = []
        work = {1 << number: 0.0 for number in range(len(factors))}
        for mask in range(1, self._all + 1):
            if mask not in work:
                work[mask], self._left[mask] = min(
                    (work[left] + work[mask ^ left] + self._multiplications(left, mask ^ left), left)
                    for left in _parts(mask)
                )
        self.work = work[self._all]

    def made(self, scalars: Sequence[Term]) -> Term:
        """Return the product of all factors and of ``scalars``, below the tables of what pairs make."""
        made = self._sum(self._all, self._keys, scalars)
        for name, table in reversed(self._tables):
            made = named(name, table, made)
        return made

    def _multiplications(self, left: int, right: int) -> float:
        return math.prod(self._lengths[loop] for loop in self._loops(left) | self._loops(right))

    def _loops(self, mask: int) -> frozenset[int]:
        """Return the loops that a product of factors is read in: of several, those of others and of keys."""
        own = self._known(mask)
        if mask & (mask - 1) == 0:
            return own
        return own & (self._known(self._all ^ mask) | frozenset(self._keys))

    def _known(self, mask: int) -> frozenset[int]:
        chosen = compress(self._factors, (mask >> number & 1 for number in range(len(self._factors))))
        return reduce(frozenset.union, (factor.loops for factor in chosen), frozenset[int]())

    def _sum(self, mask: int, keys: Sequence[int], scalars: Sequence[Term] = ()) -> Term:
        """Return the product of a set of factors, summed over all loops but those of ``keys``."""
        loops, left = self._nest.loops, self._left[mask]
        right = mask ^ left
        made = self._nest.product((), (self._read(left), self._read(right), *scalars))
        for loop in sorted((self._loops(left) | self._loops(right)) - set(keys), reverse=True):
            made = loops[loop].around(made, self._nest.semiring)
        for loop in reversed(keys):
            made = loops[loop].around(
                keyed((Symbol(loops[loop].key),), made, self._nest), self._nest.semiring
            )
        return made

    def _read(self, mask: int) -> Term:
        """Return one factor as it is, or what several make, looked up in a table."""
        if mask & (mask - 1) == 0:
            return self._factors[mask.bit_length() - 1].term
        keys = sorted(self._loops(mask))
        table = self._sum(mask, keys)
        name = self._nest.fresh()
        self._tables.append((name, table))
        found: Term = Symbol(name)
        for loop in keys:
            found = Lookup(found, Symbol(self._nest.loops[loop].key), self._nest.semiring)
        return found


def _parts(mask: int) -> list[int]:
    """Return the parts of a set with its last element, other than itself.

    >>> _parts(0b111)
    [4, 5, 6]
    """
    last = 1 << (mask.bit_length() - 1)
    rest = mask ^ last
    parts, part = [last], rest
    while part:
        part = (part - 1) & rest
        if part:
            parts.append(part | last)
    return sorted(parts)
