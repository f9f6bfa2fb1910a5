"""Loops are made once for each key that they depend on, and read wherever they were made for one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from strategies.plans import normalized, number, var
from strategies.terms import Surroundings

import storel
from storel.calculus.binding import shift
from storel.calculus.interpret import evaluate
from storel.calculus.nodes import (
    Add,
    Apply,
    Find,
    If,
    Let,
    Lookup,
    Multiply,
    Range,
    Singleton,
    Sum,
    Symbol,
    Term,
)
from storel.calculus.verify import KEY, verify
from storel.calculus.walk import children
from storel.execution.run import measure
from storel.optimizer.sharing.filling import tables
from storel.optimizer.sharing.tabulating import tabulated
from storel.optimizer.terms.factoring import factored
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, SizeSymbol

CHAIN = "CREATE TENSOR y AS sum(<(i, j), a> in A, <(j, k), b> in B) { i -> a * b }"
FORMATS = ["tiled", "sell", "hyb", "bucketed_ell", "band_coo", "bcsr_csr", "ell", "coo", "dcsr", "ragged"]


def operands(storage: str, size: int, density: float = 0.2) -> dict[str, storel.Tensor]:
    rng = np.random.default_rng(size)
    return {name: storel.tensor(sp.random(size, size, density, rng=rng)).to(storage) for name in ("A", "B")}


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("storage", FORMATS)
@pytest.mark.parametrize("size", [1, 13])
def test_a_product_and_its_row_sums(storage: str, size: int, backend: str) -> None:
    given: dict[str, Any] = operands(storage, size)
    found: Any = storel.run(CHAIN, backend=backend, **given)
    left, right = (each.to_numpy() for each in given.values())
    np.testing.assert_allclose(found.to_numpy(), (left @ right).sum(axis=1))


@pytest.mark.parametrize("storage", FORMATS)
def test_every_table_keeps_the_value(storage: str) -> None:
    given: dict[str, Any] = operands(storage, 8, 0.4)
    kernel = normalized(CHAIN, **given)
    symbols = kernel.compilation.symbols
    values = kernel.environment.physical_arrays() | {
        name: fact.value for name, fact in symbols.items() if isinstance(fact, SizeSymbol)
    }
    around = Surroundings(dict(symbols), values)
    term = factored(kernel.compilation.optimized.normalized, symbols)
    expected = rounded(evaluate(term, around.symbols, around.values))
    moves = [*tabulated(term, symbols), *tabulated(term, symbols, rows=True)]
    assert moves
    for move in [*moves, *tabulated(moves[-1], symbols)]:
        verify(move, symbols)
        assert rounded(evaluate(move, around.symbols, around.values)) == expected


def rounded(value: Any) -> dict[int, float]:
    return {key: round(each, 9) for key, each in value.items()}


@pytest.mark.parametrize("storage", ["tiled", "sell", "hyb", "bucketed_ell", "ell"])
def test_rows_are_added_up_once(storage: str) -> None:
    given: dict[str, Any] = operands(storage, 200, 0.05)
    kernel = storel.compile(CHAIN, **given)
    _, work = measure(kernel.compilation, kernel.environment)
    stored = sum(len(array) for name, array in given["A"].arrays.items() if "val" in name)
    assert work.multiplications <= 1.1 * stored


KEYS = Range(number(0), Symbol("n"))
SYMBOLS = {
    "n": SizeSymbol("n", 4),
    "rows": ArraySymbol("rows", ScalarType.INT64, 3, low=0, high=3, ascending=True),
    "loose": ArraySymbol("loose", ScalarType.INT64, 3, low=-1, high=3, ascending=True),
    "val": ArraySymbol("val", ScalarType.FLOAT64, 3),
}
VALUES = {
    "n": 4,
    "rows": np.array([0, 2, 2]),
    "loose": np.array([-1, 2, 2]),
    "val": np.array([0.5, 1.0, 2.0]),
}


def searched(array: str) -> Find:
    """Return what lies at the positions of a key (variable 1): a value, times the key plus one."""
    return Find(Symbol(array), var(1), Multiply(Lookup(Symbol("val"), var(0)), Add(var(2), number(1))))


@pytest.mark.parametrize(
    ("entry", "loops"),
    [
        (searched("rows"), 1),
        (Add(searched("rows"), searched("rows")), 2),
        (Add(searched("rows"), var(1)), 2),
        (Sum(Symbol("val"), Multiply(var(0), Add(var(3), number(1)))), 2),
    ],
    ids=["found", "sums", "sum of a value", "loop"],
)
def test_a_table_is_filled_loop_by_loop(entry: Term, loops: int) -> None:
    by_rows, by_loops = tables(KEYS, entry, SYMBOLS, (KEY, KEY))
    expected = evaluate(by_rows, SYMBOLS, VALUES)
    assert evaluate(by_loops, SYMBOLS, VALUES) == expected
    assert sum(isinstance(each, Sum) for each in parts(by_loops)) == loops


@pytest.mark.parametrize(
    "entry",
    [
        Multiply(number(3), searched("rows")),
        Sum(Symbol("val"), Multiply(Multiply(Add(var(0), var(1)), shift(searched("rows"), 2)), var(0))),
    ],
    ids=["scaled", "scaled in a loop"],
)
def test_what_is_found_is_scaled_where_it_lies(entry: Term) -> None:
    by_rows, by_loops = tables(KEYS, entry, SYMBOLS, (KEY, KEY))
    assert evaluate(by_loops, SYMBOLS, VALUES) == evaluate(by_rows, SYMBOLS, VALUES)
    assert not any(isinstance(each, Find) for each in parts(by_loops))


def test_a_row_scales_nothing() -> None:
    """What multiplies all that is found is a number: a row has keys of its own."""
    row = Sum(Symbol("val"), Singleton(var(1), var(0)))
    found = Find(Symbol("rows"), var(1), Singleton(var(0), number(1)))
    (by_rows,) = tables(KEYS, Multiply(row, found), SYMBOLS, (KEY, KEY))
    assert isinstance(by_rows, Sum) and isinstance(by_rows.body, Singleton)


def test_a_value_is_a_row_of_the_semiring_that_adds_it_up() -> None:
    """0 is no entry where numbers are added up, and is one where the least is taken."""
    loop = Sum(Symbol("val"), Add(var(0), number(1), "min_plus"), "min_plus")
    for entry in (Add(loop, number(0), "min_plus"), Add(loop, Sum(KEYS, number(0)), "min_plus")):
        by_rows, by_loops = tables(KEYS, entry, SYMBOLS, (KEY, KEY))
        made = evaluate(by_rows, SYMBOLS, VALUES)
        assert made == dict.fromkeys(range(4), 0)
        assert evaluate(by_loops, SYMBOLS, VALUES) == made


@pytest.mark.parametrize(("array", "keys"), [("loose", KEYS), ("rows", Range(number(0), number(3)))])
def test_what_may_be_found_for_no_row_is_looked_for_row_by_row(array: str, keys: Range) -> None:
    (by_rows,) = tables(keys, searched(array), SYMBOLS, (KEY, KEY))
    assert isinstance(by_rows, Sum) and isinstance(by_rows.body, Singleton)


def parts(term: Term) -> list[Term]:
    return [term, *(part for child, _ in children(term) for part in parts(child))]


def before(key: Term) -> Term:
    """The sum of ``val`` at the positions below a key."""
    return Sum(Range(number(0), key), Lookup(Symbol("val"), var(1)))


def test_a_table_is_read_for_other_keys_that_it_holds() -> None:
    """Of sums of ``val`` before a position: a key, one no larger, and the next, which may be too large."""

    smaller, larger = Apply("minimum", (var(1), number(1))), Add(var(1), number(1))
    loop = Sum(Range(number(0), number(3)), Add(Add(before(var(1)), before(smaller)), before(larger)))
    moves = [move for move in tabulated(loop, SYMBOLS) if isinstance(move, Let)]
    lookups = [[each for each in parts(move.body) if isinstance(each, Lookup)] for move in moves]
    assert [var(1), smaller] in [[each.key for each in found if each.mapping == var(2)] for found in lookups]
    for move in moves:
        assert evaluate(move, SYMBOLS, VALUES) == evaluate(loop, SYMBOLS, VALUES)


def test_a_single_entry_has_no_table_of_its_own() -> None:
    assert not list(tabulated(nested(3, body=Singleton(var(1), before(var(1)))), SYMBOLS, rows=True))


def test_a_multiple_of_a_key_is_tabulated_by_the_key() -> None:
    """The sums before every second position: there is no table with a row for each position."""
    loop = Sum(Range(number(0), number(2)), before(Multiply(number(2), var(1))))
    moves = [move for move in tabulated(loop, SYMBOLS) if isinstance(move, Let)]
    assert moves
    for move in moves:
        assert next(each.high for each in parts(move.value) if isinstance(each, Range)) == number(2)
        assert evaluate(move, SYMBOLS, VALUES) == evaluate(loop, SYMBOLS, VALUES) == 1.5


def test_a_key_that_takes_a_loop_is_read_from_a_table() -> None:
    """Entries at the number of positions before a variable, which an inner loop repeats."""
    count = Sum(Range(number(0), var(3)), number(1))
    loop = nested(3, 2, body=Singleton(count, number(1)))
    moves = [move for move in tabulated(loop, SYMBOLS) if isinstance(move, Let)]
    assert moves
    for move in moves:
        keys = [each.key for each in parts(move.body) if isinstance(each, Singleton)]
        assert [type(key) for key in keys] == [Lookup]
        assert evaluate(move, SYMBOLS, VALUES) == evaluate(loop, SYMBOLS, VALUES) == {0: 2, 1: 2, 2: 2}


def test_a_key_that_may_fail_is_not_asked_for_where_nothing_is_added_up() -> None:
    key = Apply("floor_divide", (number(6), Lookup(Symbol("rows"), var(3))))
    none = Sum(Range(number(0), number(0)), Lookup(Symbol("val"), Apply("minimum", (key, number(2)))))
    loop = Sum(Range(number(0), number(3)), none)
    assert not list(tabulated(loop, SYMBOLS))
    assert evaluate(loop, SYMBOLS, VALUES) == 0


PLACE = Add(Multiply(number(2), var(3)), var(1))
"""In the second of two loops up to 2: the last place of all is 3, where ``rows`` ends before."""


@pytest.mark.parametrize(
    ("end", "value"),
    [
        (
            Apply("minimum", (number(2), Apply("subtract", (number(3), Multiply(number(2), var(1)))))),
            before(Lookup(Symbol("rows"), PLACE)),
        ),
        (number(2), If(Apply("less", (PLACE, number(3))), before(Lookup(Symbol("rows"), PLACE)))),
    ],
    ids=["by its loops", "by what was asked"],
)
def test_a_key_is_read_where_its_place_is_proved_to_exist(end: Term, value: Term) -> None:
    loop = Sum(Range(number(0), number(2)), Sum(Range(number(0), end), value))
    moves = [move for move in tabulated(loop, SYMBOLS) if isinstance(move, Let)]
    read = {each.key for move in moves for each in parts(move.body) if isinstance(each, Lookup)}
    assert Lookup(Symbol("rows"), PLACE) in read
    for move in moves:
        assert evaluate(move, SYMBOLS, VALUES) == evaluate(loop, SYMBOLS, VALUES) == 0.5 * 0 + 1.5 * 2


NUMBERS = Range(number(0), number(3))


def of_a_pair(row: int, key: int, source: Term = NUMBERS) -> Term:
    """The sum of a number times what ``val`` has at two variables, seen from outside of its loop."""
    first, second = (Lookup(Symbol("val"), var(index + 2)) for index in (row, key))
    return Sum(source, Multiply(var(1), Add(first, second)))


def nested(*ends: int, body: Term) -> Term:
    for end in reversed(ends):
        body = Sum(Range(number(0), number(end)), body)
    return body


def pairs(term: Term) -> list[Term]:
    """Return the moves that read a table of two keys; all have the same value."""
    found = [
        move
        for move in tabulated(term, SYMBOLS)
        if any(isinstance(each, Lookup) and isinstance(each.mapping, Lookup) for each in parts(move))
    ]
    for move in found:
        verify(move, SYMBOLS)
        assert evaluate(move, SYMBOLS, VALUES) == evaluate(term, SYMBOLS, VALUES)
    return found


@pytest.mark.parametrize(("row", "key"), [(3, 1), (5, 1), (5, 3), (1, 3)])
def test_what_two_loops_depend_on_is_made_once_for_each_pair(row: int, key: int) -> None:
    (move,) = pairs(nested(3, 2, 3, body=of_a_pair(row, key)))
    assert isinstance(move, Let)
    table = move.value
    assert isinstance(table, Sum) and isinstance(table.body, Singleton)
    ends = [table.source, table.body.value.source] if isinstance(table.body.value, Sum) else []
    outer, inner = max(row, key), min(row, key)
    assert ends == [Range(number(0), number({5: 3, 3: 2, 1: 3}[index])) for index in (outer, inner)]


def test_what_no_other_loop_repeats_has_no_table_of_pairs() -> None:
    assert not pairs(nested(3, 2, body=of_a_pair(3, 1)))


def test_what_is_stored_has_no_table_of_pairs() -> None:
    assert not pairs(nested(3, 2, 3, body=of_a_pair(3, 1, Symbol("val"))))


def test_keys_of_a_pair_may_run_over_a_range_of_their_own() -> None:
    """The innermost loop ends where the outermost one is: the table has a row for all keys it may have."""
    rest = nested(2, body=Sum(Range(number(0), Add(var(3), number(1))), of_a_pair(5, 1)))
    (move,) = pairs(Sum(Range(number(0), number(3)), rest))
    assert isinstance(move, Let)
    table = move.value
    assert isinstance(table, Sum) and table.source == Range(number(0), number(3))


def test_a_table_of_pairs_lies_inside_of_what_else_its_entries_depend_on() -> None:
    first, second, third = (Lookup(Symbol("val"), var(index + 2)) for index in (1, 5, 7))
    loop = Sum(NUMBERS, Multiply(var(1), Add(Multiply(first, second), third)))
    (move,) = [each for each in pairs(nested(3, 2, 3, 2, body=loop)) if isinstance(each, Sum)]
    assert move.source == NUMBERS
    assert isinstance(move.body, Let)
