"""A comparison of two reports: plain values, the interface between numbers and the page."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Whether a change helped."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no_difference"
    NOT_COMPARABLE = "not_comparable"


class FindingState(StrEnum):
    """The change of a finding.

    ``NOT_CHECKED`` is one that is absent because its rule could not look, on either side: it is
    neither resolved nor new.
    """

    NEW = "new"
    WORSE = "worse"
    UNCHANGED = "unchanged"
    BETTER = "better"
    RESOLVED = "resolved"
    NOT_CHECKED = "not_checked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedJob:
    """One of the two jobs: its name here, and its report."""

    label: str
    name: str
    source: str
    report_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Something that should be equal in both jobs; ``same`` is ``None`` where a side is unknown."""

    what: str
    before: str
    after: str
    same: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Step times of both jobs over one axis: (n + 1,) edges in seconds, (n,) counts each."""

    edges_s: tuple[float, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartDifference:
    """A part of each step, by its key in the waterfall: means in seconds, a 99.5 % interval."""

    key: str
    difference_s: float
    interval_s: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDifference:
    """The time per step, from the start of one to the start of the next, in seconds.

    Attributes:
        difference_s: of the medians, after minus before.
        interval_s: 95 % interval of that difference (block bootstrap over steps).
        certain_s: the wider interval that must leave out zero for a verdict (99.8 %, of few steps
            99 %).
        noise_s: by how much the halves of one run differ from each other at most.
        least_s: the smallest difference of medians for which these runs would have had a verdict in
            four of five cases.
        ratio: median after over median before.
        step_mean_difference_s: of the means, after minus before; the waterfall adds up to it.
        mean_interval_s: 99.8 % interval of that.
        before_n, after_n: steps that were compared.
        before_samples_per_s, after_samples_per_s: samples of all ranks by the second, from the
            means; ``None`` where no batch size is known.
        parts: of which every step's time is known.
    """

    before_p50_s: float
    after_p50_s: float
    difference_s: float
    interval_s: tuple[float, float]
    certain_s: tuple[float, float]
    noise_s: float
    least_s: float
    ratio: float
    before_mean_s: float
    after_mean_s: float
    step_mean_difference_s: float
    mean_interval_s: tuple[float, float]
    before_n: int
    after_n: int
    histogram: Histogram
    before_samples_per_s: float | None = None
    after_samples_per_s: float | None = None
    parts: tuple[PartDifference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WaterfallPart:
    """A part of the mean time per step, in seconds; ``key`` is stable.

    Where the FLOPs of its kernels are known, its difference is the sum of ``by_flops_s``, what more
    or fewer operations take, and ``by_use_s``, what another share of the GPU's speed makes.
    """

    key: str
    part: str
    before_s: float
    after_s: float
    difference_s: float
    by_flops_s: float | None = None
    by_use_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingChange:
    """A finding in both reports, by its id; shares are those of its estimate at the worst place."""

    id: str
    rule: str
    cause: str
    state: FindingState
    severity_before: str | None
    severity_after: str | None
    share_before_ratio: float | None
    share_after_ratio: float | None
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricChange:
    """A number of both jobs; ``None`` where a side has none."""

    name: str
    unit: str
    before: float | None
    after: float | None
    difference: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageChange:
    """The use of a resource of a node: its 5th, 50th and 95th percentiles over all samples.

    ``node`` is empty where each job has one node.
    """

    metric: str
    node: str
    unit: str
    before: tuple[float | None, ...]
    after: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Time per step that one item takes in both jobs, in µs: a kernel, an operator, a collective.

    An absent item has taken no time and has no count, but it is not dropped. ``operator``
    launched a kernel.
    """

    kind: str
    name: str
    before_us: float | None
    after_us: float | None
    difference_us: float
    before_count: float | None
    after_count: float | None
    operator: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two jobs side by side.

    Attributes:
        headline: the verdict as one sentence; ``lead`` says where the difference comes from.
        reason: why they cannot be compared; empty where they can.
        step: ``None`` where they cannot.
        waterfall: the largest difference first; their sum is ``step.step_mean_difference_s``.
        warnings: differences of the jobs that the numbers do not account for.
        usage, costs: use of their machines, and the cost of a thousand steps.
    """

    before: ComparedJob
    after: ComparedJob
    verdict: Verdict
    headline: str
    lead: str
    reason: str
    comparability: tuple[Condition, ...]
    warnings: tuple[str, ...]
    step: StepDifference | None
    waterfall: tuple[WaterfallPart, ...]
    findings: tuple[FindingChange, ...]
    usage: tuple[UsageChange, ...]
    costs: tuple[MetricChange, ...]
    metrics: tuple[MetricChange, ...]
    moved: tuple[Moved, ...]
