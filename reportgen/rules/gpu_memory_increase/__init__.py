"""GPUMemoryIncrease: memory activity that jumps, or climbs over the whole job."""

from __future__ import annotations

from reportgen.results import Place, Role, RuleId, Section, TimelineTrack, Track
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.gpu_memory_increase.judge import from_details, judge
from reportgen.rules.gpu_memory_increase.measure import Params, measure

ABOUT = About(
    checks="Whether GPU memory activity jumps suddenly, or climbs minute by minute.",
    reading=(
        "A trigger is one sample at which the mean of the newest samples exceeds the mean just "
        "before by more than the threshold; neighbouring triggers are one episode. The metric is "
        "the activity of the memory controller, not allocated bytes, so it follows the load; "
        "only an episode that reaches a new height and stays there speaks of growth."
    ),
    advice=(
        "Log the allocated memory at each step; if it grows, look for tensors kept alive between "
        "steps, or use gradient checkpointing."
    ),
    section=Section(id="gpu-memory", title="GPU memory", order=240),
    is_quiet=True,
    has_counters=True,
)
JUMPS = TimelineTrack(kind=Track.LANE, title="Jumps of GPU memory", role=Role.GPU_MEMORY)

RULE = Rule(
    id=RuleId("GPUMemoryIncrease"),
    title="GPU memory",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
    from_details=from_details,
    folded=("intervals",),
    places={"intervals": Place(timeline=JUMPS)},
)
