"""Sketches of products: pairs are exact for stored matrices, and entries close for those at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from storel.optimizer.estimation.sketches import MOST, Sketch, uniform


def sketch(matrix: Any) -> Sketch:
    counts = (np.diff(compressed(matrix).indptr) for compressed in (sp.csr_array, sp.csc_array))
    return Sketch(*(count.astype(float) for count in counts))


def matrix(rows: int, columns: int, entries: int, seed: int, skew: float = 0.0) -> Any:
    """Return a matrix of ones; with ``skew`` some rows and columns have many more entries than others."""
    rng = np.random.default_rng(seed)
    weights = (np.arange(1, extent + 1) ** -skew for extent in (rows, columns))
    at = [rng.choice(len(each), entries, p=each / each.sum()) for each in weights]
    found = sp.csr_array((np.ones(entries), at), shape=(rows, columns))
    found.data[:] = 1
    return found


@pytest.mark.parametrize("skew", [0.0, 0.7])
def test_pairs_are_exact_and_entries_close(skew: float) -> None:
    a, b = matrix(300, 200, 1500, 1, skew), matrix(200, 400, 1200, 2, skew)
    made = a @ b
    assert sketch(a).pairs(sketch(b)) == made.sum()
    found = sketch(a).times(sketch(b))
    assert found.entries == pytest.approx(made.nnz, rel=0.1)
    assert found.columns.sum() == pytest.approx(found.entries, rel=0.05)


def test_a_product_has_no_more_entries_than_places() -> None:
    dense = uniform((30.0, 20.0), 600.0)
    found = dense.times(uniform((20.0, 10.0), 200.0))
    assert found.entries == pytest.approx(300.0, rel=1e-3)
    assert found.rows.max() <= 10 and found.columns.max() <= 30


@pytest.mark.parametrize("entries", [0.0, 5.0])
def test_nothing_times_something_is_nothing(entries: float) -> None:
    assert uniform((4.0, 3.0), 0.0).times(uniform((3.0, 5.0), entries)).entries == 0.0


def test_keys_without_bounds_are_as_many_as_a_sketch_has() -> None:
    found = uniform((1.0, float("inf")), 600.0)
    assert (len(found.rows), len(found.columns)) == (1, MOST)
    assert found.entries == pytest.approx(600.0)
