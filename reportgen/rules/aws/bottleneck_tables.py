"""The evidence of CPUBottleneck and IOBottleneck: kinds of ticks, times and width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reportgen.facts.bottlenecks import GPU_SAMPLE_PARTS, Bottlenecks, stretches_of
from reportgen.facts.usage import BUSY_ABOVE_PCT, IO_HOT_PCT
from reportgen.results import Counters, Exhibit, Role
from reportgen.rules.aws.breakdown import exhibits_of_breakdown
from reportgen.rules.functions import compared_functions
from reportgen.rules.kit import col, derived, interval, intervals, ranking, row, stretch, table
from reportgen.text import format_pct, plural

DURING = " during bottlenecks"


def exhibits_of(
    job: Bottlenecks, counters: Counters, *, gpu_below: float, hot_above: float, part: str
) -> Iterator[Exhibit]:
    """Yield all evidence of a job with GPUs."""
    unknown = " I/O wait was not sampled, so no part is its." if job.lacks_io_wait else ""
    if job.gpu_samples.any():
        yield gpu_samples(
            job.gpu_samples.tolist(),
            caption=f"""All samples with a GPU, each in one part. Low is a GPU below
                {format_pct(gpu_below)}; a core is busy above {format_pct(hot_above)}, and waits for
                I/O above {format_pct(IO_HOT_PCT)}.{unknown}""",
        )
    yield slices(
        counters,
        gpu_below=gpu_below,
        part=part,
        n_low=job.n_low_ticks,
        n_unsampled=job.n_unsampled_ticks,
    )
    if job.n_loops:
        yield _loop_table(job)
    if job.n_found:
        yield _intervals(job)
    if counters.rule_triggered:
        yield from exhibits_of_breakdown(job.breakdown, with_others=False, during=DURING)
        yield from compared_functions(
            "functions",
            job.functions,
            job.functions_at_work,
            title="Functions during bottlenecks and while a GPU works",
            caption=f"""count, mean_s and share_pct are of events during bottlenecks; the columns
                “other …” are of events while a GPU was above {format_pct(BUSY_ABOVE_PCT)}.""",
        )


def gpu_samples(counts: Sequence[int], *, caption: str) -> Exhibit:
    """Return all samples with a GPU in the disjoint ``GPU_SAMPLE_PARTS``."""
    return ranking(
        "gpu_samples",
        list(zip(GPU_SAMPLE_PARTS, counts, strict=True)),
        title="GPU samples by what may have held them up",
        caption=caption,
        amount=("ticks", ""),
        roles=(Role.CPU, Role.IO, Role.WARNING, Role.IDLE, Role.GPU),
    )


def slices(
    counters: Counters, *, gpu_below: float, part: str, n_low: int, n_unsampled: int = 0
) -> Exhibit:
    """Return all ticks in three parts, and those without a sample of a GPU.

    A GPU below ``gpu_below`` idles, as one does in ``n_low`` ticks; ``part`` names the bottlenecks.
    """
    n_idle, gpu = max(n_low - counters.violations, 0), format_pct(gpu_below)
    n_rest = max(counters.datapoints - n_unsampled - n_idle - counters.violations, 0)
    parts = [
        (f"every GPU at {gpu} or more", n_rest),
        (f"a GPU below {gpu}, no bottleneck", n_idle),
        (part, counters.violations),
    ]
    if n_unsampled:
        parts.append(("no GPU sample", n_unsampled))
    return ranking(
        "slices",
        parts,
        title="All samples by the work of GPU and host",
        caption="""A sample is one instant at which all GPUs and cores of a node were measured. Each
            sample is in exactly one part.""",
        amount=("ticks", ""),
        roles=(Role.GPU, Role.IDLE, Role.WARNING, Role.OTHER)[: len(parts)],
    )


@row
class _LoopPart:
    part: str = col()
    ticks: int = col()
    bottlenecks: int = col()
    pct: float | None = derived(
        lambda item: 100 * item.bottlenecks / item.ticks if item.ticks else None, "%", digits=2
    )


def _loop_table(job: Bottlenecks) -> Exhibit:
    parts = ("before the loop", "training loop", "after the loop")
    counts = zip(parts, job.loop_ticks.tolist(), job.loop_in_use.tolist(), strict=True)
    return table(
        "when",
        [_LoopPart(part=part, ticks=ticks, bottlenecks=found) for part, ticks, found in counts],
        _LoopPart,
        title="Bottlenecks before, in and after the training loop",
        caption="""Nodes without recorded steps are left out. The training loop of a node lasts from
            the start of its first training step to the end of its last one.""",
    )


def _intervals(job: Bottlenecks) -> Exhibit:
    return intervals(
        [
            interval(
                plural(item.n_ticks, "bottleneck"),
                stretch(item.node, None, item.start_ns, item.end_ns),
            )
            for item in stretches_of(job)
        ],
        title="When bottlenecks happened",
        caption="""Neighbouring bottlenecks are drawn as one interval; one other sample may lie
            between them. The JSON has each bottleneck.""",
        role=Role.WARNING,
    )
