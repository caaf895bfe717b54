"""One node's framework events: what ran from when to when.

Columns of equal length instead of objects: a million events are a few arrays. Text columns are
codes into a vocabulary, and many events share a row of arguments: an event takes 25 bytes. Rows
are sorted by (start, end, phase, name, worker, step).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.memo import Memo

NO_STEP = -1
STEP_PREFIX = "Step:"
LOADER_PROCESS = "DataLoaderWorker"
EPOCH_END = "EpochEnd"
"""Phases of steps, of the lives of a loader's processes, and of the time between two epochs."""
TRAINING_PHASES = ("TRAIN", "GLOBAL")
"""The phases that stand for the training, the better one first."""
FETCH = "DataLoaderIter"
TENSORFLOW_FETCH = "DataIterator"
"""Phases in which PyTorch's loop asks for a batch, and TensorFlow's pipeline is asked."""


class SpanSource(StrEnum):
    """Which writer made the event; decides how it is classified.

    Source: docs/rules.md, Breakdown of framework events.
    """

    PYTHON = "pythontimeline"
    MODEL = "model_timeline"
    HOROVOD = "horovod_timeline"
    SMDATAPARALLEL = "smdataparallel_timeline"
    TENSORFLOW = "tensorflow_profiler"
    OTHER = "other"


Words = NDArray[np.signedinteger[Any]]
"""Codes into a vocabulary: int8, or wider when it has more than 127 words."""

Numbers = NDArray[np.signedinteger[Any]]
"""Whole numbers, as narrow as they can be; -1 where absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanArguments:
    """Arguments of events; each row belongs to one or more of them.

    Attributes:
        step: (k,) ``args.step_num``.
        os_pid: (k,) ``args.pid``.
        tid: (k,) thread id.
        worker_id: (k,) ``args.worker_id`` of a loader process.
        num_workers: (k,) ``args.num_workers``.
        pin_memory: (k,) 1 or 0.
        bytes_fetched: (k,) ``args.bytes_fetched``.
        label: (k,) codes into ``labels``: ``args.layer_name``, else ``args.name``; frames show it
            in place of the event's name (docs/formats.md, Frames).
        labels: vocabulary of ``label``.
    """

    step: Numbers
    os_pid: Numbers
    tid: Numbers
    worker_id: Numbers
    num_workers: Numbers
    pin_memory: Numbers
    bytes_fetched: Numbers
    label: Numbers
    labels: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return int(self.step.shape[0])


class _ArgumentColumn:
    """A column of ``arguments`` for each event: (n,) int64, so that sums and products fit."""

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, table: SpanTable, _owner: type) -> NDArray[np.int64]:
        numbers: Numbers = getattr(table.arguments, self._name)
        return numbers[table.argument].astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanTable:
    """Events of one node.

    Attributes:
        start_ns, end_ns: (n,) int64 ns UTC, end >= start; equal for instants.
        name: (n,) codes into ``names``: the event's name (operator, module, iterator).
        phase: (n,) codes into ``phases``: the process name (``Step:ModeKeys.TRAIN``).
        worker: (n,) codes into ``workers``: ``algo-1-27`` (node and process id).
        source: (n,) codes into ``sources`` (values of ``SpanSource``).
        argument: (n,) int32 rows of ``arguments``.
        arguments: the numbers behind ``step``, ``os_pid`` and so on, which are looked up there:
            (n,) int64, -1 (``NO_STEP``) where absent.
    """

    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    name: Words
    phase: Words
    worker: Words
    source: Words
    argument: NDArray[np.int32]
    arguments: SpanArguments
    names: tuple[str, ...]
    phases: tuple[str, ...]
    workers: tuple[str, ...]
    sources: tuple[str, ...]
    memo: Memo = field(default_factory=Memo, init=False, repr=False, compare=False)

    @property
    def n_spans(self) -> int:
        """Return the number of events."""
        return int(self.start_ns.shape[0])

    @property
    def duration_ns(self) -> NDArray[np.int64]:
        """Return (n,) int64 durations."""
        return self.end_ns - self.start_ns

    def where(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> SpanTable:
        """Return the selected rows; vocabularies stay."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _HELD_COLUMNS})

    step = _ArgumentColumn()
    os_pid = _ArgumentColumn()
    tid = _ArgumentColumn()
    worker_id = _ArgumentColumn()
    num_workers = _ArgumentColumn()
    pin_memory = _ArgumentColumn()
    bytes_fetched = _ArgumentColumn()
    label = _ArgumentColumn()

    def called(self) -> tuple[tuple[str, ...], Words]:
        """Return the names of events in frames: words, and (n,) codes into them.

        It is the label of an event where it has one, else its name.
        """
        labels = self.arguments.labels
        if not labels:
            return self.names, self.name
        words = tuple(dict.fromkeys((*self.names, *labels)))
        place = {word: code for code, word in enumerate(words)}
        code = np.array([place[label] for label in labels], dtype=code_type(len(words)))
        label = self.label
        return words, np.where(label < 0, self.name, code[label])

    def in_phases(self, phases: Iterable[str]) -> NDArray[np.bool_]:
        """Return an (n,) mask of the events whose phase is one of ``phases``."""
        return where_word(self.phase, self.phases, set(phases).__contains__)

    def named(self, is_wanted: Callable[[str], object]) -> NDArray[np.bool_]:
        """Return an (n,) mask of the events whose name is wanted."""
        return where_word(self.name, self.names, is_wanted)

    def steps(self) -> SpanTable:
        """Return the step events: those whose phase is ``Step:…``."""
        return self.where(
            self.in_phases(phase for phase in self.phases if phase.startswith(STEP_PREFIX))
        )

    def training_steps(self) -> SpanTable:
        """Return the steps of the best of ``TRAINING_PHASES`` that is there, else all steps."""
        steps = self.steps()
        for word in TRAINING_PHASES:
            rows = steps.in_phases(item for item in steps.phases if item.rpartition(".")[2] == word)
            if rows.any():
                return steps.where(rows)
        return steps


_HELD_COLUMNS = ("start_ns", "end_ns", "name", "phase", "worker", "source", "argument")
NUMBER_COLUMNS = tuple(field.name for field in fields(SpanArguments) if field.name != "labels")
ARRAY_COLUMNS = (*_HELD_COLUMNS[:-1], *NUMBER_COLUMNS)
"""Every column of events, held or looked up."""


def where_word(
    codes: Words, words: Iterable[str], is_wanted: Callable[[str], object]
) -> NDArray[np.bool_]:
    """Return (n,) whether the word of each code is wanted."""
    return np.array([bool(is_wanted(word)) for word in words], dtype=np.bool_)[codes]


def code_type(n_words: int) -> np.dtype[np.signedinteger[Any]]:
    """Return the type of codes into a vocabulary of ``n`` words."""
    narrowest = (kind for kind in (np.int8, np.int16) if n_words <= np.iinfo(kind).max)
    return np.dtype(next(narrowest, np.int32))


def empty_spans() -> SpanTable:
    """Return a table without events."""
    times_ns = np.empty(0, dtype=np.int64)
    rows = np.empty(0, dtype=np.int32)
    codes = np.empty(0, dtype=code_type(0))
    return SpanTable(
        start_ns=times_ns,
        end_ns=times_ns,
        name=codes,
        phase=codes,
        worker=codes,
        source=codes,
        argument=rows,
        arguments=SpanArguments(**dict.fromkeys(NUMBER_COLUMNS, times_ns), labels=()),
        names=(),
        phases=(),
        workers=(),
        sources=(),
    )
