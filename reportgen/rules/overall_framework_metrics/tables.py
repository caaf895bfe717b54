"""The evidence of OverallFrameworkMetrics: operators, stages, functions over time, workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from reportgen.facts.between_steps import IN_DOUBT_RATIO
from reportgen.facts.steps import phase_word
from reportgen.merging import merge, merge_by, merged, sum_by_key
from reportgen.results import ColumnType, Exhibit, ExhibitKind, Role, column, exhibit
from reportgen.rules.kit import col, columns_of, derived, floats, ranking, row, table
from reportgen.text import format_ns, join_names, write
from reportgen.units import NS_PER_S, NS_PER_US, percentages

MOST_OPERATORS = 20
OTHER_OPERATORS = "others"
NOT_RECORDED = "not recorded"
MOST_NAMES = 3
MOST_FUNCTIONS = 30
MOST_BUCKETS = 240
"""At most 31 functions in 240 stretches of time, whatever the job: more cannot be distinguished."""
APART = " Nodes with a separate clock are left out."
OTHER_FUNCTIONS = "all other functions"
LEAST_STEPS = 5
"""Steps on both sides that a comparison needs: the median of fewer is chance."""

DECIDED_WITHIN = 2 * IN_DOUBT_RATIO
"""A fit whose bound lies farther above it explains too little of the GPUs' use to decide."""
AT_WORK_BELOW = 0.25
"""GPUs that do three quarters of what they do in steps go on working: with the optimizer, or with
earlier launches of the host."""


def _host_ratio(item: Between) -> float | None:
    """Return an upper bound of the share of the loop that host work between steps takes."""
    if not item.is_waiting_known or item.idle_ratio is None or not item.loop_ns:
        return None
    if item.idle_ratio < AT_WORK_BELOW * item.late_ratio:
        return 0.0
    every_ns = item.regular_ns + item.known_ns + item.waited_ns
    share = (every_ns * item.idle_at_most_ratio - item.known_ns) / item.loop_ns
    return min(max(share, 0.0), item.most_unused_ratio)


@row
class Between:
    """Recurring work between the steps of one worker, without waits for batches.

    Attributes:
        regular_ns: the sum over all steps.
        copied_ns, grown_ns: what other causes take between steps, for which GPUs wait: copies from
            memory that is not pinned, and what grows. ``maybe_copied_ns``: what such copies may
            take of ``regular_ns`` where nothing says whether batches are pinned.
        idle_ratio, idle_at_most_ratio: how much less the GPUs do between steps than in them, the
            first ``None`` if unknown. ``is_fitted``: samples say so. ``late_ratio``: in which last
            part of that time alone they do less.
        is_waiting_known: whether waits for batches were recorded.
        waited_ns: for how long it waits in addition for such work of the slowest node.
        unused_ratio: how much of its time the GPU of its node that works least leaves unused from
            first to last work, outside of waits and slow steps; without GPUs 1,
            without samples 0. ``most_unused_ratio`` is that of all, added up: no time of the host
            costs more.
        inside_each_ns: what lies in a training step, but in no part of it that is known; in all of
            them ``inside_ns``.
    """

    worker: str = col()
    n_steps: int = col(name="steps")
    regular_ns: float = col("s", name="between_s", per=NS_PER_S)
    copied_ns: float = 0.0
    maybe_copied_ns: float = 0.0
    grown_ns: float = 0.0
    idle_ratio: float | None
    gpus_idle_ratio: float | None = derived(
        lambda item: item.idle_ratio if item.has_gpu else None, digits=3
    )
    host_work_pct: float | None = derived(
        lambda item: None if (share := _host_ratio(item)) is None else 100 * share, "%"
    )
    idle_at_most_ratio: float = 1.0
    is_fitted: bool = False
    late_ratio: float = 1.0
    loop_ns: int
    is_waiting_known: bool
    waited_ns: float = 0.0
    unused_ratio: float = 0.0
    most_unused_ratio: float = 1.0
    has_gpu: bool = True
    inside_each_ns: float = 0.0
    inside_ns: float = 0.0

    @property
    def host_ratio(self) -> float:
        """Return the share of the loop that host work between steps may take; 0 if unknown."""
        return _host_ratio(self) or 0.0

    @property
    def is_decided(self) -> bool:
        """Return whether it is known how much work of the script there is."""
        known = self.idle_ratio
        is_sure = known is not None and self.idle_at_most_ratio - known <= DECIDED_WITHIN
        return self.is_waiting_known and is_sure

    @property
    def known_ns(self) -> float:
        """Return what other causes take between steps."""
        return self.copied_ns + self.grown_ns

    @property
    def open_ratio(self) -> float:
        """Return the share of the loop of which it is not known that other causes take it."""
        open_ns = self.regular_ns + (0.0 if self.is_decided else self.copied_ns)
        return open_ns / self.loop_ns if self.loop_ns else 0.0

    @property
    def short_ratio(self) -> float:
        """Return the share of the loop that lies between steps and for which a GPU has no work."""
        return min(self.open_ratio, self.unused_ratio)

    @property
    def seen_ratio(self) -> float:
        """Return the share of the loop in which GPUs seem to wait for such work."""
        idle_ns = (self.regular_ns + self.known_ns) * (self.idle_ratio or 0.0) - self.known_ns
        return min(self.host_ratio, max(idle_ns, 0.0) / (self.loop_ns or 1))

    @property
    def inside_ratio(self) -> float:
        """Return the share of the loop that unknown parts of steps take."""
        return self.inside_ns / self.loop_ns if self.loop_ns else 0.0

    @property
    def each_ns(self) -> float:
        """Return the time between two steps."""
        return self.regular_ns / max(self.n_steps, 1)


