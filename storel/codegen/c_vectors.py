"""Loops that look bits up, eight integers of 32 bits at a time, as one vector.

Compilers make no such vector unless they are told the processor's name, as on some these reads take longer
than one by one. Words of bits lie near, and it pays wherever there are instructions for it.
"""

from __future__ import annotations

from storel.codegen.c_expressions import INFIX, SHIFTS, Expressions, bare
from storel.codegen.identifiers import Identifiers
from storel.codegen.powers_of_two import is_shift_in_range
from storel.loops.dependence import step
from storel.loops.nodes import Assign, Binary, Constant, Expression, For, Load, Local
from storel.loops.types import type_of
from storel.loops.walk import loads_of
from storel.scalars import ScalarType

EIGHT = 8
"""How many integers of 32 bits a vector holds."""

_INFIX = {"bit_and": INFIX["bit_and"], **SHIFTS}
"""Operators that make 0 of 0: lanes beyond the end hold it, and look up the first element, which exists."""


class Vectors:
    """Prints what eight iterations of a loop evaluate, or as many as are left."""

    def __init__(self, names: Identifiers, expressions: Expressions) -> None:
        self._names = names
        self._expressions = expressions

    def any_bit(self, loop: For, high: str) -> str | None:
        """Return what eight iterations do that note whether a bit is set, if each looks one up and no more.

        ``high`` is the text of the loop's end.
        """
        match loop.body:
            case (Assign(total, Binary("bit_or", before, Binary("bit_and", _, Constant(1)) as bit)),) if (
                total == before and any(loads_of(load.index) for load in loads_of(bit))
            ):
                count = f"{high} - {self._names[loop.local.name]}"
                bits = self._vector(bit, loop.local, count)
                found = None if bits is None else self._call("any", bare(bits), count)
                return None if found is None else f"{self._names[total.name]} |= {found};"
            case _:
                return None

    def _vector(self, expression: Expression, local: Local, count: str) -> str | None:
        """Return the values of an expression for ``count`` iterations, None where they make no vector."""
        if type_of(expression) is not ScalarType.INT32:
            return None
        match expression:
            case Load(buffer, index) if step(index, {local: 1}) == 1:
                return self._call("eight", f"&{self._expressions.place(buffer, index)}", count)
            case Load(buffer, index):
                name, places = self._names[buffer.name], self._vector(index, local, count)
                return None if places is None else self._call("gather", name, bare(places))
            case Binary(operator, left, right) if operator in _INFIX and is_shift_in_range(expression):
                is_number = isinstance(right, Constant)
                one = self._vector(left, local, count)
                other = self._expressions.text(right) if is_number else self._vector(right, local, count)
                return None if one is None or other is None else f"({one} {_INFIX[operator]} {other})"
            case _:
                return None

    def _call(self, operator: str, *arguments: str) -> str:
        return self._expressions.call(operator, ScalarType.INT32, *arguments)
