"""Evidence of system usage: active time, curves, a heat map, histograms and counts of samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from reportgen.facts.distributions import PCT_EDGES
from reportgen.facts.resample import MAX_BUCKETS, align
from reportgen.results import ColumnType, Exhibit, ExhibitKind, Role, column, exhibit
from reportgen.rules.aws.aws_overall_system_usage import Quantity
from reportgen.rules.kit import MOST_LINES, floats, histogram, merge, ranking, sum_by_key, table
from reportgen.rules.overall_system_usage.measure import (
    CORES,
    EACH_GPU,
    DeviceCounts,
    Line,
    NodeUsage,
)
from reportgen.text import device_label, plural, write
from reportgen.units import NS_PER_S

CELLS_OF_ALL_LINES = 4_800
"""Many lines get fewer cells each, so that the page stays small."""
TIME_DIGITS = 3
MAX_HEAT_CELLS = 240
CELLS_OF_ALL_ROWS = 48_000
"""A heat map's cells per device, and of all together: 512 GPUs have 93 each."""

_CURVES = (
    (Quantity.GPU, "gpu", "GPU utilization over time", Role.GPU, "%"),
    (Quantity.CPU, "cpu", "CPU utilization over time, mean of the cores", Role.CPU, "%"),
    (Quantity.GPU_MEMORY, "gpu_memory", "GPU memory activity over time", Role.GPU_MEMORY, "%"),
    (Quantity.IO_WAIT, "io_wait", "I/O wait over time, mean of the cores", Role.IO, "%"),
    (Quantity.HOST_MEMORY, "host_memory", "Host memory over time", Role.MEMORY, "%"),
    ("network", "network", "Network traffic over time", Role.NETWORK, "bytes/s"),
    ("disk", "disk", "Disk traffic over time", Role.IO, "bytes/s"),
    ("disk_operations", "disk_operations", "Disk operations over time", Role.IO, "1/s"),
)
"""Which lines are a chart, and its name, title, role and unit."""
_DEVICE = {Role.GPU: "GPU", Role.CPU: "CPU core"}
_ACTIVE = {
    Role.GPU: (
        "A GPU counts as active in a sample if its utilization is above 0 %. This share is larger "
        "than the work in “GPU time budget”, where a GPU counts as working only above 10 %. In a "
        "kernel trace, a GPU is active while a kernel, copy or memset runs."
    ),
    Role.CPU: "Each core counts separately. It is active in a sample if it is used at all.",
}

Totals = Mapping[Role, DeviceCounts]
"""The samples of all GPUs and of all cores of the job."""


def totals_of(nodes: Sequence[NodeUsage]) -> Totals:
    """Return the samples of all GPUs and of all cores, where there are any."""
    found = {}
    for role, name in ((Role.GPU, "all GPUs"), (Role.CPU, CORES)):
        devices = [device for node in nodes for device in node.devices if device.role is role]
        if devices:
            found[role] = replace(merge(devices), node="all nodes", device=name)
    return found


def exhibits_of(nodes: Sequence[NodeUsage], totals: Totals) -> Iterator[Exhibit]:
    """Yield the evidence in the order in which it is read."""
    for role, total in totals.items():
        if total.job.n_samples:
            yield _active(role, total)
    gpus, n_nodes = _lines(nodes, EACH_GPU), len(nodes)
    for name, chart, title, role, unit in _CURVES:
        is_each = name == Quantity.GPU and 0 < len(gpus) <= MOST_LINES
        if lines := gpus if is_each else _lines(nodes, name):
            yield _band(f"{chart}_over_time", lines, n_nodes, title=title, role=role, unit=unit)
    lines = gpus or _lines(nodes, Quantity.CPU)
    if len(lines) > 1:
        role = Role.GPU if gpus else Role.CPU
        what = "GPU" if gpus else "node"
        title = f"{role.upper()} utilization of every {what} over time"
        yield _heatmap(lines, role, title=title)
    for role, total in totals.items():
        groups = {"whole job": total.job, "training loop": total.loop}
        yield histogram(
            f"{role}_histogram",
            PCT_EDGES,
            [(name, samples.counts.tolist()) for name, samples in groups.items() if samples],
            unit="%",
            edge_type=ColumnType.INT,
            title=f"{_DEVICE[role]} samples by utilization",
            caption="Samples of all devices of all nodes. The last bin covers 98 to 100 %.",
            role=role,
        )
    devices = [device for node in nodes for device in node.devices]
    if devices:
        n_of = Counter(device.role for device in devices)
        rows = [*devices, *(total for role, total in totals.items() if n_of[role] > 1)]
        title = "Samples at zero and below 50 % utilization"
        caption = """Each core counts separately. The training loop of a node lasts from the start
            of its first training step to the end of its last one."""
        yield table("sample_counts", rows, DeviceCounts, title=title, caption=caption)


