"""A helper process and a copy of this one: what they yield arrives, and their failure is seen."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.engine import HelperError, copied, run_in_copy, run_in_helper, split

Beside = Callable[..., AbstractContextManager[Iterator[Any]]]
NEEDS_FORK = pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux only")


@pytest.fixture(params=[run_in_helper, pytest.param(run_in_copy, marks=NEEDS_FORK)])
def beside(request: pytest.FixtureRequest) -> Beside:
    way: Beside = request.param
    return way


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


def silent() -> Iterator[int]:
    yield os.getpid()
    signal.pause()


def test_what_the_function_yields_arrives_in_order(beside: Beside) -> None:
    with beside(squares, 5) as results:
        assert list(results) == [0, 1, 4, 9, 16]


def test_more_than_a_pipe_holds_arrives(beside: Beside) -> None:
    with beside(large, 3_000_000) as results:
        assert [len(part) for part in results] == [3_000_000] * 2


@pytest.mark.parametrize("fn", [failing, killed])
def test_a_failure_is_an_error_after_what_came_before(fn: object, beside: Beside) -> None:
    with beside(fn) as results:
        assert next(results) == "first"
        with pytest.raises(HelperError):
            next(results)


def test_ctrl_c_is_for_the_process_that_started_it(beside: Beside) -> None:
    with beside(interrupted) as results:
        assert list(results) == ["not for me"]


def test_a_failure_says_nothing_on_stderr(
    capfd: pytest.CaptureFixture[str], beside: Beside
) -> None:
    with pytest.raises(HelperError), beside(failing) as results:
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


def test_the_process_is_gone_afterwards(beside: Beside) -> None:
    with beside(own_id) as results:
        process = next(results)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@NEEDS_FORK
def test_a_copy_that_has_said_everything_is_gone_before_the_next_one() -> None:
    def who() -> Iterator[int]:
        yield os.getpid()

    processes: list[int] = []
    for _ in range(3):
        with run_in_copy(who) as results:
            processes += results
    with run_in_copy(squares, 2) as results:
        for process in processes:
            with pytest.raises(ProcessLookupError):
                os.kill(process, 0)


@NEEDS_FORK
def test_copies_work_where_the_end_of_processes_is_ignored() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        for _ in range(2):
            with run_in_copy(squares, 3) as results:
                assert list(results) == [0, 1, 4]
        with run_in_copy(own_id) as results:
            next(results)
    finally:
        signal.signal(signal.SIGCHLD, before)


@NEEDS_FORK
def test_a_copy_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copied, "_SILENT_S", 0.5)
    with run_in_copy(silent) as results:
        process = next(results)
        with pytest.raises(HelperError):
            next(results)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.parametrize("python", ["", "/nowhere/python", "/bin/false"])
def test_without_a_python_to_start_there_is_an_error(
    monkeypatch: pytest.MonkeyPatch, python: str
) -> None:
    monkeypatch.setattr(sys, "executable", python)
    with pytest.raises(HelperError), run_in_helper(squares, 100_000) as results:
        list(results)


@given(st.lists(st.integers(0, 100), max_size=30), st.integers(0, 4), st.integers(0, 500))
def test_cuts_cover_everything_once(sizes: list[int], n_helpers: int, head_start: int) -> None:
    cuts = split(sizes, n_helpers, head_start)
    assert (len(cuts), cuts[0], cuts[-1]) == (n_helpers + 2, 0, len(sizes))
    assert cuts == sorted(cuts)


def test_all_is_done_here_when_it_is_done_before_a_helper_is_ready() -> None:
    assert split([5, 5], 1, head_start=100) == [0, 2, 2]
