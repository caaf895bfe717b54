"""``--trace A:B``: a trace of some steps, beside the rest and out of its statistics."""

from __future__ import annotations

import gzip
import json
import platform
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.recorded import NEEDS_FRAMEWORKS, PYTHON, ROOT, SCRIPTS, Run, record

pytestmark = NEEDS_FRAMEWORKS
CODE = (
    f"import runpy, sys; sys.path[:0] = [{str(SCRIPTS)!r}, {str(ROOT)!r}]; "
    "runpy.run_path('traced.py', run_name='__main__')"
)
TRACED: list[str | Path] = [PYTHON, "-c", CODE]


def traces_of(run: Run) -> dict[str, Any]:
    paths = sorted((run.folder / "traces").glob("*.gz"))
    return {path.name: json.loads(gzip.decompress(path.read_bytes())) for path in paths}


def profiled(run: Run) -> list[str]:
    return [
        event["args"].get("step_num", event["name"])
        for event in run.events()
        if event["phase"] == "ProfiledStep"
    ]


def test_the_traced_steps_are_marked_and_counted(tmp_path: Path) -> None:
    run = record(TRACED, out=tmp_path, options=["--trace", "5:7"])
    assert run.exit_code == 0, run.stderr
    assert run.faults == []
    assert list(run.counts().values()) == [{"TRAIN": 36}]
    pauses = ["start of the trace", "end and export of the trace"]
    assert profiled(run) == [pauses[0], "5", "6", "7", pauses[1]]
    (name,) = traces_of(run)
    assert name == "rank-0.steps-5-7.pt.trace.json.gz"
    names = [event.get("name") for event in traces_of(run)[name]["traceEvents"]]
    assert [f"ProfilerStep#{n}" for n in range(4, 9) if f"ProfilerStep#{n}" in names] == [
        "ProfilerStep#5",
        "ProfilerStep#6",
        "ProfilerStep#7",
    ]
    assert names.count("my range") == 3


def test_a_trace_says_nothing_of_the_machine(tmp_path: Path) -> None:
    run = record(TRACED, out=tmp_path, options=["--trace", "5:6"])
    (text,) = (json.dumps(trace) for trace in traces_of(run).values())
    assert str(tmp_path) not in text
    assert f'"{platform.node()}"' not in text
    assert list((tmp_path / "traces").glob("*.tmp")) == []


def test_a_program_that_ends_within_the_traced_steps_leaves_its_trace(tmp_path: Path) -> None:
    run = record(TRACED, out=tmp_path, options=["--trace", "30:99"])
    assert run.exit_code == 0, run.stderr
    assert len(traces_of(run)) == 1
    assert list(run.counts().values()) == [{"TRAIN": 36}]


@pytest.mark.parametrize(("ranks", "expected"), [("", [0, 1]), ("@1", [1]), ("@0,1", [0, 1])])
def test_chosen_ranks_are_traced(ranks: str, expected: list[int], tmp_path: Path) -> None:
    launch = ["torchrun", "--standalone", "--nproc-per-node=2", "plain.py"]
    run = record(launch, out=tmp_path, options=["--trace", f"3:4{ranks}"])
    assert run.exit_code == 0, run.stderr
    assert list(traces_of(run)) == [f"rank-{n}.steps-3-4.pt.trace.json.gz" for n in expected]


def test_a_profiler_of_the_program_itself_goes_on(tmp_path: Path) -> None:
    code = (
        "import torch\n"
        "with torch.profiler.profile() as own:\n"
        "    exec(open('plain.py').read())\n"
        "assert any('Optimizer' in row.key for row in own.key_averages())\n"
    )
    run = record([PYTHON, "-c", code], out=tmp_path, options=["--trace", "5:7"])
    assert run.exit_code == 0, run.stderr
    assert list(run.counts().values()) == [{"TRAIN": 36}]
    assert [fault["kind"] for fault in run.faults] == ["trace_failed"]
