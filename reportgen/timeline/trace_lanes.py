"""The lanes of a kernel trace: its steps, threads of the host, streams of its GPUs, counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import Mask
from reportgen.facts.breakdown import is_exchange_name
from reportgen.facts.device_busy import communication_rows, is_communication, launch_end_ns
from reportgen.facts.kernel_names import fused_operators
from reportgen.facts.modules import module_calls
from reportgen.facts.traced_steps import StepRows, step_rows
from reportgen.profile import Clock, RankTrace
from reportgen.profile.trace_tables import HOST_MEMORY, NONE, GpuKind, SliceKind
from reportgen.results.timeline_file import Family
from reportgen.text import format_bytes, format_count, plural
from reportgen.timeline.lanes import (
    Arrows,
    Codes,
    CounterTrack,
    Lane,
    LaneKind,
    LaneSteps,
    PartLanes,
    Strips,
    TextCodes,
    Times,
    family_of_counter,
    grouped,
    no_arrows,
    no_steps,
    strips_of,
)

Rows = NDArray[np.signedinteger]

_SLACK_NS = 1_000
"""Operations of a stream follow each other; their recorded times overlap by what was rounded."""


_OF_OPS = (Family.COMPUTE, Family.COMMUNICATION, Family.COPIES)


def lanes_of_trace(trace: RankTrace, communication: str | None) -> PartLanes:
    """Return the lanes of a rank; every event of its tables is in one of them.

    Steps that no event marks (``facts.traced_steps``) are strips as well. ``communication`` finds
    further kernels of communication, a regular expression.
    """
    return _Tree(trace, communication).built()


class _Tree:
    """The lanes of a trace while they are made."""

    def __init__(self, trace: RankTrace, communication: str | None) -> None:
        self.trace = trace
        self.communication = communication
        self.lanes: list[Lane] = []
        self.names = TextCodes()
        self.details = TextCodes({"": 0})
        ops, calls = trace.gpu_ops, trace.calls
        self.flow_of_call = np.zeros(calls.start_ns.size + 1, dtype=np.int32)  # the last is none
        self.flow_of_call[ops.launch[ops.launch != NONE]] = 1
        launched = np.flatnonzero(self.flow_of_call)
        self.flow_of_call[launched] = np.arange(1, launched.size + 1)
        self.lane_of_call = np.full(calls.start_ns.size, NONE, dtype=np.int32)
        self.lane_of_op = np.full(ops.start_ns.size, NONE, dtype=np.int32)

    def built(self) -> PartLanes:
        trace, steps = self.trace, step_rows(self.trace)
        rank = self.add(LaneKind.RANK, trace.node, None)
        is_step = self._add_steps(rank)
        slices = trace.slices
        is_annotation = (slices.kind == SliceKind.ANNOTATION) & ~is_step
        is_module = module_calls(trace)
        self._add_slices(LaneKind.ANNOTATIONS, "annotations", rank, np.flatnonzero(is_annotation))
        self._add_slices(LaneKind.ANNOTATIONS, "modules", rank, np.flatnonzero(is_module))
        is_other = ~is_annotation & ~is_step & ~is_module
        self._add_host(rank, np.flatnonzero(is_other).astype(np.int32))
        self._add_gpus(rank)
        return PartLanes(
            node=trace.node,
            host=trace.host,
            n_counters=len(trace.tracks),
            origin_ns=trace.origin_ns,
            is_unix=trace.clock is Clock.UNIX,
            lanes=tuple(self.lanes),
            names=tuple(name for name, _ in self.names.codes),
            families=tuple(family for _, family in self.names.codes),
            details=tuple(self.details.codes),
            arrows=self._arrows(),
            steps=no_steps() if steps is None else _step_times(steps),
        )

    def add(
        self,
        kind: LaneKind,
        label: str,
        parent: int | None,
        *,
        strips: Strips | None = None,
        track: CounterTrack | None = None,
    ) -> int:
        self.lanes.append(Lane(kind=kind, label=label, parent=parent, strips=strips, track=track))
        return len(self.lanes) - 1

    def _add_steps(self, rank: int) -> Mask:
        """Add the lane of steps; return which slices are steps."""
        trace = self.trace
        slices, steps = trace.slices, trace.steps
        if steps.start_ns.size:
            key = (steps.start_ns, steps.duration_ns, steps.thread)
            is_step = _is_among((slices.start_ns, slices.duration_ns, slices.thread), key)
            is_step &= slices.kind != SliceKind.PYTHON
            self._add_slices(LaneKind.STEPS, "steps", rank, np.flatnonzero(is_step))
            return is_step
        inferred = step_rows(trace)
        if inferred is not None:
            name = self.names.of_rows(
                [inferred.number], lambda number: (f"step {number}", Family.ANNOTATIONS)
            )
            strips = strips_of(inferred.start_ns, inferred.period_ns, name)
            self.add(LaneKind.STEPS, f"steps, from {inferred.source}", rank, strips=strips)
        return np.zeros(slices.start_ns.size, dtype=np.bool_)

    def _add_slices(self, kind: LaneKind, label: str, parent: int, rows: Rows) -> None:
        if rows.size:
            slices = self.trace.slices
            name = self._named(slices.name[rows], Family.ANNOTATIONS)
            strips = strips_of(slices.start_ns[rows], slices.duration_ns[rows], name, source=rows)
            self.add(kind, label, parent, strips=strips)

    def _named(self, names: Rows, family: Family) -> Codes:
        return self.names.of_rows([names], lambda name: (self.trace.names[name], family))

    def _named_operators(self, names: Rows) -> Codes:
        def keyed(code: int) -> tuple[str, Family]:
            name = self.trace.names[code]
            is_exchange = is_exchange_name(name) or is_communication(name)
            return name, Family.COMMUNICATION if is_exchange else Family.OPERATORS

        return self.names.of_rows([names], keyed)

    def _named_ops(self) -> Codes:
        """Return the names of GPU operations with the families that every table gives them."""
        ops = self.trace.gpu_ops
        family = np.where(ops.kind == GpuKind.KERNEL, 0, _OF_OPS.index(Family.COPIES))
        is_exchange = communication_rows(self.trace, self.communication)
        family[is_exchange] = _OF_OPS.index(Family.COMMUNICATION)
        n, names = len(_OF_OPS), self.trace.names
        return self.names.of_rows(
            [ops.name.astype(np.int64) * n + family],
            lambda key: (names[key // n], _OF_OPS[key % n]),
        )

    def _add_host(self, rank: int, rows: Rows) -> None:
        slices, calls = self.trace.slices, self.trace.calls
        memory = list(self._memory_tracks(is_host=True))
        counters = list(self._counters())
        if not (rows.size or calls.start_ns.size or memory or counters):
            return
        host = self.add(LaneKind.HOST, "host", rank)
        inputs = (slices.input_type[rows] + 1) * (len(self.trace.input_dims) + 1)
        inputs += slices.input_dims[rows] + 1  # one number: two columns would take ten of memory
        detail = self.details.of_rows([inputs], self._said_of_slice)
        groups = []
        for codes, places in grouped(np.concatenate([slices.thread[rows], calls.thread])):
            here = places[places < rows.size]
            groups.append((codes, here, places[here.size :] - rows.size))
        for codes, here, called in sorted(groups, key=lambda item: -item[2].size):
            self.lane_of_call[called] = len(self.lanes)
            strips = self._of_thread(rows[here], called, detail[here])
            self.add(LaneKind.THREAD, self._called(codes), host, strips=strips)
        for label, track in (*memory, *counters):
            self.add(LaneKind.COUNTER, label, host, track=track)

    def _of_thread(self, rows: Rows, called: Rows, detail: Codes) -> Strips:
        """Return some slices and calls as strips."""
        slices, calls = self.trace.slices, self.trace.calls

        def both(slice_column: NDArray[Any], call_column: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([slice_column[rows], call_column[called]])

        return strips_of(
            both(slices.start_ns, calls.start_ns),
            both(slices.duration_ns, calls.duration_ns),
            np.concatenate(
                [
                    self._named_operators(slices.name[rows]),
                    self._named(calls.name[called], Family.RUNTIME),
                ]
            ),
            detail=np.concatenate([detail, np.zeros(called.size, np.int32)]),
            flow=np.concatenate([np.zeros(rows.size, np.int32), self.flow_of_call[called]]),
            source=np.concatenate([rows, called + slices.start_ns.size]),
        )

    def _called(self, codes: Sequence[int]) -> str:
        """Return the label of a lane of some threads."""
        threads = self.trace.threads
        if len(codes) > 1:
            return plural(len(codes), "further thread")
        if codes[0] == NONE:
            return "unknown thread"
        thread = threads[codes[0]]
        has_processes = len({thread.pid for thread in threads}) > 1
        return f"thread {thread.tid}" + (f" of process {thread.pid}" if has_processes else "")

    def _said_of_slice(self, inputs: int) -> str:
        """Write the type of an operator's first input of floating point, and the sizes of all."""
        input_type, input_dims = divmod(inputs, len(self.trace.input_dims) + 1)
        said = [f"first input {self.trace.input_types[input_type - 1]}"] if input_type else []
        if input_dims:
            sizes = self.trace.input_dims[input_dims - 1].replace("],[", "] [")
            said.append(f"sizes of inputs {sizes}")
        return ", ".join(said)

    def _add_gpus(self, rank: int) -> None:
        trace = self.trace
        ops, syncs = trace.gpu_ops, trace.syncs
        names = {device.id: device.name for device in trace.devices}
        compiled = self._compiled()[ops.name]
        columns = (ops.shape, ops.bytes, ops.collective, compiled)
        detail = self.details.of_rows(columns, self._said_of_op)
        name, memory = self._named_ops(), trace.memory
        on_memory = memory.device[memory.device_type != HOST_MEMORY]
        for codes, places in grouped(np.concatenate([ops.device, syncs.device, on_memory])):
            gpu = self.add(LaneKind.GPU, _gpu_label(codes, names), rank)
            on_gpu = places[places < ops.device.size]
            waits = places[on_gpu.size :] - ops.device.size
            waits = waits[waits < syncs.device.size]
            for streams, of_stream in grouped(ops.stream[on_gpu]):
                rows = on_gpu[of_stream]
                self.lane_of_op[rows] = len(self.lanes)
                strips = strips_of(
                    ops.start_ns[rows],
                    ops.duration_ns[rows],
                    name[rows],
                    detail=detail[rows],
                    flow=self.flow_of_call[ops.launch[rows]],
                    source=rows + (trace.slices.start_ns.size + trace.calls.start_ns.size),
                    slack_ns=_SLACK_NS,
                )
                n = len(streams)
                label = plural(n, "further stream") if n > 1 else f"stream {streams[0]}"
                self.add(LaneKind.STREAM, label, gpu, strips=strips)
            if waits.size:
                strips = strips_of(
                    syncs.start_ns[waits],
                    syncs.duration_ns[waits],
                    self._named(syncs.name[waits], Family.RUNTIME),
                )
                self.add(LaneKind.STREAM, "waits for streams and events", gpu, strips=strips)
            held = self._memory_tracks(is_host=False, device=codes[0]) if len(codes) == 1 else ()
            for label, track in (*self._queue(on_gpu), *held):
                self.add(LaneKind.COUNTER, label, gpu, track=track)

    def _compiled(self) -> Codes:
        """Return the code of each name of which a compiler said more, ``NONE`` for the others."""
        files = self.trace.written_in
        return np.array(
            [
                code if name in files or fused_operators(name) else NONE
                for code, name in enumerate(self.trace.names)
            ],
            dtype=np.int32,
        )

    def _said_of_op(self, shape: int, n_bytes: int, collective: int, compiled: int) -> str:
        """Write grid and block, bytes, collective and fused operators."""
        trace, said = self.trace, []
        if shape != NONE:
            grid, _, block = trace.shapes[shape].partition("] [")
            said.append(f"grid {_dimensions(grid)}, block {_dimensions(block)}")
        if n_bytes > 0:
            said.append(format_bytes(n_bytes))
        if collective != NONE:
            collectives = trace.collectives
            size = int(collectives.in_elements[collective])
            what = trace.labels[collectives.name[collective]]
            what += f" of {format_count(size)}" if size != NONE else ""
            dtype, group = int(collectives.dtype[collective]), int(collectives.group[collective])
            what += f" {trace.labels[dtype]}" if dtype != NONE else ""
            what += f" in group {trace.labels[group]}" if group != NONE else ""
            said.append(what)
        if compiled != NONE:
            name = trace.names[compiled]
            fused, file = fused_operators(name), trace.written_in.get(name)
            said += [f"fuses {fused}"] if fused else []
            said += [f"written in {file}"] if file else []
        return ", ".join(said)

    def _queue(self, on_gpu: Rows) -> Iterator[tuple[str, CounterTrack]]:
        """Yield how many launched operations wait on a GPU: from the end of their call to start."""
        ops = self.trace.gpu_ops
        rows = on_gpu[ops.launch[on_gpu] != NONE]
        if not rows.size:
            return
        start_ns = ops.start_ns[rows]
        joined_ns = np.minimum(launch_end_ns(self.trace)[rows], start_ns)
        time_ns = np.concatenate([joined_ns, start_ns])
        change = np.repeat(np.array([1, -1], dtype=np.int8), rows.size)
        yield "launched and waiting", _steps_of(time_ns, change)

    def _counters(self) -> Iterator[tuple[str, CounterTrack]]:
        """Yield the counters of the file."""
        counters = self.trace.counters
        for code in np.unique(counters.track).tolist():
            rows = counters.track == code
            label = self.trace.tracks[code]
            yield (
                label,
                CounterTrack(
                    time_ns=counters.time_ns[rows],
                    value=counters.value[rows],
                    family=family_of_counter(label),
                ),
            )

    def _memory_tracks(
        self, *, is_host: bool, device: int = NONE
    ) -> Iterator[tuple[str, CounterTrack]]:
        memory = self.trace.memory
        is_here = (memory.device_type == HOST_MEMORY) == is_host
        if not is_host:
            is_here &= memory.device == device
        for label, total in (
            ("memory allocated", memory.allocated_bytes),
            ("memory reserved", memory.reserved_bytes),
        ):
            rows = np.flatnonzero(is_here & (total > 0))
            if rows.size:
                rows = np.flatnonzero(is_here & (total >= 0))
                value = total[rows].astype(np.float64)
                yield (
                    label,
                    CounterTrack(
                        time_ns=memory.time_ns[rows],
                        value=value,
                        unit="bytes",
                        family=Family.FUNCTIONS if is_host else Family.COPIES,
                    ),
                )

    def _arrows(self) -> Arrows:
        """Return the arrow from its call to each operation that has one."""
        ops, calls = self.trace.gpu_ops, self.trace.calls
        rows = np.flatnonzero(ops.launch != NONE)
        if not rows.size:
            return no_arrows()
        rows = rows[np.lexsort((ops.start_ns[rows], ops.launch[rows]))]  # calls are in order
        launch = ops.launch[rows]
        return Arrows(
            flow=self.flow_of_call[launch],
            from_lane=self.lane_of_call[launch],
            from_start_ns=calls.start_ns[launch],
            to_lane=self.lane_of_op[rows],
            to_start_ns=ops.start_ns[rows],
        )


