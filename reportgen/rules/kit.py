"""Building blocks of rules: rows that are tables, messages, parts that merge.

A rule file reads from top to bottom: its words (``About`` and the ``Message`` of each finding), its
parameters, the rows that it measures and shows, ``measure``, ``judge``, ``RULE``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from reportgen.facts.device_busy import Window, WindowKind
from reportgen.merging import concat, merge, merged, sum_by_key
from reportgen.results import (
    LARGEST_PART,
    Cause,
    DashboardPanel,
    Estimate,
    Finding,
    Place,
    Reason,
    ReasonCode,
    Severity,
    Where,
)
from reportgen.results.charts import (
    MOST_BOXES,
    MOST_INTERVALS,
    MOST_LINES,
    Interval,
    boxes,
    floats,
    histogram,
    intervals,
    lane_of,
    ranking,
)
from reportgen.results.rows import col, columns_of, derived, filled_table, row, table
from reportgen.rules.base import param
from reportgen.text import format_ns_range, part_of, write
from reportgen.units import seconds, speedup_at_most

__all__ = [
    "AWS_DEFAULTS", "BOTTLENECKS", "CHEAP_RATIO", "CORES_ALONE", "CRITICAL_FROM_RATIO", "FAR_APART",
    "HOW_TO_RECORD", "MOST_BOXES", "MOST_INTERVALS", "MOST_LINES", "WITHOUT_EVENTS", "Interval",
    "Message", "at_worker", "boxes", "col", "columns_of", "communication_names", "concat",
    "cost_severity", "count", "derived", "estimate_of", "fault_severity", "filled_table", "floats",
    "given", "histogram", "interval", "intervals", "lane_of", "largest", "left_out",
    "low_middle_high", "merge", "merged", "patience", "percentage", "ranking", "reason_lost",
    "reason_to_skip", "reason_without_gpu", "reason_without_steps", "row", "share_limit", "stretch",
    "sum_by_key", "table", "too_few", "too_short", "top_k", "unusual_only", "window", "window_name",
]  # fmt: skip

T = TypeVar("T")
BOTTLENECKS = "Bottlenecks"
"""The card "At a glance" that the three bottleneck rules share."""
MOST_SHOWN = 4
"""More nodes or training processes than this would be a long table at the top of the page."""
CRITICAL_FROM_RATIO = 0.5
"""A fault that may cost half of the time is critical: mending it may double the speed."""
CHEAP_RATIO = 0.045
"""A cost of less than about a twentieth of the loop is no fault: checkpoints, logs and starts of
epochs of a healthy job cost as much, Lightning does 3 % beside steps of 13 ms, and of many steps
with plain random scatter some are always slow."""
FIND_BREAKS = """They run outside of the compiled code: find the graph breaks with
    TORCH_LOGS=graph_breaks."""
"""Advice on what torch.compile fuses, for a model that is compiled."""
CORES_ALONE = """Run the training where no other program uses its cores, or reserve cores for it
    (cgroups, taskset, exclusive nodes)."""
AWS_DEFAULTS = "the defaults of SageMaker's built-in profiler rules (docs/rules.md)"


# Findings


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A finding in words; braces are filled as ``reportgen.text.write`` does.

    Attributes:
        id: of the finding, stable: ``GPU-1``.
        title, text, advice: the finding with its numbers, and the remedy to try.
        severity: where the finding does not say another one.
        unit: of what was measured.
        exhibit: the id of the exhibit that shows it.
        cause: its cause, a word of ``Cause``; ``observation`` accuses nothing.
        possible_causes: causes that are possible where the recording does not show the cause.
    """

    id: str
    title: str
    text: str
    advice: str
    severity: Severity = Severity.INFO
    unit: str = "%"
    exhibit: str | None = None
    cause: str = Cause.OBSERVATION
    possible_causes: tuple[str, ...] = ()

    def finding(
        self,
        *,
        measured: float | None,
        threshold: float | None = None,
        is_crossed: bool = True,
        where: Where | None = None,
        severity: Severity | None = None,
        share: float | None = None,
        exhibit: str | None = None,
        advice: str | None = None,
        **values: object,
    ) -> Finding:
        """Return the finding with its numbers.

        Args:
            measured: the value that was found; rounded to 4 digits in the finding.
            threshold: the limit that it crossed.
            is_crossed: whether it did; a limit that was not crossed is named in the words only.
            where: place and time.
            share: recoverable share of the time in 0-1, an upper bound.
            severity, exhibit, advice: others than the message's.
            **values: the values of the words, in addition to ``measured`` and ``threshold``.
        """
        values = {"measured": measured, "threshold": threshold, **values}
        return Finding(
            id=self.id,
            severity=severity or self.severity,
            title=write(self.title, **values),
            text=write(self.text, **values),
            advice=write(self.advice if advice is None else advice, **values),
            where=where or Where(),
            measured=None if measured is None else round(measured, 4),
            threshold=None if threshold is None or not is_crossed else float(threshold),
            unit=self.unit,
            estimate=estimate_of(share),
            exhibit=exhibit or self.exhibit,
            cause=self.cause,
            possible_causes=self.possible_causes,
        )

    def fault(self, share_pct: float, *, threshold: float, **values: Any) -> Finding:
        """Return the finding that something costs a share of the time, the larger the more severe.

        ``values`` are those of ``finding``.
        """
        share = share_pct / 100
        costs = {"measured": share_pct, "severity": fault_severity(share), "share": share}
        return self.finding(**{**costs, "threshold": threshold, **values})


