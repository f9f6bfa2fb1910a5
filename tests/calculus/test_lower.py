"""Every construct, over every storage, means in the calculus what the reference interpreter says."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from strategies.terms import integer

from storel.calculus.generators import ByColumns, Total
from storel.calculus.interpret import evaluate
from storel.calculus.lower import lower
from storel.calculus.nodes import Symbol, Term
from storel.calculus.printer import show
from storel.calculus.verify import verify
from storel.calculus.walk import map_children
from storel.compilation.compiler import view_of
from storel.compilation.environment import Environment
from storel.errors import EvaluationError
from storel.execution.run import reference_values
from storel.source import Source
from storel.storage.build import from_coordinates
from storel.storage.compose import Composed, compose
from storel.storage.formats.known import Formats
from storel.storage.tensor import Tensor
from storel.symbols import SizeSymbol
from storel.syntax.analyze import Definition, analyze
from storel.syntax.interpret import evaluate_definition
from storel.syntax.parser import parse

NAN, INF = math.nan, math.inf
FORMATS = Formats()

# an empty row, an empty column, a stored zero and a negative zero, inf and NaN
MATRICES: dict[str, list[list[float]]] = {
    "A": [[1, 0, 2, 0], [0, 0, 0, 0], [-3, 4, 0, 0.5]],
    "E": [[0, 2, 0, 1], [5, 0, 0, 0], [1, -4, 0, 2]],
    "B": [[2, 0, 1], [0, 0, 0], [1, 3, 0], [0, -1, 0]],
    "M": [[0, 2, 0, 1], [5, -1, 0, 0]],
    "Q": [[3, 2, 0], [0, 0, 1], [0, 4, -5]],
    "S": [[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]],
    "N": [[NAN, 0, INF, 0], [0, 0, 0, 0], [0, -INF, 0, 1]],
}
VECTORS: dict[str, list[float]] = {"x": [1, 0, -2, 3], "y": [0, 2, 1], "z": [0, 0, 0, 0]}
CUBE = np.array([[[1, 0, 2], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]], [[0, 3, 0], [4, 0, 5]]], dtype=float)
STORED_ZEROS = {"A": [(1, 1, 0.0), (0, 3, -0.0)], "E": [(2, 2, 0.0)], "x": [(1, 0.0)], "T": [(1, 0, 2, 0.0)]}


def stored(name: str, dense: np.ndarray[Any, Any], format_name: str, semiring: str = "plus_times") -> Tensor:
    """Pack an array together with the stored zeros that its name has."""
    coordinates = np.argwhere(dense != 0)
    entries = [(*map(int, each), dense[tuple(each)]) for each in coordinates] + STORED_ZEROS.get(name, [])
    keys = np.array([entry[:-1] for entry in entries], dtype=np.int64).reshape(len(entries), dense.ndim).T
    values = np.array([entry[-1] for entry in entries], dtype=dense.dtype)
    storage = FORMATS.find(format_name, dense.ndim)
    return from_coordinates(keys, values, dense.shape, FORMATS, storage, semiring)


@cache
def environment(matrix: str, vector: str, cube: str) -> Environment:
    """Return the data of all programs, in the given formats."""
    data = Environment()
    for name, rows in MATRICES.items():
        data.add_tensor(name, stored(name, np.array(rows, dtype=np.float64), matrix))
    for name, elements in VECTORS.items():
        data.add_tensor(name, stored(name, np.array(elements, dtype=np.float64), vector))
    data.add_tensor("T", stored("T", CUBE, cube))
    data.add_tensor("K", stored("K", np.array([[1, 0, 2, 3], [0, 0, 4, 0], [0, 5, 0, 0]]), matrix))
    data.add_tensor("F", stored("F", np.array([[0.1, 0, 0.7, 1e-3]], dtype=np.float32), matrix))
    data.add_tensor("P", stored("P", np.array([[True, False, True, True]]), matrix))
    distances = [[0, 3, INF, 1], [INF, 0, 2, INF], [4, INF, 0, INF], [INF, INF, 7, 0]]
    shortest = FORMATS.find(matrix, 2)
    keys = np.argwhere(np.isfinite(distances)).T
    lengths = np.array(distances)[tuple(keys)]
    data.add_tensor("D", from_coordinates(keys, lengths, (4, 4), FORMATS, shortest, "min_plus"))
    data.add_array("C_len1", np.array(3))
    data.add_array("pos", np.array([0, 3, 3, 5]))
    data.add_array("idx", np.array([0, 2, 3, 0, 3]))
    data.add_array("val", np.array([6.0, 9.0, 0.0, 5.0, 7.0]))
    data.add_array("row", np.array([2, 0, 2, 0, 2]))  # coordinates that repeat, unsorted
    data.add_array("amount", np.array([1.0, 2.0, 3.0, -2.0, 0.5]))
    data.add_array("few", np.array([1, 3, 4]))
    data.add_array("perm", np.array([2, 0, 3, 1]))
    data.add_parameter("beta", 2.5)
    return data


STORAGES = [
    ("dense", "dense", "dense"),
    ("csr", "dense", "csf"),
    ("csc", "coo", "coo"),
    ("coo", "coo", "csf"),
    ("dcsr", "dense", "coo"),
]

PROGRAMS: dict[str, str] = {
    "spmv": "sum(<(i,j), a> in A, <j, b> in x) { i -> a * b }",
    "transposed spmv": "sum(<(i,j), a> in A, <i, b> in y) { j -> a * b }",
    "batax": "sum(<(i,j), a> in A, <(i,k), b> in A, <k, v> in x) { j -> beta * a * b * v }",
    "mmm": "sum(<(i,k), a> in A, <(k,j), b> in B) { (i,j) -> a * b }",
    "summm": "sum(<(i,k), a> in A, <(k,j), b> in B) a * b",
    "mttkrp": "sum(<(i,k,l), t> in T, <(k,j), c> in M, <(l,j), d> in E) { (i,j) -> t * c * d }",
    "ttm": "sum(<(i,j,l), t> in T, <(k,l), b> in B) { (i,j,k) -> t * b }",
    "sddmm": "sum(<(i,j), s> in A, <(i,k), u> in E, <(j,k), v> in S) { (i,j) -> s * u * v }",
    "triangles": "sum(<(i,j), a> in S, <(j,k), b> in S, <(i,k), c> in S) a * b * c",
    "sum": "A + E",
    "three terms": "A + E + A",
    "difference": "A - E",
    "cancelling": "A - A",
    "intersection": "A * E",
    "scaled": "beta * A",
    "negated": "-A",
    "rows plus scalars": "sum(<(i,j), a> in A) { (i,j) -> a * (x(j) + y(i)) }",
    "count": "count(<(i,j), _> in A)",
    "count of ones": "sum(<(i,j), _> in A) 1",
    "row counts": "sum(<i, row> in A) { i -> count(<j, _> in row) }",
    "transposed": "sum(<(i,j), a> in A) { (j,i) -> a }",
    "transposed lookup": "sum(<(i,j), e> in E) { (i,j) -> e * S(j,i) }",
    "symmetric part": "sum(<(i,j), s> in S, <(j,i), t> in S) { (i,j) -> s - 2 * t }",
    "diagonal": "sum(<(i,i), q> in Q) { i -> q + 1 }",
    "least on the diagonal": "min(<(i,i), q> in Q) q",
    "join without values": "sum(<(i,j), _> in A, <(i,j), _> in E) 1",
    "join of rows": "sum(<i, r> in A, <i, q> in E) { i -> 1 }",
    "join of used rows": "sum(<i, r> in A, <i, q> in E) { i -> r * q }",
    "join of columns": "sum(<(i,j), a> in A, <(k,j), e> in E) { (i,k) -> 1 }",
    "join of columns with not linear body": "sum(<(i,j), a> in A, <(k,j), e> in E) { i -> min(a, e) * e }",
    "join of slices": "sum(<j, w> in 0:2, <(i,j,k), t> in T) { (i,k) -> max(t, w) }",
    "join of fibers": "sum(<(i,j), a> in A, <(k,l,i), t> in T) if (t > a) then { (j,k) -> l }",
    "join of pairs": "sum(<j, _> in 0:2, <i, v> in y, <(k,j,i), t> in T) { k -> t * t + v }",
    "count of a join of columns": "count(<(i,j), _> in A, <(k,j), _> in E)",
    "join with not strict body": "sum(<j, v> in x, <(i,j), a> in A) { (i,j) -> a + v }",
    "join with a range": "sum(<i, _> in 1:9, <(i,j), a> in A) { j -> a }",
    "join of a range": "sum(<(i,j), a> in A, <i, _> in 1:9, <j, q> in 1:j) { j -> a + q }",
    "join of an array": "sum(<(i,j), a> in A, <i, p> in few) { j -> a * p }",
    "join of arrays": "sum(<p, i> in row, <p, k> in idx) { i -> k }",
    "lookup outside": "sum(<i, _> in 0:9) { i -> x(i - 2) + 1 }",
    "lookup of a row": "A(2)",
    "lookup of a missing row": "A(7)",
    "shift": "sum(<i, v> in x) { i + 2 -> v }",
    "histogram": "sum(<(i,j), k> in K) { k % 3 -> 1 }",
    "conditions": "sum(<(i,j), a> in A) if (a > 0 and not (i == j)) then { (i,j) -> a }",
    "else": "sum(<(i,j), a> in A) { (i,j) -> if (a < 0) then -a else a * a }",
    "truths": "sum(<(i,j), a> in A) { (i,j) -> if (a < 0) then i == 2 else true }",
    "empty else": "if (beta > 3) then A else {}",
    "empty plus": "{} + A + {}",
    "empty minus": "{} - A",
    "empty entries": "sum(<(i,j), a> in A) { i -> {} } + A",
    "let": "let s = sum(<(i,j), a> in A) a in let r = A(0) in s * r",
    "let in loop": "sum(<i, row> in A) let s = sum(<j, v> in row) v in { i -> s * s }",
    "let array": "let a = idx(pos(0):pos(1)) in sum(<p, j> in a) { j -> val(p) }",
    "merge": "merge(<p, q, k> in <idx(pos(0):pos(1)), few>) { k -> val(p) * q }",
    "unique": "sum(<i, v> in x) { unique(i) -> v }",
    "min": "min(<(i,j), a> in A) a * i",
    "max of a join": "max(<(i,j), a> in A, <j, v> in x) a * v",
    "prod": "prod(<(i,j), a> in A) a",
    "prod of a join": "prod(<(i,j), a> in A, <j, v> in x) (a + v)",
    "any": "any(<(i,j), a> in A) (a > 3)",
    "any of a join": "any(<(i,j), a> in A, <(i,j), e> in E) (a == e - 4)",
    "any of a sum": "any(<(i,j), a> in A + E) (a == 5)",
    "all": "all(<(i,j), a> in A) (a > -3)",
    "all of nothing": "all(<i, a> in z) (a > 7)",
    "extents": "sum(<i, _> in 0:extent(A, 1)) { i -> extent(A, 0) * i }",
    "rational": "sum(<(i,j), a> in A) { (i,j) -> a / (i + j + 1) + (i - 3) // 2 + (i - 5) % 3 }",
    "functions": "sum(<(i,j), a> in A) { i -> exp(a) + abs(a) + min(a, 1) + max(a, j) + pow(a, 2) }",
    "not zero-preserving": "sum(<i, v> in x) { i -> cos(v) + sigmoid(v) }",
    "bits": "sum(<(i,j), k> in K) { (i,j) -> bit(k, 1) + 10 * bits(k) + 100 * popcount(k) }",
    "shifts": "sum(<(i,j), k> in K) { (i,j) -> (k & 3 | 4 ^ 1) + (k << 2 >> 1) }",
    "z-order": "sum(<i, _> in 0:60) (interleave(i, 59 - i) + 100 * gather(i * 7, 0) - gather(i * 7, 1))",
    "floors of integers": "sum(<(i,j), k> in K) { i -> floor(k) + ceil(k) }",
    "nan and inf": "sum(<(i,j), n> in N) { (i,j) -> n }",
    "nan meets zero": "sum(<(i,j), n> in N) { j -> n * x(j) * 0 }",
    "nan rows": "sum(<(i,j), n> in N) { i -> n * z(j) }",
    "float32": "sum(<(i,j), f> in F, <(i,k), g> in F) { j -> f * g }",
    "bools are counted": "sum(<(i,j), p> in P) p",
    "bool times real": "sum(<(i,j), p> in P) { j -> p * x(j) }",
    "integers": "sum(<(i,j), k> in K, <(i,l), m> in K) { (j,l) -> k * m - j }",
    "hand-written csr": "sum(<r, _> in 0:3) { r -> sum(<p, j> in idx(pos(r):pos(r + 1))) { j -> val(p) } }",
    "hand-written coo": "sum(<p, i> in row) { i -> amount(p) }",
    "coo entries are counted": "count(<i, v> in sum(<p, i> in row) { i -> amount(p) })",
    "permuted": "sum(<i, p> in perm) { p -> x(i) }",
    "windows": "sum(<i, _> in _, <j, v> in y) { i -> v * x(i + j) }",
}


def compiled(
    program: str, data: Environment, total: type[Total] = Total
) -> tuple[Term, Composed, Definition, dict[str, Definition]]:
    """Return the term of a script's last definition."""
    definitions = analyze(parse(Source("test", program)), data.signatures()).definitions
    views = {definition.name: definition for definition in definitions[:-1]}
    last = definitions[-1]
    named = {name: view_of(view) for name, view in views.items()}
    composed = compose(view_of(last), named, data.tensors, data.facts())
    term = lower(composed.expression, composed.symbols, last.semiring, total)
    verify(term, composed.symbols)
    return term, composed, last, views


