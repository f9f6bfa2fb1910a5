"""Loop IR expressions as C text, in parentheses wherever the reader might wonder."""

from __future__ import annotations

import math
import re

from storel.codegen.c_helpers import C_TYPES, HELPED, name, suffix
from storel.codegen.identifiers import Identifiers
from storel.codegen.powers_of_two import as_shift, is_shift_in_range
from storel.loops.arithmetic import cast
from storel.loops.nodes import Binary, Buffer, Cast, Constant, Expression, Load, Local, Select, Unary
from storel.loops.types import type_of
from storel.scalars import ScalarType

INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "equal": "==", "not_equal": "!=",
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "and": "&&", "or": "||",
    "bit_and": "&", "bit_or": "|", "bit_xor": "^",
}  # fmt: skip

SHIFTS = {"shift_left": "<<", "shift_right": ">>"}


class Expressions:
    """Prints the expressions of one procedure; ``helpers`` collects the helper functions they call.

    ``tiles`` are the names of the arrays that stand for rows of buffers, ``lane`` is the variable of the
    innermost loop, at which all of them are accessed.
    """

    def __init__(self, names: Identifiers, helpers: set[tuple[str, ScalarType]]) -> None:
        self._names = names
        self._helpers = helpers
        self.tiles: dict[Buffer, str] = {}
        self.lane = ""

    def text(self, expression: Expression) -> str:
        """Return ``expression`` in C."""
        match expression:
            case Constant(value, of):
                return constant(cast(of, value), of)
            case Local(local):
                return self._names[local]
            case Load(buffer, index):
                return self.place(buffer, index)
            case Binary():
                return self._binary(as_shift(expression))
            case Unary(operator, operand):
                return self._unary(operator, operand)
            case Cast(to, operand):
                return self._cast(to, operand)
            case Select(condition, positive, negative, True) if (of := type_of(positive)).is_real:
                return self.call("select", of, *map(self.text, (condition, positive, negative)))
            case Select(condition, positive, negative):
                return f"({self.text(condition)} ? {self.text(positive)} : {self.text(negative)})"

    def place(self, buffer: Buffer, index: Expression) -> str:
        """Return the element of ``buffer`` at ``index``."""
        if buffer in self.tiles:
            return f"{self.tiles[buffer]}[{self.lane}]"
        return f"{self._names[buffer.name]}[{bare(self.text(index))}]"

    def call(self, operator: str, of: ScalarType, *arguments: str) -> str:
        """Return a call of the helper for ``operator``."""
        return f"{self.helper(operator, of)}({', '.join(arguments)})"

    def helper(self, operator: str, of: ScalarType) -> str:
        """Return the name of the helper for ``operator``, which is then printed, too."""
        self._helpers.add((operator, of))
        return name(operator, of)

    def applied(self, operator: str, of: ScalarType, left: str, right: str) -> str:
        """Return ``left operator right`` for operands of type ``of``."""
        if operator in INFIX:
            return f"({left} {INFIX[operator]} {right})"
        return self.call(operator, of, left, right)

    def _binary(self, operation: Binary) -> str:
        operator, left, right = operation.operator, self.text(operation.left), self.text(operation.right)
        if operator in SHIFTS and is_shift_in_range(operation):
            return f"({left} {SHIFTS[operator]} {right})"
        return self.applied(operator, type_of(operation.left), left, right)

    def _unary(self, operator: str, operand: Expression) -> str:
        of, text = type_of(operand), self.text(operand)
        match operator:
            case "negate":
                return f"(- {text})" if text.startswith("-") else f"(-{text})"
            case "not":
                return f"(!{text})"
            case "is_nan":
                return f"__builtin_isnan({text})"
            case "popcount" | "trailing_zeros":
                function = "popcount" if operator == "popcount" else "ctz"
                return f"({C_TYPES[of]})__builtin_{function}ll((uint64_t){text})"
            case "abs" if of.is_real:
                return f"__builtin_fabs{suffix(of)}({text})"
            case _ if operator in HELPED:
                return self.call(operator, of, text)
            case _:
                return f"__builtin_{operator}{suffix(of)}({text})"

    def _cast(self, to: ScalarType, operand: Expression) -> str:
        return f"({C_TYPES[to]}){self.text(operand)}"


def constant(value: bool | int | float, of: ScalarType) -> str:
    """Return a C literal of exactly this value and type.

    >>> constant(-2, ScalarType.INT64), constant(0.5, ScalarType.FLOAT32)
    ('-2LL', '0.5f')
    """
    if of is ScalarType.BOOL:
        return "1" if value else "0"
    if of is ScalarType.INT64:
        return "INT64_MIN" if value == -(1 << 63) else f"{value}LL"
    if of is ScalarType.INT32:
        return "INT32_MIN" if value == -(1 << 31) else str(value)
    if math.isnan(value):
        return f'__builtin_nan{suffix(of)}("")'
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}__builtin_inf{suffix(of)}()"
    return f"{float(value)!r}{suffix(of)}"


def bare(text: str) -> str:
    """Return ``text`` without what it only needs inside a larger expression: parentheses, a suffix.

    >>> bare("(a + (b * c))"), bare("(a + b)[(c)]"), bare("0LL")
    ('a + (b * c)', '(a + b)[(c)]', '0')
    """
    if re.fullmatch(r"-?\d{1,9}LL", text):
        return text[:-2]
    if not text.startswith("("):
        return text
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if position == len(text) - 1 else text
    return text
