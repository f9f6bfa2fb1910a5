"""Every format against NumPy: each kernel, on each backend, on nasty, random and real data.

python experiments/formats/run.py [--data DIR] [--formats csr "ell(width=2)"] [--kernels "count,A + B"]
    [--journal FILE]
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from factored import FACTORED
from given import given_data, ranks, require_rank
from journal import Journal
from questions import QUESTIONS
from rich.console import Console
from rich.table import Table
from worker import BACKENDS, Cell, Outcome, Selection, cells, work

from storel.errors import StorelError
from storel.storage.formats.known import Formats
from storel.storage.formats.levels import CONSTRUCTOR
from storel.syntax.parser import parse_format

sys.path.append(str(Path(__file__).parents[1]))

from known_names import require_known, require_match

WITH_PARAMETERS = (
    "band(lower=6, upper=7)",
    "band_coo(lower=1, upper=0)",
    "bcsr(r=2, c=3)",
    "bcsr_csr(r=2, c=2)",
    "hash(buckets=4, inner=2)",
    "hyb(width=1)",
    "kronecker(p=3, q=2)",
    "levels(compressed, compressed; order=(1, 0))",
    "levels(compressed, singleton)",
    "levels(dense, hashed)",
    "levels(fixed, fixed)",
    "low_rank(k=3)",
    "sell(c=3)",
    "star_join(f=3, g=2)",
    "tiled(r=3, c=2)",
)
"""Formats that are asked beside those that ship, whose parameters the data determines."""

WIDTH = 160
"""Columns of the table where there is no terminal."""

NOTICED = 5e-4
"""Seconds below which a single time is not compared."""

FACTOR = 20
"""A format is slow if it takes this much longer than its bytes explain."""


def outcomes(text: str, selection: Selection, limit: float, journal: Journal) -> Iterator[Outcome]:
    """Yield the outcome of all cells of a format, those that the journal has first."""
    pending = list[Cell]()
    for cell in cells(text, selection):
        known = journal.find(cell)
        if known is None:
            pending.append(cell)
        else:
            yield known
    for outcome in answered(pending, limit):
        journal.add(outcome)
        print(f"{outcome.cell}: {said(outcome)}", file=sys.stderr, flush=True)
        yield outcome


def answered(pending: list[Cell], limit: float) -> Iterator[Outcome]:
    """Yield the outcome of each cell; a process that ends or hangs is followed by another."""
    context = multiprocessing.get_context("spawn")
    while pending:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(theirs, pending), daemon=True)
        process.start()
        theirs.close()
        is_alive = True
        while pending and is_alive:
            try:
                is_alive = ours.poll(limit)
                outcome = ours.recv() if is_alive else Outcome(pending[0], skipped=f"over {limit:g} s")
            except EOFError:
                process.join()
                is_alive, outcome = False, Outcome(pending[0], f"ended with {process.exitcode}")
            del pending[0]
            yield outcome
        process.kill()
        process.join()


class Summary:
    """What became of each format and question."""

    def __init__(self) -> None:
        self.outcomes: dict[tuple[str, str], list[Outcome]] = defaultdict(list)

    def add(self, outcome: Outcome) -> None:
        self.outcomes[outcome.cell.format, outcome.cell.question].append(outcome)

    @property
    def problems(self) -> list[Outcome]:
        return [each for outcomes in self.outcomes.values() for each in outcomes if each.problem]

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        """How many questions each backend answered rightly or not, and why others were not asked."""
        outcomes = (each for found in self.outcomes.values() for each in found)
        return Counter((each.cell.backend, became(each)) for each in outcomes)

    def cell(self, text: str, question: str) -> str:
        """Return the first problem, or how many times as long as the default sparse format it takes."""
        outcomes = self.outcomes.get((text, question), [])
        for each in outcomes:
            if each.problem:
                return f"{each.cell.data.name}, {each.cell.backend}: {each.problem}"
        late = {each.skipped for each in outcomes if each.skipped.startswith("over")}
        if all(each.skipped for each in outcomes):
            return "" if not outcomes else outcomes[0].skipped
        ratio = relative_time(outcomes)
        slowest = max((slowness(each) for each in outcomes), default=0.0)
        mark = f" (slow: {slowest:.0f})" if slowest > FACTOR else ""
        return ", ".join(("ok" if ratio is None else f"ok {ratio:.2g}{mark}", *late))


def became(outcome: Outcome) -> str:
    if outcome.problem:
        return "refused" if outcome.problem.startswith("refused") else "wrong"
    return f"not asked: {outcome.skipped}" if outcome.skipped else "compared, equal"


def relative_time(outcomes: Sequence[Outcome]) -> float | None:
    """Return the sum of a format's times by that of the default's, where they are long enough."""
    times = [each.seconds for each in outcomes if each.seconds and max(each.seconds) > NOTICED]
    return sum(own for own, _ in times) / sum(base for _, base in times) if times else None


def slowness(outcome: Outcome) -> float:
    """Return how many times as long it takes as the default, by how many times as large it is."""
    if outcome.seconds is None or max(outcome.seconds) < NOTICED:
        return 0.0
    (own, base), (size, base_size) = outcome.seconds, outcome.sizes
    return own / base / max(1.0, size / max(1, base_size))


def table(summary: Summary, texts: Sequence[str], questions: Sequence[str]) -> Table:
    made = Table("format", *questions)
    for text in texts:
        made.add_row(text, *(summary.cell(text, question) for question in questions))
    return made


def counted(summary: Summary) -> Table:
    made = Table("backend", "questions", "count")
    for (backend, what), count in sorted(summary.counts.items()):
        made.add_row(backend, what, str(count))
    return made


def shipped() -> list[str]:
    """Return the formats that can be packed, and those with parameters."""
    return sorted([name for name in Formats().names if name not in FACTORED] + list(WITH_PARAMETERS))


def require_names(texts: Sequence[str], selection: Selection) -> None:
    """End with exit code 1 if there is no such format, question, backend or data."""
    try:
        require_known("format", (parse_format(text).name for text in texts), (*Formats().names, CONSTRUCTOR))
        for text in texts:
            require_rank(text)
    except StorelError as error:
        raise SystemExit(f"error: {error}") from error
    require_known("kernel", selection.questions, QUESTIONS)
    require_known("backend", selection.backends, BACKENDS)
    given = [(text, rank) for text in texts for rank in ranks(text)]
    names = (each.name for text, rank in given for each in given_data(text, rank, selection.directory))
    require_match("data", selection.only, names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a directory of .mtx and .tns files")
    parser.add_argument("--formats", nargs="+", default=shipped(), help="as after STORED AS")
    parser.add_argument("--kernels", default=",".join(QUESTIONS), help="which kernels")
    parser.add_argument("--backends", default="c", help=f"of {', '.join(BACKENDS)}")
    parser.add_argument("--only", default="", help="only data whose name contains this")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one answer")
    parser.add_argument("--journal", type=Path, help="a file of answers; what it has is not asked again")
    arguments = parser.parse_args()
    if arguments.data is not None and not arguments.data.is_dir():
        parser.error(f"{arguments.data} is no directory")
    questions = tuple(arguments.kernels.split(","))
    selection = Selection(arguments.data, questions, tuple(arguments.backends.split(",")), arguments.only)
    texts = arguments.formats
    require_names(texts, selection)
    summary, journal = Summary(), Journal(arguments.journal)
    for text in texts:
        for outcome in outcomes(text, selection, arguments.limit, journal):
            summary.add(outcome)
    console = Console()
    wide = Console(width=console.width if console.is_terminal else WIDTH)
    wide.print(table(summary, texts, questions), counted(summary))
    if summary.problems:
        raise SystemExit(f"{len(summary.problems)} problems")


def said(outcome: Outcome) -> str:
    if outcome.problem:
        return f"PROBLEM {outcome.problem}"
    if outcome.skipped or outcome.seconds is None:
        return outcome.skipped or "ok"
    own, base = outcome.seconds
    size = outcome.sizes[0] / max(1, outcome.sizes[1])
    return f"{own * 1e3:.2f} ms, {own / base:.2g} x the time and {size:.2g} x the bytes of the default"


if __name__ == "__main__":
    main()
