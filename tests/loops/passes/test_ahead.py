"""Rows are asked for ahead exactly where they are looked up, or segments consist of them."""

from __future__ import annotations

import ctypes
import mmap
from dataclasses import replace

import numpy as np
import pytest
from strategies.loops import FLOAT64, INT32, INT64, N, check, index, integer, kernel, plus

from storel.arrays import Array
from storel.errors import Cause
from storel.loops.nodes import (
    Ahead,
    Allocation,
    Assign,
    Binary,
    Buffer,
    Cast,
    Declare,
    Expression,
    Fail,
    Failure,
    For,
    If,
    Kernel,
    Load,
    Local,
    Role,
    Row,
    Statement,
    Update,
)
from storel.loops.passes.ahead import FARTHEST, FETCHED, NEAREST, look_ahead
from storel.loops.passes.polynomials import polynomial
from storel.loops.verify import verify
from storel.loops.walk import walk
from storel.symbols import ArraySymbol, SizeSymbol, Symbols

POS, IDX = Buffer("pos", INT64, Role.INDEX), Buffer("idx", INT64, Role.INDEX)
SHORT = Buffer("short", INT32, Role.INDEX)
LIMITS, FEW = Buffer("limits", INT64, Role.INDEX), Buffer("few", INT64, Role.INDEX)
D, Y = Buffer("d", FLOAT64), Buffer("y", FLOAT64)
I, J, K, P, Q = index("i"), index("j"), index("k"), index("p"), index("q")  # noqa: E741
WIDTH = integer(8)


def times(left: Expression, right: Expression) -> Binary:
    return Binary("multiply", left, right)


