"""Views of views are written out where that stays small, and stored where it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

import storel
from storel.compilation import inlining
from storel.compilation.compiler import Options
from storel.compilation.environment import Environment
from storel.compilation.expectation import expected_time
from storel.compilation.inlining import adds_up, uses, written_out
from storel.execution.script import Runner
from storel.source import Source
from storel.syntax.nodes.expressions import Expression
from storel.syntax.parser import parse_expression

Vector: TypeAlias = NDArray[np.float64]

X = np.array([0.1, 0.2, 0.05])
W = np.array([[0.1, 0.2, 0.0], [0.0, 0.1, 0.3], [0.2, 0.0, 0.1]])


def parsed(text: str) -> Expression:
    return parse_expression(Source("text", text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b", 0),
        ("a + a", 2),
        ("sum(<i, v> in a) v", 1),
        ("sum(<i, _> in a) i", 1),
        ("sum(<i, v> in a) v * v * v", 3),
        ("sum(<i, r> in a, <j, v> in r) v * v", 2),
        ("sum(<i, a> in b) a * a", 0),
        ("sum(<i, v> in a, <i, w> in a) v * w", 2),
        ("max(<i, v> in a) v * v", 2),
        ("count(<i, v> in a)", 1),
        ("sum(<i, v> in b) v * a(i) + a(i)", 2),
        ("let a = b in a + a", 0),
    ],
)
def test_uses(text: str, expected: int) -> None:
    assert uses("a", parsed(text)) == expected


def test_what_is_written_out_grows_with_each_use() -> None:
    alone = written_out(parsed("a + a"), {})
    assert written_out(parsed("a + a"), {"a": 10}) == alone + 20
    assert written_out(parsed("a + b"), {"a": 10}) == alone + 10


def chain(step: str, count: int) -> str:
    """Return a script that applies ``step``, which says {0} for what the last one made, so many times."""
    first = "CREATE TENSOR a0 AS sum(<i, v> in x) {i -> v}"
    steps = (f"CREATE TENSOR a{n} AS {step.replace('{0}', f'a{n - 1}')}" for n in range(1, count + 1))
    return "\n".join((first, *steps))


CHAINS: dict[str, tuple[str, Callable[[Vector], Vector]]] = {
    "one use of values": ("sum(<i, v> in {0}) {i -> v + 1}", lambda a: a + 1),
    "two uses of values": ("sum(<i, v> in {0}) {i -> 3.5 * v * (1 - v)}", lambda a: 3.5 * a * (1 - a)),
    "two uses": ("{0} + {0}", lambda a: a + a),
    "a product and itself": ("{0} + sum(<(i, j), w> in W, <j, v> in {0}) {i -> w * v}", lambda a: a + W @ a),
}


@pytest.mark.parametrize(("step", "function"), CHAINS.values(), ids=CHAINS)
def test_chains_of_views(step: str, function: Callable[[Vector], Vector]) -> None:
    """Written out, two uses in each of fourteen steps would be sixteen thousand."""
    expected = X
    for _ in range(14):
        expected = function(expected)
    operands: dict[str, Any] = {"x": X} | ({"W": W} if "W" in step else {})
    found = storel.run(chain(step, 14), **operands)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-10)


def length(step: str, count: int, operands: dict[str, Any]) -> int:
    """Return how long what is compiled of a chain is."""
    return len(storel.compile(chain(step, count), **operands).explain("composed"))


@pytest.mark.parametrize("step", [step for step, _ in CHAINS.values()], ids=CHAINS)
def test_what_is_only_compiled_grows_no_faster_than_the_script(step: str) -> None:
    operands: dict[str, Any] = {"x": X} | ({"W": W} if "W" in step else {})
    assert length(step, 16, operands) < 4 * length(step, 8, operands)


def test_a_chain_that_is_only_compiled_can_be_run() -> None:
    step, function = CHAINS["two uses of values"]
    expected = X
    for _ in range(8):
        expected = function(expected)
    found = storel.compile(chain(step, 8), x=X)(x=X)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-10)


@pytest.mark.parametrize("semiring", ["plus_times", "min_plus", "or_and"])
@pytest.mark.parametrize("stored", ["", " STORED AS coo", " STORED AS auto", " STORED AS bcsr(1, 3)"])
def test_what_is_read_of_views_in_any_format_is_planned(
    semiring: str, stored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that are no nest of levels."""
    monkeypatch.setattr(inlining, "LONGEST", 10)
    script = f"""
        CREATE TENSOR a OVER {semiring}{stored} AS sum(<(i, j), v> in W, <(j, k), w> in W) {{(i, k) -> v * w}}
        CREATE TENSOR b OVER {semiring} AS sum(<(i, j), v> in a, <(j, k), w> in a) {{(i, k) -> v * w}}"""
    composed = storel.compile(script, W=storel.tensor(W, semiring=semiring)).explain("composed")
    assert "a_val" in composed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b", False),
        ("sum(<i, v> in a) { i -> v * v }", False),
        ("2 * sum(<(i, j), v> in a) { (j, i) -> v }", False),
        ("sum(<i, v> in a, <i, w> in b) { i -> v * w }", False),
        ("sum(<i, v> in a) v", True),
        ("sum(<(i, _), v> in a) { i -> v }", True),
        ("sum(<i, row> in a) { i -> sum(<_, v> in row) v }", True),
        ("max(<i, v> in a) v", True),
        ("sum(<i, v> in a) { v -> 1 }", True),
        ("sum(<i, v> in a) { b(i) -> v }", True),
        ("sum(<i, v> in a) { 3 - b(i) -> v }", True),
        ("sum(<i, v> in a) { 3 - i -> v }", False),
        ("sum(<i, v> in a) { i -> v } + sum(<(i, j), v> in b) { j -> v }", True),
    ],
)
def test_adds_up(text: str, expected: bool) -> None:
    assert adds_up(parsed(text)) is expected


