"""MemoryInUse: memory of GPUs and hosts, by samples of the driver or by the allocator in traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
        with profile_memory=True.""",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartMemory:
    """The memory of a node in samples, or that of a rank in its trace."""

    is_traced: bool
    devices: tuple[sampled.DeviceMemory, ...] = ()
    curves: tuple[traced.MemoryCurve, ...] = ()


def measure(part: NodeProfile | RankTrace, params: Params) -> PartMemory:
    """Measure a node or a rank."""
    if isinstance(part, RankTrace):
        return PartMemory(is_traced=True, curves=traced.measure(part))
    return PartMemory(is_traced=False, devices=sampled.measure(part, params))


def judge(parts: Sequence[PartMemory], params: Params) -> Outcome:
    """Report what samples and what traces say of memory."""
    devices = kit.concat(part.devices for part in parts)
    curves = kit.concat(part.curves for part in parts)
    outcomes = [sampled.judge(devices, params)] if devices else []
    if curves:
        outcomes.append(traced.judge(curves, growth_pct=params.threshold_growth_pct))
    only_traces = bool(parts) and all(part.is_traced for part in parts)
    lacking = traced.NOT_RECORDED if only_traces else "The used memory in bytes was not recorded."
    return Outcome(
        missing=None if outcomes else lacking,
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
