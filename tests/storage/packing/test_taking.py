"""What parts of a composed format may take, and that what they ask of groups is counted once."""

from __future__ import annotations

import numpy as np
import pytest

from storel.source import Source
from storel.storage.packing import ranking
from storel.storage.packing.taking import Takings
from storel.syntax.nodes.declarations import Taking
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse

COORDINATES = np.array([[0, 0, 0, 1, 2, 2], [0, 2, 3, 1, 0, 3]])
VALUES = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def taking(text: str) -> Taking:
    source = f"CREATE FORMAT some(T: real[m, n]) USING near: coo TAKES {text}, rest: coo AS near + rest"
    (statement,) = parse(Source("", source)).statements
    assert isinstance(statement, CreateFormat)
    (found,) = (each.taking for each in statement.parts if each.taking is not None)
    return found


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
