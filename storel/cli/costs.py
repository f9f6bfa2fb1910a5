"""``storel calibrate``: what operations cost on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from storel.cli import report
from storel.cli.interrupts import telling_if_interrupted
from storel.compilation import machine


def calibrate(
    show: Annotated[bool, typer.Option("--show", help="Only show what is in use.")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Return to what is shipped.")] = False,
) -> None:
    """Measure what operations cost on this machine, for all plans from now on; it takes some seconds.

    The constants of the cost model are fitted to small programs that are compiled and run. They are kept in
    the cache for this processor and C compiler; measure while the machine is idle.

    Example: storel calibrate
    """
    if show and reset:
        raise typer.BadParameter("--show changes nothing, and --reset does: give one of them")
    if reset:
        machine.reset()
    elif not show:
        from storel.calibration.measure import calibrate as measured  # with SciPy's optimizer, 0.2 s

        with telling_if_interrupted(lambda: "nothing was kept: plans are priced as before"):
            constants = measured(report.progress())
        machine.keep(constants)
    print(report.constants_text(machine.constants()))
