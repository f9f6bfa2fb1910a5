"""The body of a procedure in C: its statements, and what its loops say of speed.

streams    blocks of iterations ask for what is read later; long sums come in many lanes
partial    iterations of a block need not wait for each other
tail       sums come in lanes, which may go past the end
ahead      rows that are looked up are asked for some iterations early
tiles      rows stay in registers
"""

from __future__ import annotations

from dataclasses import replace

from storel.codegen.c_expressions import INFIX, Expressions, bare
from storel.codegen.c_helpers import C_TYPES, ORDERS
from storel.codegen.c_lanes import Lanes, block_of
from storel.codegen.c_requests import Requests
from storel.codegen.c_vectors import EIGHT, Vectors
from storel.codegen.identifiers import Identifiers
from storel.loops.dependence import added, combinations
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Constant,
    Declare,
    Expression,
    Fail,
    For,
    If,
    Load,
    Local,
    Row,
    Sort,
    Statement,
    Store,
    Update,
    While,
)
from storel.loops.passes.ahead import CACHE_LINE
from storel.loops.passes.polynomials import constant_of
from storel.loops.passes.reorder import unit
from storel.loops.types import LOGICAL
from storel.loops.walk import substituted, walk
from storel.scalars import ScalarType

BLOCK = 8
"""How many iterations share one prefetch per stream: those that read a cache line of the widest numbers."""

IN_LANES = 4 * CACHE_LINE
"""How many bytes of sums vector code keeps: in a single vector, each addition would wait for the last."""

_REDUCTIONS = {"add": "+", "multiply": "*", "bit_and": "&", "bit_or": "|", "bit_xor": "^"}
_INTEGER_REDUCTIONS = {**_REDUCTIONS, "minimum": "min", "maximum": "max"}
"""OpenMP's names of operators; its minima and maxima of reals would lose NaN, and are declared (`ORDERS`)."""


