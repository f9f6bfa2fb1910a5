"""Rows that are sums over prefixes go on from the row before.

    for i in O { for p in 0:n { y[r n + p] = c }; for j in l:h(i) { … y[r n + k] += e(j, k) … }; … }
      =  d = l; for i in O {
             if low < i { for p in 0:n { y[r n + p] = y[r n + p - n] } } else { for p … };
             for j in d:h(i) { … y[r n + k] += e(j, k) … }; d = max(d, h(i)); … }

    for i in O { for p in 0:n { s = c; for j in l:h(i) { s = s + e(j, p) }; y[r n + p] = s }; … }
      =  d = l; for i in O {
             for p in 0:n { s = c; if low < i { s = y[r n + p - n] }; for j in d:h(i) { … }; y[r n + p] = s };
             d = max(d, h(i)); … }

where r grows by one with i, e does not depend on i, h does not fall, and nothing else touches y; low is
where i begins. Each element is added up in the order in which it was: it is the same to the last bit. So a
cumulative sum along any dimension takes as many steps as there are elements (the last: ``prefixes.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from itertools import count

from storel.loops.dependence import assigned, changing, declared, is_fixed, start_of, step
from storel.loops.nodes import (
    Assign,
    Binary,
    Constant,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    Load,
    Local,
    Role,
    Statement,
    Store,
    Update,
    While,
)
from storel.loops.passes.prefixes import constant_buffers, grows, read, written
from storel.loops.walk import all_parts, evaluated, walk
from storel.scalars import ScalarType


def accumulate_rows(kernel: Kernel) -> Kernel:
    """Return the same kernel with rows that are sums over prefixes carried from one to the next."""
    body = kernel.compute.body
    taken = {local.name for local in (*kernel.compute.scalars, *declared(body))}
    made = _block(body, (name for n in count(1) if (name := f"done_rows_{n}") not in taken))
    return replace(kernel, compute=replace(kernel.compute, body=made))


def carries(loop: For) -> bool:
    """Return whether iterations of a loop hand on a row."""
    return any(_handed_on(loop, place, statement) is not None for place, statement in enumerate(loop.body))


def _block(body: tuple[Statement, ...], fresh: Iterator[str]) -> tuple[Statement, ...]:
    return tuple(made for statement in body for made in _statement(statement, fresh))


def _statement(statement: Statement, fresh: Iterator[str]) -> tuple[Statement, ...]:
    match statement:
        case For(body=body):
            return _carried(replace(statement, body=_block(body, fresh)), fresh)
        case While(body=body):
            return (replace(statement, body=_block(body, fresh)),)
        case If(_, body, otherwise):
            made = replace(statement, body=_block(body, fresh), otherwise=_block(otherwise, fresh))
            return (made,)
        case _:
            return (statement,)


def _carried(outer: For, fresh: Iterator[str]) -> tuple[Statement, ...]:
    """Return a loop whose iterations hand on a row, behind what that begins with, if they can."""
    for place, statement in enumerate(outer.body):
        made = _handed_on(outer, place, statement)
        if made is not None:
            done = Local(next(fresh), ScalarType.INT64)
            again = _from(made.again, made.prefix, done)
            reached = Assign(done, Binary("maximum", done, made.prefix.high))
            body = (*outer.body[:place], *again, reached, *outer.body[place + len(made.again) :])
            return (Declare(done, made.prefix.low), replace(outer, body=body))
    return (outer,)


@dataclass(frozen=True, slots=True)
class _Rows:
    """What takes the place of as many statements, and the loop in it that need not begin where it does."""

    again: tuple[Statement, ...]
    prefix: For


def _handed_on(outer: For, place: int, statement: Statement) -> _Rows | None:
    """Return how what a statement begins goes on from the iteration before."""
    return _added_to(outer, place, statement) or _made_at_once(outer, place, statement)


def _from(body: tuple[Statement, ...], prefix: For, low: Expression) -> tuple[Statement, ...]:
    """Return the same statements with a loop in them beginning at ``low``."""
    return tuple(
        replace(prefix, low=low)
        if each is prefix
        else replace(each, body=_from(each.body, prefix, low))
        if isinstance(each, For)
        else each
        for each in body
    )


def _added_to(outer: For, place: int, cleared: Statement) -> _Rows | None:
    """Return how a row goes on that is cleared here, and then added to by one loop over a growing prefix."""
    match cleared:
        case For(_, _, _, (Store(buffer, index, Constant()) as store,)):
            row = _row(outer, cleared, index)
        case _:
            return None
    if row is None:
        return None
    for position, inner in enumerate(outer.body[place + 1 :], place + 1):
        if not isinstance(inner, For) or buffer not in written((inner,)):
            continue
        between = outer.body[place + 1 : position]
        others = (*outer.body[:place], *between, *outer.body[position + 1 :])
        is_alone = written(inner.body) == {buffer} and _is_untouched(store, outer, others)
        own = {inner.local, *declared(inner.body)}
        added = list(_beside_rows(inner.body, row.start))
        if not is_alone or None in added or set(assigned(inner.body)) - own:
            return None
        if not _is_prefix(outer, inner, [each for each in added if each is not None], own):
            return None
        copied = replace(cleared, body=(replace(store, value=row.before(store)),))
        goes_on = If(Binary("less", outer.low, outer.local), (copied,), (cleared,))
        return _Rows((goes_on, *between, inner), inner)
    return None


def _made_at_once(outer: For, place: int, loop: Statement) -> _Rows | None:
    """Return how a row goes on of which each element is added up in a local, over a growing prefix."""
    match loop:
        case For(local, _, _, (*before, For() as inner, Store(_, index, Local() as total) as store)):
            row = _row(outer, loop, index)
        case _:
            return None
    own = {inner.local, *declared(inner.body)}
    begun = [each for each in before if isinstance(each, Declare)]
    first = next((each for each in begun if each.local == total), None)
    if row is None or first is None or len(begun) < len(before) or total.type != store.buffer.type:
        return None
    others = (*outer.body[:place], inner, *outer.body[place + 1 :])
    if not _is_untouched(store, outer, others) or written((inner,)):
        return None
    if set(assigned(inner.body)) - own != {total}:
        return None
    moving, constant = changing(outer), constant_buffers(outer)
    along = {local}  # what depends on the place in the row only
    for each in begun:
        if each is not first and is_fixed(each.value, moving - along, constant):
            along.add(each.local)
    if not is_fixed(first.value, moving, constant) or not _is_prefix(
        outer, inner, read(inner.body), {*own, *along, total}
    ):
        return None
    goes_on = If(Binary("less", outer.low, outer.local), (Assign(total, row.before(store)),))
    if step(inner.high, {outer.local: 1}) == 1:  # one element at a time fills no lanes
        inner = replace(inner, reductions=(), partial=None)
    return _Rows((replace(loop, body=(*before, goes_on, inner, store), in_lanes=False),), inner)


@dataclass(frozen=True, slots=True)
class _Row:
    """Where the row of an iteration starts, its length, and whether the next one lies behind it."""

    start: Expression
    length: Expression
    is_ascending: bool

    def before(self, store: Store) -> Load:
        """Return what was stored at the same place of the row before."""
        operator = "subtract" if self.is_ascending else "add"
        return Load(store.buffer, Binary(operator, store.index, self.length))


def _row(outer: For, loop: For, index: Expression) -> _Row | None:
    """Return the row that a loop goes through, if its number moves by one with the loop around."""
    start = start_of(index, loop.local)
    match loop.low, start:
        case Constant(0), Binary("multiply", number, factor) if factor == loop.high:
            steps: dict[Local, int | None] = {**dict.fromkeys(changing(outer), None), outer.local: 1}
            for each in outer.body:
                if isinstance(each, Declare):
                    steps[each.local] = step(each.value, steps)
            by = step(number, steps)
            stays = is_fixed(loop.high, changing(outer), constant_buffers(outer))
            is_begun = is_fixed(outer.low, changing(outer), set())
            return _Row(start, factor, by == 1) if by in (1, -1) and stays and is_begun else None
        case _:
            return None


def _is_untouched(store: Store, outer: For, others: tuple[Statement, ...]) -> bool:
    """Return whether nothing else in a loop changes what is stored to, and nothing at all reads it."""
    return store.buffer not in written(others) and not any(
        isinstance(each, Load) and each.buffer == store.buffer for each in read(outer.body)
    )


def _is_prefix(outer: For, inner: For, added: Iterable[Expression], own: Set[Local]) -> bool:
    """Return whether a loop is over a growing prefix, and what it adds is the same each time.

    ``own`` are the locals of it that say which element is meant.
    """
    moving, constant = changing(outer), constant_buffers(outer)
    return (
        inner.role == Role.LOOP
        and is_fixed(inner.low, moving, constant)
        and grows(inner.high, outer.local, moving, constant)
        and all(
            part.buffer in constant if isinstance(part, Load) else part in own or part not in moving
            for part in all_parts(added)
            if isinstance(part, Load | Local)
        )
    )


def _beside_rows(body: tuple[Statement, ...], start: Expression) -> Iterator[Expression | None]:
    """Yield what a body evaluates, of the places in a row that begins at ``start`` how far in; else None."""
    for statement in walk(body):
        match statement:
            case Update(_, Binary("add", left, right), _, value) if left == start:
                yield from (right, value)
            case Store() | Update():
                yield None
            case _:
                yield from evaluated(statement)
