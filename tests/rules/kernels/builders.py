"""Small kernel traces from a few readable rows; times in µs, which become ns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.job import NodeId
from reportgen.profile.trace import RankTrace, Thread
from reportgen.profile.trace_tables import (
    NONE,
    CollectiveArgs,
    Flows,
    GpuKind,
    GpuOps,
    HostCalls,
    HostSlices,
    MemoryEvents,
    SliceKind,
    SyncEvents,
    TraceSteps,
)
from reportgen.units import NS_PER_US
from tests.builders import job_info

Row = tuple[str, float, float] | tuple[str, float, float, Mapping[str, Any]]
MAIN = "main"
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
ANNOTATION = {"kind": int(SliceKind.ANNOTATION)}


def rank_trace(
    *,
    gpu: Sequence[Row] = (),
    calls: Sequence[Row] = (),
    slices: Sequence[Row] = (),
    steps: Sequence[tuple[int, float, float]] = (),
    memory: Sequence[Mapping[str, int | float]] = (),
    flows: Sequence[tuple[float, str, float, str]] = (),
    syncs: Sequence[Row] = (),
    rank: int = 0,
    world_size: int | None = None,
    origin_ns: int = 0,
) -> RankTrace:
    """Return a trace from rows of (name, start, duration[, more]).

    ``more`` of GPU rows: ``device``, ``stream``, ``correlation``, ``external_id``, ``bytes``,
    ``collective`` (a mapping of ``CollectiveArgs``), ``shape``. Of calls: ``correlation``,
    ``external_id``, ``thread``. Of slices: ``kind`` (``SliceKind``), ``thread``, ``external_id``,
    ``input_type``. A GPU row belongs to the call of the same ``correlation``. Flows are
    (start, from thread, end, to thread).
    """
    words = _Words()
    call_rows = _rows(calls)
    ops = _rows(gpu)
    found = {row["correlation"]: at for at, row in enumerate(call_rows) if "correlation" in row}
    collectives = [
        row["collective"] | {"gpu_op": at} for at, row in enumerate(ops) if "collective" in row
    ]
    places = {row["gpu_op"]: at for at, row in enumerate(collectives)}
    slice_rows = _rows(slices, longest_first=True)
    step_rows = _rows([(str(number), start, length) for number, start, length in steps])
    sync_rows = _rows(syncs)
    moments = sorted(memory, key=lambda row: row["time"])
    arrows = sorted(flows)
    return RankTrace(
        node=NodeId(f"rank {rank}"),
        job=job_info(),
        rank=rank,
        is_rank_known=True,
        world_size=world_size,
        path=f"rank{rank}.json",
        origin_ns=origin_ns,
        gpu_ops=GpuOps(
            **_times(ops),
            kind=np.array([_kind_of(row["name"]) for row in ops], dtype=np.int8),
            device=_ints(ops, "device", np.int32, rank),
            stream=_ints(ops, "stream", np.int64, 7),
            name=words.codes("names", ops, "name"),
            correlation=_ints(ops, "correlation", np.int64),
            external_id=_ints(ops, "external_id", np.int64),
            launch=np.array(
                [found.get(row.get("correlation"), NONE) for row in ops], dtype=np.int32
            ),
            bytes=_ints(ops, "bytes", np.int64),
            collective=np.array([places.get(at, NONE) for at in range(len(ops))], dtype=np.int32),
            shape=words.codes("shapes", ops, "shape"),
            is_overrun=np.zeros(len(ops), dtype=bool),
        ),
        calls=HostCalls(
            **_times(call_rows),
            thread=words.codes("threads", call_rows, "thread", MAIN),
            name=words.codes("names", call_rows, "name"),
            correlation=_ints(call_rows, "correlation", np.int64),
            external_id=_ints(call_rows, "external_id", np.int64),
        ),
        slices=HostSlices(
            **_times(slice_rows),
            thread=words.codes("threads", slice_rows, "thread", MAIN),
            name=words.codes("names", slice_rows, "name"),
            kind=_ints(slice_rows, "kind", np.int8, int(SliceKind.OPERATOR)),
            external_id=_ints(slice_rows, "external_id", np.int64),
            input_type=words.codes("input_types", slice_rows, "input_type"),
            input_dims=words.codes("input_dims", slice_rows, "input_dims"),
            input_values=words.codes("input_values", slice_rows, "input_values"),
        ),
        steps=TraceSteps(
            **_times(step_rows),
            number=np.array([int(row["name"]) for row in step_rows], dtype=np.int64),
            thread=words.codes("threads", step_rows, "thread", MAIN),
        ),
        memory=MemoryEvents(
            time_ns=_ns([row["time"] for row in moments]),
            device_type=_ints(moments, "device_type", np.int8, 1),
            device=_ints(moments, "device", np.int32, 0),
            change_bytes=_ints(moments, "change", np.int64, 0),
            allocated_bytes=_ints(moments, "allocated", np.int64),
            reserved_bytes=_ints(moments, "reserved", np.int64),
        ),
        collectives=CollectiveArgs(
            name=words.codes("labels", collectives, "name"),
            dtype=words.codes("labels", collectives, "dtype"),
            group=words.codes("labels", collectives, "group"),
            group_ranks=words.codes("labels", collectives, "group_ranks"),
            group_size=_ints(collectives, "group_size", np.int64),
            seq=_ints(collectives, "seq", np.int64),
            in_elements=_ints(collectives, "in_elements", np.int64),
            out_elements=_ints(collectives, "out_elements", np.int64),
            gpu_op=_ints(collectives, "gpu_op", np.int32),
            host_slice=np.full(len(collectives), NONE, dtype=np.int32),
        ),
        syncs=SyncEvents(
            **_times(sync_rows),
            name=words.codes("names", sync_rows, "name"),
            device=_ints(sync_rows, "device", np.int32, 0),
            stream=_ints(sync_rows, "stream", np.int64),
            correlation=_ints(sync_rows, "correlation", np.int64),
        ),
        flows=Flows(
            start_ns=_ns([row[0] for row in arrows]),
            end_ns=_ns([row[2] for row in arrows]),
            from_thread=words.of("threads", [row[1] for row in arrows]),
            to_thread=words.of("threads", [row[3] for row in arrows]),
        ),
        names=words.known("names"),
        input_types=words.known("input_types"),
        input_dims=words.known("input_dims"),
        input_values=words.known("input_values"),
        labels=words.known("labels"),
        shapes=words.known("shapes"),
        threads=tuple(Thread(pid="1", tid=word) for word in words.known("threads")),
    )


def launched_kernels() -> RankTrace:
    """One kernel in two sizes of one operator, and communication; ids tell only the latter's."""
    return rank_trace(
        gpu=[
            ("k", 10.0, 8.0, {"correlation": 1, "external_id": 1, "shape": "[4, 1, 1] [128,1,1]"}),
            ("k", 20.0, 2.0, {"correlation": 2, "external_id": 2, "shape": "[8, 1, 1] [128,1,1]"}),
            ("ncclKernel", 30.0, 5.0, {"correlation": 3, "external_id": 77}),
        ],
        calls=[
            ("cudaLaunchKernel", 1.0, 1.0, {"correlation": 1}),
            ("cudaLaunchKernel", 3.0, 1.0, {"correlation": 2}),
            ("cudaLaunchKernel", 9.0, 1.0, {"correlation": 3}),
        ],
        slices=[
            ("aten::linear", 0.0, 6.0, {"external_id": 2}),
            ("aten::mm", 0.5, 5.0, {"external_id": 4}),
            ("nccl:all_reduce", 8.0, 2.0, {"external_id": 77}),
        ],
    )


