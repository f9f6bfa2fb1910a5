"""A proof that no two iterations of a mapping read the same value, and that none reads what there is not.

A position is an origin and a digit. Where an address is a number in mixed radix, it determines its digits:

    for j in max(0, i - l):min(n, i + u + 1)     j = i - l + t, where 0 <= t < l + u + 1
    val(i * (l + u + 1) + j - i + l)             = i * (l + u + 1) + t: determines i and t

and where boundaries ascend, a position between two of them determines which ones these are:

    for p in pos(e):pos(e + 1): val(p)           determines p, and so does p what e determines
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from storel.arrays import Array
from storel.storage.blocks import is_ascending
from storel.storage.formats.chain import Chain, ChainGuard, ChainLoop
from storel.storage.formats.format import Format
from storel.storage.packing.leaf import Leaf, leaf_of
from storel.storage.packing.turned import segment_boundaries
from storel.storage.unpacking.affine import Affine, affine
from storel.syntax.nodes.expressions import Call, Expression, Name
from storel.syntax.walk import children


def reads_are_distinct(storage: Format, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> bool:
    """Return whether it is proven that no value is read twice, and nothing is read beyond an array's end.

    Raises NotUnderstood where a leaf is not one read of an array.
    """
    found = storage.chains
    leaves = [leaf_of(storage, chain, {}) for chain in found]
    proofs = [_Proof(chain, leaf, arrays, sizes) for chain, leaf in zip(found, leaves, strict=True)]
    read = [array for proof in proofs for array, _ in proof.reads()]
    return all(read.count(leaf.values) == 1 for leaf in leaves) and all(proof.holds() for proof in proofs)


@dataclass
class _Proof:
    """What is known of a chain: how many values the digits of its positions have, and their sums."""

    chain: Chain
    leaf: Leaf
    arrays: Mapping[str, Array]
    sizes: Mapping[str, int]
    spans: dict[str, int] = field(default_factory=dict[str, int])
    positions: dict[str, Affine] = field(default_factory=dict[str, Affine])
    segments: dict[str, Affine] = field(default_factory=dict[str, Affine])
    """Of positions between boundaries: between which ones."""

    def holds(self, depth: int = 0) -> bool:
        """Return whether the chain is proven to be as it should, once its first loops have been entered."""
        if depth == len(self.chain.loops):
            return self._is_inside(*self.reads()) and self._determines_all(self.leaf.address)
        loop = self.chain.loops[depth]
        if not self._is_inside(*self._reads_in(loop.low, loop.high)):
            return False
        for origin, span in self._digits_of(loop):
            if span <= 0:
                return True  # it is never entered
            self.positions[loop.position] = Affine({**origin.factors, loop.position: 1}, origin.constant)
            self.spans[loop.position] = span
            if self.holds(depth + 1):
                return True
        return False

    def reads(self) -> Iterator[tuple[str, Expression]]:
        """Yield every array that is read, and where."""
        for step in self.chain.steps:
            match step:
                case ChainLoop(position, low, high, array):
                    yield from self._reads_in(low, high)
                    if array is not None:
                        yield array, Name(position)
                case ChainGuard(condition):
                    yield from self._reads_in(condition)
        yield from self._reads_in(*self.chain.keys)
        yield self.leaf.values, self.leaf.address
        yield from self._reads_in(self.leaf.address)

    def _reads_in(self, *expressions: Expression) -> Iterator[tuple[str, Expression]]:
        for expression in expressions:
            match expression:
                case Call(Name(array), (index,)) if array in self.arrays:
                    yield array, index
                case _:
                    pass
            yield from self._reads_in(*children(expression))

    def _digits_of(self, loop: ChainLoop) -> Iterator[tuple[Affine, int]]:
        """Yield origins of a loop's position, each with the number of values from there on."""
        segment = segment_boundaries(loop)
        if segment is not None:
            boundaries, form = self.arrays[segment[0]], self._form(segment[1])
            if form is not None and is_ascending(boundaries):
                self.segments[loop.position] = form
                yield Affine({}, int(boundaries[0])), int(boundaries[-1]) - int(boundaries[0])
            return
        for low in map(self._form, _bounds(loop.low, "max")):
            for high in map(self._form, _bounds(loop.high, "min")):
                if low is not None and high is not None and low.factors == high.factors:
                    yield low, high.constant - low.constant

    def _determines_all(self, address: Expression) -> bool:
        """Return whether no two iterations have the same ``address``."""
        determined = {digit for digit, span in self.spans.items() if span == 1}
        forms = [self._form(address), *(self.segments.get(digit) for digit in sorted(determined))]
        while forms:
            digits = self._determined(forms.pop()) - determined
            determined |= digits
            forms += [self.segments.get(digit) for digit in sorted(digits)]
        return determined == self.spans.keys()

    def _determined(self, form: Affine | None) -> set[str]:
        """Return the digits that a number determines: all that it has, or none."""
        below = 0
        factors = {} if form is None else {d: c for d, c in form.factors.items() if self.spans[d] > 1}
        for digit, factor in sorted(factors.items(), key=lambda each: (abs(each[1]), each[0])):
            if abs(factor) <= below:
                return set()
            below += abs(factor) * (self.spans[digit] - 1)
        return set(factors)

    def _is_inside(self, *reads: tuple[str, Expression]) -> bool:
        """Return whether each index is proven to be one of its array."""
        return all(self._has(self.arrays[array], self._form(index)) for array, index in reads)

    def _has(self, array: Array, index: Affine | None) -> bool:
        if index is None:
            return False
        ends = [factor * (self.spans[digit] - 1) for digit, factor in index.factors.items()]
        least, greatest = (index.constant + sum(bound(0, end) for end in ends) for bound in (min, max))
        return bool(least >= 0 and greatest < len(array))

    def _form(self, expression: Expression) -> Affine | None:
        """Return an expression as a sum of digits, if it is one."""
        variables = {name for loop in self.chain.loops for name in (loop.position, loop.element) if name}
        found = affine(expression, self.sizes, {}, frozenset({*variables, *self.arrays}))
        if found is None or not found.factors.keys() <= self.positions.keys():
            return None
        factors: dict[str, int] = {}
        constant = int(found.constant)
        for position, factor in found.factors.items():
            form = self.positions[position]
            constant += int(factor) * form.constant
            for digit, each in form.factors.items():
                factors[digit] = factors.get(digit, 0) + int(factor) * each
        return Affine({digit: factor for digit, factor in sorted(factors.items()) if factor}, constant)


def _bounds(expression: Expression, function: str) -> tuple[Expression, ...]:
    """Return the arguments of max or min, each of which is a bound."""
    match expression:
        case Call(Name(name), arguments) if name == function:
            return arguments
        case _:
            return (expression,)
