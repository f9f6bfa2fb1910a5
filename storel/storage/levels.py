"""``levels(dense, compressed; order=(1, 0))``: the mapping of any nest of levels, written out as text.

    dense       sum(<i, _> in 0:n)                         place = parent * n + i
    compressed  sum(<p, i> in idx(pos(parent):pos(parent + 1)))    place = p

``order`` says which dimension of the tensor each level holds. With d dimensions these are the d!·2^d
formats of Kjolstad, Kamil, Chou, Lugato, Amarasinghe, "The Tensor Algebra Compiler", OOPSLA 2017.
"""

from __future__ import annotations

from storel.errors import FormatError, nearest
from storel.source import Source, Span
from storel.storage.sizes import evaluate_size
from storel.syntax.nodes.declarations import FormatReference, TupleArgument
from storel.syntax.nodes.expressions import Name
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse

CONSTRUCTOR = "levels"
KINDS = ("dense", "compressed")


def levels_format(reference: FormatReference, rank: int) -> tuple[str, CreateFormat]:
    """Return the format that ``levels(…)`` stands for, and its canonical name.

    Raises FormatError for an unknown kind, a wrong number of levels, or an order that is no permutation.
    """
    kinds = tuple(_kind(argument) for argument in reference.arguments)
    if len(kinds) != rank:
        raise FormatError(
            f"{CONSTRUCTOR}({', '.join(kinds)}) does not store tensors of rank {rank}",
            expected=f"{rank} levels",
            found=str(len(kinds)),
            span=reference.span,
        )
    order = _order(reference, rank)
    text = levels_text(kinds, order)
    (created,) = parse(Source(f"<{CONSTRUCTOR}>", text)).statements
    assert isinstance(created, CreateFormat)
    is_natural = order == tuple(range(rank))
    suffix = "" if is_natural else f"; order=({','.join(map(str, order))})"
    return f"{CONSTRUCTOR}({', '.join(kinds)}{suffix})", created


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
    place, count = "0", "1"
    arrays: list[str] = []
    loops: list[str] = []
    for level, (kind, dimension) in enumerate(zip(kinds, order, strict=True), start=1):
        key, extent = f"i{dimension}", f"n{dimension}"
        is_top = level == 1
        if kind == "dense":
            loops.append(f"sum(<{key}, _> in 0:{extent})")
            place = key if is_top else f"{_grouped(place)} * {extent} + {key}"
            count = extent if is_top else f"{count} * {extent}"
            continue
        idx, pos, length = f"idx{level}", f"pos{level}", f"len{level}"
        if is_top:
            segment, within = f"0:{length}", ""
        else:
            segment, within = f"{pos}({place}):{pos}({place} + 1)", f" WITHIN {pos}"
            arrays.append(f"{pos}: int[{count} + 1] ASCENDING FROM 0 TO {length}")
        arrays.append(f"{idx}: int[{length}] IN 0:{extent} INCREASING{within}")
        loops.append(f"sum(<p{level}, {key}> in {idx}({segment}))")
        place, count = f"p{level}", length
    arrays.append(f"val: real[{count}]")
    extents = ", ".join(f"n{dimension}" for dimension in range(len(order)))
    keys = ", ".join(f"i{dimension}" for dimension in range(len(order)))
    lines = [
        f"CREATE FORMAT {CONSTRUCTOR}(T: real[{extents}])",
        "  USING " + ",\n        ".join(arrays),
        "  AS " + "\n     ".join(loops),
        f"       {{ ({keys}) -> val({place}) }}",
    ]
    return "\n".join(lines)


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
        if name != "order" or not isinstance(argument, TupleArgument):
            raise _bad_order(rank, reference.span)
        order = tuple(evaluate_size(item, {}) for item in argument.items)
    if sorted(order) != list(range(rank)):
        raise _bad_order(rank, reference.span)
    return order


def _bad_order(rank: int, span: Span) -> FormatError:
    return FormatError(
        "levels take their order and nothing else",
        expected=f"order=(…) with each of 0 … {rank - 1} once",
        span=span,
    )
