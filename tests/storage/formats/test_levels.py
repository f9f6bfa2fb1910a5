from __future__ import annotations

from itertools import pairwise, permutations, product

import numpy as np
import pytest

import storel
from storel.errors import FormatError, ProgramSyntaxError
from storel.storage.formats.known import Formats
from storel.storage.formats.properties import verify_properties
from storel.storage.formats.signature import level_signature
from storel.storage.tensor import pack
from storel.syntax.parser import parse_format

FORMATS = Formats()

EVERY_NEST = [
    (kinds, order)
    for rank in (1, 2, 3)
    for kinds in product(("dense", "compressed"), repeat=rank)
    for order in permutations(range(rank))
]


@pytest.mark.parametrize(("kinds", "order"), EVERY_NEST)
def test_every_nest_is_packed_and_read_back(kinds: tuple[str, ...], order: tuple[int, ...]) -> None:
    rank = len(order)
    text = f"levels({', '.join(kinds)}" + (f"; order=({','.join(map(str, order))}))" if rank > 1 else ")")
    storage = FORMATS.resolve(parse_format(text), rank)
    signature = level_signature(storage)
    assert signature is not None
    assert signature.order == order
    assert tuple(level.kind.value for level in signature.levels) == kinds
    random = np.random.default_rng(1)
    dense = random.integers(1, 9, (3, 4, 2)[:rank]) * (random.random((3, 4, 2)[:rank]) < 0.4)
    coordinates = np.indices(dense.shape).reshape(rank, -1)
    tensor = pack(storage, coordinates, dense.reshape(-1), dense.shape)
    verify_properties(storage, tensor.arrays, tensor.sizes)
    np.testing.assert_array_equal(tensor.to_numpy(), dense)
    assert FORMATS.resolve(parse_format(tensor.format), rank) is storage


def test_the_same_arrays_as_the_shipped_format() -> None:
    coordinates, values = np.array([[0, 0, 2], [1, 3, 0]]), np.array([1.0, 2.0, 3.0])
    csc = pack(FORMATS.find("csc", 2), coordinates, values, (3, 4))
    reference = parse_format("levels(dense, compressed; order=(1,0))")
    nest = pack(FORMATS.resolve(reference, 2), coordinates, values, (3, 4))
    for name, other in (("pos", "pos2"), ("idx", "idx2"), ("val", "val")):
        np.testing.assert_array_equal(csc.arrays[name], nest.arrays[other])


KINDS = ("dense", "compressed", "singleton", "fixed", "hashed")


def allowed(kinds: tuple[str, ...]) -> bool:
    return not any(kind == "singleton" and above == "dense" for above, kind in pairwise(("dense", *kinds)))


ANY_NEST = [
    (kinds, order)
    for rank in (1, 2, 3)
    for kinds in product(KINDS, repeat=rank)
    for order in permutations(range(rank))
    if allowed(kinds)
]


def test_nests_of_all_kinds_of_levels_are_packed_and_read_back() -> None:
    random = np.random.default_rng(2)
    for kinds, order in ANY_NEST:
        rank = len(order)
        settings = [f"order=({','.join(map(str, order))})"] if rank > 1 else []
        text = f"levels({', '.join(kinds)}{'; ' if settings else ''}{', '.join(settings)})"
        dense = random.integers(1, 9, (3, 4, 2)[:rank]) * (random.random((3, 4, 2)[:rank]) < 0.4)
        tensor = storel.tensor(dense, text)
        verify_properties(tensor.storage, tensor.arrays, tensor.sizes)
        np.testing.assert_array_equal(tensor.to_numpy(), dense, err_msg=text)
        assert tensor.to("csf").to(tensor.format).format == tensor.format


def test_nests_of_all_kinds_of_levels_hold_tensors_without_places() -> None:
    """Rows of a given width have places that no key is at, also where no key can be."""
    for kinds, order in ANY_NEST:
        rank = len(order)
        settings = [f"order=({','.join(map(str, order))})"] if rank > 1 else []
        settings += [f"width{n}=2" for n, kind in enumerate(kinds, 1) if kind == "fixed" and rank > 1]
        text = f"levels({', '.join(kinds)}{'; ' if settings else ''}{', '.join(settings)})"
        for shape in ((0, 3, 2)[:rank], (3, 0, 2)[:rank]):
            assert storel.tensor(np.zeros(shape), text).to_numpy().shape == shape, text


