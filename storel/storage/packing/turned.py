"""A chain turned round: its keys as equations for its variables, its array reads as required values.

    for k, o in off(0:d), for i: key (i, i + o), leaf val(k * m + i)
      =  equations  key₀ = i, key₁ = i + o
         required   off(k) = o
         value      val(k * m + i)

``e // c`` and ``e % c`` as two keys are one equation (``equations.py``); so is a guard that two numbers are
equal. Boundaries that are yet to be found cancel out of a key, if one counts from them:

    for p in pos(i):pos(i + 1): key (i, p - pos(i))      =  segment i of pos, place r, where r = key₁
    for p, s in start(0:z), for j in s:stop(p): key j    =  runs of consecutive keys
    if (bit(word(w), b) == 1)                            =  bit b of word(w) is required
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from storel.storage.formats.chain import Chain, ChainGuard, ChainLoop
from storel.storage.formats.format import Format
from storel.storage.formats.sizes import is_same_size
from storel.storage.packing.equations import Digit, Equation, digit_text, joined, with_digits
from storel.storage.packing.leaf import Leaf, leaf_of, place_in_segment
from storel.syntax.nodes.expressions import Binary, Call, Expression, Name, Number, Unary
from storel.syntax.printer import render
from storel.syntax.substitution import rename, substitute
from storel.syntax.walk import map_children


@dataclass(frozen=True, slots=True)
class Required:
    """``array(address)`` has to be the value of the variable ``element``."""

    array: str
    address: Expression
    element: str


@dataclass(frozen=True, slots=True)
class RequiredBit:
    """Bit ``position`` of ``array(address)`` has to be 1."""

    array: str
    address: Expression
    position: Expression


@dataclass(frozen=True, slots=True)
class Segment:
    """Place ``offset`` of segment ``index``.

    position = boundaries(index) + offset, or where ``is_from_end`` holds boundaries(index + 1) - 1 - offset;
    ``position`` is None for the place of a value.
    """

    boundaries: str
    index: Expression
    offset: Expression
    position: str | None = None
    is_from_end: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive values of ``position`` are stored as their first one and their end, or their number.

    ``outer`` is the variable that counts the runs.
    """

    outer: str
    first: str
    position: str
    end: str
    is_length: bool


