"""MemoryInUse: memory of GPUs and hosts, by samples of the driver or by the allocator in traces."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen import results
from reportgen.profile import NodeProfile
from reportgen.profile.trace import RankTrace
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.memory_in_use import sampled, traced
from reportgen.rules.memory_in_use.sampled import Params

TRACED = results.Section(id="device-memory", title="Memory of the allocator", order=90)
ABOUT = About(
    checks="How much memory GPUs and hosts use, whether it comes near its limit, and if it grows.",
    reading="""Memory of a GPU in samples is what its driver has allocated, including memory that a
        framework caches; memory of a host is the used part of the job's limit or of the machine. In
        traces, allocated memory is used by tensors; reserved memory was taken from the device by
        the allocator. Allocated memory that grows from step to step is a leak. Reserved memory that
        grows alone is fragmentation.""",
    advice="""If a GPU has free memory, try a larger batch. If a host has none, use fewer loader
        processes or take an instance with more memory. Do not keep tensors with their graphs beyond
        a step: use loss.item() or detach().""",
    section=results.Section(id="memory-in-use", title="Memory in use", order=242),
    further=(TRACED,),
    is_optional=True,
    hint_when_skipped="""To record them, run the job with the command reportgen record, or trace it
        with profile_memory=True (PyTorch) or --cuda-memory-usage=true (nsys).""",
)


@kit.row
class PartMemory:
    """The memory of a node in samples, or that of a rank in its trace; or of all parts."""

    devices: tuple[sampled.DeviceMemory, ...] = kit.merged(kit.concat, default=())
    curves: tuple[traced.MemoryCurve, ...] = kit.merged(kit.concat, default=())


def measure(part: NodeProfile | RankTrace, params: Params) -> PartMemory:
    """Measure a node or a rank."""
    if isinstance(part, RankTrace):
        return PartMemory(curves=traced.measure(part))
    return PartMemory(devices=sampled.measure(part, params))


def judge(parts: Sequence[PartMemory], params: Params) -> Outcome:
    """Report what samples and what traces say of memory."""
    job = kit.merge([PartMemory(), *parts])
    outcomes = [sampled.judge(job.devices, params)] if job.devices else []
    if job.curves:
        outcomes.append(traced.judge(job.curves, growth_pct=params.threshold_growth_pct))
    return Outcome(
        missing=None if outcomes else "The used memory in bytes was not recorded.",
        findings=[finding for outcome in outcomes for finding in outcome.findings],
        exhibits=[exhibit for outcome in outcomes for exhibit in outcome.exhibits],
        metrics={name: value for outcome in outcomes for name, value in outcome.metrics.items()},
    )


RULE = Rule(
    id=results.RuleId("MemoryInUse"),
    title="Memory in use",
    about=ABOUT,
    needs=(Need.SYSTEM, Need.KERNELS),
    params=Params,
    measure=measure,
    judge=judge,
    former_ids=("DeviceMemory",),
    places={
        "allocated_over_time": results.Place(
            section=TRACED.id, dashboard=results.DashboardPanel(order=160)
        ),
        "device_memory": results.Place(section=TRACED.id),
    },
)
