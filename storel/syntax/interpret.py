"""The reference interpreter: what a program means, on plain Python dictionaries.

    ⟦sum(<k, v> in R) e⟧ρ = ⊕ { ⟦e⟧ρ[k ↦ key, v ↦ value] | (key, value) ∈ ⟦R⟧ρ }      and so on

It runs the analysed surface program without composing, packing or rewriting anything; all else is
compared with it. An expression is translated once into a Python function of its environment
(``meaning.py``), guided by the types that ``infer`` finds.
"""

from __future__ import annotations

from collections.abc import Mapping

from storel.errors import EvaluationError
from storel.semiring import SEMIRINGS
from storel.source import Span
from storel.syntax.analyze import Definition
from storel.syntax.iteration import Environment
from storel.syntax.meaning import Interpreter
from storel.syntax.nodes.expressions import Expression
from storel.syntax.signatures import ArraySignature, Signatures, SizeSignature
from storel.syntax.types import variable_of
from storel.values import Value, converted, entries, stored_array


def evaluate(
    expression: Expression, signatures: Signatures, values: Mapping[str, Value], semiring: str = "plus_times"
) -> Value:
    """Return the value of an analysed expression: a scalar, or nested dictionaries without zeros.

    ``values`` has a (nested) dictionary for each tensor, a scalar for each tensor of rank 0 and each
    parameter, a NumPy array for each array; sizes come from ``signatures``. Raises
    ``EvaluationError`` for reads out of bounds, overflow, the minimum of no entries, broken promises.

    >>> from storel.source import Source
    >>> from storel.syntax.parser import parse_expression
    >>> evaluate(parse_expression(Source("", "sum(<i, _> in 0:4) { i -> i * i }")), {}, {})
    {1: 1, 2: 4, 3: 9}
    """
    ring = SEMIRINGS[semiring]
    types = {name: variable_of(signature) for name, signature in signatures.items()}
    interpreter = Interpreter(signatures, types)
    kind = interpreter.type_of(expression, types, ring)
    outer = _outer_values(signatures, values)
    return interpreter.fitting(expression, kind, types, ring)(Environment(outer, (), set()))


def evaluate_definition(
    definition: Definition, views: Mapping[str, Definition], values: Mapping[str, Value]
) -> Value:
    """Return the value of a definition; ``views`` are the definitions that have no value yet.

    Raises ``EvaluationError`` for an entry outside of a declared extent, too.
    """
    known = dict(values)
    for name in sorted(definition.signatures):
        if name in views and name not in known:
            known[name] = evaluate_definition(views[name], views, values)
    found = evaluate(definition.expression, definition.signatures, known, definition.semiring)
    span = definition.expression.span
    _require_inside(found, definition.shape, definition.name, span)
    return converted(found, definition.type)


def _outer_values(signatures: Signatures, values: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values of the names in ``signatures``; a name without a value is not needed."""
    known: dict[str, Value] = {}
    for name, signature in signatures.items():
        if isinstance(signature, SizeSignature):
            known[name] = signature.value
        elif isinstance(signature, ArraySignature) and name in values:
            known[name] = stored_array(name, values[name])
        elif name in values:
            known[name] = converted(values[name], signature.type)
    return known


def _require_inside(value: Value, extents: tuple[int, ...], name: str, span: Span) -> None:
    if not extents:
        return
    for key, item in entries(value):
        if key >= extents[0]:
            raise EvaluationError(
                f"an entry of '{name}' has key {key}, outside of its extent {extents[0]}", span=span
            )
        _require_inside(item, extents[1:], name, span)
