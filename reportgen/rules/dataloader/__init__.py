"""Dataloader: how many loader processes feed the training, and whether it waits for them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from reportgen import results
from reportgen.facts.loader import LEAST_SECONDS, minutes_out_of_range
from reportgen.facts.usage import USED_UP_RATIO
from reportgen.profiler_config import ProfilingKind
from reportgen.results import Details, Finding, JsonValue, Reason, ReasonCode, Severity
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.dataloader import tables, texts
from reportgen.rules.dataloader.measure import NodeLoaders, Params, measure
from reportgen.text import write
from reportgen.units import NS_PER_S

AWS_BINS = 100
DOMINANT_RATIO = 0.25
"""Waiting for a quarter of the loop is a fault however many loaders there are: without it the
training would be a third faster."""

ABOUT = About(
    checks="Whether the number of loader processes fits the cores, and whether training waits.",
    reading="""Loader processes at work are counted in each second with loader activity; their
        median is compared with the cores of a node. Whether that matters is decided by how long the
        training loop waited for batches.""",
    advice="""If the loop waits: more workers up to the number of cores, prefetching, cheaper
        preprocessing, faster storage. If there are more workers than cores: fewer.""",
    section=results.Section(id="data-loading", title="Data loading", order=180),
    has_counters=True,
    recorded_by=ProfilingKind.LOADER,
)


def judge(nodes: Sequence[NodeLoaders], params: Params) -> Outcome:
    """Count minutes in which the number of loaders did not fit, and say whether it matters."""
    if not nodes:
        return Outcome(missing=kit.WITHOUT_EVENTS)
    job = kit.merge(nodes)
    fewest, most = params.limits(len(job.cores))
    violations = minutes_out_of_range(job.seconds, fewest=fewest, most=most) if job.cores else 0
    missing = _missing(job)
    return Outcome(
        missing=missing,
        counters=results.Counters(
            rule_triggered=int(violations > 0), violations=violations, datapoints=job.n_events
        ),
        details=_details(job) if job.n_events else {},
        findings=() if missing else (*_about_number(job, params), *_about_setup(job, params)),
        exhibits=(
            *tables.loop_share(job.waiting),
            *tables.wait_histogram(job.wait_ns),
            *tables.batch_exhibits(job.batches),
            *tables.loader_exhibits(job.loaders, job.life_times),
        ),
        metrics=_metrics(job) if job.seconds or job.waiting else {},
    )


def _missing(job: NodeLoaders) -> Reason | None:
    n_seconds = len(job.seconds)
    if not job.n_spans:
        return kit.WITHOUT_EVENTS
    if not job.n_events:
        text = "No framework event is about loading data."
        return Reason(code=ReasonCode.NO_EVENTS, text=text)
    if n_seconds > LEAST_SECONDS and job.cores:
        return None
    text = "Without system metrics the number of cores is unknown."
    if n_seconds <= LEAST_SECONDS:
        text = write(texts.TOO_SHORT, n_seconds=n_seconds, least=LEAST_SECONDS)
    return Reason(code=ReasonCode.TOO_FEW_SAMPLES, text=text)


def _details(job: NodeLoaders) -> Details:
    """Return AWS's details; ``prefetch`` only where TensorFlow loads."""
    wait_s, times = job.wait_ns / NS_PER_S, dict[str, JsonValue]()
    if wait_s.size:
        p25, p50, p95 = np.percentile(wait_s, (25, 50, 95)).tolist()
        counts, edges = (of.tolist() for of in np.histogram(wait_s, bins=AWS_BINS))
        times = {"p25": p25, "p50": p50, "p95": p95, "probs": counts, "binedges": edges}
    return {
        "pin_memory": job.setup.pin_memory if job.setup else None,
        "num_workers": job.setup.num_workers if job.setup else None,
        "cores": len(job.cores),
        "dataloaders": job.n_loaders,
        **({"prefetch": job.has_prefetch} if job.is_tensorflow else {}),
        "dataloading_time": times,
    }


def _metrics(job: NodeLoaders) -> dict[str, float | int | None]:
    wait_s = job.wait_ns / NS_PER_S
    p50, p95 = np.percentile(wait_s, (50, 95)).tolist() if wait_s.size else (None, None)
    return {
        "waits": int(wait_s.size),
        "wait_p50_s": p50,
        "wait_p95_s": p95,
        "slow_batches": sum(item.n_slow_batches for item in job.batches),
        "slow_waits": sum(item.n_slow_waits for item in job.batches),
        "waited_ratio": job.worst.ratio if job.worst else None,
        "loaders_p50": job.median_loaders,
    }


# Findings


