"""Hold one report against another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reportgen.comparison.changes import finding_changes, metric_changes, moved
from reportgen.comparison.conditions import changed_settings, conditions_of, warnings_of, why_not
from reportgen.comparison.model import (
    ComparedJob,
    Comparison,
    Condition,
    PartDifference,
    StepDifference,
    Verdict,
    WaterfallPart,
)
from reportgen.comparison.resources import cost_changes, samples_per_s, samples_ratio, usage_changes
from reportgen.comparison.runs import Run, run_of
from reportgen.comparison.steps import LEAST_RATIO, choose, difference_of, difference_of_steps
from reportgen.comparison.waterfall import WORDS, reasons_of, waterfall
from reportgen.report import Report
from reportgen.text import format_difference, format_duration, join_names
from reportgen.text_safety import clean, cut_middle

_MOST_PARTS, _MOST_SETTINGS = 2, 4
_TELLING_RATIO, _EXPLAINING_RATIO = 0.2, 0.5
"""A part that makes less than a fifth of a difference is not in its sentence; one that makes half
of it is its reason."""
_CONFIRMING_RATIO = 0.5
_SAME_BATCH = 1e-6
_AGREE_WITHIN = 1.1
"""Ratios of medians and of means that differ by a tenth are told: the reader may know only one."""
_WHOLE_PCT = 100.0
_TOO_NOISY = (
    "Even twice the time per step could be noise here: compare longer runs, on a machine that "
    "nobody else uses."
)
_LONGEST_NAME = 40
"""A longer name would hide the rest of the sentence of the verdict."""


def compare(before: Report, after: Report, *, labels: tuple[str, str] | None = None) -> Comparison:
    """Return how ``after`` differs from ``before``; ``labels`` are by default the jobs' names.

    The verdict is one of four words. It is *faster* or *slower* only where the 99.8 % interval of
    the difference of means leaves out zero, and where the difference is larger than that of two
    runs of one job; else where the same holds for a part of the steps that the means confirm, or
    for the medians. Where both batch sizes are known, equally many samples are compared.
    """
    labels = labels or _names(before, after)
    runs = run_of(before, label=labels[0]), run_of(after, label=labels[1])
    reason = why_not(*runs)
    step, parts, how = (None, (), "") if reason else _times(*runs)
    if step is not None and min(step.before_p50_s, step.after_p50_s) <= 0:
        reason, step, parts = "Most of the recorded steps take no time.", None, ()
    conditions = conditions_of(*runs, compared=how)
    verdict = Verdict.NOT_COMPARABLE if step is None else verdict_of(_of_equal_work(*runs, step))
    return Comparison(
        before=_job(runs[0]),
        after=_job(runs[1]),
        verdict=verdict,
        headline=_headline(verdict, step, parts, labels),
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


def _names(*reports: Report) -> tuple[str, str]:
    """Return the names of two jobs, or their roles where these say no more."""
    before, after = (cut_middle(clean(report.job.name), _LONGEST_NAME) for report in reports)
    return (before, after) if before and after and before != after else ("before", "after")


def verdict_of(step: StepDifference) -> Verdict:
    """Return whether a difference is beyond noise, and in which direction.

    The means decide, which a clock on the wall shows: what costs only some of the steps, such as a
    loader that delivers in bursts, leaves the median as it is. Where the whole varies too much, a
    part of the steps can still differ surely, and the mean of the whole as it does; or the medians
    do, if the means changed in the same direction.
    """
    whole_s = step.step_mean_difference_s
    is_median_sure = is_median_beyond_noise(step) and whole_s * step.difference_s > 0
    if not (is_mean_beyond_noise(step) or sure_part(step) is not None or is_median_sure):
        return Verdict.NO_DIFFERENCE
    return Verdict.SLOWER if whole_s > 0 else Verdict.FASTER


def _of_equal_work(before: Run, after: Run, step: StepDifference) -> StepDifference:
    """Return the difference for equally many samples, where both batch sizes are known.

    A step after takes ``scale`` times as long for the samples of one before as it is.
    """
    scale = samples_ratio(step)
    if scale is None or abs(scale - 1) < _SAME_BATCH:
        return step
    assert before.steps is not None
    assert after.steps is not None
    chosen = choose(before.steps, after.steps)
    after_ns = scale * after.steps.cycle_ns[chosen.after]
    return difference_of(before.steps.cycle_ns[chosen.before], after_ns)


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
    return step, waterfall((before, chosen.before), (after, chosen.after)), chosen.how


def _job(run: Run) -> ComparedJob:
    report = run.report
    return ComparedJob(
        label=run.label, name=report.job.name, source=report.job.source, report_id=report.report_id
    )


def _headline(
    verdict: Verdict,
    step: StepDifference | None,
    parts: tuple[WaterfallPart, ...],
    labels: tuple[str, str],
) -> str:
    if step is None:
        return "These two jobs cannot be compared in time."
    times_s = step.before_mean_s, step.after_mean_s
    then, now = map(format_duration, times_s)
    both = "in both jobs" if now == then else f"instead of {then}"
    times = f"a step takes {now} {both} in the mean{_rates(step)}"
    if verdict is Verdict.NO_DIFFERENCE:
        noisy = _least_pct(step) > _WHOLE_PCT
        return f"{'The steps vary too much' if noisy else 'No difference beyond noise'}: {times}."
    scale = samples_ratio(step)
    ratio = times_s[1] / times_s[0] * (scale or 1.0)
    factor = max(ratio, 1 / ratio)
    if scale is not None and abs(scale - 1) >= _SAME_BATCH:
        which = f"{factor:.2f}× {verdict.value} by samples per second, with another batch size"
        return f"“{labels[1]}” is {which}: {times}."
    return f"“{labels[1]}” is {factor:.2f}× {verdict.value}: {times}{_why(verdict, step, parts)}."


def _why(verdict: Verdict, step: StepDifference, parts: tuple[WaterfallPart, ...]) -> str:
    total_s, largest = step.step_mean_difference_s, next(iter(parts), None)
    is_slower = verdict is Verdict.SLOWER
    if largest is None or (total_s > 0) is not is_slower:
        return ""
    if largest.difference_s * total_s < _EXPLAINING_RATIO * total_s**2:
        return ""
    change = f"{'more' if is_slower else 'less'} “{largest.part}”"
    return f", mostly because of {change} ({format_difference(largest.difference_s)})"


def _of_part(part: PartDifference) -> str:
    low, high = map(format_difference, part.interval_s)
    return (
        f"The whole step varies too much to show it, but {WORDS[part.key]} changed by "
        f"{format_difference(part.difference_s)} per step (99.5 % interval {low} to {high})."
    )


def _certainty_of_means(step: StepDifference) -> str:
    change, low, high = (
        f"{100 * value / step.before_mean_s:+.1f}"
        for value in (step.step_mean_difference_s, *step.mean_interval_s)
    )
    sure = f"{change} % (99.8 % interval {low} to {high} %)"
    return f"The change of the mean step is more certain: {sure}."


def _changes(conditions: Sequence[Condition]) -> str:
    settings = changed_settings(conditions)
    changed = [f"{item.what} from {item.before} to {item.after}" for item in settings]
    text = f" Settings that changed: {join_names(changed, most=_MOST_SETTINGS)}." if changed else ""
    others = [item.what for item in conditions if item.same is False and item not in settings]
    more = f" The jobs differ in {join_names(others, most=_MOST_SETTINGS)}." if others else ""
    return f"{text}{more}"


def _rates(step: StepDifference) -> str:
    rates = step.before_samples_per_s, step.after_samples_per_s
    if None in rates:
        return ""
    return f", {rates[1]:,.4g} instead of {rates[0]:,.4g} samples per second"


def _lead(verdict: Verdict, step: StepDifference, parts: tuple[WaterfallPart, ...]) -> str:
    low, high = (_change_pct(bound, step) for bound in step.interval_s)
    change = f"{100 * (step.ratio - 1):+.1f} %"
    sure = f"The median step changed by {change} (95 % interval {low:+.1f} to {high:+.1f} %)."
    if verdict is Verdict.NO_DIFFERENCE:
        least = _least_pct(step)
        shown = f"A change of {least:.1f} % would be found in four of five such comparisons."
        if least > _WHOLE_PCT:
            shown = _TOO_NOISY
        return f"{sure}{_doubt(step)} {shown}"
    if not is_median_beyond_noise(step):
        part = None if is_mean_beyond_noise(step) else sure_part(step)
        sure = f"{sure} {_of_part(part) if part else _certainty_of_means(step)}"
    return f"{sure}{_disagreement(step)} {_of_means(step, parts)}"


def _least_pct(step: StepDifference) -> float:
    return 100 * step.least_s / step.before_p50_s


def _change_pct(difference_s: float, step: StepDifference) -> float:
    """Return a difference in % of the median before: a step cannot lose more than all its time."""
    return max(100 * difference_s / step.before_p50_s, -_WHOLE_PCT)


def _disagreement(step: StepDifference) -> str:
    """Say that medians and means do not agree, where one ratio is far from the other."""
    ratios = step.ratio, step.after_mean_s / step.before_mean_s
    if max(ratios) <= _AGREE_WITHIN * min(ratios):
        return ""
    both = "The median step takes {:.2f} times as long as before and the mean step {:.2f} times"
    return f" {both.format(*ratios)}: some steps differ more than the usual one."


def _doubt(step: StepDifference) -> str:
    if not _is_sure(step.interval_s):
        return ""
    if not _is_sure(step.certain_s):
        low, high = (_change_pct(bound, step) for bound in step.certain_s)
        wider = f"{low:+.1f} to {high:+.1f} %"
        return f" The wider interval that a verdict asks for includes zero: {wider}."
    return " Two runs of one job differ by as much."


def _of_means(step: StepDifference, parts: tuple[WaterfallPart, ...]) -> str:
    """Return the difference of the means and the parts that make it, so that they add up."""
    total_s = step.step_mean_difference_s
    is_opposite = total_s * step.difference_s < 0 and is_mean_beyond_noise(step)
    whole = f"The mean step changed by {format_difference(total_s)}"
    whole += ", in the other direction" if is_opposite else ""
    least_s = _TELLING_RATIO * abs(total_s)
    telling = [part for part in parts[:_MOST_PARTS] if abs(part.difference_s) >= least_s]
    if not telling:
        return f"{whole}; no single part explains it."
    named = [f"“{part.part}” by {format_difference(part.difference_s)}" for part in telling]
    if len(telling) < len(parts):
        rest_s = total_s - sum(part.difference_s for part in telling)
        named.append(f"all other parts together by {format_difference(rest_s)}")
    reasons = [f" Of “{part.part}”: {said}." for part in telling if (said := reasons_of(part))]
    return f"{whole}: {join_names(named, most=_MOST_PARTS + 1)}.{''.join(reasons)}"
