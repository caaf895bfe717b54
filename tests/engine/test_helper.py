"""A helper process: what it yields arrives, and its failure is seen."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator

import pytest

from reportgen.engine import HelperError, run_in_helper


def squares(n: int) -> Iterator[int]:
    sys.stdout.write("what a library prints does not disturb the answer\n")
    for number in range(n):
        yield number * number


def large(n_bytes: int) -> Iterator[bytes]:
    yield b"x" * n_bytes
    yield b"y" * n_bytes


def failing() -> Iterator[str]:
    yield "first"
    raise ValueError("on purpose")


def killed() -> Iterator[str]:
    yield "first"
    os.kill(os.getpid(), signal.SIGKILL)


def interrupted() -> Iterator[str]:
    os.kill(os.getpid(), signal.SIGINT)
    yield "not for me"


def own_id() -> Iterator[int]:
    yield os.getpid()
    yield from iter(int, 1)  # never ends


def detailed() -> Iterator[int]:
    logging.getLogger("reportgen.engine").debug("a detail")
    yield 1


def test_what_the_function_yields_arrives_in_order() -> None:
    with run_in_helper(squares, 5) as results:
        assert list(results) == [0, 1, 4, 9, 16]


def test_more_than_a_pipe_holds_arrives() -> None:
    with run_in_helper(large, 3_000_000) as results:
        assert [len(part) for part in results] == [3_000_000] * 2


@pytest.mark.parametrize("fn", [failing, killed])
def test_a_failure_is_an_error_after_what_came_before(fn: Callable[[], Iterator[str]]) -> None:
    with run_in_helper(fn) as results:
        assert next(results) == "first"
        with pytest.raises(HelperError):
            next(results)


def test_ctrl_c_is_for_the_process_that_started_it() -> None:
    with run_in_helper(interrupted) as results:
        assert list(results) == ["not for me"]


def test_a_failure_says_nothing_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(HelperError), run_in_helper(failing) as results:
        list(results)
    assert capfd.readouterr().err == ""


def test_the_log_of_a_helper_is_as_detailed_as_that_of_who_started_it(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    for level, said in (("ERROR", ""), ("DEBUG", "a detail\n")):
        caplog.set_level(level, logger="reportgen")
        with run_in_helper(detailed) as results:
            assert list(results) == [1]
        assert capfd.readouterr().err == said


def test_the_process_is_gone_afterwards() -> None:
    with run_in_helper(own_id) as results:
        process = next(results)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.parametrize("python", ["", "/nowhere/python", "/bin/false"])
def test_without_a_python_to_start_there_is_an_error(
    monkeypatch: pytest.MonkeyPatch, python: str
) -> None:
    monkeypatch.setattr(sys, "executable", python)
    with pytest.raises(HelperError), run_in_helper(squares, 100_000) as results:
        list(results)