def _about_number(job: NodeLoaders, params: Params) -> Iterator[Finding]:
    """Yield what there is to say of the number of loaders, or of their speed."""
    fewest, most = params.limits(len(job.cores))
    share: dict[str, Any] = {"measured": 100 * job.ratio, "threshold": params.wait_pct}
    fault: dict[str, Any] = {"severity": kit.fault_severity(job.ratio), "share": job.ratio}
    seen_in: dict[str, Any] = {"exhibit": "loop_share" if job.worst else "loaders"}
    matters = _matters(job, params)
    if not job.has_processes:
        message = texts.THREADS_TOO_SLOW if matters else texts.THREADS_KEEP_UP
        yield _tell(message, job, params, **share, **(fault if matters else seen_in))
    elif job.n_loaders < fewest:
        few = {"threshold": round(fewest, 3), "limit_pct": params.min_threshold}
        message = texts.TOO_FEW if matters else texts.ENOUGH
        weight = fault | _more_loaders(job, params) if matters else seen_in
        yield _tell(message, job, params, **few, **weight)
    else:
        if job.n_loaders > most:
            is_felt = matters or job.worst is None or _are_used_up(job.loop_hot_ratio)
            message = texts.TOO_MANY if is_felt else texts.MANY_WITH_ROOM
            many = {"threshold": round(most, 3), "limit_pct": params.max_threshold}
            yield _tell(message, job, params, **many)
        if job.ratio >= DOMINANT_RATIO:
            advice = texts.CACHE if job.is_early else None
            share["threshold"] = 100 * DOMINANT_RATIO
            yield _tell(texts.INPUT_BOUND, job, params, **share, **fault, advice=advice)


def _more_loaders(job: NodeLoaders, params: Params) -> dict[str, Any]:
    """Return what a finding of too few loaders advises."""
    is_full = _are_used_up(job.hot_ratio)
    advice = texts.CHEAPER_BATCHES if is_full else None
    each = math.ceil(params.min_threshold / 100 * len(job.cores) / max(job.n_processes, 1))
    return {
        "advice": texts.CACHE if job.is_early else advice,
        "wanted": max(each, (job.num_workers or 0) + 1),
        "used_up": texts.USED_UP if is_full else "",
    }


def _about_setup(job: NodeLoaders, params: Params) -> Iterator[Finding]:
    """Yield what there is to say of how batches are handed over."""
    severity = Severity.WARNING if _matters(job, params) else Severity.INFO
    if job.setup and job.setup.pin_memory is False and job.has_gpu:
        yield _tell(texts.NOT_PINNED, job, params, measured=None, severity=severity)
    if job.is_pipeline_known and not job.has_prefetch:
        yield _tell(texts.NO_PREFETCH, job, params, measured=None, severity=severity)


def _matters(job: NodeLoaders, params: Params) -> bool:
    """Return whether the loop that waited most waited for a notable share."""
    return job.worst is not None and 100 * job.ratio >= params.wait_pct


def _are_used_up(hot_ratios: Sequence[float]) -> bool:
    """Return whether the cores of the usual node are used up."""
    return bool(hot_ratios) and float(np.median(hot_ratios)) >= USED_UP_RATIO


def _tell(message: kit.Message, job: NodeLoaders, params: Params, **values: Any) -> Finding:
    """Return a finding about the loop that waited most; by default about the number of loaders."""
    worst, n_cores, n_processes = job.worst, len(job.cores), job.n_processes
    words: dict[str, Any] = {
        "measured": float(job.n_loaders),
        "share_pct": 100 * job.ratio,
        "wait_pct": params.wait_pct,
        "cores": n_cores,
        "fitting": max(n_cores // max(n_processes, 1), 1),
        "now": "" if job.num_workers is None else write(texts.NOW, num_workers=job.num_workers),
        "each": texts.EACH if n_processes > 1 else "",
        "but": texts.NO_WAITS,
        "waited": "",
        "and_waited": "",
        "early": "",
        **_loaders(job.n_loaders),
    }
    if worst:
        text = texts.WAITED_ESTIMATED if worst.is_estimated else texts.WAITED
        words["waited"] = write(text, worst=worst, **words)
        words["and_waited"] = f" {words['waited']}"
        words["but"] = write(texts.HARDLY_WAITS, **words)
        words["early"] = write(texts.WEARS_OFF, worst=worst) if worst.is_early else ""
        words["where"] = kit.at_worker(worst.worker, worst.first_ns, worst.last_ns)
    return message.finding(**(words | values))


def _loaders(n_loaders: int) -> dict[str, Any]:
    """Return how many loader processes there are, within a sentence and at its begin."""
    said = "one loader process" if n_loaders == 1 else f"{n_loaders} loader processes"
    return {"loaders": said, "Loaders": said.capitalize()}


def from_details(counters: results.Counters, details: Details, params: Params) -> Outcome:
    """Say what AWS's details say: the number of loaders, but not whether training waits."""
    exhibits = tables.histogram_of_details(details)
    n_loaders, n_cores = details.get("dataloaders"), details.get("cores")
    if not isinstance(n_loaders, int) or not isinstance(n_cores, int):
        return Outcome(exhibits=exhibits)
    fewest, most = params.limits(n_cores)
    is_few = n_loaders < fewest
    if not counters.rule_triggered or fewest <= n_loaders <= most:
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


RULE = Rule(
    id=results.RuleId("Dataloader"),
    title="Data loading",
    about=ABOUT,
    needs=(Need.FRAMEWORK, Need.SYSTEM),
    params=Params,
    measure=measure,
    judge=judge,
    from_details=from_details,
    folded=("batch_functions", "workers"),
)
