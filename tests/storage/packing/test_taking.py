"""What parts of a composed format may take, and that what they ask of groups is counted once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import storel
from storel.errors import FormatError
from storel.source import Source
from storel.storage.formats.known import Formats
from storel.storage.packing import ranking
from storel.storage.packing.taking import Takings
from storel.syntax.nodes.declarations import Taking
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse

COORDINATES = np.array([[0, 0, 0, 1, 2, 2], [0, 2, 3, 1, 0, 3]])
VALUES = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def taking(text: str) -> Taking:
    source = f"CREATE FORMAT some(T: real[m, n]) USING near: coo TAKES {text}, rest: coo AS near + rest"
    (found,) = (each.taking for each in creation(source).parts if each.taking is not None)
    return found


def creation(text: str) -> CreateFormat:
    (statement,) = parse(Source("", text)).statements
    assert isinstance(statement, CreateFormat)
    return statement


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<(i, _), _> WHERE count(WITHIN i) <= 1", [0, 0, 0, 1, 0, 0]),
        ("<(i, j), _> WHERE rank(j WITHIN i) < 1", [1, 0, 0, 1, 1, 0]),
        ("<(_, j), v> WHERE (count(WITHIN j) <= 1) and (v > 2)", [0, 0, 0, 1, 0, 0]),
        ("<(i, _), v> WHERE rank(-v WITHIN i) < 1", [0, 0, 1, 1, 0, 1]),
        ("<(i, _), v> WHERE count(WITHIN v / 4 < 1, i > 1) <= 1", [0, 0, 0, 1, 0, 0]),
    ],
)
def test_conditions(text: str, expected: list[int]) -> None:
    found = Takings(COORDINATES, VALUES, {"m": 3, "n": 4}).taken(taking(text))
    assert found.dtype == bool and found.tolist() == [bool(each) for each in expected]


def test_groups_are_counted_once_for_each_meaning_of_the_names(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[list[int]] = []
    sizes = ranking.sizes

    def counting(groups: list[np.ndarray], count: int) -> np.ndarray:
        counted.append(groups[0].tolist())
        return sizes(groups, count)

    monkeypatch.setattr(ranking, "sizes", counting)
    takings = Takings(COORDINATES, VALUES, {"m": 3, "n": 4})
    for text, expected in (
        ("<(i, _), _> WHERE count(WITHIN i) <= 1", 1),
        ("<(i, _), _> WHERE count(WITHIN i) <= 2", 3),
        ("<(_, i), _> WHERE count(WITHIN i) <= 1", 2),
    ):
        assert np.count_nonzero(takings.taken(taking(text))) == expected
    assert counted == [COORDINATES[0].tolist(), COORDINATES[1].tolist()]


OF_ONE_PART = [
    ("coo", "<(i, j), _> WHERE i == j"),
    ("csr", "<(i, j), v> WHERE v < 2"),
    ("csc", "<(_, j), _> WHERE rank(j WITHIN m) < 1"),
    ("dense", "<(i, _), _> WHERE i < m - 2"),
    ("bcsr(2, 2)", "<(i, j), _> WHERE (i // 2 == j // 2) and (i < 1)"),
    ("dcsr", "<(i, _), v> WHERE (i > 0) == (v > 4)"),
]
NUMBERS = np.array([[1.0, 0, 0, 0], [0, 0, 3.0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize(("part", "takes"), OF_ONE_PART)
def test_a_format_of_one_part_holds_what_that_takes(tmp_path: Path, part: str, takes: str) -> None:
    text = f"CREATE FORMAT one(T: real[m, n]) USING a: {part} TAKES {takes} AS a"
    (tmp_path / "one.sdql").write_text(text)
    message = r"one: 1 of 2 entries does not fit; the first is \(1, 2\) = 3.0: no part takes it"
    many = sparse.csr_array(np.kron(np.ones((50, 50)), NUMBERS))
    for data in (NUMBERS, sparse.csr_array(NUMBERS), sparse.csc_array(NUMBERS)):
        with pytest.raises(FormatError, match=message):
            storel.tensor(data, "one", formats=tmp_path)
    with pytest.raises(FormatError, match="the first is"):
        storel.tensor(many, "csr").to("one", formats=tmp_path)
    with pytest.raises(FormatError, match=message):
        storel.run(f"{text}; CREATE TENSOR y STORED AS one AS A * 1", A=NUMBERS)
    held = NUMBERS * (NUMBERS == 1)
    np.testing.assert_array_equal(storel.tensor(held, "one", formats=tmp_path).to_numpy(), held)


def test_what_a_composed_part_does_not_take_goes_to_the_next_one() -> None:
    """Keys, value and parameter of the inner one are called as other things of the outer one are."""
    program = """
    CREATE FORMAT inner(T: real[m, n]; w: int)
      USING a: coo TAKES <(i, j), v> WHERE (i + w == j) and (v < n) AS a;
    CREATE FORMAT outer(T: real[i, j]; v: int)
      USING a: inner(v + 1) TAKES <(v, w), _> WHERE (v > 0) and (w < j), b: csr AS a + b;
    CREATE TENSOR y STORED AS outer(0) AS A * 1
    """
    numbers = np.array([[0, 2.0, 0, 0], [0, 0, 2.0, 3.0], [0, 0, 0, 5.0]])
    found = storel.run(program, A=numbers)
    assert isinstance(found, storel.Tensor)
    assert (found.arrays["a_a_row"].tolist(), found.arrays["a_a_col"].tolist()) == ([1], [2])
    assert found.arrays["b_val"].tolist() == [2.0, 3.0, 5.0]
    np.testing.assert_array_equal(found.to_numpy(), numbers)


def test_what_is_kept_in_a_format_is_not_taken_for_one_that_takes_less(tmp_path: Path) -> None:
    tensor = storel.tensor(NUMBERS)
    for condition, holds in (("v < 4", True), ("v < 2", False)):
        text = f"CREATE FORMAT one(T: real[m, n]) USING a: coo TAKES <(i, j), v> WHERE {condition} AS a"
        storage = Formats().create(creation(text))
        if holds:
            tensor.converted(storage)
        else:
            with pytest.raises(FormatError, match="no part takes it"):
                tensor.converted(storage)
