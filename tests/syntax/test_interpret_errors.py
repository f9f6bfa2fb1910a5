"""Programs that fail while they run: which error, and where it points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from strategies.data import Tensor
from strategies.programs import run

from storel.errors import EvaluationError

INPUTS: dict[str, Any] = {
    "v": Tensor(np.array([1.0, 0.0, -2.0])), "empty": Tensor(np.zeros(3)), "x": np.array([0.5, 0.0, 4.0]),
    "idx": np.array([2, 0, 2]), "minus": np.array([0, -1]), "n": 3,
}  # fmt: skip
LARGEST = 2**63 - 1

FAILURES = [
    ("x(n)", "position 3", "x(n)"),
    ("x(-1)", "position -1", "x(-1)"),
    ("sum(<i, _> in 0:n) x(i + 1)", "position 3", "x(i + 1)"),
    ("sum(<p, a> in x(1:4)) a", "position 3", "x(1:4)"),
    ("x(1:2)(0)", "position 0", "x(1:2)(0)"),
    ("sum(<p, a> in x(0 - 1:2)) a", "position -1", "x(0 - 1:2)"),
    ("sum(<p, i> in minus) { i -> 1 }", "negative key", "i"),
    ("sum(<p, i> in minus) { (p, i) -> 1 }", "negative key", "i"),
    ("min(<i, a> in empty) a", "the minimum of no entries", "min(<i, a> in empty) a"),
    ("max(<i, a> in x(2:2)) a", "the maximum of no entries", "max(<i, a> in x(2:2)) a"),
    ("sum(<p, i> in idx) { unique(i) -> x(p) }", "unique", "unique(i)"),
    ("sum(<_, _> in 0:2) sum(<p, _> in idx) { unique(p) -> 1 }", "unique", "unique(p)"),
    ("sum(<_, _> in 0:2) { 0 -> sum(<p, _> in idx) { unique(p) -> 1 } }", "unique", "unique(p)"),
    ("n // 0", "division by zero", "n // 0"),
    ("n % (n - 3)", "division by zero", "n % (n - 3)"),
    ("pow(n, -1)", "negative power", "pow(n, -1)"),
    (f"{LARGEST} + 1", "overflow", f"{LARGEST} + 1"),
    (f"{LARGEST} * 2", "overflow", f"{LARGEST} * 2"),
    (f"-{LARGEST} - 2", "overflow", f"-{LARGEST} - 2"),
    (f"sum(<i, _> in 0:2) {LARGEST}", "overflow", f"sum(<i, _> in 0:2) {LARGEST}"),
    ("pow(2, 64)", "overflow", "pow(2, 64)"),
    ("pow(n, 10000)", "overflow", "pow(n, 10000)"),
    ("pow(-n, 2147483647)", "overflow", "pow(-n, 2147483647)"),
    (f"prod(<i, _> in 0:2) {LARGEST}", "overflow", f"prod(<i, _> in 0:2) {LARGEST}"),
]


@pytest.mark.parametrize(("text", "message", "place"), FAILURES)
def test_fails_and_says_where(text: str, message: str, place: str) -> None:
    with pytest.raises(EvaluationError, match=message) as caught:
        run(text, **INPUTS)
    assert caught.value.span is not None
    assert caught.value.span.text == place


FINE = [
    ("sum(<p, _> in x(7:7)) 1", 0),  # an empty sub-array reads nothing
    ("sum(<p, _> in x(2:0)) 1", 0),
    ("if (n > 5) then x(n) else 1.0", 1.0),
    ("if (n > 5 and x(n) > 0) then 1", 0),
    ("if (n < 5 or x(n) > 0) then 1", 1),
    ("if (n > 5) then n // 0", 0),
    ("sum(<p, i> in minus) v(i)", 1.0),  # a lookup may have any key
    ("sum(<i, a> in empty) x(9)", 0.0),
    ("sum(<p, i> in minus) { i -> p - p }", {}),  # what is zero is no entry
    ("sum(<p, i> in minus) { (p, i) -> i + p }", {}),
    ("sum(<_, _> in 0:2) sum(<_, a> in sum(<p, _> in idx) { unique(p) -> x(p) }) a", 9.0),
    ("0 * pow(2, 62) + pow(2, 62)", 2**62),
    ("-9223372036854775807 - 1", -(2**63)),
]


@pytest.mark.parametrize(("text", "expected"), FINE)
def test_does_not_fail(text: str, expected: Any) -> None:
    assert run(text, **INPUTS) == expected


def test_an_overflow_of_int32() -> None:
    large = Tensor(np.array([2**31 - 1, 1], dtype=np.int32))
    with pytest.raises(EvaluationError, match="overflow"):
        run("sum(<i, a> in a) a", a=large)
