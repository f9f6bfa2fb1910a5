"""What a rival is: a library, and how it says a problem, its operands made ready beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, TypeAlias

from storel.bench.problem import Formulation, Problem

Formulate: TypeAlias = Callable[[str, Problem], Formulation | None]
"""From the name of a kernel and the problem; None for what the library does not express."""

Table: TypeAlias = Mapping[str, Callable[[Mapping[str, Any]], Formulation]]
"""For each kernel how a library says it, given its operands by name."""


@dataclass(frozen=True, slots=True)
class Rival:
    """A library by the name that users know, the module that is imported, and what is installed."""

    name: str
    module: str
    distribution: str
    formulate: Formulate

    @property
    def is_installed(self) -> bool:
        return find_spec(self.module) is not None

    @property
    def version(self) -> str:
        """The version, empty where nothing tells it."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return ""


def from_table(table: Callable[[], Table], prepare: Callable[[Any], Any]) -> Formulate:
    """Return the formulations of a table, whose module is imported late, on operands of the library's own."""

    def formulate(kernel: str, problem: Problem) -> Formulation | None:
        found = table().get(kernel)
        if found is None:
            return None
        return found({name: prepare(operand) for name, operand in problem.operands.items()})

    return formulate


def load(module: str) -> Any:
    """Import a module that need not be installed: nothing is known of its types."""
    return import_module(module)
