"""Programs as text, run by the reference interpreter."""

from __future__ import annotations

from typing import Any

from strategies.data import signature_of, value_of

from storel.source import Source
from storel.syntax.analyze import analyze
from storel.syntax.interpret import evaluate_definition
from storel.syntax.parser import parse


def run(text: str, **inputs: Any) -> Any:
    """Return the value of one expression over ``inputs`` (see ``strategies.data.signature_of``)."""
    return run_program(f"CREATE TENSOR result AS {text}", **inputs)["result"]


def run_over(semiring: str, text: str, **inputs: Any) -> Any:
    """Return the value of one expression in another semiring."""
    return run_program(f"CREATE TENSOR result OVER {semiring} AS {text}", **inputs)["result"]


def run_program(text: str, **inputs: Any) -> dict[str, Any]:
    """Return the results of a script by name."""
    signatures = {name: signature_of(value) for name, value in inputs.items()}
    analysis = analyze(parse(Source("test", text)), signatures)
    known = {name: value_of(value) for name, value in inputs.items()}
    for definition in analysis.definitions:
        known[definition.name] = evaluate_definition(definition, {}, known)
    return {name: known[name] for name in analysis.results}
