"""What is added up over runs is added while their ends are looked for, where that is the same."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.loops import FLOAT64, INT64, N, check, every_backend, index, integer, kernel, next_to, plus

from storel.loops.emitter import RUN
from storel.loops.nodes import (
    Allocation,
    Assign,
    Binary,
    Buffer,
    Constant,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    Load,
    Local,
    Role,
    Statement,
    Update,
    While,
)
from storel.loops.passes.fusion import fuse
from storel.loops.passes.polynomials import constant_of
from storel.loops.passes.reorder import reorder
from storel.loops.passes.runs import group
from storel.loops.verify import verify
from storel.loops.walk import walk
from storel.symbols import ArraySymbol

ROW, VAL = Buffer("row", INT64, Role.INDEX), Buffer("val", FLOAT64)
Y = Allocation(Buffer("y", FLOAT64), 0, fill=0.0, is_output=True)
BEGIN, END, K, P, Q = index("begin"), index("end"), index("k"), index("p"), index("q")
LENGTHS = [1, 2, 7, 8, 9, 15, 16, 17, 33, 3, 1, 40]
KEYS = np.repeat(np.arange(len(LENGTHS)) * 2, LENGTHS)
VALUES = np.random.default_rng(0).random(len(KEYS))
SUMS = np.bincount(KEYS, VALUES, len(KEYS))


def is_fused(made: Kernel) -> bool:
    loops = [each for each in walk(made.compute.body) if isinstance(each, For)]
    return any(constant_of(Binary("subtract", loop.high, loop.low)) == RUN for loop in loops)


def listed(*body: Statement) -> Kernel:
    """Return the kernel of a loop over a list in the order of its keys, run by run."""
    loop = For(P, integer(0), N, (Declare(K, Load(ROW, P)), *body))
    known = ArraySymbol("row", INT64, len(KEYS), 0, 99, ascending=True, distinct=len(LENGTHS))
    return group(kernel([ROW, VAL], [(Y, N)], [loop]), {"row": known})


@pytest.mark.parametrize("reorders", [True, False])
def test_sums_of_runs(reorders: bool) -> None:
    made = listed(Update(Y.buffer, K, "add", Load(VAL, P)))
    made = fuse(reorder(made) if reorders else made)
    verify(made)
    assert is_fused(made)
    check(made, {"n": len(KEYS)}, {"row": KEYS, "val": VALUES}, {"y": SUMS})


def test_loops_and_conditions_inside_stay_by_themselves() -> None:
    update = Update(Y.buffer, K, "add", Load(VAL, P))
    assert not is_fused(fuse(listed(If(Binary("less", integer(3), P), (update,)))))
    assert not is_fused(fuse(listed(For(Q, integer(0), integer(2), (update,)))))


def search(step: int) -> While:
    last = plus(END, integer(step - 1))
    goes_on = Binary("and", Binary("less", last, N), Binary("equal", Load(ROW, last), K))
    return While(goes_on, (Assign(END, plus(END, integer(step))),))


TOTAL = Local("total", FLOAT64)
ADDED = Assign(TOTAL, Binary("add", TOTAL, Load(VAL, P), Role.VALUE))
SEARCHES = (search(RUN), search(1))


def runs(
    beginning: tuple[Statement, ...] = (Declare(BEGIN, END),),
    searches: tuple[Statement, ...] = SEARCHES,
    between: tuple[Statement, ...] = (),
    low: Expression = BEGIN,
    high: Expression = END,
) -> Kernel:
    """Return the sums of runs in one loop over all."""
    run = (
        Declare(K, Load(ROW, END)),
        *beginning,
        *searches,
        Declare(TOTAL, Constant(0.0, FLOAT64)),
        *between,
        For(P, low, high, (ADDED,)),
        Update(Y.buffer, K, "add", TOTAL),
    )
    return kernel([ROW, VAL], [(Y, N)], [Declare(END, integer(0)), While(Binary("less", END, N), run)])


OTHER = Declare(Q, integer(1))
LATER = (Declare(BEGIN, END), next_to(END))
SAME: dict[str, Kernel] = {
    "as runs are": runs(),
    "after something else": runs((Declare(BEGIN, END), OTHER)),
    "before something else": runs(between=(OTHER,)),
    "by an assignment": runs((Declare(BEGIN, integer(0)), Assign(BEGIN, END), Assign(END, BEGIN))),
}
OTHERS: dict[str, Kernel] = {
    "from elsewhere": runs((Declare(BEGIN, END), OTHER), low=plus(BEGIN, integer(0))),
    "begun later": runs(LATER),
    "up to elsewhere": runs(between=(Declare(Q, END),), high=Q),
    "what knows the end": runs(between=(Declare(Q, END),)),
    "one search": runs(searches=(search(1),)),
    "other searches": runs(searches=(search(4), search(1))),
    "in the other order": runs(searches=SEARCHES[::-1]),
    "something else between them": runs(searches=(SEARCHES[0], OTHER, SEARCHES[1])),
}


@pytest.mark.parametrize("name", [*SAME, *OTHERS])
def test_what_is_fused(name: str) -> None:
    before = (SAME | OTHERS)[name]
    made = fuse(before)
    verify(made)
    assert is_fused(made) == (name in SAME)
    for one, other in zip(every_backend(made).values(), every_backend(before).values(), strict=True):
        inputs = {"row": KEYS, "val": VALUES}
        np.testing.assert_array_equal(
            one({"n": len(KEYS)}, inputs)["y"], other({"n": len(KEYS)}, inputs)["y"]
        )
