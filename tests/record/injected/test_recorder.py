"""What the recorder of a process keeps of its steps, whoever takes the marks."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from reportgen.record.injected.reportgen_injected.recorder import MOST_ENDS, MOST_MARKS, Recorder
from reportgen.record.injected.reportgen_injected.settings import Settings

START_NS = 1_760_000_000_000_000_000
STEP_NS = 1_000_000


@pytest.fixture(autouse=True)
def without_our_api(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whether the program imports our API is asked of sys.modules, where these tests have it.
    module = "reportgen.record.injected.reportgen_injected.steps"
    monkeypatch.setattr(f"{module}._API", "a module that nobody has imported")


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return recorder_in(tmp_path)


def recorder_in(folder: Path, **more: str) -> Recorder:
    """Return a recorder whose writer does nothing while a test runs."""
    return Recorder(Settings(str(folder), (START_NS, 0), every_s=3_600, **more))


def train(recorder: Recorder, n_steps: int, first: int = 0) -> None:
    for step in range(first, first + n_steps):
        recorder.take("trainer_step", step * STEP_NS, (step + 1) * STEP_NS)


def test_after_the_first_step_marks_wait_for_the_writer(recorder: Recorder) -> None:
    train(recorder, 1)
    assert (recorder.steps.n_steps, recorder.is_prompt) == (1, False)

    train(recorder, 5, first=1)
    assert recorder.steps.n_steps == 1
    recorder.replay()
    assert recorder.steps.n_steps == 6


def test_while_a_trace_is_wanted_marks_are_taken_at_once(tmp_path: Path) -> None:
    recorder = recorder_in(tmp_path, trace="50:60")
    train(recorder, 3)

    assert (recorder.steps.n_steps, recorder.is_prompt) == (3, True)


def test_the_card_is_brought_up_to_date_every_minute(recorder: Recorder, monkeypatch) -> None:
    train(recorder, 40)
    answers = iter([False, True])
    monkeypatch.setattr(recorder._stop, "wait", lambda _: next(answers))
    monkeypatch.setattr(f"{Recorder.__module__}.CARD_EVERY_NS", -1)
    recorder._write()

    assert recorder.output.card["n_steps"] == 40
    assert len(recorder.output.card["step_ends"]) == 40


def test_a_mark_that_fails_switches_its_hook_off_and_the_others_go_on(recorder, monkeypatch):
    monkeypatch.setattr(recorder.steps, "forward_began", None)
    loader, forward = recorder.fence("torch.loader"), recorder.fence("torch.forward")
    for step in range(3):
        recorder.mark(("forward_began", step * STEP_NS, True))
        train(recorder, 1, first=step)
    recorder.finish()

    assert recorder.steps.n_steps == 3
    assert (loader.is_on, forward.is_on) == (True, False)


def test_marks_that_nobody_takes_are_dropped_and_counted(recorder: Recorder) -> None:
    train(recorder, 1)
    train(recorder, 2 * MOST_MARKS, first=1)
    recorder.replay()

    assert recorder.output.n_lost > 0
    assert recorder.steps.n_steps == 1 + MOST_MARKS


def test_the_card_names_ends_of_steps_with_the_same_numbers_on_all_nodes(tmp_path: Path) -> None:
    numbers = []
    for name, n_steps in (("one", 9_000), ("other", 9_100)):
        recorder = recorder_in(tmp_path / name)
        train(recorder, n_steps)
        recorder.finish()
        ends = recorder.output.card["step_ends"]
        assert MOST_ENDS // 3 <= len(ends) <= MOST_ENDS
        assert ends[1][1] == START_NS + (ends[1][0] + 1) * STEP_NS
        numbers.append({number for number, _ in ends})

    assert numbers[0] <= numbers[1]


@pytest.mark.parametrize(("is_used", "uuids"), [(True, ["GPU-a1", "GPU-a2"]), (False, [])])
def test_the_card_names_the_gpus_that_the_process_uses(recorder, monkeypatch, is_used, uuids):
    cuda = SimpleNamespace(
        is_initialized=lambda: is_used,
        current_device=lambda: 1,
        device_count=lambda: 3,
        memory_allocated=lambda index: 10 if index == 2 else 0,
        get_device_properties=lambda index: SimpleNamespace(uuid=f"a{index}"),
    )
    monkeypatch.setitem(sys.modules, "torch.cuda", cuda)
    train(recorder, 1)

    assert recorder.output.card["gpu_uuids"] == uuids
