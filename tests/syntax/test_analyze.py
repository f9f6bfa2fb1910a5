from __future__ import annotations

from collections.abc import Iterator

import pytest

from storel.errors import ExtentError, TypeMismatchError
from storel.scalars import ScalarType
from storel.source import Source
from storel.syntax.analyze import Analysis, analyze
from storel.syntax.nodes.expressions import Expression, Let
from storel.syntax.parser import parse
from storel.syntax.printer import render
from storel.syntax.signatures import ArraySignature, Extent, Signature, SizeSignature, TensorSignature
from storel.syntax.walk import children

REAL, INT = ScalarType.FLOAT64, ScalarType.INT64
SIGNATURES: dict[str, Signature] = {
    "A": TensorSignature(REAL, (Extent(3), Extent(4))),
    "F": TensorSignature(ScalarType.FLOAT32, (Extent(3),)),
    "O": TensorSignature(INT, (Extent(6, is_closed=False), Extent(2, is_closed=False))),
    "T": TensorSignature(ScalarType.INT32, (Extent(3),)),
    "idx": ArraySignature(INT, 9),
}


def analysed(text: str) -> Analysis:
    return analyze(parse(Source("t.sdql", text)), SIGNATURES)


@pytest.mark.parametrize(
    ("text", "scalar", "extents"),
    [
        ("CREATE TENSOR y AS A", REAL, (Extent(3, False), Extent(4, False))),
        ("CREATE TENSOR y: real[3, 4] AS A", REAL, (Extent(3), Extent(4))),
        ("CREATE TENSOR y: real[m, n] AS A", REAL, (Extent(3), Extent(4))),
        ("CREATE TENSOR y: real[7, 2] AS O", REAL, (Extent(7), Extent(2))),
        ("CREATE TENSOR y: int[n, n] AS O", INT, (Extent(6), Extent(6))),
        ("CREATE TENSOR y: real[n] AS F", ScalarType.FLOAT32, (Extent(3),)),
        ("CREATE TENSOR y: float64[n] AS F", REAL, (Extent(3),)),
        ("CREATE TENSOR y: float32[n] AS F", ScalarType.FLOAT32, (Extent(3),)),
        ("CREATE TENSOR y: float32[n] AS T", ScalarType.FLOAT32, (Extent(3),)),
        ("CREATE TENSOR y: int32[2] AS {}", ScalarType.INT32, (Extent(2),)),
        ("CREATE TENSOR y: real[5] AS {}", REAL, (Extent(5),)),
        ("CREATE TENSOR y: real[9] AS sum(<p, j> in idx) { j -> 1 }", REAL, (Extent(9),)),
        ("CREATE TENSOR y AS sum(<i, x> in F) x", ScalarType.FLOAT32, ()),
    ],
)
def test_types_and_extents_of_results(text: str, scalar: ScalarType, extents: tuple[Extent, ...]) -> None:
    (definition,) = analysed(text).definitions
    assert (definition.type, definition.extents) == (scalar, extents)
    assert definition.rank == len(extents)


@pytest.mark.parametrize(
    ("declared", "expression"),
    [
        ("float32[n, n]", "O"),
        ("int32[n, n]", "O"),
        ("float32[m, n]", "A"),
        ("int64[n]", "F"),
        ("bool[n]", "T"),
    ],
)
def test_what_is_computed_is_not_made_shorter(declared: str, expression: str) -> None:
    with pytest.raises(TypeMismatchError, match="scalar types do not fit"):
        analysed(f"CREATE TENSOR y: {declared} AS {expression}")


def test_a_function_is_known_in_the_definition_that_hides_it() -> None:
    exp, y = analysed("CREATE TENSOR exp AS exp(2); CREATE TENSOR y AS exp + 1").definitions
    assert (render(exp.expression), render(y.expression)) == ("exp(2)", "exp + 1")


