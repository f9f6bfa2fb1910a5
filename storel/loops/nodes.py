"""The loop IR: typed, flat, imperative; prints to C and to Numba, and is interpreted.

    kernel    ::= bound, compute [, divide]               procedures with the same inputs
    procedure ::= name(scalars, buffers) { s* }
    s ::= declare x = e | x = e | b[e] = e | b[e] op= e
        | for x in e:e { s* } | while e { s* } | if e { s* } else { s* }
        | sort b[e:e] | fail code(e)
    e ::= c | x | b[e] | e op e | op e | (type) e | e ? e : e

``bound`` computes how many elements the output and workspace buffers of ``compute`` need; the
runtime allocates them (never the kernel) and calls ``compute``. Addresses are flat; every index
expression is of an integer type. Loops and operations say what they count as, so that the
interpreter can report machine-independent work.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from storel.errors import Cause
from storel.scalars import ScalarType
from storel.semiring import Scalar


class Role(Enum):
    """What an operation or a loop counts as in the report of work."""

    VALUE = "value"  # arithmetic of tensor values: multiplications, additions
    INDEX = "index"  # keys, addresses, bounds, conditions: index_operations; loops that divide others
    LOOP = "loop"  # each iteration is one of `iterations`
    SEARCH = "search"  # entering the loop is one of `lookups`; its iterations are not counted
    WORKSPACE = "workspace"  # each iteration is one of `workspace`


@dataclass(frozen=True, slots=True)
class Constant:
    """A number; an infinity or NaN where the type is real."""

    value: Scalar
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Local:
    """A scalar variable or scalar parameter; names are unique within a procedure."""

    name: str
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Buffer:
    """A one-dimensional typed array that is a parameter of the procedure.

    ``holds`` is ``Role.VALUE`` if reads and writes of it count as reads and writes of stored
    values, else ``Role.INDEX``.
    """

    name: str
    type: ScalarType
    holds: Role = Role.VALUE


@dataclass(frozen=True, slots=True)
class Load:
    """``buffer[index]``."""

    buffer: Buffer
    index: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """``left op right``; see ``types.BINARY_OPERATORS``. Both operands have the same type but in shifts.

    Comparisons, ``and`` and ``or`` give bool; ``and``/``or`` on bools do not evaluate ``right``
    when ``left`` decides. ``floor_divide`` floors and ``modulo`` takes the divisor's sign.
    """

    operator: str
    left: Expression
    right: Expression
    role: Role = Role.INDEX


@dataclass(frozen=True, slots=True)
class Unary:
    """``op operand``; see ``types.UNARY_OPERATORS``."""

    operator: str
    operand: Expression
    role: Role = Role.INDEX


@dataclass(frozen=True, slots=True)
class Cast:
    """``operand`` as a number of another type, as NumPy's ``astype`` does."""

    type: ScalarType
    operand: Expression


@dataclass(frozen=True, slots=True)
class Select:
    """``condition ? positive : negative``; both sides may be evaluated.

    ``branchless``: which side it is cannot be predicted, so that machine code shall not branch.
    """

    condition: Expression
    positive: Expression
    negative: Expression
    branchless: bool = False


Expression: TypeAlias = Constant | Local | Load | Binary | Unary | Cast | Select


@dataclass(frozen=True, slots=True)
class Declare:
    """Introduce ``local`` with a value; visible to the end of the enclosing block."""

    local: Local
    value: Expression


@dataclass(frozen=True, slots=True)
class Assign:
    """``local = value``; the local was declared before and is no parameter and no loop's variable."""

    local: Local
    value: Expression


@dataclass(frozen=True, slots=True)
class Store:
    """``buffer[index] = value``."""

    buffer: Buffer
    index: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class Update:
    """``buffer[index] = buffer[index] operator value``; counts as one value operation and a write."""

    buffer: Buffer
    index: Expression
    operator: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Row:
    """``buffer[start : start + length]``."""

    buffer: Buffer
    start: Expression
    length: int


@dataclass(frozen=True, slots=True)
class Ahead:
    """Rows that each iteration of a loop reads, most at a place that it looks up.

    Their starts may be evaluated for any value of the loop's variable from the present one up to ``end``,
    exclusive: for those to come, and those that the loop will have when it is next entered. It pays to ask
    for them ``distance`` iterations early.
    """

    rows: tuple[Row, ...]
    end: Expression
    distance: int


