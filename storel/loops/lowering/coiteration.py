"""Sorted arrays gone through side by side: where they all have an element, or where any of them has one.

An intersection is a two-pointer scan, or where one side is far longer a search in it for each element of the
other. A union is one ascending pass; where its steps need no branch, it is a loop for each point of the merge
lattice (Kjolstad et al., OOPSLA 2017): for each set of arrays that are not exhausted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations

from storel.loops.emitter import ALWAYS, INDEX, NEVER, index, times
from storel.loops.lowering.scans import Scans
from storel.loops.lowering.scope import Met, Scope, Value
from storel.loops.nodes import Assign, Binary, Cast, Expression, Local, While
from storel.loops.nodes import If as Branch
from storel.plan.nodes import Elements, Positions, Source

NO_ELEMENT = 2**63 - 1
"""What stands for the element of an exhausted array: larger than any key."""

FAR_LONGER = 32
"""How many times as long an array must be for elements to be searched for in it rather than scanned to."""


@dataclass(frozen=True, slots=True)
class Part:
    """What source ``number`` gives to an element of a union, where ``is_here``."""

    number: int
    is_here: Expression
    scope: Scope


@dataclass
class Coiteration:
    """Emits loops over several arrays around what the caller emits when it is handed the scope inside."""

    scans: Scans

    def __post_init__(self) -> None:
        self.emitter = self.scans.emitter

    def intersection(
        self, left: Elements, right: Elements, scope: Scope, body: Callable[[Scope], None]
    ) -> None:
        """Emit a two-pointer scan without a branch in its steps, or with searches in a far longer side."""
        p, p_end = self.scans.pointer(left, scope)
        q, q_end = self.scans.pointer(right, scope)
        starts = self.emitter.declare("first", p), self.emitter.declare("first", q)
        lengths = Binary("subtract", p_end, p), Binary("subtract", q_end, q)
        left_is_long = self.emitter.declare("left_is_long", _is_far_longer(*lengths))
        right_is_long = self.emitter.declare("right_is_long", _is_far_longer(*reversed(lengths)))
        is_skewed = self.emitter.declare("is_skewed", Binary("or", left_is_long, right_is_long))
        with self.emitter.block() as statements:
            x = self.scans.element(left.array, p)
            y = self.scans.element(right.array, q)
            inner = scope.bind(Value(p), self.scans.between(left.low, left.high, scope))
            inner = inner.bind(Value(q), self.scans.between(right.low, right.high, scope))
            with self.emitter.block() as common:
                body(inner.bind(Value(x), self.scans.element_interval(left.array)))
            self.emitter.emit(Branch(Binary("equal", x, y), tuple(common)))
            self.emitter.advance(p, Cast(INDEX, Binary("less_equal", x, y)))
            self.emitter.advance(q, Cast(INDEX, Binary("less_equal", y, x)))
            with self.emitter.block() as skips:
                self._skip(left_is_long, left.array, (starts[0], p, p_end), right.array, (q, q_end))
                self._skip(right_is_long, right.array, (starts[1], q, q_end), left.array, (p, p_end))
            self.emitter.emit(Branch(is_skewed, tuple(skips)))
        running = Binary("and", Binary("less", p, p_end), Binary("less", q, q_end))
        self.emitter.emit(While(running, tuple(statements)))

    def _skip(
        self,
        is_long: Expression,
        array: str,
        ends: tuple[Local, Local, Local],
        other: str,
        others: tuple[Local, Local],
    ) -> None:
        """Emit the search in the long side of an intersection for the next element of the short one.

        All searches start from the same ends, so that the elements that they meet first stay in a cache.
        """
        first, pointer, end = ends
        with self.emitter.block() as statements:
            wanted = self.scans.element(other, others[0])
            self.emitter.emit(Assign(pointer, first))
            self.scans.search(array, pointer, end, wanted)
        self.emitter.emit(Branch(Binary("and", is_long, Binary("less", *others)), tuple(statements)))

    def union(
        self,
        sources: Sequence[Source],
        scope: Scope,
        step: Callable[[Expression, list[tuple[Expression, Scope]]], None],
    ) -> None:
        """Emit one ascending pass over the elements of all ``sources``.

        ``step(key, present)`` emits what happens at each distinct element; ``present`` says for each source
        under which condition it has that element, and the scope that its body runs in.
        """
        heads: list[tuple[Elements | Positions, Local, Local, Local]] = []
        for source in sources:
            assert isinstance(source, Elements | Positions)
            pointer, end = self.scans.pointer(source, scope)
            head = self.emitter.declare("head", index(NO_ELEMENT))
            self.emitter.emit(Branch(Binary("less", pointer, end), (self._read_head(source, pointer, head),)))
            heads.append((source, pointer, end, head))
        smallest = self.emitter.declare("key", _least([head for *_, head in heads]))
        with self.emitter.block() as statements:
            here = [Binary("equal", head, smallest) for *_, head in heads]
            pointers = [pointer for _, pointer, *_ in heads]
            around = self._meeting(scope, [source for source, *_ in heads], pointers, here)
            present: list[tuple[Expression, Scope]] = []
            for (source, pointer, *_), is_here in zip(heads, here, strict=True):
                inner = around.bind(Value(pointer), self.scans.between(source.low, source.high, scope))
                inner = inner.bind(Value(smallest), self.scans.key_interval(source, scope))
                present.append((is_here, inner))
            step(smallest, present)
            for source, pointer, end, head in heads:
                with self.emitter.block() as advance:
                    self.emitter.advance(pointer, index(1))
                    read = self._read_head(source, pointer, head)
                    done = Assign(head, index(NO_ELEMENT))
                    self.emitter.emit(Branch(Binary("less", pointer, end), (read,), (done,)))
                self.emitter.emit(Branch(Binary("equal", head, smallest), tuple(advance)))
            self.emitter.emit(Assign(smallest, _least([head for *_, head in heads])))
        running = Binary("not_equal", smallest, index(NO_ELEMENT))
        self.emitter.emit(While(running, tuple(statements)))

    def regions(
        self,
        sources: Sequence[Source],
        scope: Scope,
        step: Callable[[Expression, Sequence[Part]], None],
    ) -> None:
        """Emit one ascending pass as ``union`` does, as a loop for each set of sources not yet exhausted.

        These are the points of a merge lattice, the largest sets first. No step branches: the scope of a
        source without the element is that of the source's next element, where its body may run, too.
        """
        scans = [source for source in sources if isinstance(source, Elements | Positions)]
        ends = [self.scans.pointer(source, scope) for source in scans]
        for size in range(len(scans), 0, -1):
            for region in combinations(range(len(scans)), size):
                self._region(region, scans, ends, scope, step)

    def _region(
        self,
        region: Sequence[int],
        scans: Sequence[Elements | Positions],
        ends: Sequence[tuple[Local, Local]],
        scope: Scope,
        step: Callable[[Expression, Sequence[Part]], None],
    ) -> None:
        """Emit the ascending pass until one of the sources in ``region`` is exhausted."""
        with self.emitter.block() as statements:
            heads = [self.scans.key(scans[number], ends[number][0]) for number in region]
            key = heads[0] if len(heads) == 1 else self.emitter.declare("key", _least(heads))
            here: list[Expression] = [NEVER] * len(scans)
            for number, head in zip(region, heads, strict=True):
                here[number] = _is_least(head, key)
            around = self._meeting(scope, scans, [pointer for pointer, _ in ends], here)
            parts: list[Part] = []
            for number, head in zip(region, heads, strict=True):
                source, (pointer, _) = scans[number], ends[number]
                inner = around.bind(Value(pointer), self.scans.between(source.low, source.high, scope))
                inner = inner.bind(Value(head), self.scans.key_interval(source, scope))
                parts.append(Part(number, here[number], inner))
            step(key, parts)
            for part in parts:
                self.emitter.advance(ends[part.number][0], part.is_here)
        conditions = [Binary("less", *ends[number]) for number in region]
        running = reduce(lambda one, other: Binary("and", one, other), conditions)
        self.emitter.emit(While(running, tuple(statements)))

    def _meeting(
        self,
        scope: Scope,
        sources: Sequence[Elements | Positions],
        pointers: Sequence[Local],
        here: Sequence[Expression],
    ) -> Scope:
        """Return the scope of the branches of a union: each may ask what the others have."""
        outside, met = len(scope.bindings), list[Met]()
        for source, pointer, is_here in zip(sources, pointers, here, strict=True):
            if isinstance(source, Elements):
                positions = self.scans.between(source.low, source.high, scope)
                met.append(Met(source, outside, pointer, positions, is_here))
        return replace(scope, met=(*met, *scope.met))

    def _read_head(self, source: Elements | Positions, pointer: Local, head: Local) -> Assign:
        return Assign(
            head, pointer if isinstance(source, Positions) else self.scans.load(source.array, pointer)
        )


def _is_least(head: Local, key: Local) -> Expression:
    return ALWAYS if head is key else Binary("equal", head, key)


def _is_far_longer(length: Expression, other: Expression) -> Expression:
    return Binary("less", times(other, index(FAR_LONGER)), length)


def _least(heads: list[Local]) -> Expression:
    least: Expression = heads[0]
    for head in heads[1:]:
        least = Binary("minimum", least, head)
    return least
