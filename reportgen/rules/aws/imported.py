"""From SageMaker's five keys to a result, through the rule's own ``from_details``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reportgen import results
from reportgen.errors import ConfigError
from reportgen.results import Counters, Details, Reason, ReasonCode, RuleId, Status
from reportgen.rules.aws.bottleneck_tables import gpu_samples
from reportgen.rules.aws.remarks import remarks_on
from reportgen.rules.aws.unused_gpus import GpuUse, felt_details
from reportgen.rules.base import AnyRule, Presentation, param_specs, param_values
from reportgen.rules.kit import too_short
from reportgen.rules.runner import Failure, guarded, present_details, with_about
from reportgen.rules.settings import checked_value
from reportgen.text import write

_BALANCE = "LoadBalancing"
_SAMPLED_GPU_RULES = frozenset({"GPUMemoryIncrease", _BALANCE, "LowGPUUtilization"})
"""Their datapoints are samples of a GPU."""
_GPU_RULES = _SAMPLED_GPU_RULES | {"BatchSize", "CPUBottleneck", "IOBottleneck"}
_BOTTLENECK_RULES = ("CPUBottleneck", "IOBottleneck")
_SAMPLES_BY_TIME = """All samples, each in one part, by the times that both rules list. The
    thresholds are those of the rules."""
_FRAMEWORK_MEMBERS = ("ratio", "phase", "general")
MISSHAPEN = """SageMaker's rule triggered {n:count time}, but its details are not of the shape that
    it writes and cannot be shown. ({why})"""


def judge_imported(
    rule: AnyRule,
    counters: Counters,
    details: Details,
    rule_parameters: str,
    *,
    has_gpu: bool,
    use: GpuUse | None = None,
) -> results.RuleResult:
    """Return the result of a rule that SageMaker ran.

    Status: ``triggered`` when it triggered; else ``skipped`` when there was no GPU, or no more
    datapoints than its patience; else ``ok`` (docs/rules.md, Imported results). The five keys stay
    as they are; findings leave out the GPUs that the job does not use by ``use``.

    Edge cases: details of another shape than the rule's make the result ``failed``.
    """
    params, unread = parse_parameters(rule, rule_parameters)
    lack = _lack(rule, counters, details, params, has_gpu=has_gpu)
    lack = "" if counters.rule_triggered else lack
    sentences = [lack] if lack else []
    sentences.append("Computed by SageMaker.")
    if not lack:
        sentences += remarks_on(rule.id, counters, details)
    if unread:
        names = ", ".join(unread)
        sentences.append(f"Its parameters {names} could not be read; the defaults are assumed.")
    status = Status.TRIGGERED if counters.rule_triggered else Status.SKIPPED if lack else Status.OK
    code = ReasonCode.IMPORTED
    shown = _presented(rule, counters, details, params, use or {})
    if isinstance(shown, Failure):
        misshapen = write(MISSHAPEN, n=counters.rule_triggered, why=shown.text)
        status, code, sentences = Status.FAILED, ReasonCode.ERROR, [misshapen]
        shown = Presentation()
    result = results.RuleResult(
        id=rule.id,
        status=status,
        reason=Reason(code=code, text=" ".join(sentences)),
        counters=counters,
        details=details,
        rule_parameters=rule_parameters,
        params=param_values(params),
        findings=() if status is Status.SKIPPED else shown.findings,
        exhibits=shown.exhibits,
    )
    return with_about(result, rule)


def with_cards(
    found: Mapping[RuleId, results.RuleResult],
) -> dict[RuleId, results.RuleResult]:
    """Return results of formats before 3 with the declarations of the built-in rules.

    Exhibits that only the cards "At a glance" show are made of SageMaker's five keys.
    """
    from reportgen.rules.registry import BUILTIN_RULES

    rules, renewed = {rule.id: rule for rule in BUILTIN_RULES}, []
    for result in found.values():
        rule = rules.get(result.id)
        if rule is None:
            renewed.append(result)
            continue
        if result.about is None or not result.about.needs:
            result = with_about(result, rule)  # noqa: PLW2901 - the same, declared
        if rule.about.at_a_glance and result.about is not None:
            about = replace(result.about, at_a_glance=rule.about.at_a_glance)
            result = replace(  # noqa: PLW2901
                result, about=about, exhibits=(*result.exhibits, *_for_cards(rule, result))
            )
        renewed.append(result)
    return {result.id: result for result in with_gpu_samples(renewed)}


def _for_cards(rule: AnyRule, result: results.RuleResult) -> list[results.Exhibit]:
    """Return the exhibits that are only at a glance and that an old result does not have."""
    patterns = [
        pattern
        for part in rule.about.at_a_glance
        if part.is_only_here
        for pattern in part.exhibits
        if result.exhibit(pattern) is None
    ]
    params, _ = parse_parameters(rule, result.rule_parameters)
    shown = guarded(rule, "present", present_details, rule, result.counters, result.details, params)
    made = shown.exhibits if isinstance(shown, Presentation) else ()
    return [item for item in made if item.id in patterns and result.exhibit(item.id) is None]


def with_gpu_samples(found: Sequence[results.RuleResult]) -> tuple[results.RuleResult, ...]:
    """Add the pie of both bottleneck rules, from the times that SageMaker's details list."""
    by_id = {item.id: item for item in found}
    pair = [by_id.get(RuleId(name)) for name in _BOTTLENECK_RULES]
    cpu, io = pair
    if cpu is None or io is None or cpu.exhibit("gpu_samples"):
        return tuple(found)
    busy, waiting = (_moments(item.details) for item in (cpu, io))
    n_low = cpu.details.get("low_gpu_utilization")
    if busy is None or waiting is None or not isinstance(n_low, int):
        return tuple(found)
    counts = [len(busy - waiting), len(waiting - busy), len(busy & waiting)]
    counts += [n_low - sum(counts), cpu.counters.datapoints - n_low]
    if min(counts) < 0 or not sum(counts):
        return tuple(found)
    made = gpu_samples(counts, caption=_SAMPLES_BY_TIME)
    shown = replace(cpu, exhibits=(made, *cpu.exhibits))
    return tuple(shown if item is cpu else item for item in found)


