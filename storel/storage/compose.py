"""Storage mappings inlined into a program: syntax tree to syntax tree.

A reference to a stored tensor becomes ``Mapped``: the mapping of its format, with the array ``idx`` of tensor
``C`` called ``C_idx`` and its sizes called after the first tensor that has an extent of that value, so
that loops over equal extents are equal, also those whose ends the program writes as numbers. A reference
to a view becomes the view's own, composed expression. ``Mapped`` is closed but for arrays and sizes:
nothing around it can capture its names.

Uses of a tensor may be stored otherwise than the rest: ``A@1,3`` stands for the first and the third one of
``A``, in the order of the text in which each view is written out where it is used first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from storel.errors import ProgramSyntaxError
from storel.semiring import SEMIRINGS
from storel.storage.facts import lies_as_arrays_do, symbols_of
from storel.storage.tensor import Tensor
from storel.symbols import ArraySymbol, Fact, SizeSymbol, Symbols
from storel.syntax.bits import expand_bits
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Expression, Extent, Mapped, Name, Number, Range
from storel.syntax.substitution import rename
from storel.syntax.walk import map_scoped


@dataclass(frozen=True, slots=True)
class StoredMapping:
    """The mapping of a stored tensor, and the extents that its keys are within.

    ``makes_keys_once`` says that no entry is made twice. Of nests it is not said: rules see it.
    """

    mapped: Mapped
    extents: tuple[int, ...]
    makes_keys_once: bool


@dataclass(frozen=True, slots=True)
class Composed:
    """A program with its storage, and the facts about every name that it leaves free.

    ``unsigned`` are the tensors that may not hold negative numbers, each with the semiring that says so;
    ``mappings`` are those of stored tensors of which more is known than is evident, ``uses`` says how often
    each is used, ``opened`` are those whose arrays the program reads itself, so that these must stay what
    they are, and ``dense`` the arrays of those that are arrays in memory.
    """

    expression: Expression
    symbols: Symbols
    unsigned: Mapping[str, str]
    mappings: tuple[StoredMapping, ...] = ()
    uses: Mapping[str, int] = field(default_factory=dict[str, int])
    opened: frozenset[str] = frozenset()
    dense: frozenset[str] = frozenset()


DEEPEST = 200
"""How deep an expression may be with what is inlined: every later pass follows it by recursion."""


@dataclass(frozen=True, slots=True)
class View:
    """A definition that is inlined: its expression, its extents, and the sizes that its type names."""

    expression: Expression
    extents: tuple[int, ...]
    semiring: str
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])


def compose(view: View, views: Mapping[str, View], tensors: Mapping[str, Tensor], facts: Symbols) -> Composed:
    """Inline the mappings of ``tensors`` and the definitions ``views``.

    Uses that are among ``tensors`` by a name of their own take that one's mapping. ``facts`` are about the
    names that stay: raw arrays, parameters, sizes.
    """
    named = {(operand_of(name), number): name for name in tensors for number in uses_in(name)}
    composer = _Composer(views, tensors, dict(facts), named)
    expression = composer.with_sizes(composer.definition(view), frozenset())
    return Composed(
        expression,
        composer.symbols,
        composer.unsigned,
        composer.mappings(),
        composer.uses,
        frozenset(composer.opened),
        frozenset(composer.dense()),
    )


def _are_bounded(tensor: Tensor, name: str) -> bool:
    """Return whether bounds are declared of all keys and positions that a tensor stores."""
    facts = symbols_of(tensor, name).values()
    return all(
        each.high is not None for each in facts if isinstance(each, ArraySymbol) and each.holds_indices
    )


def name_of_uses(operand: str, numbers: Iterable[int]) -> str:
    """Return what some uses of a tensor are called together, which no program can spell.

    >>> name_of_uses("A", (1, 3)), operand_of("A@1,3"), uses_in("A@1,3"), uses_in("A")
    ('A@1,3', 'A', ('1', '3'), ())
    """
    return f"{operand}@{','.join(map(str, numbers))}"


def operand_of(name: str) -> str:
    """Return the tensor whose uses a name stands for; the tensor's own name is for uses without another."""
    return name.partition("@")[0]


def uses_in(name: str) -> tuple[str, ...]:
    """Return the numbers in a name of uses, none for that of a tensor."""
    _, _, numbers = name.partition("@")
    return tuple(numbers.split(",")) if numbers else ()


def unsigned_names(expression: Expression, semiring: str) -> dict[str, str]:
    """Return the free names of an expression over a semiring without negative numbers, each with that."""
    return {} if SEMIRINGS[semiring].has_negatives else dict.fromkeys(free_names(expression), semiring)


