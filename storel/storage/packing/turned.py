"""A chain turned round: its keys as equations for its variables, its array reads as required values.

    for k, o in off(0:d), for i: key (i, i + o), leaf val(k * m + i)
      =  equations  key₀ = i, key₁ = i + o
         required   off(k) = o
         value      val(k * m + i)

``e // c`` and ``e % c`` as two keys are one equation, ``e = (e // c) * c + e % c``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from storel.errors import FormatError
from storel.storage.chain import Chain, ChainGuard, ChainLoop
from storel.storage.formats import Format
from storel.storage.sizes import is_same_size
from storel.storage.substitution import rename
from storel.syntax.nodes.expressions import Binary, Call, Expression, Name, Number
from storel.syntax.printer import render
from storel.syntax.walk import map_children


@dataclass(frozen=True, slots=True)
class Equation:
    """``unknown`` equals ``known``, an expression of the names ``key_name`` gives to an entry's keys."""

    unknown: Expression
    known: Expression


@dataclass(frozen=True, slots=True)
class Required:
    """``array(address)`` has to be the value of the variable ``element``."""

    array: str
    address: Expression
    element: str


@dataclass(frozen=True, slots=True)
class TurnedChain:
    """What an entry has to satisfy to be stored by one chain, and where it then lies."""

    steps: tuple[ChainLoop | ChainGuard, ...]
    equations: tuple[Equation, ...]
    required: tuple[Required, ...]
    values: str
    address: Expression
    written: Mapping[str, str]

    @property
    def loops(self) -> tuple[ChainLoop, ...]:
        return tuple(step for step in self.steps if isinstance(step, ChainLoop))

    def text(self, expression: Expression) -> str:
        """Return an expression of the chain with the names that the mapping's text has."""
        return render(rename(expression, self.written))


def key_name(dimension: int) -> str:
    """Return the name of an entry's key, which no text can contain."""
    return f"key {dimension}"


def turn_round(storage: Format, chain: Chain) -> TurnedChain:
    """Return the equations and required values of ``chain``.

    Raises FormatError if its leaf is not one read of an array.
    """
    arrays = {declaration.name for declaration in storage.arrays}
    match chain.leaf:
        case Call(Name(values), (address,)) if values in arrays:
            pass
        case _:
            raise not_understood(
                storage, f"its leaf '{render(rename(chain.leaf, _written(chain)))}' is not one array read"
            )
    lifted = _Reads(arrays, chain)
    equations = [Equation(lifted.without(key), Name(key_name(d))) for d, key in enumerate(chain.keys)]
    guards = [ChainGuard(lifted.without(s.condition)) for s in chain.steps if isinstance(s, ChainGuard)]
    steps = (*(lifted.bounds(loop) for loop in chain.loops), *guards)
    names = lifted.written | _written(chain)
    equations = _joined(equations)
    return TurnedChain(steps, tuple(equations), lifted.required, values, lifted.known(address), names)


def segment_boundaries(loop: ChainLoop) -> tuple[str, Expression] | None:
    """Return (pos, e) where a loop runs from pos(e) to pos(e + 1)."""
    match loop.low, loop.high:
        case Call(Name(array), (start,)), Call(Name(again), (stop,)) if array == again and is_same_size(
            stop, Binary("+", start, Number(1))
        ):
            return array, start
        case _:
            return None


def not_understood(storage: Format, what: str) -> FormatError:
    """Return the error for a mapping that cannot be turned round."""
    return FormatError(
        f"format {storage.name} cannot be packed: {what}",
        expected="keys that determine the loops' variables, or their order",
        hint="give its arrays themselves",
    )


def _written(chain: Chain) -> dict[str, str]:
    names: dict[str, str] = {}
    for loop in chain.loops:
        position, element = loop.written
        names[loop.position] = position or (None if loop.array else element) or loop.position
        if loop.element is not None:
            names[loop.element] = element or loop.element
    return names


class _Reads:
    """The reads of arrays in keys and guards, each replaced by a variable that it has to equal."""

    def __init__(self, arrays: set[str], chain: Chain) -> None:
        self.arrays = arrays
        self.written: dict[str, str] = {}
        self._elements: dict[tuple[str, Expression], str] = {}
        for loop in chain.loops:
            if loop.array is not None and loop.element is not None:
                self._elements[loop.array, Name(loop.position)] = loop.element

    @property
    def required(self) -> tuple[Required, ...]:
        return tuple(Required(*read, element) for read, element in self._elements.items())

    def without(self, expression: Expression) -> Expression:
        """Replace every read by a variable."""
        match expression:
            case Call(Name(array), (index,)) if array in self.arrays:
                element = self._elements.setdefault((array, index), f"{array} {len(self._elements)}")
                self.written.setdefault(element, array)
                return Name(element)
            case _:
                return map_children(expression, self.without)

    def known(self, expression: Expression) -> Expression:
        """Replace the reads for which there are variables."""
        match expression:
            case Call(Name(array), (index,)) if (array, index) in self._elements:
                return Name(self._elements[array, index])
            case _:
                return map_children(expression, self.known)

    def bounds(self, loop: ChainLoop) -> ChainLoop:
        return replace(loop, low=self.known(loop.low), high=self.known(loop.high))


def _joined(equations: list[Equation]) -> list[Equation]:
    """Join quotients with their remainders."""
    for quotient in equations:
        for remainder in equations:
            match quotient.unknown, remainder.unknown:
                case Binary("//", one, divisor), Binary("%", other, modulus) if (one, divisor) == (
                    other,
                    modulus,
                ):
                    rest = [each for each in equations if each not in (quotient, remainder)]
                    whole = Binary("+", Binary("*", quotient.known, divisor), remainder.known)
                    return _joined([*rest, Equation(one, whole)])
                case _:
                    pass
    return equations
