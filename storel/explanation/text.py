"""What became of a program, stage by stage, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from storel.calculus import printer as term_printer
from storel.compilation.compiled import Compilation
from storel.compilation.compiler import STAGES
from storel.errors import UnknownNameError, nearest
from storel.execution.profile import Profile
from storel.explanation.figures import (
    COUNTED,
    EXPECTED,
    TIME_ATTRIBUTED,
    TIME_EXPECTED,
    count,
    duration,
    size,
)
from storel.explanation.phases import DividedLoop, MatrixProduct, shared_phases
from storel.explanation.tree import Explained, Operator, explained, flattened
from storel.optimizer.limits import PhaseReport
from storel.optimizer.outcome import Priced
from storel.storage.compose import operand_of, uses_in

SHOWN_RUNNERS_UP = 3

NO_PROFILES: Mapping[str, Profile] = {}


def explain_text(
    compilations: Mapping[str, Compilation],
    stage: str | None = None,
    profiles: Mapping[str, Profile] = NO_PROFILES,
) -> str:
    """Return one block per stage for each compiled definition, or only the given stage.

    The plan is shown with what was expected of each operator and, for definitions with a profile, with what
    it did; alone and without a profile it is shown as it is.

    Raises UnknownNameError for a stage that is none.
    """
    known = [each.name for each in STAGES]
    if stage is not None and stage not in known:
        raise UnknownNameError(
            f"unknown stage '{stage}'", expected=", ".join(known), hint=nearest(str(stage), known)
        )
    given = [explained(each, profiles.get(name)) for name, each in compilations.items()]
    return "\n\n".join(_definition(each, stage) for each in given)


def operators_text(this: Explained) -> str:
    """Return the plan, an operator a line, with its figures before it."""
    rows = [(f"{'  ' * (depth + 1)}{each.text}", each) for depth, each in flattened(this.operators)]
    table = [_titles(this), *(_figures(each) for _, each in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    texts = [this.destination, *(text for text, _ in rows)]
    lines = [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)) + f"   {text}"
        for cells, text in zip(table, texts, strict=True)
    ]
    return "\n".join((*lines, *_threads(this.compilation), *_measured(this)))


def conversions(compilation: Compilation) -> list[str]:
    """Return which operands are converted before the kernel runs, or which uses, in the text's order."""
    converted = compilation.converted.items()
    return [f"{_read(name)} converted to {tensor.format} first" for name, tensor in converted]


def _read(name: str) -> str:
    match uses_in(name):
        case ():
            return f"{name} is"
        case (number,):
            return f"{name}, use {number} of {operand_of(name)}, is"
        case numbers:
            return f"{name}, uses {' and '.join(numbers)} of {operand_of(name)}, are"


def phase_text(report: PhaseReport) -> str:
    """Return how a phase of rewriting ended, and which rules it applied."""
    fired = ", ".join(f"{name} {times}" for name, times in sorted(report.matches.items()) if times)
    return (
        f"{report.phase}: {report.stop.value} after {report.iterations} iterations, {report.nodes} e-nodes, "
        f"{report.milliseconds:.0f} ms; rules: {fired or 'none'}"
    )


def runner_up_text(priced: Priced, chosen: Priced) -> str:
    """Return how a term that was not taken compares with the one that was.

    Of two whose times are close the one with less arithmetic is taken (see ``optimizer.optimize``).
    """
    ratio = priced.cost.nanoseconds / max(chosen.cost.nanoseconds, 1e-9)
    text = f"runner-up ({priced.origin}): {duration(priced.cost.nanoseconds)}, {ratio:.2f} times the time"
    if chosen.operations == 0:
        return text
    return f"{text}, {priced.operations / chosen.operations:.2f} times the arithmetic"


def _definition(this: Explained, stage: str | None) -> str:
    compilation = this.compilation
    if stage == "plan" and this.profile is not None:
        return operators_text(this)
    if stage is not None:
        return next(each.show(compilation) for each in STAGES if each.name == stage)
    blocks = [f"=== {this.name} in {compilation.result.wanted.name}"]
    blocks += conversions(compilation)
    if compilation.schedule is not None:
        blocks.append("this was measured to be faster than what is estimated to be (storel tune)")
    for each in STAGES:
        shown = operators_text(this) if each.name == "plan" else each.show(compilation)
        blocks.append(f"--- {each.name}\n{shown}")
        if each.name == "optimized":
            blocks.append("\n".join(_search(this)))
    return "\n\n".join(blocks)


def _search(this: Explained) -> Iterator[str]:
    optimized = this.compilation.optimized
    yield f"estimated time: {duration(optimized.cost.nanoseconds)}"
    yield from (phase_text(report) for report in optimized.report)
    for priced in this.runners_up[:SHOWN_RUNNERS_UP]:
        yield runner_up_text(priced, this.chosen)
        yield from (f"  {line}" for line in term_printer.show(priced.term).splitlines())
    more = len(this.runners_up) - SHOWN_RUNNERS_UP
    if more > 0:
        yield f"{more} more were considered"


def _titles(this: Explained) -> tuple[str, ...]:
    if this.profile is None:
        return (EXPECTED, TIME_EXPECTED)
    return (EXPECTED, COUNTED, "off by", TIME_ATTRIBUTED)


def _figures(operator: Operator) -> tuple[str, ...]:
    if operator.counted is None or operator.attributed is None or operator.factor is None:
        return (count(operator.expected), duration(operator.nanoseconds))
    factor = "" if operator.factor < 1.1 else f"{operator.factor:,.1f}"
    return (
        count(operator.expected),
        count(operator.counted),
        factor,
        duration(operator.attributed),
    )


def _threads(compilation: Compilation) -> Iterator[str]:
    """Yield how several threads share the work, a line for each loop that is run in parts."""
    for phase in shared_phases(compilation):
        match phase:
            case MatrixProduct(rows, summed, columns, filled):
                yield f"matrix product: {rows} x {summed} x {columns} fills {filled}"
            case DividedLoop(source, parts, filled):
                yield f"threads: {compilation.used_threads}, parts of {source} fill {filled}: {parts}"


def _measured(this: Explained) -> Iterator[str]:
    profile = this.profile
    if profile is None:
        return
    yield f"time: {duration(1e9 * profile.seconds)} measured ({runs(profile)}), {expected_time(this)}"
    yield f"memory: {memory(profile)}"


def expected_time(this: Explained) -> str:
    """Return the expected time of a call, and the part of it that is not the plan's."""
    call = this.compilation.constants.call
    return f"{duration(this.nanoseconds)} expected, {duration(call)} of it around the plan"


def runs(profile: Profile) -> str:
    """Return how the time of a profile was taken."""
    return "one run" if profile.runs == 1 else f"the fastest of {profile.runs} runs"


def memory(profile: Profile) -> str:
    """Return what a profile says of memory."""
    peak = "" if profile.peak_bytes is None else f", resident memory rose by {size(profile.peak_bytes)}"
    return f"operands {size(profile.operand_bytes)}, result {size(profile.result_bytes)}{peak}"
