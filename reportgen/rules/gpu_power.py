"""GPUPower: power, energy and clocks of GPUs, what holds the clocks back, and who else works there.

The reason that holds clocks back is a number whose bits are those of NVIDIA's ``nvml.h``
(``nvmlClocksEventReason…``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Floats, Integers
from reportgen.facts.samples import least_pause_ns, mean_of_present, training_loop_ns
from reportgen.facts.usage import IDLE_BELOW_PCT
from reportgen.gpu_peaks import GpuPeak, peak_of
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.profile.monitoring import STEP_COUNTERS
from reportgen.profile.system import device_order
from reportgen.results import Cause, Finding, Role, RuleId, Section, Severity, Where
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule, param
from reportgen.text import device_label, format_ns
from reportgen.units import NS_PER_S, pct_of

POWER_CAP = 0x4
SLOWDOWNS = {
    0x8: "a hardware slowdown (heat or power)",
    0x20: "heat (the driver lowers the clocks)",
    0x40: "heat (the hardware lowers the clocks)",
    0x80: "an external power brake",
}
"""Bits that say that the machine cannot keep the GPU's clocks up: a fault, not a setting."""
_MEASURED = (SeriesKind.GPU_WATTS, SeriesKind.GPU_THROTTLE_BITS, SeriesKind.GPU_OTHERS)
_KJ_PER_KWH = 3_600
_LEAST_VALUES, _MOST_STEPS = 2, 1 << 62
_LEAST_BUSY = 60
"""Fewer busy samples than half a minute's at 0.5 s say little about a GPU's clocks."""

SLOWED_FROM_PCT = 5.0
"""As much of its busy time lowers the speed of a whole job noticeably."""
SHARED_FROM_PCT = 5.0
"""One observation of another process may be one that only queries the driver."""

