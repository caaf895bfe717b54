"""Dataloader: how many loader processes feed the training, and whether it waits for them."""

from __future__ import annotations

from reportgen.profiling import ProfilingKind
from reportgen.results import RuleId, Section
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.dataloader.judge import from_details, judge
from reportgen.rules.dataloader.measure import Params, measure

ABOUT = About(
    checks="Whether the number of loader processes fits the cores, and whether training waits.",
    reading=(
        "Loader processes at work are counted in each second with loader activity; their median "
        "is compared with the cores of a node. Whether that matters is decided by how long the "
        "training loop waited for batches."
    ),
    advice=(
        "If the loop waits: more workers up to the number of cores, prefetching, cheaper "
        "preprocessing, faster storage. If there are more workers than cores: fewer."
    ),
    section=Section(id="data-loading", title="Data loading", order=180),
    has_counters=True,
    recorded_by=ProfilingKind.LOADER,
)

RULE = Rule(
    id=RuleId("Dataloader"),
    title="Data loading",
    about=ABOUT,
    needs=(Need.FRAMEWORK, Need.SYSTEM),
    params=Params,
    measure=measure,
    judge=judge,
    from_details=from_details,
    folded=("batch_functions", "workers"),
)
