"""OverallSystemUsage: how much of each node's resources was used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from reportgen import results
from reportgen.rules import kit
from reportgen.rules.aws.aws_overall_system_usage import (
    DECIMALS,
    Quantity,
    UsageRow,
    details_of,
    usage_rows,
    usage_tables,
)
from reportgen.rules.base import About, Need, NoParams, Outcome, Rule
from reportgen.rules.kit import col, derived, row
from reportgen.rules.overall_system_usage.cores import crowded, short_of_work
from reportgen.rules.overall_system_usage.measure import NodeUsage, SampledTime, measure
from reportgen.rules.overall_system_usage.tables import Totals, exhibits_of, totals_of
from reportgen.text import join_names
from reportgen.units import NS_PER_S

ABOUT = About(
    checks="How much of GPU, CPU, memory, I/O and network each node used.",
    reading="""For each sample, the mean over the cores (CPU, I/O wait) or over the GPUs (GPU, GPU
        memory) of a node is taken first; medians and percentiles are those of these means. Network
        is the data that the training container received and sent. GPU memory is the activity of the
        memory controller, not the allocated memory.""",
    advice="""Choose the instance by the resource that is fully used; you also pay for the others,
        used or not.""",
    section=results.Section(id="system-usage", title="System usage", order=10),
    at_a_glance=(
        results.AtAGlance(
            card="Utilization percentiles",
            order=20,
            exhibits=("percentiles",),
            missing="""Record system metrics (for example with reportgen record) to see how much
                of GPU, CPU, memory, I/O and network was used.""",
            is_only_here=True,
        ),
    ),
    has_counters=True,
)
NOT_SAMPLED = kit.Message(
    id="SYS-7",
    title="{node} was not sampled for {lost_ns:ns} of the job",
    text="""There are no samples of {node} in {measured:pct} of the time from the first to the last
        sample of the job: in {n_intervals:count interval}, the longest of {longest.length_ns:ns}
        {longest.part}.{concerned} This time is unknown and is not counted.""",
    advice="""Unless profiling was paused on purpose, look in the job's log for a restart, an
        interruption or a node that stopped; compare the clocks of the nodes.""",
    exhibit="not_sampled",
)
IDLE_BELOW_PCT = 70.0
"""A resource whose 95th percentile stays below this is named as idle."""
LATE, PAUSE, LOST = "before its first sample", "between its samples", "after its last sample"


@row
class Absence:
    """An interval of the job in which a node was not sampled."""

    node: str = col()
    part: str = col()
    start_ns: int = col("s", name="start_s", per=NS_PER_S)
    end_ns: int = col("s", name="end_s", per=NS_PER_S)
    length_ns: int = derived(
        lambda absence: absence.end_ns - absence.start_ns, "s", name="duration_s", per=NS_PER_S
    )


def judge(nodes: Sequence[NodeUsage], _params: NoParams) -> Outcome:
    """Write down the statistics of every node and read them."""
    details = details_of({node.node: node.statistics for node in nodes})
    n_ticks = sum(node.n_ticks for node in nodes)
    n_samples = max((node.n_cpu_samples for node in nodes), default=0)
    lows: dict[tuple[str, str], float] = {
        (node.node, quantity.value): round(statistics["p5"], DECIMALS)
        for node in nodes
        for quantity, statistics in node.statistics.items()
    }
    rows, totals = usage_rows(details, lows), totals_of(nodes)
    recordings = {node.node: node.recording for node in nodes if node.recording}
    absences = _absences(recordings) if rows else []
    return Outcome(
        missing=kit.reason_to_skip(n_ticks=n_ticks, n_gpus=None, n_samples=n_ticks, patience=0),
        counters=results.Counters(datapoints=n_samples),
        details=details,
        findings=[
            _not_sampled(absences, recordings) if absences else None,
            short_of_work([node.cores for node in nodes if node.cores]),
            crowded([node.crowd for node in nodes if node.crowd]),
        ],
        exhibits=[*_tables(rows, absences), *exhibits_of(nodes, totals)] if rows else (),
        metrics=_metrics(nodes, totals),
    )


def _metrics(nodes: Sequence[NodeUsage], totals: Totals) -> dict[str, float | int | None]:
    found: dict[str, float | int | None] = {}
    for name, quantity, unit, statistics in (
        ("gpu", Quantity.GPU, "pct", ("mean", "p95")),
        ("gpu_memory", Quantity.GPU_MEMORY, "pct", ("mean",)),
        ("cpu", Quantity.CPU, "pct", ("mean", "p95")),
        ("io_wait", Quantity.IO_WAIT, "pct", ("mean",)),
        ("host_memory", Quantity.HOST_MEMORY, "pct", ("max",)),
        ("network", Quantity.NETWORK, "bytes_per_s", ("mean", "max")),
    ):
        known = [of_node for node in nodes if (of_node := node.statistics.get(quantity))]
        for statistic in statistics if known else ():
            join = max if statistic == "max" else fmean
            value = join([of_node[statistic] for of_node in known])
            found[f"{name}_{statistic}_{unit}"] = round(value, 4)
    waiting = [cores for node in nodes if (cores := node.waiting_cores) is not None]
    if waiting:  # one reader keeps one core waiting, however many there are
        found["io_wait_one_core_pct"] = round(100 * max(waiting), 4)
    for role, total in totals.items():
        if n_samples := total.job.n_samples:
            found[f"{role}_samples"] = n_samples
            found[f"{role}_zero_ratio"] = round(total.job.n_zero / n_samples, 6)
            found[f"{role}_below_50_ratio"] = round(total.job.n_below_half / n_samples, 6)
    return found


def _tables(rows: Sequence[UsageRow], absences: Sequence[Absence]) -> Iterator[results.Exhibit]:
    yield from usage_tables(rows, remark=_idle(rows))
    title = "When nodes were not sampled"
    caption = """Intervals longer than 3 minutes and 5 samples, between the first and the last
        sample of the job."""
    yield from kit.filled_table("not_sampled", absences, Absence, title=title, caption=caption)


def _idle(rows: Sequence[UsageRow]) -> str:
    """Return a sentence on the nodes whose GPUs or CPU are idle even at their 95th percentile."""
    places = []
    for metric in (Quantity.GPU, Quantity.CPU):
        nodes = [item.node for item in rows if item.metric == metric]
        idle = [item.node for item in rows if item.metric == metric and item.p95 < IDLE_BELOW_PCT]
        if idle:
            is_everywhere = len(idle) == len(nodes) > 1
            where = "all nodes" if is_everywhere else join_names(idle, most=4)
            places.append(f"{metric} on {where}")
    limit = f"95th percentile below {IDLE_BELOW_PCT:g} %"
    return f" Idle resources ({limit}): {'; '.join(places)}." if places else ""


def _absences(recordings: Mapping[str, SampledTime]) -> list[Absence]:
    first_ns = min(sampled.first_ns for sampled in recordings.values())
    last_ns = max(sampled.last_ns for sampled in recordings.values())
    return [
        Absence(node=node, part=part, start_ns=start_ns, end_ns=end_ns)
        for node, sampled in recordings.items()
        for part, start_ns, end_ns in (
            (LATE, first_ns, sampled.first_ns),
            *((PAUSE, *pause) for pause in sampled.pauses),
            (LOST, sampled.last_ns, last_ns),
        )
        if end_ns - start_ns > sampled.least_ns
    ]


def _not_sampled(
    absences: Sequence[Absence], recordings: Mapping[str, SampledTime]
) -> results.Finding:
    first_ns = min(sampled.first_ns for sampled in recordings.values())
    whole_ns = max(sampled.last_ns for sampled in recordings.values()) - first_ns
    lost_ns = kit.sum_by_key([{item.node: item.length_ns} for item in absences])
    worst = max(lost_ns, key=lambda node: lost_ns[node])
    of_node = [item for item in absences if item.node == worst]
    longest = max(of_node, key=lambda item: item.length_ns)
    return NOT_SAMPLED.finding(
        measured=100 * lost_ns[worst] / whole_ns,
        where=kit.stretch(worst, None, longest.start_ns, longest.end_ns),
        node=worst,
        lost_ns=lost_ns[worst],
        n_intervals=len(of_node),
        longest=longest,
        concerned=kit.concerning(len(lost_ns), len(recordings), "node"),
    )


def _curves(title: str, order: int) -> results.Place:
    """Return the place of curves that are in the timeline alone; 20 are the steps there."""
    track = results.TimelineTrack(
        kind=results.Track.PANEL, title=title, order=order, is_only_here=True
    )
    return results.Place(timeline=track)


RULE = Rule(
    id=results.RuleId("OverallSystemUsage"),
    title="System usage",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=NoParams,
    measure=measure,
    judge=judge,
    folded=("sample_counts",),
    places={
        "device_heatmap": results.Place(
            timeline=results.TimelineTrack(kind=results.Track.BELOW, is_only_here=True)
        ),
        "gpu_over_time": _curves("GPU utilization", 10),
        "gpu_memory_over_time": _curves("GPU memory activity", 30),
        "cpu_over_time": _curves("CPU utilization, mean of the cores", 40),
        "io_wait_over_time": _curves("I/O wait, mean of the cores", 50),
        "host_memory_over_time": _curves("Host memory", 60),
        "network_over_time": _curves("Network", 70),
        "disk_over_time": _curves("Disk", 80),
        "disk_operations_over_time": _curves("Disk operations", 90),
    },
)
