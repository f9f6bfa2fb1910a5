"""What is proven of reads is so: no value is read twice, and nothing outside of its array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from strategies.structured import ALIKE, FITTING

from storel.source import Source
from storel.storage.formats.chain import chains
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.packing.distinct import reads_are_distinct
from storel.storage.packing.leaf import leaf_of
from storel.storage.tensor import Tensor
from storel.storage.trials.samples import best_fit, random_entries, structures
from storel.storage.unpacking.iterations import Iterations
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse, parse_format

FORMATS = Formats()
UNPROVEN = ALIKE | {"lower_triangular", "upper_triangular", "symmetric", "bitmap", "morton", "rle"}
"""Their addresses are no sums of digits, or they read a value more than once."""


def samples(text: str, extent: int) -> list[Tensor]:
    storage = FORMATS.resolve(parse_format(text), 2)
    random = np.random.default_rng(extent)
    found: list[Tensor] = []
    for density in (0.0, 0.1, 0.7):
        entries = random_entries(random, (extent, extent), density)
        fit = best_fit(storage, (structure(entries) for _, structure in structures(entries.shape)))
        if fit is not None:
            found.append(fit.packed(storage))
    return found


def reads_of(tensor: Tensor) -> list[tuple[str, int]]:
    """Return what the mapping reads as values, an element for each iteration."""
    found: list[tuple[str, int]] = []
    for chain in chains(tensor.storage.mapping):
        leaf = leaf_of(tensor.storage, chain, {})
        addresses = Iterations.of(chain, tensor.arrays, tensor.sizes).vector(leaf.address)
        found += [(leaf.values, address) for address in addresses.tolist()]
    return found


@pytest.mark.parametrize("text", FITTING)
@pytest.mark.parametrize("extent", [1, 2, 7])
def test_what_is_proven_of_a_format_holds(text: str, extent: int) -> None:
    for tensor in samples(text, extent):
        if not reads_are_distinct(tensor.storage, tensor.arrays, tensor.sizes):
            assert tensor.storage.name in UNPROVEN or extent == 1
            continue
        reads = reads_of(tensor)
        assert len(reads) == len(set(reads))
        assert all(0 <= address < len(tensor.arrays[array]) for array, address in reads)


LOOPS: list[tuple[str, bool]] = [
    ("sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(i * n + j) }", True),
    ("sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(j * m + i) }", True),
    ("sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(11 - i * n - j) }", True),
    # the digits overlap
    ("sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(i + j) }", False),
    ("sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(i * (n - 1) + j) }", False),
    # a variable that the address does not have
    ("sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(i) }", False),
    # beyond the ends
    ("sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(i * n + j + 1) }", False),
    ("sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(i * n + j - 1) }", False),
    # digits that depend on others, and have few values all the same
    ("sum(<i, _> in 0:m) sum(<j, _> in max(0, i - 1):min(n, i + 2)) { (i, j) -> val(i * 3 + j - i) }", False),
    (
        "sum(<i, _> in 0:m) sum(<j, _> in max(0, i - 1):min(n, i + 1)) { (i, j) -> val(i * 3 + j - i + 1) }",
        True,
    ),
    ("sum(<i, _> in 0:m) sum(<j, _> in i:n) { (i, j) -> val(i * 2 + j) }", False),
    # segments: between boundaries that ascend, or do not, or end elsewhere
    ("sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i + 1))) { (i, j) -> val(p) }", True),
    ("sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i + 1))) { (i, j) -> val(2 * p) }", True),
    ("sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i + 1))) { (i, j) -> val(3 * p) }", False),
    ("sum(<i, _> in 0:m) sum(<p, j> in idx(low(i):low(i + 1))) { (i, j) -> val(p) }", False),
    ("sum(<i, _> in 0:m + 1) sum(<p, j> in idx(pos(i):pos(i + 1))) { (i, j) -> val(p) }", False),
    ("sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i // 2):pos(i // 2 + 1))) { (i, j) -> val(p) }", False),
    ("sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i + 1))) { (i, col(p + 1)) -> val(p) }", False),
    # windows that overlap
    ("sum(<i, _> in 0:m) sum(<p, j> in idx(i:i + 2)) { (i, j) -> val(p) }", False),
    ("sum(<i, _> in 0:m) sum(<p, j> in idx(2 * i:2 * i + 1)) { (i, j) -> val(p) }", True),
    # two parts with one array, and a loop that is never entered
    ("sum(<i, _> in 0:1) { (i, 0) -> val(i) } + sum(<i, _> in 1:m) { (i, 0) -> val(i) }", False),
    ("sum(<i, _> in 0:1) { (i, 0) -> val(i) } + sum(<i, _> in 1:m) { (i, 0) -> other(i) }", True),
    ("sum(<i, _> in 2:m - 2) sum(<j, _> in 0:n) { (i, j) -> val(j) }", True),
]


@pytest.mark.parametrize(("mapping", "is_proven"), LOOPS)
def test_digits_are_determined_by_sums_and_segments(mapping: str, is_proven: bool) -> None:
    text = (
        "CREATE FORMAT f(T: real[m, n]) USING pos: int[m + 1], low: int[m + 1], idx: int[z], col: int[z], "
        f"val: real[v], other: real[m] AS {mapping}"
    )
    (statement,) = parse(Source("test", text)).statements
    assert isinstance(statement, CreateFormat)
    arrays: dict[str, Any] = {
        "pos": np.array([0, 2, 2, 5]),
        "low": np.array([0, 2, 1, 5]),
        "idx": np.array([0, 1, 0, 1, 2]),
        "col": np.array([0, 1, 0, 1, 2]),
        "val": np.ones(12),
        "other": np.ones(3),
    }
    sizes = {"m": 3, "n": 4, "z": 5, "v": 12}
    assert reads_are_distinct(Format("f", statement), arrays, sizes) == is_proven
