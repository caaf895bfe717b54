"""Read, measure and judge an input within this process, save the results and draw the sections.

It is the pipeline of the command with all its steps but notebook and page. Two things that cost
time and cannot differ are done once: starting DuckDB, and the search for installed rules.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from reportgen import views
from reportgen.cli.settings import read_settings
from reportgen.errors import ReportgenError
from reportgen.intake import system
from reportgen.pipeline.make import make_report
from reportgen.pipeline.options import Options
from reportgen.report import Report
from reportgen.rules import registry
from reportgen.store import OUTPUT_FOLDER
from reportgen.views.cell_output import outputs

_COLLECT_EVERY = 200


class _Deaf:
    """A watcher that is not interested."""

    def step(self, name: str) -> None:
        pass

    def progress(self, text: str) -> None:
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What came of an input: a report and the files of its results, or an error of ours."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    report: Report | None = None
    error: ReportgenError | None = None


class Reader:
    """Makes reports one after the other; there is one in a process, whose garbage it collects."""

    def __init__(self) -> None:
        self._n_made = 0
        registry.entry_points = cache(registry.entry_points)  # type: ignore[attr-defined,assignment]  # import
        database = system._connect()
        system._connect = lambda: database.cursor()  # one a thread

    def make(self, path: Path, config: Path | None, output: Path) -> Made:
        """Make the files of a report; whatever is no error of ours escapes."""
        self._n_made += 1
        if self._n_made % _COLLECT_EVERY == 1:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            gc.disable()
        try:
            options = Options(
                path=str(path),
                output=output,
                settings=read_settings((), config),
                formats=frozenset(),
            )
            report = make_report(options, _Deaf()).report
        except ReportgenError as err:
            return Made(error=err)
        place = output / OUTPUT_FOLDER
        files = {path.name: path.read_bytes() for path in sorted(place.glob("*.json"))}
        return Made(files=files, report=report)


def draw(report: Report) -> None:
    """Draw all sections as the cells of the notebook do."""
    for name in views.section_ids(report):
        list(outputs(views.section(report, name)))
