"""Work of a process's GPUs, the calls that launched it, and waits: tables of CUPTI."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.columns import ABSENT
from reportgen.formats.nsight.reading import Batch, ProcessReading, constant
from reportgen.profile.trace_tables import HOST_MEMORY, GpuKind

_NAME_COLUMNS = ("demangledName", "shortName", "mangledName")
_SHAPE = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")
_SPAN = ("start", "end")
_PLACE = ("deviceId", "streamId", "correlationId")
_CALL_VERSION = re.compile(r"_v\d+$")
"""The version of the interface in the name of a call: ``cudaLaunchKernel_v7000``."""

_DIRECTIONS = {
    1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD",
    9: "HtoH", 10: "PtoP", 11: "HtoD", 12: "DtoH", 13: "DtoD",
}  # fmt: skip
_FIRST_UNIFIED = 11
_MEMORY_KINDS = (
    "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static",
)  # fmt: skip
_LAST_OF_HOST = 1
_SYNCS = {1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}
_ALLOCATED, _FREED = 0, 1
_GPU_MEMORY = 1


def read_kernels(reading: ProcessReading) -> None:
    """Take kernels, and replays of CUDA graphs that were recorded as a whole."""
    known = reading.report.tables.get("CUPTI_ACTIVITY_KIND_KERNEL", frozenset())
    named = next((name for name in _NAME_COLUMNS if name in known), _NAME_COLUMNS[0])
    for batch in reading.batches("CUPTI_ACTIVITY_KIND_KERNEL", (*_SPAN, *_PLACE, named, *_SHAPE)):
        texts = [text or "kernel" for text in reading.report.texts(batch[named])]
        _add_ops(reading, batch, texts, GpuKind.KERNEL, shape=_shapes(reading, batch))
    for batch in reading.batches("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", (*_SPAN, *_PLACE, "graphId")):
        graphs = [f"CUDA graph {graph}" for graph in reading.numbers(batch["graphId"]).tolist()]
        _add_ops(reading, batch, graphs, GpuKind.KERNEL)
        reading.n_graph_runs += len(graphs)


def read_copies(reading: ProcessReading) -> None:
    """Take copies and memsets, named as PyTorch's profiler names them."""
    kinds = ("copyKind", "srcKind", "dstKind")
    for batch in reading.batches("CUPTI_ACTIVITY_KIND_MEMCPY", (*_SPAN, *_PLACE, "bytes", *kinds)):
        different, index = reading.matrix(batch, kinds)
        names = [_copy_name(*row) for row in different]
        _add_ops(reading, batch, [names[at] for at in index.tolist()], GpuKind.MEMCPY)
    for batch in reading.batches(
        "CUPTI_ACTIVITY_KIND_MEMSET", (*_SPAN, *_PLACE, "bytes", "memKind")
    ):
        places = [_memory_kind(kind) for kind in reading.numbers(batch["memKind"]).tolist()]
        names = [f"Memset ({place})" if place else "Memset" for place in places]
        _add_ops(reading, batch, names, GpuKind.MEMSET)


def _copy_name(copy_kind: int, source: int, target: int) -> str:
    """Return the name of a copy.

    Example:
        >>> _copy_name(1, 0, 2), _copy_name(11, -1, -1), _copy_name(8, -1, -1)
        ('Memcpy HtoD (Pageable -> Device)', 'Memcpy HtoD (Unified)', 'Memcpy DtoD')
    """
    name = f"Memcpy {_DIRECTIONS.get(copy_kind, 'unknown')}"
    if copy_kind >= _FIRST_UNIFIED:
        return f"{name} (Unified)"
    ends = [_memory_kind(kind) for kind in (source, target)]
    return f"{name} ({' -> '.join(ends)})" if all(ends) else name


def _memory_kind(kind: int) -> str:
    return _MEMORY_KINDS[kind] if 0 <= kind < len(_MEMORY_KINDS) else ""


