"""The rise of resident memory is seen where the system tells it."""

from __future__ import annotations

import sys

import numpy as np

from storel.runtime.peak import peak_of


def test_what_is_touched_counts() -> None:
    """Also if it is given back before the end."""
    number, peak = peak_of(lambda: int(np.ones(4_000_000).sum()))
    assert number == 4_000_000
    if sys.platform == "linux" and peak is not None:
        assert 25_000_000 < peak < 200_000_000


def test_nothing_is_little() -> None:
    returned, peak = peak_of(lambda: "same")
    assert returned == "same"
    assert peak is None or 0 <= peak < 10_000_000
