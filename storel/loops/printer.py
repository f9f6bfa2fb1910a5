"""The loop IR as text, for people.

    compute(n: int64; pos: int64[], val: float64[], y: float64[])
      for i in 0 : n
        s: float64 = 0.0
        for p in pos[i] : pos[i + 1]
          s = s + val[p]
        y[i] = s

A loop that counts otherwise than as a loop says so: ``for (workspace) …``.
"""

from __future__ import annotations

from collections.abc import Iterator

from storel.loops.nodes import (
    Allocation,
    Assign,
    Binary,
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
    Row,
    Select,
    Sort,
    Statement,
    Store,
    Unary,
    Update,
    While,
)

_PRECEDENCE = (
    {"or": "or"},
    {"and": "and"},
    {
        "equal": "==",
        "not_equal": "!=",
        "less": "<",
        "less_equal": "<=",
        "greater": ">",
        "greater_equal": ">=",
    },
    {"bit_or": "|"},
    {"bit_xor": "^"},
    {"bit_and": "&"},
    {"shift_left": "<<", "shift_right": ">>"},
    {"add": "+", "subtract": "-"},
    {"multiply": "*", "divide": "/", "floor_divide": "//", "modulo": "%"},
)
_INFIX = {
    operator: (symbol, level)
    for level, symbols in enumerate(_PRECEDENCE)
    for operator, symbol in symbols.items()
}
_TIGHTEST = len(_PRECEDENCE)


def kernel_text(kernel: Kernel) -> str:
    """Return both procedures, and what is allocated between them."""
    allocations = [_allocation(allocation) for allocation in kernel.allocations]
    divide = [] if kernel.divide is None else [procedure_text(kernel.divide)]
    return "\n".join([procedure_text(kernel.bound), *allocations, procedure_text(kernel.compute), *divide])


def procedure_text(procedure: Procedure) -> str:
    """Return a procedure, one statement a line."""
    scalars = ", ".join(f"{local.name}: {local.type.value}" for local in procedure.scalars)
    buffers = ", ".join(f"{buffer.name}: {buffer.type.value}[]" for buffer in procedure.buffers)
    return "\n".join([f"{procedure.name}({scalars}; {buffers})", *_block(procedure.body)])


def text(expression: Expression, level: int = 0) -> str:
    """Return an expression; in parentheses if it binds looser than ``level``.

    >>> from storel.scalars import ScalarType
    >>> i, two = Local("i", ScalarType.INT64), Constant(2, ScalarType.INT64)
    >>> text(Binary("multiply", Binary("add", i, two), two))
    '(i + 2) * 2'
    """
    match expression:
        case Constant(value):
            return str(value).lower() if isinstance(value, bool) else str(value)
        case Local(name):
            return name
        case Load(buffer, index):
            return f"{buffer.name}[{text(index)}]"
        case Binary(operator, left, right):
            if operator not in _INFIX:
                return f"{operator}({text(left)}, {text(right)})"
            symbol, own = _INFIX[operator]
            inside = f"{text(left, own)} {symbol} {text(right, own + 1)}"
            return f"({inside})" if own < level else inside
        case Unary("negate", operand):
            return f"-{text(operand, _TIGHTEST)}"
        case Unary(operator, operand):
            return f"{operator}({text(operand)})"
        case Cast(to, operand):
            return f"{to.value}({text(operand)})"
        case Select(condition, positive, negative):
            inside = f"{text(condition, 1)} ? {text(positive, 1)} : {text(negative, 1)}"
            return f"({inside})" if level > 0 else inside


def _allocation(allocation: Allocation) -> str:
    kind = "output" if allocation.is_output else "workspace"
    filled = "" if allocation.fill is None else f", filled with {allocation.fill}"
    used = "" if allocation.used is None else f", used lengths[{allocation.used}]"
    overflow = "" if allocation.overflow is None else f", overflow {allocation.overflow}"
    return f"{kind} {allocation.buffer.name}: sizes[{allocation.slot}]{filled}{used}{overflow}"


def _block(statements: tuple[Statement, ...]) -> Iterator[str]:
    for statement in statements:
        for line in _lines(statement):
            yield f"  {line}"


def _lines(statement: Statement) -> Iterator[str]:
    match statement:
        case Declare(local, value):
            yield f"{local.name}: {local.type.value} = {text(value)}"
        case Assign(local, value):
            yield f"{local.name} = {text(value)}"
        case Store(buffer, index, value):
            yield f"{buffer.name}[{text(index)}] = {text(value)}"
        case Update(buffer, index, operator, value):
            place = f"{buffer.name}[{text(index)}]"
            symbol = _INFIX[operator][0] if operator in _INFIX else operator
            yield f"{place} {symbol}= {text(value)}"
        case For(local, low, high, body, role):
            yield f"for{_role(role)} {local.name} in {text(low)} : {text(high)}{_hints(statement)}"
            yield from _block(body)
        case While(condition, body, role):
            yield f"while{_role(role)} {text(condition)}"
            yield from _block(body)
        case If(condition, body, otherwise):
            yield f"if {text(condition)}"
            yield from _block(body)
            if otherwise:
                yield "else"
                yield from _block(otherwise)
        case Sort(buffer, low, high):
            yield f"sort {buffer.name}[{text(low)} : {text(high)}]"
        case Fail(code, detail):
            yield f"fail {code}({text(detail)})"


def _role(role: Role) -> str:
    return "" if role is Role.LOOP else f" ({role.value})"


def _hints(loop: For) -> str:
    reduced = "".join(f" reducing {local.name} by {operator}" for local, operator in loop.reductions)
    reduced += "" if loop.partial is None else f" in parts of {loop.partial[0].name} by {loop.partial[1]}"
    lanes = " in lanes" if loop.in_lanes else ""
    ahead = "" if loop.ahead is None else _rows(" ahead ", loop.ahead.rows)
    streams = " streaming " + ", ".join(map(text, loop.streams)) if loop.streams else ""
    tail = "" if loop.tail is None else f" with a tail up to {text(loop.tail)}"
    return reduced + lanes + _rows(" holding ", loop.tiles) + ahead + streams + tail


def _rows(title: str, rows: tuple[Row, ...]) -> str:
    texts = [f"{row.buffer.name}[{text(row.start)} : +{row.length}]" for row in rows]
    return title + ", ".join(texts) if texts else ""
