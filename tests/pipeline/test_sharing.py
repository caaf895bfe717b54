"""A large trace is measured by this process and a copy of it, and nobody sees a difference."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reportgen.engine import copied
from reportgen.pipeline import sharing
from reportgen.pipeline.sharing import measure_shared
from reportgen.profile import RankTrace
from reportgen.results import RuleId
from reportgen.results.codec import encode
from reportgen.rules.base import AnyRule, Need
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.runner import judge_all, measure_part
from reportgen.rules.settings import resolve_params
from tests.rules.samples import busy_trace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can copy processes")

KERNEL_RULES = tuple(rule for rule in BUILTIN_RULES if Need.KERNELS in rule.needs)
HERE = os.getpid()


@pytest.fixture(autouse=True)
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every trace as a large one, in a process without threads on a machine of two cores."""
    monkeypatch.setattr(sharing, "_LEAST_EVENTS", 0)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(copied, "spare_cores", lambda: 1)


def rules_of(*measures: Callable[[RankTrace, Any], Any]) -> tuple[AnyRule, ...]:
    return tuple(
        replace(KERNEL_RULES[0], id=RuleId(f"Rule{n}"), measure=measure)
        for n, measure in enumerate(measures)
    )


def measured(*measures: Callable[[RankTrace, Any], Any]) -> list[Any]:
    rules = rules_of(*measures)
    return list(measure_shared(busy_trace(), rules, {rule.id: None for rule in rules}).values())


def test_results_are_those_of_one_process() -> None:
    params = resolve_params(BUILTIN_RULES, {})
    results = [
        judge_all([measure(busy_trace(), KERNEL_RULES, params)], KERNEL_RULES, params)
        for measure in (measure_shared, measure_part)
    ]
    assert list(map(encode, results[0])) == list(map(encode, results[1]))


class Meeting:
    """Two rules that go on when both are measured, which needs two processes."""

    def __init__(self) -> None:
        self.pipes = os.pipe(), os.pipe()

    def first(self, _: RankTrace, __: object) -> int:
        os.write(self.pipes[0][1], b"1")
        os.read(self.pipes[1][0], 1)
        return os.getpid()

    def second(self, _: RankTrace, __: object) -> int:
        os.write(self.pipes[1][1], b"1")
        os.read(self.pipes[0][0], 1)
        return os.getpid()


def test_two_processes_measure_at_the_same_time_in_the_order_of_the_rules() -> None:
    meeting = Meeting()
    first, second = measured(meeting.first, meeting.second)
    assert first == HERE != second


def test_what_cannot_travel_is_measured_here() -> None:
    meeting = Meeting()

    def second(trace: RankTrace, params: object) -> Any:
        if os.getpid() != HERE:
            meeting.second(trace, params)
        return lambda: 7

    _, unpicklable = measured(meeting.first, second)
    assert unpicklable() == 7


def test_what_a_killed_copy_had_is_measured_here() -> None:
    meeting = Meeting()

    def second(trace: RankTrace, params: object) -> int:
        if os.getpid() != HERE:
            meeting.second(trace, params)
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    assert measured(meeting.first, second) == [HERE, HERE]


def test_a_process_that_cannot_be_copied_measures_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise OSError("no more processes")

    monkeypatch.setattr(os, "fork", refuse)
    assert measured(*[lambda *_: os.getpid()] * 3) == [HERE] * 3


def test_a_process_with_threads_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("copied"))
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert measured(*[lambda *_: os.getpid()] * 3) == [HERE] * 3


def test_no_copy_is_left_when_a_rule_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[int] = []
    fork = os.fork

    def noted() -> int:
        copies.append(fork())
        return copies[-1]

    monkeypatch.setattr(os, "fork", noted)
    meeting = Meeting()

    def interrupted(trace: RankTrace, params: object) -> None:
        meeting.first(trace, params)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measured(interrupted, meeting.second)
    with pytest.raises(ChildProcessError):
        os.waitpid(copies[0], os.WNOHANG)


@pytest.mark.parametrize("is_killed", [False, True])
def test_what_is_aside_is_done_once_and_to_its_end(tmp_path: Path, *, is_killed: bool) -> None:
    def aside() -> None:
        (tmp_path / f"{os.getpid()}").touch()
        if is_killed and os.getpid() != HERE:
            os.kill(os.getpid(), signal.SIGKILL)
        (tmp_path / f"{os.getpid()} done").touch()

    rules = rules_of(lambda *_: 1, lambda *_: 2)
    found = measure_shared(busy_trace(), rules, {rule.id: None for rule in rules}, aside)
    assert list(found.values()) == [1, 2]
    (done,) = (path.name for path in tmp_path.glob("* done"))
    assert (done == f"{HERE} done") == is_killed


def test_an_error_aside_is_the_error_of_this_process() -> None:
    def aside() -> None:
        raise OSError("disk full")

    rules = rules_of(lambda *_: 1, lambda *_: 2)
    with pytest.raises(OSError, match="disk full"):
        measure_shared(busy_trace(), rules, {rule.id: None for rule in rules}, aside)
