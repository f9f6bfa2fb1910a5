"""The Python face: programs and tensors in, tensors out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from storel.advice.advise import advise as advice_for
from storel.advice.rows import Advice
from storel.advice.trial import Trial
from storel.compiler import BACKENDS, FLOATING_POINT, Backend, Compilation, FloatingPoint, Options, with_rules
from storel.environment import Environment
from storel.errors import UnknownNameError, nearest
from storel.execution import execute
from storel.explain.text import explain_text
from storel.loading import as_tensor, declared_tensor, format_text, load_tensor
from storel.notation import einsum_source
from storel.optimizer.outcome import BINDERS
from storel.optimizer.outcome import Options as SearchOptions
from storel.optimizer.rulefile import RuleSet
from storel.script import Outcome, Runner, read_source
from storel.source import Source
from storel.storage.facts import is_like
from storel.storage.formats import is_automatic, known_formats
from storel.storage.summary import Summary, read_summary, summary_from
from storel.storage.tensor import Tensor
from storel.syntax.nodes.declarations import FormatReference


def run(source: str | Path, /, **tensors: Any) -> Tensor | dict[str, Tensor]:
    """Run a program and return its result.

    ``source`` is the text of a script or the path of one. ``tensors`` bind the names that it leaves free:
    numbers, NumPy arrays, scipy.sparse matrices and Tensors; the options of ``compile`` may be among them.
    The result is the last tensor of the script, or a dict by name if it SAVEs several.

    Raises StorelError for whatever is wrong with the program or its data.

    >>> import numpy as np
    >>> float(run("CREATE TENSOR s AS sum(<i, x> in v) x * x", v=np.array([3.0, 4.0])))
    25.0
    """
    options, bindings = _split(tensors)
    outcome = _runner(source, options, bindings).run(_source(source))
    return _result(outcome)


def compile(source: str | Path, /, **tensors: Any) -> Kernel:  # noqa: A001
    """Compile a program for tensors like the given ones; call the kernel with such tensors.

    Options, here and in ``run`` and ``einsum``: ``backend`` ("auto", "c", "numba", "interpret"),
    ``formats`` (a directory of format files), ``rules`` (a file of further rules, or a RuleSet instead of
    the shipped ones), ``memory_limit`` (bytes), ``format`` (of the result), ``floating_point`` ("strict",
    "reassociate" or "expand"), ``binders`` ("named" or "debruijn": how the optimizer holds bound variables),
    ``search`` (``storel.optimizer.outcome.Options``: budgets, costs, schedule and extractor, for research).
    """
    options, bindings = _split(tensors)
    return Kernel(source, options, bindings)


class Kernel:
    """A compiled program: callable with tensors like those it was compiled for.

    Called with tensors of other shapes, formats or types it is planned anew.
    """

    def __init__(self, source: str | Path, options: CallOptions, tensors: Mapping[str, Any]) -> None:
        self._source = source
        self._options = options
        runner = _runner(source, options, tensors)
        runner.runs = False
        self.environment = runner.environment
        self._outcome = runner.run(_source(source))

    def __call__(self, **tensors: Any) -> Tensor | dict[str, Tensor]:
        """Run the program on ``tensors``."""
        runner = _runner(self._source, self._options, tensors)
        if self._fits(runner.environment):
            defaults = self.environment.parameters
            runner.environment.parameters = {**defaults, **runner.environment.parameters}
            return execute(self.compilation, runner.environment, self._options.memory_limit)
        return _result(runner.run(_source(self._source)))

    def _fits(self, environment: Environment) -> bool:
        """Return whether the one kernel that there is can be run on other data, whose facts are the same."""
        own = self.environment
        is_one = len(self._outcome.compilations) == 1 and not self.compilation.converted
        result_format = format_text(self._options.format) or self.compilation.definition.format
        if not is_one or is_automatic(result_format) or self._options.backend == "interpret" or own.arrays:
            return False
        if own.tensors.keys() != environment.tensors.keys():
            return False
        facts, given = own.parameter_facts(), environment.parameter_facts()
        return all(facts.get(name) == fact for name, fact in given.items()) and all(
            is_like(tensor, environment.tensors[name]) for name, tensor in own.tensors.items()
        )

    def explain(self, stage: str | None = None) -> str:
        """Return what became of the program at each stage, or at one of them."""
        return explain_text(self._outcome.compilations, stage)

    @property
    def compilation(self) -> Compilation:
        """The compilation of the last result."""
        return list(self._outcome.compilations.values())[-1]

    @property
    def source(self) -> str:
        """The kernel's C or Numba text."""
        return self.compilation.source

    @property
    def plan(self) -> str:
        """The physical plan as text."""
        return explain_text(self._outcome.compilations, "plan")


def explain(source: str | Path, /, stage: str | None = None, **tensors: Any) -> str:
    """Return what the compiler makes of a program, stage by stage, without running it."""
    return compile(source, **tensors).explain(stage)


def advise(source: str | Path, /, *, measure: bool = False, **tensors: Any) -> Advice:
    """Return how fast a program is expected to be with each of its tensors in each format that holds it.

    ``source``, tensors and options are those of ``run``; with ``measure`` it is also run with each.
    ``formats`` of the result are the best ones, ``["A"].rows`` all that were planned for one tensor.

    Raises DataError if no storage is left to choose, StorelError for what is wrong with program or data.

    >>> import numpy as np
    >>> advice = advise("CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a }", A=np.eye(2))
    >>> advice["A"].rows[0].format == advice.formats["A"]
    True
    """
    options, bindings = _split(tensors)
    return advice_for(Trial.of(_runner(source, options, bindings), _source(source)), measures=measure)


