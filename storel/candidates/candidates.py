"""The formats that hold a tensor, each with the tensor so stored.

Tried are the present format, the defaults, every known format of the rank whose parameters have values, and
nests of dense and compressed levels in several orders of the dimensions. Whether the data has the
structure that a format needs is found by packing it, after a look at what can be told before
(``screening.py``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

from storel.candidates.screening import memory_objection, most_bytes, sample_objection, size_objection
from storel.errors import DataError, FormatError, MemoryLimitError
from storel.host import memory
from storel.storage.entries import Entries
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.formats.levels import CONSTRUCTOR, ORDER
from storel.storage.formats.signature import LevelKind, level_signature
from storel.storage.packing.parameters import with_parameters_of
from storel.storage.tensor import Tensor, pack_entries
from storel.syntax.nodes.declarations import FormatReference, TupleArgument
from storel.syntax.nodes.expressions import Name, Number
from storel.syntax.parser import parse_format

Progress: TypeAlias = Callable[[str], None]

MOST_CANDIDATES = 12
"""How many formats are kept: the present one, the defaults, and those of least memory."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tensor in one of the formats that hold it, and the seconds that storing it so took."""

    tensor: Tensor
    seconds: float = 0.0

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self.tensor.arrays.values())


class Why(Enum):
    """What kind of reason a format is not considered for."""

    MISFIT = "not holding the data"
    LARGE = "too large"
    ALIKE = "the same as another"
    OPEN = "with parameters to be given"
    NOT_SMALLEST = "larger than those planned for"
    FAILED = "without a plan or with another result"


@dataclass(frozen=True, slots=True)
class Dropped:
    """A format that is not considered, and why."""

    format: str
    why: Why
    reason: str


@dataclass
class Candidates:
    """What came of trying all formats; the present one is the first of those that are kept."""

    kept: list[Candidate] = field(default_factory=list[Candidate])
    dropped: list[Dropped] = field(default_factory=list[Dropped])


def candidates(
    tensor: Tensor,
    formats: Formats,
    memory_limit: int | None = None,
    progress: Progress = lambda _: None,
    most: int | None = None,
) -> Candidates:
    """Return ``tensor`` in the formats that hold it, the present one first, the others by their memory.

    Of more than ``most`` formats (default: ``MOST_CANDIDATES``) the largest are dropped.

    Raises DataError if the tensor is declared by its statistics only.
    """
    if tensor.declared is not None:
        raise DataError(
            "formats are chosen by trying them on data, but this tensor is declared by its statistics",
            hint="name the format to plan for, or bind the data itself",
        )
    most = MOST_CANDIDATES if most is None else most
    start = time.perf_counter()
    tensor.to_coo()
    listing = time.perf_counter() - start
    found = Candidates([Candidate(tensor)])
    usual = {each.name for each in _defaults(formats, tensor.rank)}
    seen = {tensor.format: tensor.format, _structure(tensor.storage): tensor.format}
    for storage in _known(formats, tensor.rank, found.dropped):
        progress(f"trying {storage.text}")
        made = _tried(storage, tensor, memory_limit, seen)
        if isinstance(made, Dropped):
            found.dropped.append(made)
            continue
        seen |= {made.tensor.format: made.tensor.format, _structure(made.tensor.storage): made.tensor.format}
        found.kept.append(Candidate(made.tensor, listing + made.seconds))
        if len(found.kept) > most:
            _drop_largest(found, usual, most)
    # Of those that take as much, what data is stored in unasked was tried first, and stays in front.
    found.kept[1:] = sorted(found.kept[1:], key=lambda each: each.bytes)
    found.dropped.sort(key=lambda each: each.format)
    return found


def _drop_largest(found: Candidates, usual: set[str], most: int) -> None:
    """Drop the candidate of most memory, but for the present format and the defaults."""
    optional = [each for each in found.kept[1:] if each.tensor.storage.name not in usual]
    if not optional:
        return
    largest = max(optional, key=lambda each: (each.bytes, each.tensor.format))
    found.kept.remove(largest)
    reason = f"{largest.bytes:,} bytes: not among the {most} of least memory"
    found.dropped.append(Dropped(largest.tensor.format, Why.NOT_SMALLEST, reason))


