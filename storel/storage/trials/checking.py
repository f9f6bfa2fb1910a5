"""A format tried on random tensors: packed, its declared properties verified, and read back.

Data that the format refuses is no fault of it; what must not be is that it takes data and yields other
data, or arrays without the properties that plans rely on. Tensors are tried from small to large, and the
first one that shows a fault loses entries as long as it shows one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from storel.arrays import Array
from storel.errors import DataError, FormatError
from storel.scalars import ScalarType
from storel.storage.coordinates import combine, index_dtype
from storel.storage.formats.format import Format
from storel.storage.formats.properties import verify_properties
from storel.storage.formats.requirements import first_unmet
from storel.storage.trials.samples import Fit, Sample, best_fit, fitting, random_entries, structures
from storel.syntax.format_check import check_format
from storel.syntax.printer import render

Progress: TypeAlias = Callable[[str], None]

SEED = 2024
DENSITIES = (0.0, 0.1, 0.4, 1.0)
TYPES = (ScalarType.FLOAT64, ScalarType.FLOAT32, ScalarType.INT64, ScalarType.BOOL)

EXPLICIT_ZEROS = 3

SHAPES: dict[int, tuple[tuple[int, ...], ...]] = {
    0: ((),),
    1: ((0,), (1,), (5,), (16,), (33,)),
    2: ((0, 3), (3, 0), (1, 1), (2, 3), (5, 5), (7, 4), (3, 13), (9, 9)),
    3: ((0, 2, 3), (1, 1, 1), (2, 3, 2), (4, 3, 5), (5, 5, 5)),
}
"""The shapes to try, from few places to many, square ones last; no extent is a multiple of most blocks."""

FARTHEST, MOST_SHAPES = 16, 4096
"""How far extents are increased, and how many shapes are looked at, until one meets the requirements."""

EXAMPLE_PLACES = 4096
EXAMPLE_DENSITY = 0.1
"""The size of the example whose memory is shown: 64 × 64, a tenth of it filled."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A tensor that a format takes, and how what it makes of it is wrong."""

    sample: Sample
    fault: str

    def __str__(self) -> str:
        keys = (", ".join(map(str, key)) for key in self.sample.coordinates.T.tolist())
        entries = ", ".join(f"({key}) = {value}" for key, value in zip(keys, self.sample.values, strict=True))
        extents = ", ".join(map(str, self.sample.shape))
        return f"  {self.sample.values.dtype}[{extents}] with {entries or 'no entries'}\n  {self.fault}"


@dataclass(slots=True)
class Tried:
    """How many tensors of one structure were tried, and how many of their entries fit."""

    tensors: int = 0
    entries: int = 0
    fitting: int = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """The bytes that an example takes in a format, listed as coordinates, and with every place."""

    shape: tuple[int, ...]
    entries: int
    stored: int
    coordinates: int
    places: int


@dataclass
class Verdict:
    """What came of trying a format; ``refusal`` is a typical reason why data does not fit."""

    storage: Format
    tried: dict[str, Tried] = field(default_factory=dict[str, Tried])
    shapes: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    refused_shapes: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    refusal: FormatError | DataError | None = None
    counterexample: Counterexample | None = None
    memory: Memory | None = None

    @property
    def fitting(self) -> int:
        """How many entries fit, of all tensors."""
        return sum(each.fitting for each in self.tried.values())


def check(storage: Format, progress: Progress = lambda _: None) -> Verdict:
    """Try a format on random tensors of its rank, the same ones every time.

    Raises the FormatError or DataError of packing if no tensor of several places with an entry fits it, and
    what can be said against its text alone.
    """
    if not storage.takings:  # which are no longer part of the text: it was checked as it was written
        check_format(storage.declaration)
    verdict = Verdict(storage)
    random = np.random.default_rng(SEED)
    verdict.shapes.extend(dict.fromkeys(larger_until_met(storage, each) for each in shapes(storage.rank)))
    _require_met(storage, verdict.shapes)
    fitting_of_places = 0
    for shape in verdict.shapes:
        progress(f"{storage.name}: tensors of shape {shape}")
        before = verdict.fitting
        if not _check_shape(verdict, shape, random):
            verdict.refused_shapes.append(shape)
        if verdict.counterexample is not None:
            return verdict
        if math.prod(shape) > 1 or not storage.rank:  # where there is one place, nothing is to be found
            fitting_of_places += verdict.fitting - before
    if verdict.refusal is not None and not fitting_of_places:
        raise verdict.refusal
    progress(f"{storage.name}: memory")
    verdict.memory = _memory(storage, random)
    return verdict


def shapes(rank: int) -> tuple[tuple[int, ...], ...]:
    """Return the shapes to try: without places, with one, oblong, and square.

    >>> shapes(4)
    ((0, 2, 2, 2), (1, 1, 1, 1), (2, 3, 2, 3), (3, 3, 3, 3))
    """
    if rank in SHAPES:
        return SHAPES[rank]
    oblong = tuple(2 + dimension % 2 for dimension in range(rank))
    return (0, *(2,) * (rank - 1)), (1,) * rank, oblong, (3,) * rank


