"""The text of a script, with the files that it includes."""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise
from pathlib import Path

from storel.errors import ProgramSyntaxError, placed_at
from storel.host.paths import path_in_script
from storel.source import Source
from storel.syntax.nodes.statements import Include, Script, Statement
from storel.syntax.parser import parse


def included(script: Script, directory: Path) -> Generator[Statement]:
    """Yield the statements, those of included files in place of the INCLUDE; paths start in ``directory``.

    Raises ProgramSyntaxError for a file that cannot be read, or includes itself, also through others.
    """
    return _included(script, directory, (Path(script.source.name),))


def _included(script: Script, directory: Path, open_files: tuple[Path, ...]) -> Generator[Statement]:
    """Yield the statements of the last of the ``open_files``, each of which includes the next one."""
    for statement in script.statements:
        if not isinstance(statement, Include):
            yield statement
            continue
        with placed_at(statement.span):
            path = path_in_script(directory, statement.path)
            places = [each.resolve() for each in open_files]
            if path.resolve() in places:
                raise _circle((*open_files[places.index(path.resolve()) :], path))
            source = read_source(path, statement.path)
        yield from _included(parse(source), directory, (*open_files, path))


def _circle(files: tuple[Path, ...]) -> ProgramSyntaxError:
    """Return the error of files of which each includes the next one, and the last is the first."""
    steps = ", ".join(f"{one.name} includes {other.name}" for one, other in pairwise(files))
    return ProgramSyntaxError(f"{files[0].name} includes itself", found=steps if len(files) > 2 else None)


def read_source(path: Path, name: str | None = None) -> Source:
    """Return the text of a script; raises ProgramSyntaxError if it cannot be read."""
    try:
        return Source(name or str(path), path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ProgramSyntaxError(f"the script {name or path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ProgramSyntaxError(f"the script {name or path} is no UTF-8 text: {error}") from error
