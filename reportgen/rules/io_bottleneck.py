"""IOBottleneck: a GPU idles while CPU cores wait for I/O."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from reportgen.facts.starving import starved_by_disk
from reportgen.facts.usage import IDLE_BELOW_PCT, IO_HOT_PCT
from reportgen.profile import SeriesKind
from reportgen.results import AtAGlance, Cause, RuleId, Section, Severity
from reportgen.rules import bottleneck
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.kit import BOTTLENECKS, patience, percentage

ABOUT = About(
    checks="How often a GPU is idle while at least one CPU core waits for I/O.",
    reading="""A sample counts as a bottleneck if a GPU is below the GPU threshold and the I/O wait
        of at least one core is above the I/O threshold. Once a minute the rule looks at all samples
        so far, and triggers if the share of bottlenecks is larger than the threshold.""",
    advice="""Read fewer and larger files, use faster storage or stream the data, and prefetch or
        cache what is read again.""",
    section=Section(id="io-bottlenecks", title="I/O bottlenecks", order=220),
    at_a_glance=(AtAGlance(card=BOTTLENECKS, order=51, exhibits=("gpu_samples",)),),
    is_quiet=True,
    has_counters=True,
)

WORDS = bottleneck.Wording(
    cores=SeriesKind.IO_WAIT,
    finding_id="IO-1",
    waits_for="A GPU is idle while a CPU core waits for I/O",
    hot="the I/O wait of a core was above",
    over="waiting for I/O",
    part="a GPU below, a core waiting for I/O (bottleneck)",
    advice="""Read fewer and larger files, put the data on faster or local storage, and prefetch or
        cache what is read again.""",
    narrow_advice="""Find what the one waiting thread reads or writes: read ahead in several loader
        processes, and write checkpoints in the background.""",
    narrow="So few waiting cores mean that a single thread waits, not that storage is used up.",
    narrow_severity=Severity.WARNING,
    cause=Cause.IO_WAIT,
    starving=starved_by_disk,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    threshold: float = percentage(50, "triggers when more samples than this are bottlenecks")
    io_threshold: float = percentage(IO_HOT_PCT, "a core whose I/O wait is above this waits")
    gpu_threshold: float = percentage(IDLE_BELOW_PCT, "a GPU below this idles")
    patience: int = patience()

    @property
    def hot_threshold(self) -> float:
        """Return the percentage above which a core is hot."""
        return self.io_threshold


RULE = Rule(
    id=RuleId("IOBottleneck"),
    title="I/O bottlenecks",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=partial(bottleneck.measure, words=WORDS),
    judge=partial(bottleneck.judge, words=WORDS),
    folded=("intervals",),
)
