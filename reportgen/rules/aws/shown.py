"""SageMaker's numbers as tables and charts, by the members of the details that it wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from reportgen.facts.distributions import AWS_N_BINS, PCT_EDGES, Box
from reportgen.facts.steps import phase_word
from reportgen.results import (
    ColumnType,
    Counters,
    Details,
    Exhibit,
    ExhibitKind,
    JsonValue,
    Role,
    column,
    exhibit,
)
from reportgen.results.charts import boxes, floats, histogram
from reportgen.rules.aws.aws_max_initialization_time import AWS_END, phases_exhibit, phases_of
from reportgen.rules.aws.aws_overall_system_usage import usage_rows, usage_tables
from reportgen.rules.aws.aws_step_outlier import STATISTICS
from reportgen.rules.aws.bottleneck_tables import DURING, slices
from reportgen.rules.aws.breakdown import exhibits_of_members
from reportgen.rules.aws.details import LAST_TIMESTAMP, MEMORY_SUFFIX, mapping_of, numbers_of
from reportgen.text import device_label

_MOST_GPUS = 8
"""More GPUs than this cannot be distinguished in one histogram."""
_MOST_COUNTED = 2**63
POINTS = ("p50", "p95", "p99")
_MARKS = frozenset(field.name for field in fields(Box))


def exhibits_of_details(counters: Counters, details: Details, params: Any) -> Iterator[Exhibit]:
    """Yield everything that a result of SageMaker holds; nothing for details without numbers."""
    yield from phases_exhibit(phases_of(details), end=AWS_END)
    yield from usage_tables(usage_rows(details))
    n_low = details.get("low_gpu_utilization")
    if isinstance(n_low, int) and n_low:
        part = "a GPU below, a CPU core busy or waiting (bottleneck)"
        yield slices(counters, gpu_below=params.gpu_threshold, part=part, n_low=n_low)
    yield from _steps(details)
    yield from _members(details)
    yield from _boxes(details)
    yield from _workloads(details)
    yield from _histogram(
        "waits",
        "events",
        mapping_of(details.get("dataloading_time")),
        title="Durations of loader events",
        caption="SageMaker mixes waits with life times of loader processes.",
        role=Role.IO,
    )


def _members(details: Details) -> Iterator[Exhibit]:
    """Yield the breakdown of what ran, under the ids that our rule of this name uses."""
    if "step_details" in details:
        yield from exhibits_of_members(details, prefix="outlier_", during=" during outlier steps")
    elif "bottlenecks" in details:
        yield from exhibits_of_members(details, during=DURING)
    else:
        yield from exhibits_of_members(details)
        yield from _operators(details, Role.CPU)
        yield from _operators(details, Role.GPU)


def _operators(details: Details, role: Role) -> Iterator[Exhibit]:
    kind = role.upper()
    pct, total_us = numbers_of(details.get(kind)), numbers_of(details.get(f"{kind}_total"))
    names = sorted(pct, key=lambda name: (-pct[name], name))
    if names and total_us:
        yield exhibit(
            f"{role}_operators",
            ExhibitKind.TABLE,
            title=f"{role.upper()} operators",
            caption="""SageMaker lists only operators that take more than 2 %. The percentages are
                shares of the time of the listed operators.""",
            columns=[
                column("operator", "", names, type=ColumnType.TEXT),
                *floats(
                    ("total_us", "us", [total_us.get(name) for name in names]),
                    ("aws_pct", "%", [pct[name] for name in names]),
                ),
            ],
        )


def _boxes(details: Details) -> Iterator[Exhibit]:
    """Yield the box of each device, where an entry of a node holds boxes."""
    found = [
        (node, device, numbers)
        for node, devices in details.items()
        if node != LAST_TIMESTAMP
        for device, entry in mapping_of(devices).items()
        if (numbers := numbers_of(entry)).keys() >= _MARKS
    ]
    if not found:
        return
    n_nodes = len({node for node, *_ in found})
    items = [
        (
            device_label(node, device, n_nodes=n_nodes),
            Box(**{mark: numbers[mark] for mark in _MARKS}),
            numbers.get("gpu_max"),
        )
        for node, device, numbers in found
    ]
    roles = [_role(device) for _, device, _ in found]
    yield boxes("boxes", items, title="Use of each device", unit="%", row_roles=roles)


def _role(device: str) -> Role:
    if device == "cpu":
        return Role.CPU
    return Role.GPU_MEMORY if device.endswith(MEMORY_SUFFIX) else Role.GPU


def _workloads(details: Details) -> Iterator[Exhibit]:
    nodes = {node: found for node, entry in details.items() if (found := mapping_of(entry))}
    groups = [
        (device_label(node, gpu, n_nodes=len(nodes)), counts)
        for node, entry in nodes.items()
        for gpu, listed in mapping_of(entry.get("workloads")).items()
        if len(counts := _counts(listed)) == AWS_N_BINS
    ]
    if groups:
        yield histogram(
            "workloads",
            PCT_EDGES[: AWS_N_BINS + 1],
            groups[:_MOST_GPUS],
            title="Samples by GPU utilization",
            caption="As SageMaker writes it: samples of 99 and 100 % are missing.",
            unit="%",
            edge_type=ColumnType.INT,
            role=Role.GPU,
        )


def _histogram(
    exhibit_id: str, group: str, entry: Mapping[str, JsonValue], **words: Any
) -> Iterator[Exhibit]:
    """Yield the histogram of durations that a member holds as ``probs`` and ``binedges``."""
    counts, edges = _counts(entry.get("probs")), entry.get("binedges")
    if counts and isinstance(edges, list) and len(edges) == len(counts) + 1:
        yield histogram(exhibit_id, edges, [(group, counts)], unit="s", **words)


def _steps(details: Details) -> Iterator[Exhibit]:
    """Yield statistics and histogram of the steps of each worker, of which one phase is kept."""
    workers = {
        worker: found
        for worker, entry in mapping_of(details.get("step_details")).items()
        if isinstance((found := mapping_of(entry)).get("step_stats"), dict)
    }
    if not workers:
        return
    entries = list(workers.values())
    stats = [numbers_of(entry["step_stats"]) for entry in entries]
    phases = [phase_word(str(entry.get("phase"))) for entry in entries]
    n_slow = [_count(entry.get("number_of_outliers")) for entry in entries]
    bins = zip((_counts(entry.get("probs")) for entry in entries), n_slow, strict=True)
    n_steps = [sum(counts) + (slow or 0) if counts else None for counts, slow in bins]
    counted = column("steps", "", n_steps, type=ColumnType.INT)
    for exhibit_id, title, name, more, statistics, outliers in (
        ("steps", "Step durations by training process", "worker", (), STATISTICS, "outliers"),
        ("step_percentiles", "Percentiles", "training process", (counted,), POINTS, "slow steps"),
    ):
        yield exhibit(
            exhibit_id,
            ExhibitKind.TABLE,
            title=title,
            caption="SageMaker's result has only one phase of each training process.",
            columns=[
                column(name, "", workers, type=ColumnType.TEXT),
                column("phase", "", phases, type=ColumnType.TEXT),
                *more,
                *floats(
                    *((f"{key}_s", "s", [one.get(key) for one in stats]) for key in statistics)
                ),
                column(outliers, "", n_slow, type=ColumnType.INT),
            ],
        )
    for worker, entry in workers.items():
        yield from _histogram(
            "step_histogram" if len(workers) == 1 else f"step_histogram_{worker}",
            worker,
            entry,
            title=f"How long steps of {worker} take",
            caption="Without the outliers.",
            counted="steps",
            role=Role.STEP,
        )


def _count(entry: JsonValue) -> int | None:
    """Return a count; nothing where it is no whole number."""
    if not isinstance(entry, int | float) or isinstance(entry, bool):
        return None
    return int(entry) if 0 <= entry < _MOST_COUNTED and entry == entry // 1 else None


def _counts(entry: JsonValue) -> list[int]:
    """Return the counts of a histogram; none where one of them is no whole number."""
    listed = [_count(item) for item in entry] if isinstance(entry, list) else []
    counts = [item for item in listed if item is not None]
    return counts if len(counts) == len(listed) else []