def larger_until_met(storage: Format, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the least shape from this one on that meets a format's requirements, or this one.

    It is this one where extents that are to be equal are not, which tries just that, or where no shape that
    is a little larger meets them.
    """
    if not _agree(storage, shape):
        return shape
    reach = min(FARTHEST, round(MOST_SHAPES ** (1 / max(1, len(shape)))))
    further = sorted(product(range(reach), repeat=len(shape)), key=lambda steps: (sum(steps), steps))
    larger = (tuple(map(sum, zip(shape, steps, strict=True))) for steps in further)
    return next((each for each in larger if _meets(storage, each)), shape)


def _require_met(storage: Format, tried: Sequence[tuple[int, ...]]) -> None:
    """Raise FormatError if none of several shapes meets what a format requires."""
    if any(_meets(storage, shape) for shape in tried):
        return
    raise FormatError(
        f"no tensor that is tried has a shape that format {storage.text} stores",
        expected=", ".join(map(render, storage.declaration.requirements)),
        found=", ".join(" x ".join(map(str, shape)) for shape in tried if _agree(storage, shape)),
        hint="give parameters for which small tensors do" if storage.parameters else None,
    )


def _meets(storage: Format, shape: tuple[int, ...]) -> bool:
    """Return whether a shape meets what a format requires of extents, and of parameters that are known."""
    sizes = {**dict(zip(storage.extents, shape, strict=True)), **storage.arguments}
    try:
        return _agree(storage, shape) and first_unmet(storage.declaration.requirements, sizes) is None
    except FormatError:
        return False


def _agree(storage: Format, shape: tuple[int, ...]) -> bool:
    """Return whether those extents are equal that have one name."""
    sizes = dict(zip(storage.extents, shape, strict=True))
    return tuple(sizes[name] for name in storage.extents) == shape


def _check_shape(verdict: Verdict, shape: tuple[int, ...], random: np.random.Generator) -> bool:
    """Try tensors of one shape until one shows a fault; return whether any tensor of this shape fits.

    Of few places, and of few entries, structures make the same tensors again and again: half of them.
    """
    holds_any = False
    known: dict[bytes, Fit] = {}
    for density, (number, (name, structure)) in product(DENSITIES, enumerate(structures(shape))):
        sample = structure(random_entries(random, shape, density))
        is_new = sample.content not in known
        if is_new:
            known[sample.content] = fitting(verdict.storage, sample)
        fit = known[sample.content]
        if number == 0 and fit.refusal is not None:
            verdict.refusal = fit.refusal
        tried = verdict.tried.setdefault(name, Tried())
        tried.tensors += 1
        tried.entries += len(sample)
        if fit.part is None:
            continue
        holds_any = True
        tried.fitting += len(fit.part)
        if is_new:
            verdict.counterexample = _counterexample(verdict.storage, fit.part, random)
        if verdict.counterexample is not None:
            break
    return holds_any


def _counterexample(storage: Format, sample: Sample, random: np.random.Generator) -> Counterexample | None:
    """Return the smallest part of a sample that shows a fault in some type, if the whole does."""
    for each in TYPES:
        typed = _disordered(replace(sample, values=sample.values.astype(each.dtype)), random)
        if fault_of(storage, typed) is None:
            continue
        smallest = _smallest(storage, _smallest(storage, typed).separate())
        fault = fault_of(storage, smallest)
        assert fault is not None
        return Counterexample(smallest, fault)
    return None


def _smallest(storage: Format, sample: Sample) -> Sample:
    """Return a sample that shows a fault without the groups that the fault does not need."""
    kept = np.ones(sample.group_count, dtype=bool)
    for group in range(sample.group_count):
        kept[group] = False
        kept[group] = fault_of(storage, sample.part(kept)) is None
    return sample.part(kept)


def _disordered(sample: Sample, random: np.random.Generator) -> Sample:
    """Return a sample in another order, with zeros in between, which are no entries, wherever they are."""
    count = min(math.prod(sample.shape), EXPLICIT_ZEROS)
    keys = [random.integers(0, extent, count) for extent in sample.shape]
    zeros = np.array(keys, dtype=np.int64).reshape(len(keys), count)
    coordinates = np.concatenate((sample.coordinates, zeros), axis=1)
    values = np.concatenate((sample.values, np.zeros(count, sample.values.dtype)))
    groups = np.concatenate((sample.groups, sample.group_count + np.arange(count)))
    order = random.permutation(len(values))
    return Sample(sample.shape, coordinates[:, order], values[order], groups[order])


def fault_of(storage: Format, sample: Sample) -> str | None:
    """Return how a format stores a sample wrongly; None if it does so rightly, or refuses it."""
    try:
        tensor = sample.packed(storage)
    except (FormatError, DataError):
        return None
    try:
        verify_properties(tensor.storage, tensor.arrays, tensor.sizes)
    except DataError as error:
        return f"is packed so that {error.message}"
    expected = _entries(*combine(sample.coordinates, sample.values, sample.shape))
    found = _entries(*tensor.to_coo())
    for key in sorted(expected.keys() | found.keys()):
        if expected.get(key, 0) != found.get(key, 0):
            return f"reads back with {key} = {found.get(key, 0)}, not {expected.get(key, 0)}"
    return None


def _entries(coordinates: Array, values: Array) -> dict[tuple[int, ...], Any]:
    return dict(zip(map(tuple, coordinates.T.tolist()), values.tolist(), strict=True))


def _memory(storage: Format, random: np.random.Generator) -> Memory | None:
    """Return what an example of usual size takes; None if nothing of that size fits."""
    shape = (round(EXAMPLE_PLACES ** (1 / storage.rank)),) * storage.rank if storage.rank else ()
    shape = larger_until_met(storage, shape)
    entries = random_entries(random, shape, EXAMPLE_DENSITY)
    sample = best_fit(storage, (structure(entries) for _, structure in structures(shape)))
    if sample is None:
        return None
    tensor = sample.packed(storage)
    index_bytes = storage.rank * index_dtype(shape, len(sample)).itemsize
    return Memory(
        shape,
        len(sample),
        sum(array.nbytes for array in tensor.arrays.values()),
        len(sample) * (index_bytes + sample.values.itemsize),
        math.prod(shape) * sample.values.itemsize,
    )
