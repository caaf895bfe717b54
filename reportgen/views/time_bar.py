"""The bar of all GPU time on the first screen, its exclusive parts named beside it.

The bar is HTML, so that it needs no script, prints, and wraps on a phone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from reportgen.report import Report
from reportgen.results import Exhibit, ExhibitKind, PartWords, RuleResult, Status, words_for
from reportgen.text import format_duration, format_pct, plural, write
from reportgen.units import S_PER_HOUR, percentages
from reportgen.views.charts.arrays import numbers
from reportgen.views.color_roles import inks, inks_of
from reportgen.views.outline import about_of, section_of
from reportgen.views.values import format_value, heading_of, prose, shorten

_CPU_PCT, _IO_PCT = "cpu_mean_pct", "io_wait_mean_pct"
"""Metrics that the picture of a job without a GPU is made of."""
TOLD_FROM_PCT = 5.0
"""Less idle time than this is not what a job's verdict is about."""
_SEEN_FROM_PCT = 3.0
_LEAST_CPU_PCT = 0.05
_PARTLY_FROM_PCT = 20.0
_UNTOLD_FROM_PCT = 50.0
"""Where most of the time was not measured, the rest says little about the job."""
_UNRECORDED_FROM_RATIO = 0.5
"""GPUs at work for this share of the time outside the recorded loop also train in it."""
_NOT_MEASURED = "was not measured, which is too much to judge the rest."
_OTHERS = "others"
_WHOLE_HOURS_FROM = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One part of the bar."""

    name: str
    pct: str
    amount: str
    width_pct: float
    ink: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The first picture: its sentence, its whole, and its parts from left to right.

    ``second`` divides the time at work of the first one further.
    """

    says: str
    whole: str
    alt: str
    link: str
    segments: tuple[Segment, ...] = ()
    second: Picture | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    key: str
    name: str
    value: float
    pct: float
    ink: str


def whole_lines_of(picture: Picture | None) -> Picture | None:
    """Return a picture whose sentences break no line between a number and its unit."""
    if picture is None:
        return None
    second = whole_lines_of(picture.second)
    return replace(picture, says=prose(picture.says), whole=prose(picture.whole), second=second)


def picture_of(report: Report) -> Picture | None:
    """Return the first picture: of GPU time, else of CPU time, else a sentence why not."""
    for rule_id, entry in report.rules.items():
        about, link = about_of(rule_id, report), f"#{section_of(rule_id, report).id}"
        if not about.first_picture:
            continue
        result = report.results[rule_id]
        whole = result.exhibit(about.first_picture)
        if whole is not None and _has_parts(whole):
            return replace(_gpu_picture(result, whole, link), second=_second_picture(report))
        if entry.status is Status.SKIPPED and entry.reason is not None:
            why = f"Where the GPU time went is not known. {entry.reason.text}"
            without = Picture(says=why, whole="", alt="", link=link)
            return _host_picture(report) or _cpu_picture(report) or without
    return None


def _second_picture(report: Report) -> Picture | None:
    """Return the parts of the time at work, as the exhibit that declares them has them."""
    for rule_id, result in report.results.items():
        shares = result.exhibit(about_of(rule_id, report).second_picture)
        if shares is not None and _is_of_shares(shares):
            return _shares_picture(shares, rule_id, report, says=shares.caption, whole=shares.title)
    return None


def _host_picture(report: Report) -> Picture | None:
    """Return where an iteration of a job without a GPU goes, where that was recorded."""
    for rule_id, result in report.results.items():
        shares = result.exhibit(about_of(rule_id, report).host_picture)
        if shares is not None and _is_of_shares(shares):
            names, pcts = shares.columns[0].values, numbers(shares.columns[2].values)
            pct, name = max(zip((pct or 0.0 for pct in pcts), map(str, names), strict=True))
            takes = f"takes {format_pct(pct)} of an iteration"
            what = f"what {takes} was not recorded" if name == _OTHERS else f"{name} {takes}"
            says = f"No GPU was recorded; {what}."
            return _shares_picture(shares, rule_id, report, says=says, whole=shares.caption)
    return None


