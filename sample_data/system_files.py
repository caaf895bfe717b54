"""Write system metrics as SageMaker does: one file per node and minute, one JSON per line.

Fast because a group of lines is one ready text with gaps for the values: a ``%`` fills all of
them at once, and the time is put in by one replacement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from sample_data.curves import TickValues, node_activity, tick_values
from sample_data.schedule import Integers, Schedule
from sample_data.spec import Fault, JobSpec, node_name

GROUPS = ("gpu", "cpu", "io", "memory", "network")
ValuesOf = Callable[[Integers, np.random.Generator], TickValues]
"""Returns the values of given ticks; the generator is the one of the minute's file."""
_STAMP = "@"
_START_TICKS = 24
_LATE_SHARE = 0.015
_FAULTY_LATE_SHARE = 0.06
_WITHOUT_PLATFORM_SHARE = 0.003
_SHUFFLED_SHARE = 0.03
_N_CORE_ORDERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Templates:
    """The lines of each group with gaps; cores also in other orders."""

    text: dict[str, str]
    without_platform: str
    core_orders: tuple[Integers, ...]
    core_texts: tuple[str, ...]


def write_system_files(spec: JobSpec, schedule: Schedule, *, root: Path) -> int:
    """Write ``system/`` below ``root`` (``profiler-output``); return the number of lines."""
    n_lines = 0
    for node in range(spec.nodes):
        n_lines += _write_node(spec, schedule, node=node, root=root)
    (root / "system" / "training_job_end.ts").touch()
    return n_lines


def gap_ticks(spec: JobSpec) -> tuple[int, int]:
    """Return the first tick of the pause and the first after it: a tenth of the job, halfway."""
    if Fault.GAP not in spec.faults:
        return 0, 0
    first = spec.n_ticks // 2
    return first, first + max(4, spec.n_ticks // 10)


def _write_node(spec: JobSpec, schedule: Schedule, *, node: int, root: Path) -> int:
    start_us = round(spec.start_s * 1_000_000) + node * 41_000
    gap_from, gap_to = gap_ticks(spec)
    all_ticks = np.arange(spec.n_ticks)
    ticks = all_ticks[(all_ticks < gap_from) | (all_ticks >= gap_to)]

    def values_of(chunk: Integers, rng: np.random.Generator) -> TickValues:
        return tick_values(spec, node_activity(spec, schedule, node=node, ticks=chunk), rng)

    return write_samples(spec, values_of, node=node, start_us=start_us, ticks=ticks, root=root)


def write_samples(
    spec: JobSpec, values_of: ValuesOf, *, node: int, start_us: int, ticks: Integers, root: Path
) -> int:
    """Write the samples of one node, a file per minute; return the number of lines.

    Of ``spec`` only the seed, the interval, the numbers of GPUs and cores and the faults of the
    writer count. ``values_of`` returns what was sampled at some of the ticks.
    """
    templates = _templates(spec, node_name(node))
    interval_us = spec.interval_ms * 1000
    minutes = (start_us + ticks * interval_us) // 60_000_000
    n_lines = 0
    for minute in np.unique(minutes).tolist():
        chunk = ticks[minutes == minute]
        rng = np.random.default_rng([spec.seed, 2, node, minute])
        values = values_of(chunk, rng)
        stamps_us = (start_us + chunk * interval_us)[:, None] + _lateness_us(spec, chunk, rng)
        text = _render(templates, values, stamps_us, chunk, rng)
        path = minute_path(root, node_name(node), minute * 60)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("ascii"))
        n_lines += text.count("\n")
    return n_lines


def minute_path(root: Path, node: str, minute_s: int) -> Path:
    """Return ``system/incremental/<YYYYMMDDHH>/<minute>.algo-N.json`` below ``root``."""
    hour = datetime.fromtimestamp(minute_s, tz=UTC).strftime("%Y%m%d%H")
    return root / "system" / "incremental" / hour / f"{minute_s:010d}.{node}.json"


def _line(kind: str, name: str, dimension: str, node: str) -> str:
    return (
        f'{{"Type":"{kind}","Name":"{name}","Dimension":"{dimension}","Value":%.2f,'
        f'"NodeId":"{node}","Timestamp":{_STAMP}}}\n'
    )


