"""The evidence of Python profiles: functions by stage, what ran before the forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reportgen.facts.python_profiles import (
    FunctionSum,
    Kind,
    ProfileSum,
    kind_of,
    name_of,
    place_of,
)
from reportgen.results import ColumnType, Exhibit, ExhibitKind, column, exhibit
from reportgen.rules.kit import columns_of, derived, row, table
from reportgen.rules.python_functions.measure import US_PER_S, ForwardGaps, NodeProfiles, Profile
from reportgen.text import write

MOST_FUNCTIONS = 25
MOST_BARS = 15
MOST_PROFILES = 200
MOST_STAGES = 20

TIMES = (
    "own_s is the time in a function itself, cumulative_s also that in what it called, in % of all "
    "own times. The files do not say whether total, CPU or off-CPU time was measured."
)


@row
class _FunctionBar:
    """Columns of a ``FunctionSum``."""

    name: str = derived(lambda item: f"{name_of(item.function)} ({place_of(item.function)})")
    own_s: float = derived(lambda item: item.own_s, "s")


@row
class _Stage:
    """Columns of a ``ProfileSum``."""

    stage: str = derived(lambda item: item.stage)
    profiler: str = derived(lambda item: item.profiler)
    profiles: int = derived(lambda item: item.n_profiles)
    covered_s: float = derived(lambda item: item.covered_us / US_PER_S, "s")
    profiled_s: float = derived(lambda item: item.own_s, "s")
    functions: int = derived(lambda item: len(item.functions))


@row
class _InStage:
    """Columns of a function in a stage: of pairs of a ``ProfileSum`` and a ``FunctionSum``."""

    function: str = derived(lambda pair: name_of(pair[1].function))
    cumulative_s: float = derived(lambda pair: pair[1].cumulative_s, "s")
    cumulative_pct: float | None = derived(
        lambda pair: 100 * pair[1].cumulative_s / pair[0].own_s if pair[0].own_s else None,
        "%",
        digits=4,
    )
    own_s: float = derived(lambda pair: pair[1].own_s, "s")
    calls: int | None = derived(lambda pair: pair[1].calls)
    kind: str = derived(lambda pair: kind_of(pair[1].function).value)
    place: str = derived(lambda pair: place_of(pair[1].function))


def exhibits_of(
    job: NodeProfiles, *, training: ProfileSum, between: Sequence[ProfileSum]
) -> Iterator[Exhibit]:
    """Yield the evidence of a job.

    Args:
        job: with one profile at least.
        training: what the chart shows.
        between: what covers the times before forward passes.
    """
    yield _bars(training)
    if between:
        pairs = [(item, function) for item in between for function in _longest(item)]
        yield table(
            "before_forward",
            pairs,
            _InStage,
            title="Python functions around the time from a batch to the forward pass",
            caption=(
                "Functions in the shortest profiles that cover such a time. A profile covers more "
                f"than that time: kind says what trains or loads data. {TIMES}"
            ),
        )
    pairs = [(stage, item) for stage in job.stages[:MOST_STAGES] for item in _longest(stage)]
    stages = column("stage", "", [stage.stage for stage, _ in pairs], type=ColumnType.TEXT)
    yield exhibit(
        "functions",
        ExhibitKind.TABLE,
        title="Python functions by stage",
        caption=(
            f"In each stage the first {MOST_FUNCTIONS} by own and by cumulative time; profiles of "
            f"the same stage are added up. {TIMES}"
        ),
        columns=[stages, *columns_of(pairs, _InStage)],
    )
    if job.gaps:
        yield table(
            "gaps",
            job.gaps,
            ForwardGaps,
            title="From the batch to the forward pass",
            caption=(
                "The time from the end of a wait for a batch to the start of the next forward "
                "pass: copies, printing, metrics; and how much of it lies in a Python profile."
            ),
        )
    yield table(
        "stages",
        job.stages,
        _Stage,
        title="What the Python profiles cover",
        caption="profiled_s adds up the own times of all functions; a job may profile few steps.",
    )
    profiles = sorted(
        job.profiles, key=lambda item: (item.start_us, item.end_us, item.worker, item.profiler)
    )
    n_all = len(profiles)
    rest = f" The first {MOST_PROFILES} of {n_all:,}." if n_all > MOST_PROFILES else ""
    yield table(
        "profiles",
        profiles[:MOST_PROFILES],
        Profile,
        title="Python profiles",
        caption=(
            "Each with the step at which it began and ended, and the function that took most time "
            f"itself.{rest}"
        ),
    )


def _bars(training: ProfileSum) -> Exhibit:
    """Return the functions that took most time of their own during training."""
    n_all = len(training.functions)
    measured = [item for item in training.functions if kind_of(item.function) is not Kind.PROFILER]
    shown = by_own(measured)[:MOST_BARS]
    caption = write(
        "The first {n_shown} of {n_all:n} functions in {training.n_profiles:count profile}, "
        "{training.stage}; without the time in what they called.",
        n_shown=len(shown),
        n_all=n_all,
        training=training,
    )
    return table(
        "own_time",
        shown,
        _FunctionBar,
        title="Python functions that took most time themselves",
        caption=caption + (" The profiler itself is left out." if len(measured) < n_all else ""),
        drawn_as=ExhibitKind.BARS,
    )


def by_own(functions: Sequence[FunctionSum]) -> list[FunctionSum]:
    """Return functions by their own time, longest first; ties by where they are defined."""
    return sorted(functions, key=lambda item: (-item.own_s, item.function))


def _longest(stage: ProfileSum) -> Iterator[FunctionSum]:
    """Yield the first functions by own or cumulative time, by cumulative time."""
    by_cumulative = sorted(stage.functions, key=lambda item: (-item.cumulative_s, item.function))
    chosen = {item.function for item in by_own(stage.functions)[:MOST_FUNCTIONS]}
    chosen |= {item.function for item in by_cumulative[:MOST_FUNCTIONS]}
    return (item for item in by_cumulative if item.function in chosen)
