"""Run one case and say what is wrong about what came of it."""

from __future__ import annotations

import gc
import json
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from typing import Any

from reportgen import load
from reportgen.errors import ReportgenError
from reportgen.intake import discover, read
from reportgen.intake import system as intake_system
from tests.end_to_end.command import run_here
from tests.fuzz.formats import FORMATS, Case, is_whole_job
from tests.fuzz.reading import Made, Reader, draw
from tests.schemas import complaints as schema_complaints
from tests.views.pages import write_page

_USUAL_SMALL_BYTES = intake_system.SMALL_BYTES
_DUCKDB_EVERY = 4
"""Every fourth case is read by the reader for large jobs, the others by that for small jobs."""

_ALLOWED_CODES = {0, 1, 2}
_MOST_SHOWN = 5
_MOST_GARBAGE = 50_000
_OF_AWS = "not of the shape that it writes"
"""What a result of SageMaker whose details are damaged says, beside what it counted."""


class Depth(StrEnum):
    """How far an input goes; each includes the one before."""

    READ = "read"
    """Found and read: nothing but errors of ours escapes."""
    RESULTS = "results"
    """Read, measured, judged and saved; the files are strict JSON, no rule broke, and the numbers
    are those of the twin."""
    COMMAND = "command"
    """The files obey their schemas and can be loaded, the sections of the page are drawn, and the
    command itself runs."""
    PAGE = "page"
    """The page is written."""


@dataclass(slots=True, kw_only=True)
class Told:
    """What is wrong about a case, and whether it ended in a report or in a message."""

    wrong: list[str] = field(default_factory=list)
    has_report: bool = False


def run_case(name: str, seed: int, folder: Path, *, depth: Depth) -> Told:
    """Build a case, run it, and return what is wrong; nothing when all is well.

    Args:
        name: of the format.
        seed: of the case: the same seed makes the same case.
        folder: an empty folder.
        depth: how far it goes.
    """
    inside = folder / "in"
    inside.mkdir()
    case = FORMATS[name](inside, Random(f"{name}:{seed}"))
    intake_system.SMALL_BYTES = _USUAL_SMALL_BYTES if seed % _DUCKDB_EVERY else 0
    if case.call is not None:
        return Told(wrong=_call(case), has_report=True)
    if case.path is None:
        return Told(wrong=["a case without a path"])
    if depth is Depth.READ:
        path = case.path
        return Told(wrong=_call(replace(case, call=lambda: _read(path, case))), has_report=True)
    try:
        made = _reader().make(case.path, case.config, folder / "out")
    except Exception:  # noqa: BLE001  # whatever escapes is what is looked for
        return Told(wrong=[traceback.format_exc()])
    outcome = Told(wrong=list(_about_made(case, made, folder)), has_report=made.error is None)
    if depth is not Depth.RESULTS and made.report is not None:
        outcome.wrong += _about_sections(case, made, folder)
    if depth is not Depth.RESULTS:
        outcome.wrong += _about_command(case, made, folder, has_page=depth is Depth.PAGE)
    return outcome


@cache
def _reader() -> Reader:
    return Reader()


def _call(case: Case) -> list[str]:
    assert case.call is not None
    try:
        case.call()
    except ReportgenError as err:
        return [] if err.message else ["an error without a message"]
    except Exception:  # noqa: BLE001  # whatever escapes is what is looked for
        return [traceback.format_exc()]
    return []


def _read(path: Path, case: Case) -> None:
    if case.copies_results:
        load(path)
        return
    for part in discover(str(path)).parts:
        read(part)
    if gc.get_count()[0] > _MOST_GARBAGE:  # the reader of whole reports has turned it off
        gc.collect()


# Results.


def _about_made(case: Case, made: Made, folder: Path) -> Iterator[str]:
    if made.error is not None:
        if not made.error.message or made.error.exit_code not in _ALLOWED_CODES:
            yield f"exit code {made.error.exit_code} and the message {made.error.message!r}"
        if (folder / "out").exists() and list((folder / "out").iterdir()):
            yield f"an error, and yet there is {sorted((folder / 'out').iterdir())}"
        return
    for name, raw in made.files.items():
        yield from _about_file(name, raw)
    if case.twin is not None:
        yield from _against_twin(case, made, folder)


