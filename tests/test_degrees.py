"""Degree products against NumPy, and the bounds that norms give."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from storel.degrees import DegreeVector, Occurrences, join, summarized, uniform

VECTORS = st.lists(st.integers(0, 9), min_size=1, max_size=12)


def vector(values: list[int]) -> DegreeVector:
    return DegreeVector(lambda: np.array(values, dtype=np.int64))


def test_norms_of_fractions() -> None:
    found = summarized(np.array([0.25, 0.0, 3.5]), 3)
    assert (found.nonempty, found.total, found.largest) == (2, 3.75, 3.5)
    assert sum(found.histogram) == 2


@settings(max_examples=50)
@given(st.lists(st.integers(0, 5000), max_size=20))
def test_norms_are_those_of_numpy(values: list[int]) -> None:
    degrees = np.array(values, dtype=np.int64)
    found = summarized(degrees, len(values))
    assert found.nonempty == np.count_nonzero(degrees)
    assert found.total == degrees.sum()
    assert found.root_square == pytest.approx(np.linalg.norm(degrees.astype(float)))
    assert found.largest == degrees.max(initial=0)
    assert sum(found.histogram) == found.nonempty
    for bit, count in enumerate(found.histogram):
        assert count == np.count_nonzero((degrees >= 2**bit) & (degrees < 2 ** (bit + 1)))


@settings(max_examples=50)
@given(VECTORS, VECTORS)
def test_a_join_is_exact_for_vectors_and_bounded_for_norms(one: list[int], other: list[int]) -> None:
    exact = sum(a * b for a, b in zip(one, other, strict=False))
    found = join(vector(one), vector(other))
    assert (found.estimate, found.bound) == (exact, exact)
    stated = join(vector(one).summary, vector(other).summary)
    assert stated.estimate <= stated.bound
    assert stated.bound >= exact * (1 - 1e-9)


@pytest.mark.parametrize(
    ("values", "share"),
    [([], 1.0), ([3], 1.0), ([3, 3, 3, 5, 5], 0.75), ([1, 2, 1, 2, 2], 0.25), ([0, 1], 0.0)],
)
def test_how_many_keys_have_as_many_entries_as_the_one_before(values: list[int], share: float) -> None:
    assert vector(values).repetition == share


def test_norms_alone_make_a_uniform_estimate() -> None:
    assert join(uniform(10, 10, 40.0), uniform(10, 10, 20.0)).estimate == pytest.approx(80.0)


@settings(max_examples=50)
@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=12), st.lists(st.integers(0, 4), min_size=7, max_size=7)
)
def test_found_positions_recur_as_their_elements_do(elements: list[int], drawn: list[int]) -> None:
    array = np.array(elements)
    positions = Occurrences.of(array, 7).positions(vector(drawn))
    assert positions.values.tolist() == [drawn[element] for element in elements]


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), min_size=1, max_size=12))
def test_elements_recur_as_their_positions_do(pairs: list[tuple[int, int]]) -> None:
    elements, visits = (list(each) for each in zip(*pairs, strict=True))
    found = Occurrences.of(np.array(elements), 7).elements_at(vector(visits)).values
    assert found.tolist() == [
        sum(visit for element, visit in pairs if element == key) for key in range(len(found))
    ]


@settings(max_examples=50)
@given(st.lists(st.integers(0, 12), max_size=12))
def test_ascending_elements_have_the_norms_of_their_occurrences(elements: list[int]) -> None:
    array = np.array(sorted(elements), dtype=np.int64)
    assert Occurrences.of(array, 13, is_ascending=True).summary == Occurrences.of(array, 13).summary


def test_what_is_made_of_vectors_is_counted_when_it_is_asked_for_and_once() -> None:
    counted: list[str] = []

    def visits() -> NDArray[np.int64]:
        counted.append("visits")
        return np.array([3, 4])

    one, other = Occurrences.of(np.array([0, 1]), 2), DegreeVector(visits)
    made = one.positions(other)
    assert one.positions(other) is made
    assert counted == []
    assert made.values is one.positions(other).values
    first = made.values
    del made
    assert one.positions(other).values is first
    assert counted == ["visits"]


def test_a_vector_does_not_keep_alive_what_it_was_joined_with() -> None:
    one = Occurrences.of(np.array([0, 1]), 2)
    other = vector([3, 4])
    join(one, other)
    for made in (one.positions(other), one.elements_at(other), one.times(other)):
        assert len(made.values) == 2
    del made
    gone = weakref.ref(other)
    del other
    gc.collect()
    assert gone() is None