RANKS = """
    CREATE TENSOR degree AS sum(<(i, j), a> in A) {{i -> a}}
    CREATE TENSOR r0: real[{rows}] AS sum(<i, _> in 0:{rows}) {{i -> 1.0}}
"""
RANK = """
    CREATE TENSOR q{0} AS sum(<i, v> in r{0}, <i, d> in degree) {{i -> v / d}}
    CREATE TENSOR r{1} AS
      sum(<i, _> in 0:{2}) {{i -> 0.15}} + 0.85 * sum(<(i, j), a> in A, <i, v> in q{0}) {{j -> a * v}}
"""


def ranked(links: Any, count: int) -> tuple[float, Vector]:
    """Return the expected time of all kernels of ``count`` steps over a graph, and the result."""
    rows = links.shape[0]
    text = RANKS.format(rows=rows) + "".join(RANK.format(n, n + 1, rows) for n in range(count))
    environment = Environment(tensors={"A": storel.tensor(links)})
    outcome = Runner(environment, Options(threads=1)).run(Source("ranks", text))
    return sum(map(expected_time, outcome.compilations.values())), outcome.results[f"r{count}"].to_numpy()


def test_steps_that_look_up_the_one_before_take_time_that_grows_with_their_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Written out, each step would take all of the one before it for each entry that it looks up."""
    monkeypatch.setattr(inlining, "AT_STAKE", 0.0)
    drawn = np.random.default_rng(0).random((300, 300)) < 0.02
    links = scipy.sparse.csr_array((drawn | np.eye(300, dtype=bool)).astype(float))
    expected = np.ones(300)
    for _ in range(6):
        expected = 0.15 + 0.85 * (links.T @ (expected / links.sum(axis=1)))
    few, _ = ranked(links, 3)
    many, found = ranked(links, 6)
    np.testing.assert_allclose(found, expected)
    assert many < 3 * few


def test_a_view_of_which_little_is_needed_is_inlined(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product that is only used times a vector is never made."""
    monkeypatch.setattr(inlining, "AT_STAKE", 0.0)
    dense = np.random.default_rng(0).random((60, 60))
    script = """
        CREATE TENSOR p AS sum(<(i, k), v> in W, <(k, j), w> in W) {(i, j) -> v * w}
        CREATE TENSOR y AS sum(<(i, j), v> in p, <j, w> in x) {i -> v * w}"""
    environment = Environment(tensors={"W": storel.tensor(dense), "x": storel.tensor(dense[0])})
    outcome = Runner(environment, Options(threads=1)).run(Source("product", script))
    assert list(outcome.compilations) == ["y"]
    np.testing.assert_allclose(outcome.results["y"].to_numpy(), dense @ (dense @ dense[0]))


