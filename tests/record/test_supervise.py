"""The command behaves as if nobody stood between it and its caller."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.record.running import RECORD, Terminal, environment, python, record, shell_words

pytestmark = pytest.mark.slow

COUNTS_INTERRUPTS = """
import signal, sys, time
seen = []
def interrupted(number, frame):
    seen.append(number)
    print(f"interrupt {len(seen)}", flush=True)
    if len(seen) == 2:
        sys.exit(5)
signal.signal(signal.SIGINT, interrupted)
print("up", flush=True)
while True:
    time.sleep(0.01)
"""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    found = Terminal(tmp_path)
    yield found
    found.close()


def typed(code: str, folder: Path) -> str:
    script = folder / "script.py"
    script.write_text(code)
    return shell_words([*RECORD, "--out", "out", "--", sys.executable, str(script)]) + "\n"


@pytest.mark.parametrize("code", [0, 3, 255])
def test_the_exit_code_is_that_of_the_command(code: int, tmp_path: Path) -> None:
    assert record(*python(f"raise SystemExit({code})"), cwd=tmp_path).returncode == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGSEGV])
def test_a_command_that_a_signal_ended_gives_128_and_its_number(number, tmp_path: Path) -> None:
    answer = record(*python(f"import os; os.kill(os.getpid(), {int(number)})"), cwd=tmp_path)

    assert answer.returncode == 128 + number


def test_a_command_that_does_not_exist_gives_127_and_leaves_no_folder(tmp_path: Path) -> None:
    answer = record("--", "no-such-command", cwd=tmp_path)

    assert answer.returncode == 127
    assert answer.stderr == "reportgen: no-such-command: No such file or directory\n"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_executable_gives_126(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no program")

    answer = record("--", "./notes.txt", cwd=tmp_path)

    assert answer.returncode == 126
    assert answer.stderr == "reportgen: ./notes.txt: Permission denied\n"


def test_a_script_without_interpreter_line_runs_as_in_a_shell(tmp_path: Path) -> None:
    script = tmp_path / "run"
    script.write_text('echo "ran $1"; exit 4\n')
    script.chmod(0o755)

    answer = record("--", "./run", "here", cwd=tmp_path)

    assert (answer.returncode, answer.stdout) == (4, "ran here\n")


def test_streams_are_the_command_s_own(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.write(sys.stdin.read()); sys.stderr.write('to stderr\\n')"

    answer = record("--out", "out", *python(code), cwd=tmp_path, input="from stdin")

    assert answer.stdout == "from stdin"
    assert answer.stderr.startswith("to stderr\n")


def test_arguments_reach_the_command_unchanged(tmp_path: Path) -> None:
    words = ["--report", "-h", "", "two words", "--", "ü"]

    answer = record(*python("import sys; print(sys.argv[1:])"), *words, cwd=tmp_path)

    assert answer.stdout == f"{words}\n"


def test_a_closed_stream_stays_closed_for_the_command(tmp_path: Path) -> None:
    code = "import os\ntry:\n    os.fstat(0)\nexcept OSError:\n    raise SystemExit(9)"
    command = shell_words([*RECORD, *python(code)])

    answer = subprocess.run(
        ["/bin/sh", "-c", f"{command} <&-"], cwd=tmp_path, env=environment(), check=False
    )

    assert answer.returncode == 9


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_asks_the_recorder_to_end_is_passed_on_once(number, tmp_path: Path) -> None:
    code = (
        "import signal, time\n"
        "def end(*_):\n"
        "    print('got it', flush=True)\n"
        "    time.sleep(0.3)\n"
        "    raise SystemExit(6)\n"
        f"signal.signal({int(number)}, end)\n"
        "print('up', flush=True)\n"
        "while True: time.sleep(0.01)\n"
    )
    with subprocess.Popen(
        [*RECORD, *python(code)],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        # ``nohup make test`` hands an ignored SIGHUP down, and the recorder leaves it ignored.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509  # no threads
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(number)

        assert process.stdout.read() == "got it\n"
    assert process.returncode == 6


def test_an_interrupt_stays_ignored_for_a_job_in_the_background(tmp_path: Path) -> None:
    code = "import signal; raise SystemExit(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"

    answer = record(
        *python(code), cwd=tmp_path, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
    )

    assert answer.returncode == 1


def test_ctrl_c_reaches_the_command_once_and_a_second_one_again(terminal: Terminal, tmp_path: Path):
    terminal.type(typed(COUNTS_INTERRUPTS, tmp_path))
    terminal.expect("up")
    terminal.type("\x03")
    terminal.expect("interrupt 1")
    terminal.type("\x03")
    terminal.expect("interrupt 2")
    terminal.expect("recorded into out")
    terminal.type("echo code=$?\n")
    terminal.expect("code=5")

    assert "interrupt" not in terminal.output


def test_ctrl_z_stops_the_job_and_fg_lets_it_go_on(terminal: Terminal, tmp_path: Path) -> None:
    code = (
        "import pathlib, time\nprint('up', flush=True)\n"
        "while not pathlib.Path('go').exists(): time.sleep(0.01)\n"
        "raise SystemExit(8)\n"
    )
    terminal.type(typed(code, tmp_path))
    terminal.expect("up")
    terminal.type("\x1a")
    terminal.expect("Stopped")
    terminal.expect("ready> ")
    (tmp_path / "go").touch()
    terminal.type("fg\n")
    terminal.expect("recorded into out")
    terminal.type("echo code=$?\n")
    terminal.expect("code=8")
