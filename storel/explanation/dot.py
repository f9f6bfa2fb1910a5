"""Plans as graphs in the language of Graphviz: one cluster per definition, one box per operator.

The warmer a box, the larger its share of the time, measured and attributed or else expected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from storel.compilation.compiled import Compilation
from storel.execution.profile import Profile
from storel.explanation.figures import count, duration
from storel.explanation.text import NO_PROFILES
from storel.explanation.tree import Explained, Operator, explained, flattened


def explain_dot(
    compilations: Mapping[str, Compilation], profiles: Mapping[str, Profile] = NO_PROFILES
) -> str:
    """Return one ``digraph`` with the plan of every definition."""
    lines = ["digraph plans {", '  node [shape=box, style=filled, fontname="monospace"];']
    for number, (name, each) in enumerate(compilations.items()):
        lines.append(f"  subgraph cluster_{number} {{")
        lines += (f"    {line}" for line in _plan(explained(each, profiles.get(name)), f"n{number}"))
        lines.append("  }")
    return "\n".join((*lines, "}"))


def _plan(this: Explained, root: str) -> Iterator[str]:
    total = sum(_time(each) for _, each in flattened(this.operators))
    yield f"label={_quoted(this.name)};"
    yield f"{root} [label={_quoted(this.destination)}, fillcolor=white];"
    for number, operator in enumerate(this.operators):
        yield from _operator(operator, root, f"{root}_{number}", total)


def _operator(operator: Operator, parent: str, name: str, total: float) -> Iterator[str]:
    share = _time(operator) / total if total > 0 else 0.0
    yield f'{name} [label={_quoted(_label(operator))}, fillcolor="0.08 {share:.3f} 1.0"];'
    yield f"{parent} -> {name};"
    for number, part in enumerate(operator.parts):
        yield from _operator(part, name, f"{name}_{number}", total)


def _label(operator: Operator) -> str:
    lines = [operator.text, f"expected {count(operator.expected)}"]
    if operator.counted is not None:
        lines.append(f"counted {count(operator.counted)}")
    how = "expected" if operator.attributed is None else "attributed"
    return "\n".join((*lines, f"{duration(_time(operator))} ({how})"))


def _time(operator: Operator) -> float:
    return operator.nanoseconds if operator.attributed is None else operator.attributed


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
