"""``storel rules``: what it lists, and what it says of rules to check."""

from __future__ import annotations

from pathlib import Path

from strategies.command_line import storel

RIGHT = "rule unite @main: sum(<k, v> in ?R + ?S) ?b => sum(<k, v> in ?R) ?b + sum(<k, v> in ?S) ?b"


def test_list() -> None:
    listed = storel("rules").out
    assert "\nlookups\n" in listed
    assert "  if-twice                     if ?c then if ?c then ?b => if ?c then ?b  @simplify" in listed


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


def test_never(tmp_path: Path) -> None:
    (tmp_path / "mine.rules").write_text("rule odd @main: {?k -> ?b} => {?k -> ?b} if less(?k, ?k)")
    ended = storel("rules", "--check", str(tmp_path / "mine.rules"), "--examples", "20")
    assert ended.code == 1
