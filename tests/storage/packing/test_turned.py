from __future__ import annotations

import pytest

from storel.source import Source
from storel.storage.formats.chain import chains
from storel.storage.formats.format import Format
from storel.storage.packing.turned import TurnedChain, segment_boundaries, turn_round
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse


def turned(mapping: str) -> TurnedChain:
    text = f"CREATE FORMAT f(T: real[m, n]) USING pos: int[m + 1], idx: int[z], val: real[z] AS {mapping}"
    (statement,) = parse(Source("test", text)).statements
    assert isinstance(statement, CreateFormat)
    storage = Format("f", statement)
    (chain,) = chains(storage.mapping)
    return turn_round(storage, chain)


CHAINS: list[tuple[str, list[str], list[str], str]] = [
    (
        "sum(<k, o> in idx(0:z)) sum(<i, _> in 0:m) { (i, i + o) -> val(k * m + i) }",
        ["i = key 0", "i + o = key 1"],
        ["idx(k) = o"],
        "k * m + i",
    ),
    # a read is required of the key; where it is known, it is no other one
    (
        "sum(<p, _> in 0:z) { (p, 2 * idx(p)) -> val(idx(p)) }",
        ["p = key 0", "2 * idx(p) = key 1"],
        ["idx(p) = idx(p)"],
        "idx(p)",
    ),
    # an element of the loop that is read again
    (
        "sum(<p, j> in idx(0:z)) if (idx(p) >= 0) then { (p, j) -> val(p) }",
        ["p = key 0", "j = key 1"],
        ["idx(p) = j"],
        "p",
    ),
    # a quotient and its remainder are one equation
    (
        "sum(<p, k> in idx(0:z)) { (k // n, k % n) -> val(p) }",
        ["k = key 0 * n + key 1"],
        ["idx(p) = k"],
        "p",
    ),
    ("sum(<i, _> in 0:m) { (i // 2, i % 3) -> val(i) }", ["i // 2 = key 0", "i % 3 = key 1"], [], "i"),
]


@pytest.mark.parametrize(("mapping", "equations", "required", "address"), CHAINS)
def test_keys_are_equations_and_reads_are_required(
    mapping: str, equations: list[str], required: list[str], address: str
) -> None:
    chain = turned(mapping)
    text = chain.text
    assert [f"{text(each.unknown)} = {text(each.known)}" for each in chain.equations] == equations
    found = [f"{r.array}({text(r.address)}) = {chain.written[r.element]}" for r in chain.required]
    assert found == required
    assert (chain.leaf.values, text(chain.leaf.address)) == ("val", address)


BOUNDS = [
    ("sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i + 1))) { (i, j) -> val(p) }", True),
    ("sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(1 + i))) { (i, j) -> val(p) }", True),
    ("sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i + 2))) { (i, j) -> val(p) }", False),
    ("sum(<i, _> in 0:m) sum(<p, j> in idx(i:i + 1)) { (i, j) -> val(p) }", False),
]


@pytest.mark.parametrize(("mapping", "is_segment"), BOUNDS)
def test_segments_are_between_neighbours(mapping: str, is_segment: bool) -> None:
    assert (segment_boundaries(turned(mapping).loops[1]) is not None) == is_segment
