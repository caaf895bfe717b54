"""Run the report's notebook, or the user's own, over the saved results."""

from __future__ import annotations

import ast
import hashlib
import json
import logging
import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from reportgen.errors import ConfigError, OutputError, PluginError, writing
from reportgen.plain_files import read_named
from reportgen.text_safety import clean

logger = logging.getLogger(__name__)

PARAMETER, THRESHOLDS, JOB_PATH = "report_dir", "thresholds", "job_path"
_NOTEBOOK_FORMAT = 4
_LONGEST_REASON = 200
_MOST_BYTES = 64_000_000
"""A larger notebook, with all its charts, is not read."""

_NO_NOTEBOOK = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Exceptions of reading JSON of any other shape."""

_PARAMETERS_TAG = "parameters"
_INJECTED_TAG = "injected-parameters"
"""Earlier versions added a cell with this tag, which overruled what a user wrote above it."""
_TRY_TAG = "try-this"
_SECTION_CELL = re.compile(r'^views\.section\(report, "([\w-]+)"\)$', re.MULTILINE)
_LONGEST_ID = 64
"""Of a cell. Source: the schema of notebooks, format 4.5."""


def read_notebook(path: Path) -> Any:
    """Read a notebook to be run: old outputs and injected parameters are dropped.

    Raises:
        PluginError: no such file, not a notebook, or without one ``parameters`` cell that sets
            ``report_dir``.
    """
    notebook = _valid_notebook(path)
    notebook.cells = [cell for cell in notebook.cells if not _has_tag(cell, _INJECTED_TAG)]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None
    _check_parameters(notebook, path)
    return notebook


def thresholds_of(notebook: Any) -> dict[str, object]:
    """Return the ``thresholds`` that the ``parameters`` cell sets, ``"Rule.param"`` to value.

    Raises:
        ConfigError: they are no dictionary of names and numbers that is written out.
    """
    try:
        found = _parameter(notebook, THRESHOLDS)
        return {str(key): value for key, value in (found or {}).items()}
    except (SyntaxError, *_NO_NOTEBOOK) as err:
        raise ConfigError(
            f"`{THRESHOLDS}` of the notebook cannot be read ({err}).",
            hint=f'Write it out: {THRESHOLDS} = {{"LowGPUUtilization.threshold_p95": 60}}',
        ) from err


def job_path_of(notebook: Any) -> str:
    """Return the ``job_path`` that the ``parameters`` cell sets, empty if none is written out."""
    try:
        return str(_parameter(notebook, JOB_PATH) or "")
    except (SyntaxError, *_NO_NOTEBOOK):
        return ""


def _parameter(notebook: Any, name: str) -> Any:
    """Return the last literal that the ``parameters`` cell gives a name, ``None`` without one."""
    (cell,) = (cell for cell in notebook.cells if _has_tag(cell, _PARAMETERS_TAG))
    found = [
        ast.literal_eval(line.value)
        for line in ast.parse(cell.source).body
        if isinstance(line, ast.Assign | ast.AnnAssign) and line.value is not None
        for target in (line.targets if isinstance(line, ast.Assign) else [line.target])
        if isinstance(target, ast.Name) and target.id == name
    ]
    return found[-1] if found else None


def _valid_notebook(path: Path) -> Any:
    """Return a notebook that obeys the schema of its format, which all that follows relies on."""
    import nbformat

    try:
        tree = json.loads(read_named(path, most_bytes=_MOST_BYTES).decode("utf-8-sig"))
        version, minor = tree["nbformat"], tree.get("nbformat_minor", 0)
        if version != _NOTEBOOK_FORMAT or not isinstance(minor, int):
            raise ValueError(f"format {version!r}.{minor!r}, expected {_NOTEBOOK_FORMAT}")
        nbformat.validate(nbformat.from_dict(tree))
        notebook = nbformat.v4.to_notebook(tree)
    except (OSError, *_NO_NOTEBOOK, nbformat.ValidationError) as err:
        reason = isinstance(err, OSError) and err.strerror
        reason = (reason or str(err)).partition("\n")[0][:_LONGEST_REASON]
        raise PluginError(
            f"{path} cannot be read as a notebook ({type(err).__name__}: {reason}).",
            hint="Pass the profiler-report.ipynb of a report, edited as you like.",
            path=str(path),
        ) from err
    return notebook


def with_sections(notebook: Any, section_ids: Sequence[str]) -> Any:
    """Return our notebook with a cell for each section of a report, in the order of the report.

    The text cells around a section's cell come with it. A section without a cell in the source, as
    of a plugin, gets one; cells of sections that the report does not have are left out.
    """
    head, of_section = _by_section(notebook.cells)
    cells = list(head)
    for section_id in section_ids:
        cells += of_section.get(section_id) or [_section_cell(section_id)]
    return type(notebook)({**notebook, "cells": cells})


def _by_section(cells: Sequence[Any]) -> tuple[list[Any], dict[str, list[Any]]]:
    """Return the cells before the first section, and those of each: a text belongs to what follows.

    Text cells that are tagged ``try-this`` belong to what is above them.
    """
    head: list[Any] = []
    of_section: dict[str, list[Any]] = {}
    current: list[Any] = head
    waiting: list[Any] = []
    for cell in cells:
        if cell.cell_type != "code":
            (current if _has_tag(cell, _TRY_TAG) else waiting).append(cell)
            continue
        found = _SECTION_CELL.search(cell.source)
        current = of_section.setdefault(found[1], []) if found else head
        current += [*waiting, cell]
        waiting = []
    return head, of_section


def _section_cell(section_id: str) -> Any:
    import nbformat

    cell_id = re.sub(r"[^a-zA-Z0-9_-]", "-", section_id)[:_LONGEST_ID]
    return nbformat.v4.new_code_cell(f'views.section(report, "{section_id}")', id=cell_id)


def run_notebook(
    notebook: Any,
    *,
    output: Path,
    manager: Any,
    keeps_mark: bool = False,
    shows_errors: bool = False,
    begins_anew: bool = False,
) -> Any:
    """Run a notebook from top to bottom, write it with its outputs, and return it.

    The kernel of ``manager`` was started in the folder of ``output``, or ``begins_anew`` there: it
    ran notebooks of other reports before. ``keeps_mark``: the notebook
    is run in its place, so that it stays an edited one if it is one; otherwise what is written is a
    copy that may be replaced. ``shows_errors``, for notebooks of users: a cell that raises an error
    keeps the error as its output, a warning names the cell, and the cells after it run.

    Raises:
        OutputError: a cell failed whose error is not to be shown, the kernel died, or the notebook
            cannot be written.
    """
    mark = {"content_hash": _content_hash(notebook.cells)}  # is_unchanged compares it later
    mark = notebook.metadata.get("reportgen") if keeps_mark else mark
    if begins_anew:
        folder = output.parent.absolute()
        notebook.cells = [_change_to(folder), *notebook.cells, _change_to(Path.home())]
    executed = _execute(notebook, manager, shows_errors=shows_errors)
    if begins_anew:
        executed.cells = executed.cells[1:-1]
    _tidy(executed, mark)
    with writing(output):
        import_module("nbformat").write(executed, str(output))
    return executed


def _change_to(folder: Path) -> Any:
    """Return a cell that changes to a folder."""
    import nbformat

    return nbformat.v4.new_code_cell(f"import os\nos.chdir({str(folder)!r})")


def is_unchanged(path: Path) -> bool:
    """Return whether a notebook is absent, or ours with its cells as when it was made."""
    if not path.exists():
        return True
    try:
        notebook = json.loads(read_named(path, most_bytes=_MOST_BYTES))
        made = notebook["metadata"]["reportgen"]["content_hash"]
        return bool(made == _content_hash(notebook["cells"]))
    except (OSError, *_NO_NOTEBOOK):
        return False


def _execute(notebook: Any, manager: Any, *, shows_errors: bool) -> Any:
    """Return the notebook with its outputs, by papermill's engine: who calls this writes it."""
    from papermill.engines import papermill_engines
    from papermill.iorw import load_notebook_node

    try:
        executed = papermill_engines.execute_notebook_with_engine(
            None,
            load_notebook_node(notebook),
            kernel_name="python3",
            progress_bar=False,
            km=manager,
            record_timing=False,
            allow_errors=shows_errors,
        )
    except RuntimeError as err:
        raise OutputError(
            f"The notebook's kernel died ({err}).",
            hint="Mostly there is too little memory: free some, look for a cell that needs much, "
            "or make a summary alone with --format md.",
        ) from err
    for place, cell in enumerate(executed.cells):
        for error in (item for item in cell.get("outputs", ()) if item.output_type == "error"):
            what = _failed(place, error.ename, error.evalue)
            if not shows_errors:
                raise OutputError(
                    what,
                    hint="This notebook is reportgen's own: please report it, and make a summary "
                    "alone with --format md until then.",
                )
            logger.warning("warning: %s The page shows the error.", what)
    return executed


