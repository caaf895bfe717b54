"""Join the page's scripts when the wheel is built.

A checkout and an editable install have no built scripts; there they are joined when a page is made,
so that a changed module needs no build.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parents[1]
ENTRIES = ("before_paint.js", "main.js", "lanes.js", "index.js")
IN_WHEEL = "reportgen/_assets/templates/script"


def built(entry: str) -> str:
    """Return the text of a script with all that it imports."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from reportgen.page_scripts import joined

    return joined(ROOT / "templates" / "script" / entry)


class BuiltScripts(BuildHookInterface[Any]):
    """Put the scripts into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the scripts to a temporary folder, from which they are packed."""
        self.folder = TemporaryDirectory()
        if version == "editable":
            return
        for entry in ENTRIES:
            path = Path(self.folder.name) / entry
            path.write_text(built(entry), encoding="utf-8")
            build_data["force_include"][str(path)] = f"{IN_WHEEL}/{entry}"

    def finalize(self, *_: object) -> None:
        """Remove the temporary folder."""
        self.folder.cleanup()