def check(program: str, data: Environment) -> None:
    """Compare the calculus with the reference interpreter."""
    for total in (Total, ByColumns):
        term, composed, definition, views = compiled(program, data, total)
        found = evaluate(term, composed.symbols, {**data.physical_arrays(), **data.parameters})
        expected = evaluate_definition(definition, views, reference_values(data))
        assert same(found, expected), f"{found}\n{expected}\n{show(term)}"


def same(one: Any, two: Any) -> bool:
    if isinstance(one, dict) or isinstance(two, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    return one == two or (one != one and two != two) or math.isclose(one, two, rel_tol=1e-12)


@pytest.mark.parametrize("storage", STORAGES, ids="-".join)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_meaning(program: str, storage: tuple[str, str, str]) -> None:
    check(f"CREATE TENSOR result AS {program}", environment(*storage))


SCRIPTS: dict[str, str] = {
    "keys that are values": "CREATE TENSOR r: real[9] AS sum(<(i,j), k> in K) { k -> x(j) }",
    "places on a curve": "CREATE TENSOR r: real[99] AS sum(<i, _> in 0:6) { interleave(i, 5 - i) -> i }",
    "views": "CREATE TENSOR G AS A + E CREATE TENSOR H AS sum(<(i,j), g> in G) { j -> g } "
    "CREATE TENSOR r AS sum(<j, h> in H) { j -> h * extent(G, 1) }",
    "shortest paths": "CREATE TENSOR r OVER min_plus AS "
    "sum(<(i,k), a> in D, <(k,j), b> in D) { (i,j) -> a * b }",
    "entries of value zero": "CREATE TENSOR r OVER min_plus AS sum(<(i,j), d> in D) { i -> d }",
    "paths seen as numbers": "CREATE TENSOR r OVER plus_times AS sum(<(i,j), d> in D) { i -> d + 1 }",
    "counting over min_plus": "CREATE TENSOR r OVER min_plus AS if (count(<(i,j), d> in D) > 9) then D",
    "numbers seen as lengths": "CREATE TENSOR r OVER min_plus AS "
    "sum(<(i,j), a> in A, <j, v> in x) { i -> a * v }",
    "repeated numbers seen as lengths": "CREATE TENSOR G AS sum(<p, i> in row) { i -> amount(p) } "
    "CREATE TENSOR r OVER min_plus AS sum(<i, g> in G) { i -> g * 1 }",
    "products seen as lengths": "CREATE TENSOR G AS sum(<(i,k), a> in A, <(k,j), b> in B) { (i,j) -> a * b } "
    "CREATE TENSOR r OVER min_plus AS sum(<(i,j), g> in G) { i -> g }",
    "longest": "CREATE TENSOR r OVER max_plus AS sum(<(i,j), a> in A, <(j,k), b> in B) { (i,k) -> a * b }",
    "reachable": "CREATE TENSOR r OVER or_and AS sum(<(i,k), a> in S, <(k,j), b> in S) { (i,j) -> a * b }",
    "reached from both": "CREATE TENSOR r OVER or_and AS "
    "sum(<(i,k), a> in S, <(j,k), b> in S) if (i < j) then { (i,j) -> a * b }",
    "columns seen as lengths": "CREATE TENSOR r OVER min_plus AS "
    "sum(<(i,k), a> in A, <(j,k), e> in E) { (i,j) -> e * e * a }",
    "heavy edges": "CREATE TENSOR r OVER or_and AS sum(<(i,j), e> in E) { i -> e > 1.5 }",
    "likeliest": "CREATE TENSOR r OVER max_times AS "
    "sum(<(i,k), a> in S, <(k,j), b> in B) if (b > 0) then { (i,j) -> a * b }",
    "any over min_plus": "CREATE TENSOR r OVER min_plus AS if (any(<(i,j), d> in D) (d < 1)) then { 0 -> 5 }",
    "key named by let": "CREATE TENSOR r OVER min_plus AS "
    "sum(<(i,j), d> in D) let k = 2 * i + j in { k -> d }",
    "key named by let is a value": "CREATE TENSOR r OVER min_plus AS "
    "sum(<(i,j), d> in D) let k = i // 2 + j in { k -> if (k > 0) then k * d }",
    "else over min_plus": "CREATE TENSOR r OVER min_plus AS "
    "sum(<(i,j), d> in D) { i -> if (d > 2) then d else d * 1 }",
}


@pytest.mark.parametrize("storage", STORAGES, ids="-".join)
@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_views_and_semirings(script: str, storage: tuple[str, str, str]) -> None:
    check(script, environment(*storage))


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("sum(<i, _> in 0:9) val(i)", "array val is read at position 5"),
        ("min(<i, v> in z) v", "the minimum of no entries"),
        ("max(<i, v> in x, <i, w> in z) v", "the maximum of no entries"),
        ("sum(<i, v> in x) { i - 1 -> v }", "negative key"),
        ("sum(<i, _> in 0:3) 1 // i", "integer division by zero"),
    ],
)
def test_failures(program: str, message: str) -> None:
    data = environment("csr", "dense", "csf")
    term, composed, _, _ = compiled(f"CREATE TENSOR result AS {program}", data)
    with pytest.raises(EvaluationError, match=message):
        evaluate(term, composed.symbols, {**data.physical_arrays(), **data.parameters})


