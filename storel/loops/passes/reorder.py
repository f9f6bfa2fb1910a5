"""Sums in another order, where that lets a machine add faster; not for programs with strict floating point.

    for j in l:h { b[i] += e(j) }    =    p = 0; for j in l:h { p = p + e(j) }; if l < h { b[i] += p }

where i does not change in the loop and all that happens to b there are such updates: scalar promotion
(Carr, Kennedy, "Scalar Replacement in the Presence of Conditional Control Flow", SPE 1994). Factors that all
summands have in common are multiplied once.

    for j in 0:4 { for i in 0:4 { b[c + i] += a[4 * i + j] } }    =    for i in 0:4 { for j in 0:4 { … } }

so that what is read in the inner loop is consecutive, if only in this order it is. And a loop is marked as a
reduction where all that it reads and writes is consecutive: partial sums then fill the lanes of a vector.
Where it is not, a few of them at a time need not wait for each other. What is read in order is added without
a branch, too, where it may be evaluated in any case: lanes add zeros, and no branch is a surprise.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import count

from storel.loops.dependence import changing, declared, is_fixed, step
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Cast,
    Constant,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    Load,
    Local,
    Procedure,
    Role,
    Select,
    Sort,
    Statement,
    Store,
    Unary,
    Update,
    While,
)
from storel.loops.walk import all_parts, evaluated, loads_of, parts, walk
from storel.scalars import ScalarType

REORDERED = frozenset(("add", "multiply", "minimum", "maximum"))
"""The operators that are reordered."""

PLAIN = frozenset(("add", "subtract", "multiply", "negate", "abs"))
"""Operators that take less time than a surprise."""

FEWEST = 8
"""Loops of fewer iterations are no reductions: compilers unroll them, and vectorize the loops around."""


def reorder(kernel: Kernel) -> Kernel:
    """Return a kernel that means the same, but for the rounding of real sums and products."""
    return replace(kernel, compute=_procedure(kernel.compute, frozenset(kernel.inputs)))


def _procedure(procedure: Procedure, constant: frozenset[Buffer]) -> Procedure:
    reordering = _Reordering(constant, {local.name for local in declared(procedure.body)})
    return replace(procedure, body=reordering.block(procedure.body))


class _Reordering:
    """Rewrites blocks from the inside out; ``constant`` buffers are only read, ``taken`` names are in use."""

    def __init__(self, constant: frozenset[Buffer], taken: set[str]) -> None:
        self.constant = constant
        self._fresh = (name for n in count(1) if (name := f"partial_{n}") not in taken)

    def block(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(made for statement in body for made in self._statement(statement))

    def _statement(self, statement: Statement) -> tuple[Statement, ...]:
        match statement:
            case For():
                loop = _exchanged(statement)
                return self._promoted(replace(loop, body=self.block(loop.body)))
            case While(body=body):
                return (replace(statement, body=self.block(body)),)
            case If(_, body, otherwise):
                return (replace(statement, body=self.block(body), otherwise=self.block(otherwise)),)
            case _:
                return (statement,)

    def _promoted(self, loop: For) -> tuple[Statement, ...]:
        """Return the loop with its updates of one place outside of it."""
        moving = changing(loop)
        if not (is_fixed(loop.low, moving, self.constant) and is_fixed(loop.high, moving, self.constant)):
            return (loop,)  # whether there were iterations cannot be told afterwards
        before: list[Statement] = []
        after: list[Statement] = []
        body: list[Statement] = []
        for statement in loop.body:
            match statement:
                case Update(buffer, place, operator, value) if is_fixed(
                    place, moving, self.constant
                ) and is_only_updated(buffer, operator, loop.body):
                    partial = Local(next(self._fresh), buffer.type)
                    factors = _factors(value) if operator == "add" else [value]
                    others = [each for each in factors if not is_fixed(each, moving, self.constant)]
                    others = others or factors  # what is the same each time is still to be added up
                    common = [each for each in factors if each not in others]
                    before.append(Declare(partial, unit(operator, buffer.type)))
                    body.append(Assign(partial, Binary(operator, partial, _product(others), Role.VALUE)))
                    after.append(Update(buffer, place, operator, _product([*common, partial])))
                case _:
                    body.append(statement)
        made = _as_reduction(replace(loop, body=tuple(body)))
        if not after:
            return (made,)
        if (_iterations(loop) or 0) > 0:
            return (*before, made, *after)
        return (*before, made, If(Binary("less", loop.low, loop.high), tuple(after)))


def _factors(value: Expression) -> list[Expression]:
    match value:
        case Binary("multiply", left, right, Role.VALUE):
            return [*_factors(left), *_factors(right)]
        case _:
            return [value]


def _product(factors: list[Expression]) -> Expression:
    return reduce(lambda left, right: Binary("multiply", left, right, Role.VALUE), factors)


def _exchanged(loop: For) -> For:
    """Return two short loops that add to a row in the order in which all that they read is consecutive."""
    match loop:
        case For(
            outer, body=(For(inner, body=(*declarations, Update(buffer, place, "add")) as body) as within,)
        ) if _iterations(loop) is not None and _iterations(within) is not None:
            pass
        case _:
            return loop
    loads = [part for each in body for part in all_parts(evaluated(each)) if isinstance(part, Load)]
    if any(load.buffer == buffer for load in loads):
        return loop
    along_outer: dict[Local, int | None] = {outer: 1}
    along_inner: dict[Local, int | None] = {inner: 1}
    for each in declarations:
        if not isinstance(each, Declare):
            return loop
        for steps in (along_outer, along_inner):
            steps[each.local] = step(each.value, steps)
    is_row = step(place, along_outer) == 0 and step(place, along_inner) == 1
    if not is_row or all(step(load.index, along_inner) in (0, 1) for load in loads):
        return loop
    if any(step(load.index, along_outer) not in (0, 1) for load in loads):
        return loop
    return replace(within, body=(replace(loop, body=body),))


def is_only_updated(buffer: Buffer, operator: str, body: tuple[Statement, ...]) -> bool:
    """Return whether all that happens to a buffer are updates by one operator, which may be reordered."""
    if operator not in REORDERED or buffer.holds is not Role.VALUE or buffer.type is ScalarType.BOOL:
        return False
    for statement in walk(body):
        match statement:
            case Update(other, _, by) if other == buffer and by != operator:
                return False
            case Store(other) | Sort(other) if other == buffer:
                return False
            case _:
                pass
        if any(part.buffer == buffer for part in all_parts(evaluated(statement)) if isinstance(part, Load)):
            return False
    return True


def _as_reduction(loop: For) -> For:
    """Mark a loop that adds to one local, and whether everything that it reads and writes is consecutive.

    What is consecutive is also read where a condition leaves it out: lanes have no branches.
    """
    straight = _marked(replace(loop, body=_without_branches(loop.body)))
    return straight if straight.reductions else _marked(loop)


def _without_branches(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return statements that choose numbers without a branch, where that takes no function."""
    made: list[Statement] = []
    for statement in body:
        match made[-1:], statement:
            case [Declare(local, other)], If(test, (Assign(chosen, value),), (), True) if (
                local == chosen and is_plain(value)
            ):
                made[-1] = Declare(local, Select(test, value, other))
            case _, If(test, inner, ()) if all(map(_combines_locals, inner)):
                made.extend(_combined_where(test, each) for each in inner)
            case _:
                made.append(statement)
    return tuple(made)


