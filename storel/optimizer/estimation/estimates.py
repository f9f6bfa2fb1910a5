"""How many iterations a loop makes and how many entries a dictionary has: one abstract interpretation.

An ``Estimate`` says what is known of a term without its data: of an integer its interval, of a source its
length, of a dictionary its entries at each depth. ``combine`` gives the estimate of a node from those of its
children, so that it serves terms (``cardinality.py``) and e-classes (``egraph/extract.py``) alike.

    length of lo:hi           mid(hi) - mid(lo); where it varies, as sampling.py says, or as a segment
    length of a(pos(e):pos(e+1))   len(a) / (len(pos) - 1), the average segment, or as joins.py says
    entries of sum(R) {k -> e}     length(R) if k is R's own key; else n draws from the range of k:
                                   span · (1 - exp(-n / span))
    matches of find                len / distinct, or as joins.py says

Segments that are reached by their own loop make N(prefix) exact on average: the product of the lengths
along a chain is the number of stored positions.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from storel.calculus.intervals import ANY, COMPARISONS, Interval, applied, wrapped
from storel.degrees import KnownDegrees
from storel.functions import ONE_BY_ONE, SMALL_POWERS
from storel.optimizer.estimation import sampling
from storel.optimizer.estimation.estimate import UNKNOWN_LENGTH, Estimate, unknown
from storel.optimizer.estimation.joins import (
    Boundary,
    common,
    found_positions,
    is_distinct,
    matches,
    segment_length,
)
from storel.optimizer.estimation.sampling import Bound, Keys, LoopSample, Sample
from storel.optimizer.estimation.selectivity import middle, probability, span
from storel.symbols import ArraySymbol, Symbols


def bound(constructor: str, children: Sequence[Estimate]) -> tuple[Estimate, ...]:
    """Return the estimates of what a binder binds, the outermost first, from those of its other children."""
    source = children[0]
    match constructor:
        case "Let":
            return (source,)
        case "Merge":
            other = children[1]
            key = unknown(source.elements.meet(other.elements), 0)._replace(jumps=True)
            return (_found(source, other.value_origin), _found(other, source.value_origin), key)
        case "Find":
            position = _found(source, children[1].origin)
            where = None if source.loop is None else source.loop.matching(children[1].drawn)
            return (position if where is None else position._replace(sample=Bound(where)),)
        case _ if source.is_array:
            value = unknown(source.elements, 0)._replace(
                origins=source.origins[1:], jumps=source.array is not None
            )
            if source.loop is None:
                return (_position(source), value)
            position = _position(source)._replace(sample=Bound(source.loop))
            is_known = source.array is None or source.loop.array is not None
            element = Bound(source.loop, is_element=True) if is_known else None
            return (position, value._replace(sample=element))
        case _:
            parents = max(1.0, source.counts[0]) if source.counts else 1.0
            counts = tuple(count / parents for count in source.counts[1:])
            length = counts[0] if counts else 1.0
            value = Estimate(counts=counts, spans=source.spans[1:], length=length, origins=source.origins[1:])
            keys = None if source.keys is None else Keys(source.keys)
            return (_position(source)._replace(origins=source.origins[:1], sample=keys), value)


def _found(source: Estimate, drawn: KnownDegrees | None) -> Estimate:
    """Return the estimate of the position of an integer that is drawn so."""
    return _position(source)._replace(origins=(found_positions(drawn, source.value_origin),))


def _position(source: Estimate) -> Estimate:
    if source.is_array:
        return unknown(source.positions, 0)
    keys = source.spans[0] if source.spans else math.inf
    return unknown(Interval(0, int(keys) - 1) if math.isfinite(keys) else Interval(0), 0)


def combine(
    constructor: str,
    text: str,
    children: Sequence[Estimate],
    binders: Sequence[int],
    identity: Hashable,
    symbols: Symbols,
) -> Estimate:
    """Return the estimate of a node; leaves have functions of their own."""
    match constructor, children:
        case ("Add" | "Mul", (a, b)):
            return _arithmetic(constructor, text, a, b, identity)
        case ("Apply1" | "Apply2" | "Apply3", _):
            interval = applied(text, *(child.interval for child in children))
            varies = frozenset[int]().union(*(child.varies for child in children))
            sample = sampling.applied(text, [child.drawn for child in children])
            chance = probability(
                text, [child.interval for child in children], [child.probability for child in children]
            )
            if text in COMPARISONS and sample is not None and sample.loops:
                chance = _sampled(text, children, sample, chance)
            return Estimate(
                identity, interval, (identity, 0), probability=chance, varies=varies, sample=sample,
                walks=children[0].walks - children[1].varies if text == "subtract" else frozenset(),
                scattered=frozenset[int]().union(*(child.scattered for child in children)),
                is_one_by_one=is_by_library(text, children) or any(child.is_one_by_one for child in children),
            )  # fmt: skip
        case ("Uniq", (a,)):
            return a._replace(identity=identity)
        case ("Range", (low, high)):
            return _range(low, high, symbols, identity)
        case ("Slice", (array, low, high)):
            return _slice(array, low, high, symbols, identity)
        case ("Look", (mapping, key)):
            return _lookup(mapping, key, symbols, identity)
        case ("Single", (key, value)):
            keys = span(key.interval)
            return Estimate(
                identity, counts=(1.0, *value.counts), spans=(keys, *value.spans), key=key.identity,
                walks=key.walks, length=1.0, made=value.contributions, origins=(key.origin, *value.origins),
                keys=key.drawn,
            )  # fmt: skip
        case ("Let", (_, body)):
            return body
        case ("If", (condition, body)):
            counts = tuple(count * condition.probability for count in body.counts)
            return body._replace(
                identity=identity, interval=body.interval.hull(Interval(0, 0)), counts=counts,
                length=counts[0] if counts else 1.0, made=body.contributions * condition.probability,
                is_one_by_one=True, chosen=condition.surprise,
                keys=body.keys.where(condition.drawn) if body.keys and condition.drawn else None,
            )  # fmt: skip
        case _:
            return _loop(constructor, text, children, binders, identity, symbols)


def is_by_library(function: str, arguments: Sequence[Estimate]) -> bool:
    """Return whether a library computes a function of ``arguments``; small powers are products."""
    if function == "power":
        exponent = arguments[1].interval
        return not (exponent.low == exponent.high and exponent.within(*SMALL_POWERS))
    return function in ONE_BY_ONE


def _sampled(text: str, sides: Sequence[Estimate], both: Sample, known: float) -> float:
    """Return how likely a comparison holds, as drawn; what is never drawn is no likelier than ``known``."""
    left, right = (side.drawn for side in sides)
    if text != "equal" or left is None or right is None:
        found = both.mean()
        return known if found is None else found
    found = sampling.agreement(left, right)
    return known if found is None else found or min(known, 1 / sampling.SIZE)


def _loop(
    constructor: str,
    semiring: str,
    children: Sequence[Estimate],
    binders: Sequence[int],
    identity: Hashable,
    symbols: Symbols,
) -> Estimate:
    body = children[-1]
    if constructor == "Reduce" or not body.counts:
        in_lanes = (
            (constructor, semiring) == ("Sum", "plus_times")
            and not body.is_one_by_one
            and body.scattered.isdisjoint(binders)
        )
        return Estimate(identity, is_one_by_one=True, in_lanes=in_lanes)
    own: list[Hashable] = []
    if constructor == "Sum":
        distinct = 2 if is_distinct(children[0].array, children[0].boundary, symbols) else 1
        own = [("Var", binder) for binder in binders[:distinct]]
    is_unique = body.key in own or (constructor == "Sum" and not body.walks.isdisjoint(binders))
    return repeated(body, iterations(constructor, children), is_unique, identity)


def iterations(constructor: str, children: Sequence[Estimate]) -> float:
    """Return how often the body of a loop is evaluated, each time the loop is."""
    match constructor:
        case "Merge":
            left, right = children[0], children[1]
            domain = min(span(left.elements), span(right.elements))
            return common((left.length, right.length), left.value_origin, right.value_origin, domain)
        case "Find":
            source, key = children[0], children[1]
            return matches(source.length, source.distinct, source.value_origin, key.origin)
        case _:
            return children[0].length


def repeated(body: Estimate, times: float, unique: bool, identity: Hashable) -> Estimate:
    """Return the union of ``times`` dictionaries like ``body``."""
    counts: list[float] = []
    domain = 1.0
    for depth, (count, keys) in enumerate(zip(body.counts, body.spans, strict=True)):
        domain *= keys
        drawn = times * count
        counts.append(drawn if unique or math.isinf(domain) else _occupied(drawn, domain))
        if depth and counts[depth] < counts[depth - 1]:
            counts[depth] = counts[depth - 1]
    return Estimate(
        identity, counts=tuple(counts), spans=body.spans, length=counts[0], made=times * body.contributions,
        origins=body.origins, keys=body.keys,
    )  # fmt: skip


def _occupied(drawn: float, domain: float) -> float:
    return domain * -math.expm1(-drawn / domain) if domain > 0 else 0.0


def _arithmetic(constructor: str, text: str, a: Estimate, b: Estimate, identity: Hashable) -> Estimate:
    if a.counts or b.counts:
        return _of_dictionaries(constructor, a, b, identity)
    scattered, is_one_by_one = a.scattered | b.scattered, a.is_one_by_one or b.is_one_by_one
    if text not in ("index", "plus_times"):
        return Estimate(identity, scattered=scattered, is_one_by_one=is_one_by_one)
    sample = sampling.applied(constructor, (a.drawn, b.drawn))
    if constructor == "Mul":
        interval = _product(a.interval, b.interval)
        return Estimate(
            identity, interval, (identity, 0), varies=a.varies | b.varies, sample=sample, scattered=scattered,
            is_one_by_one=is_one_by_one,
        )  # fmt: skip
    low = None if a.interval.low is None or b.interval.low is None else a.interval.low + b.interval.low
    high = None if a.interval.high is None or b.interval.high is None else a.interval.high + b.interval.high
    offset = (identity, 0)
    for term, constant in ((a, b), (b, a)):
        if constant.offset is not None and constant.offset[0] is None and term.offset is not None:
            offset = (term.offset[0], term.offset[1] + constant.offset[1])
    return Estimate(
        identity, Interval(low, high), offset, varies=a.varies | b.varies, walks=a.walks | b.walks,
        sample=sample, scattered=scattered, is_one_by_one=is_one_by_one,
    )  # fmt: skip


def _product(a: Interval, b: Interval) -> Interval:
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return ANY
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return wrapped(Interval(min(corners), max(corners)))


def _of_dictionaries(constructor: str, a: Estimate, b: Estimate, identity: Hashable) -> Estimate:
    if not a.counts or not b.counts:
        whole = a if a.counts else b
        return whole._replace(identity=identity, is_array=False, stored=False)
    if constructor == "Add":
        counts = tuple(x + y for x, y in zip(a.counts, b.counts, strict=False))
        spans = _united(a.spans, b.spans, counts)
        made = a.contributions + b.contributions
    else:
        counts = tuple(map(min, a.counts, b.counts))
        spans = tuple(map(min, a.spans, b.spans))
        made = counts[-1]
    return Estimate(identity, counts=counts, spans=spans, length=counts[0], made=made)


def _united(one: Sequence[float], other: Sequence[float], counts: Sequence[float]) -> tuple[float, ...]:
    """Return how many keys a union may have at each depth: as many as a side may, and as there are."""
    above = (1.0, *counts)
    present = (count / max(1.0, parents) for count, parents in zip(counts, above, strict=False))
    return tuple(map(max, one, other, present))


def _range(low: Estimate, high: Estimate, symbols: Symbols, identity: Hashable) -> Estimate:
    first, last = middle(low.interval), middle(high.interval)
    loop = None if low.drawn is None or high.drawn is None else LoopSample(low.drawn, high.drawn)
    length = loop.length() if loop is not None and loop.around else None
    if length is None and low.interval.low is not None and high.interval.high is not None:
        all_ = high.interval.high - low.interval.low
        length = segment_length(all_, low.boundary, high.boundary, symbols)
    if length is None:
        length = UNKNOWN_LENGTH if first is None or last is None else max(0.0, last - first)
    top = None if high.interval.high is None else high.interval.high - 1
    elements = Interval(low.interval.low, top)
    return Estimate(
        identity, is_array=True, length=length, elements=elements, positions=elements,
        distinct=max(1.0, length), counts=(length,), spans=(span(elements),), loop=loop,
    )  # fmt: skip


def _slice(array: Estimate, low: Estimate, high: Estimate, symbols: Symbols, identity: Hashable) -> Estimate:
    length = segment_length(array.length, low.boundary, high.boundary, symbols)
    if length is None:
        length = _range(low, high, symbols, identity).length
    length = min(length, array.length)
    loop = None
    if low.drawn is not None and high.drawn is not None:
        loop = LoopSample(low.drawn, high.drawn, array.data)
    top = None if high.interval.high is None else high.interval.high - 1
    positions = Interval(low.interval.low, top).meet(array.positions)
    distinct = None if array.distinct is None else max(1.0, min(length, array.distinct))
    return array._replace(
        identity=identity, length=length, distinct=distinct, positions=positions, counts=(length,),
        spans=array.spans, boundary=low.boundary, loop=loop,
    )  # fmt: skip


def _element(array: Estimate, key: Estimate, symbols: Symbols) -> Interval:
    """Return the interval of an element of an array, the first and the last of which may be known."""
    fact = symbols.get(array.array or "")
    if not isinstance(fact, ArraySymbol):
        return array.elements
    position = key.interval.low if key.interval.low == key.interval.high else None
    known = fact.first if position == 0 else fact.last if position == fact.length - 1 else None
    return array.elements if known is None else Interval(known, known)


def _lookup(mapping: Estimate, key: Estimate, symbols: Symbols, identity: Hashable) -> Estimate:
    if mapping.is_array:
        boundary = None
        if mapping.array is not None and key.offset is not None:
            boundary = Boundary(mapping.array, *key.offset, key.origin)
        sample = None
        if mapping.data is not None and key.drawn is not None:
            sample = sampling.read(mapping.data, key.drawn)
        return Estimate(
            identity, _element(mapping, key, symbols), (identity, 0), boundary, varies=key.varies,
            origins=mapping.origins[1:], sample=sample, scattered=(key.varies - key.walks) | key.scattered,
        )  # fmt: skip
    parents = max(1.0, mapping.counts[0]) if mapping.counts else 1.0
    counts = tuple(count / parents for count in mapping.counts[1:])
    return Estimate(
        identity, counts=counts, spans=mapping.spans[1:], length=counts[0] if counts else 1.0,
        stored=mapping.stored, origins=mapping.origins[1:], scattered=key.varies - key.walks,
    )  # fmt: skip
