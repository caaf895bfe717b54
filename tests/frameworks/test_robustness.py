"""The training never fails because of the recording, and the report says what it should."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frameworks.recorded import NEEDS_FRAMEWORKS, PYTHON, ROOT, SCRIPTS, record

pytestmark = NEEDS_FRAMEWORKS


@pytest.mark.parametrize(
    ("method", "hook", "n_recorded"),
    [
        ("optimizer_began", "torch.optimizer", None),
        ("forward_began", "torch.forward", 24),
        ("wait_began", "torch.loader", 24),
    ],
)
def test_a_hook_that_breaks_is_switched_off_and_reported(method, hook, n_recorded, tmp_path: Path):
    run = record([PYTHON, "hostile.py", method], out=tmp_path)
    assert run.exit_code == 0, run.stderr
    assert run.true["0"] == {"TRAIN": 24}
    assert [(fault["hook"], fault["error"]) for fault in run.faults] == [(hook, "LookupError")]
    assert "secret" not in str(run.faults)
    if n_recorded is not None:
        assert [modes["TRAIN"] for modes in run.counts().values()] == [n_recorded]


@pytest.mark.parametrize(("what", "exit_code"), [("close", 0), ("thread", 0), ("exception", 5)])
def test_programs_do_as_they_like(what: str, exit_code: int, tmp_path: Path) -> None:
    run = record([PYTHON, "hostile.py", what], out=tmp_path)
    assert run.exit_code == exit_code, run.stderr
    assert run.faults == []
    assert list(run.counts().values()) == [{"TRAIN": 24}]


def test_a_program_that_replaces_itself_is_recorded_twice(tmp_path: Path) -> None:
    run = record([PYTHON, "hostile.py", "exec"], out=tmp_path)
    assert run.exit_code == 0, run.stderr
    assert list(run.counts().values()) == [{"TRAIN": 48}]


def test_a_folder_that_goes_away_costs_the_recording_only(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = (
        f"import os, sys; sys.path[:0] = [{str(SCRIPTS)!r}]; sys.argv[1:] = ['close']; "
        f"os.rename({str(out)!r}, {str(out) + '-gone'!r}); open({str(out)!r}, 'w').close(); "
        f"exec(open({str(SCRIPTS / 'hostile.py')!r}).read())"
    )
    run = record([PYTHON, "-c", code], out=out)
    assert run.exit_code == 0, run.stderr
    assert run.true["0"] == {"TRAIN": 24}
    assert "Traceback" not in run.stderr


def test_two_environments_share_nothing_but_the_wheel(tmp_path: Path) -> None:
    wheels, installed = tmp_path / "wheels", tmp_path / "installed"
    build = "from hatchling.builders.wheel import WheelBuilder as B; import sys; "
    build += "print(*B('.').build(directory=sys.argv[1], versions=['standard']))"
    built = subprocess.run(
        [sys.executable, "-c", build, str(wheels)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    install = [str(PYTHON), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(installed), *map(str, wheels.iterdir())], check=True)
    code = f"import sys; sys.path[:0] = [{str(SCRIPTS)!r}, {str(installed)!r}]; "
    code += f"import reportgen; assert reportgen.__file__.startswith({str(installed)!r}); "
    code += "exec(open('jax_loop.py').read())"
    run = record([PYTHON, "-c", code], out=tmp_path / "out")
    assert run.exit_code == 0, run.stderr
    assert list(run.counts().values()) == [{"TRAIN": 15}]


def test_the_slow_loader_is_the_top_finding_with_the_right_share(tmp_path: Path) -> None:
    script = ROOT / "docs" / "examples" / "slow_loader.py"
    run = record([PYTHON, script], out=tmp_path / "run", options=["--report"])
    assert run.exit_code == 0, run.stderr
    made = tmp_path / "run-report"
    assert (made / "profiler-report.html").exists(), run.stderr
    report = json.loads((made / "profiler-report" / "report.json").read_text())
    top = report["findings"][0]
    assert top["rule"] == "Dataloader"
    # What the script does: waits end when a batch is there, and what is left of a turn is work.
    events = run.events()
    waits_us = sum(event["dur"] for event in events if event["phase"] == "DataLoaderIter")
    steps = [event for event in events if event["phase"] == "Step:ModeKeys.TRAIN"]
    assert len(steps) == 250
    loop_us = steps[-1]["ts"] + steps[-1]["dur"] - steps[0]["ts"]
    expected = waits_us / loop_us
    loading = json.loads((made / "profiler-report" / "Dataloader.json").read_text())["reportgen"]
    assert loading["metrics"]["waited_ratio"] == pytest.approx(expected, abs=0.02)
    # A batch takes 80 ms to load and 30 ms to train; one process loads while the other trains.
    assert 0.5 < expected < 0.75
    saved = top["estimate"]["share_ratio"]
    if "the cores also train" in top["text"]:  # other programs use them: less can be saved
        assert saved < expected
    else:
        assert top["severity"] == "critical"
        assert saved == pytest.approx(expected, abs=0.02)
