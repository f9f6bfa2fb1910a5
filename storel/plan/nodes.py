"""The physical plan: a term of the calculus with every choice made.

    plan        ::= destination <- action
    action      ::= accumulate e                          add the scalar e to the destination
                  | enter k: action                       go on in the destination's child at key k
                  | loop source: action                   once per element of the source
                  | guard e: action                       only where the condition holds
                  | bind store <- action in action        fill a store, then use it (variable 0)
                  | together action, ...                  all of them, into the same destination
                  | unite loop, ...                       co-iterate loops that enter ascending keys
    source      ::= positions e:e | elements a(e:e) | entries x | matches a(e:e) at e
                  | intersection a(e:e), a(e:e)
    store       ::= scalar | table(extents) | list(extent) | stream(extent) | hash(extents) | rows(extents)
    destination ::= levels | coordinates                  a scalar has no levels

Variables are De Bruijn indices, as in the calculus; loops bind what the corresponding constructor of
the calculus binds. Scalar expressions ``e`` are loop-free terms of the calculus. An action is run for
its effect on a destination (destination passing: Shaikhha, Fitzgibbon, Vytiniotis, Peyton Jones,
FHPC 2017), so that no dictionary exists unless a ``bind`` stores it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from storel.calculus.nodes import Literal, Term
from storel.scalars import ScalarType


@dataclass(frozen=True, slots=True)
class Positions:
    """The integers low … high - 1; binds key (1) and value (0), which are equal."""

    low: Term
    high: Term


@dataclass(frozen=True, slots=True)
class Elements:
    """Positions low … high - 1 of an array; binds the position (1) and the element (0)."""

    array: str
    low: Term
    high: Term


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a bound store, or of one of its rows, that are not zero, ascending.

    Binds key (1) and value (0).
    """

    store: Term


@dataclass(frozen=True, slots=True)
class Matches:
    """The positions in low … high - 1 at which an ascending array holds ``key``; binds the position (0)."""

    array: str
    low: Term
    high: Term
    key: Term
    is_unique: bool


@dataclass(frozen=True, slots=True)
class Intersection:
    """Common elements of two increasing sub-arrays; binds both positions (2, 1) and the element (0)."""

    left: Elements
    right: Elements


Source: TypeAlias = Positions | Elements | Entries | Matches | Intersection


@dataclass(frozen=True, slots=True)
class ScalarStore:
    """One number, combined by ``operator``; ``zero`` is what it holds at first.

    ``zero`` None means that the first value is taken as it is, and none at all is an error.
    """

    type: ScalarType
    operator: str
    zero: bool | int | float | None


@dataclass(frozen=True, slots=True)
class TableStore:
    """A dense array with one place per key tuple, cleared on entry to the ``bind``."""

    type: ScalarType
    operator: str
    zero: bool | int | float
    extents: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class ListStore:
    """A dense array with the list of its occupied places: cleared and scanned in their number."""

    type: ScalarType
    operator: str
    zero: bool | int | float
    extent: Term


@dataclass(frozen=True, slots=True)
class StreamStore:
    """Entries that are used as they come, one after the other, and kept nowhere.

    They come from loops that are united, so that each key comes once, and ascending; all that uses them is
    one loop over them.
    """

    type: ScalarType
    operator: str
    zero: bool | int | float
    extent: Term


@dataclass(frozen=True, slots=True)
class HashStore:
    """A hash table of the key tuples that were entered: memory, clearing and scans are in their number.

    The product of the extents is below ``LARGEST_KEY``, so that a tuple is one integer, its row-major
    number; the only extent of a store whose keys have no known bound is ``ANY_KEY``.
    """

    type: ScalarType
    operator: str
    zero: bool | int | float
    extents: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class RowsStore:
    """The rows of a matrix one after the other, each as its keys, ascending, with values that are not zero.

    It is filled by ``loop positions 0:rows: enter k: row``, k the loop's key, or by ``loop positions: enter
    row: enter k: 1``, and only its rows are scanned: memory and scans are in the number of entries, and
    nothing is searched for.
    """

    type: ScalarType
    operator: str
    zero: bool | int | float
    extents: tuple[Term, Term]


