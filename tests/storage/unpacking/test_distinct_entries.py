"""What packing sees to is found of arrays that were given: that no entry is made twice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strategies.structured import FITTING

import storel
from storel.storage.build import from_arrays
from storel.storage.facts import likeness
from storel.storage.formats.known import Formats
from storel.storage.tensor import Tensor
from storel.storage.trials.samples import best_fit, random_entries, structures
from storel.syntax.parser import parse_format

FORMATS = Formats()
COUNT = "CREATE TENSOR n AS count(<(i, j), _> in A)"


def given(text: str, arrays: Mapping[str, Any], shape: tuple[int, ...] = (3, 4)) -> Tensor:
    return from_arrays(FORMATS.resolve(parse_format(text), len(shape)), arrays, shape)


def counted(tensor: Tensor, backend: str = "auto") -> int:
    result = storel.run(COUNT, A=tensor, backend=backend)
    assert isinstance(result, Tensor)
    return int(result.item())


def rewrapped(tensor: Tensor) -> Tensor:
    return from_arrays(tensor.storage, tensor.arrays, tensor.shape, tensor.semiring)


@pytest.mark.parametrize("text", FITTING)
def test_what_was_packed_makes_no_entry_twice(text: str) -> None:
    storage = FORMATS.resolve(parse_format(text), 2)
    entries = random_entries(np.random.default_rng(7), (7, 7), 0.4)
    fit = best_fit(storage, (structure(entries) for _, structure in structures(entries.shape)))
    assert fit is not None
    packed = fit.packed(storage)
    assert packed.makes_keys_once
    assert rewrapped(packed).makes_keys_once


GIVEN: list[tuple[str, dict[str, list[float]], bool, int]] = [
    # the columns of a row, in any order; -1 is padding
    ("ell(width=2)", {"idx": [2, 0, 1, -1, 3, 2], "val": [1, 2, 3, 9, 4, 5]}, True, 5),
    ("ell(width=2)", {"idx": [2, 0, 1, 1, 3, 2], "val": [1, 2, 3, 9, 4, 5]}, False, 5),
    # a key that comes again with nothing to store is no entry, one that makes up for it is
    ("ell(width=2)", {"idx": [2, 0, 1, 1, 3, 2], "val": [1, 2, 3, 0, 4, 5]}, True, 5),
    ("ell(width=2)", {"idx": [2, 0, 1, 1, 3, 2], "val": [1, 2, 3, -3, 4, 5]}, False, 4),
    # one part has an entry where another has one, too
    (
        "hyb(width=1)",
        {"near_idx": [0, -1, 1], "near_val": [1, 0, 3], "rest_row": [0], "rest_col": [2], "rest_val": [2]},
        True,
        3,
    ),
    (
        "hyb(width=1)",
        {"near_idx": [0, -1, 1], "near_val": [1, 0, 3], "rest_row": [0], "rest_col": [0], "rest_val": [2]},
        False,
        2,
    ),
]


@pytest.mark.parametrize(("text", "lists", "is_once", "count"), GIVEN)
@pytest.mark.parametrize("backend", ["c", "interpret"])
def test_arrays_that_make_one_twice_are_found_out(
    text: str, lists: dict[str, list[float]], is_once: bool, count: int, backend: str
) -> None:
    is_index = {name: name.endswith(("idx", "row", "col")) for name in lists}
    arrays = {name: np.array(each, int if is_index[name] else float) for name, each in lists.items()}
    tensor = given(text, arrays)
    assert tensor.makes_keys_once == is_once
    assert counted(tensor, backend) == count


def test_a_kernel_for_entries_that_are_made_once_is_not_used_where_they_are_not() -> None:
    idx = {True: np.array([2, 0, 1, 0, 3, 2]), False: np.array([2, 0, 1, 1, 3, 2])}
    once, twice = (
        given("ell(width=2)", {"idx": idx[each], "val": np.arange(1.0, 7)}) for each in (True, False)
    )
    assert once.makes_keys_once and not twice.makes_keys_once
    assert likeness(once) != likeness(twice)
    kernel = storel.compile(COUNT, A=once)
    counts = [kernel(A=each) for each in (once, twice)]
    assert [int(each.item()) for each in counts if isinstance(each, Tensor)] == [6, 5]


def test_a_file_is_gone_through_when_it_is_asked_and_that_is_remembered(tmp_path: Path) -> None:
    packed = storel.tensor(np.eye(5)[::-1].copy()).to("hash")
    packed.save(tmp_path / "A.npz")
    loaded = storel.read(tmp_path / "A.npz")
    assert "makes_keys_once" not in vars(loaded)
    assert loaded.makes_keys_once and likeness(loaded) == likeness(packed)
    assert vars(loaded)["makes_keys_once"]


def test_what_has_too_many_iterations_is_not_gone_through() -> None:
    factors = np.ones(20_000)
    assert not given("low_rank(k=1)", {"u": factors, "v": factors}, (20_000, 20_000)).makes_keys_once
    assert given("low_rank(k=1)", {"u": factors[:20], "v": factors[:20]}, (20, 20)).makes_keys_once
