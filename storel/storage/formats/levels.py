"""``levels(dense, compressed; order=(1, 0))``: the mapping of any nest of levels, written out as text.

    dense       sum(<i, _> in 0:n)                                       place = parent * n + i
    compressed  sum(<p, i> in idx(pos(parent):pos(parent + 1)))          place = p
    singleton   i = idx(parent)                                          place = parent
    fixed       sum(<p, i> in idx(parent * width:(parent + 1) * width))  place = p, where i >= 0
    hashed      sum(<b, _> in 0:buckets), and compressed in bucket parent * buckets + b, where the lowest
                bits of i are b                                          place = p

``order`` says which dimension of the tensor each level holds. With d dimensions the first two kinds make the
d!·2^d formats of Kjolstad, Kamil, Chou, Lugato, Amarasinghe, "The Tensor Algebra Compiler", OOPSLA 2017; the
others are after Chou, Kjolstad, Amarasinghe, "Format Abstraction for Sparse Tensor Algebra Compilers",
OOPSLA 2018. ``width2`` and ``buckets1`` are parameters, which the data determines where nobody does.
"""

from __future__ import annotations

from dataclasses import replace

from storel.errors import FormatError, nearest
from storel.source import Source, Span
from storel.storage.formats.arguments import require_once
from storel.storage.formats.sizes import evaluate_size
from storel.syntax.nodes.declarations import FormatReference, TupleArgument
from storel.syntax.nodes.expressions import Name, Number
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse

CONSTRUCTOR = "levels"
ORDER = "order"
KINDS = ("dense", "compressed", "singleton", "fixed", "hashed")


def levels_format(reference: FormatReference, rank: int) -> tuple[str, CreateFormat]:
    """Return the format that ``levels(…)`` stands for, and its canonical name.

    Raises FormatError for an unknown kind, a wrong number of levels, or an order that is no permutation.
    """
    kinds = tuple(_kind(argument) for argument in reference.arguments)
    if not kinds and rank == 0:
        raise FormatError(
            f"{CONSTRUCTOR} needs a kind of level for each dimension",
            expected=" or ".join(KINDS),
            span=reference.span,
            hint=f"write {CONSTRUCTOR}({', '.join(KINDS[:2])}), for example",
        )
    if len(kinds) != rank:
        raise FormatError(
            f"{CONSTRUCTOR}({', '.join(kinds)}) does not store tensors of rank {rank}",
            expected=f"{rank} levels",
            found=str(len(kinds)),
            span=reference.span,
        )
    require_once([name for name, _ in reference.keywords], CONSTRUCTOR, reference)
    order = _order(reference, rank)
    for above, kind in zip(("dense", *kinds), kinds, strict=False):
        if kind == "singleton" and above == "dense":
            raise FormatError(
                "a singleton level holds one key for each place above",
                expected="a compressed, fixed or hashed level above it",
                span=reference.span,
            )
    text = levels_text(kinds, order)
    (created,) = parse(Source(f"<{CONSTRUCTOR}>", text)).statements
    assert isinstance(created, CreateFormat)
    is_natural = order == tuple(range(rank))
    suffix = "" if is_natural else f"; order=({','.join(map(str, order))})"
    return f"{CONSTRUCTOR}({', '.join(kinds)}{suffix})", created


def parameters_of(reference: FormatReference) -> FormatReference:
    """Return what ``levels(…)`` is given beside its kinds and their order: values of parameters."""
    return replace(
        reference, arguments=(), keywords=tuple(each for each in reference.keywords if each[0] != ORDER)
    )