def clusters(points: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.float64]:
    nearest = ((points[:, None] - centres) ** 2).sum(2).argmin(1)
    return np.stack([points[nearest == each].mean(0) for each in range(len(centres))])


def test_a_view_whose_keys_have_no_bound_but_its_type_is_stored() -> None:
    """Points are added up by the number of the nearest centre, which is known to be one by its type only."""
    drawn = np.random.default_rng(0)
    points, centres = drawn.random((50, 3)), drawn.random((4, 3))
    script = """
        CREATE TENSOR d: real[50, 4] AS
          sum(<i, _> in 0:50, <c, _> in 0:4, <k, _> in 0:3) {(i, c) -> pow(X(i, k) - C(c, k), 2)}
        CREATE TENSOR least AS sum(<i, row> in d) {i -> min(<_, v> in row) v}
        CREATE TENSOR nearest AS
          sum(<i, _> in 0:50) {i -> min(<c, _> in 0:4) (if d(i, c) == least(i) then c else 4)}
        CREATE TENSOR size: int[4] AS sum(<i, _> in 0:50) {nearest(i) -> 1}
        CREATE TENSOR total: real[4, 3] AS sum(<i, _> in 0:50, <k, _> in 0:3) {(nearest(i), k) -> X(i, k)}
        CREATE TENSOR mean AS sum(<(c, k), v> in total) {(c, k) -> v / size(c)}"""
    found = storel.run(script, X=points, C=centres)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), clusters(points, centres))


@pytest.mark.parametrize("floating_point", ["reassociate", "strict"])
@pytest.mark.parametrize("storage", ["dense", "coo", "csf", "hash"])
@pytest.mark.parametrize(
    "script",
    [
        """CREATE TENSOR s: int[5, 3] AS sum(<p, _> in 0:15) { (3 - g(p), h(p)) -> 1 }
           CREATE TENSOR t AS sum(<(k, l), _> in s) { k -> l }""",
        """CREATE TENSOR s: int[4, 5] AS sum(<p, _> in 0:15) { (h(p), (g(p) + 1) % 4) -> 1 }
           CREATE TENSOR t AS count(<(k, l), _> in s)""",
        """CREATE TENSOR s: real[4] AS sum(<p, _> in 0:15) { g(p) -> x(p) }
           CREATE TENSOR t AS sum(<k, a> in s, <l, b> in s) if a < b then { k -> 1 }
           CREATE TENSOR u AS sum(<k, a> in t) { k -> a - sum(<_, b> in t) b / 4 }""",
        """CREATE TENSOR s: real[4, 3] AS sum(<p, a> in x, <q, b> in 0:3) { (g(p), q) -> abs(a) }
           CREATE TENSOR t AS sum(<(k, l), a> in s) { k -> a + 1.0 }
           CREATE TENSOR u AS sum(<k, _> in 0:4, <l, _> in 0:3) { (k, l) -> (s(k, l) + 1) / (t(k) + 5) }""",
    ],
)
def test_numbers_of_groups_are_bounded_in_any_format(
    script: str, storage: str, floating_point: Literal["reassociate", "strict"]
) -> None:
    drawn = np.random.default_rng(0)
    numbers = {"g": drawn.integers(0, 4, 15), "h": drawn.integers(0, 3, 15), "x": drawn.normal(size=15)}
    given = {
        name: storel.tensor(each, "dense" if name == "x" else storage)
        for name, each in numbers.items()
        if f"{name}(" in script or f"in {name}" in script
    }
    wanted = storel.run(script, backend="interpret", **given)
    found = storel.run(script, floating_point=floating_point, **given)
    assert isinstance(found, storel.Tensor)
    assert isinstance(wanted, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy())
