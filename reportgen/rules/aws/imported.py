"""From SageMaker's five keys to a result: its numbers are shown, not judged again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reportgen import results
from reportgen.errors import ConfigError
from reportgen.results import AwsResult, Counters, Reason, ReasonCode, RuleId, Severity, Status
from reportgen.rules.aws.bottleneck_tables import gpu_samples
from reportgen.rules.aws.details import mapping_of
from reportgen.rules.aws.shown import exhibits_of_details
from reportgen.rules.base import AnyRule, Need, param_specs, param_values
from reportgen.rules.kit import Message, too_short
from reportgen.rules.runner import Failure, guarded, with_about
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

_KNOWN: Mapping[str, str] = dict.fromkeys(
    _BOTTLENECK_RULES,
    """One busy or waiting core is enough for a bottleneck, late samples count as separate
        datapoints, and nodes are not distinguished.""",
)
_NEVER: Mapping[str, str] = {
    _BALANCE: "SageMaker's rule compares each GPU with itself only and can never trigger.",
    "MaxInitializationTime": "SageMaker's rule can never trigger, whatever the start-up took.",
}
"""Mistakes of SageMaker's rules that change how their status reads, and those by which a rule does
not look; docs/rules.md has all."""
_FOLLOWS_LOAD = frozenset({"GPUMemoryIncrease"})
"""The activity of the memory controller rises with any load: a trigger is a reading."""
SEVERAL = ": it may count several for one datapoint"
TRIGGERED = Message(
    id="",
    severity=Severity.WARNING,
    title="{rule.title}: SageMaker's rule triggered {counters.rule_triggered:count time}",
    text="""SageMaker's {rule.id} saw {counters.datapoints:count datapoint} and counted
        {counters.violations:count violation}{part}. It checks {checks} These results
        do not show what the job lost by it.""",
    advice="",
    unit="% of the datapoints",
)


def judge_imported(
    rules: Sequence[AnyRule], found: Mapping[RuleId, AwsResult]
) -> tuple[results.RuleResult, ...]:
    """Return the results of the rules that SageMaker ran, in the order of ``rules``."""
    ran = [(rule, found[rule.id]) for rule in rules if rule.id in found]
    has_gpu = has_gpus(found)
    has_events = any(_reads_events(rule) and item.counters.datapoints for rule, item in ran)
    return _with_gpu_samples(
        [judge_one(rule, item, has_gpu=has_gpu, has_events=has_events) for rule, item in ran]
    )


def judge_one(
    rule: AnyRule, found: AwsResult, *, has_gpu: bool, has_events: bool
) -> results.RuleResult:
    """Return the result of a rule that SageMaker ran: its five keys, drawn, and its trigger.

    Status: ``triggered`` when it triggered; else ``skipped`` when there was no GPU, no more
    datapoints than its patience, or a rule that can never trigger; else ``ok`` (docs/rules.md,
    Imported results).

    Edge cases: details of another shape than the rule's make the result ``failed``.
    """
    n_triggered = found.counters.rule_triggered
    params, unread = parse_parameters(rule, found.rule_parameters)
    lack = _lack(rule, found, params, has_gpu=has_gpu, has_events=has_events)
    lack = None if n_triggered else lack
    status = Status.TRIGGERED if n_triggered else Status.SKIPPED if lack else Status.OK
    shown = guarded(rule, "present", _shown, found, params)
    if isinstance(shown, Failure):
        text = write(MISSHAPEN, n=n_triggered, why=shown.text)
        status, reason, shown = Status.FAILED, Reason(code=ReasonCode.ERROR, text=text), ()
    else:
        reason = _reason(rule, lack, unread)
    result = results.RuleResult(
        id=rule.id,
        status=status,
        reason=reason,
        counters=found.counters,
        details=found.details,
        rule_parameters=found.rule_parameters,
        params=param_values(params),
        findings=(_trigger(rule, found.counters),) if status is Status.TRIGGERED else (),
        exhibits=shown,
    )
    return with_about(result, rule)


def _reason(rule: AnyRule, lack: Reason | None, unread: Sequence[str]) -> Reason:
    """Return why a result reads as it does: what it lacks, or what is known of SageMaker's rule."""
    known = lack.text if lack else _KNOWN.get(rule.id, "")
    sentences = [known, "Computed by SageMaker."] if lack else ["Computed by SageMaker.", known]
    if unread:
        names = ", ".join(unread)
        sentences.append(f"Its parameters {names} could not be read; the defaults are assumed.")
    code = lack.code if lack else ReasonCode.IMPORTED
    return Reason(code=code, text=write(" ".join(filter(None, sentences))))


def _shown(found: AwsResult, params: Any) -> tuple[results.Exhibit, ...]:
    return tuple(exhibits_of_details(found.counters, found.details, params))


