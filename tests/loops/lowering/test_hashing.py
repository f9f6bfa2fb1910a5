"""Hash stores give what dictionaries give: filled, looked up, scanned in order, and cleared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.lowered import DATA, FLOAT64, INT64, M, N, array, lowered, outputs_of
from strategies.plans import ADD, csr_symbols, number, read, real, row, upto, var

from storel.arrays import Array
from storel.calculus.nodes import Apply, Lookup, Term
from storel.errors import EvaluationError, MemoryLimitError
from storel.loops import interpret
from storel.loops.lowering.lower import lower
from storel.loops.nodes import Kernel
from storel.plan.nodes import (
    ANY_KEY,
    Accumulate,
    Action,
    Append,
    Bind,
    Coordinates,
    Elements,
    Enter,
    Entries,
    HashStore,
    Levels,
    Loop,
    Place,
    Plan,
    Positions,
    Together,
)
from storel.plan.phases import Phase
from storel.symbols import Symbols

SUM = Levels((), ADD)
A_VAL = Accumulate(read("A_val", var(1)))
ROW = Loop(row(var(1)), Enter(var(0), A_VAL))
HASH = HashStore(FLOAT64, "add", 0, (N,))
FREE = HashStore(FLOAT64, "add", 0, (ANY_KEY,))


@pytest.mark.parametrize("store", [HASH, FREE], ids=["bounded", "any key"])
def test_a_store_in_a_loop_is_cleared_between_iterations(store: HashStore) -> None:
    copied = Loop(Entries(var(0)), Enter(var(1), Accumulate(var(0))))
    action = Loop(upto("m"), Enter(var(0), Bind(store, Together((ROW, ROW)), copied)))
    found = lowered(Levels((Place(M), Append()), ADD), action, M, N)
    assert found == {"pos_1": [0, 2, 2, 4], "idx_1": [1, 3, 0, 1], "val": [2.0, 4.0, 6.0, 8.0]}
    looked_up = Bind(store, ROW, Accumulate(Lookup(var(0), number(1))))
    per_row = Loop(upto("m"), Enter(var(0), looked_up))
    assert lowered(Levels((Place(M),), ADD), per_row, M) == {"val": [1.0, 0.0, 4.0]}


@pytest.mark.parametrize("store", [HASH, FREE], ids=["bounded", "any key"])
@pytest.mark.parametrize(("key", "value"), [(-1, 0.0), (0, 2.0), (3, 2.0), (4, 0.0), (2**63 - 1, 0.0)])
def test_a_lookup_of_what_is_not_there_is_zero(store: HashStore, key: int, value: float) -> None:
    filled = Loop(upto("n"), Enter(var(0), Accumulate(real(2.0))))
    assert lowered(SUM, Bind(store, filled, Accumulate(Lookup(var(0), number(key))))) == {"val": [value]}


def test_the_largest_integer_is_a_key_behind_all_others() -> None:
    """It stands for no bound where extents are counted, but may be a hash, or mean that there is none."""
    entries = ((2**63 - 1, 3.0), (5, 2.0), (0, 1.0))
    filled = Together(tuple(Enter(number(key), Accumulate(real(value))) for key, value in entries))
    looked_up = Bind(FREE, filled, Accumulate(Lookup(var(0), number(2**63 - 1))))
    assert lowered(SUM, looked_up) == {"val": [3.0]}
    half = Apply("floor_divide", (var(1), number(2)))
    scanned = Bind(FREE, filled, Loop(Entries(var(0)), Enter(half, Accumulate(var(0)))))
    found = outputs_of(Coordinates(1, ADD, INT64), scanned, csr_symbols(), {}, (ANY_KEY,))
    assert found == {"coordinate_0": [0, 2, 2**62 - 1], "val": [1.0, 2.0, 3.0]}


def test_a_key_outside_is_refused() -> None:
    filled = Loop(Positions(number(-1), number(3)), Enter(var(0), Accumulate(real(2.0))))
    kernel = kernel_of(Bind(FREE, filled, Accumulate(Lookup(var(0), number(1)))))
    with pytest.raises(EvaluationError, match="a key of the result is -1"):
        interpret.run(kernel, {}, {})


def kernel_of(action: Action) -> Kernel:
    return lower(Phase(Plan(SUM, action)), (), csr_symbols(), is_unguarded=True)


def test_the_capacity_is_twice_what_the_fullest_row_holds() -> None:
    scan = Loop(Entries(var(0)), Accumulate(var(0)))
    kernel = kernel_of(Loop(upto("m"), Bind(FREE, ROW, scan)))
    needed = 8 * (4 + 4 + 2 + 1)  # keys, values, slots of two entries, and the result
    with pytest.raises(MemoryLimitError, match=r"a temporary hash\.keys_0"):
        interpret.run(kernel, {}, DATA, memory_limit=needed - 1)
    assert interpret.run(kernel, {}, DATA, memory_limit=needed)[0]["result.val"].tolist() == [10.0]


def test_entries_that_are_zero_are_dropped() -> None:
    values = np.array([1.5, -1.5, -0.0, 2.0])
    keys = np.array([10**12, 10**12, 7, 3])
    symbols = {"k": array("k", keys), "v": array("v", values, finite=True)}
    filled = Loop(Elements("k", number(0), number(4)), Enter(var(0), Accumulate(read("v", var(1)))))
    listed = Loop(Entries(var(0)), Enter(var(1), Accumulate(var(0))))
    found = outputs_of(
        Coordinates(1, ADD, INT64), Bind(FREE, filled, listed), symbols, {"k": keys, "v": values}, (ANY_KEY,)
    )
    assert found == {"coordinate_0": [3], "val": [2.0]}


KEYS = st.lists(st.tuples(*[st.sampled_from([0, 1, 2, 5, 2**20 - 1])] * 3), max_size=12)
EXTENT = number(2**20)


def facts(columns: dict[str, Array]) -> Symbols:
    arrays = {name: array(name, each) for name, each in columns.items()}
    return {**csr_symbols(entries=len(columns["k0"])), **arrays}


def filled_with(rank: int) -> Action:
    """Count key tuples, whose parts are the arrays k0, k1, k2."""
    body: Action = Accumulate(real(1.0))
    for level in reversed(range(rank)):
        body = Enter(read(f"k{level}", var(0)), body)
    return Loop(upto("nnz"), body)


def copied(rank: int) -> Action:
    """Enter every entry of variable 0, of so many levels, by nested scans."""
    inner = Accumulate(var(0)) if rank == 1 else copied(rank - 1)
    return Loop(Entries(var(0)), Enter(var(1), inner))


def looked_up(rank: int) -> Action:
    """Enter, for each tuple that was filled in, what it has."""
    found: Term = var(2)
    for level in range(rank):
        found = Lookup(found, read(f"k{level}", var(0)))
    body: Action = Accumulate(found)
    for _ in range(rank):
        body = Enter(var(0), body)
    return Loop(upto("nnz"), body)


def rows_looked_up() -> Action:
    """Enter, for each position, the row at the key that k2 has there."""
    scan = Loop(Entries(Lookup(var(2), read("k2", var(0)))), Enter(var(1), Accumulate(var(0))))
    return Loop(upto("nnz"), Enter(var(0), scan))


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([1, 2, 3]), KEYS, st.booleans())
def test_it_does_what_a_dictionary_does(rank: int, keys: list[tuple[int, ...]], by_lookup: bool) -> None:
    columns = {f"k{n}": np.array([key[n] for key in keys], np.int64) for n in range(3)}
    symbols = facts(columns)
    store = HashStore(FLOAT64, "add", 0, (EXTENT,) * rank)
    body = looked_up(rank) if by_lookup else copied(rank)
    action = Bind(store, filled_with(rank), body)
    found = outputs_of(Coordinates(rank, ADD, INT64), action, symbols, columns, (EXTENT,) * rank)
    counts = {key[:rank]: float(sum(each[:rank] == key[:rank] for each in keys)) for key in keys}
    if by_lookup:
        assert found["val"] == [counts[key[:rank]] for key in keys]
    else:
        listed = zip(*(found[f"coordinate_{n}"] for n in range(rank)), strict=True)
        assert list(zip(listed, found["val"], strict=True)) == sorted(counts.items())


@settings(max_examples=15, deadline=None)
@given(KEYS)
def test_a_row_that_is_looked_up_is_scanned(keys: list[tuple[int, ...]]) -> None:
    columns = {f"k{n}": np.array([key[n] for key in keys], np.int64) for n in range(3)}
    symbols = facts(columns)
    store = HashStore(FLOAT64, "add", 0, (EXTENT,) * 2)
    action = Bind(store, filled_with(2), rows_looked_up())
    found = outputs_of(Coordinates(2, ADD, INT64), action, symbols, columns, (EXTENT,) * 2)
    want: list[tuple[int, int, float]] = []
    for number_, (_, _, wanted) in enumerate(keys):
        inside = [second for first, second, _ in keys if first == wanted]
        want += [(number_, key, float(inside.count(key))) for key in sorted(set(inside))]
    got = zip(found["coordinate_0"], found["coordinate_1"], found["val"], strict=True)
    assert list(got) == want
