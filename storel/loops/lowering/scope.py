"""What the variables of a plan stand for while it is lowered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from storel.calculus.bounds import narrowed
from storel.calculus.domains import Domain, Domains
from storel.calculus.intervals import Interval
from storel.calculus.nodes import Term
from storel.loops.nodes import Buffer, Constant, Expression, Local
from storel.plan.meeting import finds
from storel.plan.nodes import Elements, Matches
from storel.scalars import ScalarType
from storel.semiring import Scalar
from storel.symbols import Symbols


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar, held in a local or cheap enough to be written again.

    One that never descends while a loop runs knows how many blocks enclose that loop.
    """

    expression: Expression
    ascends_at: int | None = None


@dataclass(frozen=True, slots=True)
class Occupied:
    """The list of occupied places of a ``ListStore``: its buffers, and the local that counts them."""

    places: Buffer
    marks: Buffer
    count: Expression


@dataclass(frozen=True, slots=True)
class View:
    """A dense store, or the part of it under some keys: places offset … offset + product(extents).

    A part under keys that may be outside is not ``certain``: its first extent is 0 where it does not exist.
    """

    buffer: Buffer
    offset: Expression
    extents: tuple[Expression, ...]
    limits: tuple[int, ...]
    zero: Scalar
    operator: str
    occupied: Occupied | None = None
    certain: bool = True

    @property
    def type(self) -> ScalarType:
        return self.buffer.type


@dataclass(frozen=True, slots=True)
class HashTable:
    """The buffers of a ``HashStore``, and the locals that count its entries and describe its capacity."""

    keys: Buffer
    values: Buffer
    slots: Buffer
    count: Local
    mask: Local
    shift: Local
    zero: Constant
    operator: str


@dataclass(frozen=True, slots=True)
class HashRow:
    """A hash store, or the part of it under some keys, which have this row-major ``number``.

    ``ends`` is where its entries are among the slots, sorted by key, as far as known.
    """

    table: HashTable
    number: Expression
    extents: tuple[Expression, ...]
    limits: tuple[int, ...]
    ends: tuple[Expression, Expression] | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """The buffers of a ``RowsStore``: row i is at ``begins[i]`` … ``begins[i + 1]`` of the others."""

    begins: Buffer
    keys: Buffer
    values: Buffer
    extents: tuple[Expression, ...]
    limits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row of ``rows``: the entries ``first`` … ``end`` - 1."""

    rows: Rows
    first: Expression
    end: Expression


@dataclass(frozen=True, slots=True)
class Arrived:
    """The entry of a ``StreamStore`` that has just come; there is none if the value is ``zero``."""

    key: Expression
    value: Expression
    zero: Constant
    extent: int


Stored: TypeAlias = View | HashRow | Rows | StoredRow | Arrived

Binding: TypeAlias = Value | Stored


@dataclass(frozen=True, slots=True)
class Met:
    """The position, one of ``positions``, at which a union stands in a source, if its key ``is_here``.

    ``source`` is as seen ``outside`` of the union, below so many binders.
    """

    source: Elements
    outside: int
    position: Local
    positions: Interval
    is_here: Expression


@dataclass(frozen=True, slots=True)
class Scope:
    """Bindings, integer bounds and domains of the enclosing binders, the innermost first.

    ``met`` is where the enclosing unions stand.
    """

    bindings: tuple[Binding, ...] = ()
    intervals: tuple[Interval, ...] = ()
    domains: Domains = ()
    met: tuple[Met, ...] = ()

    def bind(self, binding: Binding, interval: Interval, domain: Domain | None = None) -> Scope:
        bindings, intervals = (binding, *self.bindings), (interval, *self.intervals)
        return Scope(bindings, intervals, (domain, *self.domains), self.met)

    def answer(self, search: Matches) -> Met | None:
        """Return where a union has what is searched for, None if none has."""
        depth = len(self.bindings)
        return next((met for met in self.met if finds(met.source, search, depth - met.outside)), None)

    def narrowed(self, condition: Term, symbols: Symbols) -> Scope:
        """Go where ``condition`` holds."""
        return replace(self, intervals=narrowed(condition, symbols, self.intervals))
