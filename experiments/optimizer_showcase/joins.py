"""Learning over a join of three tables, which is never built.

Rows of the join are the pairs that ``J`` lists, with the features of both sides beside each other. It is
written down as such, as a tensor of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from case import Case, Sizes, random_matrix

JOIN = """CREATE TENSOR X AS
            sum(<(i, j), c> in J, <(i, f), x> in S) {(i, j, f) -> c * x}
          + sum(<(i, j), c> in J, <(j, f), x> in T) {(i, j, f + extent(S, 1)) -> c * x}
       """


def joins(sizes: Sizes) -> Iterator[Case]:
    """Yield gradients of two regressions, and the covariance of all features."""
    rng = np.random.default_rng(9)
    left, right, width = sizes.rows, sizes.columns, sizes.width
    pairs = random_matrix(left, right, sizes.degree, 15)
    pairs.data[:] = 1
    s, t = rng.random((left, width)), rng.random((right, width + 1))
    operands = {"J": pairs, "S": s, "T": t}
    weights = rng.random(2 * width + 1)
    of_s, of_t = weights[:width], weights[width:]
    per_row, per_column = pairs.sum(1), pairs.sum(0)

    def features(of_rows: Any, of_columns: Any) -> Any:
        return np.concatenate([s.T @ of_rows, t.T @ of_columns])

    def linear() -> Any:
        own, other = s @ of_s, t @ of_t
        return features(own * per_row + pairs @ other, pairs.T @ own + other * per_column)

    def logistic() -> Any:
        row = np.repeat(np.arange(left), np.diff(pairs.indptr))
        terms = 1 / (1 + np.exp(-((s @ of_s)[row] + (t @ of_t)[pairs.indices])))
        return features(
            np.bincount(row, terms, minlength=left), np.bincount(pairs.indices, terms, minlength=right)
        )

    def covariance() -> Any:
        across = s.T @ (pairs @ t)
        own, other = s.T @ (s * per_row[:, None]), t.T @ (t * per_column[:, None])
        return np.block([[own, across], [across.T, other]])

    yield Case(
        "gradient of a linear regression over a join",
        f"""{JOIN} CREATE TENSOR g AS
             sum(<(i, j, f), x> in X, <(i, j, h), y> in X, <h, w> in u) {{f -> x * y * w}}""",
        {**operands, "u": weights},
        linear,
    )
    yield Case(
        "gradient of a logistic regression over a join",
        f"""{JOIN} CREATE TENSOR p AS sum(<(i, j, h), y> in X, <h, w> in u) {{(i, j) -> y * w}}
            CREATE TENSOR g AS sum(<(i, j, f), x> in X) {{f -> x * sigmoid(p(i, j))}}""",
        {**operands, "u": weights},
        logistic,
    )
    yield Case(
        "covariance over a join",
        f"""{JOIN} CREATE TENSOR C AS
             sum(<(i, j, f), x> in X, <(i, j, g), y> in X) {{(f, g) -> x * y}}""",
        operands,
        covariance,
    )
