"""Options of a run, whoever watches it, and its answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from threading import Lock
from typing import Protocol

from reportgen.pipeline.wanted import Wanted
from reportgen.report import Report
from reportgen.storage import DescribedJob
from reportgen.text import format_bytes, format_count


class TimelineDetail(StrEnum):
    """Which events the timeline keeps: as many as a page can carry, all, or none."""

    AUTO = "auto"
    ALL = "all"
    OFF = "off"


class OutputFormat(StrEnum):
    """Products of a report, beside its results; the one that readers open comes first."""

    HTML = "html"
    MD = "md"
    IPYNB = "ipynb"


DEFAULT_FORMATS = frozenset({OutputFormat.HTML, OutputFormat.IPYNB})


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """One run of ``make-profiler-report``.

    Attributes:
        path: a job, or a saved report (a folder with ``report.json``).
        source: where the job lies, if ``path`` is a copy of it that is kept up to date.
        uploads_to: the bucket's prefix to which the report will be copied from ``output``.
        name: the job's name, if not that of its folder.
        settings: parameters of rules, ``"Rule.param"`` to value.
        rules: ids of the rules to run; empty means all.
        plugins: modules with rules of the user's own.
        notebook: the user's notebook instead of ours.
        wanted: the range to look at; ``None`` for the whole job.
        cycle: which cycle of a profiler with a schedule, 1 is the newest.
        utc_offset_s: how far times of the input that name no zone are ahead of UTC.
        formats: what to make of the results, which are written in any case.
        profiler_config: the configuration of the job's profiler, a local file.
        timeline: how much of the events the timeline keeps.
        force: replace files that are not ours or were edited.
        engine: who reads the parts, as ``--engine`` says it: ``auto`` or a Dask cluster.
        allows_missing: make the report also without parts that a cluster could not read.
        described: the job as SageMaker describes it, where it was named.
    """

    path: str
    output: Path
    source: str | None = None
    uploads_to: str | None = None
    name: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    notebook: Path | None = None
    theme: str = "auto"
    wanted: Wanted | None = None
    cycle: int = 1
    utc_offset_s: int | None = None
    formats: frozenset[OutputFormat] = DEFAULT_FORMATS
    profiler_config: Path | None = None
    timeline: TimelineDetail = TimelineDetail.AUTO
    force: bool = False
    engine: str = "auto"
    allows_missing: bool = False
    described: DescribedJob | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeReport:
    """The products of a run: ``path`` is the first of page, summary, notebook, ``report.json``.

    ``files`` are all that were written, below the output folder.
    """

    path: Path
    files: tuple[Path, ...]
    report: Report


class Watcher(Protocol):
    """Someone who wants to know how far a run is."""

    def step(self, name: str) -> None:
        """Hear that a step begins."""

    def progress(self, text: str) -> None:
        """Hear how far the present step is."""


class Nobody:
    """A watcher that hears nothing."""

    def step(self, name: str) -> None:
        """Hear nothing."""

    def progress(self, text: str) -> None:
        """Hear nothing."""


class ReadingProgress:
    """Adds up the progress of the readers of all parts, and reports it to a watcher."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._lock = Lock()
        self._n_rows = 0
        self._n_bytes = 0

    def __call__(self, n_rows: int, n_bytes: int) -> None:
        """Add a number of rows and bytes that were read."""
        with self._lock:
            self._n_rows += n_rows
            self._n_bytes += n_bytes
            text = f"{format_count(self._n_rows)} rows, {format_bytes(self._n_bytes)}"
        self._watcher.progress(text)


logger = logging.getLogger(__name__)


class Step:
    """The remark of a step when it is done."""

    text = ""


@contextmanager
def timed(watcher: Watcher, name: str) -> Iterator[Step]:
    """Announce a step, and log its text and seconds when it succeeded."""
    watcher.step(name)
    step = Step()
    began = time.perf_counter()
    yield step
    logger.info("%s in %.2f s", step.text, time.perf_counter() - began)
