"""A rule as plugins were written before there was an ``Outcome``: it must go on working."""

# mypy: ignore-errors
from dataclasses import dataclass

from reportgen.profile import SeriesKind
from reportgen.results import Counters, ExhibitKind, RuleId, RuleResult, Status, exhibit
from reportgen.rules.base import About, Need, Presentation, Rule, param, param_values


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """When memory is nearly used up."""

    limit: float = param(
        80,
        unit="%",
        meaning="memory above this",
        source="leaves room for one more loader worker",
        minimum=0,
    )


def measure(part, params):
    memory = part.system.matrix(SeriesKind.HOST_MEMORY)
    return part.node, int((memory > params.limit).sum()), int(memory.size)


def judge(measurements, params):
    above = sum(count for _, count, _ in measurements)
    seen = sum(size for _, _, size in measurements)
    counters = Counters(rule_triggered=int(above > 0), violations=above, datapoints=seen)
    details = {node: count for node, count, _ in measurements}
    shown = present(counters, details, params, None)
    return RuleResult(
        id=RuleId("HostMemory"),
        status=Status.TRIGGERED if above else Status.OK,
        counters=counters,
        details=details,
        params=param_values(params),
        exhibits=shown.exhibits,
    )


def present(counters, details, params, context):
    columns = [("name", "", list(details)), ("samples", "", list(details.values()))]
    title = f"Samples above {params.limit} % of host memory"
    return Presentation(
        exhibits=(exhibit("above", ExhibitKind.BARS, title=title, columns=columns),)
    )


RULE = Rule(
    id=RuleId("HostMemory"),
    title="Host memory",
    about=About(
        checks="Whether a node runs out of host memory.",
        reading="Each bar counts the samples above the limit.",
        advice="Use fewer loader processes or a larger instance.",
    ),
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
)
