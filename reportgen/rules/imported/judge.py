"""From SageMaker's five keys to a result, through the rule's own ``from_details``."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reportgen.results import Counters, Details, Reason, ReasonCode, RuleId, RuleResult, Status
from reportgen.rules.base import AnyRule, Presentation, param_values
from reportgen.rules.imported.parameters import parse_parameters
from reportgen.rules.imported.remarks import remarks_on
from reportgen.rules.imported.unused import GpuUse, felt_details
from reportgen.rules.runner import Failure, guarded, present_details, with_about
from reportgen.rules.saying.verdict import say_too_short
from reportgen.rules.saying.wording import say_times

logger = logging.getLogger(__name__)

GPU_RULES = frozenset(
    {
        "BatchSize",
        "CPUBottleneck",
        "GPUMemoryIncrease",
        "IOBottleneck",
        "LoadBalancing",
        "LowGPUUtilization",
    }
)
_FRAMEWORK_MEMBERS = ("ratio", "phase", "general")


def judge_imported(
    rule: AnyRule,
    counters: Counters,
    details: Details,
    rule_parameters: str,
    *,
    has_gpu: bool,
    use: GpuUse | None = None,
) -> RuleResult:
    """Return the result of a rule that SageMaker ran.

    Status (DESIGN §3): ``triggered`` when it triggered; else ``skipped`` when there was no GPU,
    or no more datapoints than its patience; else ``ok``. The five keys stay as they are; findings
    leave out the GPUs that the job does not use by ``use``.

    Edge cases: details of another shape than the rule's make the result ``failed``.
    """
    read = parse_parameters(rule, rule_parameters)
    lack = _lack(rule, counters, details, read.params, has_gpu=has_gpu)
    sentences = ["Computed by SageMaker."]
    shown: Any = Presentation()
    if lack and not counters.rule_triggered:
        status, sentences = Status.SKIPPED, [lack, *sentences]
    else:
        status = Status.TRIGGERED if counters.rule_triggered else Status.OK
    if status is not Status.SKIPPED:
        sentences += remarks_on(rule.id, counters, details)
    shown = _presented(rule, counters, details, read.params, use or {})
    if read.unread:
        names = ", ".join(read.unread)
        sentences.append(f"Its parameters {names} could not be read; the defaults are assumed.")
    code = ReasonCode.IMPORTED
    if isinstance(shown, Failure):
        status, code, sentences = Status.FAILED, ReasonCode.ERROR, [_misshapen(counters, shown)]
        shown = Presentation()
    result = RuleResult(
        id=rule.id,
        status=status,
        reason=Reason(code=code, text=" ".join(sentences)),
        counters=counters,
        details=details,
        rule_parameters=rule_parameters,
        params=param_values(read.params),
        findings=shown.findings if status is not Status.SKIPPED else (),
        exhibits=shown.exhibits,
    )
    return with_about(result, rule)


def _presented(
    rule: AnyRule, counters: Counters, details: Details, params: Any, use: GpuUse
) -> Any:
    """Return exhibits of all that SageMaker wrote, and findings of what the job felt."""
    shown = guarded(rule, "present", present_details, rule, counters, details, params)
    felt = felt_details(rule.id, details, use)
    if felt == details or isinstance(shown, Failure):
        return shown
    said = guarded(rule, "present", present_details, rule, counters, felt, params)
    return said if isinstance(said, Failure) else replace(shown, findings=said.findings)


def _misshapen(counters: Counters, failure: Failure) -> str:
    return (
        f"SageMaker's rule triggered {say_times(counters.rule_triggered, 'time')}, but its details "
        f"are not of the shape that it writes and cannot be shown. ({failure.text})"
    )


def has_gpus(details: Mapping[RuleId, Details], datapoints: Mapping[RuleId, int]) -> bool:
    """Return whether any result saw a GPU; where none can tell, yes."""
    usage = details.get(RuleId("OverallSystemUsage"), {})
    if "GPU" in usage:
        return bool(usage["GPU"])
    seen: Sequence[int] = [
        count
        for rule_id, count in datapoints.items()
        if rule_id in {"LowGPUUtilization", "GPUMemoryIncrease", "LoadBalancing"}
    ]
    return any(seen) if seen else True


def _lack(
    rule: AnyRule, counters: Counters, details: Details, params: Any, *, has_gpu: bool
) -> str:
    """Return why SageMaker's rule cannot have looked, or an empty text."""
    if rule.id in GPU_RULES and not has_gpu:
        return "The job has no GPU."
    if rule.id == "LoadBalancing" and _has_single_gpus(details):
        return "Each node has one GPU: there is nothing to balance."
    if rule.id == "OverallFrameworkMetrics":
        seen = any(details.get(member) for member in _FRAMEWORK_MEMBERS)
        return "" if seen else "No framework metrics were recorded."
    patience = getattr(params, "patience", 0)
    if counters.datapoints > patience:
        return ""
    if not counters.datapoints:
        return "It saw no data."
    return say_too_short(counters.datapoints, patience=patience)


def _has_single_gpus(details: Details) -> bool:
    loads = [node.get("workloads") for node in details.values() if isinstance(node, dict)]
    return bool(loads) and all(isinstance(load, dict) and len(load) < 2 for load in loads)
