"""Runs a script, statement by statement: loads, analyses, compiles, runs, saves.

A definition that others use is a view, inlined into them, unless it asks for a format of its own, or
is used more than once and costs more to enumerate than to read back: then it is run first and stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from storel.candidates.choice import cheapest, smallest
from storel.compilation.compiler import Compilation, Options, Task
from storel.compilation.environment import Environment
from storel.compilation.expectation import call_time, foreseen
from storel.compilation.inlining import Inlining
from storel.compilation.scheduling import compile_definition, planned
from storel.errors import UnknownNameError, about, nearest, placed_at
from storel.execution.annotated import as_declared
from storel.execution.inclusion import included
from storel.execution.loading import as_tensor, known_semiring, load_tensor
from storel.execution.profile import Profile, profile
from storel.execution.reading import nameable, names_in_sizes, names_needed, require_no_keyword, require_read
from storel.execution.run import evaluate_reference, execute, followed, measure, total_work
from storel.host.paths import path_in_script
from storel.loops.interpret import Work
from storel.source import Source
from storel.storage.build import as_values
from storel.storage.compose import View
from storel.storage.files.kinds import keeps_arrays, read_arrays, read_named_array, require_savable
from storel.storage.formats.format import Format
from storel.storage.formats.known import UNNAMED, Formats, is_automatic
from storel.storage.tensor import Tensor
from storel.syntax.analyze import Analysis, Definition, analyze
from storel.syntax.common import with_common
from storel.syntax.free_names import free_names
from storel.syntax.nodes.declarations import FormatReference
from storel.syntax.nodes.statements import (
    CreateFormat,
    CreateTensor,
    Explain,
    Include,
    LoadArray,
    LoadArrays,
    LoadTensor,
    Parameter,
    Save,
    Script,
    Statement,
)
from storel.syntax.parser import parse

Progress = Callable[[str], None]
"""Is told which step begins."""

Compiler = Callable[[Task], Compilation]

Loader = Callable[[Formats], Tensor]
"""Loads an operand, stored in one of the formats that are known then."""


@dataclass
class Outcome:
    """What a script gave: the results by name, and how each was made.

    ``chosen`` are the formats of what was to be stored in one that is chosen. ``work`` is None unless it
    was asked for, ``profiles`` are those of what is analyzed; ``seconds`` says what loading, compiling and
    running took; ``includes_files`` says that the script is not all of its text, ``loads_files`` that its
    data is not all that was given.
    """

    results: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    compilations: dict[str, Compilation] = field(default_factory=dict[str, Compilation])
    profiles: dict[str, Profile] = field(default_factory=dict[str, Profile])
    chosen: dict[str, str] = field(default_factory=dict[str, str])
    explained: tuple[Explain, ...] = ()
    saved: tuple[Save, ...] = ()
    warnings: tuple[str, ...] = ()
    work: Work | None = None
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    includes_files: bool = False
    loads_files: bool = False


@dataclass
class Runner:
    """One run of one script in an environment that may hold bindings already.

    ``requested`` are results beside those that the script says; ``result_format`` is that of a single
    result; without ``runs`` the results are only compiled; ``saves`` says that the caller will write what
    the script SAVEs, so that it is told early what cannot be; ``counts_work`` interprets the plans;
    ``analyzes`` profiles all that is run, not only what the script says. ``undecided`` are the operands whose
    formats are to be chosen, and whether each comes as a format's arrays; ``files`` those that are loaded
    once the formats of the script are known, which they may be stored in. ``keywords`` are a caller's own:
    names that the script cannot be given, and what may be meant by one that it does not read. ``compiler``
    compiles what is run.
    """

    environment: Environment
    options: Options = field(default_factory=Options)
    directory: Path = field(default_factory=Path.cwd)
    counts_work: bool = False
    runs: bool = True
    saves: bool = False
    analyzes: bool = False
    requested: tuple[str, ...] = ()
    result_format: FormatReference | None = None
    undecided: dict[str, bool] = field(default_factory=dict[str, bool])
    files: list[tuple[str, Loader]] = field(default_factory=list[tuple[str, Loader]])
    keywords: frozenset[str] = frozenset()
    progress: Progress = lambda _: None
    compiler: Compiler = compile_definition
    outcome: Outcome = field(default_factory=Outcome)
    _works: list[Work] = field(default_factory=list[Work])

    def run(self, source: Source) -> Outcome:
        """Execute all statements; the results are the saved tensors, else the last one."""
        return self.finish(self.prepare(source))

    def finish(self, analysis: Analysis) -> Outcome:
        """Make the results of a script that is prepared."""
        for statement in self.outcome.saved if self.saves else ():
            with placed_at(statement.path_span):
                path = path_in_script(self.directory, statement.path)
                require_savable(path, analysis.ranks[statement.name])
        self._choose_formats(analysis)
        self._make_results(analysis)
        if self.counts_work:
            self.outcome.work = total_work(self._works)
        return self.outcome

    def prepare(self, source: Source) -> Analysis:
        """Load what the script loads, and analyze it."""
        written = parse(source)
        statements = tuple(included(written, self.directory))
        script = Script(statements, source)
        require_no_keyword(statements, self.keywords)
        self.outcome.includes_files = any(isinstance(each, Include) for each in written.statements)
        with self._timed("load"):
            for statement in statements:
                if isinstance(statement, CreateFormat):
                    with placed_at(statement.span):
                        self.environment.formats.create(statement)
            for name, load in self.files:
                self.progress(f"loading {name}")
                with about(name):
                    tensor = load(self.environment.formats)
                self.environment.add_tensor(name, tensor)
            given = {*self.environment.tensors, *self.environment.parameters} - set(self.requested)
            for statement in statements:
                with placed_at(statement.span):
                    self._load(statement)
        for name in sorted(names_in_sizes(statements)):
            self.environment.take_as_size(name)
        known = self.environment.signatures(), [*self.environment.formats.names, *UNNAMED]
        analysis = analyze(script, *known)
        require_read(given, statements, self.environment, self.keywords)
        self.outcome.warnings += analysis.warnings
        self.outcome.explained = tuple(each for each in statements if isinstance(each, Explain))
        self.outcome.saved = tuple(each for each in statements if isinstance(each, Save))
        among = self._needed(analysis) if self.options.backend != "interpret" else ()
        return with_common(analysis, script, among, *known)

    def again(self, analysis: Analysis, tensors: Mapping[str, Tensor], *, runs: bool) -> Runner:
        """Return another run of the same results, compiled for operands that are stored otherwise."""
        given = replace(self.environment, tensors={**self.environment.tensors, **tensors})
        other = replace(
            self,
            environment=given,
            runs=runs,
            analyzes=False,
            counts_work=False,
            undecided={},
            compiler=self.compiler if runs else planned,
            outcome=Outcome(saved=self.outcome.saved),
        )
        other._make_results(analysis)
        return other

    def expected(self, analysis: Analysis, tensors: Mapping[str, Tensor]) -> float:
        """Return the estimated nanoseconds of the results with operands that are stored otherwise."""
        other = self.again(analysis, tensors, runs=False)
        compilations = other.outcome.compilations
        read = {name for each in compilations.values() for name in free_names(each.definition.expression)}
        inlined = read - other.environment.tensors.keys()
        return sum(call_time(each) for name, each in compilations.items() if name not in inlined)

    def results(self, analysis: Analysis) -> tuple[str, ...]:
        """Return the names of the results: what is saved or requested, else the last tensor."""
        known = {*(each.name for each in analysis.definitions), *self.environment.tensors}
        for name in self.requested:
            if name not in known:
                raise UnknownNameError(f"the script defines no tensor '{name}'", hint=nearest(name, known))
        is_explicit = bool(self.outcome.saved)
        return (*analysis.results, *self.requested) if is_explicit or not self.requested else self.requested

    def _wanted(self, analysis: Analysis) -> list[str]:
        return [*self.results(analysis), *(each.name for each in self.outcome.explained)]

    def _needed(self, analysis: Analysis) -> set[str]:
        """Return the names of the definitions that the results, and what is explained, depend on."""
        return names_needed(self._wanted(analysis), analysis.definitions)

    def operands(self, analysis: Analysis) -> list[str]:
        """Return the tensors that the results are made of, but for those whose arrays are read by name."""
        needed = names_needed(self.results(analysis), analysis.definitions)
        used = (each.expression for each in analysis.definitions if each.name in needed)
        read = {name for each in used for name in free_names(each)}
        return [
            name
            for name, tensor in sorted(self.environment.tensors.items())
            if name in read and not any(f"{name}_{array}" in read for array in tensor.arrays)
        ]

    def _choose_formats(self, analysis: Analysis) -> None:
        """Store the undecided operands in what is cheapest for the results, one after the other."""
        operands = self.operands(analysis) if self.undecided else []
        for name in sorted(self.undecided):
            self.progress(f"choosing the format of {name}")
            environment = self.environment
            if name in operands:

                def price(tensor: Tensor, name: str = name) -> float:
                    return self.expected(analysis, {name: tensor})

                environment.tensors[name] = cheapest(
                    environment.tensors[name],
                    environment.formats,
                    price,
                    self.options.memory_limit,
                    is_stored=self.undecided[name],
                )
            self.outcome.chosen[name] = environment.tensors[name].format

    def _load(self, statement: Statement) -> None:
        environment = self.environment
        self.outcome.loads_files |= isinstance(statement, LoadTensor | LoadArray | LoadArrays)
        match statement:
            case LoadTensor(name, annotation, semiring, path, reference, span, place):
                with placed_at(place):
                    known_semiring(semiring)
                self.progress(f"loading {path}")
                file, formats = path_in_script(self.directory, path), environment.formats
                if is_automatic(reference):
                    self.undecided[name] = keeps_arrays(file)
                known = None if name in self.undecided else reference
                tensor = load_tensor(file, formats, annotation=annotation, semiring=semiring, reference=known)
                environment.add_tensor(name, tensor, span)
            case LoadArray(declaration, path, span):
                array = read_named_array(path_in_script(self.directory, path), declaration.name)
                array = as_declared(as_values(array, str(path)), declaration.type)
                environment.add_array(declaration.name, array, declaration, span)
            case LoadArrays(path, span):
                arrays, remarks = nameable(read_arrays(path_in_script(self.directory, path)), statement)
                self.outcome.warnings += remarks
                for name, array in arrays.items():
                    environment.add_array(name, as_values(array, f"{path}: array {name}"), None, span)
            case Parameter(declaration, span):
                environment.bind_parameter(declaration, span)
            case CreateFormat() | CreateTensor() | Save() | Explain() | Include():
                pass

    def _make_results(self, analysis: Analysis) -> None:
        """Run what the results need: stored intermediates first, then the results."""
        results, wanted, needed = self.results(analysis), self._wanted(analysis), self._needed(analysis)
        for name in results:
            if self.runs and name not in needed:
                given, formats = self.environment.tensors[name], self.environment.formats
                self.outcome.results[name] = as_tensor(given, formats, reference=self.result_format)
        computed = [each for each in analysis.definitions if each.name in needed]
        inlining = Inlining(computed, self.environment, self.options, analysis.unnamed)
        for definition in computed:
            is_run = definition.name in wanted or inlining.is_stored(definition)
            reference = (self.result_format if definition.name in results else None) or definition.format
            with followed(definition, reference):
                tensor = self._compute(definition, inlining.views, reference) if is_run else None
            if not is_run or (tensor is None and definition.name in wanted):
                inlining.add(definition)
                continue
            if tensor is None:  # nothing is run: what reads it is planned for what it is expected to be
                compilation = self.outcome.compilations[definition.name]
                self.environment.tensors[definition.name] = foreseen(compilation, self.environment.formats)
                continue
            if is_automatic(reference):
                tensor = smallest(tensor, self.environment.formats, self.options.memory_limit)
                self.outcome.chosen[definition.name] = tensor.format
            self.environment.tensors[definition.name] = tensor
            if definition.name in results:
                self.outcome.results[definition.name] = tensor

    def _compute(
        self, definition: Definition, views: Mapping[str, View], reference: FormatReference | None
    ) -> Tensor | None:
        """Compile and run one definition, to be stored as said; None if nothing is to be run."""
        storage = self._storage(reference, definition.rank)
        analyzed = self.analyzes or Explain(definition.name, analyze=True) in self.outcome.explained
        counts = self.counts_work or analyzed
        if self.options.backend == "interpret" and self.runs and not counts:
            with self._timed("run"):
                limit = self.options.memory_limit
                return evaluate_reference(definition, self.environment, storage, limit)
        with self._timed("compile"):
            self.progress(f"planning {definition.name}")
            compilation = self.compiler(Task(definition, views, self.environment, storage, self.options))
            self.outcome.compilations[definition.name] = compilation
            if not self.runs:
                return None
            if not self.counts_work:
                self.progress(f"compiling {definition.name}")
                _ = compilation.compiled
        if analyzed:
            with self._timed("analyze"):
                self.progress(f"measuring {definition.name}")
                limit = self.options.memory_limit
                self.outcome.profiles[definition.name] = profile(compilation, self.environment, limit)
        with self._timed("run"):
            self.progress(f"running {definition.name}")
            if not self.counts_work:
                return execute(compilation, self.environment, self.options.memory_limit)
            tensor, work = measure(compilation, self.environment, self.options.memory_limit)
            self._works.append(work)
            return tensor

    def _storage(self, reference: FormatReference | None, rank: int) -> Format | None:
        if reference is None or is_automatic(reference):
            return None
        return self.environment.formats.resolve(reference, rank)

    @contextmanager
    def _timed(self, step: str) -> Generator[None]:
        start = time.perf_counter()
        yield
        seconds = self.outcome.seconds
        seconds[step] = seconds.get(step, 0.0) + time.perf_counter() - start
