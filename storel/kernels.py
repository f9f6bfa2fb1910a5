"""Compiled programs, and the programs that were run last.

A program that is run again is not planned again if all is true of its tensors that was true before: what a
kernel relies on (``storage.facts.likeness``), and what the choice of the result's format was based on.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from storel.compilation.compiled import Compilation
from storel.compilation.compiler import STAGES
from storel.compilation.environment import Environment, parameter_fact
from storel.errors import DataError, StorelError, TypeMismatchError, UnknownNameError, about, nearest
from storel.execution.calls import Call, Calls, Inputs, Value, as_value
from storel.execution.inclusion import read_source
from storel.execution.loading import format_text
from storel.execution.script import Outcome, Runner
from storel.explanation.text import explain_text
from storel.host import threads
from storel.host.paths import as_path
from storel.options import OPTIONS, CallOptions, compiler_options
from storel.runtime import toolchain
from storel.source import Source
from storel.storage.facts import counted, likeness
from storel.storage.formats.known import Formats, is_automatic, known_formats
from storel.storage.tensor import Tensor

REMEMBERED = 128
"""How many programs that were run are kept, the last ones."""

_RUN: OrderedDict[Hashable, Calls] = OrderedDict()
_CHANGING = Lock()


class Kernel:
    """A compiled program: callable with tensors like those it was compiled for.

    Called with tensors of other shapes, formats or types it is planned anew. Scalars that are left out have
    the values that it was compiled with. Several threads may call it at once. Where the plan converts an
    operand, the converted tensor is kept as long as the operand lives: it is made only once.

    Pickled, it is the program, its options, what was explained of it, and its kernel as text, but no data; it
    is compiled where it arrives, unless the cache there has it.
    """

    def __init__(self, program: Source, options: CallOptions, tensors: Mapping[str, Any]) -> None:
        self._program = program
        self._options = options
        runner = runner_of(program, options, tensors)
        runner.runs = False
        self._scalars = dict(runner.environment.parameters)
        self._operands = frozenset(runner.environment.tensors)
        self._made: _Made | None = _Made(_warned(runner.run(program)), runner.environment)
        self._texts: dict[str | None, str] = {}

    def __call__(self, /, **tensors: Any) -> Tensor | dict[str, Tensor]:
        """Run the program on ``tensors``; raises UnknownNameError for an option among them."""
        if not OPTIONS.isdisjoint(tensors):
            option = min(OPTIONS.intersection(tensors))
            raise UnknownNameError(
                f"'{option}' is an option, and those of a kernel are what it was compiled with",
                hint=f"compile it again: storel.compile(…, {option}=…)",
            )
        call = self._call
        if call is None:
            return run_planned(self._program, self._options, self._scalars | tensors)
        formats = _formats(self._options.formats)
        values: dict[str, Value | Inputs] = {}
        for name, given in tensors.items():
            inputs = call.inputs_of_array(name, given) if type(given) is np.ndarray else None
            if inputs is None:
                tensors[name] = _value(name, given, formats)
            values[name] = tensors[name] if inputs is None else inputs
        result = call(values)
        if result is None:
            result = run_planned(self._program, self._options, self._scalars | tensors)
        return result

    def __repr__(self) -> str:
        return f"<storel.Kernel of {', '.join(sorted({*self._operands, *self._scalars})) or 'nothing'}>"

    @cached_property
    def _call(self) -> Calls | None:
        made = self._known
        if len(made.outcome.compilations) > 1:  # they were planned for what nobody has made yet
            return None
        return _calls_of(made.outcome, made.environment, self._options, self._operands)

    @property
    def _known(self) -> _Made:
        if self._made is None:
            raise DataError(
                "the kernel was pickled: what it was compiled for stayed behind", hint="compile it again"
            )
        return self._made

    def explain(self, stage: str | None = None) -> str:
        """Return what became of the program at each stage, or at one of them."""
        if stage in self._texts:
            return self._texts[stage]
        return explain_text({} if self._made is None else self._made.outcome.compilations, stage)

    @property
    def environment(self) -> Environment:
        """The data that it was compiled for; raises DataError for a kernel that was pickled."""
        return self._known.environment

    @property
    def compilation(self) -> Compilation:
        """The compilation of the last result; raises DataError for a kernel that was pickled."""
        return list(self._known.outcome.compilations.values())[-1]

    @property
    def source(self) -> str:
        """The kernel's C or Numba text."""
        return self.explain("source")

    @property
    def plan(self) -> str:
        """The physical plan as text."""
        return self.explain("plan")

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled."""
        stages = (None, *(stage.name for stage in STAGES))
        texts = {stage: self.explain(stage) for stage in stages}
        return {**self.__dict__, "_call": self._call, "_made": None, "_texts": texts}


class _Made(NamedTuple):
    """What the compiler made of a program, and for which data."""

    outcome: Outcome
    environment: Environment


def _warned(outcome: Outcome) -> Outcome:
    """Return ``outcome``; its warnings are Python's, of the line that calls ``storel.run`` or ``compile``."""
    for each in outcome.warnings:
        warnings.warn(each, stacklevel=4)
    return outcome


