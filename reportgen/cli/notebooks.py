"""Notebooks for analysis by hand, copied to where the user works."""

from __future__ import annotations

from pathlib import Path

from reportgen.assets import notebook_path
from reportgen.errors import WouldOverwriteError, writing

NOTEBOOKS = {
    "interactive": "interactive_analysis",
    "dataloader": "dataloader_analysis",
    "report": "profiler_report",
}


def copy_notebook(name: str, folder: Path, *, force: bool) -> Path:
    """Copy a notebook into a folder, which is made if need be, and return its path.

    Raises:
        WouldOverwriteError: a file of that name is there already.
        OutputError: it cannot be written.
    """
    source = notebook_path(NOTEBOOKS[name])
    target = folder / source.name
    if target.exists() and not force:
        raise WouldOverwriteError(
            f"{target} is there already; it would be overwritten.",
            hint="Pass --force to replace it, or another folder.",
            path=str(target),
        )
    with writing(target, action=f"write {target}", hint="Pass another folder."):
        folder.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    return target
