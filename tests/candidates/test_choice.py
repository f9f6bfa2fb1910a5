"""``auto``: the smallest format where no program is known, else the cheapest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import storel
from storel.candidates.choice import cheapest, smallest
from storel.errors import FormatError
from storel.storage.formats.known import Formats

sparse: Any = scipy.sparse

N = 60
BANDED = sparse.diags_array([1.0 + np.arange(N)] * 3, offsets=[-1, 0, 1], shape=(N, N)).tocsr()
PRODUCT = "CREATE TENSOR y STORED AS {} AS sum(<(i, j), a> in A, <j, v> in x) {{ i -> a * v }}"


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (np.random.default_rng(0).random((7, 9)), "dense"),
        (np.random.default_rng(0).random(7), "dense"),
        (np.eye(9), "identity"),
        (np.array(3.0), "dense"),
    ],
)
def test_the_smallest(data: Any, format: str) -> None:  # noqa: A002
    assert smallest(storel.tensor(data), Formats()).format == format


def test_storing_is_a_part_of_the_price() -> None:
    """Where every format is as fast, the one that is there stays if it costs nothing, else the smallest."""
    tensor = storel.tensor(np.diag(np.arange(1.0, 9.0)), "csr")
    assert cheapest(tensor, Formats(), lambda _: 1.0, is_stored=True) is tensor
    assert cheapest(tensor, Formats(), lambda _: 1.0, is_stored=False).storage.name in ("band", "diagonal")


def test_of_equal_sizes_the_usual_one_is_taken() -> None:
    """A square matrix takes as much by columns as by rows."""
    listed = storel.tensor(sparse.random(200, 200, density=0.02, rng=np.random.default_rng(0)), "coo")
    assert smallest(listed, Formats()).format == "csr"


def test_what_is_stored_in_parts_is_stored_in_all_of_them() -> None:
    """Rows cut at some width and a list of the rest have more places than rows, if shorter arrays."""
    tensor = storel.tensor(sparse.random(400, 400, density=0.05, rng=np.random.default_rng(1)))
    assert cheapest(tensor, Formats(), lambda _: 1.0, is_stored=False).format == "csr"


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str, str], storel.Tensor]:
    storel.tensor(BANDED).save(tmp_path / "a.mtx")

    def run(storage: str, result: str) -> storel.Tensor:
        path = tmp_path / "script.sdql"
        path.write_text(f"LOAD TENSOR A FROM 'a.mtx' STORED AS {storage}\n" + PRODUCT.format(result))
        found = storel.run(path, x=np.ones(N))
        assert isinstance(found, storel.Tensor)
        return found

    return run


def test_a_script(script: Callable[[str, str], storel.Tensor]) -> None:
    np.testing.assert_allclose(script("auto", "auto").to_numpy(), BANDED @ np.ones(N))


@pytest.mark.parametrize("texts", [("auto(3)", "dense"), ("csr", "auto(width=3)")])
def test_auto_takes_no_arguments(script: Callable[[str, str], storel.Tensor], texts: tuple[str, str]) -> None:
    with pytest.raises(FormatError, match="auto takes no arguments"):
        script(*texts)


def test_a_result_is_stored_in_what_is_smallest() -> None:
    identity = storel.run("CREATE TENSOR B STORED AS auto AS A * 1.0", A=np.eye(9))
    assert isinstance(identity, storel.Tensor)
    assert identity.format == "identity"
    kernel = storel.compile("CREATE TENSOR B AS A * 1.0", A=np.eye(9), format="auto")
    for data, format_text in ((np.eye(9), "identity"), (np.diag(np.arange(1.0, 10.0)), "diagonal")):
        made = kernel(A=data)
        assert isinstance(made, storel.Tensor)
        assert made.format.partition("(")[0] in (format_text, "band")
        np.testing.assert_array_equal(made.to_numpy(), data)


def test_data_is_stored_in_what_is_smallest(tmp_path: Path) -> None:
    assert storel.tensor(BANDED, "auto").to("csr").nnz == BANDED.nnz
    storel.tensor(np.eye(9)).save(tmp_path / "a.npy")
    assert storel.read(tmp_path / "a.npy", "auto").format == "identity"


@pytest.mark.parametrize(
    "text", ["CREATE FORMAT auto(T: real[m]) USING val: real[m] AS sum(<i, _> in 0:m) { i -> val(i) }"]
)
def test_the_name_is_taken(text: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="stands for a format that is chosen"):
        storel.run(text + "; CREATE TENSOR y AS 1")
    (tmp_path / "auto.sdql").write_text(text)
    with pytest.raises(FormatError, match="stands for a format that is chosen"):
        storel.run("CREATE TENSOR y STORED AS dense AS A", A=np.ones(2), formats=tmp_path)


def test_elsewhere_the_error_says_where_it_may_stand() -> None:
    with pytest.raises(FormatError, match="'auto' is no format") as raised:
        storel.tensor(np.eye(2)).to("auto")
    assert "LOAD TENSOR" in (raised.value.hint or "")
