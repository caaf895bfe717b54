"""Weigh the findings of all rules: name causes, hang symptoms below them, share out the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from reportgen.diagnosis.evidence import evidence_for
from reportgen.diagnosis.explanations import (
    EXPLAINS_RATIO,
    TELLERS,
    TIMED_BY,
    explaining,
    possible_causes,
    processes_of,
    severity_rank,
    share_of,
)
from reportgen.diagnosis.lost_time import parts_of, with_lost_time
from reportgen.results import Cause, Finding, RuleResult, Severity, Status

LARGER_BATCH = "BATCH-1"
BOTTLENECK_RULES = frozenset({"CPUBottleneck", "IOBottleneck", "NetworkBottleneck"})


def diagnose(results: Sequence[RuleResult]) -> tuple[RuleResult, ...]:
    """Return the results with findings that know what explains them and what they cost apart.

    A symptom names the causes at the root of it and points to the advice of the first. A cause is
    at least as severe as its worst symptom. Causes get an ``attributed_ratio``: parts of the loss
    that do not overlap; the GPU time budget shows them.
    """
    results = _without_larger_batch(results)
    findings = [finding for result in results for finding in result.findings]
    again = _told_before(results)
    n_processes = {id(finding): processes_of(finding, results) for finding in findings}
    of_one = {key for key, number in n_processes.items() if number == 1}
    # Of several processes that wait for each other, unequal use of their GPUs explains nothing.
    causes = [finding for finding in findings if n_processes[id(finding)] <= 1]
    roots = {id(finding): _roots(finding, causes, again, of_one) for finding in findings}
    raised = {id(finding): _raised(finding, findings, roots) for finding in findings}
    faults = [
        item
        for item in findings
        if share_of(item) and not roots[id(item)] and raised[id(item)] is not Severity.INFO
    ]
    attributed = parts_of(faults, results)
    diagnosed = [
        replace(
            result,
            findings=tuple(
                _symptom(item, roots[id(item)])
                if roots[id(item)]
                else _cause(item, raised[id(item)], attributed.get(id(item)), results)
                for item in result.findings
            ),
        )
        if result.findings
        else result
        for result in results
    ]
    findings = [finding for result in diagnosed for finding in result.findings]
    return tuple(with_lost_time(result, findings) for result in diagnosed)


def _without_larger_batch(results: Sequence[RuleResult]) -> Sequence[RuleResult]:
    """Return the results without advice of a larger batch where a bottleneck rule triggered."""
    triggered = {str(result.id) for result in results if result.status is Status.TRIGGERED}
    if not triggered & BOTTLENECK_RULES:
        return results
    return [
        replace(result, findings=tuple(item for item in result.findings if item.id != LARGER_BATCH))
        for result in results
    ]


def _told_before(results: Sequence[RuleResult]) -> Mapping[int, Finding]:
    """Return for each finding the one that reports its cause, if that is another one.

    A cause is reported once: by the rule that timed the waits of the loop, else by the worst
    finding about it, of equally bad ones by that of the rule that looks for this cause, then by the
    costliest. A rule takes precedence only with half of what the cause may cost. Findings with the
    id of that one stay beside it: a rule that reports twice means two faults, rhythms or places.
    """
    every = sorted((item for result in results for item in result.findings), key=share_of)
    most = {item.cause: share_of(item) for item in every}
    tellers = dict[str, tuple[tuple[bool, int, bool, float], Finding]]()
    for result in results:
        for item in result.findings:
            is_most = share_of(item) >= EXPLAINS_RATIO * most[item.cause]
            is_expert = TELLERS.get(item.cause) == result.id and is_most
            is_timed = result.id == TIMED_BY and item.severity is not Severity.INFO and is_most
            weight = (not is_timed, severity_rank(item), not is_expert, -share_of(item))
            if item.cause not in tellers or weight < tellers[item.cause][0]:
                tellers[item.cause] = (weight, item)
    return {
        id(item): tellers[item.cause][1]
        for result in results
        for item in result.findings
        if item.cause != Cause.OBSERVATION and item.id != tellers[item.cause][1].id
    }


def _roots(
    finding: Finding,
    findings: Sequence[Finding],
    told_before: Mapping[int, Finding],
    apart: AbstractSet[int],
) -> list[Finding]:
    reached, ends = [finding], []
    for item in reached:
        teller = told_before.get(id(item))
        causes = [*explaining(item, findings, apart), *([teller] if teller else [])]
        if not causes and item is not finding:
            ends.append(item)
        reached += [other for other in causes if all(other is not seen for seen in reached)]
    return sorted(ends, key=lambda item: (severity_rank(item), -share_of(item)))


def _raised(
    finding: Finding, findings: Sequence[Finding], roots: Mapping[int, Sequence[Finding]]
) -> Severity:
    """Return the severity of a finding: a cause is at least as severe as what it explains.

    A cost that is unknown raises no severity, be it that of the cause or that of its symptom.
    """
    if finding.estimate is None:
        return finding.severity
    symptoms = [
        item
        for item in findings
        if item.estimate and any(finding is root for root in roots[id(item)])
    ]
    return min((finding, *symptoms), key=severity_rank).severity


def _symptom(finding: Finding, roots: Sequence[Finding]) -> Finding:
    is_same = roots[0].cause == finding.cause
    relation = (
        "both findings have the same cause" if is_same else "this is probably an effect of it"
    )
    return replace(
        finding,
        symptom_of=tuple(dict.fromkeys(root.id for root in roots)),
        advice=f"Do first what {roots[0].id} advises: {relation}.",
    )


def _cause(
    finding: Finding, severity: Severity, attributed: float | None, results: Sequence[RuleResult]
) -> Finding:
    evidence = () if severity is Severity.INFO else evidence_for(finding, results)
    return replace(
        finding,
        severity=severity,
        attributed_ratio=attributed,
        evidence=evidence,
        possible_causes=possible_causes(finding, results),
    )
