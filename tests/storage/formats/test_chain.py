from __future__ import annotations

import pytest

from storel.errors import FormatError
from storel.source import Source
from storel.storage.formats.chain import Chain, ChainGuard, ChainLoop, chains
from storel.syntax.nodes.expressions import Binary, Call, Expression, Name, Number, Unary
from storel.syntax.parser import parse_expression

ZERO = Number(0)
LOOP = ChainLoop("p 0", ZERO, Name("m"))


def expression(text: str) -> Expression:
    return parse_expression(Source("test", text))


CHAINS: list[tuple[str, list[Chain]]] = [
    (
        "sum(<i, _> in 0:m) { i -> sum(<p, j> in idx(0:m)) { j -> val(p) } }",
        [
            Chain(
                (ChainLoop("p 0", ZERO, Name("m")), ChainLoop("p 1", ZERO, Name("m"), "idx", "x 1")),
                (Name("p 0"), Name("x 1")),
                Call(Name("val"), (Name("p 1"),)),
            )
        ],
    ),
    (
        "sum(<i, _> in 0:m, <i2, _> in i:m) if (i < i2) then { (i, i2) -> 1 }",
        [
            Chain(
                (
                    ChainLoop("p 0", ZERO, Name("m")),
                    ChainLoop("p 1", Name("p 0"), Name("m")),
                    ChainGuard(Binary("<", Name("p 0"), Name("p 1"))),
                ),
                (Name("p 0"), Name("p 1")),
                Number(1),
            )
        ],
    ),
    (
        "sum(<i, v> in 0:m) (let a = v in { a -> 1 }) + sum(<i, _> in 0:m) { i -> i }",
        [
            Chain((ChainLoop("p 0", ZERO, Name("m")),), (Name("p 0"),), Number(1)),
            Chain((ChainLoop("p 1", ZERO, Name("m")),), (Name("p 1"),), Name("p 1")),
        ],
    ),
    # what is taken away is a chain, too; a difference of numbers is one value
    (
        "sum(<i, _> in 0:m) (-({ i -> val(i) } - { i -> i - 1 }))",
        [
            Chain((LOOP,), (Name("p 0"),), Unary("-", Call(Name("val"), (Name("p 0"),)))),
            Chain((LOOP,), (Name("p 0"),), Binary("-", Name("p 0"), Number(1))),
        ],
    ),
    # an inner binder hides the outer one
    (
        "sum(<i, _> in 0:m) { i -> sum(<i, _> in 0:i) { i -> i } }",
        [
            Chain(
                (ChainLoop("p 0", ZERO, Name("m")), ChainLoop("p 1", ZERO, Name("p 0"))),
                (Name("p 0"), Name("p 1")),
                Name("p 1"),
            )
        ],
    ),
]


@pytest.mark.parametrize(("text", "expected"), CHAINS)
def test_a_mapping_is_a_sum_of_chains(text: str, expected: list[Chain]) -> None:
    def plain(chain: Chain) -> object:
        steps = [
            (step.position, step.low, step.high, step.array, step.array and step.element)
            if isinstance(step, ChainLoop)
            else step
            for step in chain.steps
        ]
        return steps, chain.keys, chain.leaf

    assert [plain(chain) for chain in chains(expression(text))] == [plain(chain) for chain in expected]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sum(<(i, j), v> in T) { i -> v }", "with one key each"),
        ("sum(<i, v> in T) { i -> v }", "a mapping sums over a range or a sub-array"),
    ],
)
def test_other_sources_are_refused(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        chains(expression(text))
