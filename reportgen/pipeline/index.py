"""From folders of reports, or of jobs, to one page that lists them."""

from __future__ import annotations

import atexit
import functools
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from urllib.parse import quote
from zlib import crc32

from reportgen.engine import LostItemsError, ProcessExecutor
from reportgen.errors import FormatError, LocationError, ReportgenError, writing
from reportgen.index import Index, JobRow
from reportgen.index.model import FILE, encode
from reportgen.index.read import UNREADABLE, group_of, read_index
from reportgen.intake import discover
from reportgen.pipeline.make import make_report
from reportgen.pipeline.options import Nobody, Options, OutputFormat, Watcher, timed
from reportgen.publish import ReadyKernel
from reportgen.publish.policy import policy
from reportgen.storage import is_remote, open_location
from reportgen.store import OUTPUT_FOLDER, REPORT_FILE, is_made_by_us, open_staging, refuse
from reportgen.views.index import index_page

PAGE = "profiler-index.html"
REPORTS = "profiler-reports"
"""The folder beside the index with the reports that were made for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexOptions:
    """One run of ``reportgen index``.

    Attributes:
        places: folders or prefixes with reports, or jobs.
        output: where page and JSON are written.
        makes: jobs without a report are reported first.
        n_processes: how many of them at once: each waits for its notebook at times, so one more
            than cores keeps all of these busy.
        force: replace a page that is not ours.
    """

    places: tuple[str, ...]
    output: Path = Path()
    makes: bool = False
    n_processes: int = (os.cpu_count() or 1) + 1
    force: bool = False


def make_index(options: IndexOptions, watcher: Watcher) -> tuple[Path, Index]:
    """List all reports and write the page; unreadable ones are rows with their reason.

    Raises:
        ReportgenError: a place cannot be listed, or nothing was found.
    """
    page = options.output / PAGE
    if page.exists() and not options.force and not is_made_by_us(page):
        refuse(page, "was not made by reportgen index")
    failed = _make_missing(options, watcher) if options.makes else ()
    places = options.places
    if options.makes and (options.output / REPORTS).is_dir():
        places = (*places, str(options.output / REPORTS))
    with timed(watcher, "reading reports") as step:
        index = read_index(places, others=failed)
        step.text = f"read {len(index.jobs)} reports"
    with open_staging(options.output) as staging:
        title = "Training jobs"
        seen = replace(index, jobs=tuple(_from(row, options.output) for row in index.jobs))
        html = index_page(seen, title=title, policy_of=lambda script: policy([script]))
        with writing(options.output, action=f"write the index in {options.output}"):
            (staging.folder / FILE).write_bytes(encode(index))
            (staging.folder / PAGE).write_text(html, encoding="utf-8")
            for name in (FILE, PAGE):
                (staging.folder / name).replace(options.output / name)
    return page, index


def _from(row: JobRow, output: Path) -> JobRow:
    """Return a row whose link starts at the folder of the index: ``./``, whatever its name is."""
    if not row.page:
        return row
    if is_remote(row.page):
        return replace(row, page=quote(row.page, safe=":/") if row.page.startswith("s3://") else "")
    with suppress(ValueError):  # another drive
        path = Path(os.path.relpath(row.page, output)).as_posix()
        return replace(row, page=f"./{quote(os.fsencode(path))}")
    return replace(row, page="")


# Reports that are missing


def _make_missing(options: IndexOptions, watcher: Watcher) -> tuple[JobRow, ...]:
    """Report the jobs that have no report yet; return rows of those that cannot be reported.

    A run that was stopped continues where it was: reports that exist are not made again.
    """
    folder = options.output / REPORTS
    jobs = [path for place in options.places for path in _raw_jobs(place)]
    missing = {path: at for path, at in _outputs(jobs, folder) if not _is_reported(path, at)}
    with timed(watcher, "making reports") as step:
        pool = ProcessExecutor(max_processes=options.n_processes, on_progress=watcher.progress)
        try:
            problems = pool.map(_report, list(missing.items()))
        except LostItemsError as err:
            problems = [err.reasons.get(place, said) for place, said in enumerate(err.results)]
        failed = [_unreported(*item) for item in zip(missing, problems, strict=True) if item[1]]
        step.text = f"made {len(missing) - len(failed)} reports"
    return tuple(failed)


def _raw_jobs(place: str) -> Iterator[str]:
    """Yield the folders, prefixes or files directly below a place that hold a job, or should."""
    for path in _in_bucket(place) if is_remote(place) else _in_folder(place):
        try:
            discover(path, name=None)
        except FormatError:  # of a known form, but damaged: a row that says so
            yield path
        except ReportgenError:
            continue
        else:
            yield path


def _in_bucket(place: str) -> list[str]:
    location = open_location(place)
    names = {info.key.partition("/")[0] for info in location.list() if "/" in info.key}
    return [f"{location.root}/{name}" for name in sorted(names)]


def _in_folder(place: str) -> list[str]:
    if not Path(place).is_dir():
        raise LocationError(
            f"--make needs folders or prefixes of jobs; {place} is none.",
            hint="Pass a folder, or s3://bucket/prefix; report a job of SageMaker by its name with "
            "make-profiler-report.",
            path=place,
        )
    return [
        str(path)
        for path in sorted(Path(place).iterdir())
        if (path.is_dir() or path.suffix in _JOB_FILES)
        and not path.name.startswith(".")
        and path.name != REPORTS
        and not (path.is_symlink() and path.resolve().parent == Path(place).resolve())
    ]


_JOB_FILES = frozenset({".wandb"})
"""Endings of files that are jobs themselves; a link beside them to one of them is none."""


def _outputs(jobs: Sequence[str], folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield each job and the folder of its report; jobs of one name have a folder each."""
    taken = Counter(PurePosixPath(path).name for path in jobs)
    for path in jobs:
        name = PurePosixPath(path).name
        ending = f"-{crc32(path.encode()):08x}" if taken[name] > 1 else ""
        yield path, folder / f"{name}{ending}"


def _is_reported(path: str, output: Path) -> bool:
    """Return whether there is a report: of this command, or beside the job itself."""
    if (output / OUTPUT_FOLDER / REPORT_FILE).is_file():
        return True
    if not is_remote(path):
        return (Path(path) / OUTPUT_FOLDER / REPORT_FILE).is_file()
    return any(info.key == f"{OUTPUT_FOLDER}/{REPORT_FILE}" for info in open_location(path).list())


def _report(job: tuple[str, Path]) -> str:
    """Report a job into a folder; return why that was not possible, or nothing.

    One that is killed costs only its own report.
    """
    path, output = job
    options = Options(path=path, output=output, formats=frozenset({OutputFormat.HTML}))
    try:
        make_report(options, Nobody(), kernel=_kernel())
    except (ReportgenError, OSError) as err:
        _kernel().close()
        _kernel.cache_clear()
        return str(err)
    return ""


@functools.cache
def _kernel() -> ReadyKernel:
    """Return the kernel of this process, which runs the notebooks of all its reports."""
    kernel = ReadyKernel()
    atexit.register(kernel.close)
    kernel.start(Path.cwd())
    return kernel


def _unreported(path: str, problem: str) -> JobRow:
    name = PurePosixPath(path).name
    return JobRow(job=name, group=group_of(name), path=path, status=UNREADABLE, problem=problem)
