"""When the loop IR is legal.

1. Every name is declared once in a procedure, before its use, in an enclosing block.
2. Operands have the types that ``types`` lists; a value has the type of what it is written to.
3. Indices, bounds of loops and of sorting are integers, conditions are bool, a failure's detail is int64.
4. Inputs, parameters and the variables of ``for`` are never written.
5. Roles are those that the node can have; failures have a message.
6. Lanes and tiles are what ``For`` says.
7. A kernel's procedures take the parameters that ``Kernel`` says.
"""

from __future__ import annotations

from storel.loops.dependence import added, changing, is_fixed, step
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
from storel.loops.passes.tiles import holds, is_apart
from storel.loops.types import (
    BINARY_OPERATORS,
    BOOLEAN,
    INTEGERS,
    OPERAND_TYPES,
    PREDICATES,
    SHIFTS,
    UNARY_OPERATORS,
    type_of,
)
from storel.loops.walk import loads_of
from storel.scalars import ScalarType

_LOOP_ROLES = frozenset({Role.LOOP, Role.SEARCH, Role.WORKSPACE, Role.INDEX})
_OPERATION_ROLES = frozenset({Role.VALUE, Role.INDEX})


class IllegalLoops(Exception):
    """A law of the loop IR is broken: a defect of storel."""


def verify(kernel: Kernel) -> None:
    """Raise IllegalLoops unless ``kernel`` is legal."""
    inputs = kernel.inputs
    allocated = tuple(allocation.buffer for allocation in kernel.allocations)
    _require(kernel.bound.scalars == kernel.compute.scalars, "the procedures take different scalars")
    _require(kernel.compute.buffers[:-1] == inputs + allocated, "compute takes other buffers than it should")
    for last in (kernel.bound.buffers[-1], kernel.compute.buffers[-1]):
        _require(last.type is ScalarType.INT64, f"{last.name} is not an int64 buffer")
    slots = sorted(allocation.slot for allocation in kernel.allocations)
    _require(slots == list(range(len(slots))), "the allocations' slots are not 0, 1, …")
    readonly = frozenset(buffer.name for buffer in inputs)
    for procedure in kernel.procedures:
        verify_procedure(procedure, readonly, len(kernel.failures))


def verify_procedure(procedure: Procedure, readonly: frozenset[str], failures: int) -> None:
    """Raise IllegalLoops unless ``procedure`` is legal, does not write to the buffers ``readonly``,
    and fails with codes below ``failures`` only.
    """
    scope = _Scope(procedure, readonly, failures)
    scope.block(procedure.body)


def _require(holds: bool, complaint: str) -> None:
    if not holds:
        raise IllegalLoops(complaint)


