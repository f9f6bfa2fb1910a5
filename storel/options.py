"""The options of a call: told from the tensors beside them, checked, and as the compiler takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from storel.compilation.compiler import BACKENDS, FLOATING_POINT, Backend, FloatingPoint, Options
from storel.errors import DataError, TypeMismatchError, UnknownNameError, nearest
from storel.host.paths import as_path
from storel.optimizer.outcome import BINDERS
from storel.optimizer.outcome import Options as SearchOptions
from storel.optimizer.rules.rulefile import RuleSet
from storel.optimizer.rules.user_rules import with_rules
from storel.optimizer.rules.wellformed import require_rules
from storel.syntax.nodes.declarations import FormatReference


@dataclass(frozen=True, slots=True)
class CallOptions:
    """The options among the keyword arguments of a call."""

    backend: Backend = "auto"
    formats: str | Path | None = None
    rules: str | Path | RuleSet | None = None
    memory_limit: int | None = None
    floating_point: FloatingPoint = "reassociate"
    format: str | None = None
    binders: str = "named"
    search: SearchOptions | None = None
    threads: int | None = None


OPTIONS = frozenset(each.name for each in fields(CallOptions))

_ADMITTED: Mapping[str, tuple[tuple[type, ...], str]] = {
    "backend": ((str,), "a text"),
    "formats": ((str, Path), "a path"),
    "rules": ((str, Path, RuleSet), "a path or a RuleSet"),
    "memory_limit": ((Real,), "a number of bytes"),
    "floating_point": ((str,), "a text"),
    "format": ((str, FormatReference), "a text"),
    "binders": ((str,), "a text"),
    "search": ((SearchOptions,), "storel.optimizer.outcome.Options"),
    "threads": ((Integral,), "an integer"),
}
"""What an option may be, in types and in words, unless it is None as it is by default."""


def split(keywords: Mapping[str, Any]) -> tuple[CallOptions, dict[str, Any]]:
    """Tell the options among keyword arguments from the tensors.

    Raises TypeMismatchError for an option of another type.
    """
    options = {name: value for name, value in keywords.items() if name in OPTIONS}
    for name, value in options.items():
        types, expected = _ADMITTED[name]
        is_left_out = value is None and getattr(CallOptions(), name) is None
        is_one = isinstance(value, types) and not isinstance(value, bool) and value == value  # no NaN
        if not is_left_out and not is_one:
            raise TypeMismatchError(
                f"the option {name} is of another type",
                expected=expected,
                found=f"{value!r} ({type(value).__name__})",
            )
    return CallOptions(**options), {name: value for name, value in keywords.items() if name not in OPTIONS}


def compiler_options(options: CallOptions) -> Options:
    """Return what the compiler is told; raises UnknownNameError for a value that is none."""
    if options.backend not in BACKENDS:
        raise UnknownNameError(
            f"unknown backend '{options.backend}'",
            expected=", ".join(BACKENDS),
            hint=nearest(options.backend, BACKENDS),
        )
    if options.floating_point not in FLOATING_POINT:
        raise UnknownNameError(
            f"unknown floating_point '{options.floating_point}'", expected=", ".join(FLOATING_POINT)
        )
    if options.memory_limit is not None and options.memory_limit < 0:
        raise UnknownNameError(
            "the option memory_limit is negative",
            expected="a number of bytes",
            found=str(options.memory_limit),
        )
    if options.binders not in BINDERS:
        raise UnknownNameError(f"unknown binders '{options.binders}'", expected=", ".join(BINDERS))
    return Options(
        options.backend,
        options.memory_limit,
        _rules(options.rules),
        floating_point=options.floating_point,
        binders=options.binders,
        search=options.search,
        threads=options.threads,
    )


def require_compiled(options: CallOptions) -> None:
    """Raise DataError if nothing is compiled that could be explained."""
    if options.backend == "interpret":
        raise DataError(
            "there is no plan to explain: the backend 'interpret' follows the program as it is written",
            hint="explain it without a backend; storel run --backend interpret --time tells what that takes",
        )


def _rules(given: str | Path | RuleSet | None) -> RuleSet | None:
    """Return the rules to search with, None for the shipped ones; raises StorelError for what is no rule."""
    if isinstance(given, str | Path):
        return with_rules(as_path(given))
    if given is not None:
        require_rules(given)
    return given