SHAPES = [
    (
        "sum(<(i,j), a> in A, <j, b> in x) { i -> a * b }",
        "sum(<p, v> in A) sum(<i, w> in v) (let t = x(i) in { p -> w * t })",
    ),
    (
        "sum(<i, v> in y, <(i,j), a> in A) { j -> a }",
        "sum(<p, _> in y) sum(<i, v> in A(p)) { i -> v }",
    ),
    (
        "sum(<(i,j), a> in A, <j, b> in x) { i -> a + b }",
        "sum(<p, v> in A) sum(<i, w> in v) (let t = x(i) in if (t != 0.0) then { p -> w + t })",
    ),
    (
        "sum(<(i,j), a> in A, <(i,j), b> in A) a * b",
        "sum(<p, v> in A) sum(<i, w> in v) (let t = A(p)(i) in w * t)",
    ),
    (
        "sum(<i, r> in A, <i, q> in A) { i -> 1 }",
        "sum(<i, _> in sum(<p, v> in A) { p -> sum(<_, _> in v) 1 }) "
        "(let t = A(i) in if (sum(<_, _> in t) 1 != 0) then { i -> 1 })",
    ),
    (
        "sum(<i, r> in A) { i -> 1 + sum(<_, a> in r) a }",
        "sum(<p, v> in A) (if (sum(<_, _> in v) 1 != 0) then { p -> 1 + sum(<_, w> in v) w })",
    ),
    (
        "sum(<i, r> in A) { i -> sum(<_, a> in r) a }",
        "sum(<p, v> in A) { p -> sum(<_, w> in v) w }",
    ),
]


