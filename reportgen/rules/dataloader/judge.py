"""What Dataloader concludes: whether the number of loaders fits, and whether that matters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reportgen.facts.host_load import USED_UP_RATIO
from reportgen.facts.loader import LEAST_SECONDS, Waiting, median_loaders, minutes_out_of_range
from reportgen.facts.parts import merge, sum_by_key
from reportgen.results import (
    Counters,
    Details,
    Finding,
    JsonValue,
    Reason,
    ReasonCode,
    Severity,
    Where,
)
from reportgen.rules.base import Outcome
from reportgen.rules.dataloader import texts
from reportgen.rules.dataloader.measure import NodeLoaders, Params
from reportgen.rules.dataloader.tables import (
    Loader,
    batch_exhibits,
    histogram_of_details,
    loader_exhibits,
    loop_share,
    wait_histogram,
)
from reportgen.rules.kit import HOW_TO_RECORD, Message, fault_severity
from reportgen.text import write
from reportgen.units import NS_PER_S, seconds

AWS_BINS = 100
EARLY_RATIO = 0.75
"""Where three quarters of the waiting lie in the first quarter of the loop, it wears off."""
DOMINANT_RATIO = 0.25
"""Waiting for a quarter of the loop is a fault however many loaders there are: without it the
training would be a third faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What decides: the loaders of a job beside its cores and the waiting of its loops.

    Attributes:
        n_loaders: at work, the median.
        setup: how most of the time a loader was set up, if that was recorded.
        worst: the loop that waited for the largest share, ``None`` without waits.
    """

    job: NodeLoaders
    params: Params
    n_loaders: int
    setup: Loader | None
    worst: Waiting | None

    @property
    def ratio(self) -> float:
        """Return the share of its loop that the worst worker waited, in 0-1."""
        return self.worst.ratio if self.worst else 0.0

    @property
    def matters(self) -> bool:
        """Return whether that share matters."""
        return self.worst is not None and 100 * self.ratio >= self.params.wait_pct

    @property
    def is_early(self) -> bool:
        """Return whether nearly all waiting lies in the first quarter of the loop."""
        worst = self.worst
        if worst is None or worst.expected_ns > worst.waited_ns:
            return False
        return worst.early_ns >= EARLY_RATIO * worst.waited_ns > 0


def judge(nodes: Sequence[NodeLoaders], params: Params) -> Outcome:
    """Count minutes in which the number of loaders did not fit, and say whether it matters."""
    if not nodes:
        return Outcome(missing=_no_events())
    job = merge(nodes)
    fit = Fit(
        job=job,
        params=params,
        n_loaders=int(median_loaders(job.seconds)),
        setup=_usual_setup(job.loaders),
        worst=max(job.waiting, key=lambda item: (item.ratio, item.worker), default=None),
    )
    fewest, most = limits(len(job.cores), params)
    violations = minutes_out_of_range(job.seconds, fewest=fewest, most=most) if job.cores else 0
    missing = _missing(job)
    return Outcome(
        missing=missing,
        counters=Counters(
            rule_triggered=int(violations > 0), violations=violations, datapoints=job.n_events
        ),
        details=_details(fit) if job.n_events else {},
        findings=() if missing else (*_about_number(fit), *_about_setup(fit)),
        exhibits=(
            *loop_share(job.waiting),
            *wait_histogram(job.wait_ns),
            *batch_exhibits(job.batches),
            *loader_exhibits(job.loaders, job.life_times),
        ),
        metrics=_metrics(fit) if job.seconds.second.size or job.waiting else {},
    )


def limits(n_cores: int, params: Params) -> tuple[float, float]:
    """Return the range of loaders that fits so many cores."""
    return params.min_threshold / 100 * n_cores, params.max_threshold / 100 * n_cores


def _usual_setup(loaders: Sequence[Loader]) -> Loader | None:
    """Return a loader with the set-up that was active longest over all workers."""
    known = [item for item in loaders if item.n_initialized]
    active = sum_by_key({(item.num_workers, item.pin_memory): item.active_ns} for item in known)
    usual = max(active, key=lambda setup: (active[setup], str(setup)), default=None)
    return next((item for item in known if (item.num_workers, item.pin_memory) == usual), None)


def _no_events() -> Reason:
    text = f"The job has no framework events. {HOW_TO_RECORD}"
    return Reason(code=ReasonCode.NO_FRAMEWORK_METRICS, text=text)


def _missing(job: NodeLoaders) -> Reason | None:
    n_seconds = int(job.seconds.second.size)
    if not job.n_spans:
        return _no_events()
    if not job.n_events:
        text = "No framework event is about loading data."
        return Reason(code=ReasonCode.NO_EVENTS, text=text)
    if n_seconds > LEAST_SECONDS and job.cores:
        return None
    text = "Without system metrics the number of cores is unknown."
    if n_seconds <= LEAST_SECONDS:
        text = write(texts.TOO_SHORT, n_seconds=n_seconds, least=LEAST_SECONDS)
    return Reason(code=ReasonCode.TOO_FEW_SAMPLES, text=text)


def _details(fit: Fit) -> Details:
    """Return AWS's details; ``prefetch`` only where TensorFlow loads."""
    wait_s, times = fit.job.wait_ns / NS_PER_S, dict[str, JsonValue]()
    if wait_s.size:
        p25, p50, p95 = np.percentile(wait_s, (25, 50, 95)).tolist()
        counts, edges = (of.tolist() for of in np.histogram(wait_s, bins=AWS_BINS))
        times = {"p25": p25, "p50": p50, "p95": p95, "probs": counts, "binedges": edges}
    return {
        "pin_memory": fit.setup.pin_memory if fit.setup else None,
        "num_workers": fit.setup.num_workers if fit.setup else None,
        "cores": len(fit.job.cores),
        "dataloaders": fit.n_loaders,
        **({"prefetch": fit.job.has_prefetch} if fit.job.is_tensorflow else {}),
        "dataloading_time": times,
    }


