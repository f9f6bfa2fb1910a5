"""Rules that a program makes are checked as those of a file are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import storel
from storel.errors import StorelError
from storel.optimizer.rules.patterns import Bound, Hole, Node
from storel.optimizer.rules.rulefile import Guard, Rule, RuleSet, shipped

A, B = Hole("a"), Hole("b")
PRODUCT = Node("Mul", ("s", A, B))
TURNED = Node("Mul", ("s", B, A))
INNER = Node("Sum", ("s", A, Bound("l"), Bound("v"), B))
BROKEN: Any = "no rule"


def planned(*rules: Rule) -> storel.Kernel:
    ruleset = RuleSet((*shipped().rules, *rules))
    return storel.compile("CREATE TENSOR y AS sum(<i, v> in x) v * v", x=np.ones(3), rules=ruleset)


def test_a_rule_that_means_something_is_taken() -> None:
    squares = planned(Rule("mine", PRODUCT, TURNED))(x=np.ones(3))
    assert isinstance(squares, storel.Tensor) and float(squares) == 3


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Rule("x", A, A), "the left side matches every term"),
        (Rule("x", PRODUCT, Node("Mul", ("s", A, Hole("c")))), "?c occurs on the right only"),
        (Rule("x", PRODUCT, Bound("k")), "k is bound by no loop"),
        (Rule("x", Node("Sum", ("s", A, Bound("k"), Bound("k"), B)), B), "k is bound twice"),
        (Rule("x", Node("Sum", ("s", A, Bound("k"), Bound("v"), INNER)), B), "v is bound twice"),
        (Rule("x", Node("Times", (A, B)), A), "this is no pattern"),
        (Rule("x", Node("Var", (1,)), A), "this is no pattern"),
        (Rule("x", Node("Mul", ("s", A)), A), "Mul has the wrong number of arguments"),
        (Rule("x", Node("Mul", (A, "s", B)), A), "Mul holds something else"),
        (Rule("x", Node("Sum", ("s", A, Hole("k"), Bound("v"), B)), B), "Sum holds something else"),
        (Rule("x", PRODUCT, Node("Int", (1 << 63,))), "Int holds something else"),
        (Rule("x", Node("Apply1", ("maximum", A)), A), "maximum has the wrong number of arguments"),
        (Rule("x", Node("Apply2", ("min", A, B)), A), "there is no function min"),
        (Rule("x", Node("Look", ("s", Bound("exp"), A)), A), "exp is bound by no loop"),
        (Rule("x", Node("Mul", ("s", Hole("a b"), B)), B), "this is no pattern"),
        (Rule("x", PRODUCT, BROKEN), "this is no pattern"),
        (Rule("x", PRODUCT, TURNED, (Guard("quick", (A,)),)), "there is no guard quick"),
        (Rule("x", PRODUCT, TURNED, (Guard("linear", (A,)),)), "linear has the wrong number of arguments"),
        (Rule("x", PRODUCT, TURNED, (BROKEN,)), "this is no guard"),
        (Rule("x", PRODUCT, TURNED, (), frozenset({"fast"})), "there is no tag @fast"),
        (Rule("x", PRODUCT, TURNED, (), BROKEN), "its name, its guards or its tags are none"),
        (Rule("x) (y", PRODUCT, TURNED), "its name, its guards or its tags are none"),
        (Rule("sum-factor", PRODUCT, TURNED), "two rules are called sum-factor"),
        (BROKEN, "a RuleSet holds rules"),
    ],
)
def test_a_rule_without_a_meaning_is_an_error(rule: Rule, message: str) -> None:
    with pytest.raises(StorelError) as caught:
        planned(rule)
    assert message in caught.value.message
