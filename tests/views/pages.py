"""Notebooks with outputs, made without a kernel, and the pages of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from reportgen import views
from reportgen.publish.page import PageOptions, export_page
from reportgen.report import Report
from reportgen.views.cell_output import outputs


def section_cell(name: str, report: Report) -> Any:
    """Return the cell that shows a section, as Jupyter saves it."""
    made = [
        new_output("display_data", data=json.loads(json.dumps(item.data)), metadata=item.metadata)
        for item in outputs(views.section(report, name))
    ]
    return new_code_cell(f'views.section(report, "{name}")', outputs=made)


def notebook_of(report: Report, *, own_cells: Sequence[Any] = ()) -> Any:
    """Return the executed notebook of a report, ``own_cells`` at its end."""
    cells = [
        new_markdown_cell("# About this notebook", metadata={"tags": ["notebook-only"]}),
        new_code_cell('report_dir = "profiler-report"', metadata={"tags": ["parameters"]}),
        *(section_cell(name, report) for name in views.section_ids(report)),
        *own_cells,
    ]
    return new_notebook(cells=cells)


def write_page(
    folder: Path, report: Report, *, own_cells: Sequence[Any] = (), theme: str = "auto"
) -> Path:
    """Write the page of a report into a folder and return its path."""
    page = folder / "profiler-report.html"
    notebook = nbformat.from_dict(notebook_of(report, own_cells=own_cells))
    options = PageOptions(title=report.job.name, theme=theme, report_id=report.report_id)
    export_page(notebook, page, options)
    return page
