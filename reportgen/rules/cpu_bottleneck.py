"""CPUBottleneck: a GPU idles while CPU cores are busy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from reportgen.facts.bottlenecks import Bottlenecks, gpu_samples_of
from reportgen.facts.starving import starved_by_cores
from reportgen.facts.usage import CPU_HOT_PCT, IDLE_BELOW_PCT, IO_HOT_PCT
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.results import AtAGlance, Cause, RuleId, Section, Severity
from reportgen.rules import bottleneck
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.kit import BOTTLENECKS, patience, percentage

ABOUT = About(
    checks="How often a GPU is idle while at least one CPU core is busy.",
    reading="""A sample counts as a bottleneck if a GPU is below the GPU threshold and at least one
        core is above the core threshold. Once a minute the rule looks at all samples so far, and
        triggers if the share of bottlenecks is larger than the threshold. If only one core of many
        is busy, this proves little: so the number of busy cores is shown.""",
    advice="""Give the data loader more processes and let it prefetch. Preprocess ahead of time or
        on the GPU. Or take an instance with more cores per GPU.""",
    section=Section(id="cpu-bottlenecks", title="CPU bottlenecks", order=210),
    at_a_glance=(
        AtAGlance(
            card=BOTTLENECKS,
            order=50,
            exhibits=("gpu_samples", "slices"),
            missing="""Record the use of GPUs and CPU cores (for example with reportgen record) to
                see how often GPUs wait for the CPU or for I/O.""",
        ),
    ),
    is_quiet=True,
    has_counters=True,
)

WORDS = bottleneck.Wording(
    cores=SeriesKind.CPU_UTILIZATION,
    finding_id="CPU-1",
    waits_for="A GPU is idle while a CPU core is busy",
    hot="a CPU core was above",
    over="busy",
    part="a GPU below, a CPU core busy (bottleneck)",
    advice="""Spread the work over the free cores: use more loader processes, prefetch, and move
        heavy preprocessing out of the main process.""",
    narrow_advice="""Find the one busy thread with a sampling profiler such as py-spy: a loader
        without processes, a callback or a lock may hold up the GPU while the other cores are
        free.""",
    used_up_advice="""The cores are used up: preprocess ahead of time or on the GPU, use cheaper
        decoding, or take an instance with more cores per GPU.""",
    narrow="With only these cores busy the CPU is hardly the bottleneck: a single thread is busy.",
    narrow_severity=Severity.INFO,
    cause=Cause.HOST_BOUND,
    starving=starved_by_cores,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    threshold: float = percentage(50, "triggers when more samples than this are bottlenecks")
    cpu_threshold: float = percentage(CPU_HOT_PCT, "a CPU core above this is busy")
    gpu_threshold: float = percentage(IDLE_BELOW_PCT, "a GPU below this idles")
    patience: int = patience()

    @property
    def hot_threshold(self) -> float:
        """Return the percentage above which a core is hot."""
        return self.cpu_threshold


def measure(part: NodeProfile, limits: Params) -> Bottlenecks:
    """Measure one node, and what was hot whenever one of its GPUs was low."""
    samples = gpu_samples_of(
        part.system,
        gpu_below=limits.gpu_threshold,
        cpu_above=limits.cpu_threshold,
        io_above=IO_HOT_PCT,
    )
    return replace(bottleneck.measure(part, limits, words=WORDS), gpu_samples=samples)


RULE = Rule(
    id=RuleId("CPUBottleneck"),
    title="CPU bottlenecks",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=partial(bottleneck.judge, words=WORDS),
    folded=("intervals",),
)