BETWEEN_CAPTION = """Time between steps. Waits for batches, single long pauses, and work that starts
    later in the job are excluded. gpus_idle_ratio is 1 if the GPUs are idle in that time and wait
    for the host, and 0 if they are as busy as in steps. host_work_pct is the largest share of the
    loop that this work can take."""


@row
class OperatorTimes:
    """One operator on one device: ``self_ns`` is its time without the operators inside it.

    A device is the phase that it was recorded under: ``cpu_functions``, ``gpu_functions-dev:0``.
    """

    device: str = col()
    name: str = col(name="operator")
    count: int = col(reduce=sum)
    total_us: float = derived(lambda item: round(item.total_ns / NS_PER_US), "us")
    self_us: float = derived(lambda item: round(item.self_ns / NS_PER_US), "us")
    total_ns: int = merged(sum)
    self_ns: int = merged(sum)


def by_name(operators: Sequence[OperatorTimes]) -> list[OperatorTimes]:
    """Return one operator per name, largest total first."""
    joined = merge_by(operators, lambda item: item.name).values()
    return sorted(joined, key=lambda item: (-item.total_ns, item.name))


def exhibits_of_operators(operators: Sequence[OperatorTimes], *, role: Role) -> Iterator[Exhibit]:
    """Yield the most used operators of CPUs or GPUs, and the same by device."""
    if not operators:
        return
    joined = by_name(operators)
    shown, title = _shown(joined), f"{role.upper()} operators"
    _, name, count, *times = columns_of(shown, OperatorTimes)
    yield exhibit(
        f"{role}_operators",
        ExhibitKind.BARS,
        title=title,
        caption="""The total time of an operator contains the operators that it calls; its self
            time does not.""",
        columns=[
            *(name, *times, count),
            *floats(
                ("pct_of_all", "%", percentages([item.total_ns for item in shown])),
                ("self_pct", "%", percentages([item.self_ns for item in shown])),
            ),
        ],
        role=role,
    )
    devices = sorted({item.device for item in operators})
    if len(devices) > 1:
        apart = ([item for item in operators if item.device == device] for device in devices)
        yield table(
            f"{role}_operators_by_device",
            [item for group in apart for item in _shown(by_name(group))],
            OperatorTimes,
            title=f"{title} of each device",
        )


def _shown(joined: Sequence[OperatorTimes]) -> list[OperatorTimes]:
    """Return the first by total and the first by self time; the rest as one row."""
    by_self = sorted(joined, key=lambda item: (-item.self_ns, item.name))[:MOST_OPERATORS]
    kept = {item.name for item in (*joined[:MOST_OPERATORS], *by_self)}
    shown = [item for item in joined if item.name in kept]
    rest = [item for item in joined if item.name not in kept]
    return [*shown, replace(merge(rest), name=OTHER_OPERATORS)] if rest else shown


class Stage(StrEnum):
    """Where a batch is, in its order."""

    READ = "read"
    PREPROCESS = "preprocess"
    WAIT = "wait for a batch"
    TRANSFER = "transfer"
    FORWARD = "forward"
    BACKWARD = "backward"
    COMMUNICATION = "communication"
    IN_STEPS = "others within steps"
    OUTPUT = "output"
    BETWEEN = "others between steps"


def _evidence(item: StageTime) -> str:
    if item.time_ns is None:
        return NOT_RECORDED
    names = sorted(item.name_ns, key=lambda name: (-item.name_ns[name], name))
    what = join_names(names, most=MOST_NAMES) if names else "no recorded function"
    if item.n_steps == item.n_all_steps:
        return f"{what}; all steps and the time between them"
    return write("{what}; {of.n_steps:n} of {of.n_all_steps:count step}", what=what, of=item)


