"""What changes from one iteration of a loop to the next, and by how much; what has to keep its order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import NamedTuple

from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Cast,
    Constant,
    Declare,
    Expression,
    Fail,
    For,
    Load,
    Local,
    Sort,
    Statement,
    Store,
    Update,
)
from storel.loops.walk import all_parts, evaluated, note, parts, substituted, walk


def changing(loop: For) -> frozenset[Local]:
    """Return the locals that may differ between iterations, those declared in the loop among them."""
    return frozenset((loop.local, *declared(loop.body), *assigned(loop.body)))


def is_fixed(expression: Expression, moving: Set[Local], constant: Set[Buffer]) -> bool:
    """Return whether an expression keeps its value where all change but the buffers ``constant``."""
    inside = list(parts(expression))
    return not any(part in moving for part in inside) and all(
        part.buffer in constant for part in inside if isinstance(part, Load)
    )


def step(expression: Expression, steps: Mapping[Local, int | None]) -> int | None:
    """Return by how much an index grows from one iteration to the next; None where that is not known.

    ``steps`` says it of the locals that change.
    """
    match expression:
        case Local():
            return steps.get(expression, 0)
        case Binary("add" | "subtract" as operator, left, right):
            one, other = step(left, steps), step(right, steps)
            if one is None or other is None:
                return None
            return one + other if operator == "add" else one - other
        case Cast(_, operand):
            return step(operand, steps)
        case _:
            still = all(steps.get(part, 0) == 0 for part in parts(expression) if isinstance(part, Local))
            return 0 if still else None


def looked_up(index: Expression) -> Load | None:
    """Return the element that an index is, None if it is anything else."""
    while isinstance(index, Cast):
        index = index.operand
    return index if isinstance(index, Load) else None


def start_of(index: Expression, local: Local) -> Expression | None:
    """Return what ``index`` adds to ``local``; None where it is no such sum."""
    match index:
        case Local() if index == local:
            return Constant(0, local.type)
        case Binary("add", left, right) if local not in parts(left):
            start = start_of(right, local)
            return start if start is None else _sum(left, start)
        case Binary("add", left, right) if local not in parts(right):
            start = start_of(left, local)
            return start if start is None else _sum(start, right)
        case _:
            return None


def _sum(left: Expression, right: Expression) -> Expression:
    """Return ``left + right``, where one of them may be the 0 that ``start_of`` begins with."""
    if isinstance(left, Constant) and left.value == 0:
        return right
    return left if isinstance(right, Constant) and right.value == 0 else Binary("add", left, right)


def declared(body: tuple[Statement, ...]) -> Iterator[Local]:
    """Yield the locals that a body declares, its loops' variables among them."""
    for statement in walk(body):
        if isinstance(statement, Declare | For):
            yield statement.local


def assigned(body: tuple[Statement, ...]) -> Iterator[Local]:
    """Yield the locals that a body assigns."""
    return (statement.local for statement in walk(body) if isinstance(statement, Assign))


class Effects(NamedTuple):
    """The locals and buffers that statements read, and those that they write, with operators of updates."""

    read: frozenset[Local | Buffer]
    ways: frozenset[tuple[Local | Buffer, str | None]]

    @classmethod
    def of(cls, *statements: Statement) -> Effects:
        """Return the effects of some statements."""
        read: set[Local | Buffer] = set()
        ways: set[tuple[Local | Buffer, str | None]] = set()
        for statement in walk(statements):
            for part in all_parts(evaluated(statement)):
                if isinstance(part, Local | Load):
                    read.add(part.buffer if isinstance(part, Load) else part)
            match statement:
                case Declare(target) | Assign(target) | Store(target) | Sort(target):
                    ways.add((target, None))
                case Update(target, _, operator):
                    ways.add((target, operator))
                case _:
                    pass
        return cls(frozenset(read), frozenset(ways))

    @property
    def written(self) -> frozenset[Local | Buffer]:
        """The locals and buffers that are written."""
        return frozenset(target for target, _ in self.ways)

    def __or__(self, other: Effects) -> Effects:
        return Effects(self.read | other.read, self.ways | other.ways)

    def commute(self, other: Effects, free: Set[str]) -> bool:
        """Return whether it is all one which comes first.

        Neither writes what the other reads or writes, but for what both change by one operator of those for
        which the order is ``free``.
        """
        both = self.written & other.written
        ways = [way for way in self.ways | other.ways if way[0] in both]
        return (
            self.written.isdisjoint(other.read)
            and other.written.isdisjoint(self.read)
            and len(ways) == len(both)
            and all(operator in free for _, operator in ways)
        )


def keep_values(expressions: tuple[Expression, ...], body: tuple[Statement, ...]) -> bool:
    """Return whether expressions mean the same all through a body."""
    read = {part.buffer for part in all_parts(expressions) if isinstance(part, Load)}
    constant, moving = read - Effects.of(*body).written, frozenset(assigned(body))
    return all(is_fixed(each, moving, constant) for each in expressions)


def parted(
    first: For, between: Iterable[Statement], second: For, free: Set[str] = frozenset()
) -> tuple[list[Statement], list[Statement]] | None:
    """Return which of the statements between two loops come before both, and which after, if these are one.

    None where the second loop needs what comes after it, or would have to come first itself, with operators
    for which the order is ``free``. Nothing is moved across a place where a kernel may fail.
    """
    sooner: list[Statement] = []
    later: list[Statement] = []
    passed = Effects.of(first)
    for statement in between:
        effects = Effects.of(statement)
        if isinstance(statement, Declare) and effects.commute(passed, frozenset()):
            sooner.append(statement)
        else:
            later.append(statement)
            passed |= effects
    fails = any(isinstance(each, Fail) for each in walk((first, *later, second)))
    return None if fails or not Effects.of(second).commute(passed, free) else (sooner, later)


def combinations(loop: For) -> list[tuple[Local, str, Expression]]:
    """Return locals, operators and values if all that a loop does is combine these in any order."""
    known: dict[Local, Expression] = {}
    found: list[tuple[Local, str, Expression]] = []
    reordered = {local for local, _ in (*loop.reductions, *filter(None, (loop.partial,)))}
    for statement in loop.body:
        match statement:
            case Declare() if note(statement, known):
                pass
            case Assign(total, Binary(operator, before, value)) if total == before and total in reordered:
                reordered.remove(total)
                found.append((total, operator, substituted(value, known)))
            case _:
                return []
    return found


def combined(loop: For) -> tuple[Local, str, Expression] | None:
    """Return a local, an operator and a value if all that a loop does is combine them in any order."""
    found = combinations(loop)
    return found[0] if len(found) == 1 else None


def added(loop: For) -> tuple[Local, Expression] | None:
    """Return a local that a loop adds to in any order, and what it adds each time, if that is all it does."""
    match combined(loop):
        case (total, "add", value):
            return total, value
        case _:
            return None