@lru_cache(256)
def _about_file(name: str, raw: bytes) -> tuple[str, ...]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} in a result")

    try:
        tree = json.loads(raw, parse_constant=refuse)
    except ValueError as err:
        return (f"{name} is no strict JSON: {err}",)
    if name != "report.json":
        return ()
    return tuple(
        f"{rule} failed: {entry['reason']}"
        for rule, entry in tree["rules"].items()
        if entry["status"] == "failed" and _OF_AWS not in entry["reason"]["text"]
    )


def _against_twin(case: Case, made: Made, folder: Path) -> Iterator[str]:
    assert case.twin is not None
    if is_whole_job(case.twin):
        twin = _of_whole_job(case.twin, intake_system.SMALL_BYTES)
    else:
        assert case.path is not None
        aside = case.path.rename(folder / "aside")  # equal jobs have equal paths
        case.twin.rename(case.path)
        twin = _reader().make(case.path, case.config, folder / "twin-out")
        case.path.rename(case.twin)
        aside.rename(case.path)
    if twin.error is not None:
        yield f"the twin gives {twin.error}"
        return
    report, other = (json.loads(found.files["report.json"]) for found in (made, twin))
    different = _different_numbers(made.files, twin.files, report, other)
    if case.counts is not None:
        yield from different
        yield from _different_counts(case.counts, report["data_quality"], other["data_quality"])
    elif case.must_be_noted and report["data_quality"] == other["data_quality"]:
        # A line that is cut between two values can still be read whole.
        yield from (f"lost without a note: {item}" for item in different)


@cache
def _of_whole_job(path: Path, small_bytes: int) -> Made:
    """Return the report of a job without damage, as the reader for this size reads it."""
    output = path.with_name(f"{path.name}-{small_bytes}-out")
    return _reader().make(path, path.parent / "rules.toml", output)


def _different_numbers(
    files: Mapping[str, bytes],
    twin: Mapping[str, bytes],
    report: dict[str, Any],
    other: dict[str, Any],
) -> Iterator[str]:
    for key in ("summary", "nodes", "sampling_interval_ms", "findings", "rules"):
        if report[key] != other[key]:
            yield f"{key}: {report[key]} instead of {other[key]}"[:2000]
    for name in sorted({*files, *twin} - {"report.json"}):
        if files.get(name) != twin.get(name):
            yield f"{name} differs from its twin"


def _different_counts(
    expected: Mapping[str, int], quality: dict[str, Any], other: dict[str, Any]
) -> Iterator[str]:
    for counter in sorted({*quality, *other} - {"notes"}):
        more = quality.get(counter, 0) - other.get(counter, 0)
        if more != expected.get(counter, 0):
            yield f"{counter} is {more} higher, expected {expected.get(counter, 0)}"


# Sections.


def _about_sections(case: Case, made: Made, folder: Path) -> Iterator[str]:
    for name, raw in made.files.items() if not case.copies_results else ():
        schema = "report" if name == "report.json" else "result"
        for complaint in schema_complaints(schema, raw)[:_MOST_SHOWN]:
            yield f"{name} breaks its schema: {complaint}"
    try:
        draw(load(folder / "out" / "profiler-report"))
    except ReportgenError as err:
        if not case.copies_results:
            yield f"what was saved cannot be drawn: {err}"
    except Exception:  # noqa: BLE001  # whatever escapes is what is looked for
        yield "drawing the sections: " + traceback.format_exc()


# The command.


def _about_command(case: Case, made: Made, folder: Path, *, has_page: bool) -> Iterator[str]:
    assert case.path is not None
    output = folder / "command-out"
    options: list[str | Path] = ["--config", case.config] if case.config is not None else []
    try:
        run = run_here(case.path, *options, "--output", output, "--format", "md")
    except BaseException:  # noqa: BLE001  # whatever escapes is what is looked for
        yield traceback.format_exc()
        return
    if run.code != (made.error.exit_code if made.error is not None else 0):
        yield f"exit code {run.code}, expected that of {made.error}: {run.stderr}"
    if run.code and "rror: " not in run.stderr:
        yield f"exit code {run.code} without a message: {run.stderr!r}"
    if "Traceback" in run.stderr:
        yield f"a traceback on stderr: {run.stderr}"
    if run.code == 0 and has_page:
        yield from _about_page(output / "profiler-report", folder)


def _about_page(place: Path, folder: Path) -> Iterator[str]:
    try:
        drawn = folder / "page"
        drawn.mkdir()
        write_page(drawn, load(place))
    except ReportgenError:
        return
    except Exception:  # noqa: BLE001  # whatever escapes is what is looked for
        yield "drawing the page: " + traceback.format_exc()