@pytest.mark.parametrize(("program", "expected"), SHAPES)
def test_repeated_keys_become_lookups(program: str, expected: str) -> None:
    data = environment("dense", "dense", "dense")
    stored = {plain(f"CREATE TENSOR result AS {name}", data): name for name in ("A", "x", "y")}
    assert show(abbreviated(plain(f"CREATE TENSOR result AS {program}", data), stored)) == expected


COLUMNS = [
    (
        "sum(<(i,j), a> in A, <j, b> in x) { i -> a * b }",
        "sum(<p, v> in A) sum(<i, w> in v) (let t = x(i) in { p -> w * t })",
    ),
    (
        "sum(<i, v> in x, <(j,i), a> in A) { j -> v * a }",
        "sum(<p, v> in x) sum(<q, w> in A) (let t = w(p) in { q -> v * t })",
    ),
    (
        "sum(<i, v> in x, <(j,i), a> in A) { j -> a * a }",
        "sum(<p, _> in x) sum(<i, v> in sum(<q, v> in A) { q -> v(p) }) { i -> v * v }",
    ),
    (
        "sum(<i, v> in y, <(j,k,i), t> in T) { j -> k }",
        "sum(<p, _> in y) sum(<i, v> in sum(<q, v> in T) { q -> sum(<i, w> in v) { i -> w(p) } }) "
        "sum(<j, _> in v) { i -> j }",
    ),
]


@pytest.mark.parametrize(("program", "expected"), COLUMNS)
def test_what_is_not_linear_goes_by_columns(program: str, expected: str) -> None:
    data = environment("dense", "dense", "dense")
    stored = {plain(f"CREATE TENSOR result AS {name}", data): name for name in ("A", "x", "y", "T")}
    term = plain(f"CREATE TENSOR result AS {program}", data, ByColumns)
    assert show(abbreviated(term, stored)) == expected


def plain(program: str, data: Environment, total: type[Total] = Total) -> Term:
    """Return the term of a program, its sizes replaced by their values."""
    term, composed, _, _ = compiled(program, data, total)
    sizes = {name: fact.value for name, fact in composed.symbols.items() if isinstance(fact, SizeSymbol)}

    def replaced(part: Term) -> Term:
        if isinstance(part, Symbol) and part.name in sizes:
            return integer(sizes[part.name])
        return map_children(part, lambda child, _: replaced(child))

    return replaced(term)


def abbreviated(term: Term, names: dict[Term, str]) -> Term:
    """Replace stored tensors by their names, to see the shape of the rest."""
    if term in names:
        return Symbol(names[term])
    return map_children(term, lambda child, _: abbreviated(child, names))
