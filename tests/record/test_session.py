"""One recording, or several in one folder: files, end, losses, and what must not be in them."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import reportgen
from reportgen import intake
from reportgen.record import session
from reportgen.record.session import RecordOptions
from tests.record.running import RECORD, environment, lines_of, python, record, until

pytestmark = pytest.mark.slow
WAITS = "print('up', flush=True); input()"


@contextmanager
def running(
    folder: Path, *options: str, code: str = WAITS, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Record a program that waits for a line; leave by giving it one."""
    command = [*RECORD, "--out", "out", "--every", "0.1", *options, *python(code)]
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process
        process.communicate("\n", timeout=60)


def n_ticks(out: Path) -> int:
    return len({line["Timestamp"] for line in lines_of(out)})


def card(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "recorder.json").read_text())
    return found


def test_a_recording_is_a_job_for_the_report_and_for_analysis_by_hand(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with running(tmp_path):
        until(lambda: n_ticks(out) > 4, "five ticks")
        assert not intake.discover(str(out)).info.is_finished
    job = intake.discover(str(out))
    (part,) = job.parts
    node = intake.read_node(part)

    assert (job.info.name, job.info.is_finished, part.node) == ("out", True, "node-1")
    assert node.system.interval_ns == 100_000_000
    assert {series.type for series in node.system.series} >= {"cpu", "memory"}
    assert [note.text for note in node.notes if "were read" not in note.text] == [
        "1 file of system metrics of node-1 was read."
    ]

    frame = reportgen.open(str(out)).system_metrics()
    assert list(frame.columns) == [
        "timestamp", "timestamp_us", "value", "system_metric", "dimension", "nodeID", "type",
    ]  # fmt: skip
    assert set(frame["nodeID"]) == {"node-1"}
    assert len(frame) == len(lines_of(out))


def test_the_end_says_the_folder_and_the_command_for_the_report(tmp_path: Path) -> None:
    answer = record("--out", "two words", *python(""), cwd=tmp_path)

    assert answer.stderr.splitlines()[-1] == (
        "reportgen: recorded into 'two words'; for the report: "
        "reportgen report 'two words' --output 'two words-report'"
    )


def test_the_end_says_steps_speed_and_waiting(tmp_path: Path) -> None:
    loop = """
import reportgen, time
def batches():
    for _ in range(10):
        time.sleep(0.03)
        yield 0
for _ in reportgen.steps(batches()): time.sleep(0.01)
"""
    stderr = record("--out", "out", *python(loop), cwd=tmp_path).stderr
    found = re.search(
        r"reportgen: 10 steps, ([\d.]+) steps/s, ([\d.]+) % of the time waiting", stderr
    )

    assert found is not None, stderr
    assert 0 < float(found[1]) < 40
    assert 40 < float(found[2]) < 95


LOOP = {"n_steps": 10, "lasted_ns": 2 * 10**9, "waited_ns": 0}
RANK = {"loop": LOOP, "samples_per_step": 8, "world_size": 4, "n_parameters": 7_000_000_000}
TEXT = {**RANK, "tokens_per_sample": 2048.0}
H100 = "NVIDIA H100 80GB HBM3"
MFU_PCT = 100 * 6 * 7e9 * 8 * 2048 * 5 / 989.4e12


@pytest.mark.parametrize(
    ("rank", "gpus", "said"),
    [
        (RANK, [H100], "160 samples/s, 0.0 %"),
        (TEXT, [H100, H100], f"160 samples/s, MFU {MFU_PCT:.1f} % of the BF16 peak"),
        (TEXT, ["Tesla T4"], "% of the FP16 peak"),
        (TEXT, ["NVIDIA X1000"], "160 samples/s, 0.0 %"),
        (TEXT, [H100, "Tesla T4"], "160 samples/s, 0.0 %"),
        ({**TEXT, "has_frozen_parameters": True}, [H100], "160 samples/s, 0.0 %"),
        ({"loop": LOOP}, [H100], "10 steps, 5 steps/s, 0.0 %"),
    ],
)
def test_the_end_says_samples_and_mfu_where_model_tokens_and_gpu_are_known(
    tmp_path: Path, rank: Mapping[str, Any], gpus: list[str], said: str
) -> None:
    (tmp_path / "recorder" / "ranks").mkdir(parents=True)
    (tmp_path / "recorder" / "ranks" / "one.json").write_text(json.dumps(rank))
    node = {"gpus": [{"name": name, "is_used": None} for name in gpus]}
    (tmp_path / "recorder.json").write_text(json.dumps(node))

    assert said in session.numbers_of(tmp_path)


def test_a_program_without_steps_is_told_how_to_mark_them(tmp_path: Path) -> None:
    loop = "import reportgen\nfor _ in reportgen.steps(range(4)): pass"
    with_marks, without_marks = (
        "no step was seen" in record("--out", out, *python(code), cwd=tmp_path).stderr
        for out, code in (("marked", loop), ("plain", "for _ in range(4): pass"))
    )
    assert (with_marks, without_marks) == (False, True)


def test_without_out_each_recording_has_a_folder_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("")
    for _ in range(2):
        record("--", sys.executable, "train.py", cwd=tmp_path)

    folders = sorted(path.name for path in (tmp_path / "profiler-runs").iterdir())
    assert len(folders) == 2
    assert all("-train" in name for name in folders)


@pytest.mark.notebook
def test_the_report_is_made_at_the_end_and_stdout_is_the_command_s(tmp_path: Path) -> None:
    code = "import time; time.sleep(1); print('mine'); raise SystemExit(4)"
    answer = record("--out", "out", "--report", *python(code), cwd=tmp_path)

    assert (answer.returncode, answer.stdout) == (4, "mine\n")
    assert "recorded into out; now the report is written to out-report" in answer.stderr
    report = json.loads((tmp_path / "out-report/profiler-report/report.json").read_text())
    assert report["job"]["running_until"] is None
    assert report["recording"]["nodes"][0]["node"] == "node-1"
    page = (tmp_path / "out-report/profiler-report.html").read_text()
    assert "The job ended with exit code 4; memory at the end: host " in page


def test_a_thread_that_cannot_start_costs_the_samples_and_nothing_else(tmp_path: Path) -> None:
    options = RecordOptions(
        command=[sys.executable, "-c", "raise SystemExit(5)"], out=tmp_path / "o"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        assert session.record(options) == 5


def fail(_: object) -> None:
    raise RuntimeError("can't start new thread")


def test_the_card_says_what_the_recording_is_and_what_it_cost(tmp_path: Path) -> None:
    record("--out", "out", "--every", "0.2", *python("import time; time.sleep(0.5)"), cwd=tmp_path)

    found = card(tmp_path / "out")
    assert found["interval_s"] == 0.2
    assert found["n_cores"] == len(os.sched_getaffinity(0))
    assert found["own_cost"]["ticks"] >= 2
    assert 0 < found["own_cost"]["memory_bytes"] < 100e6
    assert found["begun_ns"] < found["until_ns"]


def test_two_recorders_of_one_machine_share_a_node_and_one_samples(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with running(tmp_path), running(tmp_path):
        until(lambda: n_ticks(out) > 4, "five ticks")
        claims = sorted(path.name for path in (out / "recorder" / "nodes").iterdir())
        assert claims == ["node-1.json", "node-1.sampler-1"]
        assert len(list((out / "recorder" / "runs").iterdir())) == 2
    assert (out / "system" / "training_job_end.ts").exists()


def test_the_job_ends_with_its_last_recorder(tmp_path: Path) -> None:
    marker = tmp_path / "out" / "system" / "training_job_end.ts"
    with running(tmp_path):
        with running(tmp_path):
            pass
        assert not marker.exists()
    assert marker.exists()


def test_when_the_sampling_recorder_is_killed_another_one_takes_over(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with running(tmp_path) as first, running(tmp_path):
        until(lambda: n_ticks(out) > 2, "three ticks")
        first.send_signal(signal.SIGKILL)
        first.wait()
        until((out / "recorder/nodes/node-1.sampler-2").exists, "the second sampler")
        seen = n_ticks(out)
        until(lambda: n_ticks(out) > seen + 2, "its ticks")
    # The killed one never said that it ended; its process is gone, so nobody waits for it.
    assert (out / "system" / "training_job_end.ts").exists()


def test_a_killed_recorder_leaves_whole_lines_and_its_command_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = "print('up', flush=True); input(); open('went-on', 'w').close()"
    with running(tmp_path, code=code) as process:
        until(lambda: n_ticks(out) > 4, "five ticks")
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert n_ticks(out) > 4
        files = list(out.glob("system/incremental/*/*.json"))
        assert all(path.read_bytes().endswith(b"}\n") for path in files)
        assert not intake.discover(str(out)).info.is_finished
    until((tmp_path / "went-on").exists, "the end of the command")


def test_a_second_run_into_the_folder_has_one_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "out-2").mkdir()
    (tmp_path / "out-2" / "mine").touch()
    (tmp_path / "out-3").touch()
    record("--out", "out", *python(""), cwd=tmp_path)
    first = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    answers = [record("--out", "out", *python(""), cwd=tmp_path) for _ in range(2)]

    for number, answer in enumerate(answers, 4):
        assert answer.returncode == 0
        assert answer.stderr.startswith(
            f"reportgen: out holds the recording of another run; this one goes into out-{number}\n"
        )
        assert f"recorded into out-{number}; " in answer.stderr
        assert len(list((tmp_path / f"out-{number}/recorder/runs").iterdir())) == 1
    now = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert now == first


@pytest.mark.parametrize(
    ("environments", "n_folders"),
    [
        ([{"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0"}] * 2, 1),
        ([{"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": step} for step in "01"], 2),
        ([{"SLURM_JOB_ID": job, "SLURM_STEP_ID": "0"} for job in ("4711", "4712")], 2),
        ([{"TORCHELASTIC_RUN_ID": "none"}] * 2, 2),
        ([{"PBS_JOBID": "7"}] * 2, 1),
    ],
)
def test_runs_of_one_launcher_s_step_are_one_job(environments, n_folders, tmp_path: Path) -> None:
    for variables in environments:
        record("--out", "out", *python(""), cwd=tmp_path, env=variables)

    assert len(list(tmp_path.glob("out*"))) == n_folders


def test_where_nothing_can_be_written_the_command_runs_and_the_loss_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    answer = record("--out", "file/below", *python("raise SystemExit(3)"), cwd=tmp_path)

    assert answer.returncode == 3
    assert answer.stderr.startswith("reportgen: not recorded: ")
    assert answer.stderr.endswith("the command runs anyway\n")


def test_samples_that_cannot_be_written_are_counted_and_said(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with running(tmp_path) as process:
        until(lambda: n_ticks(out) > 2, "three ticks")
        until(lambda: is_blocked(out / "system"), "a file in the place of the folder")
        until(lambda: (out / "recorder.json").exists(), "the card")
        process.stdin.write("\n")  # type: ignore[union-attr]  # a pipe was asked for
        process.stdin.flush()  # type: ignore[union-attr]  # likewise
        process.wait()
        stderr = process.stderr.read()  # type: ignore[union-attr]  # likewise
    # Another minute begins with its folder, which fails in another way.
    assert re.search(r"\d+ ticks? of samples \((Not a directory|File exists)\)", stderr)
    assert process.returncode == 0


def is_blocked(folder: Path) -> bool:
    """Put a file in the place of a folder, which its writer may make again meanwhile."""
    with suppress(FileNotFoundError):
        folder.rename(folder.with_name(f"kept-{time.monotonic_ns()}"))
    with suppress(FileExistsError):
        folder.touch(exist_ok=False)
    return folder.is_file()


def test_nothing_private_is_in_a_recording(tmp_path: Path) -> None:
    token = "planted-f3a9"
    home = tmp_path / token
    home.mkdir()
    code = f"{WAITS}  # {token}"
    script = home / "train.py"
    script.write_text(code)
    env = environment({"SECRET": token, "USER": token, "HOME": str(home)})
    record(
        "--out", home / "out", "--", sys.executable, script, "--key", token, cwd=home, env=env,
        input="\n",
    )  # fmt: skip

    files = [path for path in (home / "out").rglob("*") if path.is_file()]
    assert len(files) >= 5
    for path in files:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        for private in (token, os.uname().nodename):
            assert private.encode() not in content, path
            assert private not in str(path.relative_to(home)), path


def test_files_and_folders_are_for_the_user_alone(tmp_path: Path) -> None:
    record("--out", "out", *python("import time; time.sleep(0.3)"), cwd=tmp_path)

    for path in (tmp_path / "out").rglob("*"):
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path


def test_host_names_are_nodes_when_asked_for(tmp_path: Path) -> None:
    record("--out", "out", "--hostnames", *python("import time; time.sleep(0.3)"), cwd=tmp_path)

    (name,) = {line["NodeId"] for line in lines_of(tmp_path / "out")}
    assert os.uname().nodename.startswith(name.partition("-")[0])
    assert name != "node-1"


def test_attached_to_a_process_it_records_until_that_process_ends(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        command = [*RECORD, "--out", "out", "--every", "0.1", "--attach", str(other.pid)]
        with subprocess.Popen(
            command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            variables = json.loads(process.stdout.readline())
            until(lambda: n_ticks(tmp_path / "out") > 2, "three ticks")
            other.communicate(b"\n")
    assert process.returncode == 0
    assert variables["REPORTGEN_RECORD_DIR"] == str(tmp_path / "out")
    assert variables["REPORTGEN_RECORD_NODE"] == "node-1"
    assert (tmp_path / "out" / "system" / "training_job_end.ts").exists()


def test_variables_of_a_recording_around_this_one_do_not_reach_the_command(tmp_path: Path) -> None:
    code = "import os; print(sorted(key for key in os.environ if 'REPORTGEN_RECORD_' in key))"
    answer = record(*python(code), cwd=tmp_path, env={"REPORTGEN_RECORD_TRACE": "1:2"})

    assert answer.stdout == str(
        [
            f"REPORTGEN_RECORD_{name}"
            for name in ("BOOT", "CLOCK", "DIR", "EVERY", "INJECTED", "NODE")
        ]
    ) + "\n"  # fmt: skip
