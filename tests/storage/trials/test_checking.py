from __future__ import annotations

from typing import Any

import pytest
from strategies.structured import FITTING

from storel.errors import FormatError, TypeMismatchError
from storel.source import Source
from storel.storage import evident
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.formats.signature import level_signature
from storel.storage.trials import checking
from storel.storage.trials.checking import SHAPES, check
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse, parse_format

FORMATS = Formats()


def created(text: str) -> Format:
    (statement,) = parse(Source("test", f"CREATE FORMAT f({text}")).statements
    assert isinstance(statement, CreateFormat)
    return Format("f", statement)


def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let checks take a tenth of their time."""
    monkeypatch.setattr(checking, "DENSITIES", (0.0, 0.5))
    monkeypatch.setitem(SHAPES, 2, ((0, 3), (1, 1), (2, 3), (5, 5)))
    monkeypatch.setattr(checking, "EXAMPLE_PLACES", 256)


NESTS = [
    (name, rank)
    for name in FORMATS.files
    for rank, storage in FORMATS.overloads(name).items()
    if level_signature(storage) is not None
]


@pytest.mark.parametrize(("text", "rank"), [*NESTS, *((text, 2) for text in FITTING), ("levels(dense)", 1)])
def test_a_shipped_format_has_no_fault(text: str, rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    verdict = check(FORMATS.resolve(parse_format(text), rank))
    assert verdict.counterexample is None
    assert any(each.fitting for each in verdict.tried.values())
    is_whole = all(each.fitting == each.entries for each in verdict.tried.values())
    assert is_whole == (verdict.refusal is None)


def test_the_same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    storage = FORMATS.resolve(parse_format("tridiagonal"), 2)
    one, other = check(storage), check(storage)
    assert (one.tried, one.memory, str(one.refusal)) == (other.tried, other.memory, str(other.refusal))


def test_memory_is_that_of_an_example() -> None:
    memory = check(FORMATS.resolve(parse_format("lower_triangular"), 2)).memory
    assert memory is not None
    assert memory.shape == (64, 64)
    assert memory.stored == 64 * 65 // 2 * 8
    assert memory.places == 64 * 64 * 8
    assert memory.coordinates == memory.entries * (2 * 4 + 8)
    assert 150 < memory.entries < 300  # half of a tenth


def test_shapes_that_are_refused_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    assert check(FORMATS.resolve(parse_format("symmetric"), 2)).refused_shapes == [(0, 3), (2, 3)]


SQUARE = """T: real[n, n]) WHERE {needed} USING val: real[n * n]
    AS sum(<i, _> in 0:n) sum(<j, _> in 0:n) {{ (i, j) -> val(i * n + j) }}"""


def test_shapes_meet_what_a_format_requires(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    verdict = check(created(SQUARE.format(needed="n % 2 == 0")))
    assert verdict.shapes == [(0, 3), (2, 2), (2, 3), (6, 6)]
    assert verdict.refused_shapes == [(0, 3), (2, 3)]
    assert verdict.memory is not None and verdict.memory.shape == (16, 16)
    thirds = check(created(SQUARE.format(needed="n % 3 == 0")))
    assert thirds.memory is not None and thirds.memory.shape == (18, 18)


def test_requirements_that_no_shape_meets_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    with pytest.raises(FormatError) as raised:
        check(created(SQUARE.format(needed="n % 100 == 90")))
    assert raised.value.message == "no tensor that is tried has a shape that format f stores"
    assert (raised.value.expected, raised.value.found) == ("n % 100 == 90", "1 x 1, 5 x 5")


def test_what_fits_of_one_place_alone_is_not_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The only run of the only row is found, whatever the mapping says of runs and rows."""
    small(monkeypatch)
    runs = """T: real[m, n])
        USING pos: int[m + 1] ASCENDING FROM 0 TO runs, first: int[runs] IN 0:n INCREASING WITHIN pos,
              at: int[runs + 1] ASCENDING FROM 0 TO nnz, val: real[nnz]
        AS sum(<i, _> in 0:m) sum(<p, s> in first(pos(i):pos(i + 1))) sum(<q, _> in at(p):at(p + 1))
          { (i, s + q - at(p)) -> val(q) }"""
    with pytest.raises(FormatError, match="nothing determines 'p'"):
        check(created(runs))


INCREASING = """T: real[m, n])
    USING pos: int[m + 1] ASCENDING FROM 0 TO nnz, idx: int[nnz] IN 0:n INCREASING, val: real[nnz]
    AS sum(<i, _> in 0:m) { i -> sum(<p, j> in idx(pos(i):pos(i + 1))) { j -> val(p) } }"""


def test_what_breaks_a_declared_property_does_not_fit() -> None:
    verdict = check(created(INCREASING))
    assert verdict.counterexample is None
    assert verdict.refusal is not None
    assert "what is declared of idx: idx(8) = 8, idx(9) = 0: not INCREASING" in verdict.refusal.message


def test_a_false_property_is_shown_by_the_smallest_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should packing ever let one pass."""

    def believe(*_: object) -> None:
        """Look at nothing."""

    monkeypatch.setattr(evident, "verify_made", believe)
    verdict = check(created(INCREASING))
    assert verdict.counterexample is not None
    assert len(verdict.counterexample.sample) == 2
    assert verdict.counterexample.sample.shape == (2, 3)
    assert "not INCREASING" in verdict.counterexample.fault
    assert str(verdict.counterexample).startswith("  float64[2, 3] with (")
    assert verdict.memory is None


def test_what_reads_back_otherwise_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    made = checking.combine

    def without_large_entries(*arguments: Any) -> Any:
        coordinates, values = made(*arguments)
        return coordinates[:, values < 5], values[values < 5]

    monkeypatch.setattr(checking, "combine", without_large_entries)
    counterexample = check(FORMATS.resolve(parse_format("coo"), 2)).counterexample
    assert counterexample is not None
    assert len(counterexample.sample) == 1
    assert "reads back with" in counterexample.fault


def test_what_cannot_be_packed_says_why() -> None:
    product = """T: real[m, n]; k: int = 1) USING u: real[m * k], v: real[n * k]
        AS sum(<i, _> in 0:m, <j, _> in 0:n) { (i, j) -> sum(<r, _> in 0:k) u(i * k + r) * v(j * k + r) }"""
    with pytest.raises(FormatError, match="not one array read"):
        check(created(product))


def test_a_text_that_means_nothing_says_why() -> None:
    with pytest.raises(TypeMismatchError, match="another rank"):
        check(created("T: real[m, n]) USING val: real[m] AS sum(<i, _> in 0:m) { i -> val(i) }"))


def test_what_not_even_holds_no_entries_does_not_name_some() -> None:
    text = "T: real[m, n]) USING val: real[m * n - 1] AS sum(<i, _> in 0:m, <j, _> in 0:n) "
    with pytest.raises(FormatError, match=r"the mapping reads val\(80\), outside 0:80"):
        check(created(text + "{ (i, j) -> val(i * n + j) }"))
