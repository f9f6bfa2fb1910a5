from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import storel
from storel.errors import FormatError
from storel.source import Source
from storel.storage.formats.requirements import first_unmet, holds
from storel.syntax.nodes.expressions import Expression
from storel.syntax.parser import parse_expression

SIZES = {"m": 6, "n": 3, "r": 4}

EVEN = """
CREATE FORMAT even(T: real[m, n]; r: int = 2)
  WHERE r >= 1, m % r == 0
  USING val: real[m * n]
  AS sum(<b, _> in 0:m // r, <k, _> in 0:r, <j, _> in 0:n) { (b * r + k, j) -> val((b * r + k) * n + j) }
"""


def condition(text: str) -> Expression:
    return parse_expression(Source("test", text))


@pytest.mark.parametrize(
    ("text", "is_true"),
    [
        ("r >= 1", True),
        ("m % r == 0", False),
        ("m % r == 0 or n == 3", True),
        ("m % r != 0 and not (n < 3)", True),
        ("not (r <= max(m, n))", False),
        ("r & (r - 1) == 0", True),
        ("true", True),
        ("r > m or false", False),
    ],
)
def test_conditions_of_sizes(text: str, is_true: bool) -> None:
    assert holds(condition(text), SIZES) == is_true


def test_what_names_more_than_is_known_is_left_out() -> None:
    requirements = [condition(text) for text in ("k > 9", "r < 9", "m % r == 0", "r > 9")]
    assert first_unmet(requirements, SIZES) is requirements[2]
    assert first_unmet(requirements, {"r": 4}) is requirements[3]
    assert first_unmet(requirements, {}) is None


@pytest.fixture(scope="module")
def formats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("formats")
    (path / "even.sdql").write_text(EVEN)
    (path / "twice.sdql").write_text(
        "CREATE FORMAT twice(T: real[m, n]; size: int = 3)"
        " USING near: even(size + 1), rest: coo AS near + rest"
    )
    (path / "broken.sdql").write_text(
        "CREATE FORMAT broken(T: real[m, n]) USING near: even(0), rest: coo AS near + rest"
    )
    return path


def test_what_meets_them_is_stored(formats: Path) -> None:
    dense = np.arange(24.0).reshape(6, 4)
    for text in ("even", "even(3)", "twice(size=2)"):
        assert np.array_equal(storel.tensor(dense, text, formats=formats).to_numpy(), dense)


@pytest.mark.parametrize(
    ("text", "message", "found", "place"),
    [
        ("even(r=0)", "format even(r=0) needs r >= 1", "r = 0", "even(r=0)"),
        ("even(r=4)", "format even(r=4) needs m % r == 0", "m = 6, r = 4", None),
        ("twice", "format twice(size=3) needs m % (size + 1) == 0", "m = 6, size = 3", None),
        ("twice(size=-1)", "format twice(size=-1) needs size + 1 >= 1", "size = -1", "twice(size=-1)"),
        ("broken", "format broken needs 0 >= 1", None, "broken"),
    ],
)
def test_what_does_not_is_an_error(
    formats: Path, text: str, message: str, found: str | None, place: str | None
) -> None:
    with pytest.raises(FormatError) as raised:
        storel.tensor(np.eye(6), text, formats=formats)
    error = raised.value
    assert (error.message, error.found) == (message, found)
    assert place == (None if error.span is None else error.span.text)


def test_given_arrays_meet_them_too() -> None:
    arrays = {"a": np.ones(2), "b": np.ones(6)}
    assert storel.tensor(arrays, "kronecker(p=3, q=2)", shape=(3, 4)).shape == (3, 4)
    with pytest.raises(FormatError, match=r"needs m % p == 0") as raised:
        storel.tensor(arrays, "kronecker(p=3, q=2)", shape=(4, 4))
    assert raised.value.found == "m = 4, p = 3"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bcsr(r=5)", r"needs r <= max\(m, 4\)"),
        ("bcsr(c=0)", "needs c >= 1"),
        ("bcsr_csr(r=1, c=9)", r"needs c <= max\(n, 4\)"),
        ("tiled(r=-2)", "needs r >= 1"),
        ("block_diagonal(size=5)", r"needs size <= max\(n, 4\)"),
        ("sell(c=9)", r"needs c <= max\(m, 8\)"),
        ("ell(width=-1)", "needs width >= 0"),
        ("hyb(width=-1)", "needs width >= 0"),
        ("band(lower=0, upper=-2)", r"needs lower \+ upper >= -1"),
        ("hash(buckets=3)", r"needs buckets & buckets - 1 == 0"),
        ("hash(inner=0)", "needs inner >= 1"),
        ("levels(dense, fixed; width2=-1)", "needs width2 >= 0"),
        ("levels(hashed, dense; buckets1=6)", r"needs buckets1 & buckets1 - 1 == 0"),
    ],
)
def test_parameters_that_make_no_sense(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        storel.tensor(np.eye(3), text)
