"""Legal plans are let through, and each kind of illegal one is refused."""

from __future__ import annotations

import pytest
from strategies.plans import ADD, csr_symbols, number, read, real, row, upto, var

from storel.calculus.nodes import Lookup, Sum, Symbol
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
    Levels,
    ListStore,
    Loop,
    Place,
    Plan,
    RowsStore,
    TableStore,
    Together,
    Unite,
)
from storel.plan.verify import IllegalPlanError, verify
from storel.scalars import ScalarType

M, N = Symbol("m"), Symbol("n")
ONE = Accumulate(real(1.0))
FLOAT64 = ScalarType.FLOAT64
TABLE = TableStore(FLOAT64, "add", 0, (M, N))
ROWS = RowsStore(FLOAT64, "add", 0, (M, N))
SCALAR: Destination = Levels((), ADD)
VECTOR: Destination = Levels((Place(N),), ADD)
SCAN = Loop(row(number(0)), Enter(var(0), ONE))
FILLED = Loop(upto("m"), Enter(var(0), Loop(upto("n"), Enter(var(0), ONE))))

LEGAL = [
    (SCALAR, Accumulate(Symbol("beta"))),
    (SCALAR, Together(())),
    (VECTOR, Loop(upto("n"), Enter(var(0), Accumulate(read("x", var(0)))))),
    (VECTOR, Unite((SCAN, SCAN))),
    (Coordinates(2, ADD), Loop(upto("m"), Enter(var(0), Guard(var(0), SCAN)))),
    (SCALAR, Bind(TABLE, FILLED, Loop(Entries(var(0)), Loop(Entries(var(0)), Accumulate(var(0)))))),
    (SCALAR, Bind(TABLE, FILLED, Loop(Entries(Lookup(var(0), number(1))), Accumulate(var(0))))),
    (SCALAR, Bind(HashStore(FLOAT64, "add", 0, (ANY_KEY,)), SCAN, Loop(Entries(var(0)), Accumulate(var(0))))),
    (SCALAR, Bind(HashStore(FLOAT64, "add", 0, (number(2**31), M)), FILLED, ONE)),
    (SCALAR, Bind(ROWS, FILLED, Loop(Entries(Lookup(var(0), number(1))), Accumulate(var(0))))),
    (Levels((Append(), Place(M, repeats=True), Append()), ADD), Together(())),
    (Levels((Place(M), Gather(N, by_bitmap=True)), ADD), Together(())),
]

ILLEGAL = [
    ("a hash store has keys", SCALAR, Bind(HashStore(FLOAT64, "add", 0, ()), ONE, ONE)),
    ("do not fit an integer", SCALAR, Bind(HashStore(FLOAT64, "add", 0, (ANY_KEY, M)), FILLED, ONE)),
    ("do not fit an integer", SCALAR,
     Bind(HashStore(FLOAT64, "add", 0, (number(2**31), number(2**31))), FILLED, ONE)),
    ("filled in another order", SCALAR, Bind(ROWS, SCAN, ONE)),
    ("not only scanned", SCALAR, Bind(ROWS, FILLED, Loop(Entries(var(0)), ONE))),
    ("is not bound", SCALAR, Accumulate(var(0))),
    ("is not bound", SCALAR, Loop(upto("n"), Accumulate(var(2)))),
    ("is not bound", SCALAR, Bind(ADD, Accumulate(var(0)), ONE)),
    ("gamma is unknown", SCALAR, Accumulate(Symbol("gamma"))),
    ("n is not an array", VECTOR, Loop(Elements("n", number(0), N), Enter(var(0), ONE))),
    ("b is not an array", VECTOR, Loop(Elements("b", number(0), N), Enter(var(0), ONE))),
    ("added to a dictionary", VECTOR, ONE),
    ("entered in a scalar", SCALAR, Enter(number(0), ONE)),
    ("entered in a scalar", VECTOR, Enter(number(0), Enter(number(0), ONE))),
    ("added to a dictionary", SCALAR, Bind(TABLE, ONE, ONE)),
    ("not a store", SCALAR, Loop(upto("n"), Loop(Entries(var(0)), ONE))),
    ("not a store", SCALAR, Loop(Entries(var(0)), ONE)),
    ("not a store", SCALAR, Loop(Entries(Symbol("x")), ONE)),
    ("not a store", SCALAR, Bind(ADD, ONE, Loop(Entries(var(0)), ONE))),
    ("not a store", SCALAR,
     Bind(TABLE, FILLED, Loop(Entries(Lookup(Lookup(var(0), number(0)), number(0))), ONE))),
    ("depends on a loop", SCALAR,
     Loop(upto("n"), Bind(ListStore(FLOAT64, "add", 0, var(0)), Together(()), ONE))),
    ("depends on a loop", Levels((Place(var(0)),), ADD), Together(())),
    ("is unknown", Levels((Place(Symbol("gamma")),), ADD), Together(())),
    ("a united branch", VECTOR, Unite((SCAN, Loop(upto("n"), Enter(var(0), ONE))))),
    ("a united branch", VECTOR, Unite((Loop(row(number(0)), Enter(var(1), ONE)),))),
    ("a united branch", SCALAR, Unite((Loop(row(number(0)), ONE),))),
    ("a sum in a scalar", SCALAR, Accumulate(Sum(Symbol("x"), var(0)))),
    ("one level below", Levels((Append(repeats=True), Append(), Append()), ADD), Together(())),
    ("one level below", Levels((Place(M, repeats=True), Append(), Append()), ADD), Together(())),
    ("does not repeat", Levels((Append(repeats=True),), ADD), Together(())),
    ("gathered is the last", Levels((Gather(N, by_bitmap=True), Append()), ADD), Together(())),
]  # fmt: skip


@pytest.mark.parametrize(("destination", "action"), LEGAL)
def test_a_legal_plan_is_let_through(destination: Destination, action: Action) -> None:
    verify(Plan(destination, action), csr_symbols())


@pytest.mark.parametrize(("message", "destination", "action"), ILLEGAL)
def test_an_illegal_plan_is_refused(message: str, destination: Destination, action: Action) -> None:
    with pytest.raises(IllegalPlanError, match=message):
        verify(Plan(destination, action), csr_symbols())