def _failed(place: int, name: str, value: str) -> str:
    return f"Cell {place + 1} of the notebook failed: {clean(name)}: {clean(value)}."


def _check_parameters(notebook: Any, path: Path) -> None:
    tagged = [cell for cell in notebook.cells if _has_tag(cell, _PARAMETERS_TAG)]
    pattern = rf"^[^\S\n]*+{PARAMETER}\s*(:[^=]+)?=[^=]"
    if len(tagged) == 1 and re.search(pattern, tagged[0].source, flags=re.MULTILINE):
        return
    raise PluginError(
        f"{path} has {len(tagged)} cells tagged `{_PARAMETERS_TAG}` that could set "
        f"`{PARAMETER}`; expected exactly one.",
        hint=f'Tag one cell `{_PARAMETERS_TAG}` and let it say {PARAMETER} = "profiler-report".',
        path=str(path),
    )


def _tidy(notebook: Any, mark: Any) -> None:
    """Leave in the notebook what a rerun needs, and nothing that differs from run to run."""
    for cell in notebook.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
    notebook.metadata.pop("papermill", None)
    notebook.metadata["kernelspec"] = {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    }
    notebook.metadata["reportgen"] = mark


def _content_hash(cells: Sequence[Any]) -> str:
    digest = hashlib.sha256()
    for cell in cells:
        if not _has_tag(cell, _INJECTED_TAG):
            source = cell["source"]
            text = source if isinstance(source, str) else "".join(source)
            digest.update(f"{cell['cell_type']}\n{text}\n\0".encode())
    return digest.hexdigest()


def _has_tag(cell: Any, tag: str) -> bool:
    return tag in cell["metadata"].get("tags", [])
