from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import storel
from storel.errors import FormatError
from storel.source import Source
from storel.storage.entries import Entries
from storel.storage.formats.format import Format
from storel.storage.packing.parameters import with_parameters_of
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse

DENSE = np.array([[1, 0, 2, 0], [0, 0, 0, 0], [0, 3, 4, 5], [7, 0, 0, 0]], dtype=float)


BY_COLUMNS = "sum(<(a, b), v> in T) { (b, a) -> v }"


def with_default(default: str) -> Format:
    text = (
        f"CREATE FORMAT f(T: real[m, n]; k: int = {default}) USING val: real[k] "
        "AS sum(<i, _> in 0:k) { (i, i) -> val(i) }"
    )
    (statement,) = parse(Source("test", text)).statements
    assert isinstance(statement, CreateFormat)
    return Format("f", statement)


DEFAULTS = [
    ("max(<(i, j), v> in T) (i - j)", 3),
    ("max(<(i, j), v> in T) (j - i) + 1", 3),
    ("min(<(i, j), v> in T) (i - j)", 0),
    ("max(<i, row> in T) count(<j, v> in row)", 3),
    ("count(<i, row> in T)", 3),
    ("count(<(i, j), v> in T)", 6),
    ("m * n - count(<(i, j), _> in T)", 10),
    ("max(<i, row> in T) (max(<j, _> in row) j - min(<j, _> in row) j) + 1", 3),
    ("max(<i, row> in T) min(<j, _> in row) (j - i)", 0),
    ("sum(<i, row> in T) min(count(<j, _> in row), 2)", 5),
    ("sum(<(i, j), _> in T) (i + j)", 17),
    ("max(<i, row> in T) sum(<j, _> in row) j", 6),
    ("(sum(<i, row> in T) min(count(<j, _> in row), count(<(_, _), _> in T) // 4)) // 4", 0),
    (f"max(<j, column> in {BY_COLUMNS}) (10 * j - count(<i, _> in column))", 29),
    (f"count(<_, _> in {BY_COLUMNS}) - count(<_, _> in T) + 1", 2),
    (f"sum(<i, row> in T) max(0, i - count(<_, _> in {BY_COLUMNS}) + 2)", 1),
]


@pytest.mark.parametrize(("default", "expected"), DEFAULTS)
def test_a_default_is_computed_from_the_entries(default: str, expected: int) -> None:
    # every place is given, zeros and a duplicate that cancels included
    coordinates = np.hstack([np.indices(DENSE.shape).reshape(2, -1), [[0, 0], [3, 3]]])
    values = np.append(DENSE.reshape(-1), [1.0, -1.0])
    found = with_parameters_of(with_default(default), Entries(coordinates, values, DENSE.shape))
    assert found.arguments == {"k": expected}


OF_NOTHING = {
    "n + 3": 7,
    "max(1, max(<(i, j), v> in T) i)": 1,
    "1 << bits(count(<(i, j), v> in T))": 1,
    "m * n - count(<(i, j), _> in T)": 16,
}


@pytest.mark.parametrize("default", [*(default for default, _ in DEFAULTS), *OF_NOTHING])
def test_of_no_entries_all_reductions_are_0(default: str) -> None:
    nothing = np.empty((2, 0), dtype=np.int64), np.empty(0)
    found = with_parameters_of(with_default(default), Entries(*nothing, (4, 4)))
    expected = OF_NOTHING.get(default, 1 if default.endswith("+ 1") else 0)
    assert found.arguments == {"k": expected}


@pytest.mark.parametrize(
    "default",
    [
        "prod(<(i, j), v> in T) i",
        "max(<(i, j), v> in U) i",
        "max(<(i, j, k), v> in T) i",
        "max(<i, _> in sum(<(i, j), v> in T) { (j, j) -> v }) i",
        "max(<i, _> in sum(<(i, j), v> in T) { (j, i) -> 2 * v }) i",
        "max(<i, _> in sum(<(i, j), v> in T) { (j, i) -> i }) i",
        "max(<(i, j, _), _> in sum(<(i, j), v> in T) { (j, i, 0) -> v }) i",
        "max(<i, row> in T) max(<j, _> in sum(<j, v> in row) { j -> v }) j",
    ],
)
def test_what_is_not_computed_from_the_tensor_is_an_error(default: str) -> None:
    with pytest.raises(FormatError, match="a default is computed from the tensor"):
        with_parameters_of(with_default(default), Entries(np.array([[0], [0]]), np.ones(1), (1, 1)))


TEXTS = [
    ("band", "band(lower=3, upper=2)"),
    ("band(upper=3)", "band(lower=3, upper=3)"),
    ("band(3)", "band(lower=3, upper=2)"),
    ("ell", "ell(width=3)"),
    ("ell(4)", "ell(width=4)"),
    ("bcsr(c=2)", "bcsr(r=4, c=2)"),
]


@pytest.mark.parametrize(("text", "full"), TEXTS)
def test_a_tensor_knows_the_parameters_it_was_packed_with(text: str, full: str, tmp_path: Path) -> None:
    tensor = storel.tensor(DENSE, text)
    assert tensor.format == full
    np.testing.assert_array_equal(tensor.to_numpy(), DENSE)
    tensor.save(tmp_path / "saved.npz")
    assert storel.read(tmp_path / "saved.npz").format == full
    twice = storel.run(f"CREATE TENSOR Y STORED AS {text} AS A + A", A=tensor)
    assert isinstance(twice, storel.Tensor)
    assert twice.format == full
    np.testing.assert_array_equal(twice.to_numpy(), 2 * DENSE)


@pytest.mark.parametrize("default", ["max(<(i, j), v> in T) v", "max(<i, row> in T) row", "T + 1"])
def test_values_are_no_keys(default: str) -> None:
    with pytest.raises(FormatError, match=r"a default is computed from keys, and '(v|row|T)' is none"):
        with_parameters_of(with_default(default), Entries(np.array([[0], [1]]), np.ones(1), (4, 4)))