@row
class StageTime:
    """One stage, over workers.

    Attributes:
        time_ns: union of its events within what was observed; ``None`` for an unknown stage.
        observed_ns: the loop, or the ``n_steps`` of all steps in which such events were recorded.
        name_ns: names of its events, by summed duration.
    """

    stage: Stage = col()
    share_pct: float | None = derived(
        lambda item: 100 * item.time_ns / item.observed_ns if item.observed_ns else None,
        "%",
        digits=3,
    )
    time_ns: int | None = col("s", name="time_s", per=NS_PER_S, reduce=sum)
    observed_ns: int | None = col("s", name="observed_s", per=NS_PER_S, reduce=sum)
    evidence: str = derived(_evidence)
    n_steps: int = merged(sum, default=0)
    n_all_steps: int = merged(sum, default=0)
    name_ns: Mapping[str, int] = merged(sum_by_key, default_factory=dict)


def exhibit_of_stages(stages: Sequence[StageTime]) -> Iterator[Exhibit]:
    """Yield the table of all stages, unknown ones too; nothing without steps."""
    if not stages:
        return
    by_stage = {item.stage: item for item in stages}
    yield table(
        "stages",
        [
            by_stage.get(stage) or StageTime(stage=stage, time_ns=None, observed_ns=None)
            for stage in Stage
        ],
        StageTime,
        title="Where in the pipeline the time goes",
        caption="""Shares of the observed time of all training processes. It lasts from the first to
            the last step, evaluation included; if a stage was recorded for some steps only, it is
            the time of these steps. Stages may overlap, so the shares need not add up to 100. A
            stage without recorded events has no numbers: its time is unknown, not 0.""",
    )


@row
class LoopParts:
    """The time of training processes in disjoint parts, in ns.

    Of steps with recorded passes, each with the time up to the next step; of the whole loop where
    no pass was recorded. What runs at the same time counts for the first of the parts.
    """

    forward_ns: int = merged(sum)
    backward_ns: int = merged(sum)
    loading_ns: int = merged(sum)
    whole_ns: int = merged(sum)
    n_steps: int = merged(sum)
    n_all_steps: int = merged(sum)
    are_waits_known: bool = merged(all)


def exhibit_of_loop(parts: Sequence[LoopParts]) -> Iterator[Exhibit]:
    """Yield the pie of data loading and passes; nothing where neither was recorded."""
    if not parts:
        return
    job: LoopParts = merge(parts)
    named = {
        "data loading": (job.loading_ns, Role.IO),
        "forward": (job.forward_ns, Role.GPU),
        "backward": (job.backward_ns, Role.STEP),
    }
    shown = {name: part for name, part in named.items() if part[0]}
    if not shown:
        return
    others_ns = job.whole_ns - sum(time_ns for time_ns, _ in shown.values())
    shown["others"] = (others_ns, Role.IDLE)
    lacking = [name for name in named if name not in shown]
    caption = "From the first to the last step, the time between steps included."
    if job.n_steps < job.n_all_steps:
        caption = write(
            "In {of.n_steps:n} of {of.n_all_steps:count step}, with the time up to the next one.",
            of=job,
        )
    if job.loading_ns and not job.are_waits_known:
        caption += """ Only recorded waits count here: the waits of other steps, which the section
            Data loading estimates, are among the others."""
    if lacking:
        caption += f" No {join_names(lacking)} was recorded."
    yield ranking(
        "loop_shares",
        [(name, time_ns) for name, (time_ns, _) in shown.items()],
        title="Data loading, forward, backward",
        caption=caption,
        amount=("time_s", "s"),
        per=NS_PER_S,
        roles=[role for _, role in shown.values()],
    )


@row
class FunctionTime:
    """One function of one node, over its workers; bucket ``b`` begins at ``b * width_ns``.

    ``is_relative`` times are of a separate clock and cannot be compared with those of others.
    """

    node: str
    is_relative: bool
    label: str
    width_ns: int
    bucket_ns: Mapping[int, int]

    @property
    def total_ns(self) -> int:
        """Return its time over the whole job."""
        return sum(self.bucket_ns.values())


