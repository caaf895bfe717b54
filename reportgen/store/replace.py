"""Replace an earlier report without ever leaving a half-written one.

Everything is made in a staging folder beside its target, then renamed: results, notebook, page,
in that order. After a kill at any moment there is the old page, or a new page whose results are
there. Leftovers are removed by the next run.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import msgspec

from reportgen.errors import WouldOverwriteError, writing
from reportgen.plain_files import read_entry
from reportgen.results.timeline_file import ANY_VERSION
from reportgen.scratch import is_left, new_folder
from reportgen.store.directory import INPUT_FILE, OUTPUT_FOLDER, REPORT_FILE, TIMELINE_FILE

OUTPUT_NOTEBOOK = "profiler-report.ipynb"
OUTPUT_SUMMARY = "profiler-report.md"
OUTPUT_PAGE = "profiler-report.html"

_SIGNS = {
    ".html": b'name="generator" content="make-profiler-report',
    ".md": b"<!-- generator: make-profiler-report",
}
_HEAD_BYTES = 4096
_PREFIX = ".profiler-report-"
_SUFFIX = ".tmp"
ASIDE = "old"
"""The folder in a staging folder that holds the old results while the new ones take their place."""


class Staging:
    """A folder in which a report is made before it replaces the old one in ``output``."""

    def __init__(self, folder: Path, output: Path) -> None:
        self.folder, self.output = folder, output
        self.results = folder / OUTPUT_FOLDER
        self.notebook = folder / OUTPUT_NOTEBOOK
        self.summary = folder / OUTPUT_SUMMARY
        self.page = folder / OUTPUT_PAGE


def check_replaceable(
    output: Path,
    *,
    keeps_results: bool,
    notebook_is_ours: bool,
    writes: Collection[str] = (OUTPUT_NOTEBOOK, OUTPUT_PAGE),
) -> None:
    """Refuse to replace what a run of ours did not write.

    ``keeps_results``: the folder of results stays as it is; ``notebook_is_ours``: the notebook is
    absent or unchanged; ``writes``: the files that will be written beside the results.

    Raises:
        WouldOverwriteError: a file that is not ours, or was edited, is in the way.
    """
    foreign = next(_foreign_files(output / OUTPUT_FOLDER), None)
    if foreign is not None and not keeps_results:
        refuse(foreign, "is not a result of make-profiler-report")
    for name in writes:
        path = output / name
        if path.suffix in _SIGNS and path.exists() and not is_made_by_us(path):
            refuse(path, "was not made by make-profiler-report")
    if OUTPUT_NOTEBOOK in writes and not notebook_is_ours:
        refuse(output / OUTPUT_NOTEBOOK, "was edited since it was made, or is not ours")


def refuse(path: Path, reason: str) -> NoReturn:
    """Raise that a file is in the way, and why it is not replaced."""
    raise WouldOverwriteError(
        f"{path} {reason}; it would be overwritten.",
        hint="Pass --force to replace it, or --output DIR to write elsewhere.",
        path=str(path),
    )


def _foreign_files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (path for path in sorted(folder.iterdir()) if not _is_our_result(path))
    elif folder.exists():
        yield folder


def _is_our_result(path: Path) -> bool:
    if path.name == INPUT_FILE:
        return True
    if path.name != TIMELINE_FILE and path.suffix != ".json":
        return False
    try:
        content = read_entry(path)
        if path.name == TIMELINE_FILE:
            return content.startswith(ANY_VERSION)
        tree = msgspec.json.decode(content)
    except (OSError, msgspec.DecodeError, RecursionError):
        return False
    key = "report_id" if path.name == REPORT_FILE else "reportgen"
    return isinstance(tree, dict) and key in tree


def is_made_by_us(path: Path) -> bool:
    """Return whether a page or summary carries our sign; notebooks are known by their cells."""
    if not path.is_file():  # a pipe would be waited for
        return False
    try:
        with path.open("rb") as stream:
            return _SIGNS[path.suffix] in stream.read(_HEAD_BYTES)
    except OSError:
        return False


@contextmanager
def open_staging(output: Path) -> Iterator[Staging]:
    """Make a staging folder in the output folder; remove it, and old leftovers, at the end.

    Raises:
        OutputError: the output folder cannot be made or written.
    """
    with ExitStack() as exits:
        with writing(output, action=f"write in {output}"):
            output.mkdir(parents=True, exist_ok=True)
            put_back(output)
            for leftover in _leftovers(output):
                shutil.rmtree(leftover, ignore_errors=True)
            folder = exits.enter_context(new_folder(output, _PREFIX, _SUFFIX))
        yield Staging(folder=folder, output=output)


def publish_staging(staging: Staging, *, outdated: Iterable[Path] = ()) -> None:
    """Move the staged results, notebook, summary and page to their places.

    Other files stay as they are, except ``outdated`` files of the previous report.

    Raises:
        OutputError: a rename fails.
    """
    with writing(staging.output, action=f"replace the report in {staging.output}"):
        if staging.results.exists():
            _replace_folder(staging.results, staging.output / OUTPUT_FOLDER, staging.folder / ASIDE)
        for path in outdated:
            path.unlink(missing_ok=True)
        for staged in (staging.notebook, staging.summary, staging.page):
            if staged.exists():
                staged.replace(staging.output / staged.name)


def _replace_folder(new: Path, target: Path, old: Path) -> None:
    had_one = target.exists()
    if had_one:
        target.rename(old)
    try:
        new.rename(target)
    except OSError:
        if had_one and not target.exists():
            old.rename(target)
        raise


def put_back(output: Path) -> None:
    """Put back the results of a run that was killed before its new ones were in their place.

    Their page is still there. Raises ``OSError`` where nothing can be renamed.
    """
    for leftover in _leftovers(output):
        aside = leftover / ASIDE
        if aside.is_dir() and not (output / OUTPUT_FOLDER).exists():
            with suppress(FileNotFoundError):  # another run was first
                aside.rename(output / OUTPUT_FOLDER)


def _leftovers(output: Path) -> list[Path]:
    return [path for path in sorted(output.glob(f"{_PREFIX}*{_SUFFIX}")) if is_left(path)]
