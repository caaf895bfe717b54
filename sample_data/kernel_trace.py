"""A made-up kernel trace of two ranks whose data loader is too slow.

``python -m sample_data.kernel_trace`` writes it again, as PyTorch 2.5 would. What is planted: each
step waits for the data loader, copies its batch from pageable memory, and ends with a collective
for which rank 0 waits, because rank 1 has more to do.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "kernel_traces"
BASE_NS = 1_782_967_788_000_000_000
"""A multiple of 7,889,238 s, as the profiler has it; in July 2026."""

START_US = 104_412_345.678
N_RANKS = 2
N_STEPS = 8
LOADER_US = 21_000.0
BATCH_BYTES = 32 * 3 * 224 * 224 * 4
PAGEABLE_BYTES_PER_US = 5_200.0
HOST_US = 11.0
LAUNCH_US = 4.5
QUEUE_US = 2.0

_GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
_RELU = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::"
    "launch_clamp_scalar<c10::BFloat16>, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)"
)
_SGD = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"
    "at::native::TensorListMetadata<2>, "
    "at::native::BinaryOpListAlphaFunctor<float, 2, 2, 0> >(float)"
)
_NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
_LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


@dataclass(slots=True, kw_only=True)
class _Rank:
    """A rank as it is written: two clocks, the host's and the GPU's."""

    number: int
    noise: random.Random
    now_us: float = START_US
    free_us: dict[int, float] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    n_ids: int = 0
    step_start_us: float = START_US

    @property
    def pid(self) -> int:
        return 4100 + self.number

    def jitter(self, duration_us: float) -> float:
        """Return a duration that varies by about 3 %."""
        return duration_us * max(self.noise.gauss(1.0, 0.03), 0.5)

    def slice(self, category: str, name: str, start_us: float, **args: Any) -> None:
        """Write a host slice that ends now."""
        self._write("X", category, name, start_us, self.now_us - start_us, args)

    def launch(self, kernel: str, duration_us: float, *, stream: int = 7, **args: Any) -> None:
        """Call the runtime, and run a kernel once its stream is free."""
        self.n_ids += 1
        start_us = self.now_us
        self.now_us += self.jitter(LAUNCH_US)
        self.slice("cuda_runtime", "cudaLaunchKernel", start_us, correlation=self.n_ids)
        shape = {"grid": [512, 1, 1], "block": [256, 1, 1]}
        self.run("kernel", kernel, self.jitter(duration_us), stream, **shape, **args)

    def run(self, kind: str, name: str, duration_us: float, stream: int, **args: Any) -> None:
        """Run something on the GPU, at the earliest when it was launched."""
        start_us = max(self.now_us + QUEUE_US, self.free_us.get(stream, 0.0))
        self.free_us[stream] = start_us + duration_us
        ids = {"correlation": self.n_ids, "External id": self.n_ids}
        place = {"device": self.number, "context": 1, "stream": stream}
        where = {"pid": self.number, "tid": stream}
        self._write("X", kind, name, start_us, duration_us, {**place, **ids, **args}, **where)
        for phase, pid, tid, at_us in (
            ("s", self.pid, self.pid, self.now_us),
            ("f", self.number, stream, start_us),
        ):
            flow = {"ph": phase, "id": self.n_ids, "pid": pid, "tid": tid, "ts": round(at_us, 3)}
            self.events.append({**flow, "cat": "ac2g", "name": "ac2g", "bp": "e"})

    def operator(self, name: str, kernel: str, duration_us: float) -> None:
        """Run an operator of the framework that launches one kernel."""
        start_us = self.now_us
        self.now_us += self.jitter(HOST_US)
        self.launch(kernel, duration_us)
        self.now_us += 1.0
        types = ["c10::BFloat16", "c10::BFloat16"]
        args = {"External id": self.n_ids, "Input type": types}
        self.slice("cpu_op", name, start_us, **args)

    def _write(
        self,
        phase: str,
        category: str,
        name: str,
        start_us: float,
        duration_us: float,
        args: Mapping[str, Any],
        **where: int,
    ) -> None:
        head = {"ph": phase, "cat": category, "name": name, "pid": self.pid, "tid": self.pid}
        times = {"ts": round(start_us, 3), "dur": round(duration_us, 3)}
        self.events.append({**head, **where, **times, "args": dict(args)})


def trace_chunks(rank: int, *, n_steps: int = N_STEPS, seed: int = 1) -> Iterator[bytes]:
    """Yield the file of one rank, one event a line; equal arguments give equal bytes."""
    writers = [_Rank(number=number, noise=random.Random(f"{seed}.{number}")) for number in range(2)]
    head = json.dumps(_header(writers[rank]))[:-1]
    yield f'{head}, "traceEvents": [\n'.encode()
    for step in range(n_steps):
        for writer in writers:
            writer.events.clear()
            _begin_step(writer)
        ready_us = max(writer.free_us[7] for writer in writers)
        for writer in writers:
            _end_step(writer, step, ready_us=ready_us)
        yield b"".join(json.dumps(event).encode() + b",\n" for event in writers[rank].events)
    labels = ",\n".join(json.dumps(label) for label in _labels(writers[rank]))
    yield f'{labels}\n], "traceName": "./rank-{rank}.pt.trace.json"}}\n'.encode()


def _begin_step(writer: _Rank) -> None:
    """Wait for a batch, copy it, run forward and backward."""
    writer.step_start_us = writer.now_us
    start_us = writer.now_us
    writer.now_us += writer.jitter(LOADER_US)
    writer.slice("user_annotation", _LOADER, start_us)
    _copy_batch(writer)
    for layer in range(24):
        writer.operator("aten::linear", _GEMM, 380.0 + 140.0 * writer.number)
        writer.operator("aten::relu_", _RELU, 40.0 + layer % 3)
    for _ in range(24):
        writer.operator("aten::mm", _GEMM, 520.0 + 200.0 * writer.number)


def _copy_batch(writer: _Rank) -> None:
    """Copy a batch from pageable memory: the host waits until it is done."""
    start_us = writer.now_us
    writer.n_ids += 1
    duration_us = writer.jitter(BATCH_BYTES / PAGEABLE_BYTES_PER_US)
    name = "Memcpy HtoD (Pageable -> Device)"
    writer.run("gpu_memcpy", name, duration_us, 7, bytes=BATCH_BYTES)
    writer.now_us += duration_us + 30.0
    writer.slice("cuda_runtime", "cudaMemcpyAsync", start_us, correlation=writer.n_ids)
    writer.slice("cpu_op", "aten::to", start_us, **{"External id": writer.n_ids})


def _end_step(writer: _Rank, step: int, *, ready_us: float) -> None:
    """Sum the gradients of all ranks, which ends at once everywhere, and update the weights."""
    start_us = writer.now_us
    mine_us = max(writer.now_us + LAUNCH_US + QUEUE_US, writer.free_us[7])
    wait_us = max(ready_us - mine_us, 0.0)
    group = {
        "Collective name": "allreduce", "In msg nelems": 25_557_032, "Out msg nelems": 25_557_032,
        "Group size": N_RANKS, "dtype": "BFloat16", "Process Group Name": "0",
        "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]", "Seq": step + 1,
    }  # fmt: skip
    writer.free_us[20] = mine_us
    writer.launch(_NCCL, 0.0, stream=20, **group)
    kernel = next(event for event in reversed(writer.events) if event["ph"] == "X")
    kernel["dur"] = round(wait_us + 900.0, 3)
    kernel["ts"] = writer.events[-1]["ts"] = round(mine_us, 3)
    writer.free_us[7] = writer.free_us[20] = mine_us + wait_us + 900.0
    optimizer_us = writer.now_us
    for _ in range(4):
        writer.operator("aten::_foreach_add_", _SGD, 150.0)
    writer.slice("user_annotation", "Optimizer.step#SGD.step", optimizer_us)
    start_us = writer.now_us
    writer.now_us = max(writer.now_us, writer.free_us[7]) + 12.0
    writer.slice("cuda_runtime", "cudaStreamSynchronize", start_us, correlation=0)
    writer.slice("cpu_op", "aten::item", start_us)
    writer.slice("user_annotation", f"ProfilerStep#{step + 4}", writer.step_start_us)
    writer.now_us += 25.0


def _header(writer: _Rank) -> dict[str, Any]:
    """Return what the profiler writes before the events."""
    devices = [
        {"id": number, "name": "NVIDIA A100-SXM4-40GB", "totalGlobalMem": 42_297_524_224,
         "computeMajor": 8, "computeMinor": 0, "numSms": 108}
        for number in range(N_RANKS)
    ]  # fmt: skip
    return {
        "schemaVersion": 1,
        "deviceProperties": devices,
        "cuda_runtime_version": 12040,
        "cuda_driver_version": 12040,
        "distributedInfo": {
            "backend": "nccl", "rank": writer.number, "world_size": N_RANKS,
            "nccl_version": "2.21.5",
        },
        "record_shapes": 1,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": BASE_NS,
    }  # fmt: skip


def _labels(writer: _Rank) -> list[dict[str, Any]]:
    """Return the names of the processes, which come last."""
    return [
        {"name": "process_labels", "ph": "M", "ts": 0, "pid": pid, "tid": 0,
         "args": {"labels": label}}
        for pid, label in ((writer.pid, "CPU"), (writer.number, f"GPU {writer.number}"))
    ]  # fmt: skip


def main() -> int:
    """Write both ranks; one line each on stderr."""
    FOLDER.mkdir(exist_ok=True)
    for rank in range(N_RANKS):
        path = FOLDER / f"rank-{rank}.pt.trace.json.gz"
        path.write_bytes(gzip.compress(b"".join(trace_chunks(rank)), mtime=0))
        print(f"{path}: {path.stat().st_size / 1e3:.0f} kB", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
