"""The evidence of Python profiles: functions by stage, what ran before the forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.rules.python.gaps import Gaps
from reportgen.rules.python.names import Kind, kind_of, name_of, place_of, stage_of
from reportgen.rules.python.sums import FunctionSum, ProfileSum, ProfileSummary
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_S

FUNCTIONS, BETWEEN, GAPS, STAGES, PROFILES = (
    "functions",
    "before_forward",
    "gaps",
    "stages",
    "profiles",
)
MOST_FUNCTIONS = 25
MOST_BARS = 15
MOST_PROFILES = 200
MOST_STAGES = 20
_US_PER_S = 1_000_000

_TIMES = (
    "own_s is the time in a function itself, cumulative_s also that in what it called, in % of all "
    "own times. The files do not say whether total, CPU or off-CPU time was measured."
)


def bars(training: ProfileSum) -> Exhibit:
    """Return the functions that took most time of their own during training."""
    measured = [item for item in training.functions if kind_of(item.function) is not Kind.PROFILER]
    shown = by_own(measured)[:MOST_BARS]
    left_out = (
        " The profiler itself is left out." if len(measured) < len(training.functions) else ""
    )
    return exhibit(
        "own_time",
        ExhibitKind.BARS,
        title="Python functions that took most time themselves",
        caption=(
            f"The first {len(shown)} of {len(training.functions):,} functions in "
            f"{say_times(training.n_profiles, 'profile')}, {training.stage}; without the time in "
            f"what they called.{left_out}"
        ),
        columns=[
            (
                "name",
                "",
                [f"{name_of(item.function)} ({place_of(item.function)})" for item in shown],
            ),
            ("own_s", "s", [item.own_s for item in shown]),
        ],
    )


def function_table(stages: Sequence[ProfileSum]) -> Exhibit:
    """Return the functions with most time in each stage, by own or by cumulative time."""
    shown = [(stage, item) for stage in stages[:MOST_STAGES] for item in _first(stage)]
    return exhibit(
        FUNCTIONS,
        ExhibitKind.TABLE,
        title="Python functions by stage",
        caption=(
            f"In each stage the first {MOST_FUNCTIONS} by own and by cumulative time; profiles of "
            f"the same stage are added up. {_TIMES}"
        ),
        columns=[("stage", "", [stage.stage for stage, _ in shown]), *_columns(shown)],
    )


def before_forward(sums: Sequence[ProfileSum]) -> Exhibit:
    """Return what ran in the profiles that cover the time before the forward pass."""
    shown = [(item, function) for item in sums for function in _first(item)]
    return exhibit(
        BETWEEN,
        ExhibitKind.TABLE,
        title="Python functions around the time from a batch to the forward pass",
        caption=(
            "Functions in the shortest profiles that cover such a time. A profile covers more than "
            f"that time: kind says what trains or loads data. {_TIMES}"
        ),
        columns=_columns(shown),
    )


def gap_table(gaps: Sequence[Gaps]) -> Exhibit:
    """Return how long it took from batches to forward passes, and what of it was profiled."""
    return exhibit(
        GAPS,
        ExhibitKind.TABLE,
        title="From the batch to the forward pass",
        caption=(
            "The time from the end of a wait for a batch to the start of the next forward pass: "
            "copies, printing, metrics; and how much of it lies in a Python profile."
        ),
        columns=[
            ("worker", "", [item.worker for item in gaps]),
            ("gaps", "", [item.n_gaps for item in gaps]),
            ("gap_s", "s", [item.gap_ns / NS_PER_S for item in gaps]),
            ("profiled_gaps", "", [item.n_covered for item in gaps]),
            ("profiled_s", "s", [item.covered_ns / NS_PER_S for item in gaps]),
            (
                "remark",
                "",
                ["" if item.n_covered else "no Python profile for this window" for item in gaps],
            ),
        ],
    )


def stage_table(stages: Sequence[ProfileSum]) -> Exhibit:
    """Return the stages: how many profiles, how long, and what was profiled of it."""
    return exhibit(
        STAGES,
        ExhibitKind.TABLE,
        title="What the Python profiles cover",
        caption="profiled_s adds up the own times of all functions; a job may profile few steps.",
        columns=[
            ("stage", "", [item.stage for item in stages]),
            ("profiler", "", [item.profiler for item in stages]),
            ("profiles", "", [item.n_profiles for item in stages]),
            ("covered_s", "s", [item.covered_us / _US_PER_S for item in stages]),
            ("profiled_s", "s", [item.own_s for item in stages]),
            ("functions", "", [len(item.functions) for item in stages]),
        ],
    )


def profile_table(profiles: Sequence[ProfileSummary]) -> Exhibit:
    """Return every profile, in the order given, with the function that took most time in it."""
    shown = profiles[:MOST_PROFILES]
    rest = f" The first {MOST_PROFILES} of {len(profiles):,}." if len(profiles) > len(shown) else ""
    intervals = [item.profile.interval for item in shown]
    return exhibit(
        PROFILES,
        ExhibitKind.TABLE,
        title="Python profiles",
        caption=(
            "Each with the step at which it began and ended, and the function that took most time "
            f"itself.{rest}"
        ),
        columns=[
            ("worker", "", [item.profile.worker for item in shown]),
            ("profiler", "", [item.profile.profiler for item in shown]),
            ("stage", "", [stage_of(interval) for interval in intervals]),
            ("first_step", "", [interval.start.step for interval in intervals]),
            ("last_step", "", [interval.end.step for interval in intervals]),
            ("start_s", "s", [interval.start.time_us / _US_PER_S for interval in intervals]),
            ("end_s", "s", [interval.end.time_us / _US_PER_S for interval in intervals]),
            ("profiled_s", "s", [item.own_s for item in shown]),
            ("longest", "", [name_of(item.longest) if item.longest else None for item in shown]),
            ("longest_own_s", "s", [item.longest_s for item in shown]),
        ],
    )


def by_own(functions: Sequence[FunctionSum]) -> list[FunctionSum]:
    """Return functions by their own time, longest first; ties by where they are defined."""
    return sorted(functions, key=lambda item: (-item.own_s, item.function))


def _first(stage: ProfileSum) -> Iterator[FunctionSum]:
    """Yield the first functions by own or cumulative time, by cumulative time."""
    by_cumulative = sorted(stage.functions, key=lambda item: (-item.cumulative_s, item.function))
    chosen = {item.function for item in by_own(stage.functions)[:MOST_FUNCTIONS]}
    chosen |= {item.function for item in by_cumulative[:MOST_FUNCTIONS]}
    return (item for item in by_cumulative if item.function in chosen)


def _columns(
    shown: Sequence[tuple[ProfileSum, FunctionSum]],
) -> list[tuple[str, str, Sequence[object]]]:
    return [
        ("function", "", [name_of(item.function) for _, item in shown]),
        ("cumulative_s", "s", [item.cumulative_s for _, item in shown]),
        ("cumulative_pct", "%", [_pct(item.cumulative_s, stage) for stage, item in shown]),
        ("own_s", "s", [item.own_s for _, item in shown]),
        ("calls", "", [item.calls for _, item in shown]),
        ("kind", "", [kind_of(item.function).value for _, item in shown]),
        ("place", "", [place_of(item.function) for _, item in shown]),
    ]


def _pct(time_s: float, stage: ProfileSum) -> float | None:
    return round(100 * time_s / stage.own_s, 4) if stage.own_s else None
