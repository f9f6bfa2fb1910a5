from __future__ import annotations

from strategies.loops import INT64, LENGTHS, SIZES, N, index, integer, kernel, next_to, plus

from storel.errors import Cause
from storel.loops.nodes import (
    Ahead,
    Allocation,
    Binary,
    Buffer,
    Cast,
    Constant,
    Declare,
    Expression,
    Fail,
    Failure,
    For,
    If,
    Load,
    Role,
    Row,
    Select,
    Sort,
    Store,
    Unary,
    Update,
    While,
)
from storel.loops.printer import kernel_text, text
from storel.scalars import ScalarType

INDEX, TRUE = index("i"), Constant(True, ScalarType.BOOL)

EXPRESSIONS: list[tuple[Expression, str]] = [
    (Binary("multiply", plus(INDEX, N), integer(2)), "(i + n) * 2"),
    (plus(INDEX, plus(N, integer(2))), "i + (n + 2)"),
    (plus(plus(INDEX, N), integer(2)), "i + n + 2"),
    (Binary("minimum", INDEX, plus(INDEX, N)), "minimum(i, i + n)"),
    (Unary("negate", plus(INDEX, N)), "-(i + n)"),
    (Unary("popcount", INDEX), "popcount(i)"),
    (Cast(ScalarType.FLOAT64, INDEX), "float64(i)"),
    (plus(Select(TRUE, INDEX, N), N), "(true ? i : n) + n"),
    (Binary("and", Binary("less", INDEX, N), Binary("or", TRUE, TRUE)), "i < n and (true or true)"),
]


def test_expressions() -> None:
    assert [text(expression) for expression, _ in EXPRESSIONS] == [printed for _, printed in EXPRESSIONS]


def test_kernel() -> None:
    x, keys = Buffer("x", INT64), Buffer("keys", INT64, Role.INDEX)
    branch = If(Binary("less", INDEX, N), (Fail(0, INDEX),), (Store(keys, INDEX, N),))
    lanes = For(index("l"), integer(0), integer(8), (Store(keys, plus(N, index("l")), N),), in_lanes=True)
    row = Row(x, index("k"), 4)
    made = kernel(
        [x],
        [(Allocation(keys, 0, 0, is_output=True, used=0, overflow=0), N)],
        [
            Declare(index("s"), Load(x, N)),
            For(INDEX, integer(0), N, (Update(keys, INDEX, "maximum", N), branch), Role.WORKSPACE),
            While(Binary("less", index("s"), N), (next_to(index("s")),), Role.SEARCH),
            For(index("j"), integer(0), N, (), reductions=((index("s"), "add"),)),
            Sort(keys, integer(0), N),
            For(index("k"), integer(0), N, (lanes,), tiles=(Row(keys, N, 8),), ahead=Ahead((row,), N, 8)),
        ],
        (Failure(Cause.KEY, "failed at {}"),),
    )
    assert kernel_text(made).splitlines() == [
        f"bound(n: int64; x: int64[], {SIZES.name}: int64[])",
        "  sizes[0] = n",
        "output keys: sizes[0], filled with 0, used lengths[0], overflow 0",
        f"compute(n: int64; x: int64[], keys: int64[], {LENGTHS.name}: int64[])",
        "  s: int64 = x[n]",
        "  for (workspace) i in 0 : n",
        "    keys[i] maximum= n",
        "    if i < n",
        "      fail 0(i)",
        "    else",
        "      keys[i] = n",
        "  while (search) s < n",
        "    s = s + 1",
        "  for j in 0 : n reducing s by add",
        "  sort keys[0 : n]",
        "  for k in 0 : n holding keys[n : +8] ahead x[k : +4]",
        "    for l in 0 : 8 in lanes",
        "      keys[n + l] = n",
    ]
