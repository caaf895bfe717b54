"""Saved reports made by hand: realistic, with every kind of exhibit, and hostile ones."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from reportgen.profiler_config import Profiling
from reportgen.report import (
    DataQuality,
    JobHeader,
    JobSummary,
    QualityNote,
    Report,
    RuleEntry,
    rank_findings,
)
from reportgen.results import (
    Counters,
    Estimate,
    Exhibit,
    ExhibitKind,
    Finding,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Severity,
    Status,
    Where,
    exhibit,
)
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.runner import with_about

START_S = 1_783_071_000.0
DURATION_S = 3_600.0
N_POINTS = 660


def declared(result: RuleResult) -> RuleResult:
    """Return a result with the words and places of the rule of its name."""
    rule = next((rule for rule in BUILTIN_RULES if rule.id == result.id), None)
    return with_about(result, rule) if rule else result


def drawn(
    kind: ExhibitKind,
    *columns: tuple[str, str, Sequence[Any]],
    exhibit_id: str = "t",
    title: str = "T",
) -> Exhibit:
    """Return an exhibit of hand-made columns: (name, unit, values)."""
    return exhibit(exhibit_id, kind, title=title, columns=columns)


def table(*columns: tuple[str, str, Sequence[Any]], **named: str) -> Exhibit:
    """Return a table of hand-made columns."""
    return drawn(ExhibitKind.TABLE, *columns, **named)


def times(n_points: int = N_POINTS) -> list[float]:
    """Return instants spread over the job."""
    return [START_S + DURATION_S * at / n_points for at in range(n_points)]


def band(
    exhibit_id: str, title: str, lines: dict[str, tuple[float, float]], unit: str = "%"
) -> Exhibit:
    """Return a band of noisy lines, each (level, swing), with a hole of one minute."""
    noise = random.Random(exhibit_id)
    instants = times()
    columns: list[tuple[str, str, list[float | None]]] = [("time_s", "s", list(instants))]
    for name, (level, swing) in lines.items():
        mean: list[float | None] = []
        low: list[float | None] = []
        high: list[float | None] = []
        for at in range(len(instants)):
            if 300 <= at < 311:
                mean.append(None)
                low.append(None)
                high.append(None)
                continue
            value = level + swing * math.sin(at / 24) + noise.uniform(-swing, swing) / 3
            top = 100.0 if unit == "%" else math.inf
            value = min(max(value, 0.0), top)
            mean.append(round(value, 2))
            low.append(round(max(value - noise.uniform(0, swing), 0.0), 2))
            high.append(round(min(value + noise.uniform(0, swing), top), 2))
        columns += [(f"{name}_min", unit, low), (f"{name}_mean", unit, mean)]
        columns += [(f"{name}_max", unit, high)]
    return exhibit(
        exhibit_id,
        ExhibitKind.BAND,
        title=title,
        caption="Thinned from 7,200 to 660 points; the shade keeps minimum and maximum.",
        columns=columns,
    )


def usage_table(nodes: tuple[str, ...] = ("algo-1",)) -> Exhibit:
    """Return the table of OverallSystemUsage."""
    rows = [
        (node, metric, unit, *numbers)
        for node in nodes
        for metric, unit, numbers in (
            ("GPU", "%", (98.0, 92.4, 74.0, 41.2, 0.0)),
            ("CPU", "%", (100.0, 99.1, 97.5, 61.3, 2.1)),
            ("CPU memory", "%", (44.1, 44.0, 43.9, 41.0, 12.2)),
            ("GPU memory", "%", (61.0, 55.0, 51.2, 22.0, 0.0)),
            ("I/O", "%", (31.0, 18.2, 9.1, 0.4, 0.0)),
            ("Network", "bytes/s", (98_400_000.0, 61_200_000.0, 12_000_000.0, 1_200.0, 0.0)),
        )
    ]
    names = ("node", "metric", "unit", "max", "p99", "p95", "p50", "min")
    return exhibit(
        "usage",
        ExhibitKind.TABLE,
        title="Use of each resource",
        caption="Percent of what the node has; network in bytes per second.",
        columns=[(name, "", [row[at] for row in rows]) for at, name in enumerate(names)],
    )


def heatmap(rows: int = 4, cells: int = 120) -> Exhibit:
    """Return a heat map of GPU utilization."""
    noise = random.Random("heat")
    names, instants, values = [], [], []
    for row in range(rows):
        for cell in range(cells):
            names.append(f"algo-{row // 4 + 1} gpu{row % 4}")
            instants.append(START_S + DURATION_S * cell / cells)
            is_gap = row == 1 and 40 <= cell < 46
            idle = (cell // 10) % 3 == row % 3
            values.append(None if is_gap else round(noise.uniform(0, 12) + 80 * (not idle), 1))
    return exhibit(
        "heat",
        ExhibitKind.HEATMAP,
        title="GPU utilization per device over time",
        caption="Dark is busy; blank cells were not measured.",
        columns=[("row", "", names), ("time_s", "s", instants), ("gpu_pct", "%", values)],
    )


def roofline() -> Exhibit:
    """Return a roofline of two products and one that has no place on it."""
    columns: list[tuple[str, str, list[object]]] = [
        ("name", "", ["aten::mm [8,8]", "aten::bmm [4,4]", "aten::mm [0,8]"]),
        ("group", "", ["matrix products"] * 3),
        ("format", "", ["BF16", "FP32", "BF16"]),
        ("flop_per_byte", "FLOP/B", [600.0, 0.5, 0.0]),
        ("tflops_per_s", "TFLOP/s", [494.7, 0.01, 0.0]),
        ("time_us", "us", [800.0, 8.0, 2.0]),
        ("peak_tflops_per_s", "TFLOP/s", [989.4, 67.0, 989.4]),
        ("memory_gb_per_s", "GB/s", [3350.0, None, 3350.0]),
    ]
    return exhibit("roofline", ExhibitKind.ROOFLINE, title="x", columns=columns)


def histogram(exhibit_id: str, title: str, groups: dict[str, float], unit: str = "%") -> Exhibit:
    """Return a histogram whose groups peak at the given values."""
    n_bins, width = 50, 2.0 if unit == "%" else 0.004
    starts = [round(at * width, 6) for at in range(n_bins)]
    columns: list[tuple[str, str, list[float] | list[int]]] = [
        ("bin_start", unit, starts),
        ("bin_end", unit, [round(start + width, 6) for start in starts]),
    ]
    for name, peak in groups.items():
        counts = [int(600 * math.exp(-(((start - peak) / (6 * width)) ** 2))) for start in starts]
        columns.append((name, "", counts))
    return exhibit(exhibit_id, ExhibitKind.HISTOGRAM, title=title, columns=columns)


def boxes(exhibit_id: str, title: str, names: tuple[str, ...]) -> Exhibit:
    """Return boxes of percentages."""
    return exhibit(
        exhibit_id,
        ExhibitKind.BOXES,
        title=title,
        caption="Box: middle half; line: median; whiskers: 1.5 times the box, within the data.",
        columns=[
            ("name", "", names),
            ("lower", "%", [2.0 + at for at in range(len(names))]),
            ("p25", "%", [22.0 + 3 * at for at in range(len(names))]),
            ("p50", "%", [41.2 + 3 * at for at in range(len(names))]),
            ("p75", "%", [58.0 + 3 * at for at in range(len(names))]),
            ("upper", "%", [96.0] * len(names)),
            ("p95", "%", [74.0 + at for at in range(len(names))]),
        ],
    )


def shares(exhibit_id: str, title: str, parts: dict[str, float]) -> Exhibit:
    """Return shares of seconds; percentages add up to 100."""
    total = sum(parts.values())
    return drawn(
        ExhibitKind.SHARES,
        ("part", "", list(parts)),
        ("duration_s", "s", list(parts.values())),
        ("pct", "%", [round(100 * part / total, 1) for part in parts.values()]),
        exhibit_id=exhibit_id,
        title=title,
    )


def operators(exhibit_id: str, title: str, n_rows: int = 26) -> Exhibit:
    """Return bars of operator times."""
    names = ["aten::convolution", "aten::_convolution", "aten::cudnn_convolution_backward_weight"]
    names += [f"aten::operator_{at}" for at in range(n_rows - 3)]
    return drawn(
        ExhibitKind.BARS,
        ("name", "", names),
        ("total_us", "us", [46_100_000.0 / (at + 1) for at in range(n_rows)]),
        ("pct", "%", [round(31.0 / (at + 1), 2) for at in range(n_rows)]),
        ("count", "", [12_000 - 13 * at for at in range(n_rows)]),
        exhibit_id=exhibit_id,
        title=title,
    )


def spans(exhibit_id: str, title: str) -> Exhibit:
    """Return intervals on two lanes."""
    starts = [START_S + 200 * at for at in range(16)]
    return drawn(
        ExhibitKind.SPANS,
        ("lane", "", [f"algo-{at % 2 + 1}" for at in range(16)]),
        ("name", "", ["bottleneck"] * 16),
        ("start_s", "s", starts),
        ("end_s", "s", [start + 4 + 5 * (at % 7) for at, start in enumerate(starts)]),
        exhibit_id=exhibit_id,
        title=title,
    )


def steps_series() -> Exhibit:
    """Return step durations with outliers marked."""
    noise = random.Random("steps")
    instants = times(900)
    duration = [round(0.09 + noise.uniform(-0.01, 0.01), 5) for _ in instants]
    outlier: list[float | None] = [None] * 900
    for at in range(49, 900, 50):
        duration[at] = outlier[at] = round(0.31 + noise.uniform(0, 0.05), 5)
    return exhibit(
        "steps",
        ExhibitKind.SERIES,
        title="Every 50th step is three times as long as the others",
        caption="All 900 steps.",
        columns=[
            ("time_s", "s", instants),
            ("step_duration_s", "s", duration),
            ("outlier_s", "s", outlier),
            ("threshold_s", "s", [0.21] * 900),
        ],
    )


def steps_table(n_rows: int = 120) -> Exhibit:
    """Return a long table of steps, one column of instants."""
    return drawn(
        ExhibitKind.TABLE,
        ("worker", "", [f"algo-{at % 2 + 1}-27" for at in range(n_rows)]),
        ("step", "", [50 * at + 49 for at in range(n_rows)]),
        ("start_s", "s", [START_S + 30 * at for at in range(n_rows)]),
        ("duration_s", "s", [0.31 + at / 1000 for at in range(n_rows)]),
        ("factor", "", [round(3.1 + at / 100, 2) for at in range(n_rows)]),
        exhibit_id="outliers",
        title="Outlier steps",
    )


def finding(
    finding_id: str, severity: Severity, title: str, *, share: float | None = None, **more: object
) -> Finding:
    """Return a finding on algo-1."""
    estimate = (
        None
        if share is None
        else Estimate(share_ratio=share, speedup_at_most=round(1 / (1 - share), 2))
    )
    defaults: dict[str, object] = {
        "text": "Its 95th percentile over the last 500 samples stayed below the threshold in "
        "49 of 58 minutes, while a CPU core was above 90 % most of the time.",
        "advice": "Give the data loader more worker processes, then look again at this section.",
        "where": Where(node="algo-1", device="gpu0", start_s=START_S + 21.5, end_s=START_S + 660.0),
    }
    return Finding(
        id=finding_id,
        severity=severity,
        title=title,
        estimate=estimate,
        **{**defaults, **more},  # type: ignore[arg-type]  # a builder's shorthand
    )


def measured(
    finding_id: str,
    severity: Severity,
    title: str,
    exhibit_id: str,
    against: tuple[float, float | None],
    *,
    unit: str = "%",
    share: float | None = None,
) -> Finding:
    """Return a finding with what was measured and its threshold."""
    value, threshold = against
    more = {"measured": value, "threshold": threshold, "unit": unit, "exhibit": exhibit_id}
    return finding(finding_id, severity, title, share=share, **more)


def result(
    rule_id: str,
    status: Status,
    *,
    exhibits: tuple[Exhibit, ...] = (),
    findings: tuple[Finding, ...] = (),
    counters: tuple[int, int, int] = (0, 0, 7_200),
    reason: Reason | None = None,
    metrics: dict[str, float | int | None] | None = None,
) -> RuleResult:
    """Return a result with the rule's own words."""
    triggered, violations, datapoints = counters
    made = RuleResult(
        id=RuleId(rule_id),
        status=status,
        reason=reason,
        counters=Counters(rule_triggered=triggered, violations=violations, datapoints=datapoints),
        rule_parameters="threshold:50\npatience:1000",
        params={"threshold": 50, "patience": 1000, "mode": None},
        metrics=metrics or {},
        findings=findings,
        exhibits=exhibits,
    )
    return declared(made)


