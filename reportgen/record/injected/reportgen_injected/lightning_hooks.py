"""Lightning finds this by the entry points of the folder beside it; it adds one callback."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from . import trainer_marks
from .steps import EVAL, PREDICT, TRAIN


def callbacks() -> list[Any]:
    """Return our callback for ``lightning.pytorch``; nothing where nothing is recorded."""
    return _callbacks("lightning.pytorch")


def callbacks_of_pytorch_lightning() -> list[Any]:
    """Return our callback for the package ``pytorch_lightning``."""
    return _callbacks("pytorch_lightning")


def _callbacks(package: str) -> list[Any]:
    marks = trainer_marks()
    return [] if marks is None else [_callback(import_module(package).Callback, marks)]


def _callback(base: Any, marks: Any) -> Any:
    class ReportgenCallback(base):  # type: ignore[misc]
        """A step is what raises ``global_step``; batches that are accumulated are one step."""

        global_step = 0

        def on_train_start(self, trainer: Any, _module: Any) -> None:
            self.global_step = trainer.global_step
            marks.began(True)

        def on_train_batch_start(self, *_args: Any) -> None:
            marks.step_began(TRAIN)

        def on_train_batch_end(self, trainer: Any, *_args: Any) -> None:
            if trainer.global_step != self.global_step:
                self.global_step = trainer.global_step
                marks.step_ended(TRAIN, 1)

        def on_train_end(self, *_args: Any) -> None:
            marks.ended()

        def on_validation_batch_start(self, *_args: Any) -> None:
            marks.step_began(EVAL)

        def on_validation_batch_end(self, *_args: Any) -> None:
            marks.step_ended(EVAL, 1)

        on_test_batch_start = on_validation_batch_start
        on_test_batch_end = on_validation_batch_end

        def on_predict_batch_start(self, *_args: Any) -> None:
            marks.step_began(PREDICT)

        def on_predict_batch_end(self, *_args: Any) -> None:
            marks.step_ended(PREDICT, 1)

    return ReportgenCallback()
