"""Collectives: what of communication is transfer, and what is waiting for late ranks."""

from __future__ import annotations

from reportgen.results import LARGEST_PART, DashboardPanel, Place, RuleId, Section
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.collectives.judge import judge
from reportgen.rules.collectives.measure import Params, measure

ABOUT = About(
    checks="What of communication is transfer and what is waiting, and which rank comes last.",
    reading=(
        "A collective cannot end before its last rank came: the fastest rank's duration is the "
        "transfer, the rest is waiting. Ranks are compared only where the ends of each collective "
        "lie within 1 ms."
    ),
    advice="Speed up the rank that comes last before buying a faster network.",
    section=Section(id="communication", title="Communication", order=80),
    is_optional=True,
    hint_when_skipped=(
        "Trace several ranks of the job (each writes its own file) and put the files into one "
        "folder."
    ),
)
RULE = Rule(
    id=RuleId("Collectives"),
    title="Collectives",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    folded=("waits",),
    places={
        "transfer_and_waiting": Place(
            dashboard=DashboardPanel(order=70, headline=LARGEST_PART, row_of="pct")
        ),
        "waiting_by_rank": Place(dashboard=DashboardPanel(order=90, is_wide=True)),
    },
)
