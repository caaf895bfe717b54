"""Run one case and say what is wrong about what came of it."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from reportgen import load
from reportgen.errors import ReportgenError
from reportgen.intake import system as intake_system
from tests.end_to_end.command import run_here
from tests.fuzz.formats import FORMATS, Case
from tests.schemas import complaints as schema_complaints
from tests.views.pages import write_page

_USUAL_SMALL_BYTES = intake_system.SMALL_BYTES
"""Odd cases are read by the reader for large jobs, even ones by that for small jobs."""

_ALLOWED_CODES = {0, 1, 2}
_MOST_SHOWN = 5
_OF_AWS = "not of the shape that it writes"
"""What a result of SageMaker whose details are damaged says, beside what it counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a run said; ``trouble`` is the traceback of what no user may see."""

    code: int
    stderr: str
    trouble: str = ""


def answer_to(args: Sequence[str | Path]) -> Answer:
    """Run the command and catch what no user may see."""
    try:
        run = run_here(*args)
    except BaseException:  # noqa: BLE001  # whatever escapes is what is looked for
        return Answer(code=-1, stderr="", trouble=traceback.format_exc())
    return Answer(code=run.code, stderr=run.stderr)


def run_case(name: str, seed: int, folder: Path, *, draws_page: bool) -> list[str]:
    """Build a case, run it, and return what is wrong; nothing when all is well.

    Args:
        name: of the format.
        seed: of the case: the same seed makes the same case.
        folder: an empty folder.
        draws_page: whether the page is drawn too, which takes longer.
    """
    case = FORMATS[name](folder, Random(f"{name}:{seed}"))
    intake_system.SMALL_BYTES = 0 if seed % 2 else _USUAL_SMALL_BYTES
    if case.call is not None:
        return _call(case)
    output = folder / "out"
    answer = answer_to([*case.args, "--output", output, "--format", "md"])
    return [*_about(answer), *_about_output(case, answer, output, folder, draws_page=draws_page)]


def _call(case: Case) -> list[str]:
    assert case.call is not None
    try:
        case.call()
    except ReportgenError as err:
        return [] if err.message else ["an error without a message"]
    except Exception:  # noqa: BLE001  # whatever escapes is what is looked for
        return [traceback.format_exc()]
    return []


def _about(answer: Answer) -> Iterator[str]:
    if answer.trouble:
        yield answer.trouble
    elif answer.code not in _ALLOWED_CODES:
        yield f"exit code {answer.code}: {answer.stderr}"
    elif answer.code and "rror: " not in answer.stderr:
        yield f"exit code {answer.code} without a message: {answer.stderr!r}"
    if "Traceback" in answer.stderr:
        yield f"a traceback on stderr: {answer.stderr}"


def _about_output(
    case: Case, answer: Answer, output: Path, folder: Path, *, draws_page: bool
) -> Iterator[str]:
    if answer.code != 0:
        if output.exists() and list(output.iterdir()):
            yield f"exit code {answer.code}, and yet there is {sorted(output.iterdir())}"
        return
    place = output / "profiler-report"
    files = {path.name: path.read_bytes() for path in sorted(place.glob("*.json"))}
    if "report.json" not in files:
        yield "exit code 0, and no report.json"
        return
    for name, raw in files.items():
        yield from _about_file(name, raw, is_checked=not case.copies_results)
    if draws_page:
        yield from _about_page(place, folder)
    if case.twin_args:
        yield from _against_twin(case, files, folder / "twin-out")


def _about_file(name: str, raw: bytes, *, is_checked: bool) -> Iterator[str]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} in a result")

    try:
        tree = json.loads(raw, parse_constant=refuse)
    except ValueError as err:
        yield f"{name} is no strict JSON: {err}"
        return
    schema = "report" if name == "report.json" else "result"
    for complaint in schema_complaints(schema, raw)[:_MOST_SHOWN] if is_checked else ():
        yield f"{name} breaks its schema: {complaint}"
    if name == "report.json":
        for rule, entry in tree["rules"].items():
            if entry["status"] == "failed" and _OF_AWS not in entry["reason"]["text"]:
                yield f"{rule} failed: {entry['reason']}"


def _about_page(place: Path, folder: Path) -> Iterator[str]:
    try:
        drawn = folder / "page"
        drawn.mkdir()
        write_page(drawn, load(place))
    except ReportgenError:
        return
    except Exception:  # noqa: BLE001  # whatever escapes is what is looked for
        yield "drawing the page: " + traceback.format_exc()


def _against_twin(case: Case, files: Mapping[str, bytes], output: Path) -> Iterator[str]:
    answer = answer_to([*case.twin_args, "--output", output, "--format", "md"])
    if answer.code != 0:
        yield f"the twin gives {answer}"
        return
    place = output / "profiler-report"
    twin = {path.name: path.read_bytes() for path in sorted(place.glob("*.json"))}
    report, other = (json.loads(found["report.json"]) for found in (files, twin))
    if case.counts is not None:
        yield from _different_numbers(files, twin, report, other)
        yield from _different_counts(case.counts, report["data_quality"], other["data_quality"])
    elif case.must_be_noted and report["data_quality"] == other["data_quality"]:
        yield "something was lost, and no note says so"


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