def _active(role: Role, total: DeviceCounts) -> Exhibit:
    job, loop = total.job, total.loop
    in_loop = ""
    if loop and loop.n_samples:
        pct = 100 * loop.n_active / loop.n_samples
        in_loop = write("; of those within the training loop, {pct:pct} are active", pct=pct)
    caption = f"Shares of the {plural(job.n_samples, 'sample')} of the whole job{in_loop}."
    return ranking(
        f"{role}_active",
        [("active (above 0 %)", job.n_active), ("idle (0 %)", job.n_zero)],
        title=f"{role.upper()} active time by samples",
        caption=f"{caption} {_ACTIVE[role]}",
        amount=("samples", ""),
        roles=(role, Role.IDLE),
    )


def _lines(nodes: Sequence[NodeUsage], name: str) -> list[Line]:
    return [line for node in nodes for line in node.lines.get(name, ())]


def _band(
    exhibit_id: str,
    lines: Sequence[Line],
    n_nodes: int,
    *,
    title: str,
    role: Role,
    unit: str,
) -> Exhibit:
    digits = 0 if unit == "bytes/s" else 2
    shown = _extremes(lines)
    cells = min(MAX_BUCKETS, CELLS_OF_ALL_LINES // len(shown))
    aligned = align([line.curve for line in shown], cells=cells)
    columns = [("time_s", "s", np.round(aligned.time_ns / NS_PER_S, TIME_DIGITS))]
    for at, line in enumerate(shown):
        name = device_label(line.node, line.device, n_nodes=n_nodes) if line.device else line.node
        for part, values in (("min", aligned.low), ("mean", aligned.mean), ("max", aligned.high)):
            columns.append((f"{name}_{part}", unit, np.round(values[at], digits)))
    caption = "Minimum, mean and maximum of each interval of time."
    n_points = max(int(line.curve.count.sum()) for line in shown)
    if n_points > aligned.time_ns.size:
        caption += f" Reduced from {n_points:,} samples; minima and maxima are kept."
    if len(shown) < len(lines):
        half, all_in = MOST_LINES // 2, "; the table of usage has all" if unit == "%" else ""
        caption += f""" {len(shown)} of {len(lines)} curves: the {half} with the lowest and the
            {half} with the highest mean{all_in}."""
    return exhibit(
        exhibit_id,
        ExhibitKind.BAND,
        title=title,
        caption=caption,
        columns=floats(*columns),
        role=role,
    )


def _extremes(lines: Sequence[Line]) -> list[Line]:
    """Return all lines, or the lowest and the highest when there are too many, in order."""
    if len(lines) <= MOST_LINES:
        return list(lines)
    ranked = sorted(range(len(lines)), key=lambda index: lines[index].mean)
    kept = sorted((*ranked[: MOST_LINES // 2], *ranked[-(MOST_LINES // 2) :]))
    return [lines[index] for index in kept]


def _heatmap(lines: Sequence[Line], role: Role, *, title: str) -> Exhibit:
    """Return several devices over time, those of the least used node first."""
    means = sum_by_key({line.node: (line.mean,)} for line in lines)
    rows = sorted(lines, key=lambda line: fmean(means[line.node]))
    cells = min(MAX_HEAT_CELLS, max(1, CELLS_OF_ALL_ROWS // len(rows)))
    aligned = align([line.curve for line in rows], cells=cells)
    n_cells, time_s = aligned.time_ns.size, np.round(aligned.time_ns / NS_PER_S, TIME_DIGITS)
    names = [f"{line.node} {line.device}".strip() for line in rows]
    nodes = [line.node for line in rows]
    return exhibit(
        "device_heatmap",
        ExhibitKind.HEATMAP,
        title=title,
        caption="""Mean of each interval of time, sorted by utilization, lowest node first. Empty
            cells were not measured.""",
        columns=[
            column("row", "", np.repeat(names, n_cells), type=ColumnType.TEXT),
            *floats(
                ("time_s", "s", np.tile(time_s, len(rows))),
                (f"{role}_pct", "%", np.round(aligned.mean, 1).ravel()),
            ),
            column("node", "", np.repeat(nodes, n_cells), type=ColumnType.TEXT),
        ],
        role=role,
    )