LARGEST_KEY = 2**62

ANY_KEY = Literal(2**63 - 1, ScalarType.INT64)
"""The extent of keys of which no bound is known: it stands for none, and is one of the keys itself."""

Store: TypeAlias = ScalarStore | TableStore | ListStore | StreamStore | HashStore | RowsStore


@dataclass(frozen=True, slots=True)
class Accumulate:
    """Combine ``value``, once, into the scalar destination."""

    value: Term


@dataclass(frozen=True, slots=True)
class Enter:
    """Run ``body`` in the child at ``key``.

    ``key`` may repeat over the enclosing loops of its level only where the level allows it.
    """

    key: Term
    body: Action


@dataclass(frozen=True, slots=True)
class Loop:
    """Run ``body`` once for each element of ``source``."""

    source: Source
    body: Action


@dataclass(frozen=True, slots=True)
class Guard:
    """Run ``body`` where ``condition`` holds."""

    condition: Term
    body: Action


@dataclass(frozen=True, slots=True)
class Bind:
    """Fill ``store`` by ``value``, then run ``body`` with it as variable 0."""

    store: Store
    value: Action
    body: Action


@dataclass(frozen=True, slots=True)
class Together:
    """Run all ``actions``, each into the same destination; none at all is the zero."""

    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Unite:
    """Several loops over increasing elements, each entering its element: run as one ascending pass.

    Each branch is ``Loop(Elements, Enter(Variable(0), body))``, or one ``Enter`` alone; where several have
    the same key, their bodies run in the same child. What a body matches with its key in another branch's
    source, the pass has found. This is the union of TACO's merge lattices (Kjolstad et al., OOPSLA 2017).
    """

    branches: tuple[Loop | Enter, ...]


Action: TypeAlias = Accumulate | Enter | Loop | Guard | Bind | Together | Unite


@dataclass(frozen=True, slots=True)
class Place:
    """A level with a place for every key.

    ``once``: every place of the last level is written at most once. ``repeats``: see ``Append``; it
    matters only above a level that appends.
    """

    extent: Term
    once: bool = False
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Append:
    """A level whose keys arrive ascending within their parent and are appended.

    ``repeats``: a key may arrive several times in a row, and is then the same child. Only the last level
    may stand below a level that repeats, and the last one never repeats.
    """

    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Gather:
    """The last level, its keys arriving in any order: gathered in a workspace, appended in order.

    ``by_bitmap`` chooses between a two-level bitmap and a list that is sorted.
    """

    extent: Term
    by_bitmap: bool


Level: TypeAlias = Place | Append | Gather


@dataclass(frozen=True, slots=True)
class Levels:
    """The result, assembled level by level; ``leaf`` says how its values are combined.

    ``index_type`` is the type of appended keys. Place levels above an ``Append`` or ``Gather`` are
    entered in ascending order, too. Level k holds dimension ``order[k]`` of the result, or k where ``order``
    is empty: keys are entered in the order of the levels.
    """

    levels: tuple[Level, ...]
    leaf: ScalarStore
    index_type: ScalarType = ScalarType.INT32
    order: tuple[int, ...] = ()

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The dimension of the result that each level holds."""
        return self.order or tuple(range(len(self.levels)))


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The result as a list of key tuples with values, in any order and with repetitions."""

    rank: int
    leaf: ScalarStore
    index_type: ScalarType = ScalarType.INT32


Destination: TypeAlias = Levels | Coordinates


@dataclass(frozen=True, slots=True)
class Plan:
    """``destination <- action``; a scalar result is ``Levels`` without levels."""

    destination: Destination
    action: Action
