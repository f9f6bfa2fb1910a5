"""Procedures that GCC must not write with masks.

Where vector code reads under conditions, GCC turns them into masks. If it reads several neighbours at once,
each under a condition of its own, GCC 12 takes the mask of the first vector for all of them, and numbers are
wrong; no flag keeps it from that but one that keeps it from masks. Neighbours come of what is written side by
side, and of inner loops of few iterations, which are unrolled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from storel.codegen.c_unrolled import few_iterations, settled
from storel.loops.dependence import assigned
from storel.loops.nodes import (
    Binary,
    Buffer,
    Expression,
    For,
    If,
    Load,
    Local,
    Select,
    Statement,
    Store,
    Update,
    While,
)
from storel.loops.types import LOGICAL
from storel.loops.walk import evaluated, loads_of, parts, walk

WITHOUT = '__attribute__((optimize("no-tree-loop-if-convert")))'
"""Keeps a procedure from masks; other compilers do not know it, and need not."""


def may_be_confused(body: tuple[Statement, ...]) -> bool:
    """Return whether a loop of a procedure reads neighbours under conditions of their own."""
    changing, known = frozenset(assigned(body)), settled(body)
    loops = (statement for statement in walk(body) if isinstance(statement, For | While))
    return any(_Iteration(loop, changing, known).confuses() for loop in loops)


class _Iteration:
    """What one iteration of a loop reads, with the loops in it that are unrolled.

    ``changing`` are the locals that the procedure assigns, ``known`` the values of others.
    """

    def __init__(self, loop: For | While, changing: Set[Local], known: Mapping[Local, Expression]) -> None:
        self._body, self._changing, self._known = loop.body, changing, known
        self._written = {each.buffer for each in walk(loop.body) if isinstance(each, Store | Update)}
        self._always: set[Load] = set()

    def confuses(self) -> bool:
        """Return whether more than one place of a buffer is read under conditions."""
        seen: dict[Buffer, Load] = {}
        return any(
            is_repeated or seen.setdefault(load.buffer, load) != load
            for load, is_repeated in self._guarded(self._body, is_guarded=False, is_repeated=False)
        )

    def _guarded(
        self, body: tuple[Statement, ...], *, is_guarded: bool, is_repeated: bool
    ) -> Iterator[tuple[Load, bool]]:
        """Yield what is read under conditions alone, and whether a loop of few iterations does it."""
        for statement in body:
            for expression in evaluated(statement):
                if is_guarded or _chooses(expression):
                    loads = (load for load in loads_of(expression) if load not in self._always)
                    yield from ((load, is_repeated) for load in loads)
                else:
                    self._always.update(filter(self._stays, loads_of(expression)))
            match statement:
                case Update(buffer, index) if is_guarded:
                    yield Load(buffer, index), is_repeated
                case If(_, inner, otherwise):
                    inside = (*inner, *otherwise)
                    yield from self._guarded(inside, is_guarded=True, is_repeated=is_repeated)
                case For(body=inner) if few_iterations(statement, self._known) is not None:
                    yield from self._guarded(inner, is_guarded=is_guarded, is_repeated=True)
                case _:
                    pass  # what has a loop inside does not become vector code

    def _stays(self, load: Load) -> bool:
        """Return whether the iteration finds the same at a place whenever it reads it."""
        return load.buffer not in self._written and self._changing.isdisjoint(parts(load.index))


def _chooses(expression: Expression) -> bool:
    """Return whether some parts of an expression are evaluated only where others say so."""
    return any(
        isinstance(part, Select) or (isinstance(part, Binary) and part.operator in LOGICAL)
        for part in parts(expression)
    )
