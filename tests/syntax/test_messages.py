"""Messages as readers see them: ``tests/errors/*.txt``, written anew when STOREL_UPDATE is set."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from storel.errors import StorelError
from storel.scalars import ScalarType
from storel.source import Source
from storel.syntax.analyze import analyze
from storel.syntax.parser import parse
from storel.syntax.signatures import (
    ArraySignature,
    Extent,
    ParameterSignature,
    Signature,
    SizeSignature,
    TensorSignature,
)

SNAPSHOTS = Path(__file__).parents[1] / "errors"

REAL, INT = ScalarType.FLOAT64, ScalarType.INT64
SIGNATURES: dict[str, Signature] = {
    "A": TensorSignature(REAL, (Extent(3), Extent(4))),
    "B": TensorSignature(REAL, (Extent(4), Extent(5))),
    "T": TensorSignature(REAL, (Extent(4), Extent(5), Extent(6))),
    "v": TensorSignature(REAL, (Extent(4),)),
    "w": TensorSignature(REAL, (Extent(9, is_closed=False),)),
    "D": TensorSignature(REAL, (Extent(4), Extent(4)), "min_plus"),
    "I": TensorSignature(INT, (Extent(7),)),
    "pos": ArraySignature(INT, 5, 0, 9),
    "idx": ArraySignature(INT, 9),
    "val": ArraySignature(REAL, 9),
    "beta": ParameterSignature(REAL),
    "n": SizeSignature(4),
}

BY_SUBJECT = {
    "syntax": [
        "CREATE TENSOR y AS sum(<i, x> in v",
        "CREATE TENSOR y AS sum(<i, x> v) x",
        "CREATE TENSOR y AS v +\n",
        "CREATE TENSOR y AS 1 < 2 < 3",
        "CREATE TENSOR y AS if n = 4 then 1",
        f"CREATE TENSOR y AS {' + '.join(['v(0)'] * 160)}",
        f"CREATE TENSOR y AS v{' ' * 300}) + {' + '.join(['v(0)'] * 60)}",
        f"CREATE TENSOR y AS sum(<i, x> in v){' ' * 300}x +",
        "CREATE TENSOR y AS v && v",
        "CREATE TENSOR y AS n ** 2",
        "CREATE TENSOR y AS 2 n",
        "CREATE TENSOR y AS v ! v",
        "CREATE TENSOR y AS v \N{MINUS SIGN} v",
        "LOAD TENSOR B FROM \N{LEFT SINGLE QUOTATION MARK}b.mtx\N{RIGHT SINGLE QUOTATION MARK}",
        'LOAD TENSOR B FROM "b.mtx"',
        "LOAD TENSOR B FROM 'b.mtx",
        "CREATE TENSOR to AS v",
        "CREATE TENSOR y = v",
        "CREATE TENSOR y AS f(_)",
        "CREATE y AS v",
        "CREAT TENSOR y AS v",
        "CREATE TENSOR y AS { i -> }",
        "CREATE TENSOR y AS v STORED AS csr",
        "CREATE TENSOR y: rael[n] AS v",
        "CREATE TENSOR y AS 99999999999999999999",
        f"CREATE TENSOR y AS 1{'0' * 5000}",
        "CREATE TENSOR y AS -9223372036854775809",
        "CREATE TENSOR y AS )",
        "CREATE TENSOR y AS v )",
        "CREATE TENSOR y AS A[i, j]",
        "CREATE TENSOR y AS v[1:3]",
        "CREATE TENSOR y AS A.T",
        "CREATE TENSOR y AS where(n > 0, v, v)",
        "CREATE TENSOR y AS if (n > 0) v",
        "CREATE TENSOR y AS if n",
        "CREATE TENSOR y AS if n then 1 els 2",
        "CREATE TENSOR y AS (n + 1",
        "CREATE TENSOR y AS exp(n, { n -> '(' }\nCREATE TENSOR z AS v",
        "CREATE TENSOR y AS { n -> (n }",
        "CREATE TENSOR y: real[3 AS v",
        "CREATE TENSOR y AS let x = 3",
        "CREATE TENSOR y AS v\nSAV y TO 'y.npy'",
        "SELECT y",
        "y = A",
        "sum(<i, a> in A) a",
        "CREATE TENSR y AS v",
        "CREATE TENSOR y AS sum(<i, x> in v) i -> x",
        "CREATE TENSOR y AS sum(<i, x> in v) { i : x }",
        "CREATE TENSOR y AS sum(v)",
        "CREATE TENSOR y AS sum((i, j), a in A) a",
        "CREATE TENSOR y AS sum(<i, j, a> in A) a",
        "CREATE TENSOR y AS sum(<(i, j, a)> in A) a",
        "CREATE TENSOR y AS sum(<(i), x> in v) x",
        "CREATE TENSOR y AS argmax(<i, x> in v) x",
        "// by rows\nCREATE TENSOR y AS A",
        "CREATE TENSOR y AS A @ B",
        "CREATE TENSOR y AS sum(<i, x> in count) x",
        "CREATE TENSOR y OVER or_and: bool[3] AS v",
        "CREATE TENSOR y AS sum(<(i, j), a> in A) { i, j -> a }",
        "CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a, j -> a }",
        "CREATE TENSOR y AS sum(<(i, j), a> in A where i < j) a",
        "CREATE TENSOR y AS sum(<i, x> in v) { i -> x if x > 2 }",
        "CREATE TENSOR y AS sum(<i, x> in v) { i -> x > 2 ? x : 0 }",
        "CREATE TENSOR y AS sum(<i, _> in 0:v.shape) v(i)",
        "CREATE TENSOR y AS sum(<i, _> in 0:extent(v)) v(i)",
        "CREATE TENSOR y AS mean(<_, x> in v) x",
        "PARAMETER gamma = 3",
        "LOAD ARRAY p FROM 'p.npy'",
    ],
    "names": [
        "CREATE TENSOR y AS sum(<i, x> in v) 1 - x",
        "CREATE TENSOR y AS sum(<i, x> in vv) x",
        "CREATE TENSOR y AS sum(<i, x> in v) C(i)",
        "CREATE TENSOR y AS xp(2)",
        "CREATE TENSOR y AS count(v)",
        "CREATE TENSOR y AS len(v)",
        "CREATE TENSOR y AS ln(n)",
        "CREATE TENSOR y AS sum(<i, _> in range(4)) v(i)",
        "CREATE TENSOR y AS sum(<i, x> in v) x * pi",
        "CREATE TENSOR y AS sum(<I, x> in v) { i -> x }",
        "CREATE TENSOR y AS sum(<i, x> in V) x",
        "CREATE TENSOR y AS sum(<i, x> in v, <j, x> in v) x",
        "CREATE TENSOR y AS sum(<i, i> in v) i",
        "CREATE TENSOR y AS sum(<p, j> in idx, <j, x> in v) x",
        "CREATE TENSOR y AS merge(<p, p, k> in <pos, idx>) 1",
        "CREATE TENSOR y AS sum(<i, x> in v where j in 0:n) x",
        "CREATE TENSOR y AS z\nCREATE TENSOR z AS v",
        "CREATE TENSOR y AS y + 1",
        "CREATE TENSOR y AS z\nCREATE TENSOR z AS y",
        "CREATE TENSOR x AS v\nCREATE TENSOR a AS x + b(0)\nCREATE TENSOR b AS c\nCREATE TENSOR c AS a + b",
        "CREATE TENSOR y AS v\nCREATE TENSOR y AS w",
        "CREATE TENSOR v AS w",
        "CREATE TENSOR y: real[y] AS v",
        "CREATE TENSOR y AS sum(<i, _> in _ where i in 0:2, i in 0:3) 1",
        "CREATE TENSOR y OVER minplus AS v",
        "CREATE TENSOR y STORED AS crs AS v",
        "CREATE TENSOR y STORED AS CSR AS A",
        "CREATE TENSOR y STORED AS zigzag AS A",
        "CREATE TENSOR y AS v SAVE yy TO 'y.npy'",
        "",
        "EXPLAIN A",
    ],
    "types": [
        "CREATE TENSOR y AS A + v",
        "CREATE TENSOR y AS A(0:2, 1)",
        "CREATE TENSOR y AS sum(<i, _> in 0:v) { i -> 1 }",
        "CREATE TENSOR y AS sum(<i, x> in v) { v -> x }",
        "CREATE TENSOR y AS A * v",
        "CREATE TENSOR y AS A + 1",
        "CREATE TENSOR y AS A / 2",
        "CREATE TENSOR y AS sum(<i, row> in A) if row > 2 then { i -> 1 }",
        "CREATE TENSOR y AS max(v)",
        "CREATE TENSOR y AS if beta > 0 then A else v",
        "CREATE TENSOR y AS sum(<(i, j, k), x> in A) x",
        "CREATE TENSOR y AS A(0, 1, 2)",
        "CREATE TENSOR y AS sum(<i, x> in v) i(0)",
        "CREATE TENSOR y AS sum(<i, x> in v, <j, z> in i) z",
        "CREATE TENSOR y AS sum(<i, x> in v) { x -> i }",
        "CREATE TENSOR y AS sum(<i, x> in v) v(x)",
        "CREATE TENSOR y AS sum(<i, _> in 0:beta) v(i)",
        "CREATE TENSOR y AS sum(<i, x> in v) x(0)",
        "CREATE TENSOR y AS val",
        "CREATE TENSOR y AS v(0:2)",
        "CREATE TENSOR y AS exp(A)",
        "CREATE TENSOR y AS beta ^ 2",
        "CREATE TENSOR y AS sum(<i, x> in v) { floor(10 * x) -> 1 }",
        "CREATE TENSOR y AS sum(<i, x> in v) { (x > 1) -> 1 }",
        "CREATE TENSOR y AS exp(1, 2)",
        "CREATE TENSOR y AS beta & 1",
        "CREATE TENSOR y AS 'text'",
        "CREATE TENSOR y AS extent(A, 2)",
        "CREATE TENSOR y AS gather(n, 2)",
        "CREATE TENSOR y AS interleave(-1, 2)",
        "CREATE TENSOR y AS {}",
        "CREATE TENSOR y AS merge(<p, q, k> in <val, idx>) 1",
        "CREATE TENSOR y OVER min_plus AS v - v",
        "CREATE TENSOR y OVER min_plus AS beta / 2",
        "CREATE TENSOR y AS sum(<(i, j), d> in D) d",
        "CREATE TENSOR y: int[4] AS v",
        "CREATE TENSOR y: int[7] OVER max_plus AS sum(<i, k> in I) { i -> k }",
        "CREATE TENSOR y: real[4, 4] AS v",
    ],
    "extents": [
        "CREATE TENSOR y AS sum(<(i, j), a> in A, <i, x> in v) a * x",
        "CREATE TENSOR y AS sum(<i, x> in v) sum(<(i, j), a> in A, <i, y> in v) y",
        "CREATE TENSOR y AS A + B",
        "CREATE TENSOR y AS A * B",
        "CREATE TENSOR y: real[5] AS sum(<(i, j), a> in A) { j -> a } + v",
        "CREATE TENSOR y: real[5] AS v",
        "CREATE TENSOR y AS sum(<i, _> in _) { i -> 1 }",
        "CREATE TENSOR y AS sum(<i, _> in _) { i -> v(pos(i // 2)) }",
        "CREATE TENSOR y AS sum(<p, j> in idx) { j -> 1 }",
        "CREATE TENSOR y AS { -1 -> 2 }",
        "CREATE TENSOR y AS sum(<i, x> in v) { (i, 2 - 3) -> x }",
        "CREATE TENSOR y: real[m + 1] AS v",
        "CREATE TENSOR y: real[beta] AS v",
        "CREATE TENSOR y: real[v] AS v",
        "CREATE TENSOR y: real[pos] AS v",
        "CREATE TENSOR y: real[extent(A, 0), 8] AS A",
        "CREATE TENSOR y: real[0 - 1] AS v",
        "CREATE TENSOR y: real[m] AS sum(<p, j> in idx) { j -> 1 }",
    ],
}


def message(text: str) -> str:
    try:
        analyze(parse(Source("t.sdql", text)), SIGNATURES, ["csr", "coo", "dense"])
    except StorelError as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


@pytest.mark.parametrize("subject", BY_SUBJECT)
def test_messages(subject: str) -> None:
    found = "\n\n".join(f"{text}\n\n{message(text)}\n{'-' * 60}" for text in BY_SUBJECT[subject]) + "\n"
    path = SNAPSHOTS / f"{subject}.txt"
    if os.environ.get("STOREL_UPDATE"):
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("text", [text for texts in BY_SUBJECT.values() for text in texts])
def test_every_mistake_is_refused(text: str) -> None:
    assert message(text) != "no error"
