"""Plans that were searched for once, on disk: whoever asks again needs no e-graph.

The name of a plan says all that the search depends on: the term, the facts about its names (statistics
included), the rules, the options, and the code, but not what the user calls things (``naming.py``). A search
that ran out of time is not remembered, since it might end elsewhere the next time.

Facts are not rounded, though more searches would share a plan then: plans are proved with them, and none may
depend on what was asked before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

from storel.calculus.nodes import Term
from storel.calculus.verify import InvariantError, verify
from storel.degrees import summary_of
from storel.errors import TypeMismatchError
from storel.host import cache as cache_on_disk
from storel.optimizer.limits import Stop
from storel.optimizer.naming import by_place
from storel.optimizer.outcome import DEFAULT, Optimized, Options
from storel.optimizer.rules import rulefile
from storel.optimizer.rules.rulefile import RuleSet
from storel.symbols import ArraySymbol, Symbols


def optimized(
    term: Term,
    symbols: Symbols,
    rules: RuleSet | None = None,
    options: Options = DEFAULT,
    others: tuple[Term, ...] = (),
) -> Optimized:
    """Return what ``optimize`` returns, from the cache if it was asked before.

    Raises TypeMismatchError if given rules make of a term one that has no meaning.
    """
    naming = by_place((term, *others), symbols)
    named, facts, starts = naming.term(term), naming.symbols(symbols), tuple(map(naming.term, others))

    def search() -> Optimized:
        from storel.optimizer.optimize import optimize  # loads the e-graph library

        return optimize(named, facts, rules, options, starts)

    name = name_of(named, facts, rules, options, starts)
    try:
        found = search() if name is None else cache_on_disk.kept(f"plan-{name}", search, _is_repeatable)
        found = naming.back.found(found)
        if rules is not None:
            verify(found.term, symbols)
    except InvariantError as error:
        if rules is None:
            raise
        raise TypeMismatchError(
            "the given rules make a term that has no meaning",
            found=str(error),
            hint="storel rules --check FILE finds the rule",
        ) from error
    return found


def name_of(
    term: Term,
    symbols: Symbols,
    rules: RuleSet | None = None,
    options: Options = DEFAULT,
    others: tuple[Term, ...] = (),
) -> str | None:
    """Return a name for all that a search depends on, None if it may end elsewhere the next time."""
    if not options.is_repeatable:
        return None
    facts = sorted(line for name in symbols for line in _known(name, symbols))
    return cache_on_disk.digest(_code(), _digest(rules), repr(options), repr((term, *others)), *facts)


def _is_repeatable(found: Optimized) -> bool:
    return all(phase.stop is not Stop.TIME for phase in found.report)


def _known(name: str, symbols: Symbols) -> Iterator[str]:
    fact = symbols[name]
    yield repr(fact)
    if isinstance(fact, ArraySymbol):
        yield f"{name}: {None if fact.elements is None else fact.elements.checksum}"
        for degrees in (fact.occurrences, fact.segments):
            yield f"{name}: {None if degrees is None else summary_of(degrees)}"


@lru_cache(maxsize=8)
def _digest(rules: RuleSet | None) -> str:
    if rules is None:
        return cache_on_disk.digest(*rulefile.shipped_texts().values())
    texts = (repr((rule.name, rule.left, rule.right, rule.guards, sorted(rule.tags))) for rule in rules.rules)
    return cache_on_disk.digest(*texts)


@cache
def _code() -> str:
    """Return a digest of ``sources``, and of the e-graph library.

    That is known by its file: asking for its version takes longer than all the rest.
    """
    library = find_spec("egglog")
    assert library is not None and library.origin is not None
    built = [path.stat() for path in sorted(Path(library.origin).parent.glob("bindings.*"))]
    stamps = [f"{stat.st_size} {stat.st_mtime_ns}" for stat in built]
    return cache_on_disk.digest(*stamps, *map(cache_on_disk.content_digest, sources()))


def sources() -> list[str]:
    """Return the files of the code that a search runs, and of its results' classes."""
    package = Path(__file__).parent.parent
    folders = [folder for part in ("calculus", "optimizer") for folder, _, _ in os.walk(package / part)]
    entries = (entry for folder in (package, *folders) for entry in os.scandir(folder))
    return sorted(entry.path for entry in entries if entry.name.endswith(".py"))
