"""Requests for memory in C: what is needed later is asked for while something else is worked on."""

from __future__ import annotations

from collections.abc import Iterator

from storel.codegen.c_expressions import Expressions
from storel.codegen.c_helpers import C_TYPES
from storel.codegen.identifiers import Identifiers
from storel.loops.nodes import Ahead, Binary, Constant, Expression, Load, Local
from storel.loops.passes.ahead import CACHE_LINE
from storel.loops.walk import loads_of, substituted

SOON = 16 * CACHE_LINE
"""How many bytes ahead a stream is asked for where other places are looked up, which fills the time."""

PAGE = 64 * CACHE_LINE
"""How many bytes ahead a stream is asked for that is only added up: processors ask for the rest of a page."""


class Requests:
    """Prints the requests of a procedure's loops."""

    def __init__(self, names: Identifiers, expressions: Expressions) -> None:
        self._names = names
        self._expressions = expressions

    def element(self, load: Load, local: Local, start: Expression) -> str:
        """Return the request for the cache line that is read soon after ``local`` is ``start``."""
        return self._behind(load, local, start, SOON)

    def block(self, load: Load, local: Local, start: Expression, count: int) -> Iterator[str]:
        """Yield the requests for what is read a page after the ``count`` iterations from ``start`` on."""
        for offset in range(0, count * load.buffer.type.itemsize, CACHE_LINE):
            yield self._behind(load, local, start, PAGE + offset)

    def rows(self, local: Local, ahead: Ahead) -> Iterator[str]:
        """Yield the requests for the rows of a later iteration of the loop over ``local``.

        Twice as far ahead, the elements with their starts are asked for where their own places are looked up.
        """
        later = self._later("later", local)
        yield self._declared(later, local, ahead, ahead.distance)
        for row in ahead.rows:
            start = self._expressions.text(substituted(row.start, {local: later}))
            step = CACHE_LINE // row.buffer.type.itemsize
            yield f"for (int64_t lane = 0; lane < {row.length}; lane += {step})"
            yield f"    __builtin_prefetch(&{self._names[row.buffer.name]}[{start} + lane]);"
        looked_up = [load for row in ahead.rows for load in loads_of(row.start) if loads_of(load.index)]
        if looked_up:
            further = self._later("further", local)
            yield self._declared(further, local, ahead, 2 * ahead.distance)
            yield from (self._for(load, local, further) for load in dict.fromkeys(looked_up))

    def _behind(self, load: Load, local: Local, start: Expression, distance: int) -> str:
        """Return the request for what lies so many bytes behind what is read where ``local`` is ``start``."""
        further = Constant(distance // load.buffer.type.itemsize, local.type)
        return self._for(load, local, Binary("add", start, further))

    def _for(self, load: Load, local: Local, later: Expression) -> str:
        place = substituted(load.index, {local: later})
        return f"__builtin_prefetch(&{self._expressions.place(load.buffer, place)});"

    def _later(self, hint: str, local: Local) -> Local:
        return Local(f"{local.name} {hint}", local.type)

    def _declared(self, later: Local, local: Local, ahead: Ahead, distance: int) -> str:
        """Return the declaration of a later iteration, the present one where there is none."""
        now, end = self._names[local.name], self._expressions.text(ahead.end)
        chosen = f"{now} + {distance} < {end} ? {now} + {distance} : {now}"
        return f"const {C_TYPES[later.type]} {self._names[later.name]} = {chosen};"