def run_planned(
    program: Source, options: CallOptions, bindings: Mapping[str, Any]
) -> Tensor | dict[str, Tensor]:
    """Run a program, as it was planned for like data if it was run before.

    Raises StorelError for whatever is wrong with the program or its data.
    """
    formats = _formats(options.formats)
    values = {name: _value(name, value, formats) for name, value in bindings.items()}
    key = _key(program, options, values)
    with _CHANGING:
        call = _RUN.get(key)
        if call is not None:
            _RUN.move_to_end(key)
    result = None if call is None else call(values)
    if result is not None:
        return result
    runner = runner_of(program, options, values)
    outcome = _warned(runner.run(program))
    given = frozenset(name for name, value in values.items() if isinstance(value, Tensor))
    made = _calls_of(outcome, runner.environment, options, given)
    if key is not None and made is not None and not outcome.includes_files:
        with _CHANGING:
            _RUN[key] = made
            while len(_RUN) > REMEMBERED:
                _RUN.popitem(last=False)
    return next(iter(outcome.results.values())) if len(outcome.results) == 1 else outcome.results


def forget() -> None:
    """Forget all programs that were run: the next ones are planned as the machine and the code are then."""
    with _CHANGING:
        _RUN.clear()


def _calls_of(
    outcome: Outcome, environment: Environment, options: CallOptions, given: frozenset[str]
) -> Calls | None:
    """Return calls of the kernels that a program became, if they read only what was given and they made."""
    compilations = outcome.compilations
    if not compilations or options.backend == "interpret" or outcome.loads_files:
        return None
    if any(each.name not in compilations for each in outcome.saved):  # a tensor as it was given
        return None
    if frozenset(environment.tensors) - frozenset(compilations) != given:
        return None
    results = tuple(outcome.results) or tuple(compilations)  # where nothing was run, there is but one
    kernels: list[Call] = []
    known = sorted(given)
    for name, compilation in compilations.items():
        asked = format_text(options.format) if name in results else None
        if is_automatic(asked or compilation.definition.format):
            return None
        data = replace(environment, tensors={each: environment.tensors[each] for each in known})
        kernels.append(Call.of(compilation, data, options.memory_limit))
        known.append(name)
    return Calls(tuple(kernels), results)


def _key(program: Source, options: CallOptions, values: Mapping[str, Value]) -> Hashable:
    """Return what the plan of a program depends on, None if that cannot be said or changes behind us."""
    if options.formats is not None or options.rules is not None or options.search is not None:
        return None
    try:
        compiler = None if options.backend in ("numba", "interpret") else toolchain.find()
        facts = tuple((name, _facts(value)) for name, value in sorted(values.items()))
        key = (program.text, options, compiler, threads.count(options.threads), facts)
        hash(key)
    except TypeError:  # an option that is none is refused with a message
        return None
    return key


def _facts(value: Value) -> Hashable:
    return (likeness(value), counted(value)) if isinstance(value, Tensor) else parameter_fact(value, None)


def _formats(directory: str | Path | None) -> Formats:
    return _shipped_formats() if directory is None else known_formats(directory)


@cache
def _shipped_formats() -> Formats:
    """Return the formats that data is stored in unasked, parsed once; no script adds to these."""
    return known_formats(None)


def runner_of(program: Source, options: CallOptions, bindings: Mapping[str, Any]) -> Runner:
    """Return what runs a program, its names bound; paths in it are relative to the script."""
    environment = Environment(known_formats(options.formats))
    for name, value in bindings.items():
        bind(environment, name, value)
    runner = Runner(environment, compiler_options(options))
    runner.keywords = OPTIONS
    runner.result_format = format_text(options.format)
    runner.directory = Path(program.name).parent
    return runner


def bind(environment: Environment, name: str, value: Any) -> None:
    """Bind a name to a number, an array, a matrix or a tensor."""
    value = _value(name, value, environment.formats)
    if isinstance(value, Tensor):
        environment.add_tensor(name, value)
    else:
        environment.add_parameter(name, value)


def _value(name: str, given: Any, formats: Formats) -> Value:
    """Return what a caller binds to a name; what is wrong with it is said with the name."""
    if isinstance(given, Tensor):
        return given
    try:
        with about(name):
            return as_value(given, formats)
    except StorelError as error:
        error.hint = nearest(name, OPTIONS) or error.hint
        raise


def _is_path(source: str | Path) -> bool:
    """Return whether ``source`` names a script file; a text has spaces, a path need not end in .sdql."""
    return isinstance(source, Path) or (len(source.split()) == 1 and source.endswith(".sdql"))


def source_of(source: str | Path) -> Source:
    """Return the text of a program, or of the script that it is the path of."""
    match source:
        case str() | Path() if _is_path(source):
            return read_source(as_path(source))
        case str() | Path():
            return Source.given("<program>", str(source))
        case _:
            raise TypeMismatchError(
                "this is no program", expected="a text, or the path of a script", found=type(source).__name__
            )
