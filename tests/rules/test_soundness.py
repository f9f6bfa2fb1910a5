"""Every shipped rule keeps the value, and wrong rules are found out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storel.optimizer.encoding.debruijn import DE_BRUIJN
from storel.optimizer.rules import rulefile
from storel.optimizer.rules.rulefile import Rule
from storel.optimizer.rules.translate import translate
from storel.soundness.check import check

RULES = {rule.name: rule for rule in rulefile.shipped().rules}


@pytest.mark.parametrize("name", sorted(RULES))
def test_sound(name: str) -> None:
    """A rule that fires for none of the instances fails, too."""
    for examples in (25, 100, 300, 1000):
        verdict = check(RULES[name], examples)
        assert verdict.counterexample is None, str(verdict.counterexample)
        if verdict.applied > 0:
            return
    raise AssertionError(f"{name} never applied")


MOVING = [name for name, rule in sorted(RULES.items()) if "(Shift" in translate(rule, DE_BRUIJN)]


@pytest.mark.parametrize("name", MOVING)
def test_sound_with_indices(name: str) -> None:
    """Rules that move terms across binders take operators where binders are indices."""
    for examples in (10, 50, 300):
        verdict = check(RULES[name], examples, DE_BRUIJN)
        assert verdict.counterexample is None, str(verdict.counterexample)
        if verdict.applied > 0:
            break


WRONG = """
rule no-guard-for-linear: sum(<k, v> in ?R + ?S) ?b  =>  sum(<k, v> in ?R) ?b + sum(<k, v> in ?S) ?b
rule no-guard-for-ranks: ?a * ?b + ?a * ?c  =>  ?a * (?b + ?c)
rule no-guard-for-order:
  sum(<p, x> in ?S) find(<q> in ?S at x) ?b  =>  sum(<p, x> in ?S) let q = p in ?b
rule no-guard-for-one-order:
  sum(<p, x> in ?S) sum(<q, y> in ?T) if x == y then ?b  =>  merge(<p, q, x> in <?S, ?T>) let y = x in ?b
  if increasing(?S), array(?T)
rule too-weak-a-guard-for-order:
  sum(<p, x> in ?S) sum(<q, y> in ?T) if x == y then ?b  =>  merge(<p, q, x> in <?S, ?T>) let y = x in ?b
  if ascending(?S), ascending(?T)
rule no-guard-for-ascent: sum(<p, y> in ?S) if y == ?e then ?b  =>  find(<p> in ?S at ?e) let y = ?e in ?b
  if array(?S), integer(?e)
rule no-guard-for-strictness: sum(<k, v> in {?e -> ?x}) ?b  =>  let k = ?e in let v = ?x in ?b
rule no-guard-for-rank: ?a * {?k -> ?b}  =>  {?k -> ?a * ?b}
rule absorption: ?a + ?a * ?b  =>  ?a
rule product-as-sum @index: ?a * ?b  =>  ?a + ?b
rule sum-of-a-constant: sum(<k, v> in ?lo:?hi) ?a  =>  (?hi - ?lo) * ?a
rule quotient-of-zero: (?a / ?b) * ?b  =>  ?a
rule product-of-exponentials: exp(?a) * exp(?b)  =>  exp(?a * ?b)
rule root-of-negative: sqrt(?a * ?a)  =>  ?a
rule equal-to-itself-but-nan: if ?a == ?a then ?b  =>  ?b
rule not-less-but-nan: not (?a < ?b)  =>  ?b <= ?a
rule product-of-longer-numbers: int64(?a * ?b)  =>  int64(?a) * int64(?b)
rule longer-part: ?R(?lo:?hi)  =>  ?R(?lo:?hi + 1)
rule difference-of-infinities: ?a * (?b - ?c)  =>  ?a * ?b - ?a * ?c
"""


@pytest.mark.parametrize("rule", rulefile.parse(WRONG), ids=lambda rule: rule.name)
def test_wrong(rule: Rule) -> None:
    """Rules of the kind that published rule sets have held."""
    verdict = check(rule, 500)
    assert verdict.counterexample is not None
    assert "is" in str(verdict.counterexample)


EXCHANGED = """
rule join-exchanged @main:
  sum(<p, x> in ?S) sum(<q, y> in ?T) if x == y then ?b  =>  merge(<p, q, x> in <?T, ?S>) let y = x in ?b
  if increasing(?S), increasing(?T)
rule merge-exchanged @main: merge(<p, q, x> in <?R, ?S>) ?b  =>  merge(<p, q, x> in <?S, ?R>) ?b
rule factor-exchanged @main:
  merge(<p, q, x> in <?R, ?S>) ?a * ?b  =>  ?a * merge(<p, q, x> in <?S, ?R>) ?b
rule lookup-exchanged @normalize:
  (merge(<p, q, x> in <?R, ?S>) ?D)(?e)  =>  merge(<p, q, x> in <?S, ?R>) ?D(?e)
  if dictionary(?D)