def skipped(rule_id: str, code: ReasonCode, text: str) -> RuleResult:
    """Return a result of a rule that could not look."""
    return result(rule_id, Status.SKIPPED, reason=Reason(code=code, text=text), counters=(0, 0, 0))


def report_of(
    results: tuple[RuleResult, ...],
    *,
    name: str = "resnet50-imagenet-2026-07-03",
    clock: str = "unix",
    summary: JobSummary | None = None,
    quality: DataQuality | None = None,
    nodes: tuple[str, ...] = ("algo-1", "algo-2"),
    profiling: Profiling | None = None,
) -> Report:
    """Return a report of results, findings ranked as in the pipeline."""
    return Report(
        report_id="5f1c0ffee0ddba11",
        job=JobHeader(name=name, source=f"s3://bucket/{name}/profiler-output", clock=clock),
        summary=summary or JobSummary(),
        nodes=nodes,
        sampling_interval_ms=500,
        findings=rank_findings(results),
        rules={
            item.id: RuleEntry(status=item.status, reason=item.reason, file=f"{item.id}.json")
            for item in results
        },
        data_quality=quality or DataQuality(counters={"files_read": 60, "lines_broken": 0}),
        versions={"make-profiler-report": "0.1.0", "duckdb": "2.0.0", "numpy": "2.4.6"},
        profiling=profiling,
        results={item.id: item for item in results},
    )


