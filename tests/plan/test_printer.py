"""A golden text for every kind of action, source, store and level."""

from __future__ import annotations

import pytest
from strategies.plans import ADD, number, read, real, row, upto, var

from storel.calculus.nodes import Apply, Lookup, Multiply, Symbol
from storel.plan.nodes import (
    ANY_KEY,
    Accumulate,
    Action,
    Append,
    Bind,
    Coordinates,
    Destination,
    Elements,
    Enter,
    Entries,
    Gather,
    Guard,
    HashStore,
    Intersection,
    Levels,
    ListStore,
    Loop,
    Matches,
    Place,
    Plan,
    RowsStore,
    ScalarStore,
    TableStore,
    Together,
    Unite,
)
from storel.plan.printer import render
from storel.scalars import ScalarType

M, N = Symbol("m"), Symbol("n")
FLOAT64 = ScalarType.FLOAT64
ONE = Accumulate(real(1.0))


@pytest.mark.parametrize(
    ("destination", "text"),
    [
        (Levels((), ADD), "scalar (add)"),
        (Coordinates(2, ADD), "coordinates of rank 2 (add)"),
        (Levels((Place(M), Append()), ScalarStore(FLOAT64, "minimum", 0)), "place m, append (minimum)"),
        (Levels((Append(repeats=True), Gather(N, by_bitmap=True)), ADD),
         "append, keys repeat, gather n by bitmap (add)"),
        (Levels((Place(M), Gather(N, by_bitmap=False)), ADD), "place m, gather n by list (add)"),
    ],
)  # fmt: skip
def test_destinations(destination: Destination, text: str) -> None:
    assert render(Plan(destination, Together(()))) == f"result <- {text}\n  together"


SPMV = Loop(
    upto("m"),
    Enter(
        var(0),
        Loop(row(var(0)), Accumulate(Multiply(read("A_val", var(1)), read("x", var(0))))),
    ),
)


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (SPMV, """loop i, i in 0:m
  enter i
    loop p, k in A_idx(A_pos(i):A_pos(i + 1))
      accumulate A_val(p) * x(k)"""),
        (Guard(Apply("less", (number(1), M)), ONE), "guard 1 < m\n  accumulate 1.0"),
        (Bind(ADD, ONE, Accumulate(var(0))), "bind t: float64 (add) <-\n  accumulate 1.0\naccumulate t"),
        (Bind(TableStore(FLOAT64, "add", 0, (M, N)), Together(()),
              Loop(Entries(var(0)), Loop(Entries(var(0)), Accumulate(var(0))))),
         """bind t: table of float64[m, n] (add) <-
  together
loop k, v in entries of t
  loop k2, v2 in entries of v
    accumulate v2"""),
        (Bind(ListStore(ScalarType.INT64, "minimum", 0, N), Together(()),
              Loop(Entries(Lookup(var(0), number(1))), ONE)),
         """bind t: list of int64[n] (minimum) <-
  together
loop k, v in entries of t(1)
  accumulate 1.0"""),
        (Bind(HashStore(ScalarType.INT64, "add", 0, (M, N)), Together(()), ONE),
         "bind t: hash of int64[m, n] (add) <-\n  together\naccumulate 1.0"),
        (Bind(RowsStore(ScalarType.INT64, "add", 0, (M, N)), Together(()), ONE),
         "bind t: rows of int64[m, n] (add) <-\n  together\naccumulate 1.0"),
        (Bind(HashStore(ScalarType.INT64, "add", 0, (ANY_KEY,)), Together(()), ONE),
         "bind t: hash of int64[any] (add) <-\n  together\naccumulate 1.0"),
        (Loop(Matches("a", number(0), N, number(3), is_unique=True), Accumulate(read("b", var(0)))),
         "loop p in the match in a(0:n) at 3\n  accumulate b(p)"),
        (Loop(Matches("a", number(0), N, number(3), is_unique=False), ONE),
         "loop p in matches in a(0:n) at 3\n  accumulate 1.0"),
        (Loop(Intersection(Elements("a", number(0), N), Elements("b", number(0), M)),
              Accumulate(Multiply(Multiply(read("x", var(2)), read("y", var(1))), var(0)))),
         "loop p, q, k in the intersection of a(0:n) and b(0:m)\n  accumulate x(p) * y(q) * k"),
        (Unite((Loop(Elements("a", number(0), N), Enter(var(0), ONE)),
                Loop(Elements("b", number(0), M), Enter(var(0), ONE)))),
         """unite
  loop p, k in a(0:n)
    enter k
      accumulate 1.0
  loop p2, k2 in b(0:m)
    enter k2
      accumulate 1.0"""),
        (Together((Accumulate(M), Accumulate(N))), "together\n  accumulate m\n  accumulate n"),
    ],
)  # fmt: skip
def test_actions(action: Action, text: str) -> None:
    printed = render(Plan(Levels((), ADD), action)).splitlines()
    assert "\n".join(line[2:] for line in printed[1:]) == text
