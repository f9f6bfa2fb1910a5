from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.structured import ALIKE, FITTING, SQUARE

from storel.arrays import Array
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.tensor import Tensor
from storel.storage.trials.samples import Sample, best_fit, fitting, random_entries, structures
from storel.syntax.parser import parse_format


def resolved(text: str) -> Format:
    return Formats().resolve(parse_format(text), 2)


def sample(name: str, shape: tuple[int, ...], density: float = 0.5, seed: int = 1) -> Sample:
    return dict(structures(shape))[name](random_entries(np.random.default_rng(seed), shape, density))


def dense(sample: Sample) -> Array:
    found = np.zeros(sample.shape)
    found[tuple(sample.coordinates)] = sample.values
    return found


INDEPENDENT = sorted(FITTING.keys() - ALIKE - {"symmetric", "ell(width=2)", "dia", "rle"})
"""In these, whether one entry fits depends on no other; `dia` holds any diagonals."""


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(INDEPENDENT), st.integers(1, 7), st.integers(1, 7), st.integers(0, 9))
def test_all_that_fits_is_found(text: str, rows: int, columns: int, seed: int) -> None:
    shape = (rows, rows if text in SQUARE else columns)
    whole = sample("any entries", shape, 0.7, seed)
    fit = fitting(resolved(text), whole)
    assert fit.part is not None
    expected = FITTING[text](dense(whole))
    np.testing.assert_array_equal(dense(fit.part), expected)
    assert (fit.refusal is None) == bool((expected == dense(whole)).all())


def test_groups_stay_whole() -> None:
    whole = sample("with mirror images", (9, 9))
    spoilt = Sample(whole.shape, whole.coordinates, whole.values.copy(), whole.groups)
    pair = np.flatnonzero(spoilt.groups == spoilt.groups[-1])
    spoilt.values[pair[0]] += 1
    fit = fitting(resolved("symmetric"), spoilt)
    assert fit.part is not None
    assert len(fit.part) == len(whole) - len(pair) == len(whole) - 2
    assert "(" in str(fit.refusal)


def test_a_shape_that_is_not_held_is_told_from_entries_that_are_not() -> None:
    fit = fitting(resolved("symmetric"), sample("any entries", (2, 3)))
    assert fit.part is None
    assert "does not store tensors of this shape" in str(fit.refusal)


STRUCTURED: dict[str, Callable[[Array], bool]] = {
    "with mirror images": lambda matrix: bool((matrix == matrix.T).all()),
    "with negative mirror images": lambda matrix: bool((matrix == -matrix.T).all()),
    "diagonals of one value": lambda matrix: bool((matrix[1:, 1:] == matrix[:-1, :-1]).all()),
    "one in each row, all 1": lambda matrix: bool((matrix @ matrix.T == np.eye(len(matrix))).all()),
    "any entries, all 1": lambda matrix: bool((matrix * matrix == matrix).all()),
    "every place, one value": lambda matrix: bool((matrix == matrix[0, 0]).all()),
}


@pytest.mark.parametrize("name", STRUCTURED)
@pytest.mark.parametrize("seed", range(5))
def test_structures(name: str, seed: int) -> None:
    made = sample(name, (7, 7), seed=seed)
    assert len(made) > 0
    assert len(np.unique(made.coordinates, axis=1).T) == len(made)
    assert np.count_nonzero(made.values) == len(made)
    assert set(made.groups.tolist()) == set(range(made.group_count))
    assert STRUCTURED[name](dense(made))


@pytest.mark.parametrize("shape", [(4, 4, 4), (3, 3, 3, 3)])
def test_entries_with_the_same_keys_in_another_order_are_one_group(shape: tuple[int, ...]) -> None:
    made = sample("the same in any order of keys", shape)
    assert 0 < len(made) == len(np.unique(made.coordinates, axis=1).T)
    found = dense(made)
    for order in permutations(range(len(shape))):
        np.testing.assert_array_equal(found, found.transpose(order))
    keys = np.sort(made.coordinates, axis=0)
    assert made.group_count == len(np.unique(keys, axis=1).T)
    assert len(np.unique(np.vstack((keys, made.groups)), axis=1).T) == made.group_count


@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 3), (3, 0), (2, 0, 2), (2, 2, 2), (2, 1, 1, 3)])
def test_every_structure_has_samples_of_every_shape(shape: tuple[int, ...]) -> None:
    for _, structure in structures(shape):
        for density in (0.0, 1.0):
            made = structure(random_entries(np.random.default_rng(0), shape, density))
            assert made.coordinates.shape == (len(shape), len(made))
            if density == 0.0:
                assert len(made) == 0


def test_the_best_fit_is_the_first_that_fits_as_a_whole() -> None:
    names = ("any entries", "with mirror images", "every place, one value")
    found = best_fit(resolved("symmetric"), (sample(name, (6, 6)) for name in names))
    assert found is not None
    np.testing.assert_array_equal(dense(found), dense(sample("with mirror images", (6, 6))))
    part = best_fit(resolved("diagonal"), [sample("any entries", (6, 6), 1.0)])
    assert part is not None
    assert len(part) == 6


def test_parts_are_looked_for_only_where_nothing_fits_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts, pack_sample = list[int](), Sample.packed

    def counted(self: Sample, storage: Format) -> Tensor:
        attempts.append(len(self))
        return pack_sample(self, storage)

    monkeypatch.setattr(Sample, "packed", counted)
    names = ("any entries", "with negative mirror images", "with mirror images")
    assert best_fit(resolved("symmetric"), (sample(name, (6, 6)) for name in names)) is not None
    assert len(attempts) == 3


@pytest.mark.parametrize("name", ["diagonal", "skyline", "tridiagonal", "block_diagonal", "pattern"])
def test_what_the_error_names_is_not_tried_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts, pack_sample = list[int](), Sample.packed

    def counted(self: Sample, storage: Format) -> Tensor:
        attempts.append(len(self))
        return pack_sample(self, storage)

    monkeypatch.setattr(Sample, "packed", counted)
    assert fitting(resolved(name), sample("any entries", (32, 32))).part is not None
    assert len(attempts) < 10
