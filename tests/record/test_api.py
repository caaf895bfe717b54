"""What a training program calls itself; each case is a process of its own: hooks are global."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import reportgen

ROOT = Path(reportgen.__file__).parents[1]
TRAIN = "Step:ModeKeys.TRAIN"


def run(code: str, *, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program that finds this package and nothing else that is installed; it must succeed."""
    settings = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **(env or {})}
    # Without site-packages, as after `pip install --no-deps make-profiler-report`.
    command = [sys.executable, "-S", "-c", textwrap.dedent(code)]
    done = subprocess.run(
        command, env=settings, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done


def steps_of(folder: Path) -> list[int]:
    frame = reportgen.open(str(folder)).framework_metrics(processes=TRAIN)
    return [int(number) for number in frame["step"]]


def remarks_of(folder: Path) -> list[tuple[str, str]]:
    lines = [
        json.loads(line)
        for path in folder.glob("recorder/faults/*.jsonl")
        for line in path.read_text().splitlines()
    ]
    return [(line["kind"], line["hook"]) for line in lines]


def test_nothing_is_imported_or_done_where_nothing_is_recorded(tmp_path: Path) -> None:
    done = run(
        f"""
        import os, sys
        os.chdir({str(tmp_path)!r})
        import reportgen
        reportgen.step()
        assert list(reportgen.steps([1, 2])) == [1, 2]
        with reportgen.annotate("x"):
            pass
        reportgen.annotate("y").begin().end()
        print(sorted({{"numpy", "click", "pandas", "json"}} & set(sys.modules)))
        """
    )
    assert done.stdout == "['json']\n"
    assert list(tmp_path.iterdir()) == []


def test_a_recording_needs_nothing_but_python(tmp_path: Path) -> None:
    done = run(
        f"""
        import sys
        import reportgen
        sys.executable = "/bin/false"  # an environment without the recorder
        with reportgen.recording(out={str(tmp_path)!r}) as run:
            for _ in reportgen.steps(range(7)):
                with reportgen.annotate("outer"), reportgen.annotate("inner"):
                    pass
        print(run.folder)
        """
    )
    assert done.stderr == "reportgen: steps only; the machine is not sampled here\n"
    assert done.stdout == f"{tmp_path}\n"
    assert steps_of(tmp_path) == list(range(7))
    ranges = reportgen.open(str(tmp_path)).framework_metrics(processes="annotation")
    assert sorted(set(ranges["framework_metric"])) == ["inner", "outer"]
    assert remarks_of(tmp_path) == []


def test_the_machine_is_sampled_beside_a_recording(tmp_path: Path) -> None:
    code = f"""
import time, reportgen
with reportgen.recording(out={str(tmp_path)!r}):
    for _ in reportgen.steps(range(4)):
        time.sleep(0.4)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    job = reportgen.open(str(tmp_path))
    assert "MemoryUsedPercent" in set(job.system_metrics()["system_metric"])
    assert steps_of(tmp_path) == [0, 1, 2, 3]


def test_a_second_recording_into_a_folder_goes_beside_it(tmp_path: Path) -> None:
    done = run(
        f"""
        import reportgen
        for n in (3, 5):
            with reportgen.recording(out={str(tmp_path / "run")!r}) as recorded:
                for _ in reportgen.steps(range(n)):
                    pass
            print(recorded.folder.name)
        """
    )

    assert done.stdout == "run\nrun-2\n"
    assert done.stderr == "reportgen: run holds another run; see run-2\n"
    assert [len(steps_of(tmp_path / name)) for name in ("run", "run-2")] == [3, 5]


def test_a_turn_that_break_leaves_is_no_step(tmp_path: Path) -> None:
    run(
        f"""
        import reportgen
        with reportgen.recording(out={str(tmp_path)!r}):
            for number in reportgen.steps(range(9)):
                if number == 4:
                    break
        """
    )
    assert steps_of(tmp_path) == [0, 1, 2, 3]


def test_annotations_decorate_functions_and_coroutines(tmp_path: Path) -> None:
    run(
        f"""
        import asyncio
        import reportgen

        @reportgen.annotate("fib")
        def fib(n):
            return n if n < 2 else fib(n - 1) + fib(n - 2)

        @reportgen.annotate("sleep")
        async def sleep():
            await asyncio.sleep(0)
            return 5

        assert fib.__name__ == "fib"
        with reportgen.recording(out={str(tmp_path)!r}):
            assert fib(3) == 2
            assert asyncio.run(sleep()) == 5
            reportgen.step()
        """
    )
    ranges = reportgen.open(str(tmp_path)).framework_metrics(processes="annotation")
    assert sorted(ranges["framework_metric"]) == ["fib"] * 5 + ["sleep"]


def test_a_missing_end_is_reported_and_not_drawn(tmp_path: Path) -> None:
    run(
        f"""
        import reportgen
        with reportgen.recording(out={str(tmp_path)!r}):
            reportgen.annotate("never ends").begin()
            begun = reportgen.annotate("ends elsewhere").begin()
            reportgen.step()
            begun.end()
            begun.end()
        """
    )
    ranges = reportgen.open(str(tmp_path)).framework_metrics(processes="annotation")
    assert list(ranges["framework_metric"]) == ["ends elsewhere"]
    assert remarks_of(tmp_path) == [("open_range", "never ends")]


def test_an_error_inside_a_range_passes_through(tmp_path: Path) -> None:
    run(
        f"""
        import reportgen
        with reportgen.recording(out={str(tmp_path)!r}):
            try:
                with reportgen.annotate("x"):
                    raise KeyError
            except KeyError:
                reportgen.step()
        """
    )
    assert steps_of(tmp_path) == [0]