def einsum(subscripts: str, /, *operands: Any, **options: Any) -> Tensor:
    """Evaluate a sum of products in Einstein's notation, over operands in any storage.

    Raises ProgramSyntaxError if the subscripts do not fit the operands.

    >>> import numpy as np
    >>> einsum("ij,j->i", np.eye(2), np.array([1.0, 2.0])).to_numpy()
    array([1., 2.])
    """
    stored = [tensor(operand) for operand in operands]
    source = einsum_source(subscripts, [operand.rank for operand in stored])
    names = {f"operand{number}": operand for number, operand in enumerate(stored)}
    result = run(source, **names, **options)
    assert isinstance(result, Tensor)
    return result


def tensor(
    x: Any,
    format: str | FormatReference | None = None,  # noqa: A002
    shape: tuple[int, ...] | None = None,
    semiring: str | None = None,
    *,
    formats: str | Path | None = None,
) -> Tensor:
    """Store data as a tensor.

    ``x`` is a NumPy array, a scipy.sparse matrix, ``(coordinates, values)``, ``{coordinates: value}``,
    a dict of a format's arrays (with ``format`` and ``shape``), a table of any library that speaks Arrow's
    C interface (columns of integer keys from 0, then one of values), or a Tensor. ``format`` is what may
    follow ``STORED AS``, one of the directory ``formats`` among them; the semiring is "plus_times" unless a
    table that storel wrote has its own. Foreign arrays are verified once and wrapped without a copy where the
    layout allows, so that they may be memory maps; they must not be changed while the tensor is in use.

    Raises StorelError naming the first thing that does not fit.
    """
    known = known_formats(formats)
    return as_tensor(x, known, reference=format_text(format), shape=shape, semiring=semiring)


def read(
    path: str | Path,
    format: str | None = None,  # noqa: A002
    *,
    formats: str | Path | None = None,
) -> Tensor:
    """Read a tensor from a file: .mtx and .tns (also with .gz), .npy, .npz, .parquet, .arrow, .feather.

    ``format`` may be one of the directory ``formats``. A large .npy file is mapped into memory, not read: it
    must not be changed while the tensor is in use.
    """
    return load_tensor(Path(path), known_formats(formats), reference=format_text(format))


def declare(
    statistics: str | Path | Mapping[str, Any] | Summary,
    format: str | None = None,  # noqa: A002
    *,
    formats: str | Path | None = None,
) -> Tensor:
    """Return a tensor of which only statistics are known: to compile and explain for, not to run on.

    ``statistics`` is a JSON file as ``storel stats --json`` prints it, such an object, or the ``summary`` of
    a tensor; only ``shape`` and ``nnz`` must be there. ``format`` may be another than that of the data,
    one of the directory ``formats`` among them.

    >>> explain("CREATE TENSOR s AS sum(<_, x> in v) x", stage="term", v=declare({"shape": [9], "nnz": 2}))
    'sum(<_, v> in sum(<p, v> in v_row(0:v_nnz)) { v -> v_val(p) }) v'
    """
    match statistics:
        case Summary():
            summary = statistics
        case str() | Path():
            summary = read_summary(Path(statistics))
        case _:
            summary = summary_from(statistics)
    return declared_tensor(summary, known_formats(formats), format_text(format))


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


def _split(keywords: Mapping[str, Any]) -> tuple[CallOptions, dict[str, Any]]:
    """Tell the options among keyword arguments from the tensors."""
    names = {each.name for each in fields(CallOptions)}
    options = {name: value for name, value in keywords.items() if name in names}
    return CallOptions(**options), {name: value for name, value in keywords.items() if name not in names}


def _runner(source: str | Path, options: CallOptions, bindings: Mapping[str, Any]) -> Runner:
    environment = Environment(known_formats(options.formats))
    for name, value in bindings.items():
        bind(environment, name, value)
    runner = Runner(environment, compiler_options(options))
    runner.result_format = format_text(options.format)
    if _is_path(source):
        runner.directory = Path(source).parent
    return runner


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
    if options.binders not in BINDERS:
        raise UnknownNameError(f"unknown binders '{options.binders}'", expected=", ".join(BINDERS))
    rules = with_rules(Path(options.rules)) if isinstance(options.rules, str | Path) else options.rules
    return Options(
        options.backend,
        options.memory_limit,
        rules,
        floating_point=options.floating_point,
        binders=options.binders,
        search=options.search,
        threads=options.threads,
    )


def bind(environment: Environment, name: str, value: Any) -> None:
    """Bind a name to a number, an array, a matrix or a tensor."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float):
        environment.add_parameter(name, value)
    else:
        environment.add_tensor(name, as_tensor(value, environment.formats))


def _is_path(source: str | Path) -> bool:
    """Return whether ``source`` names a script file; a text has spaces, a path need not end in .sdql."""
    return isinstance(source, Path) or (len(source.split()) == 1 and source.endswith(".sdql"))


def _source(source: str | Path) -> Source:
    return read_source(Path(source)) if _is_path(source) else Source("<program>", str(source))


def _result(outcome: Outcome) -> Tensor | dict[str, Tensor]:
    results = outcome.results
    return next(iter(results.values())) if len(results) == 1 else results
