"""Marks of trainers: Hugging Face, Lightning, Keras. They say best what a step is."""

from __future__ import annotations

import time
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable

from .annotations import MarkedLoop
from .steps import EVAL, PREDICT, TRAIN

if TYPE_CHECKING:
    from .recorder import Recorder

now_ns = time.monotonic_ns


class TrainerMarks:
    """The function that all trainers call; it never raises."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.fence = fence = recorder.fence("trainer")
        self.began, self.ended = fence(self._began), fence(self._ended)
        self.step_began, self.step_ended = fence(self._step_began), fence(self._step_ended)
        self._step_ns: dict[str, int] = {}

    def _began(self, evaluates: bool) -> None:
        self._recorder.take("trainer_began", evaluates)

    def _ended(self) -> None:
        self._recorder.take("trainer_ended")

    def _step_began(self, mode: str) -> None:
        self._step_ns.setdefault(mode, now_ns())

    def _step_ended(self, mode: str, n_steps: int) -> None:
        at_ns = now_ns()
        began_ns = self._step_ns.pop(mode, at_ns)
        self._recorder.take("trainer_step", began_ns, at_ns, mode, n_steps)


def install_transformers(module: ModuleType, marks: TrainerMarks) -> None:
    """Add a callback to ``transformers.trainer.DEFAULT_CALLBACKS``."""

    class ReportgenCallback(module.TrainerCallback):  # type: ignore[name-defined,misc]
        def on_train_begin(self, *_args: Any, **_kwargs: Any) -> None:
            marks.began(False)

        def on_step_begin(self, *_args: Any, **_kwargs: Any) -> None:
            marks.step_began(TRAIN)

        def on_step_end(self, *_args: Any, **_kwargs: Any) -> None:
            marks.step_ended(TRAIN, 1)

        def on_train_end(self, *_args: Any, **_kwargs: Any) -> None:
            marks.ended()

    module.DEFAULT_CALLBACKS.append(ReportgenCallback)


def install_keras(module: ModuleType, marks: TrainerMarks) -> None:
    """Wrap the batch methods of Keras's ``CallbackList``."""
    for word, mode in (("train", TRAIN), ("test", EVAL), ("predict", PREDICT)):
        _wrap_batches(module.CallbackList, word, mode, marks)


class _Batches:
    """The iterator from which Keras takes batches; each request is a wait."""

    def __init__(self, iterator: Any, loop: MarkedLoop) -> None:
        self._iterator, self._loop = iterator, loop

    def __iter__(self) -> _Batches:
        return self

    def __next__(self) -> Any:
        began_ns = self._loop.ask()
        batch = next(self._iterator)
        self._loop.take(began_ns)
        return batch


def install_epoch_iterator(module: ModuleType, recorder: Recorder) -> None:
    """Wrap the iterators that Keras's ``EpochIterator`` hands to a training function.

    On TensorFlow that function is compiled, and asks for batches where nobody can look.
    """
    kind = module.EpochIterator
    enumerate_iterator, loop = kind._enumerate_iterator, MarkedLoop(recorder, kind.__name__)  # noqa: SLF001
    not_seen = [lambda: recorder.remark("not_seen", "waits for data of Keras on TensorFlow")]

    def enumerate_timed(self: Any) -> Any:
        is_compiled = type(self).__name__.startswith("TF")
        if is_compiled and not_seen:
            not_seen.pop()()
        timed: Any = None
        for begin, end, iterator in enumerate_iterator(self):
            if is_compiled:
                yield begin, end, iterator
                continue
            if timed is None or timed[0] is not iterator:
                timed = iterator, _Batches(iterator, loop)
            yield begin, end, timed[1]

    kind._enumerate_iterator = enumerate_timed  # noqa: SLF001


def _wrap_batches(kind: Any, word: str, mode: str, marks: TrainerMarks) -> None:
    first = {"batch": 0}

    def begin(_callbacks: Any, batch: int) -> None:
        first["batch"] = batch
        marks.step_began(mode)

    def end(callbacks: Any, batch: int) -> None:
        # The last execution of an epoch may have fewer steps than Keras says.
        n_steps = (getattr(callbacks, "params", None) or {}).get("steps")
        last = min(batch, n_steps - 1) if n_steps and mode == TRAIN else batch
        marks.step_ended(mode, max(1, last - first["batch"] + 1))

    _wrap(kind, f"on_{word}_batch_begin", marks.fence(begin))
    _wrap(kind, f"on_{word}_batch_end", marks.fence(end))
    if mode == TRAIN:
        _wrap(kind, "on_train_begin", lambda *_of: marks.began(True))
        _wrap(kind, "on_train_end", lambda *_of: marks.ended())


def _wrap(kind: Any, name: str, mark: Callable[[Any, Any], None]) -> None:
    method = getattr(kind, name)

    def marked(self: Any, batch: Any = None, logs: Any = None) -> Any:
        mark(self, batch)
        return method(self, logs) if batch is None else method(self, batch, logs)

    setattr(kind, name, marked)
