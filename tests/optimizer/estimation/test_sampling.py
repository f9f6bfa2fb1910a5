from __future__ import annotations

import numpy as np
import pytest
from strategies.structured import FITTING, SQUARE

import storel
from storel.calculus.lower import lower
from storel.optimizer.cost.whole import estimate
from storel.optimizer.estimation import sampling
from storel.optimizer.estimation.sampling import Bound, Keys, LoopSample, constant
from storel.storage.compose import View, compose
from storel.syntax.nodes.expressions import Name


def iterations(tensor: storel.Tensor) -> tuple[float, ...]:
    """Return the estimated iterations of each loop over all entries."""
    view = View(Name("T"), tensor.shape, tensor.semiring, {})
    composed = compose(view, {}, {"T": tensor}, {})
    term = lower(composed.expression, composed.symbols, tensor.semiring)
    return estimate(term, composed.symbols).iterations


@pytest.mark.parametrize("text", FITTING)
def test_loops_over_a_format_are_estimated_to_meet_all_entries(text: str) -> None:
    shape = (60, 60) if text in SQUARE else (60, 40)
    random = np.random.default_rng(5)
    dense = FITTING[text](random.integers(1, 9, shape) * (random.random(shape) < 0.3))
    tensor = storel.tensor(dense, text)
    assert sum(iterations(tensor)) >= 0.95 * tensor.nnz


def test_rows_that_are_looked_up_by_what_is_stored_are_as_long_as_the_average() -> None:
    """The keys of a dictionary are not drawn, and both ends of a row lie in the same interval."""
    script = """CREATE TENSOR s AS let t = sum(<k, _> in 0:60) { k * 7 % 60 -> sin(k) } in
        sum(<i, c> in t, <(i, j), a> in A) exp(a * c)"""
    compilation = storel.compile(script, A=storel.tensor(np.tri(60, 40, 39), "ragged")).compilation
    iterations = estimate(compilation.optimized.normalized, compilation.symbols).iterations
    assert max(iterations) > 1000


def test_a_triangle_has_half_the_places() -> None:
    outer = LoopSample(constant(0), constant(1000))
    row = Bound(outer).by(3)
    inner = LoopSample(constant(0), row)
    assert inner.length() == pytest.approx(500, rel=0.01)
    column = Bound(inner).by(5)
    # weighted by the length of its row, a row of a random place lies at two thirds
    both = sampling.applied("Add", (column, sampling.applied("Mul", (constant(0), row))))
    assert both is not None
    weighted = sampling.Sample(lambda: row.values, both.loops).mean()
    assert weighted == pytest.approx(2000 / 3, rel=0.02)


def test_two_loops_over_one_range_are_independent() -> None:
    loop = LoopSample(constant(0), constant(100))
    agree = sampling.applied("equal", (Bound(loop).by(1), Bound(loop).by(2)))
    assert agree is not None
    mean = agree.mean()
    assert mean is not None and mean < 0.05


def test_a_position_and_its_element_belong_together() -> None:
    squares = np.arange(50) ** 2
    loop = LoopSample(constant(0), constant(50), squares)
    position, element = Bound(loop).by(7), Bound(loop, is_element=True).by(8)
    np.testing.assert_array_equal(element.values, position.values**2)


def test_what_has_no_iterations_has_no_mean() -> None:
    nothing = LoopSample(constant(3), constant(3))
    assert Bound(nothing).by(1).mean() is None
    assert sampling.applied("exp", (constant(1),)) is None
    assert sampling.applied("less", (constant(1), None)) is None
    assert sampling.agreement(Bound(nothing).by(1), constant(3)) is None


def test_columns_are_compared_each_number_with_each() -> None:
    """Of 256 pairs of numbers below 2000 most likely none agrees."""
    random = np.random.default_rng(3)
    sides = (LoopSample(constant(0), constant(9000), random.integers(0, 2000, 9000)) for _ in range(2))
    left, right = (Bound(loop, is_element=True).by(key) for loop, key in zip(sides, (2, 4), strict=True))
    assert sampling.agreement(left, right) == pytest.approx(1 / 2000, rel=0.5)
    assert sampling.agreement(left, left) == 1.0


def test_truths_are_numbers() -> None:
    loop = LoopSample(constant(0), constant(4))
    is_first, is_last = (sampling.applied("equal", (Bound(loop).by(1), constant(each))) for each in (0, 3))
    for function, expected in {"Add": 0.5, "subtract": 0.0, "Mul": 0.0}.items():
        made = sampling.applied(function, (is_first, is_last))
        assert made is not None and made.mean() == pytest.approx(expected)


def test_what_is_searched_for_is_at_its_position() -> None:
    array = np.array([2, 3, 3, 7, 1, 3, 9])
    segment = LoopSample(constant(1), constant(4), array)
    for key, positions in {3: [1, 2], 7: [3], 5: [], 9: []}.items():
        found = segment.matching(constant(key))
        assert found is not None and found.length() == len(positions)
        assert not positions or set(Bound(found).by(2).values) == set(positions)
    assert segment.matching(None) is None
    assert LoopSample(constant(0), constant(4)).matching(constant(2)) is None


def test_elements_of_a_row_that_is_searched_for_are_in_their_own_buckets() -> None:
    """Of eight buckets, each holds what belongs there: that a column is in its own one is no accident."""
    random = np.random.default_rng(6)
    dense = random.integers(1, 9, (300, 300)) * (random.random((300, 300)) < 0.02)
    script = "CREATE TENSOR s AS sum(<i, _> in 0:300, <j, a> in A(i), <k, _> in 0:2) {i + k -> exp(a)}"
    compilation = storel.compile(script, A=storel.tensor(dense, "hash")).compilation
    _, entries, _, _, elements, *_ = estimate(compilation.optimized.term, compilation.symbols).iterations
    assert entries == pytest.approx(elements, rel=0.05)


def test_keys_are_drawn_as_often_as_they_were_made_and_where_a_condition_held() -> None:
    loop = LoopSample(constant(0), constant(1000))
    key = Bound(loop).by(1)
    low = sampling.applied("less", (key, constant(100)))
    assert low is not None
    scanned = Keys(key.where(low))
    assert scanned.by(3).mean() == pytest.approx(50, rel=0.1)
    assert scanned.by(3) is scanned.by(3)
    agreement = sampling.agreement(scanned.by(3), scanned.by(5))
    assert agreement is not None and agreement < 0.1  # two loops over a dictionary are independent
    never = sampling.applied("less", (key, constant(-1)))
    assert never is not None and Keys(key.where(never)).by(7).mean() is not None
    assert Keys(Bound(LoopSample(constant(0), key)).by(2)).by(4).mean() == pytest.approx(1000 / 3, rel=0.1)
