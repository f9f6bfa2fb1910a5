"""Values are written out where locals stand for them, as long as that stays short."""

from __future__ import annotations

from itertools import pairwise

from strategies.loops import index, integer, plus

from storel.loops.nodes import Declare, Expression, Local
from storel.loops.walk import LONGEST, note, parts


def test_what_a_local_stands_for_is_said_by_others() -> None:
    i, j, k = index("i"), index("j"), index("k")
    known: dict[Local, Expression] = {}
    assert note(Declare(j, plus(i, integer(1))), known)
    assert note(Declare(k, plus(j, j)), known)
    assert known[k] == plus(plus(i, integer(1)), plus(i, integer(1)))


def test_chains_of_locals_are_written_out_up_to_a_length() -> None:
    """Each is used twice in the next one: a hundred would be 2 to the 100 parts."""
    chain = [index(f"y{number}") for number in range(100)]
    known: dict[Local, Expression] = {}
    noted = [note(Declare(after, plus(before, before)), known) for before, after in pairwise(chain)]
    assert noted[0] and not all(noted)
    assert all(sum(1 for _ in parts(value)) <= LONGEST for value in known.values())
