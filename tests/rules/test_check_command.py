"""``storel rules``: what it lists, and what it says of rules to check."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis.errors import HypothesisWarning, NoSuchExample
from strategies.command_line import storel

from storel.errors import UnknownNameError
from storel.optimizer.rules import rulefile
from storel.soundness import check

RIGHT = "rule unite @main: sum(<k, v> in ?R + ?S) ?b => sum(<k, v> in ?R) ?b + sum(<k, v> in ?S) ?b"


def test_list() -> None:
    listed = storel("rules").out
    assert "\nlookups\n" in listed
    law = "if ?c then if ?c then ?b => if ?c then ?b"
    assert f"  if-twice                     {law}  @simplify @terms" in listed


def test_the_list_tells_how_often_rules_fire_in_a_script(tmp_path: Path) -> None:
    (tmp_path / "mine.rules").write_text(f"{RIGHT} if linear(?b, v), dictionary(?R), dictionary(?S)")
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 3.0\n")
    (tmp_path / "rows.sdql").write_text("CREATE TENSOR y AS sum(<(i, j), a> in A + B) { i -> 2 * a }\n")
    operands = [each for name in "AB" for each in ("-b", f"{name}={tmp_path / 'a.mtx'}:csr")]
    listed = storel("rules", str(tmp_path / "rows.sdql"), *operands, "--rules", str(tmp_path / "mine.rules"))
    assert listed.code == 0
    fired = {words[0]: words[1] for words in map(str.split, listed.out.splitlines()) if len(words) > 1}
    other_ways = {rule.name for rule in rulefile.shipped().rules} - fired.keys()
    assert all(name.removesuffix("-back") in fired for name in other_ways)
    assert "unite" in fired
    assert int(fired["fuse-union"]) > 0
    assert int(fired["multiply-commute"]) > 0
    assert int(fired["find-element"]) == 0


@pytest.mark.parametrize("more", [("-b", "A=a.mtx"), ("--stats", "A=a.json"), ("--formats", "mine")])
def test_operands_without_a_script_are_a_mistake(more: tuple[str, ...]) -> None:
    ended = storel("rules", *more)
    assert ended.code == 2 and "belong to a script" in ended.err


def test_what_rules_compile_to_does_not_fire() -> None:
    ended = storel("rules", "script.sdql", "--egglog")
    assert ended.code == 2 and "--egglog prints all rules" in ended.err


def test_examples_are_those_of_a_check() -> None:
    ended = storel("rules", "--examples", "5")
    assert (ended.code, ended.out) == (2, "") and "--check FILE" in ended.err


def test_what_the_search_for_examples_warns_of_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(*_: Any, **__: Any) -> None:
        warnings.warn("Generating overly large repr.", HypothesisWarning, stacklevel=2)
        raise NoSuchExample("")

    monkeypatch.setattr(check, "find", find)
    (tmp_path / "mine.rules").write_text(RIGHT)
    ended = storel("rules", "--check", str(tmp_path / "mine.rules"), "--examples", "20")
    assert ended.out.startswith("unite: never applied")
    assert ended.err == "error: not to be relied on: unite\n"


def test_right(tmp_path: Path) -> None:
    (tmp_path / "mine.rules").write_text(f"{RIGHT} if linear(?b, v)")
    ended = storel("rules", "--check", str(tmp_path / "mine.rules"), "--examples", "60")
    assert ended.code == 0
    assert ended.out.startswith("unite: right in ")


def test_wrong(tmp_path: Path) -> None:
    (tmp_path / "mine.rules").write_text(RIGHT)
    ended = storel("rules", "--check", str(tmp_path / "mine.rules"))
    assert ended.code == 1
    assert ended.out.startswith("unite: wrong\n  sum(")
    assert "not to be relied on: unite" in ended.err


def test_a_merge_of_arrays_that_may_be_in_any_order_is_wrong(tmp_path: Path) -> None:
    """Kernels take it for granted that both increase, so that equal elements alone decide nothing."""
    left = "sum(<p, x> in ?R) sum(<q, y> in ?S) if x == y then ?e"
    right = "merge(<p, q, x> in <?R, ?S>) let y = x in ?e"
    (tmp_path / "mine.rules").write_text(f"@main\nrule join: {left} => {right} if array(?R), array(?S)")
    ended = storel("rules", "--check", str(tmp_path / "mine.rules"), "--examples", "60")
    assert ended.code == 1
    assert ended.out.startswith("join: wrong\n  sum(")
    assert "is  undefined: array u does not increase\n  where u = [" in ended.out


@pytest.mark.parametrize(
    "more",
    [
        ("--rules", "other.rules"),
        ("--egglog",),
        ("script.sdql",),
        ("-b", "A=a.mtx"),
        ("--binders", "debruijn"),
    ],
)
def test_nothing_is_left_out_silently(tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "mine.rules").write_text(RIGHT)
    ended = storel("rules", "--check", str(tmp_path / "mine.rules"), *more)
    assert ended.code == 2
    assert f"without {more[0].replace('script.sdql', 'a script')}" in ended.err


def test_a_shipped_rule_may_be_tried_but_no_other_has_its_name(tmp_path: Path) -> None:
    law = next(rule.law for rule in rulefile.shipped().rules if rule.name == "if-twice")
    for right, code in ((law, 0), ("?a + ?b => ?b + ?a", 1)):
        (tmp_path / "mine.rules").write_text(f"rule if-twice @main: {right}")
        ended = storel("rules", "--check", str(tmp_path / "mine.rules"), "--examples", "20")
        assert ended.code == code
        assert ("a rule that is shipped is called if-twice" in ended.err) == (code == 1)


def test_no_rules(tmp_path: Path) -> None:
    (tmp_path / "none.rules").write_text("\n")
    ended = storel("rules", "--check", str(tmp_path / "none.rules"))
    assert ended.code == 1 and "no rules" in ended.err


def test_never(tmp_path: Path) -> None:
    (tmp_path / "mine.rules").write_text("rule odd @main: {?k -> ?b} => {?k -> ?b} if less(?k, ?k)")
    ended = storel("rules", "--check", str(tmp_path / "mine.rules"), "--examples", "20")
    assert ended.code == 1


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("rule x: ?a => ?a + 0", "rule x: the left side matches every term"),
        ("\nrule x: ?a - ?b => ?a + ?b", "rule x: nothing on the left says over which semiring"),
        ("rule x: ?a - ?a => zero", "rule x: nothing on the left says over which semiring"),
        ("rule x: foo(?a) => ?a", "rule x: there is no function foo, and no loop binds it"),
        ("rule x: bits(?a) => ?a", "rule x: there is no function bits, and no loop binds it"),
        ("rule x: gather(?a, 0) => ?a", "rule x: there is no function gather"),
        ("rule x: max(?a) => ?a", "rule x: max has the wrong number of arguments"),
        ("rule x: int(?a, ?b) => ?a", "rule x: int has the wrong number of arguments"),
        ("rule x: sum(<k, v> in ?R) ?a => sum(<_, v> in ?R) ?a", "rule x: _ is bound on the right"),
        ("rule x: sum(<k, v> in ?R) ?a => v * ?a", "rule x: v is bound by no loop"),
        ("rule x: maximun(?a, ?b) => ?a", "rule x: there is no function maximun"),
        ("rule x: ?a * ?b => ?c * ?b", "rule x: ?c occurs on the right only"),
        ("rule x: ?a * ?b => ?b * ?a if linear(?c, v)", "rule x: ?c of linear is not on the left"),
        ("rule x: ?a * ?b => ?b * ?a if linear(?a, v)", "rule x: v of linear is not on the left"),
        ("rule x: ?a * ?b => ?b * ?a if quick(?a)", "rule x: there is no guard quick"),
        ("rule x: ?a * ?b => (?a * ?b) * one", "rule x: the right side has no one of its own"),
        ("rule x: sum(<k, v> in ?R) ?b => ?b if less(v, k)", "rule x: less is not asked of this"),
        ("rule x: sum(<k, v> in ?R) ?b => ?b if linear(?b, ?R)", "rule x: linear is not asked of"),
        ("rule x: ?a + 9223372036854775808 => ?a", "rule x: Int holds something else"),
        ("rule x: floor(?a, ?b) => ?a", "rule x: floor has the wrong number of arguments"),
        ("@normalise\nrule x: ?a * ?b => ?b * ?a", "there is no tag @normalise"),
        ("rule x: ?a + 0 => ?a\nrule x: 0 + ?a => ?a", "two rules are called x"),
        (f"rule x: {'(' * 500}?a{')' * 500} + 0 => ?a", "a rule is nested too deeply"),
        (f"\nrule x: {'?a + ' * 500}?b => ?b", "rule x is nested too deeply"),
    ],
)
def test_a_rule_without_a_meaning_is_an_error(tmp_path: Path, rule: str, message: str) -> None:
    file = tmp_path / "mine.rules"
    file.write_text(rule)
    for arguments in (("rules", "--check"), ("rules", "--rules"), ("run", "-", "--rules")):
        ended = storel(*arguments, str(file), stdin="CREATE TENSOR y AS 1")
        assert (ended.code, ended.out) == (1, "")
        assert message in ended.err.splitlines()[0] and f"\n{file}:" in ended.err and "^" in ended.err


def test_a_rule_that_is_called_as_a_shipped_one_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "mine.rules").write_text("\nrule sum-factor: ?a + 0 => ?a")
    ended = storel("rules", "--rules", str(tmp_path / "mine.rules"))
    assert ended.code == 1
    assert ended.err.startswith("error: a rule that is shipped is called sum-factor\n")
    assert "mine.rules:2:6\n" in ended.err


def test_rules_may_begin_with_the_mark_that_some_editors_write(tmp_path: Path) -> None:
    (tmp_path / "mine.rules").write_text("rule own: ?a + 0 => ?a", encoding="utf-8-sig")
    ended = storel("rules", "--rules", str(tmp_path / "mine.rules"))
    assert ended.code == 0 and "own" in ended.out


@pytest.mark.parametrize(
    "rule",
    [
        "rule odd @main: {?k -> ?a} => ?a",
        "rule odd @main: sum(<k, v> in ?R) ?a => let k = ?R in ?a",
    ],
)
def test_a_rule_that_makes_what_has_another_type_is_wrong(tmp_path: Path, rule: str) -> None:
    (tmp_path / "mine.rules").write_text(rule)
    ended = storel("rules", "--check", str(tmp_path / "mine.rules"), "--examples", "60")
    assert ended.code == 1
    assert ended.out.startswith("odd: wrong\n")
    assert "not to be relied on: odd" in ended.err


def test_a_wrong_rule_that_is_used_is_named_as_the_cause(tmp_path: Path) -> None:
    (tmp_path / "mine.rules").write_text("rule odd @main: sum(<k, v> in ?R) ?a => let k = ?R in ?a")
    ended = storel("run", "examples/mttkrp.sdql", "--rules", str(tmp_path / "mine.rules"))
    assert ended.code == 1
    assert "the given rules make a term that has no meaning" in ended.err
    assert "storel rules --check" in ended.err


def test_a_rule_that_is_left_out_must_be_there() -> None:
    shipped = rulefile.shipped()
    assert len(shipped.without("sum-factor").rules) == len(shipped.rules) - 1
    with pytest.raises(UnknownNameError, match="no rule sum-factr") as raised:
        shipped.without("sum-factr")
    assert "sum-factor" in (raised.value.hint or "")
