"""What the command line prints: results, work, times, formats and rules as text and JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from itertools import groupby
from typing import Any

from rich.console import Console

from storel.loops.interpret import Work
from storel.optimizer.rulefile import RuleSet, shipped
from storel.optimizer.translate import translate
from storel.script import Outcome
from storel.storage.formats import Formats
from storel.storage.tensor import Tensor

SHOWN_ENTRIES = 10
"""Entries of a result that are printed."""


def as_object(outcome: Outcome, *, with_time: bool) -> dict[str, Any]:
    """Return what ``run --json`` prints: the result, and work and time where asked for."""
    name, tensor = next(iter(reversed(outcome.results.items())))
    found: dict[str, Any] = {
        "result": {
            "name": name,
            "shape": list(tensor.shape),
            "dtype": tensor.type.value,
            "format": tensor.format,
            "nnz": tensor.nnz,
        }
    }
    if outcome.work is not None:
        found["work"] = asdict(outcome.work)
    if with_time:
        found["time"] = outcome.seconds
    return found


def tensor_text(name: str, tensor: Tensor) -> str:
    """Return a short printed form: the shape, the format, and the first entries."""
    if tensor.rank == 0:
        return f"{name} = {tensor.item()}"
    extents = ", ".join(map(str, tensor.shape))
    lines = [f"{name}: {tensor.type.value}[{extents}] in {tensor.format}, {tensor.nnz} entries"]
    coordinates, values = tensor.to_coo()
    for number in range(min(SHOWN_ENTRIES, len(values))):
        key = ", ".join(str(axis[number]) for axis in coordinates)
        lines.append(f"  ({key}) = {values[number]}")
    if len(values) > SHOWN_ENTRIES:
        lines.append(f"  … {len(values) - SHOWN_ENTRIES} more")
    return "\n".join(lines)


def seconds_text(outcome: Outcome) -> str:
    """Return how long each step took."""
    return "\n".join(f"{step}: {seconds * 1e3:.1f} ms" for step, seconds in outcome.seconds.items())


def work_text(work: Work) -> str:
    """Return the work counted, one kind a line."""
    return "\n".join(f"{name}: {count}" for name, count in asdict(work).items())


def formats_text(formats: Formats) -> str:
    """Return one line per format: its name, the ranks it stores, and its arrays."""
    lines: list[str] = []
    for name in formats.names:
        by_rank = formats.overloads(name)
        largest = by_rank[max(by_rank)]
        arrays = ", ".join(array.name for array in largest.arrays)
        ranks = ", ".join(map(str, sorted(by_rank)))
        lines.append(f"{name:<10} rank {ranks:<12} {arrays}")
    return "\n".join(lines)


def format_file_text(formats: Formats, name: str) -> str:
    """Return the text of a format's file; raises FormatError for a name that is none."""
    formats.overloads(name)
    return formats.files[name].read_text(encoding="utf-8").rstrip()


def rules_text(rules: RuleSet | None, *, egglog: bool) -> str:
    """Return the rules theory by theory, each with its tags and its law, or what they compile to."""
    chosen = shipped() if rules is None else rules
    if egglog:
        return "\n".join(translate(rule) for rule in chosen.rules)
    lines: list[str] = []
    for theory, members in groupby(chosen.rules, key=lambda rule: rule.theory):
        lines.append(f"{chr(10) if lines else ''}{theory}")
        for _, of_one_law in groupby(members, key=lambda rule: rule.line):
            rule = next(of_one_law)
            tags = " ".join(f"@{tag}" for tag in sorted(rule.tags))
            lines.append(f"  {rule.name:<28} {rule.law}  {tags}".rstrip())
    return "\n".join(lines)


def progress() -> Callable[[str], None]:
    """Return a function that shows the current step on stderr, on a terminal only."""
    if not sys.stderr.isatty():
        return lambda _: None
    console = Console(stderr=True)
    status = console.status("starting")
    status.start()
    return status.update
