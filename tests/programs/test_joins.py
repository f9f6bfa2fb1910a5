"""Tables that are joined by their columns take a step for each of their rows, however a program says it."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import permutations
from typing import Any, TypeAlias

import numpy as np
import pytest

import storel

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

EXTENTS = {"l": "l_o", "o": "o_key", "c": "c_key", "s": "s_key"}
JOINED = ["l_o(l) == o_key(o)", "o_c(o) == c_key(c)", "l_s(l) == s_key(s)"]
NATIONS = 25
ROWS = 30_000


def discounted(price: Array, disc: Array, date: Array) -> Array:
    return price * (1 - disc)


def aged(price: Array, disc: Array, date: Array) -> Array:
    return price * date


def apart(price: Array, disc: Array, date: Array) -> Array:
    return abs(price - disc)


VALUES = {
    "l_price(l) * (1 - l_disc(l))": discounted,
    "(1 - l_disc(l)) * l_price(l)": discounted,
    "l_price(l) * o_date(o)": aged,
    "abs(l_price(l) - l_disc(l))": apart,
}


def tables(lines: int, first: int = 0, dtype: type = np.int64) -> dict[str, Array]:
    """Return lines of orders of customers, and the suppliers of the lines; ids begin with ``first``."""
    random = np.random.default_rng(8)
    orders, customers, suppliers = lines // 4, lines // 40, lines // 600
    given = {
        "l_o": random.integers(0, orders, lines),
        "l_s": random.integers(0, suppliers, lines),
        "o_key": random.permutation(orders),
        "o_c": random.integers(0, customers, orders),
        "c_key": random.permutation(customers),
        "s_key": random.permutation(suppliers),
    }
    return {
        **{name: (ids + first).astype(dtype) for name, ids in given.items()},
        "l_price": random.random(lines),
        "l_disc": random.integers(0, 11, lines) / 100,
        "o_date": random.integers(0, 2500, orders),
        "c_nat": random.integers(0, NATIONS, customers),
        "s_nat": random.integers(0, NATIONS, suppliers),
    }


def program(order: tuple[str, ...], number: int) -> tuple[str, str, bool]:
    """Return a star join with its tables in an order; conditions, factors and names vary with ``number``."""
    is_cyclic = number % 2 == 0
    asked = [*JOINED, "o_date(o) < 900", *(["s_nat(s) == c_nat(c)"] if is_cyclic else [])]
    asked = [" == ".join(reversed(each.split(" == "))) if number % 3 == 0 else each for each in asked]
    turned = asked[number % len(asked) :] + asked[: number % len(asked)]
    value = list(VALUES)[number % len(VALUES)]
    sources = ", ".join(f"<{each}, _> in 0:extent({EXTENTS[each]}, 0)" for each in order)
    text = f"sum({sources}) if ({' and '.join(turned)}) then {{ c_nat(c) -> {value} }}"
    return f"CREATE TENSOR revenue: real[{NATIONS}] AS {text}", value, is_cyclic


def renamed(text: str, given: dict[str, Array], number: int) -> tuple[str, dict[str, Array]]:
    """Return a program and its operands, with other names if ``number`` is odd."""
    used = {name: array for name, array in given.items() if re.search(rf"\b{name}\b", text)}
    if number % 2 == 0:
        return text, used
    names = {name: f"q{number * place % 11:02}" for place, name in enumerate(given)}
    other = re.sub(r"\b[a-z]_[a-z]+\b", lambda found: names.get(found[0], found[0]), text)
    return other, {names[name]: array for name, array in used.items()}


def revenue(given: dict[str, Array], value: str, is_cyclic: bool) -> Array:
    """Return what the program computes; each id is that of one order, customer or supplier."""
    order = np.argsort(given["o_key"])[given["l_o"] - given["o_key"].min()]
    customer = np.argsort(given["c_key"])[given["o_c"] - given["c_key"].min()][order]
    supplier = np.argsort(given["s_key"])[given["l_s"] - given["s_key"].min()]
    nation, date = given["c_nat"][customer], given["o_date"][order]
    kept = date < 900
    if is_cyclic:
        kept &= given["s_nat"][supplier] == nation
    paid = VALUES[value](given["l_price"], given["l_disc"], date)
    return np.bincount(nation[kept], paid[kept], NATIONS)


@pytest.mark.parametrize(("number", "order"), list(enumerate(permutations("locs")))[::3])
@pytest.mark.parametrize("first", [0, -700])
def test_a_star_join_goes_through_rows(number: int, order: tuple[str, ...], first: int) -> None:
    """Pairs of the rows of two tables would be ten to ten thousand times as many."""
    number += first % 7
    given = tables(ROWS, first)
    text, value, is_cyclic = program(order, number)
    text, operands = renamed(text, given, number)
    kernel: Any = storel.compile(text, **operands)
    assert sum(kernel.compilation.optimized.cost.iterations) < 30 * ROWS
    np.testing.assert_allclose(kernel(**operands).to_numpy(), revenue(given, value, is_cyclic))


@pytest.mark.parametrize("number", [2, 14])
def test_a_star_join_reserves_no_memory_for_pairs(number: int) -> None:
    """What an index finds is not counted beforehand: a table of hashes would have room for all pairs."""
    given = tables(ROWS)
    text, value, is_cyclic = program(list(permutations("locs"))[number], number)
    text, operands = renamed(text, given, number)
    kernel: Any = storel.compile(text, memory_limit=10**8, **operands)
    np.testing.assert_allclose(kernel(**operands).to_numpy(), revenue(given, value, is_cyclic))


def at_the_ends(ids: Array) -> Array:
    """Return the least and the greatest integers of 64 bits."""
    ends = np.iinfo(np.int64)
    return np.where(ids < 2, ends.min + ids, ends.max - ids)


def hashed(ids: Array) -> Array:
    """Return other ids, anywhere among the integers of 64 bits."""
    return (ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)).astype(np.int64)


def below(first: int, dtype: type = np.int64) -> Callable[[Array], Array]:
    def moved(ids: Array) -> Array:
        return (ids + first).astype(dtype)

    return moved


SMALL = {
    "natural": below(0),
    "negative": below(-2),
    "of_32_bits": below(-3, np.int32),
    "at_the_ends": at_the_ends,
}


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("empty", ["", "l", "o"])
@pytest.mark.parametrize("number", [0, 1, 3])
def test_ids_may_be_any_numbers_and_may_repeat(kind: str, empty: str, number: int) -> None:
    random = np.random.default_rng(number)
    lengths = {table: 0 if table == empty else 7 + place for place, table in enumerate(EXTENTS)}
    ids = ["l_o", "l_s", "o_key", "o_c", "c_key", "s_key"]
    given = {name: SMALL[kind](random.integers(0, 5, lengths[name[0]])) for name in ids}
    given |= {name: random.random(lengths["l"]) for name in ("l_price", "l_disc")}
    given |= {name: random.integers(0, NATIONS, lengths[name[0]]) for name in ("c_nat", "s_nat")}
    given["o_date"] = random.integers(0, 2500, lengths["o"])
    text, operands = renamed(program(tuple("clos"), number)[0], given, number)
    wanted: Any = storel.run(text, backend="interpret", **operands)
    found: Any = storel.run(text, **operands)
    np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy())


OTHER = {"negative": below(-2500), "of_32_bits": below(-2500, np.int32), "hashed": hashed}
PAIRS = "sum(<i, _> in 0:extent(k, 0), <j, _> in 0:extent(m, 0)) if (k(i) == m(j)"


@pytest.mark.parametrize("kind", OTHER)
@pytest.mark.parametrize("made", ["v(i) * u(j)", "{ c(j) -> v(i) }", "{ c(j) -> abs(v(i) - u(j)) }"])
def test_ids_that_may_be_negative_are_looked_up(kind: str, made: str) -> None:
    count, random = 3000, np.random.default_rng(1)
    k, m = random.integers(0, 5000, (2, count))
    v, u, c = random.random(count), random.random(count), random.integers(0, 20, count)
    given: dict[str, Array] = {"k": OTHER[kind](k), "m": OTHER[kind](m), "v": v, "u": u, "c": c}
    text = f"CREATE TENSOR r{': real[20]' if '{' in made else ''} AS {PAIRS}) then {made}"
    operands = {name: array for name, array in given.items() if f"{name}(" in text or f"({name}," in text}
    kernel: Any = storel.compile(text, **operands)
    assert sum(kernel.compilation.optimized.cost.iterations) < 10 * count
    i, j = np.nonzero(k[:, None] == m)
    values = {"v(i) * u(j)": v[i] * u[j], "{ c(j) -> v(i) }": v[i]}.get(made, abs(v[i] - u[j]))
    wanted = np.bincount(c[j], values, 20) if "{" in made else values.sum()
    np.testing.assert_allclose(kernel(**operands).to_numpy(), wanted)
