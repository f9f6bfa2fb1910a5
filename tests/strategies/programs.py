"""Programs as text, run by the reference interpreter."""

from __future__ import annotations

from typing import Any

from strategies.data import signature_of, value_of

from storel.source import Source
from storel.syntax.interpret import run_script
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
    return run_script(parse(Source("test", text)), signatures, {k: value_of(v) for k, v in inputs.items()})
