"""What became of a program, stage by stage: as text, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from storel.compiler import STAGES, Compilation
from storel.errors import UnknownNameError, nearest
from storel.optimizer.saturate import PhaseReport


def explain_text(compilations: Mapping[str, Compilation], stage: str | None = None) -> str:
    """Return one block per stage for each compiled definition, or only the given stage.

    Raises UnknownNameError for a stage that is none.
    """
    known = [each.name for each in STAGES]
    if stage is not None and stage not in known:
        raise UnknownNameError(
            f"unknown stage '{stage}'", expected=", ".join(known), hint=nearest(stage, known)
        )
    return "\n\n".join(_compilation(each, stage) for each in compilations.values())


def explain_json(compilations: Mapping[str, Compilation]) -> dict[str, Any]:
    """Return the same as ``explain_text`` as one object per definition."""
    return {name: _as_object(each) for name, each in compilations.items()}


def _compilation(compilation: Compilation, stage: str | None) -> str:
    if stage is not None:
        return next(each.show(compilation) for each in STAGES if each.name == stage)
    blocks = [f"=== {compilation.definition.name} in {compilation.result.wanted.name}"]
    blocks += [
        f"{name} is converted to {tensor.format} first" for name, tensor in compilation.converted.items()
    ]
    for each in STAGES:
        blocks.append(f"--- {each.name}\n{each.show(compilation)}")
        if each.name == "optimized":
            blocks.append(_search(compilation))
    return "\n\n".join(blocks)


def _search(compilation: Compilation) -> str:
    lines = [f"estimated time: {compilation.optimized.cost.nanoseconds / 1e6:.3f} ms"]
    lines += [_phase(report) for report in compilation.optimized.report]
    return "\n".join(lines)


def _phase(report: PhaseReport) -> str:
    fired = ", ".join(f"{name} {count}" for name, count in sorted(report.matches.items()) if count)
    return (
        f"{report.phase}: {report.stop} after {report.iterations} iterations, {report.nodes} e-nodes, "
        f"{report.milliseconds:.0f} ms; rules: {fired or 'none'}"
    )


def _as_object(compilation: Compilation) -> dict[str, Any]:
    return {
        "format": compilation.result.wanted.name,
        "converted": {name: tensor.format for name, tensor in compilation.converted.items()},
        "backend": compilation.backend,
        "stages": {each.name: each.show(compilation) for each in STAGES},
        "nanoseconds": compilation.optimized.cost.nanoseconds,
        "phases": [
            {
                "phase": report.phase,
                "stop": str(report.stop),
                "iterations": report.iterations,
                "nodes": report.nodes,
                "milliseconds": report.milliseconds,
                "matches": {name: count for name, count in sorted(report.matches.items()) if count},
            }
            for report in compilation.optimized.report
        ],
    }