def _trigger(rule: AnyRule, counters: Counters) -> results.Finding:
    """Return what SageMaker's rule says by triggering, with its counters."""
    is_share = counters.violations <= counters.datapoints
    percent = 100 * counters.violations / max(counters.datapoints, 1)
    part = write(" ({of:pct})", of=percent) if is_share else SEVERAL
    unit = TRIGGERED.unit if is_share else "violations"
    first_check = rule.about.checks.partition(".")[0]
    first_advice = f"{rule.about.advice.partition(';')[0].rstrip('.')}."
    return replace(TRIGGERED, id=rule.id, unit=unit, advice=first_advice).finding(
        measured=percent if is_share else float(counters.violations),
        severity=Severity.INFO if rule.id in _FOLLOWS_LOAD else None,
        rule=rule,
        checks=f"{first_check[0].lower()}{first_check[1:]}.",
        counters=counters,
        part=part,
    )


def with_declarations(
    found: Mapping[RuleId, results.RuleResult],
) -> dict[RuleId, results.RuleResult]:
    """Return results of formats before 3 with what the built-in rules declare."""
    from reportgen.rules.registry import BUILTIN_RULES

    rules = {RuleId(name): rule for rule in BUILTIN_RULES for name in rule.former_ids}
    rules |= {rule.id: rule for rule in BUILTIN_RULES}
    return {
        name: with_about(result, rules[name])
        if name in rules and (result.about is None or not result.about.needs)
        else result
        for name, result in found.items()
    }


def _with_gpu_samples(found: Sequence[results.RuleResult]) -> tuple[results.RuleResult, ...]:
    """Add the pie of both bottleneck rules, from the times that SageMaker's details list."""
    by_id = {item.id: item for item in found}
    cpu, io = (by_id.get(RuleId(name)) for name in _BOTTLENECK_RULES)
    if cpu is None or io is None or cpu.exhibit("gpu_samples"):
        return tuple(found)
    times = [item.details.get("bottlenecks") for item in (cpu, io)]
    n_low = cpu.details.get("low_gpu_utilization")
    if not all(isinstance(item, dict) for item in times) or not isinstance(n_low, int):
        return tuple(found)
    busy, waiting = (set(mapping_of(item)) for item in times)
    counts = [len(busy - waiting), len(waiting - busy), len(busy & waiting)]
    counts += [n_low - sum(counts), cpu.counters.datapoints - n_low]
    if min(counts) < 0 or not sum(counts):
        return tuple(found)
    shown = replace(cpu, exhibits=(gpu_samples(counts, caption=_SAMPLES_BY_TIME), *cpu.exhibits))
    return tuple(shown if item is cpu else item for item in found)


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


def has_gpus(found: Mapping[RuleId, AwsResult]) -> bool:
    """Return whether any result saw a GPU; yes where it is unknown."""
    usage = found.get(RuleId("OverallSystemUsage"))
    if usage is not None and "GPU" in usage.details:
        return bool(usage.details["GPU"])
    seen = [item.counters.datapoints for name, item in found.items() if name in _SAMPLED_GPU_RULES]
    return any(seen) if seen else True


def _reads_events(rule: AnyRule) -> bool:
    """Return whether the datapoints of a rule are framework events."""
    return Need.FRAMEWORK in rule.needs


def _lack(
    rule: AnyRule, found: AwsResult, params: Any, *, has_gpu: bool, has_events: bool
) -> Reason | None:
    """Return why SageMaker's rule cannot have looked, or ``None`` where it did."""
    if rule.id in _GPU_RULES and not has_gpu:
        return Reason(code=ReasonCode.NO_GPU, text="The job has no GPU.")
    if rule.id == _BALANCE:
        loads = [node.get("workloads") for node in found.details.values() if isinstance(node, dict)]
        if loads and all(isinstance(load, dict) and len(load) < 2 for load in loads):
            text = "Each node has one GPU: there is nothing to balance."
            return Reason(code=ReasonCode.NO_GPU, text=text)
    if rule.id == "OverallFrameworkMetrics":
        seen = any(found.details.get(member) for member in _FRAMEWORK_MEMBERS)
        text = "No framework metrics were recorded."
        return None if seen else Reason(code=ReasonCode.NO_FRAMEWORK_METRICS, text=text)
    patience, datapoints = getattr(params, "patience", 0), found.counters.datapoints
    if datapoints > patience:
        never = _NEVER.get(rule.id)
        return Reason(code=ReasonCode.IMPORTED, text=never) if never else None
    if not datapoints:
        without = ReasonCode.NO_EVENTS if has_events else ReasonCode.NO_FRAMEWORK_METRICS
        code = without if _reads_events(rule) else ReasonCode.NOT_SAMPLED
        return Reason(code=code, text="It saw no data.")
    return too_short(datapoints, patience=patience)