class Body:
    """Collects the lines of a procedure's body."""

    def __init__(self, names: Identifiers, helpers: set[tuple[str, ScalarType]]) -> None:
        self.lines: list[str] = []
        self._names = names
        self._expressions = Expressions(names, helpers)
        self._requests = Requests(names, self._expressions)
        self._lanes = Lanes(names, self._expressions, self._requests)
        self._vectors = Vectors(names, self._expressions)
        self._depth = 0

    def block(self, statements: tuple[Statement, ...]) -> None:
        """Add the statements, one step further to the right."""
        self._depth += 1
        for statement in statements:
            self._statement(statement)
        self._depth -= 1

    def _line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    def _statement(self, statement: Statement) -> None:
        text = self._expressions.text
        match statement:
            case Declare(local, value):
                self._line(f"{C_TYPES[local.type]} {self._names[local.name]} = {bare(text(value))};")
            case Assign(local, value):
                self._line(f"{self._names[local.name]} = {bare(text(value))};")
            case Store(buffer, index, value):
                self._line(f"{self._expressions.place(buffer, index)} = {bare(text(value))};")
            case Update(buffer, index, operator, value):
                self._update(buffer, self._expressions.place(buffer, index), operator, text(value))
            case For():
                self._for(statement)
            case While(condition, body):
                self._line(f"while ({bare(text(condition))}) {{")
                self.block(body)
                self._line("}")
            case If(condition, body, otherwise):
                self._if(condition, body, otherwise)
            case Sort(buffer, low, high):
                call = self._expressions.call
                self._line(f"{call('sort', buffer.type, self._names[buffer.name], text(low), text(high))};")
            case Fail(code, detail):
                self._line(f"*detail = {bare(text(detail))};")
                self._line(f"return {code + 1};")

    def _update(self, buffer: Buffer, place: str, operator: str, value: str) -> None:
        if operator in LOGICAL:
            self._line(f"{place} {INFIX[operator][0]}= {bare(value)};")
        elif operator in INFIX:
            self._line(f"{place} {INFIX[operator]}= {bare(value)};")
        else:
            self._line(f"{place} = {self._expressions.applied(operator, buffer.type, place, value)};")

    def _for(self, loop: For) -> None:
        variable, kind = self._names[loop.local.name], C_TYPES[loop.local.type]
        low, high = bare(self._expressions.text(loop.low)), self._expressions.text(loop.high)
        if (found := self._vectors.any_bit(loop, high)) is not None:
            self._line(f"for ({kind} {variable} = {low}; {variable} < {high}; {variable} += {EIGHT})")
            self._line(f"    {found}")
            return
        if (length := _short_length(loop)) is not None:
            self._written_out(loop, low, length)
            return
        if not isinstance(loop.high, Constant):
            end = self._names.fresh(f"{variable}_end")
            self._line(f"const {kind} {end} = {bare(high)};")
            high = end
        if not loop.tiles:
            self._iterate(loop, low, high)
            return
        self._line(f"if ({low} < {high}) {{")
        self._depth += 1
        tiles = [(self._names.fresh(f"{tile.buffer.name}_tile"), tile) for tile in loop.tiles]
        for name, tile in tiles:
            self._line(f"{C_TYPES[tile.buffer.type]} {name}[{tile.length}];")
            self._copy(name, tile, "{0} = {1};")
        self._expressions.tiles.update({tile.buffer: name for name, tile in tiles})
        self._iterate(loop, low, high)
        for name, tile in tiles:
            del self._expressions.tiles[tile.buffer]
            self._copy(name, tile, "{1} = {0};")
        self._depth -= 1
        self._line("}")

    def _iterate(self, loop: For, low: str, high: str) -> None:
        if loop.tail is not None:
            self._with_tail(loop, low, high)
            return
        vector = "#pragma omp simd" if loop.in_lanes else self._reordered(loop)
        if vector and loop.streams:
            low = self._in_lanes(loop, low, high)
        elif loop.streams or loop.partial is not None:
            low = self._by_blocks(loop, low, high)
        if vector:
            self._line(vector)
        self._repeat(loop, low, high)

    def _reordered(self, loop: For) -> str:
        """Return what tells the compiler to reorder this loop, nothing where it must stay in order."""
        if not loop.reductions or any(isinstance(inner, Fail | While | Sort) for inner in walk(loop.body)):
            return ""
        operators = [self._reduction(operator, local.type) for local, operator in loop.reductions]
        if None in operators:
            return ""
        names = [self._names[local.name] for local, _ in loop.reductions]
        clauses = [f"reduction({each}:{name})" for each, name in zip(operators, names, strict=True)]
        return " ".join(["#pragma omp simd", *clauses])

    def _reduction(self, operator: str, of: ScalarType) -> str | None:
        """Return what OpenMP calls an operator, None where it has no name for it."""
        if operator in ORDERS and of.is_real:
            return self._expressions.helper(operator, of)
        return (_INTEGER_REDUCTIONS if of.is_integer else _REDUCTIONS).get(operator)

    def _written_out(self, loop: For, low: str, length: int) -> None:
        """Ask for the streams, and let the compiler write all iterations out."""
        for load in loop.streams:
            self._line(self._requests.element(load, loop.local, loop.low))
        if loop.partial is not None and length == BLOCK and isinstance(loop.low, Local):
            self._in_parts(loop, loop.low, *loop.partial)
            return
        self._line(f"#pragma GCC unroll {length}")
        self._repeat(loop, low, f"{low} + {length}")

    def _in_lanes(self, loop: For, low: str, high: str) -> str:
        """Combine whole blocks of a stream, each place of a block by itself; return where the rest begins."""
        found, start = combinations(loop), block_of(loop)
        if not found:
            return low
        lane = Local(f"{loop.local.name} lane", start.type)
        place, block, count = self._names[lane.name], self._names[start.name], _lanes_of(found)
        each = f"for (int64_t {place} = 0; {place} < {count}; ++{place})"
        here = Binary("add", start, lane)
        advanced: list[Update] = []
        for total, operator, value in found:
            sums = Buffer(f"{loop.local.name} lanes of {total.name}", total.type)
            self._line(f"{C_TYPES[total.type]} {self._names[sums.name]}[{count}];")
            self._line(each)
            self.block((Store(sums, lane, unit(operator, total.type)),))
            advanced.append(Update(sums, lane, operator, substituted(value, {loop.local: here})))
        self._line(f"{C_TYPES[start.type]} {block} = {low};")
        self._line(f"for (; {block} + {count} <= {high}; {block} += {count}) {{")
        self._depth += 1
        for load in loop.streams:
            for request in self._requests.block(load, loop.local, start, count):
                self._line(request)
        for statement in advanced:
            self._line("#pragma omp simd")
            self._line(each)
            self.block((statement,))
        self._depth -= 1
        self._line("}")
        for statement, (total, operator, _) in zip(advanced, found, strict=True):
            self._line(self._reordered(replace(loop, reductions=((total, operator),))))
            self._line(each)
            self.block((Assign(total, Binary(operator, total, Load(statement.buffer, lane))),))
        return block

    def _by_blocks(self, loop: For, low: str, high: str) -> str:
        """Run whole blocks, each of which asks for its streams, if any; return where the rest begins.

        Most segments are short: fewer than two blocks of iterations are all left to the rest, whose streams
        are asked for beforehand, since the end of each loop is mispredicted unless its length is constant.
        """
        start = block_of(loop)
        block = self._names[start.name]
        self._line(f"{C_TYPES[start.type]} {block} = {low};")
        for load in loop.streams:
            self._line(self._requests.element(load, loop.local, start))
        least = BLOCK if isinstance(loop.high, Constant) else 2 * BLOCK
        self._line(f"for (; {block} + {least} <= {high}; {block} += {BLOCK}) {{")
        self._depth += 1
        for load in loop.streams:
            self._line(self._requests.element(load, loop.local, start))
        if loop.partial is not None:
            self._in_parts(loop, start, *loop.partial)
        else:
            self._unrolled(loop, block)
        self._depth -= 1
        self._line("}")
        return block

    def _unrolled(self, loop: For, block: str) -> None:
        self._line(f"#pragma GCC unroll {BLOCK}")
        barrier = '__asm__("" ::: "memory"); /* gathers are slower */'
        self._repeat(loop, block, f"{block} + {BLOCK}", barrier)

    def _in_parts(self, loop: For, start: Local, total: Local, operator: str) -> None:
        """Run a block whose iterations need not wait for each other: what they add is combined in pairs."""
        made = Buffer(f"{total.name} parts", total.type)
        self._line(f"{C_TYPES[made.type]} {self._names[made.name]}[{BLOCK}];")
        body: list[Statement] = []
        for statement in loop.body:
            match statement:
                case Assign(local, Binary(_, _, value)) if local == total:
                    body.append(Store(made, Binary("subtract", loop.local, start), value))
                case _:
                    body.append(statement)
        self._unrolled(replace(loop, body=tuple(body)), self._names[start.name])
        self._combine(total, operator, [Load(made, Constant(n, start.type)) for n in range(BLOCK)])

    def _with_tail(self, loop: For, low: str, high: str) -> None:
        """Add up in lanes, and one by one what is left where nothing may be evaluated beyond the end."""
        found = added(loop)
        assert found is not None
        for line in self._lanes.sums(loop, *found, low, high):
            self._line(line)
        self._repeat(loop, self._names[block_of(loop).name], high)

    def _combine(self, total: Local, operator: str, parts: list[Expression]) -> None:
        """Add parts to a total, in pairs first."""
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [Binary(operator, left, right) for left, right in pairs]
        self._statement(Assign(total, Binary(operator, total, parts[0])))

    def _repeat(self, loop: For, low: str, high: str, *last: str) -> None:
        """Run the body from ``low`` to ``high``, and each time the ``last`` lines."""
        variable, kind = self._names[loop.local.name], C_TYPES[loop.local.type]
        self._expressions.lane = variable
        self._line(f"for ({kind} {variable} = {low}; {variable} < {high}; ++{variable}) {{")
        if loop.ahead is not None:
            for line in self._requests.rows(loop.local, loop.ahead):
                self._line(f"    {line}")
        self.block(loop.body)
        for line in last:
            self._line(f"    {line}")
        self._line("}")

    def _copy(self, name: str, tile: Row, assignment: str) -> None:
        """Copy all elements of a tile by an assignment between it, {0}, and its buffer, {1}."""
        start = self._expressions.text(tile.start)
        place = f"{self._names[tile.buffer.name]}[{start} + lane]"
        self._line("#pragma omp simd")
        self._line(f"for (int64_t lane = 0; lane < {tile.length}; ++lane)")
        self._line("    " + assignment.format(f"{name}[lane]", place))

    def _if(
        self, condition: Expression, body: tuple[Statement, ...], otherwise: tuple[Statement, ...]
    ) -> None:
        self._line(f"if ({bare(self._expressions.text(condition))}) {{")
        self.block(body)
        if otherwise:
            self._line("} else {")
            self.block(otherwise)
        self._line("}")


def _lanes_of(sums: list[tuple[Local, str, Expression]]) -> int:
    """Return how many lanes each of some sums has: the more sums, the fewer, but at least a cache line."""
    widest = max(total.type.itemsize for total, _, _ in sums)
    shared = 1 << (len(sums) - 1).bit_length()
    return max(IN_LANES // shared, CACHE_LINE) // widest


def _short_length(loop: For) -> int | None:
    """Return how many iterations an innermost loop has where compilers do not see that they are few.

    Vectors and what else is kept in registers is left to other loops.
    """
    is_plain = loop.ahead is None and not loop.reductions and not loop.in_lanes and not loop.tiles
    is_innermost = not any(isinstance(inner, For | While) for inner in walk(loop.body))
    if isinstance(loop.low, Constant) or not (is_plain and is_innermost):
        return None
    length = constant_of(Binary("subtract", loop.high, loop.low))
    return length if length is not None and 0 < length <= 2 * BLOCK else None
