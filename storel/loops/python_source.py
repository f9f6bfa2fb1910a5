"""A procedure as the text of a Python function that also counts.

What a basic block counts is known beforehand, so the text only counts how often each block runs:
the right-hand side of ``and`` and ``or`` is counted whether it is evaluated or not. Names become
``x0, x1, …`` (scalars) and ``b0, b1, …`` (buffers); ``n0, n1, …`` are the blocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from storel.loops import arithmetic
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
from storel.loops.types import COMPARISONS, PREDICATES, type_of
from storel.scalars import ScalarType

_ADDITIONS = frozenset({"add", "subtract", "negate", "minimum", "maximum", "lesser", "larger", "or"})
_INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "and": "and", "or": "or", "bit_and": "&", "bit_or": "|",
    "bit_xor": "^", "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">",
    "greater_equal": ">=",
}  # fmt: skip
_ITERATION = {Role.LOOP: "iterations", Role.WORKSPACE: "workspace"}


class Failure(Exception):
    """The procedure executed ``Fail``."""

    def __init__(self, code: int, detail: int) -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail


def function(procedure: Procedure) -> tuple[Callable[..., tuple[tuple[int, ...], int]], list[Counter[str]]]:
    """Return the procedure as a function, and what one run of each block counts.

    The function takes the scalars and memoryviews of the buffers; it returns how often each block ran,
    and how many steps sorting took.
    """
    writer = _Writer()
    text = writer.procedure(procedure)
    namespace = dict(_NAMESPACE)
    exec(compile(text, f"<{procedure.name}>", "exec"), namespace)
    return namespace["procedure"], writer.blocks


class _Writer:
    """Writes the lines of a procedure, and notes what its blocks count."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.blocks: list[Counter[str]] = []
        self.names: dict[str, str] = {}
        self.depth = 1

    def procedure(self, procedure: Procedure) -> str:
        parameters = [self.name(local) for local in procedure.scalars]
        parameters += [self.name(buffer) for buffer in procedure.buffers]
        self.line("steps = 0")
        self.block(procedure.body, Counter())
        numbers = [f"n{number}" for number in range(len(self.blocks))]
        self.line(f"return ({', '.join(numbers)},), steps")
        clear = [f"    {number} = 0" for number in numbers]
        return "\n".join([f"def procedure({', '.join(parameters)}):", *clear, *self.lines])

    def name(self, of: Local | Buffer) -> str:
        prefix = "x" if isinstance(of, Local) else "b"
        return self.names.setdefault(f"{prefix} {of.name}", f"{prefix}{len(self.names)}")

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def begin(self, counts: Counter[str]) -> Counter[str]:
        """Open a basic block that counts ``counts``, and whatever is added to them."""
        self.line(f"n{len(self.blocks)} += 1")
        self.blocks.append(counts)
        return counts

    def block(self, body: tuple[Statement, ...], counts: Counter[str]) -> None:
        self.begin(counts)
        for statement in body:
            self.statement(statement, counts)

    def nested(self, body: tuple[Statement, ...], counts: Counter[str]) -> None:
        self.depth += 1
        self.block(body, counts)
        self.depth -= 1

    def statement(self, statement: Statement, counts: Counter[str]) -> None:
        match statement:
            case Declare(local, value) | Assign(local, value):
                self.line(f"{self.name(local)} = {self.expression(value, counts)}")
            case Store(buffer, index, value):
                counts["writes"] += buffer.holds is Role.VALUE
                place = self.place(buffer, index, counts)
                self.line(f"{place} = {self.expression(value, counts)}")
            case Update():
                self.update(statement, counts)
            case For(local, low, high, body, role):
                counts["lookups"] += role is Role.SEARCH
                bounds = f"{self.expression(low, counts)}, {self.expression(high, counts)}"
                self.line(f"for {self.name(local)} in range({bounds}):")
                self.nested(body, _iteration(role))
            case While():
                self.loop(statement, counts)
            case If(condition, body, otherwise):
                self.line(f"if {self.expression(condition, counts)}:")
                self.nested(body, Counter())
                if otherwise:
                    self.line("else:")
                    self.nested(otherwise, Counter())
            case Sort(buffer, low, high):
                bounds = f"{self.expression(low, counts)}, {self.expression(high, counts)}"
                self.line(f"steps += sort({self.name(buffer)}, {bounds})")
            case Fail(code, detail):
                self.line(f"raise Failure({code}, {self.expression(detail, counts)})")

    def update(self, update: Update, counts: Counter[str]) -> None:
        buffer = update.buffer
        counts["writes"] += buffer.holds is Role.VALUE
        _count_operator(update.operator, buffer.holds, counts)
        self.line(f"position = at({self.expression(update.index, counts)})")
        place = f"{self.name(buffer)}[position]"
        value = self.expression(update.value, counts)
        self.line(f"{place} = {_applied(update.operator, buffer.type, place, value)}")

    def loop(self, loop: While, counts: Counter[str]) -> None:
        """Write a ``while``: its condition is a block of its own, which runs once more than the body."""
        counts["lookups"] += loop.role is Role.SEARCH
        self.line("while True:")
        self.depth += 1
        condition = self.expression(loop.condition, self.begin(Counter()))
        self.line(f"if not {condition}: break")
        self.block(loop.body, _iteration(loop.role))
        self.depth -= 1

    def place(self, buffer: Buffer, index: Expression, counts: Counter[str]) -> str:
        """Return the text of an element; a position without a name is checked by a function."""
        position = self.expression(index, counts)
        checked = f"{position} if {position} >= 0 else at({position})"
        return f"{self.name(buffer)}[{checked if position.isidentifier() else f'at({position})'}]"

    def expression(self, expression: Expression, counts: Counter[str]) -> str:
        match expression:
            case Constant(number, of):
                value = arithmetic.cast(of, number)
                return f"number('{value}')" if isinstance(value, float) else str(value)
            case Local():
                return self.name(expression)
            case Load(buffer, index):
                counts["reads"] += buffer.holds is Role.VALUE
                return self.place(buffer, index, counts)
            case Binary(operator, left, right, role):
                _count_operator(operator, role, counts)
                operands = self.expression(left, counts), self.expression(right, counts)
                return _applied(operator, type_of(left), *operands)
            case Unary(operator, operand, role):
                _count_operator(operator, role, counts)
                return f"unary({operator!r}, {type_of(operand)}, {self.expression(operand, counts)})"
            case Cast(to, operand):
                return _converted(to, type_of(operand), self.expression(operand, counts))
            case Select(condition, positive, negative):
                branches = self.expression(positive, counts), self.expression(negative, counts)
                return f"({branches[0]} if {self.expression(condition, counts)} else {branches[1]})"


