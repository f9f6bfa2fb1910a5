"""Where the rule files and the storage formats lie: beside the sources, or inside the wheel."""

from __future__ import annotations

from pathlib import Path


def directory(name: str) -> Path:
    """Return the directory ``name`` (``rules`` or ``storage_formats``) that ships with storel."""
    package = Path(__file__).parent.parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name
