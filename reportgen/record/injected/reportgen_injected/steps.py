"""From marks to steps: where a training step begins and ends, whoever says so.

Marks come from loaders, modules, optimizers, trainers and the program itself. The best source that
a process has counts (docs/record.md, Steps and where they come from). A step begins when its first
batch has arrived, or with its first forward pass, and ends with its last optimizer step; what lies
between steps (waiting for data, evaluation, logging) is between them in the files too.
"""

from __future__ import annotations

import sys
from typing import Callable, Optional

from .output import Event

NONE, LOADER, OPTIMIZER, TRAINER, EXPLICIT = range(5)
SOURCE_NAMES = ("", "loader", "optimizer", "trainer", "explicit")

TRAIN, EVAL, PREDICT, GLOBAL = "TRAIN", "EVAL", "PREDICT", "GLOBAL"
_PHASES = {mode: f"Step:ModeKeys.{mode}" for mode in (TRAIN, EVAL, PREDICT, GLOBAL)}
PROFILED = "ProfiledStep"
"""The phase of steps during which a trace was taken, and of its beginning and end. It does not
begin with ``Step:``, so that no statistic of steps contains them."""

FORWARD, OPTIMIZER_PHASE, REST = "Forward", "Optimizer", "AfterForward"
REST_NAME = "backward pass and rest of the iteration"
BACKWARD = "Backward(post-forward)"
"""The name that SageMaker's hook gives it, which our reader pairs with ``Forward``."""
BACKWARD_NAME, REST_AFTER_BACKWARD = "loss and backward pass", "rest of the iteration"
AFTER_STEP, AFTER_STEP_NAME = "AfterStep", "logging and rest of the turn"
EPOCH_END, EPOCH_END_NAME = "EpochEnd", "between two epochs"
WAIT, ANNOTATION = "DataLoaderIter", "annotation"
SURELY_NO_TRAINING = 50
"""So many batches without an optimizer are taken for steps; before that it may still come."""
SURELY_NOT_EXPLICIT = 64
"""A program that imports our API may call ``step``; after this many steps of another source it
does not, and they count."""
_API = "reportgen"


