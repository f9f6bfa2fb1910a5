"""What each rewrite rule is worth: the programs of a pool, optimized without it.

python experiments/rule_ablation/run.py [--only WORD] [--rule NAME] [--processes N] [--json FILE]
       [--plot FILE]

A rule is left out only for the programs in which it fired; for the others its loss can change nothing. What
is found is written to FILE rule by rule, and what stands there is not looked for again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import geometric_mean

from pool import Program, programs
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from storel.calculus.nodes import Term
from storel.optimizer.arrangement.expansion import monomials
from storel.optimizer.egraph.base import base
from storel.optimizer.optimize import optimize
from storel.optimizer.outcome import Optimized
from storel.optimizer.rules.rulefile import Rule, RuleSet, shipped

sys.path.append(str(Path(__file__).parents[1]))

from known_names import require_known

WIDTH = 120
NOTEWORTHY = 1.01
"""Ratios of costs closer to 1 than this are drawn as none."""


POOL: list[Program] = []
"""The programs: each process makes its own, since the facts about data cannot be sent."""


@dataclass(frozen=True, slots=True)
class Search:
    """What all rules make of a program of the pool, in which time, and the names of those that fired."""

    place: int
    term: Term
    cost: float
    milliseconds: float
    fired: frozenset[str]


@dataclass(frozen=True, slots=True)
class Loss:
    """What a program becomes without a rule: cost and time are quotients, without the rule by with it."""

    program: str
    is_changed: bool
    cost: float
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Ablation:
    """A rule, the file it stands in, and its loss in each program in which it fired."""

    rule: str
    theory: str
    losses: tuple[Loss, ...]

    @property
    def changed(self) -> int:
        return sum(loss.is_changed for loss in self.losses)

    @property
    def worst(self) -> Loss | None:
        return max(self.losses, key=lambda loss: loss.cost, default=None)

    @property
    def mean(self) -> float:
        return geometric_mean(loss.cost for loss in self.losses) if self.losses else 1.0

    @property
    def time(self) -> float:
        """How many times as long the searches take without the rule: less than 1 is what it costs."""
        return geometric_mean(loss.milliseconds for loss in self.losses) if self.losses else 1.0


def prepare(word: str) -> None:
    """Fill the pool of this process."""
    POOL[:] = programs(word)


def places() -> range:
    """Return the places of the pool."""
    return range(len(POOL))


def searched(place: int) -> Search:
    """Optimize a program by all rules; also those count that fire in a monomial, which is searched alone."""
    program = POOL[place]
    found, milliseconds = timed(program, shipped())
    phases = list(found.report)
    if program.options.expands:
        phases += [
            phase for part in monomials(program.term) for phase in optimize(part, program.symbols).report
        ]
    fired = frozenset(name for phase in phases for name in phase.matches)
    return Search(place, found.term, found.cost.nanoseconds, milliseconds, fired)


def timed(program: Program, rules: RuleSet) -> tuple[Optimized, float]:
    """Optimize a program, and say how many milliseconds of a processor that took."""
    base(rules)  # the e-graph is made for the first search with these rules
    started = time.process_time()
    found = optimize(program.term, program.symbols, rules, program.options)
    return found, 1000 * (time.process_time() - started)


def lost(search: Search, rules: RuleSet) -> Loss:
    """Optimize a program by ``rules`` and compare."""
    program = POOL[search.place]
    without, milliseconds = timed(program, rules)
    return Loss(
        program.name,
        without.term != search.term,
        without.cost.nanoseconds / search.cost,
        milliseconds / search.milliseconds,
    )


def ablated(rule: Rule, searches: Sequence[Search]) -> Ablation:
    """Leave a rule out of every search in which it fired."""
    rules = shipped().without(rule.name)
    losses = tuple(lost(search, rules) for search in searches if rule.name in search.fired)
    return Ablation(rule.name, rule.theory, losses)


def chosen(names: Sequence[str]) -> list[Rule]:
    """Return the rules of these names, all if there are none, in the order of the files."""
    require_known("rule", names, (rule.name for rule in shipped().rules))
    return [rule for rule in shipped().rules if not names or rule.name in names]


def ablations(rules: Sequence[Rule], word: str, processes: int) -> Iterator[Ablation]:
    """Yield what is lost with each of the rules, as it is found, and say it."""
    console = Console(stderr=True)
    with (
        ProcessPoolExecutor(processes, get_context("spawn"), prepare, (word,)) as executor,
        Progress(console=console, disable=not console.is_terminal) as progress,
    ):
        pending = executor.submit(places).result()
        if not pending:
            raise SystemExit(f"there is no program whose name contains '{word}'")
        found = executor.map(searched, pending)
        searches = list(progress.track(found, len(pending), description="with all rules"))
        losses = executor.map(partial(ablated, searches=searches), rules)
        for each in progress.track(losses, len(rules), description="without one"):
            console.print(
                f"{each.rule}: of {len(each.losses)} plans {each.changed} changed, mean {each.mean:.3g}"
            )
            yield each


def kept(path: Path | None, word: str) -> dict[str, Ablation]:
    """Return what a file tells of the same programs, by the names of the rules."""
    if path is None or not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path} cannot be read: {error}") from error
    if not isinstance(content, dict) or not content.keys() >= {"only", "rules"}:
        raise SystemExit(f"{path} is no file of this experiment")
    if content["only"] != word:
        raise SystemExit(f"{path} is about other programs: --only '{content['only']}'")
    return {
        row["rule"]: Ablation(row["rule"], row["theory"], tuple(Loss(**loss) for loss in row["losses"]))
        for row in content["rules"]
    }


def keep(path: Path, word: str, found: Iterable[Ablation]) -> None:
    """Write a file in place of an older one, which stays whole if this is stopped."""
    content = {"only": word, "rules": [asdict(each) for each in found]}
    fresh = path.with_name(f"{path.name}.new")
    try:
        fresh.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise SystemExit(f"{path} cannot be written: {error.strerror}") from error


def table(found: Iterable[Ablation]) -> Table:
    """Return a row for each rule, those whose loss costs most first."""
    result = Table("rule", "file")
    for name in ("fired in", "plan changed", "worst", "mean", "time"):
        result.add_column(name, justify="right")
    result.add_column("worst in")
    result.caption = "without the rule / with it: worst, mean: estimated cost; time: of the search, mean"
    for each in sorted(found, key=lambda each: (-each.mean, -each.changed, each.rule)):
        row = [each.rule, each.theory, str(len(each.losses)), str(each.changed)]
        if each.worst is not None:
            row += [f"{each.worst.cost:.3g}", f"{each.mean:.3g}", f"{each.time:.2f}"]
            row.append(each.worst.program if each.worst.cost >= NOTEWORTHY else "")
        result.add_row(*row)
    return result


def plot(found: Iterable[Ablation], path: Path) -> None:
    """Draw for each rule whose loss costs anything the worst and the mean ratio."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SystemExit("--plot needs matplotlib: pip install 'storel[plot]'") from error
    shown = sorted(
        (each for each in found if each.worst is not None and each.worst.cost >= NOTEWORTHY),
        key=lambda each: each.mean,
    )
    names = [each.rule for each in shown]
    figure = Figure(figsize=(8, 1 + 0.22 * len(shown)), layout="constrained")
    axes = figure.subplots()
    axes.barh(
        names, [each.worst.cost if each.worst else 1 for each in shown], color="lightgray", label="worst"
    )
    axes.barh(names, [each.mean for each in shown], height=0.4, label="geometric mean")
    axes.set_xscale("log")
    axes.set_xlabel("estimated cost without the rule / with it")
    axes.legend(loc="lower right")
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path} cannot be drawn: {error}") from error