class _Scope:
    """What is known while a procedure is walked: visible locals, buffers, and all names so far."""

    def __init__(self, procedure: Procedure, readonly: frozenset[str], failures: int) -> None:
        self._where = procedure.name
        self._buffers = {buffer.name: buffer for buffer in procedure.buffers}
        self._readonly = readonly
        self._inputs = frozenset(buffer for buffer in procedure.buffers if buffer.name in readonly)
        self._failures = failures
        self._visible = {local.name: local for local in procedure.scalars}
        self._fixed = set(self._visible)
        self._names: set[str] = set()
        for parameter in (*procedure.scalars, *procedure.buffers):
            self._introduce(parameter.name)

    def block(self, statements: tuple[Statement, ...]) -> None:
        """Check statements; what they declare is invisible afterwards."""
        outside = dict(self._visible)
        for statement in statements:
            self._statement(statement)
        self._visible = outside

    def _require(self, holds: bool, complaint: str) -> None:
        _require(holds, f"{self._where}: {complaint}")

    def _introduce(self, name: str) -> None:
        self._require(name not in self._names, f"{name} is declared twice")
        self._names.add(name)

    def _statement(self, statement: Statement) -> None:
        match statement:
            case Declare(local, value):
                self._typed(value, local.type, local.name)
                self._declare(local)
            case Assign(local, value):
                self._assigned(local)
                self._typed(value, local.type, local.name)
            case Store(buffer, index, value):
                self._written(buffer, index)
                self._typed(value, buffer.type, buffer.name)
            case Update(buffer, index, operator, value):
                self._written(buffer, index)
                self._expression(Binary(operator, Load(buffer, index), value, buffer.holds))
                self._require(operator not in PREDICATES or buffer.type in BOOLEAN, f"{operator} gives bool")
            case For():
                self._for(statement)
            case While(condition, body, role):
                self._require(role in _LOOP_ROLES, f"no loop counts as {role.name}")
                self._typed(condition, ScalarType.BOOL, "a condition")
                self.block(body)
            case If(condition, body, otherwise):
                self._typed(condition, ScalarType.BOOL, "a condition")
                self.block(body)
                self.block(otherwise)
            case Sort(buffer, low, high):
                self._require(buffer.type in INTEGERS, f"{buffer.name} does not hold integers to sort")
                self._written(buffer, low)
                self._integer(high, "the end of what is sorted")
            case Fail(code, detail):
                self._require(0 <= code < self._failures, f"failure {code} has no message")
                self._typed(detail, ScalarType.INT64, "a failure's detail")

    def _for(self, loop: For) -> None:
        self._require(loop.role in _LOOP_ROLES, f"no loop counts as {loop.role.name}")
        self._require(loop.local.type in INTEGERS, f"{loop.local.name} is no integer")
        self._typed(loop.low, loop.local.type, f"the start of {loop.local.name}")
        self._typed(loop.high, loop.local.type, f"the end of {loop.local.name}")
        for reduced, operator in (*loop.reductions, *filter(None, (loop.partial,))):
            self._assigned(reduced)
            self._require(operator in BINARY_OPERATORS, f"{operator} is no operator")
        self._require(not loop.in_lanes or is_apart(loop), f"{loop.local.name} is not in lanes")
        for tile in loop.tiles:
            self._written(tile.buffer, tile.start)
            fixed = is_fixed(tile.start, changing(loop), self._inputs)
            self._require(fixed and holds(loop, tile), f"{tile.buffer.name} is no tile")
        outside = dict(self._visible)
        self._declare(loop.local)
        self._fixed.add(loop.local.name)
        for row in loop.ahead.rows if loop.ahead else ():
            self._exists(row.buffer)
            self._integer(row.start, f"a row of {row.buffer.name}")
            is_given = all(load.buffer in self._inputs for load in loads_of(row.start))
            self._require(is_given, f"where a row of {row.buffer.name} is changes")
        if loop.until is not None:
            self._typed(loop.until, loop.local.type, f"the end of what follows {loop.local.name}")
        if loop.tail is not None:
            self._typed(loop.tail, loop.local.type, f"the end of the tail of {loop.local.name}")
            self._require(added(loop) is not None, f"{loop.local.name} adds nothing in any order")
        if loop.ahead is not None:
            self._typed(loop.ahead.end, loop.local.type, f"the last end of {loop.local.name}")
        for load in loop.streams:
            self._require(load.buffer in self._inputs, f"{load.buffer.name} is no input")
            self._require(step(load.index, {loop.local: 1}) == 1, f"{load.buffer.name} is no stream")
            self._integer(load.index, f"a stream of {load.buffer.name}")
        self.block(loop.body)
        self._visible = outside

    def _declare(self, local: Local) -> None:
        self._introduce(local.name)
        self._visible[local.name] = local

    def _assigned(self, local: Local) -> None:
        self._require(self._visible.get(local.name) == local, f"{local.name} is not declared here")
        self._require(local.name not in self._fixed, f"{local.name} must not be assigned")

    def _exists(self, buffer: Buffer) -> None:
        self._require(self._buffers.get(buffer.name) == buffer, f"there is no buffer {buffer}")

    def _written(self, buffer: Buffer, index: Expression) -> None:
        self._exists(buffer)
        self._require(buffer.name not in self._readonly, f"the input {buffer.name} is written")
        self._integer(index, f"an index of {buffer.name}")

    def _typed(self, expression: Expression, expected: ScalarType, what: str) -> None:
        found = self._expression(expression)
        self._require(found is expected, f"{what} is {expected.value}, but its value is {found.value}")

    def _integer(self, expression: Expression, what: str) -> None:
        found = self._expression(expression)
        self._require(found in INTEGERS, f"{what} is {found.value}")

    def _expression(self, expression: Expression) -> ScalarType:
        """Return the type of a legal expression."""
        match expression:
            case Constant(value, of):
                fits = isinstance(value, int) or of.is_real
                self._require(fits, f"{value} is no {of.value}")
            case Local(name):
                self._require(self._visible.get(name) == expression, f"{name} is not declared here")
            case Load(buffer, index):
                self._require(self._buffers.get(buffer.name) == buffer, f"there is no buffer {buffer}")
                self._integer(index, f"an index of {buffer.name}")
            case Binary(operator, left, right, role):
                self._operator(operator, BINARY_OPERATORS, role)
                types = self._expression(left), self._expression(right)
                self._operand(operator, types[0])
                allowed = INTEGERS if operator in SHIFTS else {types[0]}
                self._require(types[1] in allowed, f"{operator} of {types[0].value} and {types[1].value}")
            case Unary(operator, operand, role):
                self._operator(operator, UNARY_OPERATORS, role)
                self._operand(operator, self._expression(operand))
            case Cast(_, operand):
                self._expression(operand)
            case Select(condition, positive, negative):
                self._typed(condition, ScalarType.BOOL, "a condition")
                self._typed(negative, self._expression(positive), "the other choice")
        return type_of(expression)

    def _operator(self, operator: str, operators: frozenset[str], role: Role) -> None:
        self._require(operator in operators, f"there is no operator {operator}")
        self._require(role in _OPERATION_ROLES, f"no operation counts as {role.name}")

    def _operand(self, operator: str, found: ScalarType) -> None:
        self._require(found in OPERAND_TYPES[operator], f"{operator} of {found.value}")
