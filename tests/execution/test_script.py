"""Statements executed: views, includes, results, progress."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import storel
from storel.compilation.compiler import Options
from storel.compilation.environment import Environment
from storel.errors import ExtentError, ProgramSyntaxError, TypeMismatchError, UnknownNameError
from storel.execution.inclusion import read_source
from storel.execution.script import Outcome, Runner
from storel.source import Source

A = np.array([[0.0, 1.0], [2.0, 3.0]])


def runner(**keywords: Any) -> Runner:
    environment = Environment()
    environment.add_tensor("A", storel.tensor(A, "csr"))
    return Runner(environment, **keywords)


def run(text: str, **keywords: Any) -> Outcome:
    return runner(**keywords).run(Source("test", text))


def result(text: str, **bound: Any) -> Any:
    """Return the number that a program gives."""
    found = storel.run(text, **bound)
    assert isinstance(found, storel.Tensor)
    return found.item()


VIEW = "CREATE TENSOR v AS A * 2; CREATE TENSOR r AS sum(<(i, j), a> in v) { i -> a }"


@pytest.mark.parametrize(
    ("text", "compiled"),
    [
        (VIEW, ["r"]),
        (VIEW.replace("v AS A", "v STORED AS coo AS A"), ["v", "r"]),
        ("CREATE TENSOR unused AS A + A; CREATE TENSOR r AS A", ["r"]),
    ],
)
def test_views_are_inlined_unless_they_ask_for_a_format(text: str, compiled: list[str]) -> None:
    outcome = run(text)
    assert list(outcome.compilations) == compiled
    assert list(outcome.results) == ["r"]


def test_every_definition_is_evaluated_by_the_reference() -> None:
    by_kernel, by_reference = run(VIEW), run(VIEW, options=Options(backend="interpret"))
    np.testing.assert_array_equal(by_kernel.results["r"].to_numpy(), by_reference.results["r"].to_numpy())
    assert by_reference.compilations == {}


@pytest.mark.parametrize("backend", ["c", "interpret"])
def test_the_format_that_is_asked_for_is_that_of_the_result(backend: str) -> None:
    script = "CREATE TENSOR v STORED AS coo AS sum(<(i, j), a> in A) { j -> a }; CREATE TENSOR r AS A * v(1)"
    found = storel.run(script, A=A, backend=backend, format="csc")
    assert isinstance(found, storel.Tensor)
    assert found.format == "csc"
    assert found.to_numpy().tolist() == (A * 4).tolist()


THREE = "CREATE TENSOR p AS A * 2; CREATE TENSOR q AS A * 3; CREATE TENSOR r AS A * 4"


@pytest.mark.parametrize(
    ("text", "requested", "results"),
    [
        (THREE, (), ["r"]),
        (THREE, ("p",), ["p"]),
        (THREE, ("q", "p"), ["p", "q"]),
        (THREE + "; SAVE q TO 'q.npz'", (), ["q"]),
        (THREE + "; SAVE q TO 'q.npz'", ("p",), ["p", "q"]),
        (THREE + "; SAVE A TO 'a.npz'", (), ["A"]),
        (THREE + "; SAVE A TO 'a.npz'; SAVE q TO 'q.npz'", (), ["A", "q"]),
        (THREE, ("A", "r"), ["A", "r"]),
    ],
)
def test_the_results_are_what_is_saved_or_asked_for(
    text: str, requested: tuple[str, ...], results: list[str]
) -> None:
    assert sorted(run(text, requested=requested).results) == results


def test_what_is_requested_must_be_there() -> None:
    with pytest.raises(UnknownNameError, match="defines no tensor 'pp'"):
        run(THREE, requested=("pp",))


def test_files_are_included_once_they_end(tmp_path: Path) -> None:
    (tmp_path / "inner.sdql").write_text("CREATE TENSOR v AS A * 2")
    (tmp_path / "first.sdql").write_text("INCLUDE 'second.sdql'")
    (tmp_path / "second.sdql").write_text("INCLUDE 'first.sdql'")
    outcome = run("INCLUDE 'inner.sdql'; CREATE TENSOR r AS v + v", directory=tmp_path)
    np.testing.assert_array_equal(outcome.results["r"].to_numpy(), 4 * A)
    with pytest.raises(ProgramSyntaxError, match="includes itself"):
        run("INCLUDE 'first.sdql'", directory=tmp_path)
    with pytest.raises(ProgramSyntaxError, match="cannot be read") as raised:
        run("INCLUDE 'none.sdql'", directory=tmp_path)
    assert raised.value.span is not None and raised.value.span.text == "INCLUDE 'none.sdql'"


def test_parameters_have_a_default_or_a_binding() -> None:
    text = "PARAMETER s: real = 2.0; CREATE TENSOR r AS s * A"
    np.testing.assert_array_equal(run(text).results["r"].to_numpy(), 2 * A)
    bound = runner()
    bound.environment.add_parameter("s", 5.0)
    np.testing.assert_array_equal(bound.run(Source("test", text)).results["r"].to_numpy(), 5 * A)
    with pytest.raises(UnknownNameError, match="parameter 's' has no value"):
        run("PARAMETER s: real; CREATE TENSOR r AS s * A")


@pytest.mark.parametrize(
    ("scalar", "given", "expected"),
    [
        ("real", 2, 2.0),
        ("real", 0.5, 0.5),
        ("real", math.nan, math.nan),
        ("real", True, 1.0),
        ("int", 2.0, 2),
        ("int", np.array(2), 2),
        ("int", np.array(2, np.uint8), 2),
        ("int", np.array(2.0), 2),
        ("int", np.array(2.5), None),
        ("int", True, None),
        ("int", np.True_, None),
        ("int", np.array(True), None),
        ("real", np.array(2), 2.0),
        ("bool", np.array(True), True),
        ("int", 2.5, None),
        ("int", math.nan, None),
        ("int", math.inf, None),
        ("int", 1e30, None),
        ("bool", True, True),
        ("bool", 0, False),
        ("bool", 5, None),
    ],
)
def test_the_value_of_a_parameter_is_of_its_type(scalar: str, given: Any, expected: Any) -> None:
    program = f"PARAMETER s: {scalar}; CREATE TENSOR r AS s"
    if expected is None:
        with pytest.raises(TypeMismatchError, match="parameter 's' has a value of another type"):
            storel.run(program, s=given)
    else:
        found = result(program, s=given)
        np.testing.assert_equal(found, expected)
        assert type(found) is type(expected)


def test_a_tensor_without_dimensions_is_the_value_of_a_parameter() -> None:
    kernel = storel.compile("PARAMETER n: int CREATE TENSOR r AS sum(<i, _> in 0:3) i * n", n=np.array(2))
    found = [kernel(n=n) for n in (np.array(5), storel.tensor(4), np.int8(3))]
    assert [each.item() for each in found if isinstance(each, storel.Tensor)] == [15, 12, 9]
    with pytest.raises(TypeMismatchError, match="'n' has a value of another type"):
        kernel(n=np.array(True))


def test_the_default_of_a_parameter_is_of_its_type() -> None:
    assert result("PARAMETER s: real = 2; CREATE TENSOR r AS pow(s, -1)") == 0.5
    with pytest.raises(TypeMismatchError, match="parameter 's' has a value of another type"):
        result("PARAMETER s: int = 0.5; CREATE TENSOR r AS s")


@pytest.mark.parametrize(
    ("scalar", "given", "expected"),
    [
        ("int32", 5, 25),
        ("int32", np.int32(7), 49),
        ("int32", -(2**31), None),
        ("int32", 2**31, None),
        ("int32", 2.5, None),
        ("int64", 5, 25),
        ("int64", 2.5, None),
        ("float64", 3, 9.0),
        ("float64", 0.1, 0.1 * 0.1),
        ("float32", 0.5, 0.25),
        ("float32", 0.1, float(np.float32(0.1) * np.float32(0.1))),
        ("float32", math.inf, math.inf),
        ("float32", 1e300, None),
    ],
)
@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
def test_a_parameter_has_the_length_of_its_type(scalar: str, given: Any, expected: Any, backend: Any) -> None:
    program = f"PARAMETER s: {scalar} = 2; CREATE TENSOR r AS s * s"
    default = storel.compile(program, backend=backend)
    if given == -(2**31):  # the least of them is one, and its square beyond them
        program, expected = program.replace("s * s", "s"), given
    if expected is None:
        for give in (lambda: storel.run(program, s=given, backend=backend), lambda: default(s=given)):
            with pytest.raises(TypeMismatchError, match="parameter 's' has a value of another type"):
                give()
        return
    for found in (storel.run(program, s=given, backend=backend), storel.compile(program, s=given)(s=given)):
        assert isinstance(found, storel.Tensor)
        assert (found.item(), found.to_numpy().dtype) == (expected, np.dtype(scalar))
    assert isinstance(made := default(), storel.Tensor) and made.item() == 4


def test_the_default_of_a_parameter_has_the_length_of_its_type() -> None:
    assert result("PARAMETER s: int32 = 2147483647; CREATE TENSOR r AS s") == 2**31 - 1
    with pytest.raises(TypeMismatchError, match="parameter 's' has a value of another type"):
        result("PARAMETER s: int32 = 2147483648; CREATE TENSOR r AS s")
    with pytest.raises(TypeMismatchError, match="parameter 's' has a value of another type"):
        result("PARAMETER s: int32 = 0.5; CREATE TENSOR r AS s")


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("CREATE TENSOR r AS sum(<i, _> in 0:n) { i -> i * n }", {}, [0, 3, 6]),
        ("CREATE TENSOR r AS sum(<i, _> in 0:n) { i -> i * n }", {"n": 2.0}, [0, 2]),
        ("CREATE TENSOR r: int[n + 1] AS sum(<i, _> in 0:n) { i -> i }", {"n": 2}, [0, 1, 0]),
        ("CREATE TENSOR r AS { n -> 7 }", {"n": 1}, [0, 7]),
        ("CREATE TENSOR r AS let m = n - 1 in sum(<i, _> in 0:m) { i -> i }", {}, [0, 1]),
        ("CREATE TENSOR r AS sum(<i, _> in 0:n) i", {"n": -2}, 0),
    ],
)
def test_parameters_are_sizes(text: str, given: Any, expected: Any, backend: str) -> None:
    found = storel.run(f"PARAMETER n: int = 3; {text}", backend=backend, **given)
    assert isinstance(found, storel.Tensor)
    assert found.to_numpy().tolist() == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TENSOR r: int[n] AS sum(<i, _> in 0:n) { i -> i }", "'n' is no size"),
        ("CREATE TENSOR r AS sum(<i, _> in 0:n) { i -> i }", "cannot be inferred"),
    ],
)
def test_a_negative_parameter_is_no_size(text: str, message: str) -> None:
    with pytest.raises(ExtentError, match=message):
        storel.run(f"PARAMETER n: int; {text}", n=-1)


def test_what_is_no_size_is_told() -> None:
    with pytest.raises(ExtentError) as caught:
        storel.run("PARAMETER n: int = -1; CREATE TENSOR r: real[n] AS {}")
    assert caught.value.found == "a negative integer"


def test_an_extent_that_cannot_be_inferred_names_the_negative_parameters() -> None:
    text = "PARAMETER n: int; PARAMETER x: real; CREATE TENSOR r AS sum(<i, _> in 0:n) { i -> x }"
    with pytest.raises(ExtentError) as caught:
        storel.run(text, n=-1, x=-2.0)
    assert caught.value.found == "negative parameters, which bound no keys: 'n'"


def test_progress_names_every_step() -> None:
    steps: list[str] = []
    run("CREATE TENSOR r AS A", progress=steps.append)
    assert steps == ["planning r", "compiling r", "running r"]


def test_without_running_there_are_compilations_and_no_results() -> None:
    outcome = run(VIEW, runs=False)
    assert list(outcome.compilations) == ["r"] and outcome.results == {}


def test_work_is_counted_where_it_is_asked_for() -> None:
    assert run("CREATE TENSOR r AS A * 2").work is None
    work = run("CREATE TENSOR r AS A * 2", counts_work=True).work
    assert work is not None and work.multiplications == 3


def test_a_script_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary.sdql").write_bytes(b"\xff\xfe\x00")
    for name, message in (("binary.sdql", "is no UTF-8 text"), ("none.sdql", "cannot be read")):
        with pytest.raises(ProgramSyntaxError, match=message):
            read_source(tmp_path / name)
