"""One simulated rank: a host that launches, streams that run in order, and what is recorded."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

COMPUTE, COPY, COLLECTIVES, SCATTER = 7, 13, 20, 24
MAIN, AUTOGRAD = 0, 1
"""Streams and threads."""
QUEUE_US = 2.6
"""From the end of the launch to the start of a kernel on an idle stream."""
BETWEEN_US = 0.9
"""From one kernel to the next of its stream."""
MOST_QUEUED = 1_000
PINNED_BYTES_PER_US = 24_000.0
PAGEABLE_BYTES_PER_US = 5_500.0
TABLE_SIZE = 4_096

Recorder = Callable[..., None]
Meeting = Generator[float, float, None]
"""What a rank yields at a collective: when it arrived; it is sent when the last rank arrived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Draws that a fault cannot shift: each is looked up by what it is for, not by its turn."""

    seed: str
    host: tuple[float, ...]
    gpu: tuple[float, ...]

    @classmethod
    def gaussian(cls, seed: str, *, host: float, gpu: float) -> Noise:
        """Return noise around 1 with these standard deviations."""
        draw = random.Random(f"noise.{seed}").gauss
        tables = [[max(draw(1.0, each), 0.4) for _ in range(TABLE_SIZE)] for each in (host, gpu)]
        return cls(seed=seed, host=tuple(tables[0]), gpu=tuple(tables[1]))

    @classmethod
    def skewed(cls, seed: str, *, host: float, gpu: float) -> Noise:
        """Return noise with a long tail towards slow."""
        draw = random.Random(f"noise.{seed}").lognormvariate
        tables = [[draw(0.0, each) for _ in range(TABLE_SIZE)] for each in (host, gpu)]
        return cls(seed=seed, host=tuple(tables[0]), gpu=tuple(tables[1]))


@dataclass(slots=True, kw_only=True)
class Clock:
    """The state of one rank.

    Attributes:
        launch_us: what a launch costs the host.
        speed: how much longer its kernels take than the average rank's.
        record: called with each event; ``None`` only simulates.
        free_us: when each stream is done with what it holds.
    """

    rank: int
    noise: Noise
    now_us: float
    launch_us: float = 4.5
    speed: float = 1.0
    record: Recorder | None = None
    step: int = 0
    thread: int = MAIN
    free_us: dict[int, float] = field(default_factory=dict)
    ran_us: dict[int, float] = field(default_factory=dict)
    begun_us: list[float] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    prefix: str = ""
    first_us: float | None = None
    last_us: float = 0.0
    marks_us: dict[str, tuple[float, float]] = field(default_factory=dict)
    n_ids: int = 0

    def host_us(self, name: str, mean_us: float) -> float:
        """Return how long something takes on the host this time."""
        return mean_us * self._draw(self.noise.host, "h" + name)

    def _draw(self, table: tuple[float, ...], name: str) -> float:
        key = f"{self.prefix}{name}"
        self.counts[key] += 1
        text = f"{self.noise.seed}.{self.rank}.{self.step}.{key}.{self.counts[key]}"
        return table[zlib.crc32(text.encode()) % TABLE_SIZE]

    @contextmanager
    def planting(self, what: str) -> Iterator[None]:
        """Draw apart from the healthy job, whose draws stay as they are; mark the time."""
        before, self.prefix, start_us = self.prefix, f"{what}:", self.now_us
        yield
        self.prefix = before
        first_us, _ = self.marks_us.get(what, (start_us, start_us))
        self.marks_us[what] = (first_us, self.now_us)

    # The host

    @contextmanager
    def range(self, name: str, category: str = "cpu_op") -> Iterator[None]:
        """Record a slice around what is done inside."""
        start_us, thread = self.now_us, self.thread
        yield
        self._write(category, name, start_us, thread=thread)

    def spend(self, name: str, mean_us: float, category: str = "cpu_op") -> None:
        """Let the host do something that launches nothing; ``""`` is not recorded."""
        start_us = self.now_us
        self.now_us += self.host_us(name, mean_us)
        if name:
            self._write(category, name, start_us)

    def operator(self, name: str, host_us: float, *kernels: tuple[str, float]) -> None:
        """Run an operator that launches kernels, name and µs each."""
        with self.range(name):
            spent_us = self.host_us(name, host_us)
            self.now_us += 0.7 * spent_us
            for kernel, gpu_us in kernels:
                self.launch(kernel, gpu_us)
            self.now_us += 0.3 * spent_us

    def synchronize(self, call: str = "cudaStreamSynchronize", stream: int = COMPUTE) -> None:
        """Wait for a stream, or the whole device."""
        streams = list(self.free_us) if "Device" in call else [stream]
        start_us = self.now_us
        done_us = max((self.free_us.get(each, 0.0) for each in streams), default=0.0)
        self.now_us = max(self.now_us, done_us) + self.host_us(call, 5.0)
        self._write("cuda_runtime", call, start_us, correlation=self._id())

    def item(self) -> None:
        """Read one number back, as ``.item()`` does: a small copy and a synchronizing call."""
        with self.range("aten::item"), self.range("aten::_local_scalar_dense"):
            self.now_us += self.host_us("item", 6.0)
            start_us, self.n_ids = self.now_us, self.n_ids + 1
            self.now_us += self.host_us("itemcopy", 8.0)
            name = "Memcpy DtoH (Device -> Pageable)"
            self._run("gpu_memcpy", name, 1.9, COMPUTE, bytes=4)
            self._write("cuda_runtime", "cudaMemcpyAsync", start_us, correlation=self.n_ids)
            self.synchronize()

    # The GPU

    def launch(
        self,
        kernel: str,
        gpu_us: float,
        *,
        stream: int = COMPUTE,
        call: str = "cudaLaunchKernel",
        call_us: float | None = None,
    ) -> None:
        """Launch a kernel; a full queue blocks the call."""
        start_us = self.now_us
        self._call(call, call_us)
        lasts_us = gpu_us * self.speed * self._draw(self.noise.gpu, kernel)
        self._write("cuda_runtime", call, start_us, correlation=self.n_ids)
        self._run("kernel", kernel, lasts_us, stream, grid=[432, 1, 1], block=[256, 1, 1])

    def launch_graph(self, kernels: list[tuple[str, float]]) -> None:
        """Launch many kernels by one call."""
        start_us = self.now_us
        self._call("cudaGraphLaunch", 14.0)
        self._write("cuda_runtime", "cudaGraphLaunch", start_us, correlation=self.n_ids)
        for kernel, gpu_us in kernels:
            self._run("kernel", kernel, gpu_us * self._draw(self.noise.gpu, kernel), COMPUTE)

    def _call(self, call: str, mean_us: float | None) -> None:
        self.n_ids += 1
        self.now_us += self.host_us(call, self.launch_us if mean_us is None else mean_us)
        if len(self.begun_us) >= MOST_QUEUED:
            self.now_us = max(self.now_us, self.begun_us[-MOST_QUEUED])

    def copy(self, n_bytes: float, *, is_pageable: bool, stream: int = COMPUTE) -> None:
        """Copy to the device; from pageable memory the host waits until it is done."""
        self.n_ids += 1
        start_us, rate = self.now_us, PAGEABLE_BYTES_PER_US if is_pageable else PINNED_BYTES_PER_US
        kind = "Pageable" if is_pageable else "Pinned"
        with self.range("aten::to"), self.range("aten::copy_"):
            self.now_us += self.host_us("copy", 8.0)
            name = f"Memcpy HtoD ({kind} -> Device)"
            lasts_us = n_bytes / rate * self._draw(self.noise.gpu, name)
            self._run("gpu_memcpy", name, lasts_us, stream, bytes=round(n_bytes))
            if is_pageable:
                self.now_us = max(self.now_us, self.free_us[stream]) + 3.0
            self._write("cuda_runtime", "cudaMemcpyAsync", start_us, correlation=self.n_ids)

    def wait_for(self, stream: int, other: int) -> None:
        """Let a stream wait for what another one holds now."""
        start_us = self.now_us
        self.now_us += 1.2
        self._write("cuda_runtime", "cudaStreamWaitEvent", start_us, correlation=self._id())
        self.free_us[stream] = max(self.free_us.get(stream, 0.0), self.free_us.get(other, 0.0))

    def collective(
        self, name: str, transfer_us: float, *, elements: int, world: int, stream: int = COLLECTIVES
    ) -> Meeting:
        """Exchange data with all ranks: it ends everywhere when the last rank has transferred."""
        with self.range(f"c10d::{name.removeprefix('_')}_"), self.range(f"nccl:{name}"):
            self.now_us += self.host_us(name, 12.0)
            start_us = self.now_us
            self._call("cudaLaunchKernelExC", None)
            self._write("cuda_runtime", "cudaLaunchKernelExC", start_us, correlation=self.n_ids)
        own_us = max(self.now_us + QUEUE_US, self.free_us.get(stream, 0.0) + BETWEEN_US)
        last_us = yield own_us
        args = {
            "Collective name": name, "In msg nelems": elements, "Out msg nelems": elements,
            "Group size": world, "dtype": "BFloat16", "Process Group Name": "0",
            "Process Group Description": "default_pg",
            "Process Group Ranks": str(list(range(world))),
        }  # fmt: skip
        word = {"allreduce": "AllReduce_Sum_bf16_RING_LL", "_allgather_base": "AllGather_RING_LL"}
        kernel = f"ncclDevKernel_{word.get(name, 'ReduceScatter_Sum_bf16_RING_LL')}"
        kernel += "(ncclDevKernelArgsStorage<4096ul>)"
        lasts_us = last_us - own_us + transfer_us
        self._run("kernel", kernel, lasts_us, stream, start_us=own_us, **args)

    def _run(
        self,
        category: str,
        name: str,
        lasts_us: float,
        stream: int,
        start_us: float | None = None,
        **args: Any,
    ) -> None:
        if start_us is None:
            start_us = max(self.now_us + QUEUE_US, self.free_us.get(stream, 0.0) + BETWEEN_US)
        self.begun_us.append(start_us)
        self.free_us[stream] = start_us + lasts_us
        self.ran_us[stream] = self.ran_us.get(stream, 0.0) + lasts_us
        self.first_us = start_us if self.first_us is None else min(self.first_us, start_us)
        self.last_us = max(self.last_us, start_us + lasts_us)
        if self.record is not None:
            place = {"device": self.rank, "context": 1, "stream": stream}
            ids = {"correlation": self.n_ids, "External id": self.n_ids}
            self.record(category, name, start_us, lasts_us, stream, {**place, **ids, **args})

    def _write(
        self, category: str, name: str, start_us: float, *, thread: int | None = None, **args: Any
    ) -> None:
        if self.record is not None:
            place = -1 - (self.thread if thread is None else thread)
            self.record(category, name, start_us, self.now_us - start_us, place, args)

    def _id(self) -> int:
        self.n_ids += 1
        return self.n_ids
