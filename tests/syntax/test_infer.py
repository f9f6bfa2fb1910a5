from __future__ import annotations

import pytest

from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.source import Source
from storel.syntax.infer import Inference, infer
from storel.syntax.parser import parse_expression
from storel.syntax.types import INTEGER, Role, Type, Variable

F32, F64, I32, I64, BOOL = (
    ScalarType.FLOAT32,
    ScalarType.FLOAT64,
    ScalarType.INT32,
    ScalarType.INT64,
    ScalarType.BOOL,
)

SCOPE = {
    "A": Variable(Type(F64, 2)),
    "S": Variable(Type(F32, 2)),
    "N": Variable(Type(I32, 1)),
    "M": Variable(Type(BOOL, 1)),
    "x": Variable(Type(F32)),
    "n": Variable(INTEGER, Role.KEY),
    "idx": Variable(Type(I32, 1, is_array=True)),
}


@pytest.mark.parametrize(
    ("text", "semiring", "expected"),
    [
        ("1", "plus_times", Type(I64)),
        ("1.5", "plus_times", Type(F64)),
        ("x + 1", "plus_times", Type(F32)),
        ("x * 0.5", "plus_times", Type(F64)),
        ("n / n", "plus_times", Type(F64)),
        ("n // n", "plus_times", Type(I64)),
        ("x < 1", "plus_times", Type(BOOL)),
        ("true + true", "plus_times", Type(I64)),
        ("true * true", "plus_times", Type(BOOL)),
        ("-true", "plus_times", Type(I64)),
        ("A + S", "plus_times", Type(F64, 2)),
        ("A - {}", "plus_times", Type(F64, 2)),
        ("{} * A", "plus_times", Type(BOOL, -1)),
        ("x * A", "plus_times", Type(F64, 2)),
        ("A(0)", "plus_times", Type(F64, 1)),
        ("A(0, 1)", "plus_times", Type(F64)),
        ("idx(0:2)", "plus_times", Type(I32, 1, is_array=True)),
        ("idx(0)", "plus_times", Type(I32)),
        ("sum(<i, m> in M) m", "plus_times", Type(I64)),
        ("sum(<i, m> in M) m", "or_and", Type(BOOL)),
        ("sum(<i, k> in N) k", "plus_times", Type(I32)),
        ("sum(<i, k> in N) k", "min_plus", Type(F64)),
        ("N(0)", "min_plus", Type(F64)),
        ("sum(<(i, j), a> in S) { j -> a }", "max_plus", Type(F32, 1)),
        ("{ (1, 2) -> x }", "plus_times", Type(F32, 2)),
        ("if x > 0 then n else x", "plus_times", Type(F32)),
        ("min(n, x)", "plus_times", Type(F32)),
        ("exp(n)", "plus_times", Type(F64)),
        ("exp(x)", "plus_times", Type(F32)),
        ("floor(x)", "plus_times", Type(F32)),
        ("popcount(n) | 1", "plus_times", Type(I64)),
        ("count(<i, row> in A)", "min_plus", Type(I64)),
        ("max(<(i, j), s> in S) s", "plus_times", Type(F32)),
        ("any(<i, m> in M) m", "plus_times", Type(BOOL)),
        ("prod(<i, m> in M) m", "plus_times", Type(I64)),
        ("let k = n + 1 in { k -> x }", "min_plus", Type(F32, 1)),
        ("merge(<p, q, k> in <idx, idx(0:n)>) { k -> x }", "plus_times", Type(F32, 1)),
        ("unique(n)", "plus_times", Type(I64)),
        ("extent(A, 1)", "plus_times", Type(I64)),
        ("let exp = A in exp(0)", "plus_times", Type(F64, 1)),
    ],
)
def test_types(text: str, semiring: str, expected: Type) -> None:
    assert infer(parse_expression(Source("test", text)), SCOPE, SEMIRINGS[semiring]) == expected


@pytest.mark.parametrize(
    ("text", "remarks"),
    [
        ("sum(<i, k> in N) { k -> 1 }", 1),
        ("sum(<i, k> in N) A(k)(k)", 2),
        ("sum(<p, k> in idx) { k -> 1 }", 0),
        ("sum(<i, _> in 0:n) { i -> N(i) }", 0),
    ],
)
def test_a_value_used_as_a_key_draws_a_warning(text: str, remarks: int) -> None:
    inference = Inference()
    inference.of(parse_expression(Source("test", text)), SCOPE, SEMIRINGS["plus_times"])
    assert len(inference.remarks) == remarks
    assert all("load it as an ARRAY" in str(remark) for remark in inference.remarks)