class Steps:
    """The state of one process's loop; all times are monotonic ns.

    Args:
        add: takes events that are no steps.
        add_step: takes steps: the event and its mode.
        at_boundary: called where a step has just ended, as far as can be seen at once, with the
            number of the next step.
    """

    def __init__(
        self,
        add: Callable[[Event], None],
        add_step: Callable[[Event, str], None],
        at_boundary: Callable[[int], None],
    ) -> None:
        self._add, self._add_step, self._at_boundary = add, add_step, at_boundary
        self.source = NONE
        self.n_steps = 0  # training steps, complete ones
        self._numbers = {EVAL: 0, PREDICT: 0, GLOBAL: 0}
        self._begin_ns: Optional[int] = None  # of the running step
        self._end_ns = 0  # of the last optimizer step, or of the last step
        self._group: set[int] = set()  # the optimizers that stepped in the running iteration
        self._usual_group = 1
        self._mark_ns: Optional[int] = None  # first mark after the last optimizer step
        self._backward = -1
        self._has_forwards = self._has_forward = False  # ever; in the running step
        self._rest_ns = 0  # end of the forward or backward pass that nothing has followed yet
        self._is_backward = self._has_backward = False  # one runs; one has followed that pass
        self._epoch_end_ns = 0  # since when there was no batch
        self._evals: list[tuple[int, int]] = []
        self._arrival_ns = 0
        self._held: list[tuple[int, int]] = []
        self._before_trainer = NONE
        self._trainer_evaluates = False
        self.step_source = NONE  # of the last step
        self._provisional: Optional[list[tuple[Event, str]]] = []
        self.n_counted = self.loop_ns = 0  # steps of training or of unknown mode, and their loop
        self.waited_ns: Optional[int] = None  # for data, in it; None where no wait was seen
        self._first_ns: Optional[int] = None
        self._waits_ns: Optional[int] = None
        self._waits_before_ns = 0
        self._n_samples = 0  # that loaders delivered since the last training step
        self._sizes: dict[int, int] = {}  # number of steps by their samples

    # Loaders

    def wait_began(self, now_ns: int) -> None:
        """The loop asks for a batch: what ran before is complete."""
        if self._epoch_end_ns:
            self._end_epoch(now_ns)
        if self._group:
            self._after_step(now_ns)
            self.close()
        if self._evals:
            self._flush_evals(now_ns)
        if self._rest_ns:
            self._end_rest(now_ns)
        if self._arrival_ns and self.source <= LOADER:
            self._hold(self._arrival_ns, now_ns)
        self._arrival_ns = 0

    def wait_ended(
        self, began_ns: int, now_ns: int, name: str, more: str = "", n_samples: int = 0
    ) -> None:
        """The loop has got a batch."""
        self._n_samples += n_samples
        self._waits_ns = (self._waits_ns or 0) + now_ns - began_ns
        self._add(Event(WAIT, name, began_ns, now_ns, self.n_steps, more))
        self._arrival_ns = now_ns
        # Where forward passes are seen, a batch without one was not for this step.
        if self._begin_ns is None or (self._has_forwards and not self._has_forward):
            self._begin_ns = now_ns

    def epoch_ended(self, began_ns: int) -> None:
        """The loop asked for a batch and there was none: an epoch is over."""
        self._epoch_end_ns = began_ns

    def _end_epoch(self, now_ns: int) -> None:
        """Take what lay between two epochs, up to the first thing that is seen of the next one."""
        self._add(Event(EPOCH_END, EPOCH_END_NAME, self._epoch_end_ns, now_ns))
        self._epoch_end_ns = 0

    def _after_step(self, now_ns: int) -> None:
        if self.source <= OPTIMIZER:
            self._add(Event(AFTER_STEP, AFTER_STEP_NAME, self._end_ns, now_ns, self.n_steps))

    def _hold(self, start_ns: int, end_ns: int) -> None:
        self._held.append((start_ns, end_ns))
        if self.source == LOADER or len(self._held) >= SURELY_NO_TRAINING:
            self.flush_held()

    def flush_held(self) -> None:
        """Take the loader's periods for steps, where nothing better is known."""
        held, self._held = self._held, []
        if self.source <= LOADER:
            for start_ns, end_ns in held:
                self._emit(LOADER, GLOBAL, start_ns, end_ns)

    # Modules

    def forward_began(self, now_ns: int, is_training: bool) -> None:
        """The outermost module is called."""
        if self._epoch_end_ns:
            self._end_epoch(now_ns)
        if not is_training:
            return
        if self._evals:
            self._flush_evals()
        self._has_forwards = self._has_forward = True
        if self._group:
            self._mark_ns = self._mark_ns or now_ns
        elif self._begin_ns is None:
            self._begin_ns = now_ns
        if self._rest_ns:
            self._end_rest(now_ns)

    def forward_ended(self, began_ns: int, now_ns: int, name: str, is_training: bool) -> None:
        """The outermost module has returned."""
        if is_training:
            self._add(Event(FORWARD, name, began_ns, now_ns, self.n_steps))
            self._rest_ns, self._has_backward = now_ns, False
        elif not self._trainer_evaluates:
            if not self._evals and self._arrival_ns:
                began_ns = max(self._arrival_ns, self._end_ns)
            self._evals.append((began_ns, now_ns))

    def _flush_evals(self, now_ns: int = 0) -> None:
        """Take forward passes in eval mode, which no optimizer step followed, for evaluation.

        Each lasts until the next one begins, the last one until the loop asks for a batch.
        """
        evals, self._evals = self._evals, []
        if evals and not self._group and not self._has_forward:
            self._begin_ns = None
        following = [began_ns for began_ns, _ in evals[1:]] + [now_ns]
        for (began_ns, ended_ns), next_ns in zip(evals, following):
            self._emit(OPTIMIZER, EVAL, began_ns, max(ended_ns, next_ns))

    def backward_began(self, _now_ns: int) -> None:
        """A gradient has reached the output of the outermost module."""
        self._is_backward = bool(self._rest_ns)

    def backward_ended(self, now_ns: int) -> None:
        """A backward pass through the outermost module is complete."""
        if self._is_backward and self._rest_ns:
            self._add(Event(BACKWARD, BACKWARD_NAME, self._rest_ns, now_ns, self.n_steps))
            self._rest_ns = now_ns
            self._has_backward = True
        self._is_backward = False

    def _end_rest(self, now_ns: int) -> None:
        name = REST_AFTER_BACKWARD if self._has_backward else REST_NAME
        self._add(Event(REST, name, self._rest_ns, now_ns, self.n_steps))
        self._rest_ns, self._has_backward = 0, False

    # Optimizers

    def optimizer_began(self, now_ns: int, optimizer: int, backward: int) -> None:
        """An outermost optimizer step begins.

        Different optimizers without a new batch between them make one step, and so does whatever
        steps inside one backward pass.

        Args:
            now_ns: the time.
            optimizer: its identity.
            backward: number of the backward pass that it runs in, -1 outside of any.
        """
        is_same_backward = backward != -1 and backward == self._backward
        if optimizer in self._group and not is_same_backward:
            self.close()
        self._backward = backward
        if self._evals:
            self._evals.clear()  # the program trains in eval mode
        if self._rest_ns:
            self._end_rest(now_ns)
        if self._begin_ns is None:
            self._begin_ns = self._end_ns or now_ns

    def optimizer_ended(self, began_ns: int, now_ns: int, optimizer: int, name: str) -> None:
        """An outermost optimizer step has ended; a skipped one has no ``name``."""
        if name:
            self._add(Event(OPTIMIZER_PHASE, name, began_ns, now_ns, self.n_steps))
        self._group.add(optimizer)
        self._end_ns, self._mark_ns = now_ns, None
        if self.source <= OPTIMIZER and len(self._group) >= self._usual_group:
            self._at_boundary(self.n_steps + 1)

    def close(self) -> None:
        """Complete the step whose optimizers have stepped."""
        if not self._group:
            return
        begin_ns = self._end_ns if self._begin_ns is None else self._begin_ns
        self._usual_group = len(self._group)
        self._group.clear()
        if self.source <= OPTIMIZER:
            self._emit(OPTIMIZER, TRAIN, begin_ns, self._end_ns)
            self._begin_ns, self._mark_ns = self._mark_ns, None
            self._has_forward = self._begin_ns is not None and self._has_forwards

    # Trainers

    def trainer_began(self, evaluates: bool) -> None:
        """A trainer takes over: it says where training steps are, maybe evaluation steps too."""
        self.close()
        self._trainer_evaluates = evaluates
        if self.source < TRAINER:
            self._before_trainer, self.source = self.source, TRAINER
            self._held.clear()

    def trainer_ended(self) -> None:
        """The trainer is done; the next loop may be of another kind."""
        self._group.clear()
        self._begin_ns = self._mark_ns = None
        self._trainer_evaluates = False
        if self.source == TRAINER:
            self.source = self._before_trainer

    def trainer_step(self, began_ns: int, now_ns: int, mode: str = TRAIN, n: int = 1) -> None:
        """A trainer's step has ended; ``n`` steps in one call are taken for equally long."""
        if self.source > TRAINER:
            return
        if mode == TRAIN:
            self._group.clear()
            self._at_boundary(self.n_steps + n)
        for index in range(n):
            start_ns = began_ns + (now_ns - began_ns) * index // n
            end_ns = began_ns + (now_ns - began_ns) * (index + 1) // n
            self._emit(TRAINER, mode, start_ns, end_ns)

    # The program itself

    def loop_began(self, now_ns: int) -> None:
        """The program says that its loop begins now, at the latest."""
        self._end_ns = now_ns

    def explicit_step(self, now_ns: int, began_ns: Optional[int] = None) -> None:
        """The program says that a step has ended."""
        if self.source < EXPLICIT:  # the optimizer of this step has spoken before
            self._group.clear()
            self.source, self._provisional, self.n_steps = EXPLICIT, None, 0
            self.n_counted = self.loop_ns = 0
            self._first_ns = None
        if began_ns is None:
            began_ns = self._begin_ns
        self._at_boundary(self.n_steps + 1)
        self._emit(EXPLICIT, TRAIN, began_ns or self._end_ns or now_ns, now_ns)
        self._group.clear()
        self._end_ns, self._begin_ns, self._mark_ns = now_ns, None, None
        self._has_forward = False

    def annotated(self, name: str, start_ns: int, end_ns: int, more: str) -> None:
        """A named range has ended."""
        self._add(Event(ANNOTATION, name, start_ns, end_ns, self.n_steps, more))

    def samples_per_step(self) -> int:
        """Return how many samples most training steps had; 0 where no loader says it."""
        return max(self._sizes, key=lambda size: self._sizes[size], default=0)

    def has_optimizer_step(self) -> bool:
        """Return whether an optimizer has stepped since the last step was complete."""
        return bool(self._group)

    # All

    def _emit(self, source: int, mode: str, start_ns: int, end_ns: int) -> None:
        if source < self.source and mode != EVAL:
            return
        if source > self.source and mode != EVAL:
            self.source = source
            self._held.clear()
        number = self.n_steps if mode == TRAIN else self._numbers[mode]
        phase = _PHASES[mode]
        event = Event(phase, phase, start_ns, max(start_ns, end_ns), number)
        if mode != EVAL:
            self.step_source = source
            self._count(start_ns, end_ns)
        if source < EXPLICIT and self._provisional is not None and _API in sys.modules:
            self._provisional.append((event, mode))
            if len(self._provisional) >= SURELY_NOT_EXPLICIT:
                self._flush_provisional()
        else:
            self._add_step(event, mode)
        if mode == TRAIN:
            self.n_steps += 1
            self._sizes[self._n_samples] = self._sizes.get(self._n_samples, 0) + 1
            self._n_samples = 0
        else:
            self._numbers[mode] += 1

    def _count(self, start_ns: int, end_ns: int) -> None:
        if self._first_ns is None:
            self._first_ns, self._waits_before_ns = start_ns, self._waits_ns or 0
        self.n_counted += 1
        self.loop_ns = max(self.loop_ns, end_ns - self._first_ns)
        if self._waits_ns is not None:
            self.waited_ns = self._waits_ns - self._waits_before_ns

    def _flush_provisional(self) -> None:
        steps, self._provisional = self._provisional or [], None
        for event, mode in steps:
            self._add_step(event, mode)

    def finish(self) -> None:
        """Complete what is open at the end of the process."""
        self.close()
        self._flush_evals()
        self._flush_provisional()
        self.flush_held()
