"""Every operator, and random expressions, mean the same on the interpreter, in C and in Numba."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from strategies.loops import (
    BACKENDS,
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    N,
    every_backend,
    index,
    integer,
    kernel,
)

from storel.loops import interpret
from storel.loops.nodes import (
    Allocation,
    Binary,
    Buffer,
    Cast,
    Constant,
    Expression,
    For,
    Kernel,
    Load,
    Select,
    Store,
    Unary,
)
from storel.loops.types import OPERAND_TYPES, PREDICATES, UNARY_OPERATORS, type_of
from storel.scalars import ScalarType
from storel.semiring import Scalar

# Every operator on every type: one kernel per type, one output per operator.


def applications(of: ScalarType) -> list[Expression]:
    a, b = Load(Buffer("a", of), index("i")), Load(Buffer("b", of), index("i"))
    expressions: list[Expression] = [Cast(to, a) for to in ScalarType if not (of.is_real and to.is_integer)]
    for operator, types in OPERAND_TYPES.items():
        if of not in types:
            continue
        if operator == "trailing_zeros":
            expressions.append(Unary(operator, Binary("bit_or", a, Constant(8, of))))
        elif operator in UNARY_OPERATORS:
            expressions.append(Unary(operator, a))
        elif operator in ("lesser", "larger"):
            number = Select(Unary("is_nan", b), Constant(-1, of), b)
            expressions.append(Binary(operator, a, number))
        else:
            expressions.append(Binary(operator, a, b))
            if operator in ("floor_divide", "modulo"):
                expressions += [Binary(operator, a, Constant(divisor, of)) for divisor in (1, 4, 7, -3)]
            if operator.startswith("shift"):
                expressions += [Binary(operator, a, Constant(amount, of)) for amount in (0, 5, 31)]
    return [*expressions, *(Select(Binary("less", a, b), a, b, branchless) for branchless in (False, True))]


def pointwise(of: ScalarType, expressions: list[Expression]) -> Kernel:
    """out_k[i] = expression k, over the buffers a and b."""
    outputs = [Buffer(f"out{k}", type_of(expression)) for k, expression in enumerate(expressions)]
    stores = tuple(
        Store(out, index("i"), expression) for out, expression in zip(outputs, expressions, strict=True)
    )
    return kernel(
        [Buffer("a", of), Buffer("b", of)],
        [(Allocation(out, k, None, is_output=True), N) for k, out in enumerate(outputs)],
        [For(index("i"), integer(0), N, stores)],
    )


INTERESTING: dict[ScalarType, list[Scalar]] = {
    BOOL: [False, True],
    INT32: [0, 1, -1, 2, 3, -7, 31, 32, 63, 64, 46341, -(2**31), 2**31 - 1],
    INT64: [0, 1, -1, 2, 3, -7, 31, 32, 63, 64, 3037000500, -(2**63), 2**63 - 1],
    FLOAT32: [0.0, -0.0, 1.0, -1.0, 0.5, 7.0, -3.25, 1e30, np.inf, -np.inf, np.nan],
    FLOAT64: [0.0, -0.0, 1.0, -1.0, 0.1, 7.0, -3.25, 1e300, np.inf, -np.inf, np.nan],
}


@pytest.mark.parametrize("of", list(ScalarType), ids=lambda of: of.value)
def test_every_operator(of: ScalarType) -> None:
    expressions = applications(of)
    made = pointwise(of, expressions)
    runs = every_backend(made)

    def agree(values: list[Scalar]) -> None:
        grid = np.array(np.meshgrid(values, values)).reshape(2, -1)
        inputs = {"a": grid[0].astype(of.dtype), "b": grid[1].astype(of.dtype)}
        expected = runs["interpret"]({"n": len(grid[0])}, inputs)
        for backend in BACKENDS:
            outputs = runs[backend]({"n": len(grid[0])}, inputs)
            for name, array in outputs.items():
                what = f"{backend}: {expressions[int(name[3:])]}"
                exact = array.dtype.kind in "bi"
                np.testing.assert_allclose(array, expected[name], rtol=0 if exact else 3e-6, err_msg=what)

    agree(INTERESTING[of])
    elements = {"b": st.booleans(), "i": st.integers(-(2**31), 2**31 - 1), "f": st.floats(width=32)}
    random = st.lists(elements[of.dtype.kind], min_size=1, max_size=6)
    settings(max_examples=30, deadline=None)(given(random)(agree))()


def test_compilers_deduce_nothing_from_numbers_that_do_not_wrap_around() -> None:
    """Each is simpler, and wrong at the ends of 64 bits, for a compiler that takes overflow for impossible.

    The last one is how hash tables spread their keys: all came to the same slot.
    """
    a, b = Load(Buffer("a", INT64), index("i")), Load(Buffer("b", INT64), index("i"))
    one, four, two = integer(1), integer(4), integer(2)
    key = Binary("add", Binary("multiply", four, a), b)
    marked = Binary("bit_xor", key, integer(-(2**63)))
    folded = Binary("bit_xor", marked, Binary("shift_right", marked, integer(32)))
    spread = Binary("shift_right", Binary("multiply", folded, integer(-7046029254386353131)), integer(62))
    expressions: list[Expression] = [
        Binary("greater", Binary("add", a, one), a),
        Binary("less", Binary("subtract", a, one), a),
        Binary("floor_divide", Binary("multiply", a, four), four),
        Binary("greater_equal", Binary("multiply", a, a), integer(0)),
        Binary("equal", Binary("multiply", a, two), Binary("multiply", b, two)),
        Binary("less", Binary("subtract", a, b), integer(0)),
        Select(Binary("greater_equal", key, integer(0)), Binary("bit_and", spread, one), integer(0)),
    ]
    runs = every_backend(pointwise(INT64, expressions))
    values = [*INTERESTING[INT64], *range(8), 2**62, -(2**62), 2**61]
    grid = np.array(np.meshgrid(values, values)).reshape(2, -1)
    inputs = {"a": grid[0], "b": grid[1]}
    expected = runs["interpret"]({"n": len(grid[0])}, inputs)
    assert all(len(np.unique(array)) > 1 for array in expected.values())
    for backend in BACKENDS:
        for name, array in runs[backend]({"n": len(grid[0])}, inputs).items():
            np.testing.assert_array_equal(
                array, expected[name], err_msg=f"{backend}: {expressions[int(name[3:])]}"
            )


def test_the_interpreter_agrees_with_numpy() -> None:
    named = {"negate": "negative", "relu": None, "sigmoid": None, "is_nan": "isnan", "popcount": None}
    named |= {"trailing_zeros": None, "and": "logical_and", "or": "logical_or", "not": "logical_not"}
    named |= {"bit_and": "bitwise_and", "bit_or": "bitwise_or", "bit_xor": "bitwise_xor", "abs": "abs"}
    named |= {"shift_left": "left_shift", "shift_right": "right_shift", "power": None, "modulo": "mod"}
    named |= {"lesser": "minimum", "larger": "maximum"}
    for of in ScalarType:
        operators = [name for name, types in OPERAND_TYPES.items() if of in types and named.get(name, name)]
        a, b = Load(Buffer("a", of), index("i")), Load(Buffer("b", of), index("i"))
        made = pointwise(
            of, [Unary(op, a) if op in UNARY_OPERATORS else Binary(op, a, b) for op in operators]
        )
        grid = np.array(np.meshgrid(INTERESTING[of], INTERESTING[of])).reshape(2, -1)
        left, right = grid[0].astype(of.dtype), grid[1].astype(of.dtype)
        outputs = interpret.run(made, {"n": len(left)}, {"a": left, "b": right})[0]
        for k, operator in enumerate(operators):
            function = getattr(np, named.get(operator) or operator)
            with np.errstate(all="ignore"):
                expected = function(left) if operator in UNARY_OPERATORS else function(left, right)
            np.testing.assert_allclose(outputs[f"out{k}"], expected, rtol=3e-7, err_msg=f"{of} {operator}")


# Random expressions, several per kernel since compiling one costs the most.


def trees(of: ScalarType, depth: int) -> st.SearchStrategy[Expression]:
    """Well-typed expressions over a[i] and b[i], without what rounds differently in each library."""
    leaves: list[Expression] = [Load(Buffer("a", of), index("i")), Load(Buffer("b", of), index("i"))]
    values = {"b": [True], "i": [-3, 0, 5], "f": [-1.5, 0.0, 2.0]}[of.dtype.kind]
    leaf = st.sampled_from([*leaves, *(Constant(value, of) for value in values)])
    if depth == 0:
        return leaf
    inner = trees(of, depth - 1)
    operators = [
        operator
        for operator, types in OPERAND_TYPES.items()
        if of in types
        and operator not in UNARY_OPERATORS
        and operator not in PREDICATES
        and operator != "power"
    ]
    if of is FLOAT64:
        operators = ["minimum", "maximum"]  # contraction may change others in the last place
    numeric = [operator for operator in ("negate", "abs", "relu", "sign") if of in OPERAND_TYPES[operator]]
    comparison = st.builds(Binary, st.sampled_from(["less", "equal", "greater_equal"]), inner, inner)
    choices = [leaf, st.builds(Select, comparison, inner, inner)]
    choices.append(st.builds(Binary, st.sampled_from(operators), inner, inner))
    if numeric:
        choices.append(st.builds(Unary, st.sampled_from(numeric), inner))
    if of is INT64:
        choices.append(st.builds(Cast, st.just(INT64), st.builds(Cast, st.just(INT32), inner)))
        choices.append(st.builds(Cast, st.just(INT64), comparison))
    return st.one_of(choices)


@pytest.mark.parametrize("of", [INT64, FLOAT64], ids=lambda of: of.value)
def test_random_expressions(of: ScalarType) -> None:
    grid = np.array(np.meshgrid(INTERESTING[of], INTERESTING[of])).reshape(2, -1)
    inputs = {"a": grid[0].astype(of.dtype), "b": grid[1].astype(of.dtype)}

    def agree(expressions: list[Expression]) -> None:
        made = pointwise(of, expressions)
        runs = every_backend(made)
        expected = runs["interpret"]({"n": len(grid[0])}, inputs)
        for backend in BACKENDS:
            for name, array in runs[backend]({"n": len(grid[0])}, inputs).items():
                what = f"{backend}: {expressions[int(name[3:])]}"
                np.testing.assert_array_equal(array, expected[name], err_msg=what)

    some = st.lists(trees(of, 3), min_size=8, max_size=8)
    settings(max_examples=2, deadline=None, derandomize=True, phases=[Phase.generate])(given(some)(agree))()
