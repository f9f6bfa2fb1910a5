from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storel.scalars import ScalarType
from storel.source import Source
from storel.syntax.extents import infer_extents
from storel.syntax.intervals import Bounds
from storel.syntax.parser import parse_expression
from storel.syntax.printer import render
from storel.syntax.signatures import ArraySignature, Extent, Signature, SizeSignature, TensorSignature

REAL, INT = ScalarType.FLOAT64, ScalarType.INT64
SIGNATURES: dict[str, Signature] = {
    "A": TensorSignature(REAL, (Extent(3), Extent(4))),
    "v": TensorSignature(REAL, (Extent(4),)),
    "u": TensorSignature(REAL, (Extent(9, is_closed=False),)),
    "K": TensorSignature(REAL, (Extent(2),)),
    "idx": ArraySignature(INT, 9, 0, 6),
    "raw": ArraySignature(INT, 8),
    "n": SizeSignature(5),
}


def inferred(text: str) -> tuple[str, list[tuple[int | None, bool]]]:
    found = infer_extents(parse_expression(Source("test", text)), SIGNATURES)
    return render(found.expression), [(each.size, each.is_closed) for each in found.dimensions]


@pytest.mark.parametrize(
    ("text", "dimensions"),
    [
        ("A", [(3, True), (4, True)]),
        ("A(0)", [(4, True)]),
        ("sum(<(i, j), a> in A) { j -> a }", [(4, False)]),
        ("sum(<(i, j), a> in A) { (j, i) -> a }", [(4, False), (3, False)]),
        ("v + u", [(9, False)]),
        ("u + sum(<i, _> in 0:n) { i -> 1 }", [(9, False)]),
        ("v + sum(<i, _> in 0:2) { i -> 1 }", [(4, True)]),
        ("v * u", [(4, True)]),
        ("2 * v", [(4, True)]),
        ("{ 7 -> 1 } + {}", [(8, False)]),
        ("sum(<i, x> in v, <i, y> in u) { 2 * i + 1 -> x }", [(8, False)]),
        ("sum(<i, x> in u, <i, y> in v) { i -> x }", [(4, False)]),
        ("sum(<i, _> in 2:n) { i - 1 -> 1 }", [(4, False)]),
        ("sum(<i, _> in 0:n) { i // 2 -> 1 }", [(3, False)]),
        ("sum(<i, _> in 0:n) { i % 3 -> 1 }", [(3, False)]),
        ("sum(<i, _> in 0:n) { (i + 2) % n -> 1 }", [(5, False)]),
        ("sum(<i, _> in 0:0) { (i + 2) % extent(A(0:0), 0) -> 1 }", [(0, False)]),
        ("sum(<i, _> in 0:n) { 7 + i % (0 - 4) -> 1 }", [(8, False)]),
        ("sum(<i, _> in 0:n) { 6 + (i - 20) // (0 - 7) -> 1 }", [(9, False)]),
        ("sum(<i, _> in 0:n) { bit(i, 0) * 2 + bit(i, 1) -> 1 }", [(4, False)]),
        ("sum(<i, _> in 0:n) { i ^ (bit(i, 1) << 3) -> 1 }", [(16, False)]),
        ("sum(<i, _> in 0:n) { i >> 1 -> 1 }", [(3, False)]),
        ("sum(<i, _> in 0:n) { min(i, 2) -> 1 }", [(3, False)]),
        ("sum(<i, _> in 0:n) { max(i - 9, 0) -> 1 }", [(1, False)]),
        ("sum(<i, _> in 0:n) { i & 1 -> 1 }", [(2, False)]),
        ("sum(<p, j> in idx) { j -> 1 }", [(7, False)]),
        ("sum(<p, j> in idx(2:5)) { (p, j) -> 1 }", [(5, False), (7, False)]),
        ("sum(<p, j> in raw) { j -> 1 }", [(None, False)]),
        ("let k = n in sum(<i, _> in 0:k) { i -> 1 }", [(5, False)]),
        ("if n > 2 then v else u", [(9, False)]),
        ("merge(<p, q, k> in <idx, raw>) { (p, q, k) -> 1 }", [(9, False), (8, False), (7, False)]),
        ("sum(<i, row> in A) { i -> row }", [(3, False), (4, True)]),
        ("sum(<i, x> in v) x", []),
    ],
)
def test_dimensions_of_values(text: str, dimensions: list[tuple[int | None, bool]]) -> None:
    assert inferred(text)[1] == dimensions


