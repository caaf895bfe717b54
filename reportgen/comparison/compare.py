"""Hold one report against another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reportgen.comparison.changes import finding_changes, metric_changes, moved
from reportgen.comparison.conditions import changed_settings, conditions_of, warnings_of, why_not
from reportgen.comparison.model import (
    Comparison,
    Condition,
    Job,
    PartDifference,
    StepDifference,
    Verdict,
    WaterfallPart,
)
from reportgen.comparison.resources import cost_changes, samples_per_s, usage_changes
from reportgen.comparison.runs import Run, run_of
from reportgen.comparison.steps import LEAST_RATIO, choose, difference_of_steps
from reportgen.comparison.waterfall import WORDS, waterfall
from reportgen.report import Report
from reportgen.text import format_difference, format_duration, join_names

_MOST_PARTS, _MOST_SETTINGS = 2, 4
_TELLING_RATIO = 0.2
"""A part that makes less than a fifth of a difference is not in its sentence."""
_CONFIRMING_RATIO = 0.5


def compare(
    before: Report, after: Report, *, labels: tuple[str, str] = ("before", "after")
) -> Comparison:
    """Return how ``after`` differs from ``before``.

    The verdict is one of four words. It is *faster* or *slower* only where the 99.8 % interval of
    the difference of medians leaves out zero (of few steps 99 %), and where the difference is
    larger than that of two runs of one job; else where the same holds for the means, or for a part
    of the steps that the means confirm.
    """
    runs = run_of(before, label=labels[0]), run_of(after, label=labels[1])
    if len({run.steps.knows_gaps for run in runs if run.steps}) > 1:
        first, second = (run_of(its.report, label=its.label, with_gaps=False) for its in runs)
        runs = first, second
    reason = why_not(*runs)
    step, parts, how = (None, (), "") if reason else _times(*runs)
    conditions = conditions_of(*runs, compared=how)
    verdict = Verdict.NOT_COMPARABLE if step is None else verdict_of(step)
    return Comparison(
        before=_job(runs[0]),
        after=_job(runs[1]),
        verdict=verdict,
        headline=_headline(verdict, step, labels),
        lead=reason if step is None else f"{_lead(verdict, step, parts)}{_changes(conditions)}",
        reason=reason,
        comparability=conditions,
        warnings=warnings_of(conditions),
        step=step,
        waterfall=parts,
        findings=finding_changes(before, after),
        usage=usage_changes(*runs),
        costs=cost_changes(*runs, step),
        metrics=metric_changes(before, after),
        moved=moved(*runs),
    )


def verdict_of(step: StepDifference) -> Verdict:
    """Return whether a difference is beyond noise, and in which direction.

    The medians decide. Where they do not differ the means do: what costs only some of the steps,
    such as a loader that delivers in bursts, leaves the median as it is. Where the whole varies too
    much, a part of the steps can still differ surely, and the mean of the whole as it does.
    """
    if is_median_beyond_noise(step):
        difference_s = step.difference_s
    elif is_mean_beyond_noise(step) or sure_part(step) is not None:
        difference_s = step.step_mean_difference_s
    else:
        return Verdict.NO_DIFFERENCE
    return Verdict.SLOWER if difference_s > 0 else Verdict.FASTER


def is_median_beyond_noise(step: StepDifference) -> bool:
    """Return whether the medians differ surely, and by more than runs of one job do."""
    p50_s = (step.before_p50_s + step.after_p50_s) / 2
    return _is_sure(step.certain_s) and abs(step.difference_s) > LEAST_RATIO * p50_s


def is_mean_beyond_noise(step: StepDifference) -> bool:
    """Return the same of the means."""
    return _is_sure(step.mean_interval_s) and abs(step.step_mean_difference_s) > _least_s(step)


def sure_part(step: StepDifference) -> PartDifference | None:
    """Return the part that changed most of those that changed surely and account for the whole.

    The mean of the whole must have changed as the part did, by half as much at least: waiting also
    grows where the GPU became faster.
    """
    whole_s = step.step_mean_difference_s
    sure = [
        part
        for part in step.parts
        if _is_sure(part.interval_s)
        and min(abs(part.difference_s), abs(whole_s)) > _least_s(step)
        and whole_s / part.difference_s >= _CONFIRMING_RATIO
    ]
    return max(sure, key=lambda part: abs(part.difference_s), default=None)


def _least_s(step: StepDifference) -> float:
    return LEAST_RATIO * (step.before_mean_s + step.after_mean_s) / 2


def _is_sure(interval_s: tuple[float, float]) -> bool:
    return interval_s[0] > 0 or interval_s[1] < 0


def _times(before: Run, after: Run) -> tuple[StepDifference, tuple[WaterfallPart, ...], str]:
    assert before.steps is not None
    assert after.steps is not None
    chosen = choose(before.steps, after.steps)
    step = difference_of_steps(before.steps, after.steps, chosen)
    step = replace(
        step,
        before_samples_per_s=samples_per_s(before, step.before_mean_s),
        after_samples_per_s=samples_per_s(after, step.after_mean_s),
    )
    parts = waterfall((before, chosen.before), (after, chosen.after))
    return step, parts, chosen.how


def _job(run: Run) -> Job:
    report = run.report
    return Job(
        label=run.label, name=report.job.name, source=report.job.source, report_id=report.report_id
    )


def _headline(verdict: Verdict, step: StepDifference | None, labels: tuple[str, str]) -> str:
    if step is None:
        return "These two jobs cannot be compared in time."
    times_s, which = (step.before_p50_s, step.after_p50_s), ""
    if verdict is not Verdict.NO_DIFFERENCE and not is_median_beyond_noise(step):
        times_s, which = (step.before_mean_s, step.after_mean_s), " in the mean"
    then, now = map(format_duration, times_s)
    times = f"a step takes {now} instead of {then}{which}{_rates(step)}"
    if verdict is Verdict.NO_DIFFERENCE:
        return f"No difference beyond noise: {times}."
    factor = max(times_s) / min(times_s) if min(times_s) else np.inf
    return f"“{labels[1]}” is {factor:.2f}× {verdict.value}: {times}."


def _of_part(part: PartDifference) -> str:
    low, high = map(format_difference, part.interval_s)
    return (
        f"The whole step varies too much to show it, but {WORDS[part.key]} changed by "
        f"{format_difference(part.difference_s)} per step (99.5 % interval {low} to {high})."
    )


def _changes(conditions: Sequence[Condition]) -> str:
    """Return a sentence on the settings that differ, which the change was probably about."""
    changed = [
        f"{item.what} from {item.before} to {item.after}" for item in changed_settings(conditions)
    ]
    return f" Settings that changed: {join_names(changed, most=_MOST_SETTINGS)}." if changed else ""


def _rates(step: StepDifference) -> str:
    """Return the samples per second of both, where both are known."""
    rates = step.before_samples_per_s, step.after_samples_per_s
    if None in rates:
        return ""
    return f", {rates[1]:,.4g} instead of {rates[0]:,.4g} samples per second"


def _lead(verdict: Verdict, step: StepDifference, parts: tuple[WaterfallPart, ...]) -> str:
    low, high = (100 * bound / step.before_p50_s for bound in step.interval_s)
    change = f"{100 * (step.ratio - 1):+.1f} %"
    sure = f"The medians differ by {change} (95 % interval {low:+.1f} to {high:+.1f} %)."
    if verdict is Verdict.NO_DIFFERENCE:
        least = 100 * step.least_s / step.before_p50_s
        return f"{sure} A change of {least:.1f} % or more would have shown."
    if not is_median_beyond_noise(step):
        part = None if is_mean_beyond_noise(step) else sure_part(step)
        sure = f"{sure} {_of_part(part) if part else 'Only some steps take another time.'}"
    total = step.step_mean_difference_s
    telling = [
        part
        for part in parts
        if part.difference_s * total > 0 and abs(part.difference_s) >= _TELLING_RATIO * abs(total)
    ][:_MOST_PARTS]
    if not telling:
        return f"{sure} No single part explains it."
    named = " and ".join(
        f"{part.part} ({format_difference(part.difference_s)})" for part in telling
    )
    return (
        f"{sure} Of {format_difference(total)} per step in the mean, the largest "
        f"{'part is' if len(telling) == 1 else 'parts are'} {named}."
    )
