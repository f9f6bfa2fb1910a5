"""What speaks against a format before it is packed: sizes, loops, and parts of the tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import storel
from storel.candidates.screening import SAMPLED, sample_objection, samples, size_objection
from storel.errors import FormatError
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.syntax.parser import parse_format

sparse: Any = scipy.sparse

FORMATS = Formats()


def resolved(text: str, rank: int = 2) -> Format:
    return FORMATS.resolve(parse_format(text), rank)


@pytest.mark.parametrize(
    ("text", "shape", "entries", "objection"),
    [
        ("csr", (10_000, 10_000), 20_000, None),
        ("dense", (100, 100), 5_000, None),
        ("dense", (10_000, 10_000), 20_000, "800,000,000 bytes, where coordinates take 320,000"),
        ("dense", (4, 4), 0, None),
        ("band(lower=1, upper=1)", (10_000, 10_000), 20_000, None),
        ("band(lower=900, upper=900)", (10_000, 10_000), 20_000, "144,080,000 bytes"),
        ("constant", (10_000, 10_000), 20_000, "its loops go through about 1e+08 places for 20,000 entries"),
        ("constant", (100, 100), 10_000, None),
    ],
)
def test_what_is_too_large(text: str, shape: tuple[int, ...], entries: int, objection: str | None) -> None:
    found = size_objection(resolved(text), shape, entries, 8)
    assert (found is None) if objection is None else (found or "").startswith(objection)


def test_a_shape_that_the_format_does_not_store_is_refused() -> None:
    with pytest.raises(FormatError, match="does not store tensors of this shape"):
        size_objection(resolved("symmetric"), (3, 4), 2, 8)


EXTENT = 4 * SAMPLED


def test_small_tensors_have_no_samples() -> None:
    assert list(samples(storel.tensor(np.ones((3, 3))))) == []
    assert list(samples(storel.tensor(np.array(3.0)))) == []


@pytest.mark.parametrize(("text", "holds"), [("diagonal", True), ("permutation", False), ("csr", True)])
def test_a_part_tells_of_the_whole(text: str, holds: bool) -> None:
    values = 1.0 + np.arange(EXTENT)
    tensor = storel.tensor(sparse.diags_array(values, shape=(EXTENT, EXTENT)).tocsr())
    assert (sample_objection(resolved(text), tensor) is None) == holds


def test_rows_tell_where_the_corner_does_not() -> None:
    """Few rows of a permutation have their entries in the corner; renumbered they are one themselves."""
    columns = np.random.default_rng(0).permutation(EXTENT)
    matrix = sparse.csr_array((np.ones(EXTENT), (np.arange(EXTENT), columns)), shape=(EXTENT, EXTENT))
    tensor = storel.tensor(matrix)
    assert sample_objection(resolved("permutation"), tensor) is None
    assert "of a part of the tensor" in (sample_objection(resolved("diagonal"), tensor) or "")


@pytest.mark.parametrize("shape", [(EXTENT,), (60, 60, 60)])
def test_samples_are_parts_of_their_shapes(shape: tuple[int, ...]) -> None:
    parts = list(samples(storel.tensor(np.ones(shape))))
    assert parts
    for part in parts:
        assert 0 < len(part) <= 2 * SAMPLED
        for keys, extent in zip(part.coordinates, part.shape, strict=True):
            assert keys.min() >= 0
            assert keys.max() < extent
