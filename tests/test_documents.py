"""Every block in the READMEs and in docs/ is executed, and the architecture page names things that exist."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from strategies.documents import blocks_of, shown_and_printed

import storel
from storel.compilation.compiler import STAGES

ROOT = Path(__file__).parent.parent
PAGES = sorted(page.stem for page in (ROOT / "docs").glob("*.md"))
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_python_blocks_print_what_the_text_blocks_show() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec("\n".join(blocks("python")), {})
    shown = blocks("text")
    assert len(shown) == 2
    for text in shown:
        assert text in printed.getvalue()


def test_every_part_of_the_optimizer_can_be_replaced() -> None:
    text = (ROOT / "experiments" / "README.md").read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)), {})


def test_the_analyzed_plan_is_what_is_printed() -> None:
    command = re.findall(r"\.venv/bin/storel (explain .* --analyze .*)", README)[0].split()
    printed = subprocess.run(
        [sys.executable, "-m", "storel", *command],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    (shown,) = blocks("console")

    def operators(text: str) -> list[str]:
        """Return the lines without the times, and without the width that columns have by them."""
        lines = [line for line in text.splitlines() if not line.startswith(("time:", "memory:"))]
        return [re.sub(r" +", " ", re.sub(r"[\d.]+ (n|µ|m)s  ", "", line)) for line in lines]

    assert operators(printed) == operators(shown)


@pytest.mark.parametrize("number", range(len(blocks("sdql"))))
def test_programs_run_beside_the_example(number: int, tmp_path: Path) -> None:
    for data in (ROOT / "examples").iterdir():
        (tmp_path / data.name).write_bytes(data.read_bytes())
    script = tmp_path / "readme.sdql"
    script.write_text(blocks("sdql")[number], encoding="utf-8")
    result = storel.run(script)
    assert isinstance(result, storel.Tensor)
    assert result.nnz > 0


def test_the_first_program_is_the_example() -> None:
    example = (ROOT / "examples" / "mttkrp.sdql").read_text(encoding="utf-8")
    assert blocks("sdql")[0].strip() in example


def test_shell_blocks_name_commands_that_work() -> None:
    setups = blocks("sh")
    assert ".venv/bin/storel run examples/mttkrp.sdql" in setups[0]
    assert ".venv/bin/pytest" in setups[1]
    for block in setups:
        for command in re.findall(r"\.venv/bin/storel (.*)", block):
            arguments = command.split()
            completed = subprocess.run(
                [sys.executable, "-m", "storel", *arguments], cwd=ROOT, capture_output=True, text=True
            )
            assert completed.returncode == 0, completed.stderr
            assert completed.stdout.strip()


@pytest.mark.filterwarnings("ignore:the value 'c' of a tensor is used as a key")  # the page says so
@pytest.mark.parametrize("name", PAGES)
def test_pages_print_what_they_show(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pairs = shown_and_printed(blocks_of(ROOT / "docs" / f"{name}.md"))
    assert pairs
    for shown, printed in pairs:
        assert printed == shown


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{name}.md" for name in PAGES)])
def test_links_lead_to_files(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / page).parent.joinpath(target).is_file(), target


def test_the_architecture_page_names_files_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for name in re.findall(r"`([a-z_/]+\.py)`", text):
        assert (ROOT / "storel" / name).is_file(), name
    for stage in STAGES:
        assert f"| `{stage.name}` |" in text


def test_the_architecture_page_shows_the_layers_that_are_kept() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.partition("## Layers")[2].partition("## ")[0]
    blocks = [
        " · ".join(block.split("\n    ")) for block in re.findall(r"^    (\S.*(?:\n    .*)*)", section, re.M)
    ]
    shown = [[set(layer.split(", ")) for layer in block.split(" · ")] for block in blocks]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    kept = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    assert shown == [[set(layer.split(" | ")) for layer in layers] for layers in kept]