ABOUT = About(
    checks="""Power, energy and clock speeds of GPUs, the reasons for lower clocks, and processes of
        other jobs.""",
    reading="""Shares are of the samples in which the GPU was busy (at least 10 %). At its power
        limit a busy GPU lowers its clock, which is normal; lower clocks because of heat or a power
        brake are faults of the machine. The possible gain compares the clock with that of samples
        without such a reason.""",
    advice="""If GPUs are slowed down, check the cooling and the power supply of the machine, or
        move the job. Stop other jobs on its GPUs.""",
    section=Section(id="gpu-power", title="GPU power and clocks", order=165),
    is_optional=True,
    hint_when_skipped="To record them, run the job with the command reportgen record.",
)
THROTTLED = kit.Message(
    id="POWER-1",
    cause=Cause.THROTTLING,
    severity=Severity.WARNING,
    title="{place} is slowed down for {measured:pct} of its busy time by {gpu.reasons}",
    text="""{clocks}; it reached {gpu.max_celsius:.0f} °C.{concerned} In a job of
        several GPUs all wait for the slowest one.""",
    advice="""Check the cooling, the fans and the power supply of this machine, or move the job to
        another one.""",
    exhibit="gpu_power",
)
SHARED = kit.Message(
    id="POWER-3",
    cause=Cause.OTHER_JOB,
    severity=Severity.WARNING,
    title="Another job computes on {place}",
    text="""In {measured:pct} of {gpu.n_looks:count check}, one every ten seconds, a process of
        another job was on the GPU.{concerned}""",
    advice="Stop the other job, or ask for GPUs that only your job uses.",
    exhibit="gpu_power",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """What energy costs."""

    usd_per_kwh: float | None = param(
        None,
        unit="USD",
        meaning="price of a kilowatt-hour: energy is given in money too",
        source="the contract of who runs the machine",
        minimum=0,
        maximum=1000,
        may_be_none=True,
    )
    pue: float = param(
        1.0,
        unit="",
        meaning="power usage effectiveness: energy of the data centre by that of its machines",
        source="who runs the data centre; 1 counts the GPUs alone",
        minimum=1,
        maximum=10,
    )


@kit.row
class GpuPower:
    """One GPU over the job."""

    node: str = kit.col()
    gpu: str = kit.col()
    mean_w: float | None = kit.col("W", digits=1)
    max_w: float | None = kit.col("W", digits=1)
    energy_kj: float | None = kit.col("kJ", digits=2)
    energy_source: str = kit.col(name="energy_from")
    idle_kj: float | None = kit.col("kJ", digits=2, name="energy_while_idle_kj")
    busy_mhz: float | None = kit.col("MHz", digits=0, name="clock_busy_mhz")
    peak_mhz: float | None = kit.col("MHz", digits=0, name="clock_of_peak_mhz")
    max_celsius: float = kit.col("°C", digits=0, name="hottest_celsius")
    capped_pct: float = kit.col("%", digits=2, name="at_power_limit_pct")
    slowed_pct: float = kit.col("%", digits=2, name="slowed_down_pct")
    reasons: str = kit.col(name="slowed_down_by")
    sm_pct: float | None = kit.col("%", digits=1, name="sm_activity_pct", role=Role.GPU)
    tensor_pct: float | None = kit.col("%", digits=1, name="tensor_activity_pct", role=Role.GPU)
    dram_pct: float | None = kit.col("%", digits=1, name="dram_activity_pct", role=Role.GPU_MEMORY)
    shared_pct: float | None = kit.col("%", digits=1, name="others_on_it_pct")
    slowed_mhz: float
    free_mhz: float
    n_busy: int
    n_looks: int
    slowed_from_ns: int
    slowed_to_ns: int
    loop_joules: float | None


@kit.row
class NodePower:
    """The GPUs of a node, and the steps of that worker of it which made most."""

    node: str = kit.col()
    n_gpus: int = kit.col(name="gpus")
    n_steps: int = kit.col(name="steps")
    mean_w: float | None = kit.col("W", digits=1, name="mean_w_of_all_gpus")
    loop_kj: float | None = kit.col("kJ", digits=3, name="energy_in_training_loop_kj")
    kwh: float | None = kit.col("kWh", digits=4, name="energy_of_all_gpus_kwh")
    idle_kwh: float | None = kit.col("kWh", digits=4, name="energy_while_idle_kwh")
    idle_pct: float | None = kit.derived(
        lambda node: None if node.idle_kwh is None else pct_of(node.idle_kwh, node.kwh),
        "%",
        name="energy_while_idle_pct",
        digits=2,
    )
    usd: float | None = kit.col("USD", digits=4, name="energy_cost_usd")
    gpus: tuple[GpuPower, ...]


def measure(part: NodeProfile, params: Params) -> NodePower:
    """Measure every GPU whose power, clocks or foreign processes were recorded."""
    loop = training_loop_ns(part.spans)
    n_steps = int(np.bincount(part.spans.steps().worker).max(initial=0))
    if loop is None:
        loop, n_steps = _logged_loop(part)
    names = {name for kind in _MEASURED for name in part.system.names(kind)}
    of_gpus = part.recorded.gpus if part.recorded else ()
    peaks = {f"gpu{gpu.index}": peak_of(gpu.name) for gpu in of_gpus}
    in_order = sorted(names, key=device_order)
    gpus = tuple(_gpu(part, name, loop, peaks.get(name)) for name in in_order)
    in_loop = [gpu.loop_joules for gpu in gpus if gpu.loop_joules is not None]
    watts = [gpu.mean_w for gpu in gpus if gpu.mean_w is not None]
    return NodePower(
        node=part.node,
        n_gpus=len(gpus),
        n_steps=n_steps,
        mean_w=sum(watts) if watts else None,
        loop_kj=sum(in_loop) / 1000 if in_loop else None,
        kwh=(kwh := _kwh(gpu.energy_kj for gpu in gpus)),
        idle_kwh=_kwh(gpu.idle_kj for gpu in gpus),
        usd=None
        if kwh is None or params.usd_per_kwh is None
        else kwh * params.pue * params.usd_per_kwh,
        gpus=gpus,
    )


def _kwh(kilojoules: Iterable[float | None]) -> float | None:
    known = [value for value in kilojoules if value is not None]
    return sum(known) / _KJ_PER_KWH if known else None


def _logged_loop(part: NodeProfile) -> tuple[tuple[int, int] | None, int]:
    """Return when a monitored job logged its first and last step, and how many lie between."""
    logs = part.monitoring.progress if part.monitoring is not None else ()
    for log in logs:
        if log.counter in STEP_COUNTERS and log.step.size > 1:
            made = min(int(np.maximum(np.diff(log.step), 0).sum()), _MOST_STEPS)
            return (int(log.time_ns[0]), int(log.time_ns[-1])), made
    return None, 0


def _gpu(
    part: NodeProfile, name: str, loop: tuple[int, int] | None, peak: GpuPeak | None
) -> GpuPower:
    tick_ns, unknown = part.system.tick_ns, np.full(part.system.n_ticks, np.nan)

    def of(kind: SeriesKind) -> Floats:
        column = part.system.column_of(kind, name)
        return unknown if column is None else column

    watts, mhz = of(SeriesKind.GPU_WATTS), of(SeriesKind.GPU_CLOCK_MHZ)
    use, bits = of(SeriesKind.GPU_UTILIZATION), of(SeriesKind.GPU_THROTTLE_BITS)
    is_busy = (use >= IDLE_BELOW_PCT) & ~np.isnan(bits)
    reasons = np.where(is_busy, np.nan_to_num(bits), 0).astype(np.int64)
    is_slowed = is_busy & ((reasons & sum(SLOWDOWNS)) > 0)
    is_capped = is_busy & ((reasons & POWER_CAP) > 0) & ~is_slowed
    joules, others = of(SeriesKind.GPU_JOULES), of(SeriesKind.GPU_OTHERS)
    metered = _metered(tick_ns, joules, watts, part.system.interval_ns)
    looks = others[~np.isnan(others)]
    slowed = np.flatnonzero(is_slowed)
    ends = slowed[[0, -1]] if slowed.size else np.zeros(2, dtype=np.int64)
    n_busy = int(is_busy.sum())
    return GpuPower(
        node=part.node,
        gpu=name,
        mean_w=mean_of_present(watts),
        max_w=_most(watts),
        energy_kj=None if metered is None else float(metered.joules.sum()) / 1000,
        energy_source="" if metered is None else metered.source,
        idle_kj=None if metered is None else metered.idle_joules(use) / 1000,
        busy_mhz=mean_of_present(mhz[use >= IDLE_BELOW_PCT]),
        peak_mhz=peak.boost_hz / 1e6 if peak and peak.boost_hz else None,
        max_celsius=_most(of(SeriesKind.GPU_CELSIUS)) or 0.0,
        capped_pct=pct_of(int(is_capped.sum()), n_busy),
        slowed_pct=pct_of(slowed.size, n_busy),
        reasons=" and ".join(text for bit, text in SLOWDOWNS.items() if (reasons & bit).any()),
        sm_pct=mean_of_present(of(SeriesKind.SM_ACTIVITY)),
        tensor_pct=mean_of_present(of(SeriesKind.TENSOR_ACTIVITY)),
        dram_pct=mean_of_present(of(SeriesKind.DRAM_ACTIVITY)),
        shared_pct=100 * float((looks > 0).mean()) if looks.size else None,
        slowed_mhz=mean_of_present(mhz[is_slowed]) or 0.0,
        free_mhz=mean_of_present(mhz[is_busy & ~is_slowed & ~is_capped]) or 0.0,
        n_busy=n_busy,
        n_looks=int(looks.size),
        slowed_from_ns=int(tick_ns[ends[0]]),
        slowed_to_ns=int(tick_ns[ends[1]]),
        loop_joules=None if loop is None or metered is None else metered.within(tick_ns, loop),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Metered:
    """The energy of a GPU: (n,) rows of ticks, and (n - 1,) joules from each to the next one."""

    rows: Integers
    joules: Floats
    source: str

    def within(self, tick_ns: Integers, window: tuple[int, int]) -> float:
        """Return the energy of a stretch of time."""
        spent = np.concatenate([[0.0], np.cumsum(self.joules)])
        start, end = np.interp(np.array(window, dtype=np.float64), tick_ns[self.rows], spent)
        return float(end - start)

    def idle_joules(self, use: Floats) -> float:
        """Return the energy up to ticks whose use, which is that since the last one, is idle."""
        return float(self.joules[use[self.rows[1:]] < IDLE_BELOW_PCT].sum())


def _metered(
    tick_ns: Integers, joules: Floats, watts: Floats, interval_ns: int | None
) -> _Metered | None:
    """Return the energy by a counter, else by the power; ``None`` where there are no two values.

    A fall of the counter is a driver that was loaded again. Where samples are missing for long
    their power is not known, and no energy is counted.
    """
    rows = np.flatnonzero(~np.isnan(joules))
    if rows.size >= _LEAST_VALUES:
        rises = np.maximum(np.diff(joules[rows]), 0.0)
        return _Metered(rows=rows, joules=rises, source="counter")
    rows = np.flatnonzero(~np.isnan(watts))
    if rows.size < _LEAST_VALUES:
        return None
    passed_ns = np.diff(tick_ns[rows])
    passed_s = np.where(passed_ns <= least_pause_ns(interval_ns), passed_ns, 0) / NS_PER_S
    mean_w = (watts[rows][1:] + watts[rows][:-1]) / 2
    every = format_ns(interval_ns or int(np.median(passed_ns)))
    return _Metered(rows=rows, joules=mean_w * passed_s, source=f"power every {every}")


def _most(values: Floats) -> float | None:
    return None if np.isnan(values).all() else float(np.nanmax(values))


def judge(nodes: Sequence[NodePower], _params: Params) -> Outcome:
    """Report GPUs that are slowed down, or shared with another job."""
    gpus = [gpu for node in nodes for gpu in node.gpus]
    if not gpus:
        return Outcome(missing="Power and clock speeds were not recorded.")
    return Outcome(
        findings=_findings(gpus),
        exhibits=[
            kit.table(
                "gpu_power",
                gpus,
                GpuPower,
                title="Power and clocks of each GPU",
                caption="""Energy is of the whole recording, by the GPU's counter, else integrated
                    from its power. clock_of_peak_mhz is the clock for which the GPU's peaks hold
                    (docs/efficiency.md); at another clock they are in proportion. Activity is
                    recorded on Hopper and newer GPUs. “others” counts
                    the checks that found a process of another job.""",
            ),
            kit.table(
                "energy",
                [node for node in nodes if node.gpus],
                NodePower,
                title="Energy of the training loop",
                caption="""“steps” are those of the training process of the node with the most
                    steps, or those that a monitored job logged. The cost is that of all GPUs by
                    --usd-per-kwh and --pue.""",
            ),
        ],
        metrics=_metrics(nodes),
    )


def _findings(gpus: Sequence[GpuPower]) -> Iterator[Finding]:
    judged = [gpu for gpu in gpus if gpu.n_busy >= _LEAST_BUSY]
    for message, pcts, limit_pct in (
        (THROTTLED, [(gpu.slowed_pct, gpu) for gpu in judged], SLOWED_FROM_PCT),
        (SHARED, [(gpu.shared_pct or 0.0, gpu) for gpu in gpus], SHARED_FROM_PCT),
    ):
        found = [(pct, gpu) for pct, gpu in pcts if pct > limit_pct]
        if not found:
            continue
        pct, worst = max(found, key=lambda item: item[0])
        where = Where(node=worst.node, device=worst.gpu)
        if message is THROTTLED:
            where = kit.stretch(worst.node, worst.gpu, worst.slowed_from_ns, worst.slowed_to_ns)
        yield message.finding(
            measured=pct,
            threshold=limit_pct,
            where=where,
            share=_lost_ratio(worst) if message is THROTTLED else None,
            clocks=_clocks(worst),
            gpu=worst,
            place=device_label(worst.node, worst.gpu, n_nodes=len({gpu.node for gpu in gpus})),
            concerned=kit.concerning(len(found), len(gpus), "GPU"),
        )


def _joules_per_step(nodes: Sequence[NodePower]) -> float | None:
    """Return the energy of all GPUs for one step, which all workers of a job make together."""
    known = [node.loop_kj for node in nodes if node.loop_kj is not None]
    n_steps = max((node.n_steps for node in nodes), default=0)
    return 1000 * sum(known) / n_steps if known and n_steps else None


def _clocks(gpu: GpuPower) -> str:
    if not gpu.slowed_mhz:
        return "Its clock was not recorded"
    otherwise = f" and {gpu.free_mhz:.0f} MHz otherwise" if gpu.free_mhz else ""
    return f"Its clock was {gpu.slowed_mhz:.0f} MHz then{otherwise}"


def _lost_ratio(gpu: GpuPower) -> float | None:
    """Return the share of busy time that unhindered clocks would save, an upper bound."""
    if not gpu.free_mhz or not gpu.slowed_mhz or gpu.slowed_mhz >= gpu.free_mhz:
        return None
    return gpu.slowed_pct / 100 * (1 - gpu.slowed_mhz / gpu.free_mhz)


def _metrics(nodes: Sequence[NodePower]) -> dict[str, float | None]:
    gpus = [gpu for node in nodes for gpu in node.gpus]
    watts = [node.mean_w for node in nodes if node.mean_w is not None]
    energy = [gpu.energy_kj for gpu in gpus if gpu.energy_kj is not None]
    idle = [gpu.idle_kj for gpu in gpus if gpu.idle_kj is not None]
    per_step = _joules_per_step(nodes)
    return {
        "gpu_power_mean_w": round(sum(watts), 3) if watts else None,
        "gpu_energy_kj": round(sum(energy), 6) if energy else None,
        "gpu_energy_idle_kj": round(sum(idle), 6) if idle else None,
        "gpu_energy_per_step_j": None if per_step is None else round(per_step, 4),
        "gpu_slowed_down_max_pct": round(max(gpu.slowed_pct for gpu in gpus), 4),
    }


RULE = Rule(
    id=RuleId("GPUPower"),
    title="GPU power and clocks",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
)
