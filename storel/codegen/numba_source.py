"""Loop IR to the text of a Python module that Numba compiles.

The module defines ``storel_NAME`` for each procedure, C callbacks with the same protocol as the
functions of ``c_source``. Indices are cast to unsigned 64-bit integers, because Numba compiles a test
for negative ones otherwise. Operations on 32-bit numbers are cast back to 32 bits, because Numba widens
them. Only a procedure with a loop that says ``reductions`` has its sums reordered.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from storel.codegen import numba_helpers
from storel.codegen.identifiers import Identifiers
from storel.codegen.numba_expressions import INFIX, Expressions
from storel.codegen.numba_helpers import HELPED
from storel.loops.nodes import (
    Assign,
    Buffer,
    Declare,
    Expression,
    Fail,
    For,
    If,
    Kernel,
    Procedure,
    Sort,
    Statement,
    Store,
    Update,
    While,
)
from storel.loops.types import LOGICAL
from storel.loops.walk import walk
from storel.scalars import ScalarType

_NAMES = (
    "Constant IntType abs bool bound carray cfunc compute detail divide float int intrinsic math max min",
    "inner njit np partial place pointee range slots storel_bound storel_compute storel_divide types uint64",
    "scaled reduced exp_less_one",
)
_HELPERS = [name for helped in sorted(HELPED) for name in (helped, f"{helped}_real")]
_RESERVED = (*keyword.kwlist, *" ".join(_NAMES).split(), *_HELPERS)


def render(kernel: Kernel, *, is_numbered: bool = False, is_strict: bool = False) -> str:
    """Return the text of a Python module that defines ``kernel``.

    If it ``is_numbered``, parameters are called by their places, so that kernels that differ in names have
    one text. If it ``is_strict``, all functions give the bits that the C library's do.
    """
    helpers: set[tuple[str, ScalarType]] = set()
    procedures = [_procedure(procedure, helpers, is_numbered) for procedure in kernel.procedures]
    functions = numba_helpers.texts(helpers, is_strict=is_strict)
    return "\n\n\n".join([numba_helpers.PRELUDE.rstrip(), *functions, *procedures]) + "\n"


def _procedure(procedure: Procedure, helpers: set[tuple[str, ScalarType]], is_numbered: bool) -> str:
    """Return the procedure as a callback, which takes those of its arguments that it uses from their slots.

    Both in one take a third less time to compile than a function beside it that is given all arguments.
    """
    names = Identifiers(_RESERVED)
    if is_numbered:
        names.number(each.name for each in (*procedure.scalars, *procedure.buffers))
    arguments = {
        names[local.name]: f"carray(place(slots, {n}), 1, np.{local.type.dtype.type.__name__})[0]"
        for n, local in enumerate(procedure.scalars)
    } | {
        names[buffer.name]: f"carray(pointee(slots, {n}), 1, np.{buffer.type.dtype.type.__name__})"
        for n, buffer in enumerate(procedure.buffers, len(procedure.scalars))
    }
    arguments["detail"] = "carray(detail, 1, np.int64)"
    body = _Body(names, helpers)
    body.block(procedure.body)
    used = set(re.findall(r"\w+", " ".join(body.lines)))
    reorders = any(isinstance(inner, For) and inner.reductions for inner in walk(procedure.body))
    fastmath = ', fastmath={"reassoc", "contract", "nsz"}' if reorders else ""
    return "\n".join(
        [
            f'@cfunc("int64(voidptr, voidptr)", cache=True, error_model="numpy"{fastmath})',
            f"def storel_{procedure.name}(slots, detail):",
            *(f"    {name} = {argument}" for name, argument in arguments.items() if name in used),
            *body.lines,
            "    return 0",
        ]
    )


class _Body:
    """Collects the lines of a procedure's body."""

    def __init__(self, names: Identifiers, helpers: set[tuple[str, ScalarType]]) -> None:
        self.lines: list[str] = []
        self._names = names
        self._expressions = Expressions(names, helpers)
        self._depth = 0

    def block(self, statements: Iterable[Statement]) -> None:
        """Add the statements, one step further to the right."""
        self._depth += 1
        start = len(self.lines)
        for statement in statements:
            self._statement(statement)
        if len(self.lines) == start:
            self._line("pass")
        self._depth -= 1

    def _line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    def _statement(self, statement: Statement) -> None:
        text = self._expressions.text
        match statement:
            case Declare(local, value) | Assign(local, value):
                self._line(f"{self._names[local.name]} = {text(value)}")
            case Store(buffer, index, value):
                self._line(f"{self._expressions.place(buffer, index)} = {text(value)}")
            case Update(buffer, index, operator, value):
                self._update(buffer, index, operator, text(value))
            case For(local, low, high, body):
                self._line(f"for {self._names[local.name]} in range({text(low)}, {text(high)}):")
                self.block(body)
            case While(condition, body):
                self._line(f"while {text(condition)}:")
                self.block(body)
            case If(condition, body, otherwise):
                self._line(f"if {text(condition)}:")
                self.block(body)
                if otherwise:
                    self._line("else:")
                    self.block(otherwise)
            case Sort(buffer, low, high):
                call = self._expressions.call
                self._line(call("sort", buffer.type, self._names[buffer.name], text(low), text(high)))
            case Fail(code, detail):
                self._line(f"detail[uint64(0)] = {text(detail)}")
                self._line(f"return {code + 1}")

    def _update(self, buffer: Buffer, index: Expression, operator: str, value: str) -> None:
        place = self._expressions.place(buffer, index)
        if operator in INFIX and operator not in LOGICAL:
            self._line(f"{place} {INFIX[operator]}= {value}")
        else:
            self._line(f"{place} = {self._expressions.applied(operator, buffer.type, place, value)}")
