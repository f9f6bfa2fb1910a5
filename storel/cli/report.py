"""What the command line prints: results, work, times, formats and rules as text and JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table

from storel.compilation.compiled import Compilation
from storel.execution.script import Outcome
from storel.explanation.json import explain_json
from storel.loops.interpret import Work
from storel.optimizer.cost.constants import CONSTANTS, Constants
from storel.optimizer.rules.rulefile import RuleSet, shipped
from storel.optimizer.rules.translate import translate
from storel.source import visible
from storel.storage.files.kinds import keeps_format
from storel.storage.formats.known import Formats
from storel.storage.summary import ModeSummary, Summary
from storel.storage.tensor import Tensor
from storel.storage.trials.checking import TYPES, Memory, Verdict

SHOWN_ENTRIES = 10
"""Entries of a result that are printed."""

TABLE_WIDTH = 100
BAR_WIDTH = 40


def as_object(outcome: Outcome, asked: Mapping[str, Compilation], *, with_time: bool) -> dict[str, Any]:
    """Return what ``run --json`` prints: the result, or all by name, and what else is asked for.

    That is what the script EXPLAINs, work, and time.
    """
    results = {name: _tensor_object(name, tensor) for name, tensor in outcome.results.items()}
    found: dict[str, Any] = {"results": results}
    if len(results) == 1:
        found = {"result": next(iter(results.values()))}
    if asked:
        found["explained"] = explain_json(asked, outcome.profiles)
    if outcome.work is not None:
        found["work"] = asdict(outcome.work)
    if with_time:
        found["time"] = outcome.seconds
    return found


def _tensor_object(name: str, tensor: Tensor) -> dict[str, Any]:
    return {
        "name": name,
        "shape": list(tensor.shape),
        "dtype": tensor.type.value,
        "format": tensor.format,
        "nnz": tensor.nnz,
    }


def tensor_text(name: str, tensor: Tensor) -> str:
    """Return a short printed form: the shape, the format, and the first entries."""
    if tensor.rank == 0:
        return f"{name} = {tensor.item()}"
    lines = [f"{name}: {_type(tensor)} in {tensor.format}, {tensor.nnz} entries"]
    coordinates, values = tensor.to_coo()
    for number in range(min(SHOWN_ENTRIES, len(values))):
        key = ", ".join(str(axis[number]) for axis in coordinates)
        lines.append(f"  ({key}) = {values[number]}")
    if len(values) > SHOWN_ENTRIES:
        lines.append(f"  … {len(values) - SHOWN_ENTRIES} more")
    return "\n".join(lines)


def _type(tensor: Tensor) -> str:
    return f"{tensor.type.value}[{', '.join(map(str, tensor.shape))}]"


def saved_text(path: Path, tensor: Tensor) -> str:
    """Return one line about a tensor that was saved: where, what the file holds, and how large it is."""
    storage = f" in {tensor.format}" if keeps_format(path) else ""
    size = path.stat().st_size
    return f"{visible(str(path))}: {_type(tensor)}{storage}, {tensor.nnz} entries, {size} bytes"


def seconds_text(outcome: Outcome) -> str:
    """Return how long each step took."""
    return "\n".join(f"{step}: {seconds * 1e3:.1f} ms" for step, seconds in outcome.seconds.items())


def work_text(work: Work) -> str:
    """Return the work counted, one kind a line."""
    return "\n".join(f"{name}: {count}" for name, count in asdict(work).items())


def formats_text(formats: Formats) -> str:
    """Return one line per format: its name, the ranks it stores, and its arrays."""
    by_name = {name: formats.overloads(name) for name in formats.names}
    ranks = {name: _ranks(sorted(by_rank)) for name, by_rank in by_name.items()}
    width, rank_width = max(map(len, by_name)), max(map(len, ranks.values()))
    lines: list[str] = []
    for name, by_rank in by_name.items():
        arrays = ", ".join(array.name for array in by_rank[max(by_rank)].arrays)
        lines.append(f"{name:<{width}} rank {ranks[name]:<{rank_width}} {arrays}")
    return "\n".join(lines)


def _ranks(ranks: list[int]) -> str:
    """Return ranks as text, several without a gap by the first and the last.

    >>> _ranks([1, 2, 3]), _ranks([0, 2])
    ('1–3', '0, 2')
    """
    if len(ranks) > 1 and ranks == list(range(ranks[0], ranks[-1] + 1)):
        return f"{ranks[0]}–{ranks[-1]}"
    return ", ".join(map(str, ranks))


def format_file_text(formats: Formats, name: str) -> str:
    """Return the text of a format's file; raises FormatError for a name that is none."""
    formats.overloads(name)
    return formats.files[name].read_text(encoding="utf-8").rstrip()


def verdict_text(verdict: Verdict) -> str:
    """Return what came of trying a format: what was tried and fit, what does not fit, and the memory."""
    tried = verdict.tried
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(f"{verdict.storage.text} of rank {verdict.storage.rank}")
    for title in ("tensors", "entries", "that fit"):
        table.add_column(title, justify="right")
    for name, each in tried.items():
        table.add_row(name, *map(str, (each.tensors, each.entries, each.fitting)))
    types = ", ".join(each.value for each in TYPES)
    lines = [
        _table_text(table),
        f"tried: {', '.join(map(_shape_text, verdict.shapes))}; each as {types}, "
        "unsorted, with zeros among the entries",
    ]
    if verdict.refused_shapes:
        lines.append(f"no tensor fits of {', '.join(map(_shape_text, verdict.refused_shapes))}")
    if verdict.refusal is not None:
        lines.append(f"what does not fit, for example: {verdict.refusal}")
    if verdict.counterexample is not None:
        return "\n".join((*lines, "wrong:", str(verdict.counterexample)))
    lines.append("what fits reads back as it was, and the arrays have the declared properties")
    if verdict.memory is not None:
        lines.append(_memory_text(verdict.memory))
    return "\n".join(lines)


