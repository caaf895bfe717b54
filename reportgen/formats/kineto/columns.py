"""Events of kernel traces to columns, block by block, so that the events themselves can go."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import PureWindowsPath
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from reportgen.formats.columns import ABSENT, Codes, Column, Columns
from reportgen.formats.kernel_trace.columns import MOST_NAMES, TraceColumns
from reportgen.formats.kernel_trace.numbers import either, floats
from reportgen.formats.kineto.events import COUNTER, NO_ARGS, NO_TEXT, Args, TraceEvent
from reportgen.profile.trace_tables import GpuKind, SliceKind

GPU_KINDS: Mapping[str, GpuKind] = {
    "kernel": GpuKind.KERNEL,
    "Kernel": GpuKind.KERNEL,
    "mtia_ccp_events": GpuKind.KERNEL,
    "gpu_memcpy": GpuKind.MEMCPY,
    "Memcpy": GpuKind.MEMCPY,
    "gpu_memset": GpuKind.MEMSET,
    "Memset": GpuKind.MEMSET,
}
"""Source: docs/formats.md, Categories; ``Kernel`` and so on until PyTorch 1.11."""

CALLS = frozenset(
    {
        "cuda_runtime", "cuda_driver", "Runtime", "xpu_runtime", "xpu_driver", "mtia_runtime",
        "privateuse1_runtime", "privateuse1_driver", "glow_runtime",
    }
)  # fmt: skip
SLICE_KINDS: Mapping[str, SliceKind] = {
    "cpu_op": SliceKind.OPERATOR,
    "Operator": SliceKind.OPERATOR,
    "user_annotation": SliceKind.ANNOTATION,
    "python_function": SliceKind.PYTHON,
    "overhead": SliceKind.OVERHEAD,
    "hpu_op": SliceKind.OPERATOR,
}
SYNCS = frozenset({"cuda_sync", "xpu_sync"})
SHADOWS = frozenset(
    {
        "gpu_user_annotation", "Trace", "cuda_profiler_range", "cuda_event", "collective_comm",
        "mtia_insight", "xpu_scope_profiler", "external_correlation", "critical_path",
    }
)  # fmt: skip
"""Spans that repeat what other events say, or say nothing about time."""

FORWARD_BACKWARD = frozenset({"fwdbwd", "forward_backward"})
MEMORY = "[memory]"


class EventColumns:
    """Puts events into the ``columns`` of a trace.

    ``categories``: how many events of each kind were seen, by phase and category.
    """

    def __init__(self, columns: TraceColumns) -> None:
        self.columns = columns
        self.tables, self.vocabularies = columns.tables, columns.vocabularies
        self.numbers, self.written_in = columns.numbers, columns.written_in
        self.categories: Counter[tuple[str, str]] = Counter()

    def add(self, events: Sequence[TraceEvent]) -> None:
        """Take some events."""
        for (phase, category), group in _groups(events):
            self.categories[phase or "", category or ""] += len(group)
            if phase == "X":
                self._add_spans(group, category or "")
            elif phase in {"i", "I"}:
                self._add_memory([event for event in group if event.name == MEMORY])
            elif phase == COUNTER:
                self._add_counters(group)
            elif phase in {"s", "f"}:
                self._add_flow_ends(group, category or "", is_start=phase == "s")

    def _add_spans(self, events: list[TraceEvent], category: str) -> None:
        if category in GPU_KINDS:
            self._add_gpu_ops(events, GPU_KINDS[category])
        elif category in CALLS:
            self._add_calls(events)
        elif category in SYNCS:
            self._add_syncs(events)
        elif category not in SHADOWS:
            self._add_slices(events, SLICE_KINDS.get(category, SliceKind.OTHER))
        elif self.columns.is_whole:
            self.tables["shadows"].add(**self._times(events), thread=self._threads(events))

    def _add_gpu_ops(self, events: list[TraceEvent], kind: GpuKind) -> None:
        args = _args(events)
        table = self.tables["gpu_ops"]
        self._add_collectives(args, table.n_rows, is_gpu=True)
        self._add_files(events, args)
        table.add(
            **self._times(events),
            kind=_constant(kind, events, np.int8),
            device=either(
                self.numbers.devices([item.device for item in args]),
                lambda: self.numbers.devices([event.pid for event in events]),
            ),
            stream=either(
                self.numbers([item.stream for item in args]),
                lambda: self.numbers([event.tid for event in events]),
            ),
            correlation=self.numbers([item.correlation for item in args]),
            external_id=self._external_ids(args),
            bytes=self.numbers([item.bytes for item in args]),
            shape=self._shapes(args),
        )

    def _add_calls(self, events: list[TraceEvent]) -> None:
        args = _args(events)
        self.tables["calls"].add(
            **self._times(events),
            thread=self._threads(events),
            correlation=self.numbers([item.correlation for item in args]),
            external_id=self._external_ids(args),
            bytes=self.numbers([item.size for item in args]),
        )

    def _add_slices(self, events: list[TraceEvent], kind: SliceKind) -> None:
        table = self.tables["slices"]
        columns = self._times(events)
        if kind is SliceKind.PYTHON or kind is SliceKind.OVERHEAD:
            external_id = input_list = input_dims = _constant(ABSENT, events, np.int64)
            input_values = input_list
        else:
            args = _args(events)
            self._add_collectives(args, table.n_rows, is_gpu=False)
            self._add_files(events, args)
            external_id, known = self._external_ids(args), self.vocabularies
            input_list = known.input_lists.of(_bytes_of([item.input_type for item in args]))
            input_dims = known.input_dims.of(_bytes_of([_dims_of(item) for item in args]))
            input_values = known.input_values.of(_bytes_of(list(map(_options_of, events, args))))
        table.add(
            **columns,
            thread=self._threads(events),
            kind=_constant(kind, events, np.int8),
            external_id=external_id,
            input_list=input_list.astype(np.int32),
            input_dims=input_dims.astype(np.int32),
            input_values=input_values.astype(np.int32),
        )

    def _add_syncs(self, events: list[TraceEvent]) -> None:
        args = _args(events)
        self.tables["syncs"].add(
            **self._times(events),
            device=self.numbers.devices([item.device for item in args]),
            stream=self.numbers([item.stream for item in args]),
            correlation=self.numbers([item.correlation for item in args]),
        )

    def _add_memory(self, events: list[TraceEvent]) -> None:
        if not events:
            return
        args = _args(events)
        self.tables["memory"].add(
            start_us=self._starts(events),
            device_type=self.numbers([item.memory_type for item in args]),
            device=self.numbers.devices([item.memory_device for item in args]),
            change_bytes=self.numbers([item.change_bytes for item in args], absent=0),
            allocated_bytes=self.numbers([item.allocated_bytes for item in args]),
            reserved_bytes=self.numbers([item.reserved_bytes for item in args]),
        )

    def _add_counters(self, events: list[TraceEvent]) -> None:
        values = [
            (event, (event.name or "", key, event.pid), value)
            for event in events
            for key, value in (event.values or {}).items()
        ]
        if values:
            self.tables["counters"].add(
                start_us=floats([event.ts for event, _, _ in values]),
                track=self.vocabularies.tracks.of([track for _, track, _ in values]),
                value=np.array([value for _, _, value in values], dtype=np.float64),
            )

    def _add_collectives(self, args: Sequence[Args], first_row: int, *, is_gpu: bool) -> None:
        rows = [row for row, item in enumerate(args) if item.collective is not None]
        if not rows:
            return
        found = [args[row] for row in rows]
        labels = self.vocabularies.labels
        owner = np.array(rows, dtype=np.int64) + first_row
        nobody = np.full(len(rows), ABSENT, dtype=np.int64)
        self.tables["collectives"].add(
            name=labels.of([item.collective for item in found]),
            dtype=_texts(labels, [item.dtype for item in found]),
            group=_texts(labels, [_group_of(item) for item in found]),
            group_ranks=_texts(labels, [_raw_text(item.group_ranks) for item in found]),
            group_size=self.numbers([item.group_size for item in found]),
            seq=self.numbers([item.seq for item in found]),
            in_elements=self.numbers([item.in_elements for item in found]),
            out_elements=self.numbers([item.out_elements for item in found]),
            gpu_op=owner if is_gpu else nobody,
            host_slice=nobody if is_gpu else owner,
        )

    def _add_files(self, events: list[TraceEvent], args: Sequence[Args]) -> None:
        """Keep the name of a file without its folders, which may be those of a user."""
        for row in [row for row, item in enumerate(args) if item.kernel_file]:
            if len(self.written_in) < MOST_NAMES:
                backend = f" ({args[row].kernel_backend})" if args[row].kernel_backend else ""
                file = f"{PureWindowsPath(args[row].kernel_file or '').name}{backend}"
                self.written_in[events[row].name or ""] = file

    def _add_flow_ends(self, events: list[TraceEvent], category: str, *, is_start: bool) -> None:
        columns = {
            "id": self.numbers([event.id for event in events]),
            "start_us": self._starts(events),
            "is_start": _constant(is_start, events, np.bool_),
        }
        if category in FORWARD_BACKWARD:
            self.tables["flow_ends"].add(**columns, thread=self._threads(events))
        else:
            self.tables["launch_ends"].add(**columns)

    def _times(self, events: list[TraceEvent]) -> Columns:
        return {
            "start_us": self._starts(events),
            "duration_us": floats([event.dur for event in events]),
            "name": self.vocabularies.names.of([event.name or "" for event in events]),
        }

    def _starts(self, events: list[TraceEvent]) -> NDArray[np.float64]:
        """Return when events start, µs after ``zero_us``."""
        starts_us: list[Any] = [event.ts for event in events]
        if self.columns.zero_us is None:
            first_us = floats(starts_us[:1])
            self.columns.zero_us = int(first_us[0]) if np.isfinite(first_us).all() else 0
        if not self.columns.zero_us:
            return floats(starts_us)
        if not all(isinstance(start_us, Decimal) for start_us in starts_us):
            return floats(starts_us) - self.columns.zero_us  # repaired times are no Decimals
        zero_us = Decimal(self.columns.zero_us)
        return floats([start_us - zero_us for start_us in starts_us])

    def _threads(self, events: list[TraceEvent]) -> NDArray[np.int32]:
        return self.vocabularies.threads.of([(event.pid, event.tid) for event in events])

    def _external_ids(self, args: Sequence[Args]) -> NDArray[np.int64]:
        found = self.numbers([item.external_id for item in args])
        if (found != ABSENT).any():
            return found
        return self.numbers([item.external_id_2021 for item in args])

    def _shapes(self, args: Sequence[Args]) -> NDArray[np.int32]:
        shapes = self.vocabularies.shapes
        texts = [b" ".join((item.grid, item.block)) for item in args]
        n_absent = texts.count(b" ")
        if n_absent in {0, len(texts)}:
            return shapes.of(texts) if not n_absent else np.full(n_absent, ABSENT, dtype=np.int32)
        return np.fromiter(
            (ABSENT if text == b" " else shapes[text] for text in texts), np.int32, len(texts)
        )


def _groups(
    events: Sequence[TraceEvent],
) -> Iterator[tuple[tuple[str | None, str | None], list[TraceEvent]]]:
    """Yield phase and category, and their events in order; first those that come first."""
    groups: defaultdict[tuple[str | None, str | None], list[TraceEvent]] = defaultdict(list)
    for event in events:
        groups[event.ph, event.cat].append(event)
    yield from groups.items()


def _args(events: Iterable[TraceEvent]) -> list[Args]:
    return [event.args or NO_ARGS for event in events]


def _constant(value: int, events: Sequence[TraceEvent], dtype: Any) -> Column:
    return np.full(len(events), value, dtype=dtype)


def _texts(codes: Codes, texts: Sequence[str | None]) -> NDArray[np.int32]:
    return np.fromiter(
        (ABSENT if text is None else codes[text] for text in texts), np.int32, len(texts)
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _bytes_of(texts: Sequence[msgspec.Raw]) -> list[bytes]:
    """Return texts of the file as bytes, which ``bytes()`` takes twice as long for."""
    return [b"" if text is NO_TEXT else b"".join((text,)) for text in texts]


def _dims_of(args: Args) -> msgspec.Raw:
    return args.input_dims_2021 if args.input_dims is NO_TEXT else args.input_dims


def _options_of(event: TraceEvent, args: Args) -> msgspec.Raw:
    """Return the inputs that are no tensors, of operators whose work depends on them.

    They are options of convolutions and attention; numbers of other operators are not kept.
    """
    name = event.name or ""
    return args.input_values if "conv" in name or "att" in name or "fmha" in name else NO_TEXT


def _group_of(args: Args) -> str | None:
    """Return the name of a process group, with its description where that says something."""
    name, words = _text(args.group_name), _text(args.group_words)
    return name if words in {None, "", "undefined", "default_pg", name} else f"{name} {words}"


def _raw_text(value: Any) -> str | None:
    return bytes(value).decode("utf-8", "replace").strip('"') or None