def _tried(
    storage: Format, tensor: Tensor, memory_limit: int | None, seen: dict[str, str]
) -> Candidate | Dropped:
    """Return the tensor in a format, or why it is not stored so; ``seen`` are formats that were tried."""
    coordinates, values = tensor.to_coo()
    extent = (tensor.shape, len(values), tensor.dtype.itemsize)
    # No array may be made that alone is too large, whether or not its length is known before.
    limit = min(most_bytes(*extent), memory.available() if memory_limit is None else memory_limit)
    try:
        entries = Entries(coordinates, values, tensor.shape, tensor.semiring)
        storage = with_parameters_of(storage, entries)
        same = seen.get(storage.text) or seen.get(_structure(storage))
        if same is not None:
            return Dropped(storage.text, Why.ALIKE, f"the same as {same}")
        if (objection := size_objection(storage, *extent)) is not None:
            return Dropped(storage.text, Why.LARGE, objection)
        if (objection := sample_objection(storage, tensor)) is not None:
            return Dropped(storage.text, Why.MISFIT, objection)
        start = time.perf_counter()
        entries = replace(entries, values=values.astype(tensor.dtype, copy=False))
        packed = pack_entries(storage, entries, is_closed=tensor.is_closed, memory_limit=limit)
    except (FormatError, DataError) as error:
        return Dropped(storage.text, Why.MISFIT, error.message)
    except MemoryLimitError as error:
        return Dropped(storage.text, Why.LARGE, error.message)
    except MemoryError:
        return Dropped(storage.text, Why.LARGE, "packing it takes more memory than there is")
    made = Candidate(packed, time.perf_counter() - start)
    objection = memory_objection(made.bytes, *extent)
    return made if objection is None else Dropped(packed.format, Why.LARGE, objection)


def _known(formats: Formats, rank: int, dropped: list[Dropped]) -> Iterator[Format]:
    """Yield the formats to try, the defaults first; those without values of their parameters are dropped."""
    defaults = _defaults(formats, rank)
    yield from defaults
    for name in sorted(set(formats.names) - {each.name for each in defaults}):
        if rank in formats.overloads(name):
            try:
                yield formats.resolve(FormatReference(name), rank)
            except FormatError as error:
                dropped.append(Dropped(name, Why.OPEN, error.message))
    nests = (formats.resolve(reference, rank) for reference in _nests(rank))
    yield from (nest for nest in nests if nest.name not in {each.name for each in defaults})


def _defaults(formats: Formats, rank: int) -> list[Format]:
    """Return the formats that data of a rank may be stored in unasked."""
    defaults = formats.defaults
    texts = dict.fromkeys((*defaults.sparse.get(rank, ()), *defaults.dense.get(rank, ())))
    return [formats.resolve(parse_format(text), rank) for text in texts]


def _nests(rank: int) -> Iterator[FormatReference]:
    """Yield nests of levels: dense, compressed, and compressed below a dense one, each in several orders.

    The orders are those with one dimension before the others, and all reversed.
    """
    if rank < 2:
        return
    dimensions = tuple(range(rank))
    firsts = [(first, *(each for each in dimensions if each != first)) for first in dimensions]
    dense, compressed = Name("dense"), Name("compressed")
    for order in sorted({*firsts, dimensions[::-1]}):
        keywords = ((ORDER, TupleArgument(tuple(map(Number, order)))),)
        for kinds in ((dense,) * rank, (dense, *(compressed,) * (rank - 1)), (compressed,) * rank):
            yield FormatReference(CONSTRUCTOR, kinds, keywords)


def _structure(storage: Format) -> str:
    """Return what two formats that are nests of the same levels have in common, else the format itself."""
    signature = level_signature(storage)
    if signature is None or any(level.kind is LevelKind.SINGLETON for level in signature.levels):
        return storage.text
    return repr([(level.kind, level.dimension, level.pos is None) for level in signature.levels])
