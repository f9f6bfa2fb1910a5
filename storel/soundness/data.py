"""Random data for instances of rules: what the names of a term stand for.

Arrays of positions and of keys: segments that increase, arrays that increase as a whole, pairs and triples
that do not repeat, and some of which nothing is known (they repeat keys, and hold negative ones).
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from storel.calculus.nodes import Add, Apply, Literal, Lookup, Singleton, Sum, Symbol, Term, Variable
from storel.scalars import ScalarType
from storel.semiring import Scalar
from storel.symbols import ArraySymbol, Fact, MappingSymbol, SizeSymbol

VALUES: dict[str, tuple[Scalar, ...]] = {
    "plus_times": (0.0, 1.0, -1.0, 2.0, 0.5),
    "min_plus": (float("inf"), 0.0, 1.0, -2.0),
    "max_plus": (-float("inf"), 0.0, 1.0, -2.0),
    "max_times": (0.0, 1.0, 2.0, 0.5),
    "or_and": (False, True),
}
"""Values of each semiring, its zero and its one among them, whose sums are exact in any order."""


LENGTHS = {"u": 3, "x": 6, "short": 2}
"""How many elements at least arrays have whose elements are read: ``u`` mostly repeats some of them."""

SHORT_NUMBERS = (1, 0, -1, 2, 2**31 - 1)
"""Integers of 32 bits, one of which wraps around where anything is added to it."""

GROUPS = {"pairs": ("row", "column"), "triples": ("first", "second", "third")}
"""The arrays that fulfil a guard about several of them."""
RANKS = {"apart": (2,), "separate": (2,), "disjoint": (2,)}
"""The ranks of the dictionaries that a guard is about."""


def listed(semiring: str, array: str, column: Term) -> tuple[Symbol, Singleton]:
    """Return an array of rows, and the entry at a position (variable 1) in one of them (variable 0)."""
    address = Apply("modulo", (Variable(1), Literal(LENGTHS["x"], ScalarType.INT64)))
    value = Lookup(Symbol("x"), address, semiring)
    return Symbol(array), Singleton(Variable(0), Singleton(column, value, semiring), semiring)


def pairs_once(semiring: str) -> tuple[Symbol, Singleton]:
    """Return a list of entries that makes none twice, since its pairs do not repeat."""
    return listed(semiring, "row", Lookup(Symbol("column"), Variable(1)))


def columns(semiring: str) -> tuple[Sum, Sum]:
    """Return two columns, which have no entry in common."""
    one, other = (
        Sum(*listed(semiring, array, Literal(number, ScalarType.INT64)), semiring)
        for number, array in enumerate("ef")
    )
    return one, other


@dataclass(frozen=True)
class Surroundings:
    """The names that a term may mention: the facts about them, and their values."""

    symbols: dict[str, Fact]
    values: dict[str, Any]


def _some(keys: st.SearchStrategy[int], least: int) -> st.SearchStrategy[tuple[list[int]]]:
    return st.lists(keys, min_size=least, max_size=4).map(lambda drawn: (drawn,))


def _increasing() -> st.SearchStrategy[tuple[list[int]]]:
    return st.sets(st.integers(0, 3), max_size=3).map(lambda drawn: (sorted(drawn),))


def _segments() -> st.SearchStrategy[tuple[list[int], list[int]]]:
    """Return what draws the boundaries of three rows, and their increasing elements."""
    rows = st.lists(st.sets(st.integers(0, 3), max_size=3), min_size=3, max_size=3)
    return rows.map(
        lambda drawn: (
            [sum(map(len, drawn[:end])) for end in range(4)],
            [key for row in drawn for key in sorted(row)],
        )
    )


def _tuples(width: int) -> st.SearchStrategy[tuple[list[int], ...]]:
    """Return what draws so many arrays whose elements at a position are the same at no other."""
    drawn = st.sets(st.tuples(*[st.integers(0, 2)] * width), min_size=1, max_size=4)
    return drawn.map(lambda found: tuple(map(list, zip(*sorted(found), strict=True))))


ARRAYS: dict[tuple[str, ...], st.SearchStrategy[tuple[list[int], ...]]] = {
    ("pos", "idx"): _segments(),
    ("u",): _some(st.integers(0, 2), LENGTHS["u"]),
    ("negative",): _some(st.integers(-1, 1), 1),
    ("e",): _increasing(),
    ("f",): _increasing(),
    ("row", "column"): _tuples(2),
    ("first", "second", "third"): _tuples(3),
}
"""The arrays of integers that terms mention, with those that they are drawn together with."""

KNOWN: dict[str, dict[str, Any]] = {
    "pos": {"ascending": True},
    "idx": {"within": "pos"},
    "e": {"ascending": True, "increasing": True, "unique": True},
    "f": {"ascending": True, "increasing": True, "unique": True},
    "row": {"ascending": True, "group": ("row", "column")},
    "first": {"ascending": True, "group": ("first", "second", "third")},
}
"""What is always true of them. Elements are few and small: arrays repeat them, and have some in common."""


@st.composite
def data(draw: st.DrawFn, semiring: str, names: AbstractSet[str]) -> Surroundings:
    """Draw what ``names`` stand for: arrays of integers, values of a semiring, a size."""
    symbols: list[Fact] = [SizeSymbol("n", draw(st.integers(0, 4)) if "n" in names else 0)]
    values: dict[str, Any] = {}
    for together, arrays in ARRAYS.items():
        if names.isdisjoint(together):
            continue
        for name, keys in zip(together, draw(arrays), strict=True):
            symbols.append(ArraySymbol(name, ScalarType.INT64, len(keys), -1, 20, **KNOWN.get(name, {})))
            values[name] = np.array(keys, dtype=np.int64)
    if "x" in names:
        kind = ScalarType.BOOL if semiring == "or_and" else ScalarType.FLOAT64
        symbols.append(ArraySymbol("x", kind, LENGTHS["x"]))
        drawn = st.lists(st.sampled_from(VALUES[semiring]), min_size=LENGTHS["x"], max_size=LENGTHS["x"])
        values["x"] = np.array(draw(drawn))
    if "short" in names:
        symbols.append(ArraySymbol("short", ScalarType.INT32, LENGTHS["short"]))
        few = st.lists(st.sampled_from(SHORT_NUMBERS), min_size=LENGTHS["short"], max_size=LENGTHS["short"])
        values["short"] = np.array(draw(few), dtype=np.int32)
    symbols.append(MappingSymbol("P", Sum(*pairs_once(semiring), semiring)))
    symbols.append(MappingSymbol("C", Add(*columns(semiring), semiring)))
    return Surroundings({symbol.name: symbol for symbol in symbols}, values)