SUMMARY = JobSummary(
    start_time="2026-07-03T09:30:00.000000Z",
    end_time="2026-07-03T10:30:00.250000Z",
    job_duration_in_seconds=3600.25,
    training_loop_start="2026-07-03T09:36:00.000000Z",
    training_loop_end="2026-07-03T10:28:12.000000Z",
    training_loop_duration_in_seconds=3132.0,
    initialization_in_seconds=360.0,
    finalization_in_seconds=108.25,
    initialization_pct=10.0,
    training_loop_pct=87.0,
    finalization_pct=3.0,
)


def busy_report() -> Report:
    """Return the report of a two-node job with an input bottleneck: every kind of exhibit."""
    two_gpus = {"gpu0": (45.0, 30.0), "gpu1": (40.0, 25.0)}
    traffic = {"receive": (4e7, 3e7), "transmit": (2e6, 1e6)}
    usage = (
        usage_table(("algo-1", "algo-2")),
        band("gpu", "GPU utilization over time", two_gpus),
        band("cpu", "CPU utilization over time", {"algo-1": (80, 15)}),
        band("network", "Network over time", traffic, "bytes/s"),
        heatmap(8),
        band("gpu_over_time", "GPU utilization over time", two_gpus),
        band("cpu_over_time", "CPU utilization over time", {"algo-1": (80, 15)}),
    )
    phases = {"Step:ModeKeys.TRAIN": 2100.0, "Step:ModeKeys.EVAL": 310.5, "others": 722.0}
    events = {"DataLoaderIter": 800.0, "DataLoaderWorker": 640.0, "Forward": 300.0}
    events |= {f"Event {at}": 3.0 - at / 10 for at in range(9)}
    framework = (
        shares("phase", "Phases of training", phases),
        shares("general", "General framework events", events),
        operators("cpu_operators", "Operators on the CPU"),
        operators("gpu_operators", "Operators on the GPU", 12),
    )
    by_worker = {"algo-1-27": 0.09, "algo-2-27": 0.11}
    steps = (
        steps_series(),
        histogram("durations", "Step durations per worker", by_worker, "s"),
        steps_table(),
    )
    room = ("algo-1 cpu", "algo-1 gpu0", "algo-1 gpu0 memory")
    of_gpus = {f"gpu{at}": 30.0 + 12 * at for at in range(4)}
    ticks = {"GPU busy": 4_100.0, "GPU idle, CPU calm": 724.0, "bottleneck": 2_376.0}
    bottlenecks = (
        shares("ticks", "A third of all samples is a CPU bottleneck", ticks),
        spans("intervals", "When the GPUs waited for the CPU"),
    )
    info, warning, critical = Severity.INFO, Severity.WARNING, Severity.CRITICAL
    reading = "aten::convolution takes most operator time"
    rhythm = "Every 50th step takes three times as long"
    waiting = "The GPUs wait for the CPU in a third of the time"
    every = (
        measured("SYS-2", info, "GPUs wait while the CPU is busy", "gpu", (74.0, 70.0)),
        measured("FW-3", info, reading, "gpu_operators", (31.0, None)),
        measured("STEP-1", warning, rhythm, "steps", (0.313, 0.21), unit="s", share=0.05),
        measured("GPU-1", warning, "gpu0 on algo-1 is hardly used", "utilization", (41.2, 70.0)),
        measured("CPU-1", critical, waiting, "intervals", (33.0, 50.0), share=0.33),
    )
    found = {item.id: item for item in every}
    results = (
        result(
            "OverallSystemUsage", Status.OK, exhibits=usage, findings=(found["SYS-2"],),
            metrics={"gpu_p95_pct": 74.0, "network_p95_bytes_per_s": 12_000_000.0},
        ),
        result(
            "OverallFrameworkMetrics", Status.OK, exhibits=framework, findings=(found["FW-3"],),
            counters=(0, 0, 0),
        ),
        result("MaxInitializationTime", Status.OK, counters=(0, 0, 900)),
        result(
            "StepOutlier", Status.TRIGGERED, exhibits=steps, findings=(found["STEP-1"],),
            counters=(4, 44, 900),
        ),
        result(
            "LowGPUUtilization", Status.TRIGGERED, counters=(49, 49, 7_200),
            exhibits=(boxes("utilization", "Utilization of each GPU", ("gpu0", "gpu1")),),
            findings=(found["GPU-1"],), metrics={"gpu_busy_ratio": 0.61, "gpu_p95_pct": 41.2},
        ),
        result(
            "LoadBalancing", Status.OK,
            exhibits=(histogram("workloads", "Distribution of utilization", of_gpus),),
        ),
        skipped("Dataloader", ReasonCode.NO_EVENTS, "No data-loader events were recorded."),
        result(
            "BatchSize", Status.OK, exhibits=(boxes("head_room", "Use of each resource", room),)
        ),
        result(
            "CPUBottleneck", Status.TRIGGERED, exhibits=bottlenecks, findings=(found["CPU-1"],),
            counters=(11, 2_376, 7_200), metrics={"bottleneck_ratio": 0.33, "n_bottlenecks": 2376},
        ),
        skipped(
            "IOBottleneck", ReasonCode.TOO_FEW_SAMPLES,
            "Too short to judge: 870 samples, more than 1,000 are needed.",
        ),
        result(
            "GPUMemoryIncrease", Status.FAILED,
            reason=Reason(code=ReasonCode.ERROR, text="The rule broke: ValueError: no window"),
        ),
        *(result(name, Status.OK) for name in ("GPUTimeBudget", "NetworkBottleneck")),
        result("PythonFunctions", Status.OK),
        result(
            "PacketLoss", Status.OK,
            exhibits=(table(("node", "", []), ("start_s", "s", []), ("end_s", "s", [])),),
        ),
    )  # fmt: skip
    notes = tuple(
        QualityNote(text=f"Line {at} is no JSON and was skipped.", path=f"system/{at}.json")
        for at in range(30)
    )
    counters = {
        "files_read": 60, "files_skipped": 1, "lines_broken": 30, "values_broken": 0,
        "lines_duplicate": 4, "bytes_lost": 1_555,
    }  # fmt: skip
    quality = DataQuality(
        counters=counters, notes=(*notes, QualityNote(text="No end marker was found."))
    )
    return report_of(results, summary=SUMMARY, quality=quality)