def _templates(spec: JobSpec, node: str) -> _Templates:
    gpu = [
        _line("gpu", f"gpu{index}", dimension, node)
        for index in range(spec.gpus)
        for dimension in ("GPUUtilization", "GPUMemoryUtilization")
    ]
    cores = [
        _line("cpu", f"cpu{core}", "CPUUtilization", node)
        + _line("cpu", f"cpu{core}", "I/OWaitPercentage", node)
        for core in range(spec.cores)
    ]
    io = [
        _line("i/o", name, "", node)
        for name in ("IOPS", "ReadThroughputInBytesPerSecond", "WriteThroughputInBytesPerSecond")
    ]
    network = [
        _line("network", name, dimension, node)
        for dimension in ("Algorithm", "Platform")
        for name in ("ReceiveBytesPerSecond", "TransmitBytesPerSecond")
    ]
    text = {
        "gpu": "".join(gpu),
        "cpu": "".join(cores),
        "io": "".join(io),
        "memory": _line("memory", "MemoryUsedPercent", "", node),
        "network": "".join(network),
    }
    rng = np.random.default_rng([spec.seed, 3])
    orders = tuple(rng.permutation(spec.cores) for _ in range(_N_CORE_ORDERS))
    return _Templates(
        text=text,
        without_platform="".join(network[:2]),
        core_orders=orders,
        core_texts=tuple("".join(cores[core] for core in order) for order in orders),
    )


def _lateness_us(spec: JobSpec, ticks: Integers, rng: np.random.Generator) -> Integers:
    """Return (n, 5) how long after the instant each group of ``GROUPS`` is stamped.

    Steady state 0.2-0.3 ms apart, network last and up to 45 ms late at the start or now and then
    (docs/formats.md, Lines of system metrics); with the fault, any group but the GPU's up to 80 ms
    late.
    """
    n = ticks.shape[0]
    gpu = rng.integers(900, 1600, (n, 1))
    middle = rng.permuted(np.tile([0, 1, 2], (n, 1)), axis=1) * 110 + rng.integers(20, 100, (n, 3))
    late = np.column_stack([np.zeros(n, dtype=np.int64), middle, rng.integers(380, 620, n)])
    is_start = ticks < _START_TICKS
    is_late = is_start | (rng.random(n) < _LATE_SHARE)
    late[:, 4] += is_late * rng.integers(5_000, 45_000, n)
    late[:, 1] += is_start * rng.integers(0, 4_500, n)
    if Fault.LATE_GROUPS in spec.faults:
        is_late = rng.random((n, 4)) < _FAULTY_LATE_SHARE
        late[:, 1:] += is_late * rng.integers(20_000, 80_000, (n, 4))
    return np.asarray(gpu + late)


def _render(
    templates: _Templates,
    values: TickValues,
    stamps_us: Integers,
    ticks: Integers,
    rng: np.random.Generator,
) -> str:
    """Return the lines of all given ticks."""
    n = ticks.shape[0]
    order = np.argsort(stamps_us, axis=1, kind="stable").tolist()
    stamps = [
        [f"{us // 1_000_000}.{us % 1_000_000:06d}" for us in row] for row in stamps_us.tolist()
    ]
    rows = [getattr(values, group).tolist() for group in GROUPS]
    core_order = np.where(rng.random(n) < _SHUFFLED_SHARE, rng.integers(0, _N_CORE_ORDERS, n), -1)
    has_platform = np.asarray(rng.random(n) >= _WITHOUT_PLATFORM_SHARE).tolist()
    texts = [templates.text[group] for group in GROUPS]
    parts: list[str] = []
    for tick in range(n):
        chosen = texts
        if core_order[tick] >= 0 or not has_platform[tick]:
            chosen = _vary(
                templates,
                rows,
                tick=tick,
                order=int(core_order[tick]),
                full=has_platform[tick],
            )
        first = ticks[tick] == 0
        for group in order[tick]:
            if first and GROUPS[group] not in {"gpu", "memory"}:
                continue  # differences start at the second instant
            parts.append(
                (chosen[group] % tuple(rows[group][tick])).replace(_STAMP, stamps[tick][group])
            )
    return "".join(parts)


def _vary(
    templates: _Templates, rows: list[list[list[float]]], *, tick: int, order: int, full: bool
) -> list[str]:
    """Return one tick's texts with cores in another order or without platform lines.

    The tick's values in ``rows`` are put in the same order.
    """
    texts = [templates.text[group] for group in GROUPS]
    cpu, network = GROUPS.index("cpu"), GROUPS.index("network")
    if order >= 0:
        texts[cpu] = templates.core_texts[order]
        row = rows[cpu][tick]
        rows[cpu][tick] = [
            value
            for core in templates.core_orders[order].tolist()
            for value in row[2 * core : 2 * core + 2]
        ]
    if not full:
        texts[network] = templates.without_platform
        rows[network][tick] = rows[network][tick][:2]
    return texts