@dataclass(frozen=True, slots=True)
class TurnedChain:
    """What an entry has to satisfy to be stored by one chain, and where it then lies."""

    steps: tuple[ChainLoop | ChainGuard, ...]
    equations: tuple[Equation, ...]
    required: tuple[Required, ...]
    bits: tuple[RequiredBit, ...]
    segments: tuple[Segment, ...]
    runs: tuple[Run, ...]
    leaf: Leaf
    written: Mapping[str, str]
    digits: tuple[Digit, ...]
    boundaries: frozenset[str]
    """The names that stand for boundaries in equations, where they cancel out."""

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

    Raises NotUnderstood if its leaf is not one read of an array.
    """
    return _Turning(storage, chain).turned()


def segment_boundaries(loop: ChainLoop) -> tuple[str, Expression] | None:
    """Return (pos, e) where a loop runs from pos(e) to pos(e + 1)."""
    match loop.low, loop.high:
        case Call(Name(array), (start,)), Call(Name(again), (stop,)) if array == again and is_same_size(
            stop, Binary("+", start, Number(1))
        ):
            return array, start
        case _:
            return None


class _Turning:
    """The equations and required values of one chain while they are collected."""

    def __init__(self, storage: Format, chain: Chain) -> None:
        self.storage, self.chain = storage, chain
        self.written = _written(chain)
        self.leaf = leaf_of(storage, chain, self.written)
        self.bits: list[RequiredBit] = []
        self.segments: list[Segment] = []
        self.boundaries: set[str] = set()
        self._delimiting = {found[0] for loop in chain.loops if (found := segment_boundaries(loop))}
        self._arrays = {declaration.name for declaration in storage.arrays}
        self._elements: dict[tuple[str, Expression], str] = {}
        for loop in chain.loops:
            if loop.array not in (None, self.leaf.values) and loop.element is not None:
                self._elements[str(loop.array), Name(loop.position)] = loop.element

    def turned(self) -> TurnedChain:
        keys = self._count_from_boundaries(self.chain.keys)
        equations = [Equation(self._without(key), Name(key_name(d))) for d, key in enumerate(keys)]
        guards: list[ChainGuard] = []
        for step in self.chain.steps:
            if isinstance(step, ChainGuard):
                self._guard(step.condition, equations, guards)
        runs = [run for loop in self.chain.loops if (run := self._run(loop)) is not None]
        solvable, digits = with_digits(joined(equations), self.written)
        self.written |= {digit.name: digit_text(digit, self.written) for digit in digits}
        guards += [ChainGuard(digit.condition) for digit in digits if digit.condition is not None]
        steps = (*(self._bounds(loop) for loop in self.chain.loops), *guards)
        leaf = replace(self.leaf, address=self._known(self.leaf.address))
        place = place_in_segment(self.storage, leaf.address, self._delimiting)
        if place is not None:
            self.segments.append(Segment(*place))
        required = tuple(Required(*read, element) for read, element in self._elements.items())
        return TurnedChain(
            steps,
            tuple(solvable),
            required,
            tuple(self.bits),
            tuple(self.segments),
            tuple(runs),
            leaf,
            self.written,
            digits,
            frozenset(self.boundaries),
        )

    def _count_from_boundaries(self, keys: tuple[Expression, ...]) -> tuple[Expression, ...]:
        """Replace the positions that keys compare with boundaries by boundaries and a place."""
        for loop in self.chain.loops:
            found = segment_boundaries(loop)
            if found is None:
                continue
            low, high = (Name(render(rename(bound, self.written))) for bound in (loop.low, loop.high))
            named = tuple(_replaced(_replaced(key, loop.low, low), loop.high, high) for key in keys)
            if named == keys:
                continue
            is_from_end = any(key != _replaced(key, loop.high, high) for key in keys)
            offset = Name(f"{self.written[loop.position]} in {low.name}:{high.name}")
            position = Binary("+", low, offset)
            if is_from_end:
                position = Binary("-", Binary("-", high, Number(1)), offset)
            keys = tuple(substitute(key, loop.position, position) for key in named)
            self.segments.append(Segment(*found, offset, loop.position, is_from_end))
            self.written[offset.name] = self.written[loop.position]
            self.boundaries |= {low.name, high.name}
        return keys

    def _guard(self, condition: Expression, equations: list[Equation], guards: list[ChainGuard]) -> None:
        """Sort a condition: bits that are required, equations, and what is left to be checked."""
        match condition:
            case Binary("and", left, right):
                self._guard(left, equations, guards)
                self._guard(right, equations, guards)
            case Binary("==", Call(Name("bit"), (Call(Name(array), (address,)), position)), Number(1)) if (
                array in self._arrays
            ):
                self.bits.append(RequiredBit(array, self._known(address), self._known(position)))
            case Binary("==", left, Number() as number):
                equations.append(Equation(self._without(left), number))
            case Binary("==", left, right):
                difference = Binary("-", self._without(left), self._without(right))
                equations.append(Equation(difference, Number(0)))
            case Call(Name(array), (_,)) if array in self._arrays:
                equations.append(Equation(self._without(condition), Number(1)))
            case Unary("not", Call(Name(array), (_,)) as mark) if array in self._arrays:
                equations.append(Equation(self._without(mark), Number(0)))
            case _:
                guards.append(ChainGuard(self._without(condition)))

    def _run(self, loop: ChainLoop) -> Run | None:
        """Return the run that a loop from an element to what is stored beside it goes through."""
        outer = next((each for each in self.chain.loops if Name(str(each.element)) == loop.low), None)
        if outer is None or outer.array is None or outer.element is None:
            return None
        match loop.high:
            case Call(Name(array), (address,)) if array in self._arrays - self._delimiting:
                is_length = False
            case Binary("+", first, Call(Name(array), (address,))) if first == loop.low:
                is_length = True
            case _:
                return None
        end = self._elements.setdefault((array, address), f"{array}[{len(self._elements)}]")
        self.written.setdefault(end, array)
        return Run(outer.position, outer.element, loop.position, end, is_length)

    def _without(self, expression: Expression) -> Expression:
        """Replace every read by a variable."""
        match expression:
            case Call(Name(array), (index,)) if array in self._arrays - self._delimiting:
                element = self._elements.setdefault((array, index), f"{array}[{len(self._elements)}]")
                self.written.setdefault(element, render(rename(expression, self.written)))
                return Name(element)
            case _:
                return map_children(expression, self._without)

    def _known(self, expression: Expression) -> Expression:
        """Replace the reads for which there are variables."""
        match expression:
            case Call(Name(array), (index,)) if (array, index) in self._elements:
                return Name(self._elements[array, index])
            case _:
                return map_children(expression, self._known)

    def _bounds(self, loop: ChainLoop) -> ChainLoop:
        return replace(loop, low=self._known(loop.low), high=self._known(loop.high))


def _written(chain: Chain) -> dict[str, str]:
    names: dict[str, str] = {}
    for loop in chain.loops:
        position, element = loop.written
        names[loop.position] = position or (None if loop.array else element) or loop.position
        if loop.element is not None:
            names[loop.element] = element or loop.element
    return names


def _replaced(expression: Expression, part: Expression, by: Expression) -> Expression:
    if expression == part:
        return by
    return map_children(expression, lambda child: _replaced(child, part, by))