def _iteration(role: Role) -> Counter[str]:
    return Counter({_ITERATION[role]: 1}) if role in _ITERATION else Counter()


def _count_operator(operator: str, role: Role, counts: Counter[str]) -> None:
    if role is not Role.VALUE or operator in COMPARISONS:
        counts["index_operations"] += 1
    else:
        counts["additions" if operator in _ADDITIONS else "multiplications"] += 1


def _applied(operator: str, of: ScalarType, left: str, right: str) -> str:
    """Return the text of ``left operator right``: Python's own operator where there is one."""
    if operator not in _INFIX:
        return f"binary({operator!r}, {of}, {left}, {right})"
    text = f"({left} {_INFIX[operator]} {right})"
    exact = operator in PREDICATES or of is ScalarType.FLOAT64
    return text if exact else f"{arithmetic.FIT[of].__name__}{text}"


def _converted(to: ScalarType, of: ScalarType, text: str) -> str:
    """Return the text of a number of type ``of`` as one of type ``to``."""
    if to is of or (of, to) in _SAME_NUMBERS:
        return text
    if (of, to) in _FITTED:
        return f"{arithmetic.FIT[to].__name__}({text})"
    return f"cast({to}, {text})"


def _at(position: int) -> int:
    """Return ``position``, which must not be negative (Python would count from the end)."""
    if position < 0:
        raise IndexError(f"position {position} is negative")
    return position


def sorting_steps(count: int) -> int:
    """Return n ceil(log2 n), the steps counted for sorting n numbers.

    >>> sorting_steps(4), sorting_steps(0)
    (8, 0)
    """
    return count * (count - 1).bit_length() if count > 0 else 0


def _sort(view: memoryview[int], low: int, high: int) -> int:
    """Sort ``view[low:high]``; return n ceil(log2 n), the steps counted for it."""
    if not 0 <= low <= high <= len(view):
        raise IndexError(f"no positions {low}:{high} in {len(view)} elements")
    for position, value in enumerate(sorted(view[low:high]), low):
        view[position] = value
    return sorting_steps(high - low)


_SAME_NUMBERS = {(ScalarType.INT32, ScalarType.INT64), (ScalarType.FLOAT32, ScalarType.FLOAT64)}
_FITTED = {
    (ScalarType.INT64, ScalarType.INT32),
    (ScalarType.INT32, ScalarType.FLOAT64),
    (ScalarType.INT64, ScalarType.FLOAT64),
    (ScalarType.FLOAT64, ScalarType.FLOAT32),
}

_NAMESPACE: dict[str, Any] = {
    "at": _at,
    "sort": _sort,
    "Failure": Failure,
    "ScalarType": ScalarType,
    "number": float,
    "binary": arithmetic.binary,
    "unary": arithmetic.unary,
    "cast": arithmetic.cast,
    "fit_int32": arithmetic.fit_int32,
    "fit_int64": arithmetic.fit_int64,
    "fit_float32": arithmetic.fit_float32,
}
