"""HorovodNegotiation: whether all ranks wait for the same one before they reduce a tensor."""

from __future__ import annotations

from reportgen.profiling import ProfilingKind
from reportgen.results import RuleId
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.horovod_negotiation.judge import LATE, judge
from reportgen.rules.horovod_negotiation.measure import Params, measure

ABOUT = About(
    checks="Whether the ranks of a Horovod job wait for the same rank again and again.",
    reading=(
        "Before a tensor is reduced the ranks tell the coordinator that they are ready; the last "
        "one makes all others wait. With n ranks each would be last in one of n negotiations."
    ),
    advice=LATE.advice,
    is_optional=True,
    hint_when_skipped="",
    recorded_by=ProfilingKind.HOROVOD,
)

RULE = Rule(
    id=RuleId("HorovodNegotiation"),
    title="Horovod negotiation",
    about=ABOUT,
    needs=(Need.FRAMEWORK,),
    params=Params,
    measure=measure,
    judge=judge,
)
