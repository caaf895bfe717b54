"""Active against idle time of GPUs and cores, as far as samples tell it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.rules.saying.wording import say_times
from reportgen.rules.usage.nodes import DeviceCounts, NodeUsage, SampleCounts
from reportgen.units import percentages, say_pct

GPU_ACTIVE, CPU_ACTIVE = "gpu_active", "cpu_active"


def active_shares(nodes: Sequence[NodeUsage]) -> Iterator[Exhibit]:
    """Yield the shares of active and idle samples of all GPUs, then of all cores.

    Edge cases: no exhibit for what was not sampled.
    Source: features 002-09 and 002-11.
    """
    devices = [device for node in nodes for device in node.devices]
    gpus = [device for device in devices if device.is_gpu]
    cores = [device for device in devices if not device.is_gpu]
    yield from _shares(
        GPU_ACTIVE,
        gpus,
        title="GPU active time by samples",
        rule=(
            "A GPU is active in a sample above 0 %. A kernel trace tells it otherwise, by the "
            "time in which a kernel, copy or memset ran."
        ),
    )
    yield from _shares(
        CPU_ACTIVE,
        cores,
        title="CPU active time by samples",
        rule="A core is active in a sample above 0 %; each core counts by itself.",
    )


def _shares(
    exhibit_id: str, devices: Sequence[DeviceCounts], *, title: str, rule: str
) -> Iterator[Exhibit]:
    n_samples = sum(device.job.n_samples for device in devices)
    if n_samples == 0:
        return
    n_active = sum(_active(device.job) for device in devices)
    parts = {"active": n_active, "idle": n_samples - n_active}
    yield exhibit(
        exhibit_id,
        ExhibitKind.SHARES,
        title=title,
        caption=(
            f"Shares of the {say_times(n_samples, 'sample')} of the whole job{_in_loop(devices)}. "
            f"{rule}"
        ),
        columns=[
            ("part", "", list(parts)),
            ("samples", "", list(parts.values())),
            ("pct", "%", percentages(list(parts.values()))),
        ],
    )


def _in_loop(devices: Sequence[DeviceCounts]) -> str:
    """Say the share within the training loop; nothing where no sample lies in one."""
    loops = [device.loop for device in devices if device.loop]
    n_samples = sum(loop.n_samples for loop in loops)
    if n_samples == 0:
        return ""
    active_pct = 100 * sum(_active(loop) for loop in loops) / n_samples
    return f"; within the training loop {say_pct(active_pct)} are active"


def _active(counts: SampleCounts) -> int:
    return counts.n_samples - counts.n_zero