def summary(found: Iterable[Ablation]) -> str:
    """Return the rules that never fired, and those without which no plan changed, in words."""
    silent = [each.rule for each in found if not each.losses]
    idle = [each.rule for each in found if each.losses and not each.changed]
    return f"never fired: {', '.join(silent) or 'none'}\nchanged no plan: {', '.join(idle) or 'none'}"


def positive(text: str) -> int:
    """Return a number from 1, as an argument must be."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no integer from 1")
    return int(text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="only the programs whose name contains this")
    parser.add_argument("--rule", action="append", default=[], help="only this rule; may be repeated")
    parser.add_argument("--processes", type=positive, default=1, help="how many rules are left out at a time")
    parser.add_argument("--json", type=Path, help="a file that keeps what is found, and has what was found")
    parser.add_argument(
        "--plot", type=Path, help="draw the ratios of costs, in a format that matplotlib writes"
    )
    arguments = parser.parse_args()
    rules = chosen(arguments.rule)
    known = kept(arguments.json, arguments.only)
    if arguments.json is not None:  # what cannot be kept is told before hours of work
        keep(arguments.json, arguments.only, known.values())
    if arguments.plot is not None:
        plot((), arguments.plot)
    pending = [rule for rule in rules if rule.name not in known]
    for each in ablations(pending, arguments.only, arguments.processes) if pending else ():
        known[each.rule] = each
        if arguments.json is not None:
            keep(arguments.json, arguments.only, known.values())
    found = [known[rule.name] for rule in rules]
    Console(width=WIDTH if not sys.stdout.isatty() else None).print(table(found))
    print(summary(found))
    if arguments.plot is not None:
        plot(found, arguments.plot)


if __name__ == "__main__":
    main()
