"""Where SageMaker's numbers are known to be wrong: said beside them, never corrected.

They were observed by running SageMaker's rules of 2020 and seen in results of real jobs
(docs/rules.md, Imported results); docs/aws-differences.md holds the effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from reportgen.results import Counters, Details, JsonValue, RuleId
from reportgen.text import plural

_MEMORY = "_memory"
_CPU, _GPU = "cpu_functions", "gpu_functions"
_LAST_EDGE_PCT = 98


def remarks_on(rule_id: RuleId, counters: Counters, details: Details) -> tuple[str, ...]:
    """Return remarks for readers of one result, sentence by sentence."""
    remark = _REMARKS.get(rule_id)
    return tuple(remark(counters, details)) if remark else ()


def _bottlenecks(counters: Counters, details: Details) -> Iterator[str]:
    yield (
        "One busy or waiting core is enough for a bottleneck, samples more than 20 ms late count "
        "as separate datapoints, and nodes are not distinguished."
    )
    if counters.rule_triggered:
        yield "Durations below count an event once for each bottleneck that it spans."
    yield from _swapped(details)


def _swapped(details: Details) -> Iterator[str]:
    """Say that CPU and GPU changed places, where the listed sums show it."""
    sums = [_sum(details.get(name)) for name in ("CPU_total", "GPU_total")]
    ratio = details.get("ratio")
    if not isinstance(ratio, dict) or not all(sums):
        return
    cpu, gpu = (
        _sum({name: value for name, value in ratio.items() if name.startswith(device)})
        for device in (_CPU, _GPU)
    )
    if (cpu > gpu) != (sums[0] > sums[1]) and cpu != gpu:
        yield "The shares of CPU and GPU operators have changed places."
    elif cpu and gpu:
        yield "SageMaker's rule is known to exchange the shares of CPU and GPU operators."


def _batch_size(counters: Counters, details: Details) -> Iterator[str]:
    if not counters.rule_triggered:
        return
    yield "The time stamp is the first minute of the job, not that of the last violation."
    boxes = [
        box
        for node in details.values()
        if isinstance(node, dict)
        for name, box in node.items()
        if name.endswith(_MEMORY) and isinstance(box, dict)
    ]
    if any(_less(box.get("upper"), box.get("p75")) for box in boxes):
        yield "The whiskers of GPU memory are impossible: the upper one lies below the box."
    elif boxes:
        yield "The whiskers of GPU memory were computed with the quartile of GPU utilization."


def _balance(counters: Counters, details: Details) -> Iterator[str]:
    yield (
        "SageMaker's rule compares each GPU with itself only and can never trigger: no trigger "
        "here says nothing about the balance."
    )
    lost = {
        counters.datapoints - sum(count for count in bins if isinstance(count, int))
        for node in details.values()
        if isinstance(node, dict)
        for bins in _values(node.get("workloads"))
        if isinstance(bins, list)
    }
    worst = max(lost, default=0)
    if worst > 0:
        yield (
            f"Its histogram ends at {_LAST_EDGE_PCT} %: up to {plural(worst, 'sample')} of a "
            "GPU at 99 and 100 % are missing."
        )


def _steps(counters: Counters, details: Details) -> Iterator[str]:
    if not details.get("step_details"):
        return
    yield (
        "Only one phase of each process is kept; a step that crosses a full minute counts twice."
    )
    if counters.rule_triggered:
        yield "Violations add the same outliers again in every later minute."


def _loaders(counters: Counters, details: Details) -> Iterator[str]:
    if details and counters.datapoints:
        yield "Times mix waits for data with the life times of loader processes."


def _initialization(_: Counters, details: Details) -> Iterator[str]:
    yield "SageMaker's rule can never trigger, whatever the start-up took."
    if details.get("step_num"):
        yield "The end of the loop is where its last step begins."


def _framework(_: Counters, details: Details) -> Iterator[str]:
    phase = details.get("phase")
    others = phase.get("others") if isinstance(phase, dict) else None
    if _less(others, 0):
        yield "A negative share of others is SageMaker's mistake with several processes."
    elif others is not None:
        yield "“others” is only about half of the time between steps."


def _usage(counters: Counters, _: Details) -> Iterator[str]:
    if counters.datapoints:
        yield "Up to one minute of samples at the job's end is not in SageMaker's results."


_REMARKS: Mapping[str, Callable[[Counters, Details], Iterator[str]]] = {
    "BatchSize": _batch_size,
    "CPUBottleneck": _bottlenecks,
    "Dataloader": _loaders,
    "IOBottleneck": _bottlenecks,
    "LoadBalancing": _balance,
    "MaxInitializationTime": _initialization,
    "OverallFrameworkMetrics": _framework,
    "OverallSystemUsage": _usage,
    "StepOutlier": _steps,
}


def _values(tree: JsonValue) -> list[JsonValue]:
    return list(tree.values()) if isinstance(tree, dict) else []


def _sum(tree: JsonValue) -> float:
    return float(sum(value for value in _values(tree) if isinstance(value, int | float)))


def _less(value: JsonValue, limit: JsonValue) -> bool:
    return isinstance(value, int | float) and isinstance(limit, int | float) and value < limit