def _is_of_shares(shares: Exhibit) -> bool:
    return bool(shares.n_rows) and len(shares.columns) == 3


def _shares_picture(
    shares: Exhibit, rule_id: str, report: Report, *, says: str, whole: str
) -> Picture:
    names = [str(value) for value in shares.columns[0].values]
    amounts, pcts = (numbers(column.values) for column in shares.columns[1:])
    colours = inks_of(shares, names, shares.row_roles)
    parts = [
        _Part(key=name, name=name, value=amount or 0.0, pct=pct or 0.0, ink=ink.css_class)
        for name, amount, pct, ink in zip(names, amounts, pcts, colours, strict=True)
    ]
    unit = shares.columns[1].unit
    return Picture(
        says=says,
        whole=whole,
        alt=f"Bar. {shares.title}: {_listed(parts)}.",
        link=f"#{section_of(rule_id, report).id}",
        segments=_segments(parts, [format_value(part.value, unit) for part in parts]),
    )


def limit_of(report: Report) -> str:
    """Return what limits the job now and what would change it; empty without a GPU time budget.

    It is about the largest part of the first picture.
    """
    for rule_id in report.rules:
        name = about_of(rule_id, report).first_picture
        budget = report.results[rule_id].exhibit(name) if name else None
        if budget is not None and _has_parts(budget):
            words = words_for(budget.place, [str(name) for name in budget.columns[0].values])
            parts = _parts_of(budget, words)
            largest = max(parts, key=lambda part: part.value, default=None)
            if largest is None or largest.key not in words.limits:
                return ""
            alike = words.work if largest.key in words.work else (largest.key,)
            share_pct = sum(part.pct for part in parts if part.key in alike)
            return prose(write(words.limits[largest.key], pct=format_pct(share_pct)))
    return ""


def _gpu_picture(result: RuleResult, budget: Exhibit, link: str) -> Picture:
    words = words_for(budget.place, [str(name) for name in budget.columns[0].values])
    parts = _parts_of(budget, words)
    total_s = sum(part.value for part in parts)
    price = result.params.get("usd_per_gpu_hour")
    usd = float(price) / S_PER_HOUR if isinstance(price, int | float) else None
    shown = _folded(parts, words)
    n_gpus = _count_gpus(result)
    price = f", {format_usd(total_s * usd)}" if usd is not None else ""
    in_samples = "" if words.has_window else " in whole samples"
    whole = f"{_format_whole(total_s, n_gpus)}{in_samples}{price}"
    window = f". {budget.caption}" if words.has_window and budget.caption else ""
    return Picture(
        says=_says(parts, usd, words, outside_s=_worked_outside_s(result, parts, words)),
        whole=f"{whole}{window}",
        alt=f"Bar of all GPU time, {whole}: {_listed(shown)}.",
        link=link,
        segments=_segments(shown, [_format_amount(part.value, usd) for part in shown]),
    )


def _count_gpus(result: RuleResult) -> int:
    """Return how many GPUs the table of parts names; 0 without one."""
    for item in result.exhibits:
        if item.kind is ExhibitKind.TABLE and any(column.name == "part" for column in item.columns):
            return len(set(zip(*(column.values for column in item.columns[:2]), strict=True)))
    return 0