def _add_ops(
    reading: ProcessReading,
    batch: Batch,
    texts: list[str],
    kind: GpuKind,
    *,
    shape: NDArray[np.int32] | None = None,
) -> None:
    nothing = constant(ABSENT, batch)
    reading.columns.tables["gpu_ops"].add(
        **reading.spans(batch, texts),
        kind=constant(kind, batch, np.int8),
        device=reading.numbers.devices(batch["deviceId"]),
        stream=reading.numbers(batch["streamId"]),
        correlation=reading.numbers(batch["correlationId"]),
        external_id=nothing,
        bytes=reading.numbers(batch["bytes"]) if "bytes" in batch else nothing,
        shape=nothing.astype(np.int32) if shape is None else shape,
    )


def _shapes(reading: ProcessReading, batch: Batch) -> NDArray[np.int32]:
    different, index = reading.matrix(batch, _SHAPE)
    shapes = reading.columns.vocabularies.shapes
    codes = [
        ABSENT if ABSENT in row else shapes[f"{row[:3]} {row[3:]}".encode()] for row in different
    ]
    return np.asarray(np.array(codes, dtype=np.int32)[index])


def read_calls(reading: ProcessReading) -> None:
    """Take the calls of CUDA's runtime and driver."""
    names = (*_SPAN, "globalTid", "correlationId", "nameId")
    for batch in reading.batches("CUPTI_ACTIVITY_KIND_RUNTIME", names):
        texts = [_CALL_VERSION.sub("", text) for text in reading.report.texts(batch["nameId"])]
        nothing = constant(ABSENT, batch)
        reading.columns.tables["calls"].add(
            **reading.spans(batch, texts),
            thread=reading.threads(batch["globalTid"]),
            correlation=reading.numbers(batch["correlationId"]),
            external_id=nothing,
            bytes=nothing,
        )


def read_syncs(reading: ProcessReading) -> None:
    """Take the waits that CUPTI recorded for a device, named as PyTorch's profiler names them."""
    known = reading.report.tables.get("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", frozenset())
    kind = "syncType" if "syncType" in known else "deprecatedSyncType"
    columns = (*_SPAN, *_PLACE, "contextId", kind)
    # CUPTI names only the context: ``deviceId`` of waits is 0 in real reports whatever the device.
    device_of = dict(reading.distinct("CUPTI_ACTIVITY_KIND_KERNEL", ("contextId", "deviceId")))
    for batch in reading.batches("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", columns):
        kinds = reading.numbers(batch[kind]).tolist()
        places = zip(batch["contextId"], batch["deviceId"], strict=True)
        reading.columns.tables["syncs"].add(
            **reading.spans(batch, [_SYNCS.get(number, "Synchronization") for number in kinds]),
            device=reading.numbers.devices([device_of.get(*place) for place in places]),
            stream=reading.numbers(batch["streamId"]),
            correlation=reading.numbers(batch["correlationId"]),
        )


def read_memory(reading: ProcessReading) -> None:
    """Take allocations of CUDA (``--cuda-memory-usage``): those of the driver, not of tensors.

    Totals are not recorded: the memory taken before the recording is unknown.
    """
    names = ("start", "deviceId", "bytes", "memKind", "memoryOperationType")
    for batch in reading.batches("CUDA_GPU_MEMORY_USAGE_EVENTS", names):
        size = reading.numbers(batch["bytes"], absent=0)
        operation = reading.numbers(batch["memoryOperationType"])
        kind = reading.numbers(batch["memKind"])
        is_host = (kind >= 0) & (kind <= _LAST_OF_HOST)
        rows = np.isin(operation, (_ALLOCATED, _FREED))
        columns = {
            "start_us": reading.after_base_us(reading.times_ns(batch["start"])),
            "device_type": np.where(is_host, HOST_MEMORY, _GPU_MEMORY),
            "device": reading.numbers.devices(batch["deviceId"]),
            "change_bytes": np.where(operation == _FREED, -size, size),
            "allocated_bytes": constant(ABSENT, batch),
            "reserved_bytes": constant(ABSENT, batch),
        }
        reading.columns.tables["memory"].add(**{name: item[rows] for name, item in columns.items()})
