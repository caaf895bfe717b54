"""What is pinned can be installed on every Python that is promised."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    return dict(line.split("==") for line in lines)


def oldest_python() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["requires-python"]).removeprefix(">=") + ".0"


def test_no_pin_needs_a_younger_python_than_is_promised() -> None:
    looked_at, too_young = 0, []
    for name, version in pins().items():
        try:
            package = metadata(name)
        except PackageNotFoundError:
            continue
        if package["Version"] == version:
            looked_at += 1
            needed = str(package.json.get("requires_python", ""))
            if oldest_python() not in SpecifierSet(needed):
                too_young.append(f"{name} {version} needs Python {needed}")
    assert looked_at > 20
    assert not too_young
