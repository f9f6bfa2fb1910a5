from __future__ import annotations

import numpy as np
import pytest
from strategies.structured import FITTING

from storel.errors import FormatError
from storel.source import Source
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.tensor import Tensor, pack
from storel.storage.trials.layout import example, layout
from storel.storage.trials.samples import Sample
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse, parse_format


def resolved(text: str, rank: int = 2) -> Format:
    return Formats().resolve(parse_format(text), rank)


def created(text: str) -> Format:
    (statement,) = parse(Source("test", f"CREATE FORMAT f({text}")).statements
    assert isinstance(statement, CreateFormat)
    return Format("f", statement)


ONE_VALUE = "T: real[m, n]) USING val: real[1] AS sum(<i, _> in 0:m, <j, _> in 0:n) { (i, j) -> val(0) }"

EXAMPLES = [
    ("csr", "1 . 2 . / . . . . / . 3 . . / 4 . . 5"),
    ("lower_triangular", "1 . . . / . . . . / . 2 . . / 3 . . 4"),
    ("symmetric", "1 . . 2 / . . 3 . / . 3 . . / 2 . . 4"),
    ("diagonal", "1 . . . / . . . . / . . . . / . . . 2"),
]


@pytest.mark.parametrize(("text", "drawing"), EXAMPLES)
def test_the_example_is_that_of_the_comments_as_far_as_it_fits(text: str, drawing: str) -> None:
    rows = example(resolved(text), (4, 4)).to_numpy().tolist()
    assert " / ".join(" ".join(str(value or ".") for value in row) for row in rows) == drawing


@pytest.mark.parametrize("text", FITTING)
@pytest.mark.parametrize("extent", [4, 6])
def test_every_format_has_an_example_whose_values_lie_where_they_are_marked(text: str, extent: int) -> None:
    made = layout(example(resolved(text), (extent, extent)))
    values = made.values
    assert values.keys() == made.entries.keys() != set()
    names = {each.name for each in made.tensor.storage.arrays if each.holds_values}
    for name in names:
        for position, value in enumerate(made.tensor.arrays[name].tolist()):
            mark = made.elements.get((name, position))
            assert (mark is None) == (value == 0)
            if mark is not None:
                marked = {abs(float(values[key])) for key, own in made.entries.items() if own == mark}
                assert marked == {abs(value)}
    marks = {mark for (array, _), mark in made.elements.items() if array in names}
    assert marks == set(made.entries.values())


def test_keys_belong_to_the_entry_that_reads_them() -> None:
    made = layout(example(resolved("csr"), (4, 4)))
    assert [made.elements.get(("idx", position)) for position in range(5)] == [0, 1, 2, 3, 4]
    assert not [array for array, _ in made.elements if array == "pos"]
    blocks = layout(example(resolved("bcsr(r=2, c=2)"), (4, 4)))
    assert [blocks.elements.get(("idx", position)) for position in range(4)] == [0, 1, None, 4]


def test_mirror_images_have_one_mark() -> None:
    entries = layout(example(resolved("symmetric"), (4, 4))).entries
    assert entries[0, 3] == entries[3, 0] == 1
    assert len(set(entries.values())) == 4


def test_a_diagonal_of_one_value_has_one_mark() -> None:
    storage = created(
        "T: real[m, n]) USING val: real[m + n] "
        "AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(j - i + m) }"
    )
    made = layout(example(storage, (4, 4)))
    for (i, j), mark in made.entries.items():
        assert mark == made.entries.get((i + 1, j + 1), mark) == made.elements["val", j - i + 4]
    assert len(set(made.entries.values())) == 5 - 1  # (0, 0) and (3, 3) are on one diagonal


@pytest.mark.parametrize(("rank", "shape"), [(0, ()), (1, (5,)), (3, (2, 3, 4)), (4, (2, 1, 2, 3))])
def test_other_ranks(rank: int, shape: tuple[int, ...]) -> None:
    made = layout(example(resolved("dense", rank), shape))
    assert made.tensor.shape == shape
    assert sorted(made.elements.values()) == list(range(len(made.values))) != []


def test_no_places_no_marks() -> None:
    made = layout(example(resolved("csr"), (0, 3)))
    assert (made.entries, made.elements) == ({}, {})


def test_entries_with_one_value_are_called_by_their_keys() -> None:
    made = layout(pack(resolved("csr"), np.array([[0, 0], [0, 2]]), np.array([7, 7]), (1, 3)))
    assert made.labels == ("0,0", "0,2")
    assert layout(example(created(ONE_VALUE), (2, 3))).labels == ("1",)


def test_what_does_not_fit_says_why() -> None:
    with pytest.raises(FormatError, match="does not store tensors of this shape"):
        example(resolved("symmetric"), (3, 4))


def test_a_large_example_takes_few_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[int] = []
    packed = Sample.packed

    def counted(sample: Sample, storage: Format) -> Tensor:
        attempts.append(len(sample))
        return packed(sample, storage)

    monkeypatch.setattr(Sample, "packed", counted)
    drawn = layout(example(Formats().find("constant", 2), (60, 60)))
    assert set(drawn.entries.values()) == {0}
    assert len(drawn.entries) == 3600
    assert sum(each > 64 for each in attempts) < 5
