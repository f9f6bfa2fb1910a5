"""Measurements as bars: the time on each backend beside the best rival's, on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from storel.bench.task import Measurement
from storel.errors import DataError

BAR = 0.8
"""The height of the bars of one kernel together, in rows."""


def draw(measurements: Sequence[Measurement], path: Path) -> None:
    """Draw the ratios to the best rival, in a format that matplotlib writes.

    Raises DataError where matplotlib is not installed, the ending of the file's name is unknown to it, or the
    system refuses.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DataError("a plot needs matplotlib", hint="pip install 'storel[plot]'") from error
    own = [each.name for found in measurements for each in found.timings if not each.is_rival]
    names = list(dict.fromkeys(own))
    figure = Figure(figsize=(8, 1.5 + 0.3 * len(measurements)), layout="constrained")
    axes = figure.add_subplot()
    for number, name in enumerate(names):
        places = [row + BAR * (number + 0.5) / len(names) - BAR / 2 for row in range(len(measurements))]
        axes.barh(places, _ratios(measurements, name), height=BAR / len(names), left=1.0, label=name)
    axes.set_xscale("log")
    axes.axvline(1.0, color="black", linewidth=0.8)
    labels = [f"{found.kernel}, {found.data}" for found in measurements]
    axes.set_yticks(range(len(measurements)), labels)
    axes.invert_yaxis()
    axes.set_xlabel("time beside that of the best rival")
    if names:
        axes.legend()
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be drawn: {error}") from error


def _ratios(measurements: Sequence[Measurement], name: str) -> list[float]:
    """Return how far each bar reaches from 1, 0 where there is nothing to compare."""
    reaches: list[float] = []
    for found in measurements:
        ratios = [found.ratio(timing) for timing in found.timings if timing.name == name]
        reaches.append(next((ratio - 1.0 for ratio in ratios if ratio is not None), 0.0))
    return reaches
