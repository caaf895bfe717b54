"""How a rule stands, in a word and a kind: "found nothing" and "did not look" stay apart."""

from __future__ import annotations

from collections import Counter

from reportgen.report import DataKind, Report, data_kind
from reportgen.results import Cause, ReasonCode, RuleId, Severity, Status
from reportgen.text import verb
from reportgen.views.cell_output import State
from reportgen.views.outline import KERNELS, SYSTEM, about_of, is_drawn, is_of_traces
from reportgen.views.recording import MONITORED_HINT, NO_STEPS_HINT, was_asked_for, why_not_recorded

NOT_RECORDED, TOO_FEW, DOES_NOT_APPLY = "not recorded", "too few data", "does not apply"
NOT_JUDGED = "not judged"
"""The only four words for a check that did not look; docs/glossary.md says what they mean."""
MILDEST_FIRST = ("skipped", "ok", "info", "warning", "failed", "critical")

_HINTS: dict[ReasonCode, str] = {
    ReasonCode.NO_GPU: (
        "If there should be one, check that the framework was built with GPU support and, in a "
        "cloud, the instance type."
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
    ReasonCode.IMPORTED: (
        "To have it judged, make the report from what the profiler recorded: the job's "
        "profiler-output."
    ),
    ReasonCode.TOO_FEW_SAMPLES: (
        "Record a longer part of the job, or sample more often (the shortest interval is 100 ms)."
    ),
}
_WORDS: dict[ReasonCode | None, str] = {
    ReasonCode.TOO_FEW_SAMPLES: TOO_FEW,
    ReasonCode.IMPORTED: NOT_JUDGED,
}
_TOO_FEW_EVENTS_HINT = "Profile for longer."
_NO_SAMPLES_HINT = "Leave SageMaker's profiler on: it samples the machines unless it is disabled."
_INSTALL_HINT = "To sample the machine, install make-profiler-report with its extra record."
_UNRECORDED = frozenset(
    {ReasonCode.NO_STEPS, ReasonCode.NO_FRAMEWORK_METRICS, ReasonCode.NO_EVENTS}
)
"""Reasons that a look at the profiler's configuration may explain."""
_MONITORED = dict.fromkeys({*_UNRECORDED, ReasonCode.NOT_SAMPLED}, MONITORED_HINT) | {
    ReasonCode.TOO_FEW_SAMPLES: (
        "Sample a longer part of the job. What its monitor leaves out, this command records: "
        "reportgen record -- python train.py"
    )
}

_PATIENCE_HINT = (
    " To judge with fewer samples, run make-profiler-report with --set {rule_id}.patience=N, where "
    "N is less than the number of samples."
)
_ERROR_HINT = "The other checks are not affected. Run with --verbose to see where it broke."


def rule_state(rule_id: str, report: Report) -> State:
    """Return a rule's state: its worst finding if it has any, else its status.

    ``ok`` means "looked and found nothing"; one that names a cause of lost time is no ``ok``.
    """
    entry = report.rules[RuleId(rule_id)]
    if entry.status is Status.FAILED:
        return State(kind="failed", word="failed")
    if entry.status is Status.SKIPPED:
        code = entry.reason.code if entry.reason else None
        is_outside = code is ReasonCode.NO_GPU and not is_applicable(rule_id, report)
        word = DOES_NOT_APPLY if is_outside else _WORDS.get(code, NOT_RECORDED)
        return State(kind="skipped", word=word)
    found = [item.finding for item in report.findings if item.rule == rule_id]
    counts = Counter(item.severity for item in found)
    worst = next((severity for severity in Severity if counts[severity]), None)
    if worst in {Severity.CRITICAL, Severity.WARNING}:
        assert worst is not None
        plural = "s" if worst is Severity.WARNING and counts[worst] > 1 else ""
        return State(kind=worst.value, word=f"{counts[worst]} {worst.value}{plural}")
    if entry.status is Status.TRIGGERED:
        return State(kind="info", word="triggered")
    if any(item.cause != Cause.OBSERVATION for item in found):
        return State(kind="info", word=f"{counts[Severity.INFO]} info")
    return State(kind="ok", word="ok")


def is_applicable(rule_id: str, report: Report) -> bool:
    """Return whether a rule looks at something that this kind of job has.

    One that does not apply has nothing to say about the job; another skipped one lacks data.
    Samples show whether a job has a GPU; a trace without one may only have left it out.
    """
    entry, about = report.rules[RuleId(rule_id)], about_of(rule_id, report)
    if entry.status is not Status.SKIPPED or entry.reason is None:
        return True
    if entry.reason.code is ReasonCode.NO_GPU:
        return is_of_traces(report)
    if entry.reason.code is not ReasonCode.NO_EVENTS or not about.is_optional:
        return True
    return was_asked_for(about.recorded_by, report)


def counts_of_unlooked(report: Report) -> list[str]:
    """Return how many checks did not look, by the word for it: ``8 do not apply``."""
    words = Counter(
        rule_state(rule_id, report).word
        for rule_id, entry in report.rules.items()
        if entry.status is Status.SKIPPED
    )
    said = {NOT_RECORDED: NOT_RECORDED, NOT_JUDGED: NOT_JUDGED, TOO_FEW: f"with {TOO_FEW}"}
    said[DOES_NOT_APPLY] = verb(words[DOES_NOT_APPLY], "do not apply", DOES_NOT_APPLY)
    return [f"{words[word]} {text}" for word, text in said.items() if words[word]]


def is_listed(rule_id: str, report: Report) -> bool:
    """Return whether a rule did not look and has no exhibit: it is in a list, not in a section."""
    entry, result = report.rules[RuleId(rule_id)], report.results.get(RuleId(rule_id))
    is_empty = result is None or not any(is_drawn(item) for item in result.exhibits)
    return entry.status is Status.SKIPPED and entry.reason is not None and is_empty


def hint_of(rule_id: str, report: Report) -> str:
    """Return how to get what a rule lacked, or an empty text."""
    entry, about = report.rules[RuleId(rule_id)], about_of(rule_id, report)
    if entry.status is Status.FAILED:
        return _ERROR_HINT
    if entry.status is not Status.SKIPPED or entry.reason is None:
        return ""
    code = entry.reason.code
    if about.needs == (KERNELS,) or is_of_traces(report):
        return about.hint_when_skipped or ""
    if report.recording is not None and report.recording.monitored_by and code in _MONITORED:
        hint = about.hint_when_skipped if code is ReasonCode.NO_EVENTS else None
        return _MONITORED[code] if hint is None else hint
    if code is ReasonCode.NOT_SAMPLED:
        return _hint_to_sample(report)
    if code is ReasonCode.TOO_FEW_SAMPLES and rule_id in report.results:
        return _hint_for_samples(rule_id, about.needs, report)
    hint = _HINTS.get(code, "")
    is_known = code is ReasonCode.NO_EVENTS or (
        code is ReasonCode.NO_GPU and not _others_lack_gpu(rule_id, report)
    )
    if code in _UNRECORDED and report.recording is not None:
        return "" if report.recording.step_sources else NO_STEPS_HINT
    if is_known and about.hint_when_skipped is not None and report.recording is None:
        hint = about.hint_when_skipped
    if code in _UNRECORDED:
        hint = f"{why_not_recorded(about.recorded_by, report)} {hint}".strip()
    return hint


def _others_lack_gpu(rule_id: str, report: Report) -> bool:
    """Return whether another rule lacks a GPU too; else the job has one, but not enough of them."""
    return any(
        entry.reason is not None and entry.reason.code is ReasonCode.NO_GPU
        for other_id, entry in report.rules.items()
        if other_id != rule_id
    )


def _hint_to_sample(report: Report) -> str:
    if report.sampling_interval_ms is not None:  # of other quantities
        return MONITORED_HINT
    return _NO_SAMPLES_HINT if report.recording is None else _INSTALL_HINT


def _hint_for_samples(rule_id: str, needs: tuple[str, ...], report: Report) -> str:
    is_ours = data_kind(report.results) is not DataKind.IMPORTED
    has_patience = is_ours and "patience" in report.results[RuleId(rule_id)].params
    if not has_patience and needs[:1] != (SYSTEM,):
        return _TOO_FEW_EVENTS_HINT
    hint = _HINTS[ReasonCode.TOO_FEW_SAMPLES]
    return hint + _PATIENCE_HINT.format(rule_id=rule_id) if has_patience else hint