def _metrics(fit: Fit) -> dict[str, float | int | None]:
    job, wait_s = fit.job, fit.job.wait_ns / NS_PER_S
    p50, p95 = np.percentile(wait_s, (50, 95)).tolist() if wait_s.size else (None, None)
    return {
        "waits": int(wait_s.size),
        "wait_p50_s": p50,
        "wait_p95_s": p95,
        "slow_batches": sum(item.n_slow_batches for item in job.batches),
        "slow_waits": sum(item.n_slow_waits for item in job.batches),
        "waited_ratio": fit.worst.ratio if fit.worst else None,
        "loaders_p50": median_loaders(job.seconds) if job.seconds.second.size else None,
    }


# Findings


def _about_number(fit: Fit) -> Iterator[Finding]:
    """Yield what there is to say of the number of loaders, or of their speed."""
    fewest, most = limits(len(fit.job.cores), fit.params)
    share: dict[str, Any] = {"measured": 100 * fit.ratio, "threshold": fit.params.wait_pct}
    fault: dict[str, Any] = {"severity": fault_severity(fit.ratio), "share": fit.ratio}
    seen_in = "loop_share" if fit.worst else "loaders"
    if not fit.job.has_processes:
        yield (
            _tell(fit, texts.THREADS_TOO_SLOW, **share, **fault)
            if fit.matters
            else _tell(fit, texts.THREADS_KEEP_UP, **share, exhibit=seen_in)
        )
    elif fit.n_loaders < fewest:
        few = {"threshold": round(fewest, 3), "limit_pct": fit.params.min_threshold}
        yield (
            _too_few(fit, **few, **fault)
            if fit.matters
            else _tell(fit, texts.ENOUGH, **few, exhibit=seen_in)
        )
    else:
        if fit.n_loaders > most:
            threshold = round(most, 3)
            is_felt = fit.matters or fit.worst is None or _are_used_up(fit.job.loop_hot_ratio)
            message = texts.TOO_MANY if is_felt else texts.MANY_WITH_ROOM
            yield _tell(fit, message, threshold=threshold, limit_pct=fit.params.max_threshold)
        if fit.ratio >= DOMINANT_RATIO:
            advice = texts.CACHE if fit.is_early else None
            share["threshold"] = 100 * DOMINANT_RATIO
            yield _tell(fit, texts.INPUT_BOUND, **share, **fault, advice=advice)


