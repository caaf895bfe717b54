"""How a rule stands, in a word and a kind: "found nothing" and "could not look" stay apart."""

from __future__ import annotations

from collections import Counter

from reportgen.report import Report
from reportgen.results import ReasonCode, RuleId, Severity, Status
from reportgen.views.blocks import State
from reportgen.views.outline import SECTION_OF_RULE, is_of_traces, section_id_of
from reportgen.views.profiling import was_asked_for, why_absent

MILDEST_FIRST = ("skipped", "ok", "info", "warning", "failed", "critical")

_OPTIONAL = frozenset({"Collectives", "HorovodNegotiation", "PythonFunctions"})
"""Rules about what most jobs neither use nor record; they apply where it was asked for."""

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

_OF_ANY_GPU = RuleId("LowGPUUtilization")
"""Its rule looks at each GPU by itself."""

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
_TOO_FEW_EVENTS_HINT = "Profile for longer."
_NO_SAMPLES_HINT = (
    "To record them, leave SageMaker's profiler on: it samples the machines unless it is disabled."
)
_OF_SAMPLES = frozenset({"GPUTimeBudget", "OverallSystemUsage"})
"""Rules that count samples without a patience."""
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
        word = "could not look" if is_applicable(rule_id, report) else "not applicable"
        return State(kind="skipped", word=word)
    counts = Counter(item.finding.severity for item in report.findings if item.rule == rule_id)
    worst = next((severity for severity in Severity if counts[severity]), None)
    if worst in {Severity.CRITICAL, Severity.WARNING}:
        assert worst is not None
        plural = "s" if worst is Severity.WARNING and counts[worst] > 1 else ""
        return State(kind=worst.value, word=f"{counts[worst]} {worst.value}{plural}")
    if entry.status is Status.TRIGGERED:
        return State(kind="info", word="triggered")
    return State(kind="ok", word="ok")


def is_applicable(rule_id: str, report: Report) -> bool:
    """Return whether a rule looks at something that this kind of job has.

    One that does not apply has nothing to say about the job; one that could not look lacks data.
    Samples show whether a job has a GPU; a trace without one may only have left it out.
    """
    entry = report.rules[RuleId(rule_id)]
    if entry.status is not Status.SKIPPED or entry.reason is None:
        return True
    if entry.reason.code is ReasonCode.NO_GPU:
        return is_of_traces(report)
    if entry.reason.code is not ReasonCode.NO_EVENTS or rule_id not in _OPTIONAL:
        return True
    return was_asked_for(rule_id, report)


def _has_gpu(report: Report) -> bool:
    """Return whether samples of a GPU were judged, or were too few: a rule may need several."""
    entry = report.rules.get(_OF_ANY_GPU)
    return entry is not None and (
        entry.reason is None or entry.reason.code is not ReasonCode.NO_GPU
    )


def link_to(rule_id: str, report: Report) -> str:
    """Return where a rule's section stands; empty where it has none.

    Rules of plugins and of optional ways of training have one only where they apply.
    """
    is_shown = rule_id in SECTION_OF_RULE or is_applicable(rule_id, report)
    return f"#{section_id_of(rule_id)}" if is_shown else ""


def hint_of(rule_id: str, report: Report) -> str:
    """Return how to get what a rule lacked, or an empty text."""
    entry = report.rules[RuleId(rule_id)]
    if entry.status is Status.FAILED:
        return _ERROR_HINT
    if entry.status is not Status.SKIPPED or entry.reason is None:
        return ""
    if rule_id in _TRACE_HINTS or is_of_traces(report):
        return _TRACE_HINTS.get(rule_id, "")
    if entry.reason.code is ReasonCode.NO_GPU and _has_gpu(report):
        return ""
    hint = _HINTS.get(entry.reason.code, "")
    if entry.reason.code is ReasonCode.NO_EVENTS:
        hint = _RULE_HINTS.get(rule_id, hint)
    if entry.reason.code in _UNRECORDED:
        hint = f"{why_absent(rule_id, report)} {hint}".strip()
    result = report.results.get(RuleId(rule_id))
    if entry.reason.code is ReasonCode.TOO_FEW_SAMPLES and result:
        has_patience = "patience" in result.params
        if not has_patience and rule_id not in _OF_SAMPLES:
            return _TOO_FEW_EVENTS_HINT
        if report.sampling_interval_ms is None:
            return _NO_SAMPLES_HINT
        return hint + _PATIENCE_HINT.format(rule_id=rule_id) if has_patience else hint
    return hint
