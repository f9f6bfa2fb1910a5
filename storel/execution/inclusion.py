"""The text of a script, with the files that it includes."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

from storel.errors import ProgramSyntaxError, placed_at
from storel.host.paths import path_in_script
from storel.source import Source
from storel.syntax.nodes.statements import Include, Script, Statement
from storel.syntax.parser import parse


def included(script: Script, directory: Path, open_files: tuple[Path, ...] = ()) -> Generator[Statement]:
    """Yield the statements, those of included files in place of the INCLUDE.

    Paths start in ``directory``; ``open_files`` are those that include this one.

    Raises ProgramSyntaxError for a file that cannot be read, or includes itself.
    """
    for statement in script.statements:
        if not isinstance(statement, Include):
            yield statement
            continue
        with placed_at(statement.span):
            path = path_in_script(directory, statement.path).resolve()
            if path in open_files:
                raise ProgramSyntaxError(f"{statement.path} includes itself")
            source = read_source(path, statement.path)
        yield from included(parse(source), directory, (*open_files, path))


def read_source(path: Path, name: str | None = None) -> Source:
    """Return the text of a script; raises ProgramSyntaxError if it cannot be read."""
    try:
        return Source(name or str(path), path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ProgramSyntaxError(f"the script {name or path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ProgramSyntaxError(f"the script {name or path} is no UTF-8 text: {error}") from error