def _too_few(fit: Fit, **values: Any) -> Finding:
    is_full = _are_used_up(fit.job.hot_ratio)
    advice = texts.CACHE if fit.is_early else texts.CHEAPER_BATCHES if is_full else None
    each = math.ceil(values["limit_pct"] / 100 * len(fit.job.cores) / max(fit.job.n_processes, 1))
    had = (fit.setup.num_workers if fit.setup else None) or 0
    return _tell(
        fit,
        texts.TOO_FEW,
        **values,
        advice=advice,
        wanted=max(each, had + 1),
        used_up=texts.USED_UP if is_full else "",
    )


def _about_setup(fit: Fit) -> Iterator[Finding]:
    """Yield what there is to say of how batches are handed over."""
    severity = Severity.WARNING if fit.matters else Severity.INFO
    if fit.setup and fit.setup.pin_memory is False and fit.job.has_gpu:
        yield _tell(fit, texts.NOT_PINNED, measured=None, severity=severity)
    if fit.job.is_pipeline_known and not fit.job.has_prefetch:
        yield _tell(fit, texts.NO_PREFETCH, measured=None, severity=severity)


def _are_used_up(hot_ratios: Sequence[float]) -> bool:
    """Return whether the cores of the usual node are used up."""
    return bool(hot_ratios) and float(np.median(hot_ratios)) >= USED_UP_RATIO


def _tell(fit: Fit, message: Message, **values: Any) -> Finding:
    """Return a finding about the loop that waited most; by default about the number of loaders."""
    worst, n_cores, n_processes = fit.worst, len(fit.job.cores), fit.job.n_processes
    num_workers = fit.setup.num_workers if fit.setup else None
    share_pct = 100 * fit.ratio
    words: dict[str, Any] = {
        "measured": float(fit.n_loaders),
        "share_pct": share_pct,
        "wait_pct": fit.params.wait_pct,
        "cores": n_cores,
        "fitting": max(n_cores // max(n_processes, 1), 1),
        "now": "" if num_workers is None else write(texts.NOW, num_workers=num_workers),
        "each": texts.EACH if n_processes > 1 else "",
        "but": write(texts.HARDLY_WAITS if worst else texts.NO_WAITS, share_pct=share_pct),
        "waited": "",
        "and_waited": "",
        "early": "",
        **_loaders(fit.n_loaders),
    }
    if worst:
        is_estimated = worst.expected_ns > worst.waited_ns
        text = texts.WAITED_ESTIMATED if is_estimated else texts.WAITED
        words["waited"] = write(text, worst=worst, share_pct=share_pct)
        words["and_waited"] = f" {words['waited']}"
        words["where"] = Where(
            node=worst.worker.rpartition("-")[0] or None,
            device=worst.worker,
            start_s=seconds(worst.first_ns),
            end_s=seconds(worst.last_ns),
        )
    if worst and fit.is_early:
        words["early"] = write(texts.WEARS_OFF, early_pct=100 * worst.early_ns / worst.waited_ns)
    return message.finding(**(words | values))


def _loaders(n_loaders: int) -> dict[str, Any]:
    """Return how many loader processes there are, within a sentence and at its begin."""
    said = "one loader process" if n_loaders == 1 else f"{n_loaders} loader processes"
    return {"loaders": said, "Loaders": said.capitalize()}


def from_details(counters: Counters, details: Details, params: Params) -> Outcome:
    """Say what AWS's details say: the number of loaders, but not whether training waits."""
    exhibits = histogram_of_details(details)
    n_loaders, n_cores = details.get("dataloaders"), details.get("cores")
    if not isinstance(n_loaders, int) or not isinstance(n_cores, int):
        return Outcome(exhibits=exhibits)
    fewest, most = limits(n_cores, params)
    is_few = n_loaders < fewest
    if not counters.rule_triggered or not (is_few or n_loaders > most):
        return Outcome(exhibits=exhibits)
    found = (texts.FEW_OF_AWS if is_few else texts.MANY_OF_AWS).finding(
        measured=float(n_loaders),
        threshold=round(fewest if is_few else most, 3),
        limit_pct=params.min_threshold if is_few else params.max_threshold,
        cores=n_cores,
        compared="fewer" if is_few else "more",
        **_loaders(n_loaders),
    )
    return Outcome(findings=[found], exhibits=exhibits)
