"""The Python face: programs and tensors in, tensors out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from storel import kernels
from storel.advice.advise import advise as advice_for
from storel.advice.rows import Advice
from storel.advice.trial import Trial
from storel.errors import StorelError as StorelError
from storel.errors import UnknownNameError, nearest
from storel.execution.declared import declared_tensor
from storel.execution.loading import as_tensor, format_text, load_tensor
from storel.host.paths import as_path
from storel.kernels import Kernel, run_planned, runner_of, source_of
from storel.notation import einsum_source
from storel.options import OPTIONS, require_compiled, split
from storel.storage.formats.known import known_formats
from storel.storage.summary import Summary, read_summary, summary_from
from storel.storage.tensor import Tensor
from storel.syntax.nodes.declarations import FormatReference
from storel.tuning.rows import Tuning
from storel.tuning.tune import SECONDS, forgotten
from storel.tuning.tune import tune as tuning_of


def run(source: str | Path, /, **tensors: Any) -> Tensor | dict[str, Tensor]:
    """Run a program and return its result.

    ``source`` is the text of a script or the path of one. ``tensors`` bind the names that it leaves free:
    numbers, arrays, scipy.sparse matrices and Tensors; the options of ``compile`` may be among them.
    The result is the tensor that the script SAVEs, a dict by name if it SAVEs several, and the last tensor if
    it SAVEs none. No file is written: that is what ``Tensor.save`` does.

    Plans of the last programs are kept: one that is run again with like tensors is not planned again.

    Raises StorelError for whatever is wrong with the program or its data.

    >>> import numpy as np
    >>> float(run("CREATE TENSOR s AS sum(<i, x> in v) x * x", v=np.array([3.0, 4.0])))
    25.0
    """
    options, bindings = split(tensors)
    return run_planned(source_of(source), options, bindings)


def compile(source: str | Path, /, **tensors: Any) -> Kernel:  # noqa: A001
    """Compile a program for tensors like the given ones; call the kernel with such tensors.

    Options, here and in ``run`` and ``einsum``: ``backend`` ("auto", "c", "numba", "interpret"),
    ``formats`` (a directory of format files), ``rules`` (a file of further rules, or a RuleSet instead of
    the shipped ones), ``memory_limit`` (bytes), ``format`` (of the result), ``floating_point`` ("strict",
    "reassociate" or "expand"), ``threads`` (how many compute), ``binders`` ("named" or "debruijn": how the
    optimizer holds bound variables),
    ``search`` (``storel.optimizer.outcome.Options``: budgets, costs, schedule and extractor, for research).
    """
    options, bindings = split(tensors)
    return Kernel(source_of(source), options, bindings)


def explain(source: str | Path, /, stage: str | None = None, **tensors: Any) -> str:
    """Return what the compiler makes of a program, stage by stage, without running it.

    Raises StorelError for the backend "interpret", which makes nothing of it.
    """
    require_compiled(split(tensors)[0])
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
    options, bindings = split(tensors)
    program = source_of(source)
    return advice_for(Trial.of(runner_of(program, options, bindings), program), measures=measure)


def tune(source: str | Path, /, *, seconds: float = SECONDS, forget: bool = False, **tensors: Any) -> Tuning:
    """Measure other plans and schedules of a program; the fastest is what it is run by from now on.

    ``source``, tensors and options are those of ``run``; each tensor that the program computes is tuned for
    ``seconds``. What wins is remembered on disk for this machine, program, options and data of like
    statistics; with ``forget`` that is undone, and nothing measured.

    Raises DataError if nothing is compiled, StorelError for what is wrong with program or data.

    >>> import numpy as np
    >>> tuning = tune("CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a }", seconds=0.0, A=np.eye(2))
    >>> tuning["y"].chosen.description
    'as estimated'
    """
    options, bindings = split(tensors)
    program = source_of(source)
    runner = runner_of(program, options, bindings)
    kernels.forget()  # what was run before was planned before
    return forgotten(runner, program) if forget else tuning_of(runner, program, seconds)


def einsum(subscripts: str, /, *operands: Any, **options: Any) -> Tensor:
    """Evaluate a sum of products in Einstein's notation, over operands in any storage.

    Raises ProgramSyntaxError if the subscripts do not fit the operands.

    >>> import numpy as np
    >>> einsum("ij,j->i", np.eye(2), np.array([1.0, 2.0])).to_numpy()
    array([1., 2.])
    """
    if unknown := sorted(options.keys() - OPTIONS):
        hint = nearest(unknown[0], OPTIONS)
        raise UnknownNameError(f"'{unknown[0]}' is no option", expected=", ".join(sorted(OPTIONS)), hint=hint)
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

    ``x`` is an array, a scipy.sparse matrix, ``(coordinates, values)``, ``{coordinates: value}``,
    a dict of a format's arrays (with ``format`` and ``shape``), a table of any library that speaks Arrow's
    C interface (columns of integer keys from 0, then one of values), or a Tensor. ``format`` is what may
    follow ``STORED AS``, one of the directory ``formats`` among them. Data that has a shape must have the one
    that is asked for. The semiring is "plus_times" unless a table that storel wrote has its own, or a Tensor,
    which keeps it. Foreign arrays are verified once and wrapped without a copy where the
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
    return load_tensor(as_path(path), known_formats(formats), reference=format_text(format))


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
