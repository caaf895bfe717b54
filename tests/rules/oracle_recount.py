"""AWS's numbers where ours deviate on purpose, computed again with numpy and scipy alone.

Each function returns leaves (path to value) of one rule's JSON for one job; nothing of the rules
is used, only what was read and the definitions of docs/aws-differences.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import jensenshannon

from reportgen.profile import NodeProfile, SeriesKind, SpanTable

Leaves = dict[str, Any]
Parts = Sequence[NodeProfile]
MINUTE_NS = 60 * 10**9
TRAIN = "Step:ModeKeys.TRAIN"


def step_outliers(parts: Parts) -> Leaves:
    """Statistics of the TRAIN steps of each worker, which AWS overwrites with those of EVAL."""
    found: Leaves = {}
    for part in parts:
        spans = part.spans
        train = spans.where(spans.in_phases([TRAIN]))
        for code in np.unique(train.worker):
            series = train.where(train.worker == code)
            series = series.where(np.argsort(series.end_ns, kind="stable"))
            found |= {
                f"/Details/step_details/{spans.workers[code]}{path}": value
                for path, value in _one_series(series.duration_ns / 1e9, series.step)
            }
    return found


def _one_series(duration_s: Any, numbers: Any) -> Iterator[tuple[str, Any]]:
    limit_s = duration_s.mean() + 3 * duration_s.std()
    is_out = duration_s > limit_s
    p50, p95, p99 = np.percentile(duration_s, [50, 95, 99])
    statistics = {"mean": duration_s.mean(), "max": duration_s.max(), "min": duration_s.min(),
                  "p50": p50, "p95": p95, "p99": p99}  # fmt: skip
    yield from ((f"/step_stats/{name}", float(value)) for name, value in statistics.items())
    yield "/number_of_outliers", int(is_out.sum())
    yield "/phase", TRAIN
    yield "/stddev", round(float(duration_s.std()), 2)
    counts, edges = np.histogram(duration_s[~is_out], bins=100)
    yield from ((f"/probs/{place}", int(count)) for place, count in enumerate(counts))
    yield from ((f"/binedges/{place}", float(edge)) for place, edge in enumerate(edges))
    ascending = sorted(numbers[is_out].tolist())
    yield from ((f"/step_numbers/{place}", str(number)) for place, number in enumerate(ascending))


def phases(parts: Parts) -> Leaves:
    """Share of each phase and of the gaps between steps, summed over the workers."""
    total_ns: Counter[str] = Counter()
    for part in parts:
        steps = part.spans.steps()
        for worker in np.unique(steps.worker):
            series = steps.where(steps.worker == worker)
            for code in np.unique(series.phase):
                phase_ns = series.duration_ns[series.phase == code].sum()
                total_ns[part.spans.phases[code]] += int(phase_ns)
            # The steps of a worker never overlap in these jobs.
            whole_ns = int(series.end_ns.max() - series.start_ns.min())
            total_ns["others"] += whole_ns - int(series.duration_ns.sum())
    return _shares("/Details/phase", total_ns)


def horovod(parts: Parts) -> Leaves:
    """Share of each Horovod activity above 2 %, of those."""
    total_ns: Counter[str] = Counter()
    for part in parts:
        spans = part.spans
        if "horovod_timeline" not in spans.sources:
            continue
        rows = spans.source == spans.sources.index("horovod_timeline")
        for code in np.unique(spans.name[rows]):
            chosen = rows & (spans.name == code)
            total_ns[spans.names[code]] += int(spans.duration_ns[chosen].sum())
    everything = sum(total_ns.values())
    listed = {name: value for name, value in total_ns.items() if value > 0.02 * everything}
    return _shares("/Details/horovod", listed)


def _shares(path: str, total: Any) -> Leaves:
    whole = sum(total.values())
    return {f"{path}/{name}": 100 * value / whole for name, value in total.items()}


def waits(parts: Parts) -> Leaves:
    """Quartiles and histogram of the waits for data alone, without life times of workers."""
    its_s = [
        part.spans.duration_ns[part.spans.in_phases(["DataLoaderIter"])] / 1e9 for part in parts
    ]
    wait_s = np.concatenate(its_s)
    if not wait_s.size:
        return {}
    path = "/Details/dataloading_time"
    names, values = ("p25", "p50", "p95"), np.percentile(wait_s, [25, 50, 95])
    found: Leaves = {
        f"{path}/{name}": float(value) for name, value in zip(names, values, strict=True)
    }
    counts, edges = np.histogram(wait_s, bins=100)
    found |= {f"{path}/probs/{place}": int(count) for place, count in enumerate(counts)}
    return found | {f"{path}/binedges/{place}": float(edge) for place, edge in enumerate(edges)}


def bottlenecks(parts: Parts, *, hot_kind: SeriesKind, hot_pct: float) -> Leaves:
    """Ticks, bottlenecks and what ran at them, each event once with its full length."""
    found: Leaves = {"/Datapoints": sum(part.system.n_ticks for part in parts)}
    moments: list[Any] = []
    for part in parts:
        low = (part.system.matrix(SeriesKind.GPU_UTILIZATION) < 10).sum(axis=1)
        hot = (part.system.matrix(hot_kind) > hot_pct).sum(axis=1)
        at = np.flatnonzero((low > 0) & (hot > 0))
        moments.append(part.system.tick_ns[at])
        for tick in at:
            path = f"/Details/bottlenecks/{int(part.system.tick_ns[tick]) / 10**9}"
            found |= {f"{path}/GPUs": int(low[tick]), f"{path}/CPUs": int(hot[tick])}
    found["/Violations"] = sum(series.size for series in moments)
    return found | _breakdown(parts, moments)


def _breakdown(parts: Parts, moments: Sequence[Any]) -> Leaves:
    general: Counter[str] = Counter()
    device: Counter[str] = Counter()
    operators: dict[str, Counter[str]] = {"CPU_total": Counter(), "GPU_total": Counter()}
    for part, moment_ns in zip(parts, moments, strict=True):
        for name, phase, length_ns in _active(part.spans, moment_ns):
            if "cpu" in phase or "gpu" in phase:
                device[phase] += length_ns
                operators["CPU_total" if "cpu" in phase else "GPU_total"][name] += length_ns
            elif "Step" not in phase and not phase.endswith("SubModuleInternal"):
                general[phase] += length_ns
    found = _shares("/Details/general", general) | _shares("/Details/ratio", device)
    for member, total_ns in operators.items():
        found |= {
            f"/Details/{member}/{name}": round(value / 1000)
            for name, value in total_ns.items()
            if value > 0.02 * sum(total_ns.values())
        }
    return found


def _active(spans: SpanTable, moment_ns: Any) -> Iterator[tuple[str, str, int]]:
    """Yield events that are open at one moment at least."""
    first_after = np.searchsorted(moment_ns, spans.start_ns, side="left")
    last_before = np.searchsorted(moment_ns, spans.end_ns, side="right")
    for row in np.flatnonzero(last_before > first_after):
        name, phase = spans.names[spans.name[row]], spans.phases[spans.phase[row]]
        yield name, phase, int(spans.duration_ns[row])


def balance(parts: Parts) -> Leaves:
    """Minutes and pairs of GPUs of a node whose 50-bin histograms lie more than 0.2 apart."""
    triggered = violations = 0
    found: Leaves = {}
    for part in parts:
        use = part.system.matrix(SeriesKind.GPU_UTILIZATION)
        names = part.system.names(SeriesKind.GPU_UTILIZATION)
        for stop in _minute_stops(part):
            if stop <= 1000 or len(names) < 2:
                continue
            bins = [np.histogram(series, bins=50, range=(0, 100))[0] for series in use[:stop].T]
            far = {
                (one, other): float(jensenshannon(bins[one], bins[other]))
                for one in range(len(names))
                for other in range(one + 1, len(names))
            }
            far = {pair: distance for pair, distance in far.items() if distance > 0.2}
            triggered += bool(far)
            violations += len(far)
            found |= {
                f"/Details/{part.node}/distances/{names[one]}/{names[other]}": distance
                for (one, other), distance in far.items()
            }
    return {"/RuleTriggered": triggered, "/Violations": violations, **found}


def batch_sizes(parts: Parts) -> Leaves:
    """Whiskers of GPU memory from its own quartiles, and the minute of the last violation."""
    found: Leaves = {}
    for part in parts:
        system = part.system
        memory = system.matrix(SeriesKind.GPU_MEMORY)
        last_stop = max(_roomy_stops(part), default=0)
        if not last_stop:
            continue
        last_ns = int(system.tick_ns[last_stop - 1]) // MINUTE_NS * MINUTE_NS
        found["/Details/last_timestamp"] = last_ns // 1000
        for place, name in enumerate(system.names(SeriesKind.GPU_MEMORY)):
            series = memory[:last_stop, place]
            p25, p75 = np.percentile(series, [25, 75])
            path = f"/Details/{part.node}/{name}_memory"
            found[f"{path}/upper"] = float(min(series.max(), p75 + 1.5 * (p75 - p25)))
            found[f"{path}/lower"] = float(max(series.min(), p25 - 1.5 * (p75 - p25)))
    return found


def _roomy_stops(part: NodeProfile) -> Iterator[int]:
    """Yield the ends of the minutes in which CPU, a GPU and its memory all had room."""
    system = part.system
    cpu = system.matrix(SeriesKind.CPU_UTILIZATION).mean(axis=1)
    use = system.matrix(SeriesKind.GPU_UTILIZATION)
    memory = system.matrix(SeriesKind.GPU_MEMORY)
    for stop in _minute_stops(part):
        seen = cpu[:stop][np.isfinite(cpu[:stop])]
        if seen.size <= 1000 or not use.size:
            continue
        p95 = [np.percentile(series[stop - 500 : stop], 95, axis=0) for series in (use, memory)]
        if np.percentile(seen[-500:], 95) < 70 and ((p95[0] < 70) & (p95[1] < 70)).any():
            yield stop


def _minute_stops(part: NodeProfile) -> list[int]:
    """Return how many ticks there are up to the end of each minute."""
    minutes = part.system.tick_ns // MINUTE_NS
    return [int(np.searchsorted(minutes, minute, side="right")) for minute in np.unique(minutes)]
