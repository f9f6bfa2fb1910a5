"""The command line: arguments in, exit codes out; what happens between is elsewhere."""

from storel.cli.application import app, main

__all__ = ["app", "main"]
