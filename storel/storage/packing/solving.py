"""A chain's equations, solved for one variable after the other, each for all entries at once.

An equation that no variable is left in is checked: an entry for which it does not hold is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np

from storel.arrays import Array
from storel.errors import FormatError
from storel.storage.formats.format import Format
from storel.storage.formats.sizes import free_size_names
from storel.storage.packing.columns import collected
from storel.storage.packing.equations import Equation, Part
from storel.storage.packing.selection import Selection
from storel.storage.packing.turned import TurnedChain
from storel.storage.unpacking.affine import FEW_BITS, Sides
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Binary, Call, Expression, Name, Number

LARGEST_INT64 = 2**63 - 1


@dataclass
class Solution(Selection):
    """The entries for which a chain's equations can be solved, and what they say of its variables."""

    storage: Format
    chain: TurnedChain
    _pending: list[Equation] = field(init=False)

    def __post_init__(self) -> None:
        self._pending = list(self.chain.equations)
        self._variables = frozenset(self.chain.written) | {each.element for each in self.chain.required}
        lengths = (free_size_names(e) for each in self.storage.arrays for e in each.type.extents)
        self._later = frozenset(each.name for each in self.storage.arrays).union(*lengths)

    def is_known(self, *expressions: Expression) -> bool:
        unknown = self._unknown
        return not any(free_names(expression) & unknown for expression in expressions)

    @property
    def _unknown(self) -> frozenset[str]:
        """The variables, arrays and length symbols that have no values yet."""
        found = {*self.building.sizes, *self.vectors, *self.building.arrays}
        return (self._variables | self._later | self.chain.boundaries) - found

    def _solve_equations(self) -> bool:
        """Solve equations as long as one of them determines a variable; return whether one did."""
        before = len(self._pending)
        while any(self._solve(equation) for equation in self._pending):
            pass
        return len(self._pending) < before

    def _solve(self, equation: Equation) -> bool:
        """Solve an equation for a variable, or check it if it has none; return whether it could be done."""
        if not self.is_known(equation.known):
            return False
        sides = Sides(
            equation.unknown, equation.known, self.building.arrays, self._unknown, cache(self._bounds)
        )
        needed = equation.unknown, equation.known
        _, some = next(self.pieces(*needed))
        variables = sides.variables(some)
        if variables is None or not variables <= self._variables:
            return False
        text = "the key" if isinstance(equation.unknown, Number) else self.chain.text(equation.unknown)
        self._keep_parts(equation)
        self._require_integers(equation.known, text)
        if not variables:
            self._pending.remove(equation)
            fits = self.holds(sides.hold, *needed)
            said = "{} is {} and {} at once" if isinstance(equation.unknown, Name) else "{} is {}, not {}"
            self.keep(fits, lambda first: said.format(text, *sides.values(self.at(first))))
            return True
        moved = sides.moved(some)
        are_small = self.interval(moved.known_side, FEW_BITS) is not None and moved.is_solved_in_32_bits()
        if are_small:
            sides, needed = moved, (moved.known_side,)
        solved = sides.solved(some)
        if solved is None:
            return False
        if len(variables) == 1:
            self._pending.remove(equation)

        fits = np.ones(len(self.entries), dtype=bool)

        def found() -> Iterator[tuple[slice, Array]]:
            for piece, names in self.pieces(*needed):
                part = sides.solved(names)
                assert part is not None
                if part.fits is not None:
                    fits[piece] = part.fits
                yield piece, part.value

        self.vectors[solved.name] = collected(len(self.entries), found(), are_small=are_small)
        self.keep(fits, lambda first: f"{text} is never {self.evaluate(equation.known, self.at(first))}")
        return True

    def _keep_parts(self, equation: Equation) -> None:
        """Drop the entries for which a number would need other parts than it can have."""
        for part in equation.parts:
            known, end = part.known, part.end
            if self.is_never_below(known, Number(0)) and self.is_never_below(end, known, by=1):
                continue
            is_one = Binary("and", Binary("<=", Number(0), known), Binary("<", known, end))

            def reason(first: int, part: Part = part) -> str:
                return f"{self.chain.text(part.unknown)} is never {self.evaluate(part.known, self.at(first))}"

            self.keep(self.holds(partial(self.evaluate, is_one), is_one), reason)

    def _require_integers(self, expression: Expression, text: str) -> None:
        """Raise FormatError where what ``text`` is to be, made of keys by arithmetic, exceeds 64 bits."""
        if self.interval(expression, LARGEST_INT64) is not None or not _is_arithmetic(expression):
            return
        for _, names in self.pieces(expression):
            reals = {name: np.asarray(each, dtype=np.float64) for name, each in names.items()}
            values = np.atleast_1d(self.evaluate(expression, reals))
            largest = values[np.argmax(np.abs(values))] if values.size else 0.0
            if abs(largest) >= 2.0**63:
                raise FormatError(
                    f"format {self.storage.name} cannot hold the entries",
                    expected=f"{text} in 64 bits",
                    found=f"about {largest:.3g}",
                    hint="keep the keys apart, in arrays of their own",
                )

    def _bounds(self, variable: str) -> tuple[int, int] | None:
        """Return the least value of a loop's variable or an element, and the number of values from there."""
        for low, high in self._ranges(variable):
            if self.is_known(low):
                least = min(self.extreme(low, np.min), 0)
                greatest = self._at_most(high)
                return None if greatest is None else (least, greatest - least)
        return None

    def _ranges(self, variable: str) -> Iterator[tuple[Expression, Expression]]:
        """Yield what a variable runs over, or where the elements of its array are declared to lie."""
        yield from ((loop.low, loop.high) for loop in self.chain.loops if loop.position == variable)
        for each in self.chain.required:
            if each.element == variable:
                yield from self.building.ranges(each.array)
        for digit in (each for each in self.chain.digits if each.name == variable):
            yield from digit.ranges(self._ranges)

    def _at_most(self, expression: Expression) -> int | None:
        proven = self.interval(expression)
        if proven is not None:
            return max(proven[1], 0)
        if self.is_known(expression):
            return max(self.extreme(expression, np.max), 0)
        match expression:
            case Call(Name("min"), arguments):
                known = [bound for each in arguments if (bound := self._at_most(each)) is not None]
                return min(known, default=None)
            case _:
                return None


def _is_arithmetic(expression: Expression) -> bool:
    """Return whether an expression is made of names and numbers alone, by sums and products."""
    match expression:
        case Name() | Number():
            return True
        case Binary("+" | "-" | "*", left, right):
            return _is_arithmetic(left) and _is_arithmetic(right)
        case _:
            return False
