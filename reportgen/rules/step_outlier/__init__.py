"""StepOutlier: steps that take much longer than the others of their worker and phase."""

from __future__ import annotations

from dataclasses import replace

from reportgen.results import Place, Role, RuleId, Section, TimelineTrack, Track
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.step_outlier.judge import from_details, judge
from reportgen.rules.step_outlier.measure import Params, measure

ABOUT = About(
    checks="Whether some steps take much longer than the usual step of their worker and phase.",
    reading=(
        "A step is an outlier when it is longer than the mean plus a few standard deviations of "
        "all steps of its worker and phase; the rule triggers when there are more of them than "
        "allowed. A second table lists steps of more than twice the median."
    ),
    advice=(
        "See what happens at those steps: callbacks, checkpoints, logging, validation, a slow "
        "read; run it less often or in a thread of its own."
    ),
    section=Section(id="step-durations", title="Step durations", order=140),
    has_counters=True,
)


def _describe(params: Params) -> str:
    """Return ``RuleParameters``; AWS prints ``stddev`` twice, first under another name."""
    return (
        f"threshold:{params.stddev}\nmode:{params.mode}\n"
        f"n_outliers:{params.n_outliers}\nstddev:{params.stddev}"
    )


_SLOW_STEPS = TimelineTrack(kind=Track.LANE, title="Slow steps", role=Role.WARNING)

RULE = Rule(
    id=RuleId("StepOutlier"),
    title="Step durations",
    about=ABOUT,
    needs=(Need.FRAMEWORK,),
    params=Params,
    measure=measure,
    judge=judge,
    from_details=from_details,
    describe_params=_describe,
    param_aliases={"threshold": "stddev"},
    folded=("intervals", "median_outliers", "step_series"),
    places={
        "step_series": Place(
            timeline=TimelineTrack(kind=Track.PANEL, title="Step duration", order=20)
        ),
        "step_numbers": Place(timeline=TimelineTrack(kind=Track.STEPS, is_only_here=True)),
        "intervals": Place(timeline=_SLOW_STEPS),
        "outliers": Place(
            timeline=replace(_SLOW_STEPS, order=1), retells="StepPeriodicity/intervals"
        ),
    },
)