def levels_text(kinds: tuple[str, ...], order: tuple[int, ...]) -> str:
    """Return the ``CREATE FORMAT`` statement of a nest of levels.

    >>> print(levels_text(("dense", "compressed"), (1, 0)))
    CREATE FORMAT levels(T: real[n0, n1])
      USING pos2: int[n1 + 1] ASCENDING FROM 0 TO len2,
            idx2: int[len2] IN 0:n0 INCREASING WITHIN pos2,
            val: real[len2]
      AS sum(<i1, _> in 0:n1)
         sum(<p2, i0> in idx2(pos2(i1):pos2(i1 + 1)))
           { (i0, i1) -> val(p2) }
    """
    nest = _Nest(kinds, order)
    for level in range(1, len(kinds) + 1):
        nest.add(level)
    extents = ", ".join(f"n{dimension}" for dimension in range(len(order)))
    parameters = "".join(f"; {each}" if n == 0 else f", {each}" for n, each in enumerate(nest.parameters))
    keys = ", ".join(nest.keys[dimension] for dimension in range(len(order)))
    lines = [
        f"CREATE FORMAT {CONSTRUCTOR}(T: real[{extents}]{parameters})",
        *([f"  WHERE {', '.join(nest.requirements)}"] if nest.requirements else []),
        "  USING " + ",\n        ".join((*nest.arrays, f"val: real[{nest.count}]")),
        "  AS " + "\n     ".join(nest.loops),
        f"       {{ ({keys}) -> val({nest.place}) }}",
    ]
    return "\n".join(lines)


class _Nest:
    """The texts of the levels so far: the place in the innermost one, and how many places there are."""

    def __init__(self, kinds: tuple[str, ...], order: tuple[int, ...]) -> None:
        self.kinds, self.order = kinds, order
        self.place, self.count = "0", "1"
        self.parameters: list[str] = []
        self.requirements: list[str] = []
        self.arrays: list[str] = []
        self.loops: list[str] = []
        self.keys: dict[int, str] = {}

    def add(self, level: int) -> None:
        """Nest one more level, counted from 1."""
        dimension = self.order[level - 1]
        key, extent = f"i{dimension}", f"n{dimension}"
        self.keys[dimension] = key
        match self.kinds[level - 1]:
            case "dense":
                self._dense(key, extent)
            case "singleton":
                self.keys[dimension] = f"idx{level}({self.place})"
                self.arrays.append(f"idx{level}: int[{self.count}] IN 0:{extent}{self._unread(level)}")
            case "fixed":
                self._fixed(level, key, extent)
            case "hashed":
                self._hashed(level, key, extent)
            case _:
                self._compressed(level, key, extent)

    def _dense(self, key: str, extent: str) -> None:
        is_top = self.place == "0"
        self.loops.append(f"sum(<{key}, _> in 0:{extent})")
        self.place = key if is_top else f"{_grouped(self.place)} * {extent} + {key}"
        self.count = extent if is_top else f"{self.count} * {extent}"

    def _compressed(self, level: int, key: str, extent: str) -> None:
        idx, pos, length = f"idx{level}", f"pos{level}", f"len{level}"
        singletons = self._singletons_below(level)
        if level == 1:
            segment = f"0:{length}"
            rising = f" INCREASING ({idx}, {', '.join(singletons)})" if singletons else " INCREASING"
        else:
            segment = f"{pos}({self.place}):{pos}({self.place} + 1)"
            rising = "" if singletons else f" INCREASING WITHIN {pos}"
            self.arrays.append(f"{pos}: int[{self.count} + 1] ASCENDING FROM 0 TO {length}")
        self.arrays.append(f"{idx}: int[{length}] IN 0:{extent}{rising}")
        self.loops.append(f"sum(<p{level}, {key}> in {idx}({segment}))")
        self.place, self.count = f"p{level}", length

    def _fixed(self, level: int, key: str, extent: str) -> None:
        idx, width, place = f"idx{level}", f"width{level}", _grouped(self.place)
        self.parameters.append(f"{width}: int = {self._longest(level)}")
        self.requirements.append(f"{width} >= 0")
        self.count = width if self.count == "1" else f"{self.count} * {width}"
        self.arrays.append(f"{idx}: int[{self.count}] IN 0:{extent} PAD -1")
        segment = f"{place} * {width}:({self.place} + 1) * {width}"
        self.loops.append(f"sum(<p{level}, {key}> in {idx}({segment})) if ({key} >= 0) then")
        self.place = f"p{level}"

    def _hashed(self, level: int, key: str, extent: str) -> None:
        idx, pos, length = f"idx{level}", f"pos{level}", f"len{level}"
        buckets, bucket = f"buckets{level}", f"b{level}"
        self.parameters.append(f"{buckets}: int = {self._least_buckets(level, extent)}")
        self.requirements += (f"{buckets} >= 1", f"{buckets} & {buckets} - 1 == 0")
        place = bucket if level == 1 else f"{_grouped(self.place)} * {buckets} + {bucket}"
        count = buckets if level == 1 else f"{self.count} * {buckets}"
        self.arrays.append(f"{pos}: int[{count} + 1] ASCENDING FROM 0 TO {length}")
        rising = "" if self._singletons_below(level) else f" INCREASING WITHIN {pos}"
        self.arrays.append(f"{idx}: int[{length}] IN 0:{extent}{rising}")
        self.loops.append(f"sum(<{bucket}, _> in 0:{buckets})")
        self.loops.append(
            f"sum(<p{level}, {key}> in {idx}({pos}({place}):{pos}({place} + 1))) "
            f"if (({key} & ({buckets} - 1)) == {bucket}) then"
        )
        self.place, self.count = f"p{level}", length

    @property
    def _is_natural(self) -> bool:
        return self.order == tuple(range(len(self.order)))

    @property
    def _in_order(self) -> str:
        """The tensor, its keys in the order of the levels."""
        if self._is_natural:
            return "T"
        natural, turned = (", ".join(f"i{n}" for n in order) for order in (sorted(self.order), self.order))
        return f"sum(<({natural}), v> in T) {{ ({turned}) -> v }}"

    def _singletons_below(self, level: int) -> list[str]:
        found: list[str] = []
        for below in range(level + 1, len(self.kinds) + 1):
            if self.kinds[below - 1] != "singleton":
                break
            found.append(f"idx{below}")
        return found

    def _unread(self, level: int) -> str:
        """Return what a singleton level holds at the places that a fixed level above it leaves open."""
        above = [kind for kind in self.kinds[: level - 1] if kind != "singleton"]
        return " PAD 0" if above[-1:] == ["fixed"] else ""

    def _longest(self, level: int) -> str:
        """Return the most children that a place above a level has."""
        depth = 1 + len(self._singletons_below(level))
        if level == 1:
            return f"count(<{_blanks(depth)}, _> in {self._in_order})"
        return f"max(<{_blanks(level - 1)}, rest> in {self._in_order}) count(<{_blanks(depth)}, _> in rest)"

    def _least_buckets(self, level: int, extent: str) -> str:
        """Return a power of two above the number of keys, on average of those at one place above."""
        if self._is_natural:
            keys, above = self._prefixes(level), self._prefixes(level - 1)
        else:
            entries = self._prefixes(len(self.order))
            keys = f"min({extent}, {entries})" if level == 1 else entries
            above = f"min(n{self.order[0]}, {entries})"
        average = keys if level == 1 else f"{keys} // max({above}, 1)"
        return f"1 << bits({average})"

    def _prefixes(self, depth: int) -> str:
        """Return the number of distinct keys of the first dimensions."""
        return f"count(<{_blanks(depth)}, _> in T)"