@pytest.mark.parametrize(
    ("source", "body", "ranges", "size"),
    [
        ("<i, _> in _", "{ i -> v(i) }", ["0:extent(v, 0)"], 4),
        ("<i, _> in _", "{ i -> raw(i) }", ["0:8"], 8),
        ("<i, _> in _", "{ i -> v(i + 1) }", ["0:extent(v, 0) - 1"], 3),
        ("<i, _> in _", "{ i -> v(i - 1) }", ["1:extent(v, 0) + 1"], 5),
        ("<i, _> in _", "{ i -> v(2 * i) }", ["0:(extent(v, 0) - 1) // 2 + 1"], 2),
        ("<i, _> in _", "{ i -> v(3 - i) }", ["0:4"], 4),
        ("<i, _> in _", "{ i -> v(i) + raw(i) }", ["0:min(extent(v, 0), 8)"], 4),
        ("<i, _> in _, <x, w> in K", "{ i -> w * v(i + x) }", ["0:extent(v, 0) + 1 - extent(K, 0)"], 3),
        ("<i, _> in _, <x, _> in 0:3", "{ i -> v(i + x) }", ["0:extent(v, 0) - 2"], 2),
        ("<i, _> in _, <i, x> in v", "{ i -> x }", ["0:extent(v, 0)"], 4),
        ("<i, _> in _, <j, _> in _", "{ i -> A(i, j) }", ["0:extent(A, 0)", "0:extent(A, 1)"], 3),
        (
            "<i, _> in _, <x, _> in _",
            "{ i -> K(x) * v(i + x) }",
            ["0:extent(v, 0) + 1 - extent(K, 0)", "0:extent(K, 0)"],
            3,
        ),
        ("<i, _> in _, <x, _> in 0:n", "{ i -> v(n * i + x) }", ["0:(extent(v, 0) + 1 - n - 1) // 5 + 1"], 0),
    ],
)
def test_blank_ranges_are_the_largest_in_bounds(source: str, body: str, ranges: list[str], size: int) -> None:
    text, dimensions = inferred(f"sum({source}) {body}")
    expected = source
    for each in ranges:
        expected = expected.replace("in _", f"in {each}", 1)
    assert text == f"sum({expected}) {body}"
    assert dimensions[0][0] == size


def test_an_inner_blank_range_may_wait_for_the_outer_one() -> None:
    text, _ = inferred("sum(<i, _> in _) { i -> K(i) * sum(<x, _> in _) v(i + x) }")
    assert text == (
        "sum(<i, _> in 0:extent(K, 0)) { i -> "
        "K(i) * (sum(<x, _> in 0:extent(v, 0) + 1 - extent(K, 0)) v(i + x)) }"
    )


def test_extents_of_what_is_not_named_become_numbers() -> None:
    assert inferred("extent(A, 1) + extent(idx, 0)")[0] == "extent(A, 1) + 9"
    assert inferred("let r = A(0) in extent(r, 0)")[0] == "let r = A(0) in 4"


INTERVALS = st.tuples(st.integers(-9, 9), st.integers(0, 5)).map(lambda pair: range(pair[0], sum(pair) + 1))


@given(INTERVALS, INTERVALS, st.data())
def test_bounds_contain_every_result(one: range, two: range, data: st.DataObject) -> None:
    a, b = data.draw(st.sampled_from(one)), data.draw(st.sampled_from(two))
    left, right = Bounds(one[0], one[-1]), Bounds(two[0], two[-1])
    half_open = Bounds(one[0], None)
    results = [
        (a + b, left + right),
        (a - b, left - right),
        (a * b, left * right),
        (a * b, half_open * right),
        (-a, -left),
        (min(a, b), left.least(right)),
        (max(a, b), half_open.greatest(right)),
        (a, left.union(right)),
        (b, left.union(right)),
    ]
    if two[0] > 0:
        results += [(a // two[0], left // Bounds.exactly(two[0]))]
    if b != 0:
        results += [(a % b, left % right), (a // b, left // Bounds.exactly(b))]
    if one[0] >= 0:
        results += [
            (a & b, left & right),
            (a >> 1, left >> Bounds.exactly(1)),
            (a << 2, left << Bounds.exactly(2)),
        ]
        results += [(a ^ b, left ^ right), (a >> abs(b), left >> Bounds(0))]
    for value, bounds in results:
        assert bounds.low is None or bounds.low <= value
        assert bounds.high is None or value <= bounds.high
