"""Databases: a tensor is a table of keys and values, a sum of products is a join with grouping.

Results are ordered by their keys, as storel's are.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.bench.problem import Answer, Einsum, Entries, Formulation, Problem, entries_of
from storel.bench.rivals.rival import load

LARGEST = 2**24
"""The most places of an operand that is written out as a table."""


def duckdb(_: str, problem: Problem) -> Formulation | None:
    """Formulate as one query on tables in memory."""
    duckdb = load("duckdb")

    einsum = problem.einsum
    if einsum is None or not _is_small(problem):
        return None
    connection = duckdb.connect(config={"threads": _threads()})
    for name, columns in _tables(problem).items():
        connection.register("given", {key: np.ascontiguousarray(column) for key, column in columns.items()})
        connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given')
        connection.unregister("given")
    query = query_of(einsum)
    shape = _shape(problem, einsum)
    return Formulation(
        lambda: connection.execute(query).fetchnumpy(), lambda found: _answer(found, einsum.output, shape)
    )


def query_of(einsum: Einsum) -> str:
    """Return a sum of products as a query on tables with columns ``d0``, ``d1``, … and ``v``.

    >>> query_of(Einsum("ij,j->i", ("A", "x")))
    'SELECT t0.d0 AS i, sum(t0.v * t1.v) AS v FROM "A" t0, "x" t1 WHERE t0.d1 = t1.d0 GROUP BY 1 ORDER BY 1'
    """
    first: dict[str, str] = {}
    equal: list[str] = []
    for number, term in enumerate(einsum.terms):
        for position, letter in enumerate(term):
            column = f"t{number}.d{position}"
            if letter in first:
                equal.append(f"{first[letter]} = {column}")
            else:
                first[letter] = column
    keys = "".join(f"{first[letter]} AS {letter}, " for letter in einsum.output)
    value = " * ".join(f"t{number}.v" for number in range(len(einsum.terms)))
    tables = ", ".join(f'"{name}" t{number}' for number, name in enumerate(einsum.names))
    where = f" WHERE {' AND '.join(equal)}" if equal else ""
    numbers = ", ".join(str(number + 1) for number in range(len(einsum.output)))
    grouping = f" GROUP BY {numbers} ORDER BY {numbers}" if numbers else ""
    return f"SELECT {keys}sum({value}) AS v FROM {tables}{where}{grouping}"


def polars(_: str, problem: Problem) -> Formulation | None:
    """Formulate as lazy joins of frames."""
    pl = load("polars")

    einsum = problem.einsum
    if einsum is None or not _is_small(problem):
        return None
    frames = {name: pl.DataFrame(columns) for name, columns in _tables(problem).items()}
    joined, known = pl.LazyFrame(), ""
    for number, (name, term) in enumerate(zip(einsum.names, einsum.terms, strict=True)):
        names = {f"d{position}": letter for position, letter in enumerate(term)} | {"v": f"v{number}"}
        frame = frames[name].lazy().rename(names)
        shared = [letter for letter in term if letter in known]
        if number == 0:
            joined = frame
        else:
            joined = joined.join(frame, on=shared) if shared else joined.join(frame, how="cross")
        known += term
    value: Any = math.prod(
        (pl.col(f"v{number}") for number in range(1, len(einsum.terms))), start=pl.col("v0")
    )
    keys = list(einsum.output)
    products = joined.select(*keys, value.alias("v"))
    query = products.group_by(keys).agg(pl.col("v").sum()).sort(keys) if keys else products.sum()
    shape = _shape(problem, einsum)

    def answer(found: Any) -> Answer:
        columns = {name: found[name].to_numpy() for name in found.columns}
        return _answer(columns, einsum.output, shape)

    return Formulation(query.collect, answer)


def _is_small(problem: Problem) -> bool:
    """Return whether no operand has too many places that are not zero to be a table."""
    return all(
        not isinstance(operand, np.ndarray) or operand.size <= LARGEST
        for operand in problem.operands.values()
    )


def _tables(problem: Problem) -> dict[str, dict[str, Array]]:
    """Return the columns of each operand."""
    tables: dict[str, dict[str, Array]] = {}
    for name, operand in problem.operands.items():
        entries = entries_of(operand)
        keys = entries.coordinates[: len(entries.shape)]
        tables[name] = {f"d{position}": column for position, column in enumerate(keys)}
        tables[name]["v"] = np.asarray(entries.values, float)
    return tables


def _shape(problem: Problem, einsum: Einsum) -> tuple[int, ...]:
    extents: dict[str, int] = {}
    for name, term in zip(einsum.names, einsum.terms, strict=True):
        extents |= dict(zip(term, getattr(problem.operands[name], "shape", ()), strict=True))
    return tuple(extents[letter] for letter in einsum.output)


def _answer(columns: Mapping[str, Any], output: str, shape: tuple[int, ...]) -> Answer:
    values = np.asarray(columns["v"], float)
    if not output:
        return float(values[0])
    coordinates = np.array([columns[letter] for letter in output], np.int64)
    return Entries(coordinates, values, shape)


def _threads() -> int:
    return int(os.environ.get("OMP_NUM_THREADS", "1"))
