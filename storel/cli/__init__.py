"""The command line: arguments in, exit codes out; what happens between is elsewhere."""

from __future__ import annotations

from storel.cli.interrupts import ended_at_once


def main() -> None:
    """Run the command line, once all that it needs is imported."""
    with ended_at_once():
        from storel.cli.application import run_command
    run_command()