def _moments(details: Details) -> set[str] | None:
    times = details.get("bottlenecks")
    return set(times) if isinstance(times, dict) else None


def _presented(
    rule: AnyRule, counters: Counters, details: Details, params: Any, use: GpuUse
) -> Presentation | Failure:
    """Return exhibits of all that SageMaker wrote, and findings of what the job felt."""

    def present(told: Details) -> Presentation | Failure:
        shown = guarded(rule, "present", present_details, rule, counters, told, params)
        assert isinstance(shown, Presentation | Failure)
        return shown

    shown, felt = present(details), felt_details(rule.id, details, use)
    if felt == details or isinstance(shown, Failure):
        return shown
    said = present(felt)
    return said if isinstance(said, Failure) else replace(shown, findings=said.findings)


def parse_parameters(rule: AnyRule, text: str) -> tuple[Any, tuple[str, ...]]:
    r"""Read ``"threshold:50\ncpu_threshold:90"``; an absent or invalid value has its default.

    Aliases count (StepOutlier prints ``threshold`` for ``stddev``); the rule's own name wins.

    Returns:
        The parameters, and the names of those whose printed value could not be used.
    """
    specs = {spec.name: spec for spec in param_specs(rule.params)}
    printed = dict(line.partition(":")[::2] for line in text.splitlines() if ":" in line)
    chosen: dict[str, results.Scalar] = {}
    unread = []
    for given in sorted(printed, key=lambda name: name in specs):
        name = given if given in specs else rule.param_aliases.get(given)
        if name is None:
            unread.append(given)
            continue
        try:
            chosen[name] = checked_value(f"{rule.id}.{name}", specs[name], printed[given])
        except ConfigError:
            unread.append(given)
    return rule.params(**chosen), tuple(sorted(unread))


def has_gpus(details: Mapping[RuleId, Details], datapoints: Mapping[RuleId, int]) -> bool:
    """Return whether any result saw a GPU; yes where it is unknown."""
    usage = details.get(RuleId("OverallSystemUsage"), {})
    if "GPU" in usage:
        return bool(usage["GPU"])
    seen = [count for rule_id, count in datapoints.items() if rule_id in _SAMPLED_GPU_RULES]
    return any(seen) if seen else True


def _lack(
    rule: AnyRule, counters: Counters, details: Details, params: Any, *, has_gpu: bool
) -> str:
    """Return why SageMaker's rule cannot have looked, or an empty text."""
    if rule.id in _GPU_RULES and not has_gpu:
        return "The job has no GPU."
    if rule.id == _BALANCE:
        loads = [node.get("workloads") for node in details.values() if isinstance(node, dict)]
        if loads and all(isinstance(load, dict) and len(load) < 2 for load in loads):
            return "Each node has one GPU: there is nothing to balance."
    if rule.id == "OverallFrameworkMetrics":
        seen = any(details.get(member) for member in _FRAMEWORK_MEMBERS)
        return "" if seen else "No framework metrics were recorded."
    patience = getattr(params, "patience", 0)
    if counters.datapoints > patience:
        return ""
    if not counters.datapoints:
        return "It saw no data."
    return too_short(counters.datapoints, patience=patience)
