"""Which formats hold a tensor, and why the others do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import storel
from storel.candidates.candidates import MOST_CANDIDATES, Candidates, Why, candidates
from storel.errors import DataError
from storel.storage.formats.known import Formats

sparse: Any = scipy.sparse

N = 60
RANDOM = np.random.default_rng(3)
BANDED = sparse.diags_array(RANDOM.random((3, N)), offsets=[-1, 0, 1], shape=(N, N)).tocsr()
HALF = np.tril(RANDOM.random((N, N)))
SPARSE = sparse.random(N, N, density=0.05, format="csr", random_state=0)


def found(data: Any, **keywords: Any) -> Candidates:
    return candidates(storel.tensor(data), Formats(), **keywords)


def names(tried: Candidates) -> set[str]:
    return {each.tensor.storage.name for each in tried.kept}


@pytest.mark.parametrize(
    ("data", "held", "refused"),
    [
        (BANDED, {"csr", "band", "tridiagonal", "dia", "csc"}, {"diagonal", "symmetric", "lower_triangular"}),
        (HALF, {"dense", "lower_triangular"}, {"upper_triangular", "symmetric", "skew", "diagonal"}),
        (HALF + HALF.T, {"dense", "symmetric"}, {"lower_triangular", "skew"}),
        (SPARSE, {"csr", "csc", "csf"}, {"symmetric", "diagonal", "permutation"}),
        (np.eye(N), {"dense", "csr", "diagonal", "identity", "permutation"}, {"skew", "constant"}),
        (np.ones((N, N)), {"dense", "constant", "toeplitz"}, {"diagonal", "lower_triangular"}),
        (np.arange(N) * 1.0, {"dense", "coo"}, {"constant"}),
        (np.ones((3, 4, 5)), {"dense", "csf", "coo"}, set[str]()),
        (np.zeros((0, 4)), {"dense", "csr"}, set[str]()),
        (np.zeros((5, 5)), {"dense", "csr"}, set[str]()),
    ],
)
def test_what_holds_data(data: Any, held: set[str], refused: set[str]) -> None:
    tried = found(data, most=100)
    assert held <= names(tried)
    assert not refused & names(tried)
    assert refused <= {each.format.partition("(")[0] for each in tried.dropped}


@pytest.mark.parametrize("data", [BANDED, HALF, SPARSE, np.ones((3, 4, 5)), np.zeros((4, 4))])
def test_candidates_hold_the_same_entries(data: Any) -> None:
    tensor = storel.tensor(data)
    tried = candidates(tensor, Formats())
    assert tried.kept[0].tensor is tensor
    assert len(tried.kept) <= MOST_CANDIDATES
    assert len({each.tensor.format for each in tried.kept}) == len(tried.kept)
    assert [each.bytes for each in tried.kept[1:]] == sorted(each.bytes for each in tried.kept[1:])
    for each in tried.kept:
        np.testing.assert_array_equal(each.tensor.to_numpy(), tensor.to_numpy())


def test_levels_in_other_orders_are_tried() -> None:
    tried = found(np.ones((3, 4, 5)), most=100)
    assert any("order=(2,1,0)" in each.tensor.format for each in tried.kept)


def test_the_reasons() -> None:
    reasons = {each.format: each.why for each in found(SPARSE).dropped}
    assert reasons["low_rank"] is Why.OPEN
    assert reasons["diagonal"] is Why.MISFIT
    assert reasons["levels(dense, compressed)"] is Why.ALIKE
    assert Why.NOT_SMALLEST in reasons.values()
    huge = sparse.csr_array(([1.0], ([0], [9])), shape=(10**6, 10**6))
    reasons = {each.format: each.why for each in found(huge).dropped}
    assert reasons["dense"] is reasons["mask"] is reasons["dia"] is Why.LARGE


def test_a_users_formats_are_tried(tmp_path: Path) -> None:
    text = "CREATE FORMAT left(T: real[m, n]) USING val: real[m] AS sum(<i, _> in 0:m) { (i, 0) -> val(i) }"
    (tmp_path / "left.sdql").write_text(text)
    first = np.zeros((5, 3))
    first[:, 0] = 2.0
    assert "left" in names(candidates(storel.tensor(first), Formats((tmp_path,))))
    assert "left" not in names(candidates(storel.tensor(first.T.copy()), Formats((tmp_path,))))


def test_other_semirings() -> None:
    tensor = storel.tensor({(0, 1): 0.0, (2, 2): 4.0}, shape=(3, 3), semiring="min_plus")
    for each in candidates(tensor, Formats()).kept:
        assert each.tensor.semiring == "min_plus"
        assert each.tensor.nnz == 2


def test_the_result_is_the_same_every_time() -> None:
    one, other = found(BANDED), found(BANDED)
    assert [each.tensor.format for each in one.kept] == [each.tensor.format for each in other.kept]
    assert one.dropped == other.dropped


def test_statistics_alone_are_not_enough() -> None:
    with pytest.raises(DataError, match="declared by its statistics"):
        candidates(storel.declare({"shape": [3, 3], "nnz": 2}), Formats())
