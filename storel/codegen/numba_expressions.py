"""Loop IR expressions as Python text for Numba."""

from __future__ import annotations

import math

from storel.codegen.identifiers import Identifiers
from storel.codegen.numba_helpers import HELPED, name
from storel.codegen.powers_of_two import as_shift, is_shift_in_range
from storel.loops.arithmetic import cast
from storel.loops.nodes import Binary, Buffer, Cast, Constant, Expression, Load, Local, Select, Unary
from storel.loops.types import PREDICATES, type_of
from storel.scalars import ScalarType

INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "equal": "==", "not_equal": "!=",
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "and": "and", "or": "or",
    "bit_and": "&", "bit_or": "|", "bit_xor": "^",
}  # fmt: skip

SHIFTS = {"shift_left": "<<", "shift_right": ">>"}

WRAPPING = frozenset({"add", "subtract", "multiply"})
"""What may leave 64 bits. Numba lets LLVM take for granted that numbers with a sign do not."""


class Expressions:
    """Prints the expressions of one procedure; ``helpers`` collects the helper functions they call."""

    def __init__(self, names: Identifiers, helpers: set[tuple[str, ScalarType]]) -> None:
        self._names = names
        self._helpers = helpers

    def text(self, expression: Expression) -> str:
        """Return ``expression`` in Python."""
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
                return self._unary(operator, type_of(operand), self.text(operand))
            case Cast(ScalarType.BOOL, operand):
                return f"({self.text(operand)} != 0)"
            case Cast(to, operand):
                return f"np.{to.value}({self.text(operand)})"
            case Select(condition, positive, negative, True) if (of := type_of(positive)).is_real:
                # of the arguments of a function both are evaluated, so that LLVM need not branch
                return self.call("select", of, *map(self.text, (condition, positive, negative)))
            case Select(condition, positive, negative):
                return f"({self.text(positive)} if {self.text(condition)} else {self.text(negative)})"

    def place(self, buffer: Buffer, index: Expression) -> str:
        """Return the element of ``buffer`` at ``index``, to be read or assigned."""
        return f"{self._names[buffer.name]}[{self._unsigned(index)}]"

    def call(self, operator: str, of: ScalarType, *arguments: str) -> str:
        """Return a call of the helper for ``operator``."""
        self._helpers.add((operator, of))
        return f"{name(operator, of)}({', '.join(arguments)})"

    def applied(self, operator: str, of: ScalarType, left: str, right: str) -> str:
        """Return ``left operator right`` for operands of type ``of``."""
        if of is ScalarType.INT64 and operator in WRAPPING:
            return f"np.int64(uint64({left}) {INFIX[operator]} uint64({right}))"
        if operator in INFIX:
            return _narrowed(operator, of, f"({left} {INFIX[operator]} {right})")
        return _narrowed(operator, of, self.call(operator, of, left, right))

    def _binary(self, operation: Binary) -> str:
        operator, of = operation.operator, type_of(operation.left)
        if of is ScalarType.INT64 and operator in WRAPPING:
            return f"np.int64{self._unsigned(operation)}"
        left, right = self.text(operation.left), self.text(operation.right)
        if operator in SHIFTS and is_shift_in_range(operation):
            return _narrowed(operator, of, f"({left} {SHIFTS[operator]} {right})")
        return self.applied(operator, of, left, right)

    def _unsigned(self, expression: Expression) -> str:
        """Return a sum or product of 64 bits, or an operand of one, modulo 2^64."""
        match expression:
            case Binary(operator, left, right) if operator in WRAPPING and type_of(left) is ScalarType.INT64:
                return f"({self._unsigned(left)} {INFIX[operator]} {self._unsigned(right)})"
            case _:
                return f"uint64({self.text(expression)})"

    def _unary(self, operator: str, of: ScalarType, operand: str) -> str:
        match operator:
            case "negate":
                return _narrowed(operator, of, f"(-{operand})")
            case "not":
                return f"(not {operand})"
            case "is_nan":
                return f"np.isnan({operand})"
            case "abs":
                return _narrowed(operator, of, f"abs({operand})")
            case _ if operator in HELPED:
                return _narrowed(operator, of, self.call(operator, of, operand))
            case _:
                return _narrowed(operator, of, f"np.{operator}({operand})")


def _narrowed(operator: str, of: ScalarType, text: str) -> str:
    """Return ``text``, cast to ``of`` where Numba may have widened it."""
    if operator in PREDICATES or of not in (ScalarType.INT32, ScalarType.FLOAT32):
        return text
    return f"np.{of.value}{text if text.startswith('(') else f'({text})'}"


def constant(value: bool | int | float, of: ScalarType) -> str:
    """Return a Python literal of exactly this value and type.

    >>> constant(-2, ScalarType.INT64), constant(3, ScalarType.INT32), constant(math.inf, ScalarType.FLOAT64)
    ('-2', 'np.int32(3)', 'np.inf')
    """
    text = repr(value)
    if of.is_real and not math.isfinite(value):
        text = text.replace("inf", "np.inf").replace("nan", "np.nan")
    return f"np.{of.value}({text})" if of in (ScalarType.INT32, ScalarType.FLOAT32) else text
