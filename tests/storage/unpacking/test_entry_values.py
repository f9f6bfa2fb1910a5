"""What computed entries are: what the mapping means, over each semiring, whatever is computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import storel
from storel.errors import DataError
from storel.source import Source
from storel.storage.formats.format import Format
from storel.storage.unpacking.interpreted import interpreted_entries
from storel.storage.unpacking.unpack import enumerate_entries, list_entries
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse, parse_expression

SIZES = {"m": 3, "n": 2}
ARRAYS = {
    "u": np.array([0.5, 0.0, np.inf]),
    "v": np.array([2.0, np.inf]),
    "w": np.array([1.0, 3.0, 0.25, 0.0, 2.0, np.inf]),
}
ON_VECTORS = [
    "u(i) * v(j)",
    "u(i) * v(j) + w(i * n + j)",
    "(u(i) + v(j)) * w(i * n + j)",
    "u(i) * (if (i == j) then v(j) else w(i * n + j))",
    "u(i) * (if (i == j) then v(j))",
    "max(u(i) * v(j), w(i * n + j))",
    "exp(u(i) * v(j)) + sqrt(u(i) + v(j)) * floor(w(i * n + j))",
    "pow(u(i), j + 2) * v(j)",
]
ONE_BY_ONE = [
    "sigmoid(u(i) * v(j)) + w(i * n + j)",
    "exp(sum(<k, _> in 0:n) u(i) * v(k) + w(i * n + j))",
    "u(i) * v(j) * (max(<k, _> in 0:n) w(i * n + k))",
    "u(i) * v(j) + w(i * n + j) * (if (j > 0) then v(j - 1) else 1)",
    "u(i) * v(j) * w(i * n + j) * ((i < j) + (i < 2))",
]
ORDINARY = ["u(i) * v(j) - w(i * n + j) / 2", "-(u(i) * v(j)) + w(i * n + j)"]


SEMIRINGS = ["plus_times", "min_plus", "max_plus", "max_times"]
CASES = [
    *((value, semiring) for value in (*ON_VECTORS, *ONE_BY_ONE) for semiring in SEMIRINGS),
    *((value, "plus_times") for value in ORDINARY),
]


def text_of(value: str) -> str:
    return f"""CREATE FORMAT f(T: real[m, n]) USING u: real[m], v: real[n], w: real[m * n]
      AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) {{ (i, j) -> {value} }}"""


def created(value: str) -> Format:
    (statement,) = parse(Source("test", text_of(value))).statements
    assert isinstance(statement, CreateFormat)
    return Format("f", statement)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("value", "semiring"), CASES)
def test_values_are_computed_over_the_semiring(value: str, semiring: str) -> None:
    storage = created(value)
    coordinates, values = enumerate_entries(storage, ARRAYS, SIZES, semiring)
    wanted = interpreted_entries(storage.mapping, ARRAYS, SIZES, (3, 2), semiring, coordinates.dtype)
    np.testing.assert_array_equal(coordinates, wanted[0])
    np.testing.assert_allclose(values, wanted[1])


@pytest.mark.parametrize("value", ON_VECTORS)
def test_what_vectors_hold_is_not_interpreted(value: str) -> None:
    assert len(list_entries(created(value), ARRAYS, SIZES, "plus_times")[1])


@pytest.mark.parametrize("value", ["u(i) * v(j) + w(i * n + j)", ONE_BY_ONE[1]])
def test_what_is_read_back_is_what_kernels_compute(value: str, tmp_path: Path) -> None:
    (tmp_path / "f.sdql").write_text(text_of(value))
    for semiring in SEMIRINGS[:3]:
        stored = storel.tensor(ARRAYS, "f", (3, 2), semiring, formats=tmp_path)
        text = f"CREATE TENSOR B OVER {semiring} AS sum(<(i, j), a> in A) {{ (i, j) -> a }}"
        computed = np.asarray(storel.run(text, A=stored, formats=tmp_path))
        np.testing.assert_allclose(stored.to_numpy(), computed)
        np.testing.assert_allclose(stored.to("coo").to_numpy(), computed)


def test_an_interpreted_entry_lies_inside_of_the_extents() -> None:
    mapping = parse_expression(Source("test", "sum(<i, _> in 0:m) 2 * { (i, 2 * i) -> u(i) }"))
    with pytest.raises(DataError, match=r"the mapping makes the entry \(2, 4\) = inf"):
        interpreted_entries(mapping, ARRAYS, SIZES, (3, 2), "plus_times", np.dtype(np.int64))


def test_what_vectors_do_not_compute_is_converted_like_anything_else(tmp_path: Path) -> None:
    (tmp_path / "f.sdql").write_text(text_of("v(j) * sigmoid(u(i) + w(i * n + j))"))
    count = 2**15  # of so many values matrices are converted row by row
    arrays = {"u": np.zeros(count), "v": np.array([2.0]), "w": np.zeros(count)}
    stored = storel.tensor(arrays, "f", (count, 1), formats=tmp_path)
    np.testing.assert_array_equal(stored.to("csr").arrays["val"], np.ones(count))