def crowded_report(n_nodes: int = 5, n_gpus: int = 8) -> Report:
    """Return the report of a job with a finding, a box and a row of a table for each GPU."""
    gpus = [(f"algo-{node + 1}", f"gpu{gpu}") for node in range(n_nodes) for gpu in range(n_gpus)]
    found = tuple(
        finding(
            f"GPU-{at + 1}",
            Severity.WARNING,
            f"{device} of {node} is hardly used",
            share=0.3 - at / 10_000,
            where=Where(node=node, device=device, start_s=START_S, end_s=START_S + 60),
            exhibit="utilization",
        )
        for at, (node, device) in enumerate(gpus)
    )
    names = tuple(f"{node} {device}" for node, device in gpus)
    results = (
        result(
            "LowGPUUtilization",
            Status.TRIGGERED,
            exhibits=(boxes("utilization", "Utilization of each GPU", names), heatmap(len(gpus))),
            findings=found,
        ),
        result("StepOutlier", Status.OK, exhibits=(steps_table(2_000),)),
    )
    nodes = tuple(dict.fromkeys(node for node, _ in gpus))
    return report_of(results, summary=SUMMARY, nodes=nodes)


def healthy_report() -> Report:
    """Return the report of a job without faults in which every check looked."""
    results = (
        result(
            "OverallSystemUsage",
            Status.OK,
            exhibits=(usage_table(), band("gpu", "GPU utilization", {"gpu0": (90, 6)})),
            findings=(finding("SYS-3", Severity.INFO, "The GPU is well used", exhibit="gpu"),),
        ),
        result("LowGPUUtilization", Status.OK),
        result("CPUBottleneck", Status.OK),
    )
    return report_of(results, summary=SUMMARY, nodes=("algo-1",))