def test_names_in_a_type_are_sizes_below() -> None:
    text = "CREATE TENSOR y: real[m, n] AS A; CREATE TENSOR z AS sum(<i, _> in 0:m + n) { i -> 1 }"
    definition = analysed(text).definitions[1]
    assert definition.extents == (Extent(7, is_closed=False),)
    assert definition.sizes == {"m": 3, "n": 4}
    assert definition.signatures == {"m": SizeSignature(3), "n": SizeSignature(4)}
    with pytest.raises(ExtentError, match="declared"):
        analysed("CREATE TENSOR y: real[m, n] AS A; CREATE TENSOR z: real[n, n] AS A")


def test_a_loaded_tensor_is_held_to_its_declared_type() -> None:
    sizes = analysed(
        "LOAD TENSOR O: int[8, k] FROM 'o.tns'; CREATE TENSOR y AS extent(O, 0) + k"
    ).definitions[0]
    assert sizes.signatures["O"] == TensorSignature(INT, (Extent(8), Extent(2)))
    with pytest.raises(ExtentError, match="does not fit"):
        analysed("LOAD TENSOR O: int[5, k] FROM 'o.tns'; CREATE TENSOR y AS O")
    with pytest.raises(ExtentError, match="disagree"):
        analysed("LOAD TENSOR A: real[9, k] FROM 'a.mtx'; CREATE TENSOR y AS A")
    with pytest.raises(ExtentError, match="disagree"):
        analysed("LOAD ARRAY idx: int[8] FROM 'x.npy'; CREATE TENSOR y AS idx(0)")


@pytest.mark.parametrize(
    ("text", "results"),
    [
        ("CREATE TENSOR y AS A; CREATE TENSOR z AS y", ("z",)),
        ("CREATE TENSOR y AS A; CREATE TENSOR z AS y; SAVE y TO 'y.npy'", ("y",)),
        ("SAVE A TO 'a.mtx'", ("A",)),
        ("CREATE TENSOR y AS A; SAVE y TO 'y.npy'; SAVE A TO 'a.npy'; SAVE y TO 'z.npy'", ("y", "A")),
    ],
)
def test_the_results_of_a_script(text: str, results: tuple[str, ...]) -> None:
    assert analysed(text).results == results


def test_a_format_that_the_script_creates_may_be_used() -> None:
    text = "CREATE FORMAT f(T: real[n]) USING val: real[n] AS sum(<i, x> in val) { i -> x }"
    text += "CREATE TENSOR y STORED AS f AS F"
    analysis = analyze(parse(Source("t.sdql", text)), SIGNATURES, ["csr"])
    assert analysis.definitions[0].format is not None


def nodes(expression: Expression) -> Iterator[Expression]:
    yield expression
    for child in children(expression):
        yield from nodes(child)


def test_keys_that_a_let_names_are_marked() -> None:
    text = (
        "CREATE TENSOR y OVER min_plus AS sum(<i, x> in F) let k = i + 1 in let z = x + 1 in { k -> z * x }"
    )
    (definition,) = analysed(text).definitions
    assert (
        render(definition.expression) == "sum(<i, x> in F) let k = i + 1 in let z = x + 1 in { k -> z * x }"
    )
    lets = [node for node in nodes(definition.expression) if isinstance(node, Let)]
    assert {let.binder.name: let.is_index for let in lets} == {"k": True, "z": False}


def test_chains_of_keys_stay_as_long_as_they_are_written() -> None:
    lets = "".join(f"let k{n + 1} = (k{n} + k{n}) % 9 in " for n in range(30))
    text = f"CREATE TENSOR y OVER min_plus AS sum(<k0, x> in F) {lets} {{ k30 -> x }}"
    (definition,) = analysed(text).definitions
    assert len(list(nodes(definition.expression))) < 30 * 7


def test_a_value_used_as_a_key_draws_a_warning() -> None:
    (warning,) = analysed("CREATE TENSOR y: real[9] AS sum(<(i, j), k> in O) { k -> 1 }").warnings
    assert "'k'" in warning and "ARRAY" in warning and "t.sdql:1:" in warning
