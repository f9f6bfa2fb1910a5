"""Documents whose blocks are executed in order, in the working directory, and print what they show.

```python               runs with the names of the blocks before
```sh                   runs lines `storel …`
```sdql mine/f.sdql     writes this file, as does ```rules f.rules
```text                 is what the block before prints, if that is python or sh
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strategies.command_line import storel

FENCED = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """What stands between fences, in which language, and in which file it belongs."""

    language: str
    file: str | None
    text: str


def blocks_of(document: Path) -> list[Block]:
    """Return the fenced blocks of a document."""
    found = FENCED.finditer(document.read_text(encoding="utf-8"))
    return [Block(match[1], match[2], match[3]) for match in found]


def shown_and_printed(blocks: list[Block]) -> list[tuple[str, str]]:
    """Run blocks; return for each what is shown below it and what it prints, but for spaces at line ends."""
    names: dict[str, Any] = {}
    pairs: list[tuple[str, str]] = []
    for block, below in zip(blocks, [*blocks[1:], Block("", None, "")], strict=True):
        printed = _run(block, names)
        if below.language == "text":
            pairs.append((_trimmed(below.text), _trimmed(printed)))
    return pairs


def _run(block: Block, names: dict[str, Any]) -> str:
    match block.language:
        case "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(block.text, names)
            return printed.getvalue()
        case "sh":
            return "".join(_command(line) for line in block.text.splitlines())
        case "sdql" | "rules" if block.file is not None:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text, encoding="utf-8")
        case _:
            pass
    return ""


def _command(line: str) -> str:
    program, *arguments = shlex.split(line)
    assert program == "storel", line
    ended = storel(*arguments)
    assert ended.code == 0, ended.err
    return ended.out


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