def _shape_text(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "a number"


def _memory_text(memory: Memory) -> str:
    example = f"float64 {_shape_text(memory.shape)} with {memory.entries} entries"
    others = f"as coordinates {memory.coordinates}, with every place {memory.places}"
    return f"memory of {example}: {memory.stored} bytes; {others}"


def statistics_text(summary: Summary) -> str:
    """Return what is known of a tensor: a table with a row per dimension, and histograms of the degrees."""
    extents = ", ".join(map(str, summary.shape))
    stored = "" if summary.format is None else f" in {summary.format}"
    lines = [f"{summary.type.value}[{extents}]{stored}, {summary.nnz} entries"]
    if summary.order:
        lines.append(f"distinct prefixes: {_prefixes_text(summary)}")
    if summary.bandwidth is not None:
        below, above = summary.bandwidth
        shapes = [("symmetric", summary.is_symmetric), ("lower triangular", not above)]
        named = [name for name, holds in (*shapes, ("upper triangular", not below)) if holds]
        lines.append(", ".join((f"bandwidth: {below} below and {above} above the diagonal", *named)))
    if summary.modes:
        lines += [_modes_text(summary), *map(_histogram_text, range(len(summary.modes)), summary.modes)]
    return "\n".join(lines)


def _prefixes_text(summary: Summary) -> str:
    dimensions = [f"({', '.join(map(str, summary.order[: n + 1]))})" for n in range(len(summary.order))]
    return ", ".join(f"{count} of {each}" for each, count in zip(dimensions, summary.prefixes, strict=True))


def _modes_text(summary: Summary) -> str:
    titles = ("mode", "extent", "non-empty", "first", "last", "mean", "l2", "linf")
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in titles:
        table.add_column(title, justify="right")
    for number, mode in enumerate(summary.modes):
        degrees = mode.degrees
        ends = ("" if end is None else str(end) for end in (mode.first, mode.last))
        norms = (f"{norm:.6g}" for norm in (degrees.mean, degrees.root_square, degrees.largest))
        table.add_row(str(number), str(degrees.extent), str(degrees.nonempty), *ends, *norms)
    return _table_text(table)


def _table_text(table: Table) -> str:
    console = Console(file=StringIO(), width=TABLE_WIDTH, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().rstrip().splitlines())


def _histogram_text(number: int, mode: ModeSummary) -> str:
    """Return a line for each power of two: the degrees, and how many keys have one of them."""
    histogram = mode.degrees.histogram
    most = max(histogram, default=0)
    lines = [f"degrees in mode {number}:"] if most else []
    for bit, count in enumerate(histogram):
        low, high = 2**bit, 2 ** (bit + 1) - 1
        label = str(low) if low == high else f"{low}-{high}"
        bar = "#" * -(-BAR_WIDTH * count // most)
        lines.append(f"  {label:>15}  {bar:<{BAR_WIDTH}}  {count}")
    return "\n".join(lines)


def rules_text(rules: RuleSet | None, fired: Mapping[str, int] | None = None, *, egglog: bool = False) -> str:
    """Return the rules theory by theory, each with its tags and its law, or what they compile to.

    Where it is known how often they fired, that stands before the law.
    """
    chosen = shipped() if rules is None else rules
    if egglog:
        return "\n".join(translate(rule) for rule in chosen.rules)
    lines: list[str] = []
    for theory, members in groupby(chosen.rules, key=lambda rule: rule.theory):
        lines.append(f"{chr(10) if lines else ''}{theory}")
        for _, of_one_law in groupby(members, key=lambda rule: rule.span):
            directions = list(of_one_law)
            rule = directions[0]
            tags = " ".join(f"@{tag}" for tag in sorted(rule.tags))
            times = "" if fired is None else f"{sum(fired.get(each.name, 0) for each in directions):>6}  "
            lines.append(f"  {rule.name:<28} {times}{rule.law}  {tags}".rstrip())
    return "\n".join(lines)


def constants_text(used: Constants) -> str:
    """Return a table of what operations cost: as shipped, and as plans are priced."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("nanoseconds")
    for title in ("shipped", "in use"):
        table.add_column(title, justify="right")
    for (name, before), (_, now) in zip(CONSTANTS.listed(), used.listed(), strict=True):
        table.add_row(name, f"{before:.2f}", f"{now:.2f}")
    return _table_text(table)


@contextmanager
def bar() -> Generator[Callable[[str, float], None]]:
    """Yield a function that shows the current step, and how much of it all is done, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _, __: None
        return
    console = Console(stderr=True)
    columns = (SpinnerColumn(), BarColumn(BAR_WIDTH), TextColumn("{task.description}", markup=False))
    with Bar(*columns, console=console, transient=True) as shown:
        task = shown.add_task("starting", total=1.0)
        yield lambda step, share: shown.update(task, description=step, completed=share)


def progress() -> Callable[[str], None]:
    """Return a function that shows the current step on stderr, on a terminal only."""
    if not sys.stderr.isatty():
        return lambda _: None
    console = Console(stderr=True)
    status = console.status("starting")
    status.start()
    return status.update