def _cpu_picture(report: Report) -> Picture | None:
    found = (item for item in report.results.values() if item.metrics.get(_CPU_PCT) is not None)
    usage = next(found, None)
    used = usage.metrics[_CPU_PCT] if usage else None
    if usage is None or used is None:
        return None
    waited = usage.metrics.get(_IO_PCT) or 0.0
    waited = waited if used + waited <= 100 else 0.0
    amounts = {"CPU in use": used, "waits for I/O": waited, "idle": max(100 - used - waited, 0.0)}
    shown = {name: value for name, value in amounts.items() if value >= _LEAST_CPU_PCT}
    colours = inks(list(shown), "cpu")
    parts = [
        _Part(key=name, name=name, value=value, pct=value, ink=ink.css_class)
        for (name, value), ink in zip(shown.items(), colours, strict=True)
    ]
    return Picture(
        says="No GPU was recorded. The mean utilization of the CPU cores, by all programs, is "
        f"{format_pct(used)}.",
        whole="the time of all CPU cores over the whole job, mean of the nodes",
        alt=f"Bar of all CPU time: {_listed(parts)}.",
        link=f"#{section_of(usage.id, report).id}" if len(parts) > 1 else "",
        segments=_segments(parts, ["" for _ in parts]),
    )


def _has_parts(budget: Exhibit) -> bool:
    return budget.n_rows > 0 and {"part", "gpu_s"} <= {column.name for column in budget.columns}


def _parts_of(budget: Exhibit, words: PartWords) -> list[_Part]:
    """Return the parts from left to right: work, idling by cause, largest first, the rest."""
    columns = {column.name: column.values for column in budget.columns}
    names = [str(name) for name in columns["part"]]
    values = [value or 0.0 for value in numbers(columns["gpu_s"])]
    colours = inks_of(budget, names, budget.row_roles)
    called = {**words.names, **words.aside}
    found = {
        name: _Part(
            key=name,
            name=called.get(name) or shorten(heading_of(name), most=32).text,
            value=value,
            pct=pct,
            ink=ink.css_class,
        )
        for name, value, pct, ink in zip(names, values, percentages(values), colours, strict=True)
    }
    order = [name for members in words.groups.values() for name in _by_size(members, found, words)]
    order += [name for name in found if name not in order]
    return [found[name] for name in order if found[name].value > 0]


def _folded(parts: Sequence[_Part], words: PartWords) -> list[_Part]:
    """Join the causes of idling that are too small to be seen, if there are several.

    Their share is what the others, as they are written, leave of the idle time as it is written.
    """
    idle = [part for part in parts if part.key in words.causes]
    small = [part for part in idle if part.pct < _SEEN_FROM_PCT]
    if len(small) < 2:
        return list(parts)
    others_pct = sum(round(part.pct, 1) for part in idle if part not in small)
    joined = _Part(
        key=small[0].key,
        name=f"{len(small)} smaller causes",
        value=sum(part.value for part in small),
        pct=max(round(sum(part.pct for part in idle), 1) - others_pct, 0.0),
        ink="rg-ink-idle-2",
    )
    return [joined if part is small[0] else part for part in parts if part not in small[1:]]


def _by_size(members: Sequence[str], found: Mapping[str, _Part], words: PartWords) -> list[str]:
    present = [name for name in members if name in found]
    is_idle = any(name in words.causes for name in members)
    return sorted(present, key=lambda name: -found[name].value) if is_idle else present


def _segments(parts: Sequence[_Part], amounts: Sequence[str]) -> tuple[Segment, ...]:
    total = sum(part.value for part in parts) or 1.0
    return tuple(
        Segment(
            name=part.name,
            pct=format_pct(part.pct),
            amount=amount,
            width_pct=round(100 * part.value / total, 3),
            ink=part.ink,
        )
        for part, amount in zip(parts, amounts, strict=True)
    )


def _worked_outside_s(result: RuleResult, parts: Sequence[_Part], words: PartWords) -> float:
    aside_s = sum(part.value for part in parts if part.key in words.aside)
    outside_s = result.metrics.get("worked_outside_loop_s") or 0.0
    return outside_s if outside_s >= _UNRECORDED_FROM_RATIO * aside_s else 0.0