def _combines_locals(statement: Statement) -> bool:
    """Return whether a statement combines what has been computed before into a local."""
    match statement:
        case Assign(local, Binary(operator, before, value)):
            return local == before and operator in REORDERED and is_plain(value) and not loads_of(value)
        case _:
            return False


def _combined_where(test: Expression, statement: Statement) -> Statement:
    """Return a statement that combines what leaves the local as it is, where the test does not hold."""
    assert isinstance(statement, Assign) and isinstance(statement.value, Binary)
    local, combined = statement.local, statement.value
    chosen = Select(test, combined.right, unit(combined.operator, local.type))
    return Assign(local, replace(combined, right=chosen))


def unit(operator: str, of: ScalarType) -> Constant:
    """Return what a reordered operator leaves as it is."""
    units = {
        "add": 0,
        "multiply": 1,
        "minimum": of.last,
        "maximum": of.first,
        "lesser": of.last,
        "larger": of.first,
    }
    return Constant(of.dtype.type(units[operator]).item(), of)


def is_plain(value: Expression) -> bool:
    """Return whether a value is sums and products of what is read: no time is saved by not evaluating it."""
    leaves = (Constant, Local, Load, Cast)
    return all(
        part.operator in PLAIN if isinstance(part, Binary | Unary) else isinstance(part, leaves)
        for part in parts(value)
    )


def _marked(loop: For) -> For:
    """Mark a loop as it stands."""
    if (iterations := _iterations(loop)) is not None and iterations < FEWEST:
        return loop
    locals_: dict[Local, int | None] = {loop.local: 1}
    sums: list[tuple[Local, str]] = []
    written: set[Buffer] = set()
    for statement in loop.body:
        match statement:
            case Declare(local, value):
                locals_[local] = step(value, locals_)
            case Assign(local, Binary(operator, accumulated, value)) if (
                local == accumulated and operator in REORDERED and local not in parts(value)
            ):
                sums.append((local, operator))
            case Update(buffer, place) if step(place, locals_) == 1 and buffer not in written:
                written.add(buffer)
            case _:
                return loop
    parts_of_body = [part for statement in loop.body for part in all_parts(evaluated(statement))]
    loads = [part for part in parts_of_body if isinstance(part, Load)]
    is_kept_to_itself = all(parts_of_body.count(local) == 1 for local, _ in sums)
    if not (sums and is_kept_to_itself) or {load.buffer for load in loads} & written:
        return loop
    steps = {step(load.index, locals_) for load in loads}
    if 1 in steps and steps <= {0, 1}:
        return replace(loop, reductions=tuple(sums))
    return loop if written or len(sums) > 1 or steps <= {0} else replace(loop, partial=sums[0])


def _iterations(loop: For) -> int | None:
    match loop.low, loop.high:
        case Constant(low), Constant(high):
            return int(high) - int(low)
        case _:
            return None
