from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from storel.errors import DataError, StorelError
from storel.source import Source
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.formats.properties import lengths, verify_properties
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse

FORMATS = Formats()

CSR = {"pos": [0, 2, 2, 3], "idx": [0, 3, 1], "val": [1.0, 2.0, 3.0]}
COO = {"row": [0, 0, 2], "col": [1, 3, 0], "val": [1.0, 2.0, 3.0]}


def arrays(base: dict[str, list[Any]], **changes: Any) -> dict[str, Any]:
    return {name: np.array(array) for name, array in (base | changes).items() if array is not None}


def verify(name: str, given: dict[str, Any]) -> None:
    storage = FORMATS.find(name, 2)
    sizes = lengths(storage, {"m": 3, "n": 4}, given)
    verify_properties(storage, given, sizes)


def test_good_arrays_pass_and_fix_the_length_symbols() -> None:
    verify("csr", arrays(CSR))
    verify("coo", arrays(COO))
    sizes = lengths(FORMATS.find("csr", 2), {"m": 3, "n": 4}, arrays(CSR))
    assert sizes == {"m": 3, "n": 4, "nnz": 3}


BROKEN = [
    ("csr", arrays(CSR, idx=[0, 4, 1]), "idx(1) = 4 is outside 0:4"),
    ("csr", arrays(CSR, idx=[0, 3, -1]), "idx(2) = -1 is outside 0:4"),
    ("csr", arrays(CSR, idx=[2, 0, 1]), "idx(0) = 2, idx(1) = 0: not INCREASING (segment 0)"),
    (
        "csr",
        arrays(CSR, pos=[0, 0, 0, 3], idx=[0, 1, 1]),
        "idx(1) = 1, idx(2) = 1: not INCREASING (segment 2)",
    ),
    ("csr", arrays(CSR, pos=[0, 2, 1, 3]), "pos(1) = 2, pos(2) = 1: not ASCENDING"),
    ("csr", arrays(CSR, pos=[1, 2, 2, 3]), "pos(0) is 1\n  expected: 0"),
    ("csr", arrays(CSR, pos=[0, 2, 2, 2]), "pos(3) is 2\n  expected: 3"),
    (
        "csr",
        arrays(CSR, pos=[0, 2, 3]),
        "array pos has the wrong length\n  expected: 4 elements\n  found: 3",
    ),
    (
        "csr",
        arrays(CSR, val=[1.0, 2.0]),
        "array val has the wrong length\n  expected: 3 elements\n  found: 2",
    ),
    (
        "csr",
        arrays(CSR, pos=None),
        "format csr needs the array pos\n  expected: pos, idx, val\n  found: idx, val",
    ),
    (
        "csr",
        arrays(CSR, idx=[0.0, 3.0, np.nan]),
        "array idx holds float64 numbers\n  expected: integers\n"
        "  hint: positions and keys must be int32 or int64",
    ),
    ("csr", arrays(CSR, val=[[1.0], [2.0], [3.0]]), "array val has 2 dimensions\n  expected: one dimension"),
    (
        "coo",
        arrays(COO, row=[0, 2, 0]),
        "(row, col) at 1 = (2, 3), at 2 = (0, 0): not INCREASING",
    ),
    (
        "coo",
        arrays(COO, col=[1, 1, 0]),
        "(row, col) at 0 = (0, 1), at 1 = (0, 1): not INCREASING",
    ),
]


@pytest.mark.parametrize(("name", "given", "message"), BROKEN)
def test_a_broken_promise_is_named(name: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as raised:
        verify(name, given)
    assert str(raised.value) == message


def declared(properties: str) -> Format:
    text = f"CREATE FORMAT f(T: real[m]) USING a: int[d] {properties} AS sum(<p, i> in a(0:d)) {{ i -> 1.0 }}"
    (statement,) = parse(Source("test", text)).statements
    assert isinstance(statement, CreateFormat)
    return Format("f", statement)


PROPERTIES = [
    ("ASCENDING", [1, 1, 2], [2, 1, 3], "a(0) = 2, a(1) = 1: not ASCENDING"),
    ("INCREASING", [1, 2, 3], [1, 2, 2], "a(1) = 2, a(2) = 2: not INCREASING"),
    ("UNIQUE", [3, 1, 2], [3, 1, 3], "a(0) = a(2) = 3: not UNIQUE"),
    ("IN 0:m", [0, 4], [0, 5], "a(1) = 5 is outside 0:5"),
    ("IN -1:m PAD -1", [-1, 4], [-1, 5], "a(1) = 5 is outside -1:5"),
    ("IN 0:m PAD 9", [9, 4, 9], [9, 8], "a(1) = 8 is outside 0:5"),
    ("FROM 0 TO m - 1", [0, 9, 4], [0, 9, 5], "a(2) is 5\n  expected: 4"),
    ("FROM 0 TO 0", [0], [], "a(0) is nothing\n  expected: 0"),
]


@pytest.mark.parametrize(("properties", "good", "bad", "message"), PROPERTIES)
def test_each_property(properties: str, good: list[int], bad: list[int], message: str) -> None:
    storage = declared(properties)
    verify_properties(storage, {"a": np.array(good)}, {"m": 5, "d": len(good)})
    with pytest.raises(DataError) as raised:
        verify_properties(storage, {"a": np.array(bad, dtype=np.int64)}, {"m": 5, "d": len(bad)})
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ("INCREASING WITHIN pos", "unknown array 'pos'"),
        ("INCREASING (a, pos)", "unknown array 'pos'"),
        ("INCREASING WITHIN b", "array b holds float64 numbers"),
        ("INCREASING (a, c)", "the arrays a, c are not of one length"),
    ],
)
def test_what_a_property_names(properties: str, message: str) -> None:
    arrays = {"a": np.array([1, 2]), "b": np.array([0.0, 2.0]), "c": np.array([1])}
    with pytest.raises(StorelError, match=message):
        verify_properties(declared(properties), arrays, {"m": 5, "d": 2})