def _step_times(steps: StepRows) -> LaneSteps:
    return LaneSteps(
        number=steps.number, start_ns=steps.start_ns, end_ns=steps.start_ns + steps.period_ns
    )


def _gpu_label(codes: Sequence[int], names: Mapping[int, str]) -> str:
    if len(codes) > 1:
        return plural(len(codes), "further GPU")
    if codes[0] == NONE:
        return "GPU without a number"
    return f"GPU {codes[0]}" + (f" · {names[codes[0]]}" if names.get(codes[0]) else "")


def _dimensions(text: str) -> str:
    return " × ".join(text.strip("[] ").replace(",", " ").split())


def _steps_of(time_ns: Times, change: NDArray[np.int8]) -> CounterTrack:
    """Return the sum of changes as a counter with one value for each moment."""
    order = np.argsort(time_ns, kind="stable")
    time_ns, value = time_ns[order], np.cumsum(change[order], dtype=np.float64)
    is_last = np.append(time_ns[1:] > time_ns[:-1], True)
    return CounterTrack(time_ns=time_ns[is_last], value=value[is_last])


def _is_among(columns: Sequence[NDArray[Any]], keys: Sequence[NDArray[Any]]) -> Mask:
    """Return which rows of some columns are rows of others."""
    wanted = set(zip(*(key.tolist() for key in keys), strict=True))
    near = np.flatnonzero(np.isin(columns[0], keys[0]))
    found = [row in wanted for row in zip(*(item[near].tolist() for item in columns), strict=True)]
    is_among = np.zeros(columns[0].size, dtype=np.bool_)
    is_among[near[np.array(found, dtype=np.bool_)]] = True
    return is_among