def short_report() -> Report:
    """Return the report of a job that is too short and has no GPU: nobody could look."""
    results = (
        skipped("LowGPUUtilization", ReasonCode.NO_GPU, "The job has no GPU."),
        skipped("StepOutlier", ReasonCode.NO_STEPS, "No steps were recorded."),
    )
    return report_of(results, nodes=("algo-1",))


RIGHT_TO_LEFT = "\"שלום\" 🚀 'مرحبا' & <b>\u2066node\u2069"
HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\u202eevil"


def hostile_report() -> Report:
    """Return a report in which every name tries to be markup, and some are very long."""
    name = HOSTILE
    long_name = "kernel_" + "x" * 10_000
    results = (
        RuleResult(
            id=RuleId(name[:40]),
            status=Status.TRIGGERED,
            reason=None,
            counters=Counters(rule_triggered=1),
            params={name: name},
            metrics={name: 1.0},
            findings=(
                finding(
                    name,
                    Severity.WARNING,
                    name,
                    text=name,
                    advice=name,
                    where=Where(node=name, device=name),
                    exhibit=name,
                    unit=name,
                    measured=1.0,
                ),
            ),
            exhibits=(
                exhibit(
                    name,
                    ExhibitKind.SERIES,
                    title=name,
                    caption=name,
                    columns=[("time_s", "s", times(40)), (name, name, [1.0] * 40)],
                ),
                boxes("boxes", name, (name, long_name, long_name + "y")),
                shares("shares", name, {name: 3.0, long_name: 2.0}),
                operators("bars", name, 4),
                table((name, "", [name, long_name, RIGHT_TO_LEFT]), exhibit_id="table", title=name),
                spans("spans", name),
            ),
        ),
    )
    return report_of(
        results,
        name=name,
        nodes=(name, long_name, RIGHT_TO_LEFT),
        quality=DataQuality(counters={"files_read": 1}, notes=(QualityNote(text=name, path=name),)),
    )