def exhibit_of_functions(functions: Sequence[FunctionTime]) -> Iterator[Exhibit]:
    """Yield the heat map of function and time, nodes added up; nothing without a function."""
    if not functions:
        return
    found = _on_one_clock(functions)
    width_ns = _common_width_ns(found)
    totals = sum_by_key(
        {item.label: item.total_ns} for item in found if item.label != OTHER_FUNCTIONS
    )
    kept = sorted(totals, key=lambda label: (-totals[label], label))[:MOST_FUNCTIONS]
    places = {label: place for place, label in enumerate(kept)}
    cells = sum_by_key(
        {(places.get(item.label, len(kept)), bucket * item.width_ns // width_ns): time_ns}
        for item in found
        for bucket, time_ns in item.bucket_ns.items()
    )
    rows = "All functions are listed."
    if any(place == len(kept) for place, _ in cells):
        rows = f"The {MOST_FUNCTIONS} with the most time are listed; one row has the others."
    labels = (*kept, OTHER_FUNCTIONS)
    at = sorted(cells)
    yield exhibit(
        "function_time",
        ExhibitKind.HEATMAP,
        title="Functions over time",
        caption=write(
            "Time in each function, in intervals of {width:ns}, added up over the training "
            "processes. A function inside another one counts in both. An empty cell is 0. "
            "{rows}{apart}",
            width=width_ns,
            rows=rows,
            apart=APART if len(found) < len(functions) else "",
        ),
        columns=[
            column("row", "", [labels[place] for place, _ in at], type=ColumnType.TEXT),
            *floats(
                ("time_s", "s", [bucket * width_ns / NS_PER_S for _, bucket in at]),
                ("function_s", "s", [cells[cell] / NS_PER_S for cell in at]),
                ("width_s", "s", [width_ns / NS_PER_S] * len(at)),
            ),
        ],
    )


def _on_one_clock(functions: Sequence[FunctionTime]) -> Sequence[FunctionTime]:
    """Return those on a wall clock; without any, those of the node with the most time."""
    totals = sum_by_key({item.node: item.total_ns} for item in functions)
    longest = max(totals, key=lambda node: totals[node])
    on_clock = [item for item in functions if not item.is_relative]
    return on_clock or [item for item in functions if item.node == longest]


def _common_width_ns(functions: Sequence[FunctionTime]) -> int:
    """Return the smallest power of two, in ns, with which few buckets hold all functions."""
    width_ns = max(item.width_ns for item in functions)
    first_ns = min(min(item.bucket_ns) * item.width_ns for item in functions)
    last_ns = max(max(item.bucket_ns) * item.width_ns for item in functions)
    while last_ns // width_ns - first_ns // width_ns + 1 > MOST_BUCKETS:
        width_ns *= 2
    return width_ns


class Detail(StrEnum):
    """Details that were recorded for some steps only."""

    OPERATORS = "operators"
    MODULES = "model parts"


def _longer_pct(item: Overhead) -> float | None:
    """Return by how much recorded steps are longer, ``None`` with too few on one side."""
    if min(item.n_with, item.n_without) < LEAST_STEPS or not item.without_ns:
        return None
    return 100 * (item.with_ns / item.without_ns - 1)


@row
class Overhead:
    """Steps of one worker and phase with a kind of detail, and without: counts and medians."""

    worker: str = col()
    phase: str = col()
    detail: Detail = col()
    n_with: int = col(name="recorded_steps")
    n_without: int = col(name="other_steps")
    with_ns: float = col("s", name="recorded_p50_s", per=NS_PER_S)
    without_ns: float | None = col("s", name="other_p50_s", per=NS_PER_S)
    longer_pct: float | None = derived(_longer_pct, "%", digits=2)


OVERHEAD_CAPTION = f"""Median duration of the steps whose details were recorded, and of the other
    steps. They are compared only if each group has at least {LEAST_STEPS} steps."""


def sampling(interval_ns: int | None) -> str:
    """Say how often system metrics were sampled, after a space; empty where it is unknown."""
    if interval_ns is None:
        return ""
    return f" System metrics were sampled every {format_ns(interval_ns)}."


@row
class PaceRow:
    """The pace of a worker in a phase, over ``Pace``."""

    worker: str = derived(lambda pace: pace.worker)
    phase: str = derived(lambda pace: phase_word(pace.phase))
    steps: int = derived(lambda pace: pace.step.count)
    step_p50_s: float = derived(lambda pace: pace.step.median_ns, "s", per=NS_PER_S)
    step_total_s: float = derived(lambda pace: pace.step.total_ns, "s", per=NS_PER_S)
    forward_p50_s: float = derived(lambda pace: pace.forward.median_ns, "s", per=NS_PER_S)
    forward_total_s: float = derived(lambda pace: pace.forward.total_ns, "s", per=NS_PER_S)


PACES_CAPTION = "Medians and sums of the durations of steps, for each training process and phase."
