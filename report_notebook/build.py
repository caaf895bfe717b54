"""Write what is derived: the notebooks from their scripts, and the colour tokens from the theme.

Run by ``make notebook``. Building twice gives the same bytes; a test compares them with what is
committed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SCRIPT = HERE / "profiler_report.py"
NOTEBOOK = HERE / "profiler_report.ipynb"
SCRIPTS = (
    SCRIPT,
    HERE / "interactive_analysis.py",
    HERE / "dataloader_analysis.py",
    HERE / "profiler_comparison.py",
)
TOKENS = HERE.parent / "templates" / "style" / "tokens.css"
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_ID_LENGTH = 48


def notebook_text(script: str) -> str:
    """Return the notebook of a py:percent script, with ids that depend on its text alone."""
    import jupytext

    notebook = jupytext.reads(script, fmt="py:percent")
    notebook.metadata = {"kernelspec": _KERNEL, "language_info": {"name": "python"}}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        name = _name_of(cell)
        seen[name] = seen.get(name, 0) + 1
        cell["id"] = name if seen[name] == 1 else f"{name}-{seen[name]}"
        tags = cell.metadata.get("tags")
        cell.metadata = {"tags": tags} if tags else {}
    text: str = jupytext.writes(notebook, fmt="ipynb")
    return text if text.endswith("\n") else text + "\n"


def tokens_text() -> str:
    """Return the style sheet of colour tokens."""
    from reportgen.views import theme

    return theme.css()


def _name_of(cell: Any) -> str:
    """Name a cell after its tag, its heading, or the section that it shows."""
    tags = cell.metadata.get("tags", [])
    if "parameters" in tags:
        return "parameters"
    called = re.search(
        r'views\.(?:(?:comparison_)?section\((?:report|comparison), "([\w-]+)"|(\w+)\()',
        cell.source,
    )
    if cell.cell_type == "code":
        words = called[1] or called[2] if called else "load"
    elif "try-this" in tags:
        words = f"try {cell.source.splitlines()[0].partition(':')[2]}"
    else:
        words = f"about {cell.source.splitlines()[0]}"
    slug = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
    return slug[:_ID_LENGTH].strip("-")


def main() -> None:
    """Write the notebooks and the style sheet."""
    sys.path.insert(0, str(HERE.parent))
    for script in SCRIPTS:
        text = notebook_text(script.read_text(encoding="utf-8"))
        script.with_suffix(".ipynb").write_text(text, encoding="utf-8")
    TOKENS.write_text(tokens_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