@dataclass
class _Composer:
    views: Mapping[str, View]
    tensors: Mapping[str, Tensor]
    symbols: dict[str, Fact]
    named_uses: Mapping[tuple[str, str], str]
    unsigned: dict[str, str] = field(default_factory=dict[str, str])
    uses: dict[str, int] = field(default_factory=dict[str, int])
    opened: set[str] = field(default_factory=set[str])
    _extents: dict[int, str] = field(default_factory=dict[int, str])
    _mapped: dict[str, Mapped] = field(default_factory=dict[str, Mapped])
    _depth: int = 0

    def definition(self, view: View) -> Expression:
        """Compose the expression of one definition; the sizes that its type binds become symbols."""
        self.unsigned |= unsigned_names(view.expression, view.semiring)
        sizes = {name: self._size(name, value) for name, value in view.sizes.items()}
        return self.expression(rename(view.expression, sizes), frozenset())

    def with_sizes(self, node: Expression, bound: frozenset[str]) -> Expression:
        """Replace constant ends of the program's own ranges by the names of extents of equal value.

        A name that is ``bound`` around ``node`` stands for something else there. Stored mappings stay: that a
        block is as wide as some tensor says nothing.
        """
        match node:
            case Mapped(name) if name in self.tensors:
                return node
            case Mapped(_, mapping):
                return replace(node, mapping=self.with_sizes(mapping, frozenset()))
            case Range(low, Number(int(value))) if self._extents.get(value, "") not in {"", *bound}:
                return replace(node, low=self.with_sizes(low, bound), high=Name(self._extents[value]))
            case _:
                return map_scoped(node, bound, self.with_sizes)

    def dense(self) -> Iterator[str]:
        """Yield the arrays of tensors that are arrays in memory."""
        for name in self._mapped:
            tensor = self.tensors.get(name)
            if tensor is not None and lies_as_arrays_do(tensor):
                yield from (f"{name}_{array}" for array in tensor.arrays)

    def mappings(self) -> tuple[StoredMapping, ...]:
        """Return the mappings of which there is more to know than is evident, as it is of most nests."""
        stored = ((name, self.tensors.get(name)) for name in self._mapped)
        return tuple(
            StoredMapping(
                self._mapped[name], tensor.shape, tensor.signature is None and tensor.makes_keys_once
            )
            for name, tensor in stored
            if tensor is not None and not (tensor.signature is not None and _are_bounded(tensor, name))
        )

    def expression(self, node: Expression, bound: frozenset[str]) -> Expression:
        """Replace the tensors that ``node`` names, but for names that are ``bound`` around it.

        Raises ProgramSyntaxError where definitions are inlined into each other too deeply.
        """
        self._depth += 1
        if self._depth > DEEPEST:
            raise ProgramSyntaxError(
                "the definitions that this one is made of are nested too deeply",
                expected=f"at most {DEEPEST} levels",
                span=node.span,
                hint="SAVE a tensor on the way, and LOAD it in another script",
            )
        try:
            match node:
                case Name(name) if name not in bound:
                    return self._reference(node, name)
                case Extent(Name(name), dimension) if name not in bound:
                    return self._extent(name, dimension, bound)
                case Mapped():
                    return node
                case _:
                    return map_scoped(node, bound, self.expression)
        finally:
            self._depth -= 1

    def _reference(self, node: Name, name: str) -> Expression:
        if name in self.tensors:
            name = self._next_use(name)
        if name not in self._mapped:
            if name in self.tensors:
                self._mapped[name] = self._stored(name, self.tensors[name])
            elif name in self.views:
                view = self.views[name]
                self._mapped[name] = Mapped(name, self.definition(view), view.semiring)
            else:
                self._note_array_of_a_tensor(name)
                return node
        return replace(self._mapped[name], span=node.span)

    def _next_use(self, name: str) -> str:
        """Return the name that the next use of a tensor goes by: its own, if it is stored as most are."""
        number = self.uses[name] = self.uses.get(name, 0) + 1
        return self.named_uses.get((name, str(number)), name)

    def _note_array_of_a_tensor(self, name: str) -> None:
        """Note the facts about ``A_pos`` where a program reads the arrays of a tensor A itself."""
        for prefix, tensor in self.tensors.items():
            if name.startswith(f"{prefix}_") and isinstance(
                fact := symbols_of(tensor, prefix).get(name), ArraySymbol
            ):
                self.symbols[name] = fact
                self.opened.add(prefix)

    def _stored(self, name: str, tensor: Tensor) -> Mapped:
        """Return the mapping of a stored tensor under names of its own, but for extents that have one."""
        self.symbols.update(symbols_of(tensor, name))
        names = {each.name: f"{name}_{each.name}" for each in tensor.storage.arrays}
        names |= {size: f"{name}_{size}" for size in tensor.sizes}
        for extent in tensor.storage.extents:
            chosen = self._size(names[extent], tensor.sizes[extent])
            if chosen != names[extent]:
                del self.symbols[names[extent]]
            names[extent] = chosen
        mapping = expand_bits(rename(tensor.storage.mapping, names), names.values())
        return Mapped(name, mapping, tensor.semiring, tensor.has_natural_keys)

    def _size(self, name: str, value: int) -> str:
        """Return the name that stands for an extent of this value."""
        chosen = self._extents.setdefault(value, name)
        self.symbols.setdefault(chosen, SizeSymbol(chosen, value))
        return chosen

    def _extent(self, name: str, dimension: int, bound: frozenset[str]) -> Expression:
        """Return an extent by the name that it has as the end of loops, which then are seen to be equal."""
        if name in self.tensors:
            tensor = self.tensors[name]
            value = tensor.shape[dimension]
            chosen = self._size(f"{name}_{tensor.storage.extents[dimension]}", value)
        else:
            value = self.views[name].extents[dimension]
            chosen = self._extents.get(value)
        return Number(value) if chosen is None or chosen in bound else Name(chosen)
