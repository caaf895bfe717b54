"""Evidence of system usage: curves over time, histograms, counts at zero and below 50 %."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.distributions import BIN_PCT, N_BINS, Counts
from reportgen.facts.resample import ThinCurve, align
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.rules.saying.wording import label
from reportgen.rules.usage.nodes import ALL_CORES, NodeUsage, Quantity, SampleCounts
from reportgen.units import NS_PER_S, say_count

MAX_LINES = 16
MAX_CELLS = 600
MIN_CELLS = 120
CELLS_OF_ALL_LINES = 4_800
"""Many lines get fewer cells each, so that the page stays small. Source: ours."""
TIME_DIGITS = 3
MAX_HEAT_CELLS = 240
CELLS_OF_ALL_ROWS = 48_000
"""A heat map's cells per device, and of all together: 512 GPUs have 93 each. Source: ours."""
HEATMAP = "device_heatmap"

_CURVES = (
    ("gpu_over_time", Quantity.GPU, "GPU utilization over time", "%", 2),
    ("cpu_over_time", Quantity.CPU, "CPU utilization over time, mean of the cores", "%", 2),
    ("gpu_memory_over_time", Quantity.GPU_MEMORY, "GPU memory activity over time", "%", 2),
    ("io_wait_over_time", Quantity.IO_WAIT, "I/O wait over time, mean of the cores", "%", 2),
    ("host_memory_over_time", Quantity.HOST_MEMORY, "Host memory over time", "%", 2),
    ("network_over_time", Quantity.NETWORK, "Network traffic over time", "bytes/s", 0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One curve of a chart; ``mean`` ranks lines when there are too many."""

    name: str
    mean: float
    curve: ThinCurve


def exhibits_of(nodes: Sequence[NodeUsage]) -> Iterator[Exhibit]:
    """Return the evidence in the order in which it is read; nothing for no nodes."""
    for exhibit_id, quantity, title, unit, digits in _CURVES:
        lines = _gpu_lines(nodes) if quantity is Quantity.GPU else []
        lines = lines or _node_lines(nodes, quantity)
        if lines:
            yield _band(exhibit_id, lines, title=title, unit=unit, digits=digits)
    yield from _heatmap(nodes)
    for is_gpu, exhibit_id, title in (
        (True, "gpu_histogram", "GPU samples by utilization"),
        (False, "cpu_histogram", "CPU core samples by utilization"),
    ):
        if _any_samples(nodes, is_gpu=is_gpu):
            yield _histogram(exhibit_id, nodes, is_gpu=is_gpu, title=title)
    if any(node.devices for node in nodes):
        yield _counts_table(nodes)


def _any_samples(nodes: Sequence[NodeUsage], *, is_gpu: bool) -> bool:
    return any(device.is_gpu is is_gpu for node in nodes for device in node.devices)


def _gpu_lines(nodes: Sequence[NodeUsage]) -> list[Line]:
    """Return a line per GPU, or none when there are too many for one chart."""
    lines = [
        Line(
            name=label(node.node, gpu, n_nodes=len(nodes)),
            mean=_mean_of(curve),
            curve=curve,
        )
        for node in nodes
        for gpu, curve in node.gpu_curves
        if not np.isnan(curve.mean).all()
    ]
    return lines if len(lines) <= MAX_LINES else []


def _node_lines(nodes: Sequence[NodeUsage], quantity: Quantity) -> list[Line]:
    return [
        Line(name=node.node, mean=usage.mean, curve=usage.curve)
        for node in nodes
        if (usage := node.usage(quantity))
    ]


def _band(exhibit_id: str, lines: Sequence[Line], *, title: str, unit: str, digits: int) -> Exhibit:
    shown = _extremes(lines)
    cells = min(MAX_CELLS, max(MIN_CELLS, CELLS_OF_ALL_LINES // len(shown)))
    aligned = align([line.curve for line in shown], cells=cells)
    columns = []
    for row, line in enumerate(shown):
        for part, values in (("min", aligned.low), ("mean", aligned.mean), ("max", aligned.high)):
            columns.append((f"{line.name}_{part}", unit, np.round(values[row], digits)))
    n_points = max(line.curve.n_points for line in shown)
    thinned = (
        f" Thinned from {say_count(n_points)} instants, minimum and maximum kept."
        if n_points > aligned.time_ns.size
        else ""
    )
    half = MAX_LINES // 2
    rest = (
        f" {len(shown)} of {len(lines)} nodes: the {half} with the lowest and the {half} with the "
        "highest mean; the table of usage has all."
        if len(shown) < len(lines)
        else ""
    )
    return exhibit(
        exhibit_id,
        ExhibitKind.BAND,
        title=title,
        caption=f"Minimum, mean and maximum of each stretch of time.{thinned}{rest}",
        columns=[("time_s", "s", np.round(aligned.time_ns / NS_PER_S, TIME_DIGITS)), *columns],
    )


def _heatmap(nodes: Sequence[NodeUsage]) -> Iterator[Exhibit]:
    """Yield the devices over time, worst first; nothing for a single device."""
    rows = [
        (node.node, Line(name=f"{node.node} {gpu}", mean=_mean_of(curve), curve=curve))
        for node in nodes
        for gpu, curve in node.gpu_curves
        if not np.isnan(curve.mean).all()
    ]
    what, quantity = ("GPU", "gpu_pct")
    if not rows:
        rows = [(line.name, line) for line in _node_lines(nodes, Quantity.CPU)]
        what, quantity = ("CPU", "cpu_pct")
    if len(rows) < 2:
        return
    rows = _worst_first(rows)
    cells = min(MAX_HEAT_CELLS, max(1, CELLS_OF_ALL_ROWS // len(rows)))
    aligned = align([line.curve for _, line in rows], cells=cells)
    time_s = np.round(aligned.time_ns / NS_PER_S, TIME_DIGITS).tolist()
    n_cells = len(time_s)
    yield exhibit(
        HEATMAP,
        ExhibitKind.HEATMAP,
        title=f"{what} utilization of every {'GPU' if what == 'GPU' else 'node'} over time",
        caption=(
            "Mean of each stretch of time; the node that is used least stands first. An empty "
            "cell was not measured."
        ),
        columns=[
            ("row", "", [line.name for _, line in rows for _ in range(n_cells)]),
            ("time_s", "s", time_s * len(rows)),
            (quantity, "%", np.round(aligned.mean, 1).ravel()),
            ("node", "", [node for node, _ in rows for _ in range(n_cells)]),
        ],
    )


def _worst_first(rows: Sequence[tuple[str, Line]]) -> list[tuple[str, Line]]:
    """Order nodes by their mean, lowest first; the devices of a node keep their order."""
    means: dict[str, list[float]] = {}
    for node, line in rows:
        means.setdefault(node, []).append(line.mean)
    return sorted(rows, key=lambda row: sum(means[row[0]]) / len(means[row[0]]))


def _mean_of(curve: ThinCurve) -> float:
    return float(np.nanmean(curve.mean))


def _extremes(lines: Sequence[Line]) -> list[Line]:
    """Return all lines, or the lowest and the highest when there are too many, in order."""
    if len(lines) <= MAX_LINES:
        return list(lines)
    ranked = sorted(range(len(lines)), key=lambda index: lines[index].mean)
    kept = sorted((*ranked[: MAX_LINES // 2], *ranked[-(MAX_LINES // 2) :]))
    return [lines[index] for index in kept]


def _histogram(exhibit_id: str, nodes: Sequence[NodeUsage], *, is_gpu: bool, title: str) -> Exhibit:
    devices = [item for node in nodes for item in node.devices if item.is_gpu is is_gpu]
    groups = [("whole job", _sum_counts([device.job for device in devices]))]
    loops = [device.loop for device in devices if device.loop]
    if loops:
        groups.append(("training loop", _sum_counts(loops)))
    starts = list(range(0, N_BINS * BIN_PCT, BIN_PCT))
    return exhibit(
        exhibit_id,
        ExhibitKind.HISTOGRAM,
        title=title,
        caption="All devices of all nodes; the last bin holds 98 to 100 %.",
        columns=[
            ("bin_start", "%", starts),
            ("bin_end", "%", [start + BIN_PCT for start in starts]),
            *((name, "", counts) for name, counts in groups),
        ],
    )


def _sum_counts(items: Sequence[SampleCounts]) -> Counts:
    return np.asarray(np.sum([item.counts for item in items], axis=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountRow:
    node: str
    device: str
    job: tuple[int, int, int]
    loop: tuple[int, int, int] | None


def _counts_table(nodes: Sequence[NodeUsage]) -> Exhibit:
    rows = [
        _CountRow(
            node=node.node,
            device=item.device,
            job=_triple([item.job]),
            loop=_triple([item.loop]) if item.loop else None,
        )
        for node in nodes
        for item in node.devices
    ]
    rows += _total_rows(nodes)
    return exhibit(
        "sample_counts",
        ExhibitKind.TABLE,
        title="Samples at zero and below 50 % utilization",
        caption="CPU samples are counted core by core; the loop is that of the node's own steps.",
        columns=[
            ("node", "", [row.node for row in rows]),
            ("device", "", [row.device for row in rows]),
            *(
                (name, "", [row.job[place] for row in rows])
                for place, name in enumerate(("samples", "at_zero", "below_50"))
            ),
            *(
                (name, "", [row.loop[place] if row.loop else None for row in rows])
                for place, name in enumerate(("loop_samples", "loop_at_zero", "loop_below_50"))
            ),
        ],
    )


def _total_rows(nodes: Sequence[NodeUsage]) -> Iterator[_CountRow]:
    for is_gpu, name in ((True, "all GPUs"), (False, ALL_CORES)):
        devices = [item for node in nodes for item in node.devices if item.is_gpu is is_gpu]
        if len(devices) > 1:
            loops = [item.loop for item in devices if item.loop]
            yield _CountRow(
                node="all nodes",
                device=name,
                job=_triple([item.job for item in devices]),
                loop=_triple(loops) if loops else None,
            )


def _triple(items: Sequence[SampleCounts]) -> tuple[int, int, int]:
    return (
        sum(item.n_samples for item in items),
        sum(item.n_zero for item in items),
        sum(item.n_below_half for item in items),
    )
