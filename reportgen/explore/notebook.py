"""A job in a notebook: tables in UTC and seconds, charts, or the kinds that were not recorded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from reportgen.explore.frames import utc_texts
from reportgen.explore.job import Job
from reportgen.explore.loading import initialization_times, waits, worker_times
from reportgen.explore.statistics import STEP
from reportgen.profile.spans import LOADER_PROCESS
from reportgen.text_safety import cut_middle
from reportgen.units import NS_PER_S, NS_PER_US

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_RECORD = "`reportgen record -- python train.py` records"
NOT_RECORDED = {
    "samples": f"No samples of the machine were recorded. {_RECORD} them.",
    "gpu": f"The use of GPUs was not recorded. {_RECORD} it where the GPU's driver is installed.",
    "cpu": f"The use of CPU cores was not recorded. {_RECORD} it.",
    "events": f"No steps and no functions were recorded. {_RECORD} steps and waits for data.",
    "steps": f"No steps were recorded. {_RECORD} those of PyTorch, Hugging Face, Lightning and "
    "Keras; in any other loop write `for batch in reportgen.steps(loader):`.",
    "functions": "No functions were recorded. `reportgen record --trace 10:15 -- python train.py` "
    'records those of PyTorch in steps 10 to 15; `with reportgen.annotate("load"):` names any '
    "other part of a program.",
    "waits": f"No waits for a data loader were recorded. {_RECORD} those of PyTorch's "
    "`DataLoader`; around any other loader write `for batch in reportgen.steps(loader):`.",
    "set-ups": f"No set-up of an iterator was recorded. {_RECORD} those of PyTorch's `DataLoader`.",
    "workers": "No life time of a loader process was recorded; where `num_workers` is 0 there is "
    "no such process.",
    "python profiles": "No Python profile was recorded. SageMaker's profiler writes them where the "
    "`FrameworkProfile` has a `PythonProfilingConfig`; elsewhere "
    "`reportgen record --trace 10:15 -- python train.py` shows what ran in steps 10 to 15.",
}
"""Kinds of data that a job may lack, and how to record them."""
_INSTANTS = {
    "timestamp": "time",
    "start_time": "start",
    "end_time": "end",
    "previous_batch_start": "previous start",
}
_REPLACED = ("timestamp_us", "start_time_us", "end_time_us")
_IDS = ("step", "bytes", "worker_id", "num_workers", "tid", "pid")
_DAY = len("2020-07-01")
_NO_DAY = " 1970-01-01"
_EXACT_BELOW = 1_000
_MOST_LETTERS = 32


class Said(str):
    """A sentence in the place of a table or a chart."""

    __slots__ = ()

    def _repr_markdown_(self) -> str:
        return str(self)


class Notebook:
    """Shows what was recorded of a job, and says of the rest how to record it."""

    def __init__(self, job: Job) -> None:
        """Read samples and events; charts carry plotly, so that an export needs no network."""
        import plotly.io

        plotly.io.renderers.default = "plotly_mimetype+notebook"
        self.job = job
        self.system, self.framework = job.system_metrics(), job.framework_metrics()
        self.loader = job.dataloader_metrics()
        self._said: set[str] = set()

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """Return the keys of ``NOT_RECORDED`` of which the job has nothing."""
        process, dimension = self.framework["process"], set(self.system["dimension"])
        is_step = process.str.startswith(STEP)
        n_found = {
            "samples": len(self.system),
            "gpu": "GPUUtilization" in dimension,
            "cpu": "CPUUtilization" in dimension,
            "events": len(process),
            "steps": is_step.sum(),
            "functions": (~is_step & (process != LOADER_PROCESS)).sum(),
            "waits": len(waits(self.loader)),
            "set-ups": len(initialization_times(self.loader)),
            "workers": len(worker_times(self.loader)),
            "python profiles": len(self.job.python_profiles().table),
        }
        return tuple(kind for kind in NOT_RECORDED if not n_found[kind])

    def lacks(self, kinds: str) -> Said:
        """Return a sentence on the kinds, of ``"gpu, steps"``, that were not recorded; else empty.

        How to record it is said once.
        """
        lacking = [kind for kind in self.missing if kind in kinds.split(", ")]
        sentences = [
            f"{NOT_RECORDED[kind].partition('.')[0]}." if kind in self._said else NOT_RECORDED[kind]
            for kind in lacking
        ]
        self._said.update(lacking)
        return Said(" ".join(sentences))

    def table(self, frame: pd.DataFrame, *, of: str = "", none: str = "None.") -> object:
        """Return a frame in UTC and seconds; where it is empty, a sentence.

        Args:
            frame: of this package; its microseconds count from the job's origin.
            of: the kinds that it is made of, keys of ``NOT_RECORDED``.
            none: what to say where they were recorded and the frame is empty all the same.
        """
        return self.lacks(of) or (
            shown if len(shown := readable(frame, origin_us=self.job.origin_us)) else Said(none)
        )

    def chart(self, figure: Figure, *, of: str = "", none: str = "None.") -> Figure | Said:
        """Return a figure of ``charts``; where it is empty, a sentence; arguments as ``table``."""
        return self.lacks(of) or (figure if figure.data else Said(none))

    def text(self, sentence: str, *, of: str = "") -> Said:
        """Return a sentence, where what it is about was recorded."""
        return self.lacks(of) or Said(sentence)


def readable(frame: pd.DataFrame, *, origin_us: int) -> pd.DataFrame:
    """Return a frame as people read it: instants in UTC, durations in seconds, cells as texts.

    An event has its duration, and its end where the frame names it. Columns without any value are
    left out, and so are rows without any measured value; a single missing value is a dash. Times
    without a day are those of a timeline that has no wall clock. Long names are cut in the middle.
    """
    measured = frame.select_dtypes("float")
    frame = frame[measured.notna().any(axis="columns")] if measured.shape[1] else frame
    if "end_time_us" in frame and "duration_us" not in frame:
        frame = frame.assign(duration_us=frame["end_time_us"] - frame["start_time_us"])
    columns: dict[str, Sequence[str]] = {}
    for text, counted in (("timestamp", "timestamp_us"), ("start_time", "start_time_us")):
        if counted in frame and text not in frame:
            since_1970_us = frame[counted].to_numpy(dtype=np.int64) + origin_us
            frame = frame.assign(**{text: utc_texts(since_1970_us)})
    in_front = [name for name in _INSTANTS if name in frame]
    others = frame.columns.difference([*in_front, *_REPLACED], sort=False)
    for name in (*in_front, *others):
        heading, texts = _written(name, frame[name])
        if any(text not in ("", "NA", "–") for text in texts):
            columns[heading] = texts
    return frame.__class__(columns, index=[""] * len(frame))


def _written(name: str, values: pd.Series) -> tuple[str, Sequence[str]]:
    if name in _INSTANTS:
        days = {text[:_DAY] for text in values if text}
        skip, day = (_DAY + 1, f" {days.pop()}") if len(days) == 1 else (0, "")
        texts = [text[skip:].replace("T", " ")[::-1].replace(":", ".", 1)[::-1] for text in values]
        clock = "since the first event" if day == _NO_DAY else f"UTC{day}"
        return f"{_INSTANTS[name]}, {clock}", texts
    if name in _IDS and values.dtype.kind in "iu":
        least = int(name in ("pid", "tid"))
        return name, [str(value) if value >= least else "–" for value in values]
    if re.search("_us(_|$)", name):
        seconds = values * (NS_PER_US / NS_PER_S)
        return re.sub("_us(?=_|$)", "_s", name), [_number(value) for value in seconds]
    if values.dtype.kind in "iuf":
        return name, [*map(_number, values)]
    return name, [cut_middle(str(value), _MOST_LETTERS) for value in values]


def _number(value: float) -> str:
    if not np.isfinite(value):
        return "–"
    if abs(value) >= _EXACT_BELOW or value == int(value):
        return f"{value:,.0f}"
    return np.format_float_positional(value, precision=4, fractional=False, trim="-")
