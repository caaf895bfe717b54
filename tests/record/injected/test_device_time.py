"""Device times by events that are read later, with a device that is made here."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from reportgen.record.injected.reportgen_injected.device_time import MOST_PENDING, DeviceTimer
from reportgen.record.injected.reportgen_injected.output import Event


class Mark:
    """An event of a device whose clock the test sets; each is 2.5 ms after the one before."""

    made = 0
    n_done = 0

    def __init__(self, *, enable_timing: bool) -> None:
        assert enable_timing
        self.number = 0

    def record(self) -> None:
        Mark.made += 1
        self.number = Mark.made

    def query(self) -> bool:
        return self.number <= Mark.n_done

    def elapsed_time(self, later: Mark) -> float:
        assert later.query(), "asked before the device was there"
        return 2.5 * (later.number - self.number)


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(Mark, "made", 0)
    monkeypatch.setattr(Mark, "n_done", 0)
    fake = SimpleNamespace(
        Event=Mark, is_initialized=lambda: True, is_current_stream_capturing=lambda: False
    )
    monkeypatch.setitem(sys.modules, "torch.cuda", fake)
    return fake


def _drop(_event: Event) -> None:
    """Take an event that the test does not look at."""


def step(number: int) -> Event:
    return Event("Step", "Step", number, number + 1, number)


def run(timer: DeviceTimer, n_steps: int) -> None:
    for number in range(n_steps):
        timer.mark()
        timer.add_step(step(number))


def test_a_step_waits_for_its_device_time(cuda: Any) -> None:
    added: list[Event] = []
    timer = DeviceTimer(added.append)
    run(timer, 4)
    assert [event.step for event in added] == [0]  # nothing says where the first began
    Mark.n_done = 2
    timer.mark()
    assert [(event.step, event.more) for event in added[1:]] == [(1, '"device_us": 2500')]
    timer.finish()
    assert [(event.step, event.more) for event in added[2:]] == [(2, ""), (3, "")]


def test_a_device_that_hangs_holds_back_few_steps(cuda: Any) -> None:
    added: list[Event] = []
    run(DeviceTimer(added.append), MOST_PENDING + 10)
    assert len(added) == 1 + 9


def test_nothing_is_marked_while_a_graph_is_captured(cuda: Any) -> None:
    cuda.is_current_stream_capturing = lambda: True
    timer = DeviceTimer(_drop)
    timer.mark()
    assert Mark.made == 0


def test_a_program_that_has_not_initialized_cuda_is_not_made_to(cuda: Any) -> None:
    cuda.is_initialized = lambda: False
    added: list[Event] = []
    timer = DeviceTimer(added.append)
    run(timer, 3)
    assert Mark.made == 0
    assert len(added) == 3
    assert timer.gpu_uuids() == []


def test_the_gpus_of_a_process_are_those_it_uses(cuda: Any) -> None:
    cuda.current_device = lambda: 1
    cuda.device_count = lambda: 3
    cuda.memory_allocated = lambda index: 10 if index == 2 else 0
    cuda.get_device_properties = lambda index: SimpleNamespace(uuid=f"uuid-{index}")
    assert DeviceTimer(_drop).gpu_uuids() == ["GPU-uuid-1", "GPU-uuid-2"]