def facts(length: int) -> Symbols:
    types = {"pos": INT64, "idx": INT64, "short": INT32, "d": FLOAT64}
    known = {name: ArraySymbol(name, of, length) for name, of in types.items()}
    boundaries = {"limits": length // 16, "few": length // 1000}
    return known | {name: ArraySymbol(name, INT64, count) for name, count in boundaries.items()}


def looking(*body: Statement, length: int = 1 << 20, sizes: Symbols | None = None) -> Kernel:
    allocation = (Allocation(Y, 0, fill=0.0, is_output=True), times(N, WIDTH))
    inputs = [POS, IDX, SHORT, LIMITS, FEW, D]
    known = {**facts(length), **(sizes or {})}
    made = look_ahead(kernel(inputs, [allocation], list(body), (Failure(Cause.KEY, "bad"),)), known)
    verify(made)
    return made


def ahead(made: Kernel) -> list[tuple[str, Ahead]]:
    loops = [each for each in walk(made.compute.body) if isinstance(each, For)]
    return [(loop.local.name, loop.ahead) for loop in loops if loop.ahead is not None]


def rows(*body: Statement) -> For:
    return For(I, integer(0), N, body)


def segments(*body: Statement, boundaries: Buffer = POS) -> For:
    def at(position: Expression) -> Expression:
        load = Load(boundaries, position)
        return load if boundaries.type is INT64 else Cast(INT64, load)

    return For(P, at(I), at(plus(I, integer(1))), body)


def added(place: Expression, width: Expression = WIDTH) -> For:
    value = Load(D, plus(times(place, WIDTH), J))
    return For(J, integer(0), width, (Update(Y, plus(times(I, WIDTH), J), "add", value),))


def short(place: Expression, length: Expression) -> For:
    """A sum over a row of an array, which is as wide as the loop is long."""
    return For(J, integer(0), length, (Update(Y, I, "add", Load(D, plus(times(place, length), J))),))


KEY = Declare(K, Load(IDX, P))
CHECK = If(Binary("less", I, integer(3)), (Fail(0, I),))
FOUND = Row(D, times(Load(IDX, P), WIDTH), 8)


def test_the_last_of_all_segments_is_the_end() -> None:
    assert ahead(looking(rows(segments(KEY, added(K))))) == [("p", Ahead((FOUND,), Load(POS, N), FARTHEST))]
    narrow = looking(rows(segments(KEY, added(K), boundaries=SHORT)))
    assert ahead(narrow) == [("p", Ahead((FOUND,), Cast(INT64, Load(SHORT, N)), FARTHEST))]


def test_loops_that_are_gone_on_with_are_looked_beyond() -> None:
    """The next block of rows begins where this one ends, and that of elements, too."""
    block = replace(rows(segments(KEY, added(K))), high=Load(LIMITS, integer(0)), until=N)
    assert ahead(looking(block)) == [("p", Ahead((FOUND,), Load(POS, N), FARTHEST))]
    elements = For(P, integer(0), Load(LIMITS, integer(0)), (KEY, added(K)), until=N)
    assert ahead(looking(rows(elements))) == [("p", Ahead((FOUND,), N, FARTHEST))]


def test_any_other_loop_ends_where_it_ends() -> None:
    other = For(P, Load(POS, I), Load(IDX, plus(I, integer(1))), (KEY, added(K)))
    assert ahead(looking(rows(other))) == [("p", Ahead((FOUND,), other.high, FARTHEST))]
    guarded = If(Binary("less", I, integer(3)), (segments(KEY, added(K)),))
    assert ahead(looking(rows(guarded)))[0][1].end == Load(POS, plus(I, integer(1)))
    checked = rows(CHECK, segments(KEY, added(K)))
    assert ahead(looking(checked))[0][1].end == Load(POS, plus(I, integer(1)))
    assert ahead(looking(rows(segments(KEY, added(K), CHECK))))[0][1].end == Load(POS, N)


def test_segments_of_one_width_follow_each_other() -> None:
    wide = For(P, times(I, WIDTH), times(plus(I, integer(1)), WIDTH), (KEY, added(K)))
    assert ahead(looking(rows(wide))) == [("p", Ahead((FOUND,), times(N, WIDTH), FARTHEST))]


def test_what_is_guarded_is_asked_for_if_its_place_is_read_in_any_case() -> None:
    guarded = If(Binary("less_equal", integer(0), K), (added(K),))
    assert ahead(looking(rows(segments(KEY, guarded)))) == [("p", Ahead((FOUND,), Load(POS, N), FARTHEST))]
    unknown = If(Binary("less", P, integer(3)), (KEY, added(K)))
    assert ahead(looking(rows(segments(unknown)))) == []


def scanned(key: Expression, *before: Statement) -> For:
    """A loop over the segment of ``key``, which is 16 elements long on the average."""
    value = Binary("multiply", Load(D, Q), Load(D, Load(IDX, Q)), Role.VALUE)
    body = (*before, Update(Y, I, "add", value))
    return For(Q, Load(LIMITS, key), Load(LIMITS, plus(key, integer(1))), body)


IN_LINES = 16 + 7
"""A segment of 16 may begin with the last element of a cache line."""

ROWS = {Row(buffer, Load(LIMITS, Load(IDX, P)), IN_LINES) for buffer in (D, IDX)}


def test_segments_are_looked_up_by_their_boundaries() -> None:
    ((local, found),) = ahead(looking(rows(segments(KEY, scanned(K)))))
    assert (local, set(found.rows), found.end) == ("p", ROWS, Load(POS, N))


def test_the_longer_an_iteration_takes_the_fewer_are_looked_ahead() -> None:
    def distance(body: Statement) -> int:
        ((_, found),) = ahead(looking(rows(segments(KEY, body))))
        return found.distance

    wide = For(J, integer(0), integer(64), (Update(Y, J, "add", Load(D, plus(times(K, integer(64)), J))),))
    assert distance(added(K)) == FARTHEST
    assert distance(wide) == FETCHED // (64 * 8)
    assert distance(scanned(K)) == NEAREST


def held(row: Expression) -> For:
    """A loop over rows, each of which keeps one of the result in registers."""
    place = times(row, WIDTH)
    lanes = For(J, integer(0), WIDTH, (Update(Y, plus(place, J), "add", Load(D, J)),), in_lanes=True)
    return rows(Declare(K, Load(IDX, I)), replace(segments(lanes), tiles=(Row(Y, place, 8),)))


def test_a_tile_is_a_row_of_a_large_result() -> None:
    large, small = ({"n": SizeSymbol("n", size)} for size in (1 << 20, 1 << 10))
    found = Row(Y, times(Load(IDX, I), WIDTH), 8)
    assert ahead(looking(held(K), sizes=large)) == [("i", Ahead((found,), N, FARTHEST))]
    assert ahead(looking(held(K), sizes=small)) == ahead(looking(held(K))) == []
    assert ahead(looking(held(I), sizes=large)) == []


def test_of_two_branches_what_both_read_is_looked_up() -> None:
    other = For(J, Load(LIMITS, K), N, (Update(Y, I, "add", Load(D, J)),))
    both = If(Binary("less", I, integer(3)), (scanned(K),), (other,))
    ((_, found),) = ahead(looking(rows(segments(KEY, both))))
    assert found.rows == (Row(D, Load(LIMITS, Load(IDX, P)), IN_LINES),)
    assert ahead(looking(rows(segments(KEY, If(Binary("less", I, integer(3)), (scanned(K),)))))) == []


NOTHING: list[tuple[str, Statement]] = [
    ("segments follow each other", segments(scanned(P))),
    ("segments are of the outer loop", segments(scanned(I))),
    ("segments are long", segments(KEY, For(Q, Load(FEW, K), N, (Update(Y, I, "add", Load(D, Q)),)))),
    ("half of the row at the position", segments(added(P, width=integer(4)))),
    ("half of the row of an array", For(P, integer(0), N, (added(P, width=integer(4)),))),
    ("the row of an array is short", For(P, integer(0), N, (short(P, integer(7)),))),
    ("the row of an array is long", For(P, integer(0), N, (short(P, integer(129)),))),
    ("the loop is of one length", For(P, integer(0), integer(100), (short(P, integer(8)),))),
    ("the row at the position depends on what is written", segments(added(plus(P, Cast(INT64, Load(Y, I)))))),
    ("the place is the same for all", segments(added(Load(IDX, I)))),
    ("the place is changed", segments(KEY, Assign(K, plus(K, integer(1))), added(K))),
    ("the place depends on what is written", segments(added(Load(IDX, Cast(INT64, Load(Y, P)))))),
    ("no position is after this one", segments(added(Load(IDX, plus(P, integer(1)))))),
    ("the key is checked first", segments(KEY, CHECK, added(K))),
    ("the row is long", segments(KEY, added(K, width=N))),
]


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in NOTHING])
def test_what_is_not_looked_up(body: Statement) -> None:
    assert ahead(looking(rows(body))) == []


