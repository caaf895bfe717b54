"""From marks to steps, by hand: times are in ns, and a mark a hundred later is another moment."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.record.injected.reportgen_injected.steps import (
    EVAL,
    SURELY_NO_TRAINING,
    SURELY_NOT_EXPLICIT,
    Steps,
)


class Loop:
    """Steps, and what they gave away."""

    def __init__(self) -> None:
        self.added: list[Any] = []
        self.made: list[tuple[str, int, int, int]] = []
        self.boundaries: list[int] = []
        self.steps = Steps(self.added.append, self._made, self.boundaries.append)

    def _made(self, event: Any, mode: str) -> None:
        self.made.append((mode, event.step, event.start_ns, event.end_ns))

    def wait(self, at: int, n_samples: int = 0) -> None:
        self.steps.wait_began(at)
        self.steps.wait_ended(at, at + 10, "Loader::GetNext", n_samples=n_samples)

    def forward(self, at: int, *, is_training: bool = True) -> None:
        self.steps.forward_began(at, is_training=is_training)
        self.steps.forward_ended(at, at + 10, name="Model", is_training=is_training)

    def optimizer(self, at: int, which: int = 1, backward: int = -1) -> None:
        self.steps.optimizer_began(at, which, backward)
        self.steps.optimizer_ended(at, at + 10, optimizer=which, name="SGD.step")

    def step(self, at: int, *, is_training: bool = True) -> None:
        self.wait(at)
        self.forward(at + 20, is_training=is_training)
        self.optimizer(at + 50)

    def finish(self) -> list[tuple[str, int, int, int]]:
        self.steps.finish()
        return self.made

    def phases(self) -> list[tuple[str, int, int]]:
        return [(event.phase, event.start_ns, event.end_ns) for event in self.added]


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    # Whether the program imports our API is asked of sys.modules, where these tests have it.
    module = "reportgen.record.injected.reportgen_injected.steps"
    monkeypatch.setattr(f"{module}._API", "a module that nobody has imported")
    return Loop()


@pytest.mark.parametrize("is_training", [True, False], ids=["as usual", "in eval mode"])
def test_a_step_lasts_from_its_batch_to_its_optimizer(is_training: bool, loop: Loop) -> None:
    for at in (100, 200):
        loop.step(at, is_training=is_training)
    assert loop.finish() == [("TRAIN", 0, 110, 160), ("TRAIN", 1, 210, 260)]


def test_samples_of_all_batches_of_a_step_count_and_most_steps_decide(loop: Loop) -> None:
    for at, n_samples in enumerate((32, 32, 32, 32, 32, 7)):
        loop.wait(200 * at, n_samples)
        if at % 2:
            loop.optimizer(200 * at + 50)
    loop.finish()

    assert loop.steps.samples_per_step() == 64


def test_batches_that_are_accumulated_are_one_step(loop: Loop) -> None:
    for at in (100, 200, 300):
        loop.wait(at)
        loop.forward(at + 20)
    loop.optimizer(350)
    loop.wait(400)
    assert loop.finish() == [("TRAIN", 0, 110, 360)]


def test_two_optimizers_in_one_iteration_are_one_step(loop: Loop) -> None:
    for at in (100, 200):
        loop.wait(at)
        loop.forward(at + 20)
        loop.optimizer(at + 40, which=1)
        loop.forward(at + 60)
        loop.optimizer(at + 80, which=2)
    assert loop.finish() == [("TRAIN", 0, 110, 190), ("TRAIN", 1, 210, 290)]


def test_without_a_loader_the_same_optimizer_begins_the_next_step(loop: Loop) -> None:
    for at in (100, 200, 300):
        loop.forward(at)
        loop.optimizer(at + 50)
    assert loop.finish() == [("TRAIN", 0, 100, 160), ("TRAIN", 1, 200, 260), ("TRAIN", 2, 300, 360)]


def test_optimizers_inside_one_backward_pass_are_one_step(loop: Loop) -> None:
    for at, backward in ((100, 1), (200, 2)):
        for offset in (0, 10, 20):
            loop.optimizer(at + offset, which=7, backward=backward)
    assert [made[0:2] for made in loop.finish()] == [("TRAIN", 0), ("TRAIN", 1)]


def test_evaluation_is_between_training_steps(loop: Loop) -> None:
    loop.step(100)
    for at in (200, 300):
        loop.wait(at)
        loop.forward(at + 20, is_training=False)
    loop.step(400)
    assert loop.finish() == [
        ("TRAIN", 0, 110, 160),
        ("EVAL", 0, 210, 300),
        ("EVAL", 1, 310, 400),
        ("TRAIN", 1, 410, 460),
    ]


def test_batches_of_an_evaluation_that_is_not_seen_lie_in_no_step(loop: Loop) -> None:
    loop.step(100)
    for at in (200, 300, 400):  # a copy of the model, without a hook
        loop.wait(at)
    loop.step(500)
    assert loop.finish() == [("TRAIN", 0, 110, 160), ("TRAIN", 1, 510, 560)]


def test_a_trainer_outranks_the_optimizer_while_it_trains(loop: Loop) -> None:
    loop.steps.trainer_began(evaluates=False)
    for at in (100, 200):
        loop.wait(at)
        loop.optimizer(at + 50)
        loop.steps.trainer_step(at + 15, at + 70)
    loop.steps.trainer_ended()
    loop.wait(300)
    loop.optimizer(350)
    assert loop.finish() == [("TRAIN", 0, 115, 170), ("TRAIN", 1, 215, 270), ("TRAIN", 2, 310, 360)]


def test_a_trainer_that_says_its_evaluation_is_not_counted_twice(loop: Loop) -> None:
    loop.steps.trainer_began(evaluates=True)
    loop.forward(100, is_training=False)
    loop.steps.trainer_step(100, 120, mode=EVAL)
    loop.wait(200)
    assert loop.finish() == [("EVAL", 0, 100, 120)]


def test_steps_in_one_call_are_taken_for_equally_long(loop: Loop) -> None:
    loop.steps.trainer_step(100, 400, n=3)
    assert [made[2:] for made in loop.made] == [(100, 200), (200, 300), (300, 400)]


def test_the_program_itself_outranks_all(loop: Loop) -> None:
    for at in (100, 200):
        loop.wait(at)
        loop.optimizer(at + 40)
        loop.steps.explicit_step(at + 80)
    assert loop.finish() == [("TRAIN", 0, 110, 180), ("TRAIN", 1, 210, 280)]


@pytest.mark.parametrize(("n", "expected"), [(5, 1), (SURELY_NOT_EXPLICIT + 1, None)])
def test_optimizer_steps_before_the_first_word_of_the_program_are_dropped(
    n: int, expected: int | None, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "reportgen.record.injected.reportgen_injected.steps"
    monkeypatch.setattr(f"{module}._API", "sys")  # a module that everybody has imported
    for index in range(n):  # one explicit step in which the optimizer steps n times
        loop.forward(100 * index)
        loop.optimizer(100 * index + 50)
    loop.steps.explicit_step(100 * n)
    assert len(loop.finish()) == (expected or n)  # too many: they were steps


def test_the_first_step_of_a_bare_step_call_has_no_length(loop: Loop) -> None:
    for at in (100, 200, 300):
        loop.steps.explicit_step(at)
    assert [made[2:] for made in loop.finish()] == [(100, 100), (100, 200), (200, 300)]


def test_a_recording_block_says_where_its_first_step_begins(loop: Loop) -> None:
    loop.steps.loop_began(40)
    loop.steps.explicit_step(100)
    assert loop.finish() == [("TRAIN", 0, 40, 100)]


@pytest.mark.parametrize("n", [3, SURELY_NO_TRAINING + 3])
def test_without_anything_better_the_period_of_the_loader_counts(n: int, loop: Loop) -> None:
    for index in range(n + 1):
        loop.wait(100 * index)
    assert loop.finish() == [("GLOBAL", i, 100 * i + 10, 100 * i + 100) for i in range(n)]


def test_the_backward_pass_lasts_from_the_output_to_its_end(loop: Loop) -> None:
    loop.wait(100)
    loop.forward(120)
    loop.steps.backward_began(140)
    loop.steps.backward_ended(170)
    loop.optimizer(200)
    loop.wait(300)

    assert [phase for phase in loop.phases() if phase[0] != "DataLoaderIter"] == [
        ("Forward", 120, 130),
        ("Backward(post-forward)", 130, 170),
        ("AfterForward", 170, 200),
        ("Optimizer", 200, 210),
        ("AfterStep", 210, 300),
    ]


def test_between_two_epochs_lies_what_follows_the_batch_that_never_came(loop: Loop) -> None:
    loop.wait(100)
    loop.optimizer(150)
    loop.steps.wait_began(200)
    loop.steps.epoch_ended(200)
    loop.wait(500)

    assert ("EpochEnd", 200, 500) in loop.phases()


def test_the_waits_of_the_loop_are_those_behind_its_first_step(loop: Loop) -> None:
    for at in (100, 200, 300):
        loop.wait(at)
        loop.optimizer(at + 50)
    loop.finish()

    assert (loop.steps.n_counted, loop.steps.loop_ns, loop.steps.waited_ns) == (3, 250, 20)