def _says(
    parts: Sequence[_Part], usd: float | None, words: PartWords, *, outside_s: float = 0.0
) -> str:
    """Return the sentence for whoever pays: how much was work, how much was lost, and to what.

    ``outside_s``: at work outside the loop that was recorded, if that is worth a word.
    """
    pcts = {part.key: part.pct for part in parts}
    idle = [part for part in parts if part.key in words.causes]
    idle_s, idle_pct = sum(part.value for part in idle), sum(part.pct for part in idle)
    done_pct = sum(pcts.get(key, 0.0) for key in words.work)
    outside_pct = 100 * outside_s / sum(part.value for part in parts)
    is_unrecorded = outside_pct >= TOLD_FROM_PCT
    who = "The GPUs" if words.has_window or is_unrecorded else "While training, the GPUs"
    whole = "their time" if words.has_window else "the job's time"
    worked = f"{who} {words.did} {format_pct(done_pct)} of {whole}"
    partly = pcts.get(words.partly, 0.0)
    if partly >= _PARTLY_FROM_PCT:
        high, low = format_pct(done_pct - partly), format_pct(partly)
        worked = f"{who} {words.did} {high} of {whole} at more than 90 % load"
        worked += f" and in {low} at a lower load"
    if is_unrecorded:
        worked += f" during the recorded loop, and in {format_pct(outside_pct)} before or after it"
    aside_pct = sum(pcts.get(key, 0.0) for key in words.aside)
    unmeasured_pct = pcts.get(words.unmeasured, 0.0)
    if unmeasured_pct >= _UNTOLD_FROM_PCT:
        return f"{format_pct(unmeasured_pct)} of the GPUs' time {_NOT_MEASURED}"
    is_lost = idle_pct >= TOLD_FROM_PCT
    clauses = [
        f"{format_pct(part.pct)} was {part.name}"
        for part in parts
        if part.key not in {*words.work, *words.causes, *words.aside, words.unmeasured}
        and part.pct >= _PARTLY_FROM_PCT
    ]
    if aside_pct >= TOLD_FROM_PCT and (words.tells_aside if is_lost else not is_unrecorded):
        clauses.append(f"{format_pct(aside_pct)} {words.aside_says}")
    if is_lost:
        lost = format_usd(idle_s * usd) if usd is not None else _format_hours(idle_s)
        clauses.append(f"{format_pct(idle_pct)} ({lost}) was lost {_cause(idle, words)}")
    elif not clauses and not is_unrecorded and float(f"{idle_pct:.1f}"):
        clauses = [f"{format_pct(idle_pct)} was lost waiting"]
    rest = ", and ".join(f"another {text}" for text in clauses)
    return f"{worked}; {rest}." if rest else f"{worked}."


def _cause(idle: Sequence[_Part], words: PartWords) -> str:
    largest = max(idle, key=lambda part: part.value)
    verb = "idling" if largest.key in words.gaps else "waiting"
    cause = words.causes[largest.key]
    if len(idle) == 1:
        return f"{verb} {cause}"
    is_most = 2 * largest.value > sum(part.value for part in idle)
    return f"{verb}, {'mostly' if is_most else 'the largest part'} {cause}"


def _format_whole(total_s: float, n_gpus: int) -> str:
    gpus = plural(n_gpus, "GPU")
    if n_gpus <= 1:
        return f"{gpus if n_gpus else 'all GPUs'}, {format_duration(total_s)}"
    return f"{gpus} × {format_duration(total_s / n_gpus)} = {_format_hours(total_s)} of GPU time"


def _format_amount(value_s: float, usd: float | None) -> str:
    return _format_hours(value_s) + (f" · {format_usd(value_s * usd)}" if usd is not None else "")


def _format_hours(value_s: float) -> str:
    hours = value_s / S_PER_HOUR
    if hours < 1:
        return format_duration(value_s)
    return f"{hours:,.0f} h" if hours >= _WHOLE_HOURS_FROM else f"{hours:.1f} h"


def format_usd(amount: float) -> str:
    """Write money: cents below a thousand dollars."""
    return f"${amount:,.0f}" if amount >= 1000 else f"${amount:,.2f}"


def _listed(parts: Sequence[_Part]) -> str:
    return ", ".join(f"{part.name} {format_pct(part.pct)}" for part in parts)