def left_out(text: str, *, shown: int, every: int) -> str:
    """Return a sentence on how many of all are shown, in words as of ``write``; empty if all."""
    return write(text, shown=shown, every=every) if shown < every else ""


def unusual_only(nouns: str, *, shown: int, every: int) -> str:
    """Return a sentence on what ``many_ranks.unusual`` leaves out; empty if nothing."""
    text = " Of {every:n} %s, only the median one and those that differ most from it are shown."
    return left_out(text % nouns, shown=shown, every=every)


def low_middle_high(items: Sequence[T], key: Callable[[T], float]) -> list[T]:
    """Return those with the highest, the middle and the lowest value, at most four of them.

    Four or fewer items are returned as they are.
    """
    if len(items) <= MOST_SHOWN:
        return list(items)
    ranked = sorted(items, key=key)
    return [ranked[-1], ranked[len(ranked) // 2], ranked[0]]


def fault_severity(recoverable_ratio: float | None) -> Severity:
    """Return how much a fault matters by the share of the time it may cost."""
    if recoverable_ratio is not None and recoverable_ratio >= CRITICAL_FROM_RATIO:
        return Severity.CRITICAL
    return Severity.WARNING


def cost_severity(recoverable_ratio: float | None) -> Severity:
    """Return the same; a cost of less than ``CHEAP_RATIO`` is only a reading."""
    is_cheap = recoverable_ratio is not None and recoverable_ratio < CHEAP_RATIO
    return Severity.INFO if is_cheap else fault_severity(recoverable_ratio)


def estimate_of(recoverable_ratio: float | None) -> Estimate | None:
    """Return the estimate of a recoverable share, ``None`` when there is nothing to win."""
    if recoverable_ratio is None or recoverable_ratio <= 0:
        return None
    share = round(min(recoverable_ratio, 1.0), 6)
    return Estimate(share_ratio=share, speedup_at_most=speedup_at_most(share))


def stretch(node: str | None, device: str | None, start_ns: int, end_ns: int) -> Where:
    """Return the place of a device or a worker, and the time in which something happened there."""
    return Where(node=node, device=device, start_s=seconds(start_ns), end_s=seconds(end_ns))


def at_worker(worker: str, start_ns: int, end_ns: int) -> Where:
    """Return the place of a worker, whose name holds that of its node, and a time there."""
    return stretch(worker.rpartition("-")[0] or None, worker, start_ns, end_ns)


def process_name(worker: str, workers: Iterable[str]) -> str:
    """Return the name of a training process in a title: its node if it is the only one there."""
    node = worker.rpartition("-")[0]
    is_alone = sum(one.rpartition("-")[0] == node for one in {*workers}) == 1
    return node if node and is_alone else worker


def interval(what: str, where: Where) -> Interval:
    """Return detections at a place in a known time, as ``intervals`` shows them."""
    return Interval(
        node=where.node or "",
        device=where.device or "",
        what=what,
        start_s=where.start_s or 0.0,
        end_s=where.end_s or 0.0,
    )


# Parameters of rules that read samples, and whether they saw enough


def percentage(
    default: float,
    meaning: str,
    *,
    unit: str = "%",
    source: str = AWS_DEFAULTS,
    is_printed: bool = True,
) -> Any:
    """Declare a parameter that is a percentage of 0-100."""
    limits = {"minimum": 0, "maximum": 100, "is_printed": is_printed}
    return param(default, unit=unit, meaning=meaning, source=source, **limits)


def count(
    default: int | None,
    meaning: str,
    *,
    unit: str = "samples",
    source: str = AWS_DEFAULTS,
    minimum: int = 1,
    is_printed: bool = True,
) -> Any:
    """Declare a parameter that is a whole number of something; it may be absent if it is so."""
    return param(
        default,
        unit=unit,
        meaning=meaning,
        source=source,
        minimum=minimum,
        is_whole=True,
        may_be_none=default is None,
        is_printed=is_printed,
    )


def given(meaning: str, *, source: str, unit: str = "", **kind: Any) -> Any:
    """Declare a parameter that the user may give; ``kind`` is what ``param`` says of its values."""
    kind |= {"may_be_none": True, "is_printed": False}
    return param(None, unit=unit, meaning=meaning, source=source, **kind)


def patience() -> Any:
    """Declare how many samples must be exceeded before a rule judges."""
    return count(1000, "judge only once more than this many samples exist")


def window(default: int, *, minimum: int = 1) -> Any:
    """Declare how many of the newest samples are looked at."""
    return count(default, "how many of the newest samples are looked at", minimum=minimum)


def reason_to_skip(
    *, n_ticks: int, n_gpus: int | None, n_samples: int, patience: int
) -> Reason | None:
    """Return why a rule that reads samples cannot look, or ``None`` when it can.

    ``n_gpus`` is ``None`` for a rule that needs none, ``n_samples`` that of the node that has most;
    as many as ``patience`` are too few.
    """
    if n_ticks == 0:
        return not_sampled("The use of CPUs, GPUs, memory, disks and network was not sampled.")
    if n_gpus == 0:
        return Reason(code=ReasonCode.NO_GPU, text="The job has no GPU.")
    return None if n_samples > patience else too_short(n_samples, patience=patience)


def not_sampled(text: str) -> Reason:
    """Return the reason not to judge that the monitor sampled nothing of what the rule reads."""
    return Reason(code=ReasonCode.NOT_SAMPLED, text=text)


def too_few(text: str, **values: object) -> Reason:
    """Return the reason not to judge that there are too few samples, in words as of ``write``."""
    return Reason(code=ReasonCode.TOO_FEW_SAMPLES, text=write(text, **values))


def concerning(part: int, whole: int, noun: str, *, more: str = "") -> str:
    """Return the sentence ``This concerns 3 of 4 GPUs.`` behind a space, nothing of the only one.

    ``more`` is what stands behind the number.
    """
    return "" if whole == 1 else f" This concerns {part_of(part, whole, noun)}{more}."


def too_short(n_samples: int, *, patience: int) -> Reason:
    """Return the reason not to judge that there are no more samples than ``patience``."""
    return too_few(
        "Too few to judge: {n_samples:count sample} of the machines' utilization; this check "
        "needs more than {patience:n}.",
        n_samples=n_samples,
        patience=patience,
    )


HOW_TO_RECORD = (
    "Switch on framework profiling, run the job with reportgen record, or import a trace to get "
    "this part."
)
WITHOUT_EVENTS = Reason(
    code=ReasonCode.NO_FRAMEWORK_METRICS, text=f"The job has no framework events. {HOW_TO_RECORD}"
)


def reason_without_steps(n_events: int, n_steps: int) -> Reason | None:
    """Return why a rule about steps cannot look: no framework events, or none that is a step."""
    if n_events == 0:
        return WITHOUT_EVENTS
    if n_steps == 0:
        text = write("No training step is among {n:count framework event}.", n=n_events)
        return Reason(code=ReasonCode.NO_STEPS, text=text)
    return None


# Rules that read kernel traces

TOP = 15
"""So many of the largest are shown one by one, as SageMaker Profiler's dashboards do; the tables
are complete."""
FAR_APART = " The recordings are far apart, so all are drawn from the start of the first."


def top_k() -> Any:
    """Declare how many of the largest are shown one by one."""
    return param(
        TOP,
        unit="",
        meaning="how many of the largest are shown one by one; the rest is one sector",
        source="SageMaker Profiler's dashboards show 15",
        minimum=1,
        maximum=1000,
        is_whole=True,
    )


def share_limit(default: float, meaning: str) -> Any:
    """Declare a threshold: the share of the window above which something is reported."""
    source = "chosen: a smaller share is hardly worth the effort to win it back"
    return param(default, unit="%", meaning=meaning, source=source, minimum=0, maximum=100)


def communication_names() -> Any:
    """Declare which names of kernels are communication besides those that are known."""
    return given(
        "kernels whose name this regular expression finds, case ignored, are communication too",
        source="docs/definitions.md, Communication kernels",
        is_pattern=True,
    )


def reason_without_gpu(n_ops: int) -> Reason | None:
    """Return why a rule about GPU operations cannot look, ``None`` when there are any."""
    text = "The trace holds no GPU operations."
    return None if n_ops else Reason(code=ReasonCode.NO_GPU, text=text)


def reason_lost(nodes: Sequence[str]) -> Reason:
    """Return why nothing is said of ranks whose graphs lack kernels in the recording."""
    text = "Kernels inside the CUDA graphs of {nodes:names} are missing in the recording (ACT-5)."
    return Reason(code=ReasonCode.NO_EVENTS, text=write(text, nodes=nodes))


def largest(order: int, **panel: Any) -> Place:
    """Return the place of a chart in the dashboard, headed by its largest part.

    ``panel`` is what else ``DashboardPanel`` knows.
    """
    return Place(
        dashboard=DashboardPanel(order=order, headline=LARGEST_PART, row_of="pct", **panel)
    )


def window_name(windows: Sequence[Window]) -> str:
    """Name the windows of some ranks, at least one, and their length, or the range of lengths."""
    steps, gpu = "the recorded steps", "the time from the first to the last GPU operation"
    names = {WindowKind.STEPS: steps, WindowKind.GPU: gpu}
    kinds = {item.kind for item in windows}
    name = names[kinds.pop()] if len(kinds) == 1 else "each rank's window"
    return f"{name} ({format_ns_range([item.length_ns for item in windows])})"
