"""How a rule stands, in a word and a kind: "found nothing" and "could not look" stay apart."""

from __future__ import annotations

from collections import Counter

from reportgen.report import Report
from reportgen.results import ReasonCode, RuleId, Severity, Status
from reportgen.views.blocks import State
from reportgen.views.outline import is_of_traces
from reportgen.views.profiling import why_absent

MILDEST_FIRST = ("skipped", "ok", "info", "warning", "failed", "critical")

_TRACE_HINTS: dict[str, str] = {
    "GPUActivity": "Trace a job that uses a GPU, with ProfilerActivity.CUDA as an activity.",
    "StepTime": "Call prof.step() at the end of each training step.",
    "Collectives": (
        "Trace several ranks of the job (each writes its own file) and put the files into one "
        "folder."
    ),
    "OperatorTime": "Trace with ProfilerActivity.CPU as an activity.",
    "Annotations": 'Mark parts of the script: with torch.profiler.record_function("name"): …',
}
"""How to record with the PyTorch profiler what a rule over kernel traces lacked."""

_HINTS: dict[ReasonCode, str] = {
    ReasonCode.NO_GPU: (
        "The job's nodes report no GPU. If there should be one, check the instance type and that "
        "the framework was built with GPU support."
    ),
    ReasonCode.NO_STEPS: (
        "To record steps, switch framework profiling on: pass a FrameworkProfile in the job's "
        "ProfilerConfig (PyTorch before 2.0, TensorFlow before 2.12)."
    ),
    ReasonCode.NO_FRAMEWORK_METRICS: (
        "To record them, pass a FrameworkProfile in the job's ProfilerConfig (PyTorch before 2.0, "
        "TensorFlow before 2.12)."
    ),
    ReasonCode.NO_EVENTS: (
        "Framework events were recorded, but none that this check reads: profile data loading or "
        "the operators too, in the job's FrameworkProfile."
    ),
    ReasonCode.TOO_FEW_SAMPLES: (
        "Profile for longer, or more often: the sampling interval may be as short as 100 ms."
    ),
}
_UNRECORDED = frozenset(
    {ReasonCode.NO_STEPS, ReasonCode.NO_FRAMEWORK_METRICS, ReasonCode.NO_EVENTS}
)
"""Reasons that a look at the profiler's configuration may explain."""

_RULE_HINTS: dict[str, str] = {
    "PythonFunctions": (
        "To record them, pass a PythonProfilingConfig in the job's FrameworkProfile: it runs "
        "cProfile or pyinstrument over the steps that you name."
    ),
    "HorovodNegotiation": "",
}
"""How to record what a rule over one kind of event lacked; empty where its reason says it."""

_PATIENCE_HINT = " Or judge with fewer samples: --set {rule_id}.patience=N."
_ERROR_HINT = "The other checks are not affected. Run with --verbose to see where it broke."


def rule_state(rule_id: str, report: Report) -> State:
    """Return a rule's state: its worst finding if it has any, else its status.

    Source: CONVENTIONS, ``ok`` means "looked and found nothing".
    """
    entry = report.rules[RuleId(rule_id)]
    if entry.status is Status.FAILED:
        return State(kind="failed", word="failed")
    if entry.status is Status.SKIPPED:
        return State(kind="skipped", word="could not look")
    counts = Counter(item.finding.severity for item in report.findings if item.rule == rule_id)
    worst = next((severity for severity in Severity if counts[severity]), None)
    if worst in {Severity.CRITICAL, Severity.WARNING}:
        assert worst is not None
        plural = "s" if worst is Severity.WARNING and counts[worst] > 1 else ""
        return State(kind=worst.value, word=f"{counts[worst]} {worst.value}{plural}")
    if entry.status is Status.TRIGGERED:
        return State(kind="info", word="triggered")
    return State(kind="ok", word="ok")


def hint_of(rule_id: str, report: Report) -> str:
    """Return how to get what a rule lacked, or an empty text."""
    entry = report.rules[RuleId(rule_id)]
    if entry.status is Status.FAILED:
        return _ERROR_HINT
    if entry.status is not Status.SKIPPED or entry.reason is None:
        return ""
    if rule_id in _TRACE_HINTS or is_of_traces(report):
        return _TRACE_HINTS.get(rule_id, "")
    hint = _HINTS.get(entry.reason.code, "")
    if entry.reason.code is ReasonCode.NO_EVENTS:
        hint = _RULE_HINTS.get(rule_id, hint)
    if entry.reason.code in _UNRECORDED:
        hint = f"{why_absent(rule_id, report)} {hint}".strip()
    result = report.results.get(RuleId(rule_id))
    if entry.reason.code is ReasonCode.TOO_FEW_SAMPLES and result and "patience" in result.params:
        hint += _PATIENCE_HINT.format(rule_id=rule_id)
    return hint