@dataclass(frozen=True, slots=True)
class For:
    """``local`` runs over low … high - 1, ascending; ``high`` is evaluated once.

    The rest changes nothing but speed. ``reductions`` name accumulating locals and their operators where
    partial results may be combined in any order (the loads in the body are contiguous, so that vector code
    pays), ``partial`` names the only one where they are not. In a loop ``in_lanes`` no iteration reads what
    another one writes, and what they write is contiguous.
    ``tiles`` may stay in registers while the loop runs: their starts do not change in it, and all that it
    does to their buffers is in loops ``in_lanes`` from 0 to at most their length, at start + variable.
    ``ahead`` is worth asking the memory for early, and so are the ``streams``, at places that grow by one
    with the loop's variable; in ``reductions`` they are long, and worth more partial results. The next
    loops may go on from here up to ``until``, where that is given: what is read of inputs at this loop's
    variable may be read up to there. What a loop adds in any order may be evaluated up to its ``tail``, too.
    """

    local: Local
    low: Expression
    high: Expression
    body: tuple[Statement, ...]
    role: Role = Role.LOOP
    reductions: tuple[tuple[Local, str], ...] = ()
    partial: tuple[Local, str] | None = None
    in_lanes: bool = False
    tiles: tuple[Row, ...] = ()
    ahead: Ahead | None = None
    streams: tuple[Load, ...] = ()
    until: Expression | None = None
    tail: Expression | None = None


@dataclass(frozen=True, slots=True)
class While:
    """Repeat the body while the condition holds."""

    condition: Expression
    body: tuple[Statement, ...]
    role: Role = Role.LOOP


@dataclass(frozen=True, slots=True)
class If:
    """``body`` where the condition holds, else ``otherwise``.

    What is evaluated in it may be evaluated in any case if it ``is_total``.
    """

    condition: Expression
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()
    is_total: bool = False


@dataclass(frozen=True, slots=True)
class Sort:
    """Sort the integers ``buffer[low:high]`` ascending, in place."""

    buffer: Buffer
    low: Expression
    high: Expression


@dataclass(frozen=True, slots=True)
class Fail:
    """Stop the kernel; ``code`` indexes the kernel's ``failures``, ``detail`` is an int64 for the message."""

    code: int
    detail: Expression


@dataclass(frozen=True, slots=True)
class Failure:
    """What a ``Fail`` says: ``message``, with ``{}`` for its detail. ``subject`` is that of the cause."""

    cause: Cause
    message: str
    subject: str = ""


Statement: TypeAlias = Declare | Assign | Store | Update | For | While | If | Sort | Fail


@dataclass(frozen=True, slots=True)
class Procedure:
    """A void procedure: scalar parameters, then buffers; a failure ends it."""

    name: str
    scalars: tuple[Local, ...]
    buffers: tuple[Buffer, ...]
    body: tuple[Statement, ...]


class Join(Enum):
    """What becomes of an output where several threads compute a part of the result each."""

    SHARED = "shared"  # all write into one buffer, each to places of its own
    COMBINED = "combined"  # element by element, by ``Kernel.operator``
    APPENDED = "appended"  # one after the other
    SHIFTED = "shifted"  # one after the other, and positions are counted on
    ADDED = "added"  # element by element: positions of entries, each part knowing its own


@dataclass(frozen=True, slots=True)
class Allocation:
    """A buffer of ``compute`` that the runtime provides.

    Its length is element ``slot`` of the ``sizes`` that ``bound`` wrote. ``fill`` is the value that all
    elements hold at the start, None if they may hold anything. ``used`` is the element of the int64
    buffer ``lengths`` that holds the buffer's capacity at the start, and of an output its final length
    at the end. ``overflow`` is the code of the
    ``Fail`` by which ``compute`` says that the capacity is exhausted: only a buffer that has one may
    be given less than its bound, when the memory limit does not allow more. An output has a ``join``; one
    that is ``SHIFTED`` holds positions in buffers whose length is element ``into`` of ``lengths``.
    Where a bit of ``marks`` is 0, that element of the buffer is ``fill``, but while it is being written.
    """

    buffer: Buffer
    slot: int
    fill: Scalar | None = None
    is_output: bool = False
    used: int | None = None
    overflow: int | None = None
    join: Join | None = None
    into: int | None = None
    marks: Buffer | None = None


@dataclass(frozen=True, slots=True)
class Kernel:
    """What a plan becomes.

    ``bound(scalars, inputs, sizes)`` fills ``sizes`` (int64, one element per allocation);
    ``compute(scalars, inputs, allocations, lengths)`` does the work and fills ``lengths`` (int64, one
    element per allocation with ``used``); the parameters come in this order. ``failures`` are what
    the codes of ``Fail`` stand for.

    A kernel that has ``divide`` computes a part of its result, between the scalars ``part.low`` and
    ``part.high``: ``divide(scalars, inputs, cuts)`` fills ``cuts`` (int64) with the ends of as many parts of
    equal work as the scalar ``parts.count`` says, and with all of the work. ``operator`` combines results.
    """

    bound: Procedure
    compute: Procedure
    allocations: tuple[Allocation, ...]
    failures: tuple[Failure, ...] = ()
    divide: Procedure | None = None
    operator: str = "add"

    @property
    def inputs(self) -> tuple[Buffer, ...]:
        """The buffers that the caller hands in."""
        return self.bound.buffers[:-1]

    @property
    def procedures(self) -> tuple[Procedure, ...]:
        """All procedures that there are."""
        return (self.bound, self.compute, *([] if self.divide is None else [self.divide]))