class _Words:
    """Vocabularies that grow while columns are coded."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, int]] = {}

    def of(self, vocabulary: str, texts: Sequence[str | None]) -> Any:
        """Return int32 codes of texts, ``NONE`` for ``None``."""
        known = self._known.setdefault(vocabulary, {})
        codes = [NONE if text is None else known.setdefault(text, len(known)) for text in texts]
        return np.array(codes, dtype=np.int32)

    def codes(
        self,
        vocabulary: str,
        rows: Sequence[Mapping[str, Any]],
        key: str,
        absent: str | None = None,
    ) -> Any:
        """Return the codes of one column of rows."""
        return self.of(vocabulary, [row.get(key, absent) for row in rows])

    def known(self, vocabulary: str) -> tuple[str, ...]:
        """Return a vocabulary in the order of its codes."""
        return tuple(self._known.get(vocabulary, {}))


def gap_trace(call: tuple[float, float] | None, **more: Any) -> RankTrace:
    """A trace with one gap of 100 µs at 100; ``call`` launches the kernel after it."""
    calls = [("cudaLaunchKernel", 0.0, 1.0, {"correlation": 1}), *more.pop("calls", ())]
    if call is not None:
        calls.append(("cudaLaunchKernel", *call, {"correlation": 2}))
    gpu = [("a", 0.0, 100.0, {"correlation": 1}), ("b", 200.0, 100.0, {"correlation": 2})]
    return rank_trace(gpu=gpu, calls=calls, **more)


def _rows(rows: Sequence[Row], *, longest_first: bool = False) -> list[dict[str, Any]]:
    full: list[dict[str, Any]] = [
        {"name": row[0], "start": row[1], "duration": row[2]}
        | dict(row[3] if len(row) == 4 else {})
        for row in rows
    ]
    sign = -1 if longest_first else 1
    return sorted(full, key=lambda row: (row["start"], sign * (row["start"] + row["duration"])))


def _times(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    start_ns = _ns([row["start"] for row in rows])
    duration_ns = _ns([row["duration"] for row in rows])
    return {"start_ns": start_ns, "end_ns": start_ns + duration_ns, "duration_ns": duration_ns}


def _ns(times_us: Sequence[float]) -> NDArray[np.int64]:
    return np.rint(np.array(times_us, dtype=np.float64) * NS_PER_US).astype(np.int64)


def _ints(
    rows: Sequence[Mapping[str, Any]], key: str, dtype: type[np.integer[Any]], absent: int = NONE
) -> Any:
    return np.array([row.get(key, absent) for row in rows], dtype=dtype)


def _kind_of(name: str) -> GpuKind:
    if name.startswith("Memcpy"):
        return GpuKind.MEMCPY
    return GpuKind.MEMSET if name.startswith("Memset") else GpuKind.KERNEL
