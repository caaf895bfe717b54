"""Tables of the intake as pandas frames with the columns people know from smdebug.

Source of names, types and origin: docs/formats.md, Frames. Times are texts in UTC and whole
microseconds since the job's origin, the minute of its first system file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reportgen.facts.loader import loader_rows
from reportgen.intake import SampleTable
from reportgen.profile import NO_STEP, SpanTable
from reportgen.units import NS_PER_US

_SYSTEM = "timestamp timestamp_us value system_metric dimension nodeID type"
SYSTEM_COLUMNS = tuple(_SYSTEM.split())
_TIMES = ("start_time", "end_time", "start_time_us", "end_time_us")
_EVENT = ("pid", "framework_metric", "step")
_LOADER = ("worker_id", "num_workers", "pin_memory")
FRAMEWORK_COLUMNS = (*_TIMES, "tid", *_EVENT, "bytes", "process", "nodeID")
DATALOADER_COLUMNS = (*_TIMES, "duration_us", *_EVENT, *_LOADER, "process", "node_id")
_PIN_MEMORY = np.array(["False", "True", "NA"], dtype=object)
_FRACTION_AT = 19
_CHUNK = 100_000


def system_frame(samples: SampleTable, node: str, *, origin_us: int) -> pd.DataFrame:
    """Return the SYSTEM frame of a node: one row per sample, µs counted from ``origin_us``."""

    def words(names: Sequence[str]) -> NDArray[np.object_]:
        return _looked_up(names, samples.code)

    columns: dict[str, Any] = {
        "timestamp": utc_texts(samples.time_us),
        "timestamp_us": samples.time_us - origin_us,
        "value": samples.value,
        "system_metric": words([item.name for item in samples.series]),
        "dimension": words([item.dimension for item in samples.series]),
        "nodeID": np.full(samples.time_us.shape, node, dtype=object),
        "type": words([item.type for item in samples.series]),
    }
    return pd.DataFrame(columns)


def framework_frame(spans: SpanTable, *, origin_us: int) -> pd.DataFrame:
    """Return the FRAMEWORK frame: one row per event, ``nodeID`` is the worker (``algo-1-27``)."""
    columns: dict[str, Any] = {
        **_times(spans, origin_us),
        "tid": np.maximum(spans.tid, 0),
        "pid": np.maximum(spans.os_pid, 0),
        "framework_metric": _looked_up(*spans.called()),
        "step": spans.step,
        "bytes": spans.bytes_fetched,
        "process": _looked_up(spans.phases, spans.phase),
        "nodeID": _looked_up(spans.workers, spans.worker),
    }
    return pd.DataFrame(columns)


def dataloader_frame(spans: SpanTable, *, origin_us: int) -> pd.DataFrame:
    """Return the DATALOADER frame: iterators set up, waits for a batch, lives of workers.

    Waits are PyTorch's ``DataLoaderIter`` events, or the outermost ``GetNext`` of TensorFlow;
    where neither was recorded, the operators ``enumerate(DataLoader)#….__next__``.

    ``worker_id`` and ``num_workers`` are -1 where an event does not say them, ``pin_memory`` is
    the text ``True``, ``False`` or ``NA``.
    """
    rows = loader_rows(spans)
    is_wait = rows.fetch if rows.fetch.any() else rows.next_call
    loader = spans.where(rows.initialize | rows.process | is_wait)
    is_known = np.isin(loader.pin_memory, (0, 1))  # any other number says nothing
    columns: dict[str, Any] = {
        **_times(loader, origin_us),
        "duration_us": loader.duration_ns // NS_PER_US,
        "pid": np.maximum(loader.os_pid, 0),
        "framework_metric": _looked_up(*loader.called()),
        "step": np.where(loader.step == NO_STEP, -1, loader.step),
        "worker_id": loader.worker_id,
        "num_workers": loader.num_workers,
        "pin_memory": _PIN_MEMORY[np.where(is_known, loader.pin_memory, len(_PIN_MEMORY) - 1)],
        "process": _looked_up(loader.phases, loader.phase),
        "node_id": _looked_up(loader.workers, loader.worker),
    }
    return pd.DataFrame(columns)


def join_frames(frames: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """Return frames one below the other with a fresh index; the columns are there when empty."""
    filled = [frame for frame in frames if len(frame)]
    if not filled:
        return frames[0].reset_index(drop=True) if frames else pd.DataFrame(columns=list(columns))
    return filled[0] if len(filled) == 1 else pd.concat(filled, ignore_index=True)


def utc_texts(time_us: NDArray[np.int64]) -> NDArray[np.object_]:
    """Return instants as texts of the shape ``2020-07-01T02:31:58:560123``.

    The colon before the fraction is smdebug's. Made in pieces: as fixed-width text a million of
    them would take 100 MB at once.
    """
    texts = np.empty(time_us.shape, dtype=object)
    for start in range(0, time_us.size, _CHUNK):
        piece = np.datetime_as_string(time_us[start : start + _CHUNK].astype("M8[us]"), unit="us")
        characters = np.ascontiguousarray(piece).view("U1").reshape(piece.size, -1)
        characters[:, _FRACTION_AT] = ":"
        texts[start : start + _CHUNK] = characters.view(piece.dtype).ravel()
    return texts


def _times(spans: SpanTable, origin_us: int) -> dict[str, Any]:
    start_us, end_us = spans.start_ns // NS_PER_US, spans.end_ns // NS_PER_US
    return {
        "start_time": utc_texts(start_us),
        "end_time": utc_texts(end_us),
        "start_time_us": start_us - origin_us,
        "end_time_us": end_us - origin_us,
    }


def _looked_up(words: Sequence[str], codes: NDArray[np.integer]) -> NDArray[np.object_]:
    """Return the words of codes; equal words are one object, so that a row costs a pointer."""
    vocabulary = np.empty(len(words), dtype=object)
    vocabulary[:] = words
    return vocabulary[codes] if len(words) else np.empty(codes.shape, dtype=object)
