"""The table of the stages of a batch, known or not."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.rules.framework.stages import Stage, StageTime
from reportgen.rules.saying.wording import say_some, say_times
from reportgen.units import NS_PER_S, say_count

EXHIBIT = "stages"
NOT_RECORDED = "not recorded"
MOST_NAMES = 3


def stage_exhibit(stages: Sequence[StageTime]) -> tuple[Exhibit, ...]:
    """Return the table of all stages, unknown ones too; nothing without steps."""
    if not stages:
        return ()
    by_stage = {item.stage: item for item in stages}
    rows = [(stage, by_stage.get(stage)) for stage in Stage]
    return (
        exhibit(
            EXHIBIT,
            ExhibitKind.TABLE,
            title="Where in the pipeline the loop's time goes",
            caption=(
                "Shares of the training loop, summed over the workers, or of those steps in which "
                "such events were recorded. Stages may overlap, so shares need not add up to 100. "
                "A stage that nothing recorded speaks of has no numbers: it is unknown, not 0."
            ),
            columns=[
                ("stage", "", [stage.value for stage, _ in rows]),
                ("share_pct", "%", [_share_pct(item) for _, item in rows]),
                ("time_s", "s", [item.time_ns / NS_PER_S if item else None for _, item in rows]),
                (
                    "observed_s",
                    "s",
                    [item.observed_ns / NS_PER_S if item else None for _, item in rows],
                ),
                ("evidence", "", [_evidence(item) for _, item in rows]),
            ],
        ),
    )


def _share_pct(item: StageTime | None) -> float | None:
    if item is None or not item.observed_ns:
        return None
    return round(100 * item.time_ns / item.observed_ns, 3)


def _evidence(item: StageTime | None) -> str:
    if item is None:
        return NOT_RECORDED
    names = sorted(item.name_ns, key=lambda name: (-item.name_ns[name], name))
    what = say_some(names, most=MOST_NAMES) if names else "no recorded function"
    if item.n_steps == item.n_all_steps:
        return f"{what}; the whole loop"
    return f"{what}; {say_count(item.n_steps)} of {say_times(item.n_all_steps, 'step')}"