BLOCK = Row(D, times(P, WIDTH), 8)
"""All that a segment reads at a position."""


def part(first: Expression, lane: Local = J) -> For:
    """A loop over half of the row at the position."""
    value = Load(D, plus(times(integer(4), plus(times(integer(2), P), first)), lane))
    return For(lane, integer(0), integer(4), (Update(Y, I, "add", value),))


SUCCESSIONS: list[tuple[str, tuple[Statement, ...]]] = [
    ("whole", (added(P),)),
    ("in parts", (part(integer(1)), part(integer(0), Q))),
    ("in a nest", (For(Q, integer(0), integer(2), (part(Q),)),)),
    ("under a condition", (Declare(K, P), If(Binary("less", P, integer(3)), (added(K),)))),
]


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in SUCCESSIONS])
def test_segments_consist_of_rows(body: tuple[Statement, ...]) -> None:
    ((local, found),) = ahead(looking(rows(segments(*body))))
    assert (local, len(found.rows), found.end, found.distance) == ("p", 1, Load(POS, N), FARTHEST)
    assert found.rows[0].length == BLOCK.length
    assert polynomial(found.rows[0].start) == polynomial(BLOCK.start)


def test_arrays_and_bands_consist_of_rows() -> None:
    """The rows of a band are whole but for its borders, where they are asked for all the same."""
    array = For(P, integer(0), N, (short(P, integer(9)),))
    assert ahead(looking(rows(array))) == [("p", Ahead((Row(D, times(P, integer(9)), 9),), N, FARTHEST))]
    low = Binary("maximum", integer(0), Binary("subtract", P, integer(4)))
    high = Binary("minimum", plus(P, integer(5)), N)
    place = plus(plus(times(integer(8), P), J), integer(4))
    band = For(P, integer(0), N, (For(J, low, high, (Update(Y, I, "add", Load(D, place)),)),))
    ((local, found),) = ahead(looking(rows(band)))
    assert (local, found.rows[0].length, found.end) == ("p", 9, N)
    assert polynomial(found.rows[0].start) == polynomial(times(P, integer(9)))


def test_half_a_row_that_is_read_twice_is_no_row() -> None:
    assert ahead(looking(rows(segments(part(integer(0)), part(integer(0), Q))))) == []


def test_a_small_table_is_near() -> None:
    assert ahead(looking(rows(segments(KEY, added(K))), length=1 << 17)) == []
    assert ahead(looking(rows(segments(added(P))), length=1 << 17)) == []


def test_an_index_is_looked_up_nowhere_past_its_end(guarded: Array) -> None:
    """The last row ends with the index array, behind which memory may not be read."""
    made = looking(rows(segments(KEY, added(K))))
    table = np.arange(40.0)
    inputs = {"pos": np.array([0, 2, 2, 12]), "idx": guarded, "short": np.zeros(1, np.int32), "d": table}
    inputs |= {"limits": np.zeros(1, np.int64), "few": np.zeros(1, np.int64)}
    sums = [table.reshape(5, 8)[guarded[low:high]].sum(0) for low, high in ((0, 2), (2, 2), (2, 12))]
    check(made, {"n": 3}, inputs, {"y": np.concatenate(sums)})


@pytest.fixture
def guarded() -> Array:
    """Twelve indices at the very end of a page; the one behind it is not this process's to read."""
    memory = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None).mprotect
    assert protect(ctypes.c_void_p(address + mmap.PAGESIZE), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    indices = np.frombuffer(memory, np.int64, 12, mmap.PAGESIZE - 12 * 8)
    indices[:] = [4, 0, 1, 1, 3, 4, 2, 0, 0, 1, 2, 3]
    return indices
