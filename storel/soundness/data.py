"""Random data for instances of rules: what the names of a term stand for.

Arrays of positions and of keys: segments that increase, arrays that increase as a whole, pairs and triples
that do not repeat, and some of which nothing is known (they repeat keys, and hold negative ones).
"""

from __future__ import annotations

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


def listed(semiring: str, array: str, column: Term) -> tuple[Symbol, Singleton]:
    """Return an array of rows, and the entry at a position (variable 1) in one of them (variable 0)."""
    address = Apply("modulo", (Variable(1), Literal(6, ScalarType.INT64)))
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


@st.composite
def data(draw: st.DrawFn, semiring: str) -> Surroundings:
    """Draw arrays: segments, increasing, loose, of pairs and of triples, and values of a semiring."""
    size = st.integers(0, 4)
    loose = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    increasing = sorted(draw(st.sets(st.integers(0, 5), max_size=4)))
    rows = [sorted(draw(st.sets(st.integers(0, 3), max_size=3))) for _ in range(3)]
    pairs = sorted(draw(st.sets(st.tuples(size, size), min_size=1, max_size=4)))
    triples = sorted(draw(st.sets(st.tuples(size, size, size), min_size=1, max_size=4)))
    arrays = {
        "pos": [sum(len(row) for row in rows[:end]) for end in range(4)],
        "idx": [key for row in rows for key in row],
        "u": loose,
        "negative": [key - 1 for key in loose],
        "e": increasing,
        "f": sorted(draw(st.sets(st.integers(0, 5), max_size=4))),
        **{name: [pair[i] for pair in pairs] for i, name in enumerate(("row", "column"))},
        **{name: [triple[i] for triple in triples] for i, name in enumerate(("first", "second", "third"))},
    }
    facts: dict[str, dict[str, Any]] = {
        "pos": {"ascending": True},
        "idx": {"within": "pos"},
        "e": {"ascending": True, "increasing": True, "unique": True},
        "f": {"ascending": True, "increasing": True, "unique": True},
        "row": {"ascending": True, "group": ("row", "column")},
        "first": {"ascending": True, "group": ("first", "second", "third")},
    }
    symbols: list[Fact] = [SizeSymbol("n", draw(st.integers(0, 4)))]
    for name, keys in arrays.items():
        known = facts.get(name, {})
        symbols.append(ArraySymbol(name, ScalarType.INT64, len(keys), -1, 20, **known))
    kind = ScalarType.BOOL if semiring == "or_and" else ScalarType.FLOAT64
    x = draw(st.lists(st.sampled_from(VALUES[semiring]), min_size=6, max_size=6))
    symbols.append(ArraySymbol("x", kind, 6))
    symbols.append(MappingSymbol("P", Sum(*pairs_once(semiring), semiring)))
    symbols.append(MappingSymbol("C", Add(*columns(semiring), semiring)))
    values = {name: np.array(keys, dtype=np.int64) for name, keys in arrays.items()} | {"x": np.array(x)}
    return Surroundings({symbol.name: symbol for symbol in symbols}, values)
