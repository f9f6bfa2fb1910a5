from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

import storel
from storel.scalars import ScalarType
from storel.storage.build import from_coordinates
from storel.storage.facts import symbols_of
from storel.storage.formats.known import Formats
from storel.symbols import ArraySymbol, SizeSymbol

FORMATS = Formats()
INDICES = partial(ArraySymbol, type=ScalarType.INT32, finite=True, holds_indices=True)
COORDINATES = np.array([[0, 0, 2, 2], [0, 3, 1, 3]])


def test_declared_properties_and_statistics_become_facts() -> None:
    tensor = from_coordinates(
        COORDINATES, np.array([1.0, 2.0, np.inf, 4.0]), (3, 4), FORMATS, FORMATS.find("csr", 2)
    )
    assert symbols_of(tensor, "C") == {
        "C_pos": INDICES("C_pos", length=4, low=0, high=4, ascending=True, first=0, last=4, distinct=3),
        "C_idx": INDICES("C_idx", length=4, low=0, high=3, within="C_pos"),
        "C_val": ArraySymbol("C_val", ScalarType.FLOAT64, 4, nonzeros=4, nonzero=True, finite=False),
        "C_m": SizeSymbol("C_m", 3),
        "C_n": SizeSymbol("C_n", 4),
        "C_nnz": SizeSymbol("C_nnz", 4),
    }


def test_tuples_that_increase_are_a_group() -> None:
    tensor = from_coordinates(COORDINATES, np.array([1, 2, 3, 4]), (3, 4), FORMATS, FORMATS.find("coo", 2))
    facts = symbols_of(tensor, "A")
    group = ("A_row", "A_col")
    assert facts["A_row"] == INDICES(
        "A_row", length=4, low=0, high=2, ascending=True, group=group, distinct=2
    )
    assert facts["A_col"] == INDICES("A_col", length=4, low=0, high=3, group=group)


def test_dense_values_count_their_nonzeros() -> None:
    tensor = from_coordinates(COORDINATES, np.ones(4), (3, 4), FORMATS, FORMATS.find("dense", 2))
    fact = symbols_of(tensor, "A")["A_val"]
    assert isinstance(fact, ArraySymbol)
    assert (fact.length, fact.nonzeros, fact.finite) == (12, 4, True)


def test_a_range_that_ends_before_it_begins_has_facts(tmp_path: Path) -> None:
    """There are m + n - 1 anti-diagonals, of an empty matrix one less than none."""
    (tmp_path / "slanted.sdql").write_text(
        """CREATE FORMAT slanted(T: real[m, n])
          USING off: int[d] IN 0:m + n - 1 INCREASING, val: real[d * m]
          AS sum(<p, o> in off(0:d)) sum(<i, _> in max(0, o - n + 1):min(m, o + 1))
               { (i, o - i) -> val(p * m + i) }"""
    )
    empty = storel.tensor(np.zeros((0, 0)), "slanted", formats=tmp_path)
    squares = storel.run("CREATE TENSOR s AS sum(<(_, _), a> in A) a * a", A=empty)
    assert isinstance(squares, storel.Tensor) and float(squares) == 0


def test_an_empty_tensor_has_facts() -> None:
    empty = np.zeros((2, 0), dtype=np.int64)
    tensor = from_coordinates(empty, np.zeros(0), (0, 4), FORMATS, FORMATS.find("dcsr", 2))
    fact = symbols_of(tensor, "A")["A_row"]
    assert isinstance(fact, ArraySymbol)
    assert (fact.length, fact.low, fact.high, fact.increasing) == (0, 0, -1, True)