"""


@pytest.mark.parametrize("rule", rulefile.parse(EXCHANGED), ids=lambda rule: rule.name)
def test_sources_are_told_apart(rule: Rule) -> None:
    assert check(rule, 300, minimized=False).counterexample is not None


NEEDED = [
    ("sum-identity", {"over"}),
    ("sum-identity", {"over", "dictionary"}),
    ("sum-segments", {"ascending"}),
    ("sum-segments", {"independent"}),
    ("sum-segments-positions", {"less"}),
    ("fuse-find", {"linear"}),
    ("fuse-union", {"linear"}),
    ("fuse-disjoint", {"disjoint"}),
    ("fuse-pairs", {"pairs"}),
    ("fuse-triples", {"triples"}),
    ("factor", {"alike"}),
    ("scale-singleton-left", {"scalar"}),
    ("less-true", {"less"}),
    ("sum-empty-slice", {"less_equal"}),
    ("select-element", {"independent"}),
    ("merge-join", {"increasing"}),
    ("find-element", {"ascending"}),
]
"""Guards of shipped rules without which they are wrong."""


@pytest.mark.parametrize(("name", "dropped"), NEEDED)
def test_guards_that_are_missed(name: str, dropped: set[str]) -> None:
    guards = tuple(guard for guard in RULES[name].guards if guard.name not in dropped)
    assert len(guards) < len(RULES[name].guards)
    wrong = replace(RULES[name], guards=guards)
    assert check(wrong, 300, minimized=False).counterexample is not None


def test_a_rule_that_grows_what_it_applies_to_is_found_out() -> None:
    (rule,) = rulefile.parse("rule grow @simplify: if ?c then ?b  =>  if ?c and ?c then ?b")
    assert "is rewritten again and again, without end" in str(check(rule, 20).counterexample)


SAME_LOOPS = """
rule products: (sum(<k, v> in ?R) ?a) * sum(<k, v> in ?R) ?b  =>  sum(<k, v> in ?R) ?a * ?b
rule forgotten: (sum(<k, v> in ?R) ?a) * sum(<k, v> in ?R) ?b  =>  sum(<k, v> in ?R) ?a
rule added: (sum(<k, v> in ?R) ?a) + sum(<k, v> in ?R) ?b  =>  sum(<k, v> in ?R) ?a
"""


def test_loops_with_the_same_variables_are_made_by_the_rule_itself_or_added() -> None:
    products, forgotten, added = rulefile.parse(SAME_LOOPS)
    assert check(products, 100).counterexample is not None
    assert "does not say all of the left one" in str(check(forgotten, 10))
    assert check(added, 100).counterexample is not None


def test_what_is_an_array_is_no_dictionary() -> None:
    (rule,) = rulefile.parse("rule copy: sum(<k, v> in ?R) {k -> v}  =>  ?R")
    assert "an array, not a dictionary" in str(check(rule, 300).counterexample)


NUMBERS = """
rule double: ?a * 2  =>  ?a + ?a
rule nothing: ?a + 0  =>  ?a
"""


@pytest.mark.parametrize("rule", rulefile.parse(NUMBERS), ids=lambda rule: rule.name)
def test_numbers_are_values(rule: Rule) -> None:
    """What holds of numbers over a ring need not hold over another semiring."""
    verdict = check(rule, 100)
    assert "min_plus" in str(verdict.counterexample)


REALS = """
rule absolute-negated: abs(-?a)  =>  abs(?a)
rule negated-sum @ring: -(?a + ?b)  =>  -?a + -?b
rule greater: ?a > ?b  =>  ?b < ?a
"""


@pytest.mark.parametrize("rule", rulefile.parse(REALS), ids=lambda rule: rule.name)
def test_functions_of_reals(rule: Rule) -> None:
    assert check(rule, 50).is_sound


def test_undefined_stays_undefined() -> None:
    """Where both sides are NaN nothing has changed; where one is, the other is shown."""
    same, other = rulefile.parse("rule same: ?a / 1  =>  float64(?a)\nrule one: ?a / ?a  =>  1")
    assert check(same, 50).is_sound
    assert "0 / 0  is  nan\n  1  is  1" in str(check(other, 50).counterexample)


LENGTHS = """
rule real: float64(?a)  =>  ?a
rule real-at-once @simplify: float64(?a)  =>  ?a
rule short-real: float32(?a)  =>  ?a
rule integer: int64(?a)  =>  ?a  if integer(?a)
rule factor: int64(?a) * ?b  =>  ?a * ?b
rule quotient: ?a / 1  =>  ?a
"""


@pytest.mark.parametrize("rule", rulefile.parse(LENGTHS), ids=lambda rule: rule.name)
def test_a_number_keeps_its_type(rule: Rule) -> None:
    """Else what is made of it is rounded, or wraps around, elsewhere."""
    assert "  is  of type " in str(check(rule, 100).counterexample)


LATER = """
rule sum: int64(?a) + int64(?b)  =>  int64(?a + ?b)
rule loop @ring: sum(<k, v> in ?R) int64(v)  =>  int64(sum(<k, v> in ?R) v)
"""


@pytest.mark.parametrize("rule", rulefile.parse(LATER), ids=lambda rule: rule.name)
def test_sums_of_short_integers_wrap_around(rule: Rule) -> None:
    assert "integer overflow" in str(check(rule, 100).counterexample)


KEPT = """
rule twice: int64(int64(?a))  =>  int64(?a)
rule exchanged: float64(?a) + float64(?b)  =>  float64(?b) + float64(?a)
rule added: (sum(<k, v> in ?R) int64(v)) + int64(?a)  =>  int64(?a) + sum(<k, v> in ?R) int64(v)
"""


@pytest.mark.parametrize("rule", rulefile.parse(KEPT), ids=lambda rule: rule.name)
def test_conversions_that_stay_are_right(rule: Rule) -> None:
    assert check(rule, 50).is_sound