def _blanks(count: int) -> str:
    """Return a key that binds nothing."""
    return f"({', '.join('_' * count)})" if count > 1 else "_"


def _grouped(place: str) -> str:
    return f"({place})" if "+" in place else place


def _kind(argument: object) -> str:
    match argument:
        case Name(name, span):
            if name not in KINDS:
                raise FormatError(
                    f"unknown kind of level '{name}'",
                    expected=" or ".join(KINDS),
                    span=span,
                    hint=nearest(name, KINDS),
                )
            return name
        case _:
            raise FormatError("a level is named by its kind", expected=" or ".join(KINDS))


def _order(reference: FormatReference, rank: int) -> tuple[int, ...]:
    order = tuple(range(rank))
    for name, argument in reference.keywords:
        if name != ORDER:
            continue
        match argument:
            case TupleArgument(items):
                order = tuple(evaluate_size(item, {}) for item in items)
            case Number() if rank == 1:  # a number in parentheses is that number
                order = (evaluate_size(argument, {}),)
            case _:
                raise _bad_order(rank, reference.span)
    if sorted(order) != list(range(rank)):
        raise _bad_order(rank, reference.span)
    return order


def _bad_order(rank: int, span: Span) -> FormatError:
    return FormatError(
        "the order of levels is a permutation",
        expected=f"order=(…) with each of 0 … {rank - 1} once",
        span=span,
    )
