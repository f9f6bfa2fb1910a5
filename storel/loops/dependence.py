"""What changes from one iteration of a loop to the next, and by how much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Cast,
    Constant,
    Declare,
    Expression,
    For,
    Load,
    Local,
    Statement,
)
from storel.loops.walk import note, parts, substituted, walk


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
