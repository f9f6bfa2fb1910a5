"""The renderings by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal, TypeAlias

from storel.compilation.compiled import Compilation
from storel.execution.profile import Profile
from storel.explanation.dot import explain_dot
from storel.explanation.html import explain_html
from storel.explanation.json import explain_json
from storel.explanation.text import explain_text

Rendering: TypeAlias = Literal["text", "json", "html", "dot"]


def render(
    rendering: Rendering,
    compilations: Mapping[str, Compilation],
    profiles: Mapping[str, Profile],
    stage: str | None = None,
) -> str:
    """Return what became of the compiled definitions; ``stage`` restricts the text.

    Raises UnknownNameError for a stage that is none.
    """
    match rendering:
        case "text":
            return explain_text(compilations, stage, profiles)
        case "json":
            return json.dumps(explain_json(compilations, profiles))
        case "html":
            return explain_html(compilations, profiles)
        case "dot":
            return explain_dot(compilations, profiles)
