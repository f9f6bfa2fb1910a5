"""Short sums in lanes: what some iterations evaluate, as one vector that is zero past the loop's end.

Where the processor looks many elements up as quickly as one by one, and reads memory under a mask, there is
nothing to know of what lies past the end. Elsewhere whole blocks come first, and what is left is read up to
the loop's ``tail``, if that fills a block. How much is left is a surprise, so that no loop goes over single
iterations but at the end of all segments. The vectors are the compiler's own type: GCC makes branches of
scalars, and of ``omp simd`` masks in memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from storel.codegen.c_expressions import INFIX, Expressions, bare
from storel.codegen.c_helpers import C_TYPES
from storel.codegen.c_lane_functions import NARROW, WIDE
from storel.codegen.c_requests import Requests
from storel.codegen.identifiers import Identifiers
from storel.loops.dependence import looked_up, step
from storel.loops.nodes import Binary, Cast, Constant, Expression, For, Load, Local
from storel.loops.types import type_of
from storel.loops.walk import loads_of, parts, substituted
from storel.scalars import ScalarType


class Lanes:
    """Prints the sums of a procedure that come in lanes."""

    def __init__(self, names: Identifiers, expressions: Expressions, requests: Requests) -> None:
        self._names = names
        self._expressions = expressions
        self._requests = requests

    def sums(self, loop: For, total: Local, value: Expression, low: str, high: str) -> Iterator[str]:
        """Yield the lines that add what ``loop`` adds to ``total``, ``value`` each time, from ``low`` on.

        What is not added yet is left from the next ``block_of`` the loop on.
        """
        start = block_of(loop)
        block, left, lanes = (self._names[f"{loop.local.name} {each}"] for each in ("block", "left", "lanes"))
        sum_, kind = self._names[total.name], total.type
        yield f"{C_TYPES[start.type]} {block} = {low};"
        yield f"lanes_{kind.value} {lanes} = {{0}};"
        yield f"#if LANES == {WIDE}"
        yield f"for (; {block} < {high}; {block} += {WIDE}) {{"
        yield from _indented(self._requests_of(loop))
        yield f"    const int64_t {left} = {high} - {block};"
        values = self._some(value, loop.local, start, left)
        is_zero_beyond = all(loop.local in parts(each) for each in _leaves(value))
        yield f"    {lanes} += {bare(values) if is_zero_beyond else self._first(kind, values, left)};"
        yield "}"
        yield "#else"
        yield from self._requests_of(loop)
        yield f"for (; {block} + {WIDE} <= {high}; {block} += {WIDE}) {{"
        yield from _indented(self._requests_of(loop))
        later = Binary("add", start, Constant(NARROW, start.type))
        halves = [self._some(value, loop.local, place, str(NARROW)) for place in (start, later)]
        yield from (f"    {lanes} += {bare(half)};" for half in halves)
        yield "}"
        yield f"if ({self._is_reached(loop, value, block, high)}) {{"
        yield f"    const int64_t {left} = {high} - {block};"
        yield f"    {lanes} += {self._first(kind, halves[0], left)};"
        yield f"    if ({left} > {NARROW})"
        yield f"        {lanes} += {self._first(kind, halves[1], f'{left} - {NARROW}')};"
        yield f"    {block} = {high};"
        yield "}"
        yield "#endif"
        yield f"{sum_} = {sum_} + {self._expressions.call('total', kind, lanes)};"

    def _requests_of(self, loop: For) -> list[str]:
        """Return the requests for what is read soon."""
        return [self._requests.element(load, loop.local, block_of(loop)) for load in loop.streams]

    def _is_reached(self, loop: For, value: Expression, block: str, high: str) -> str:
        """Return the condition for a whole block, where there are four lanes, to be there to be read."""
        assert loop.tail is not None
        is_there = f"{block} + {WIDE} <= {bare(self._expressions.text(loop.tail))}"
        if all(loop.local in parts(load.index) for load in loads_of(value)):
            return is_there
        return f"{block} < {high} && {is_there}"  # what is the same in all iterations may not exist

    def _first(self, kind: ScalarType, values: str, left: str) -> str:
        """Return the first values of all, as many as are ``left``, and zeros."""
        return self._expressions.call("first", kind, bare(values), left)

    def _some(self, expression: Expression, local: Local, start: Expression, count: str) -> str:
        """Return the values of an expression in ``count`` iterations from ``start`` on, or in all lanes."""
        call, kind = self._expressions.call, type_of(expression)
        match expression:
            case _ if local not in parts(expression):
                self._expressions.helper("some", kind)
                return f"((lanes_{kind.value}){{0}} + {self._expressions.text(expression)})"
            case Load(buffer, index) if step(index, {local: 1}) == 1:
                place = self._expressions.place(buffer, substituted(index, {local: start}))
                return call("some", buffer.type, f"&{place}", count)
            case Load(buffer, index) if (places := looked_up(index)) is not None:
                place = self._expressions.place(places.buffer, substituted(places.index, {local: start}))
                operator = f"lookup_{places.buffer.type.value}"
                return call(operator, buffer.type, self._names[buffer.name], f"&{place}", count)
            case Binary(operator, left, right):
                one, other = (self._some(each, local, start, count) for each in (left, right))
                return f"({one} {INFIX[operator]} {other})"
            case Cast(to, operand):
                self._expressions.helper("some", to)
                values = self._some(operand, local, start, count)
                return f"__builtin_convertvector({bare(values)}, lanes_{to.value})"
            case _:
                raise TypeError(f"expected what makes a vector, found {expression}")


def block_of(loop: For) -> Local:
    """Return where the next block of a loop begins."""
    return Local(f"{loop.local.name} block", loop.local.type)


def _indented(lines: list[str]) -> Iterator[str]:
    return (f"    {line}" for line in lines)


def _leaves(value: Expression) -> Iterator[Expression]:
    """Yield what a value is made of by arithmetic."""
    match value:
        case Binary(_, left, right):
            yield from _leaves(left)
            yield from _leaves(right)
        case Cast(_, operand):
            yield from _leaves(operand)
        case _:
            yield value
