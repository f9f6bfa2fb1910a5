"""Mistakes in a file of rules, as readers see them.

The messages are ``tests/errors/rules.txt``, written anew when STOREL_UPDATE is set.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from storel.errors import StorelError
from storel.optimizer.rules.user_rules import read_rules

SNAPSHOT = Path(__file__).parents[1] / "errors" / "rules.txt"

MISTAKES = [
    "rule a: ?x + 0 =>",
    "rule a: ?x + => ?y",
    "rule a ?x + 0 => ?x",
    "rule My_rule: ?x + 0 => ?x",
    "rule my_rule: ?x + 0 => ?x",
    "?x + 0 => ?x",
    "rule a: ?x + 0 = ?x",
    "rule a: ?x + 0 -> ?x",
    "rule a: ?x + 0 => ?x when scalar(?x)",
    "rule a: ?x + 0 => ?x if scalar ?x",
    "rule a: ?x + 0.5 => ?x",
    "rule a: sum(k, v in ?R) ?a => ?a",
    "rule a: sum(<k v> in ?R) ?a => ?a",
    "rule a:\n  if ?x == ?y == ?z then ?a => zero",
    "rule a: if ?x && ?y then ?a => zero",
    "rule a: if ?x then ?a else ?b => ?a",
    "rule a: {?k: ?v} => {?k -> ?v}",
    "rule a: in + 0 => ?x",
    "rule a: ? + 0 => zero  # nothing",
    "@normalise\nrule a: ?x + 0 => ?x",
    "rule a @: ?x + 0 => ?x",
    "rule a: ?x + 0 => ?x if scalr(?x)",
    "rule a: ?x + 0 => ?x if linear(?x)",
    "rule a: ?x => ?x + 0",
    "rule a:\n  ?x - ?y\n  => ?x + ?y",
    "rule a: maximun(?x, ?y) => ?x",
    "rule a: bits(?x) => ?x",
    "rule a: floor(?x, ?y) => ?x",
    "rule a: sum(<k, v> in ?R) ?b => v * ?b",
    "rule a: sum(<k, v> in ?R) ?b => sum(<_, v> in ?R) ?b",
    "rule a: sum(<k, k> in ?R) ?b => ?b",
    "rule a: ?x * ?y => ?z * ?y",
    "rule a: ?x * ?y => ?x * ?y * one",
    "rule a: ?x * ?y => ?y * ?x if linear(?z, v)",
    "rule a: sum(<k, v> in ?R) ?b => ?b if less(v, k)",
    "rule a: ?x + 9223372036854775808 => ?x",
    "rule a: ?x + 0 => ?x\nrule a: 0 + ?x => ?x",
]


def message(file: Path, text: str) -> str:
    file.write_text(text, encoding="utf-8")
    try:
        read_rules(file)
    except StorelError as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def test_mistakes_are_shown_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    messages = {text: message(Path("own.rules"), text) for text in MISTAKES}
    assert all("own.rules:" in found for found in messages.values())
    found = "\n\n".join(f"{text}\n\n{told}\n{'-' * 60}" for text, told in messages.items()) + "\n"
    if os.environ.get("STOREL_UPDATE"):
        SNAPSHOT.write_text(found, encoding="utf-8")
    assert found == SNAPSHOT.read_text(encoding="utf-8")
