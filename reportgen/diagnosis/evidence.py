"""Signs that a true cause must show, and signs that would contradict it.

A sign is a number that some rule measured, with a limit. Where the rule did not look, the sign is
silent: it speaks neither for a cause nor against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reportgen.results import Evidence, Finding, RuleResult
from reportgen.results.causes import Cause
from reportgen.text import write

_PCT_OF_RATIO = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One number of one rule, and the two sentences that it can say.

    Attributes:
        rule, metric: where the number stands; ``…_ratio`` is 0-1, ``…_pct`` 0-100.
        limit_pct: from this value on the sign is present.
        present, absent: the sentences; ``value`` is in percent. An empty one says nothing.
    """

    rule: str
    metric: str
    limit_pct: float
    present: str
    absent: str = ""

    def read(self, results: Mapping[str, RuleResult]) -> tuple[bool, str] | None:
        """Return whether the sign is present, and its sentence; ``None`` where it is silent."""
        result = results.get(self.rule)
        value = result.metrics.get(self.metric) if result else None
        if value is None:
            return None
        value_pct = value * (_PCT_OF_RATIO if self.metric.endswith("_ratio") else 1)
        is_present = value_pct >= self.limit_pct
        text = self.present if is_present else self.absent
        return (is_present, write(text, value=value_pct)) if text else None


LOOP_WAITS = Sign(
    rule="Dataloader", metric="waited_ratio", limit_pct=5,
    present="Training waits for data {value:pct} of its time.",
    absent="Training waits for data only {value:pct} of its time.",
)  # fmt: skip
COPIES_BLOCK = Sign(
    rule="Dataloader", metric="copies_at_most_ratio", limit_pct=4,
    present="Copies from memory that is not pinned may delay GPUs for {value:pct} of the time.",
    absent="Copies from memory that is not pinned delay GPUs for at most {value:pct} of the time.",
)  # fmt: skip
CORES_USED_UP = Sign(
    rule="CPUBottleneck", metric="busy_cores_ratio", limit_pct=80,
    present="While GPUs leave time unused, {value:pct} of the cores are busy.",
    absent="While GPUs leave time unused, only {value:pct} of the cores are busy.",
)  # fmt: skip
CPU_BUSY = Sign(
    rule="OverallSystemUsage", metric="cpu_p95_pct", limit_pct=90,
    present="The CPU is at times fully used: the 95th percentile of its mean is {value:pct}.",
    absent="The CPU is never fully used: the 95th percentile of its mean is {value:pct}.",
)  # fmt: skip
WAITS_FOR_IO = Sign(
    rule="OverallSystemUsage", metric="io_wait_one_core_pct", limit_pct=50,
    present="Waiting for I/O takes {value:pct} of the time of one core.",
    absent="Waiting for I/O takes only {value:pct} of the time of one core.",
)  # fmt: skip
NETWORK_FULL = Sign(
    rule="NetworkBottleneck", metric="starved_ratio", limit_pct=3,
    present="For {value:pct} of the time GPUs are idle while the network is close to its limit.",
    absent="The network is hardly ever at its limit while GPUs are idle ({value:pct} of the time).",
)  # fmt: skip
RECEIVES_STEADILY = Sign(
    rule="NetworkBottleneck", metric="steady_input_ratio", limit_pct=3,
    present="In {value:pct} of the minutes the node receives data at close to its highest rate.",
    absent="The node hardly receives data, or only in bursts.",
)  # fmt: skip
BETWEEN_STEPS = Sign(
    rule="OverallFrameworkMetrics", metric="between_steps_ratio", limit_pct=10,
    present="{value:pct} of the time from the first to the last step lies between steps.",
    absent="Only {value:pct} of the time from the first to the last step lies between steps.",
)  # fmt: skip
SLOW_IN_RHYTHM = Sign(
    rule="StepPeriodicity", metric="periodic_ratio", limit_pct=3,
    present="Slow steps at regular intervals take {value:pct} of the loop.",
)  # fmt: skip

_LOADER_LIMITS = (WAITS_FOR_IO, NETWORK_FULL)
Signs = tuple[Sign, ...]
HYPOTHESES: Mapping[str, tuple[Signs, Signs]] = {
    Cause.TOO_FEW_LOADERS: ((LOOP_WAITS,), (CORES_USED_UP, *_LOADER_LIMITS)),
    Cause.TOO_MANY_LOADERS: ((CPU_BUSY,), _LOADER_LIMITS),
    Cause.CPU_PREPROCESSING: ((LOOP_WAITS, CORES_USED_UP), _LOADER_LIMITS),
    Cause.HOST_BOUND: ((CPU_BUSY,), _LOADER_LIMITS),
    Cause.IO_WAIT: ((WAITS_FOR_IO, LOOP_WAITS), (CORES_USED_UP,)),
    Cause.NETWORK_INPUT: ((RECEIVES_STEADILY, LOOP_WAITS), (WAITS_FOR_IO, CORES_USED_UP)),
    Cause.OTHER_PROGRAMS: ((CORES_USED_UP,), ()),
    Cause.SLOW_INPUT: ((LOOP_WAITS,), ()),
    Cause.NO_PREFETCH: ((LOOP_WAITS,), ()),
    Cause.UNPINNED_MEMORY: ((COPIES_BLOCK,), ()),
    Cause.WORK_BETWEEN_STEPS: ((BETWEEN_STEPS,), (LOOP_WAITS, SLOW_IN_RHYTHM)),
    Cause.RANDOM_SLOW_STEPS: ((), (SLOW_IN_RHYTHM, LOOP_WAITS)),
    Cause.PERIODIC_SLOW_STEPS: ((SLOW_IN_RHYTHM,), (LOOP_WAITS,)),
    Cause.SLOWING_DOWN: ((), (LOOP_WAITS,)),
    Cause.GPU_UNDERUSED: ((), (LOOP_WAITS, BETWEEN_STEPS, CORES_USED_UP, WAITS_FOR_IO)),
    Cause.GPU_SWINGS: ((LOOP_WAITS, BETWEEN_STEPS), ()),
}
"""The signs that must be seen if a cause is true, and those that speak against it."""


def evidence_for(finding: Finding, results: Sequence[RuleResult]) -> tuple[Evidence, ...]:
    """Return measurements of other rules that speak for the cause of a finding, or against it.

    Numbers of the rule that made the finding are in its text and are not repeated.
    """
    holders = {result.id for result in results if finding in result.findings}
    others = {str(result.id): result for result in results if result.id not in holders}
    sides = HYPOTHESES.get(finding.cause, ((), ()))
    return tuple(
        Evidence(text=said[1], is_against=said[0] == is_against_if)
        for signs, is_against_if in zip(sides, (False, True), strict=True)
        for sign in signs
        if (said := sign.read(others))
    )


def is_ruled_out(cause: str, results: Sequence[RuleResult]) -> bool:
    """Return whether a sign that a cause must show was looked for and is absent."""
    by_id = {str(result.id): result for result in results}
    signs, _ = HYPOTHESES.get(cause, ((), ()))
    return any(said is not None and not said[0] for said in (sign.read(by_id) for sign in signs))