def test_deep_nests_are_packed_and_read_back() -> None:
    random = np.random.default_rng(4)
    for rank in (4, 5):
        shape, deep = (
            (3, 4, 2, 3, 2)[:rank],
            [kinds for kinds in product(KINDS, repeat=rank) if allowed(kinds)],
        )
        for kinds in (deep[n] for n in random.integers(len(deep), size=40)):
            order = random.permutation(rank).tolist()
            settings = [f"order=({','.join(map(str, order))})"]
            settings += [f"width{n}=144" for n, kind in enumerate(kinds, 1) if kind == "fixed"]
            text = f"levels({', '.join(kinds)}; {', '.join(settings)})"
            dense = random.integers(1, 9, shape) * (random.random(shape) < 0.2)
            tensor = storel.tensor(storel.tensor(dense, "coo" if rank == 4 else "csf"), text)
            verify_properties(tensor.storage, tensor.arrays, tensor.sizes)
            np.testing.assert_array_equal(tensor.to_numpy(), dense, err_msg=text)


def test_singletons_in_another_order_stand_in_the_order_of_the_levels() -> None:
    """Where a further level lies below, what stands above it is ranked, by the levels and not by the keys."""
    dense = np.arange(16.0).reshape(2, 2, 2, 2)
    text = "levels(compressed, singleton, singleton, compressed; order=(0,3,2,1))"
    tensor = storel.tensor(dense, text)
    np.testing.assert_array_equal(tensor.arrays["idx2"], [0, 0, 1, 1] * 2)
    np.testing.assert_array_equal(tensor.arrays["idx3"], [0, 1, 0, 1] * 2)
    np.testing.assert_array_equal(tensor.to_numpy(), dense)


@pytest.mark.parametrize("end", ["", ","])
def test_one_level_may_have_an_order_too(end: str) -> None:
    tensor = storel.tensor(np.array([0.0, 3.0, 0.0]), f"levels(compressed; order=(0{end}))")
    assert tensor.format == "levels(compressed)"
    with pytest.raises(FormatError, match="permutation"):
        storel.tensor(np.array([0.0, 3.0, 0.0]), f"levels(compressed; order=(1{end}))")


def test_an_order_may_end_with_a_comma() -> None:
    assert storel.tensor(np.eye(2), "levels(dense, dense; order=(1, 0,))").format.endswith("order=(1,0))")
    for text in ("(0,,)", "(,)", "(0 1,)"):
        with pytest.raises(ProgramSyntaxError, match="unexpected"):
            parse_format(f"levels(compressed; order={text})")


def test_the_data_says_how_wide_levels_are_and_how_many_buckets_they_have() -> None:
    dense = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]])
    assert storel.tensor(dense, "levels(dense, fixed)").format == "levels(dense, fixed; width2=2)"
    hashed = storel.tensor(dense, "levels(hashed, hashed)")
    assert hashed.format == "levels(hashed, hashed; buckets1=4, buckets2=2)"
    assert hashed.arrays["idx1"].tolist() == [0, 2]


def test_levels_in_another_order_are_as_wide_as_those_of_the_transpose() -> None:
    random = np.random.default_rng(5)
    for kinds, order in ANY_NEST:
        if "fixed" not in kinds:
            continue
        shape = (3, 4, 5)[: len(order)]
        dense = random.random(shape) * (random.random(shape) < 0.3)
        listed = f"levels({', '.join(kinds)}"
        tensor = storel.tensor(dense, f"{listed}; order={order})")
        natural = storel.tensor(np.ascontiguousarray(dense.transpose(order)), f"{listed})")
        np.testing.assert_array_equal(tensor.to_numpy(), dense)
        for name, value in natural.storage.arguments.items():
            if name.startswith("width"):
                assert tensor.storage.arguments[name] == value, (kinds, order)


ERRORS = [
    (
        "levels(dense, compresed)",
        "unknown kind of level 'compresed'\n<format>:1:15\n   1 | levels(dense, compresed)\n"
        "     |               ^^^^^^^^^\n  expected: dense or compressed or singleton or fixed or hashed\n"
        "  hint: did you mean 'compressed'?",
    ),
    (
        "levels(dense)",
        "levels(dense) does not store tensors of rank 2\n<format>:1:1\n   1 | levels(dense)\n"
        "     | ^^^^^^^^^^^^^\n  expected: 2 levels\n  found: 1",
    ),
    (
        "levels(dense, dense; order=(0,0))",
        "the order of levels is a permutation\n<format>:1:1\n   1 | levels(dense, dense; order=(0,0))\n"
        "     | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n  expected: order=(…) with each of 0 … 1 once",
    ),
    (
        "levels(dense, dense; width=3)",
        "format levels(dense, dense) does not take these arguments\n<format>:1:1\n"
        "   1 | levels(dense, dense; width=3)\n     | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n  expected: none",
    ),
    (
        "levels(dense, 3)",
        "a level is named by its kind\n  expected: dense or compressed or singleton or fixed or hashed",
    ),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_what_is_no_nest_is_an_error(text: str, message: str) -> None:
    with pytest.raises(FormatError) as raised:
        FORMATS.resolve(parse_format(text), 2)
    assert str(raised.value) == message
