"""GPUTimeBudget in words: a row per GPU and part, the parts of the job, the largest of them."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.results import Exhibit, ExhibitKind, Finding, Severity, exhibit
from reportgen.rules.base import Presentation
from reportgen.rules.budget.idle import stretch_exhibits
from reportgen.rules.budget.parts import BUSY, IDLE, NodeBudget, Part
from reportgen.units import NS_PER_S, percentages, say_duration, say_pct

TABLE, SHARES = "gpu_time_budget", "budget"
LEAST_TOLD_PCT = 1.0
"""A part below this share is not worth a reading. Source: ours."""
UNRECORDED_PCT = 50.0
"""GPUs at work for so much of a start or an end trained in it: its steps are lacking. Ours."""
USD_DECIMALS = 4
"""A short job's part costs less than a cent, and would be nothing. Source: ours."""
_S_PER_HOUR = 3600


def totals_ns(nodes: Sequence[NodeBudget]) -> dict[Part, int]:
    """Return the time of each part over all GPUs of the job, every part in order."""
    gpus = [gpu for node in nodes for gpu in node.gpus]
    return {part: sum(gpu.part_ns.get(part, 0) for gpu in gpus) for part in Part}


def metrics_of(
    nodes: Sequence[NodeBudget], usd_per_gpu_hour: float | None
) -> dict[str, float | int | None]:
    """Return the ratios of the time of all GPUs: busy, idle within the loop, and each part.

    With a price the cost of all GPU time, and of the idle time, stands before them.
    """
    totals = totals_ns(nodes)
    every = sum(totals.values())
    if not every:
        return {}
    groups = {"gpu_busy": BUSY, "gpu_idle": IDLE} | {part.value: (part,) for part in Part}
    sums = {name: sum(totals[part] for part in parts) for name, parts in groups.items()}
    costs: dict[str, float | int | None] = {}
    if usd_per_gpu_hour is not None:
        costs["gpu_usd"] = usd_of(every, usd_per_gpu_hour)
        costs["gpu_idle_usd"] = usd_of(sums["gpu_idle"], usd_per_gpu_hour)
    ratios = {f"{name}_ratio": round(value / every, 6) for name, value in sums.items()}
    stretches = [stretch for node in nodes for stretch in node.stretches]
    longest_ns = max((stretch.duration_ns for stretch in stretches), default=None)
    return {
        **costs,
        **ratios,
        "worked_outside_loop_s": sum(_worked_ns(nodes).values()) / NS_PER_S,
        "idle_stretches": sum(gpu.n_stretches for node in nodes for gpu in node.gpus),
        "longest_idle_s": None if longest_ns is None else longest_ns / NS_PER_S,
    }


def usd_of(time_ns: int, usd_per_gpu_hour: float | None) -> float | None:
    """Return what some GPU time costs, ``None`` without a price."""
    if usd_per_gpu_hour is None:
        return None
    return round(time_ns / NS_PER_S / _S_PER_HOUR * usd_per_gpu_hour, USD_DECIMALS)


def present_budget(
    nodes: Sequence[NodeBudget], *, usd_per_gpu_hour: float | None, least_idle_s: float
) -> Presentation:
    """Return the reading, the bar, the table and long idle stretches; nothing without GPU time.

    Args:
        nodes: what was measured, in node order.
        usd_per_gpu_hour: the price, if it is known.
        least_idle_s: how long a stretch is at least.
    """
    totals = {part: value for part, value in totals_ns(nodes).items() if value}
    if not totals:
        return Presentation()
    caption = _caption(nodes)
    return Presentation(
        findings=_findings(totals, caption, worked_ns=_worked_ns(nodes)),
        exhibits=(
            _shares(totals, caption),
            _table(nodes, usd_per_gpu_hour),
            *stretch_exhibits(nodes, least_idle_s=least_idle_s),
        ),
    )


def _shares(totals: dict[Part, int], caption: str) -> Exhibit:
    return exhibit(
        SHARES,
        ExhibitKind.SHARES,
        title="What the GPUs' time went into",
        caption=caption,
        columns=[
            ("part", "", [part.value for part in totals]),
            ("gpu_s", "s", [value / NS_PER_S for value in totals.values()]),
            ("pct", "%", percentages(list(totals.values()))),
        ],
    )


def _table(nodes: Sequence[NodeBudget], usd_per_gpu_hour: float | None) -> Exhibit:
    rows = [
        (node.node, gpu.device, part, part_ns, gpu.hot_ns.get(part, 0))
        for node in nodes
        for gpu in node.gpus
        for part, part_ns in gpu.part_ns.items()
    ]
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="GPU time by node, GPU and part",
        caption=(
            "Shares are of the time of all GPUs of the job and add up to 100 %. cpu_hot_gpu_s is "
            "how much of a row's time had a core above 90 %."
        ),
        columns=[
            ("node", "", [row[0] for row in rows]),
            ("device", "", [row[1] for row in rows]),
            ("part", "", [row[2].value for row in rows]),
            ("gpu_s", "s", [row[3] / NS_PER_S for row in rows]),
            ("pct", "%", percentages([row[3] for row in rows])),
            ("usd", "USD", [usd_of(row[3], usd_per_gpu_hour) for row in rows]),
            ("cpu_hot_gpu_s", "s", [row[4] / NS_PER_S for row in rows]),
        ],
    )


def _caption(nodes: Sequence[NodeBudget]) -> str:
    """Say what initialization and finalization are."""
    with_gpus = [node for node in nodes if node.gpus]
    without = [node.node for node in with_gpus if not node.has_steps]
    if not without:
        return "Initialization is before a node's first step, finalization after its last one."
    text = "Initialization is before the first GPU activity above 10 %, finalization after the last"
    if len(without) == len(with_gpus):
        elsewhere = any(node.has_steps for node in nodes)
        return f"{text}: no steps were recorded{' on nodes with GPUs' if elsewhere else ''}."
    return (
        f"Initialization is before a node's first step, finalization after its last one. On "
        f"{len(without)} of {len(with_gpus)} nodes, {without[0]} the first of them, no steps were "
        "recorded: there they are before the first and after the last GPU activity above 10 %."
    )


def _worked_ns(nodes: Sequence[NodeBudget]) -> dict[Part, int]:
    """Return how long GPUs were at work before the loop, and after it."""
    gpus = [gpu for node in nodes for gpu in node.gpus]
    return {part: sum(gpu.worked_ns.get(part, 0) for gpu in gpus) for part in _UNRECORDED}


def _findings(
    totals: dict[Part, int], caption: str, *, worked_ns: dict[Part, int]
) -> tuple[Finding, ...]:
    told = {part: value for part, value in totals.items() if part in _MEANING}
    if not told:
        return ()
    part = max(told, key=lambda item: told[item])
    every = sum(totals.values())
    share_pct = 100 * told[part] / every
    if share_pct < LEAST_TOLD_PCT:
        return ()
    where, (meaning, advice) = _SHORT[part], _MEANING[part]
    remark = f" {caption}" if part in _UNRECORDED else ""
    worked_pct = 100 * worked_ns.get(part, 0) / told[part]
    if worked_pct >= UNRECORDED_PCT:
        where, meaning, advice = _UNRECORDED[part], _UNRECORDED[part], _RECORD_ALL
        remark = (
            f" GPUs were at work in {say_pct(worked_pct)} of the time {where}: training probably "
            f"went on there and its steps were not recorded.{remark}"
        )
    busy_pct = 100 * sum(totals.get(item, 0) for item in BUSY) / every
    spent = say_duration(told[part] / NS_PER_S)
    return (
        Finding(
            id="GPU-3",
            severity=Severity.INFO,
            title=f"{say_pct(share_pct)} of the GPU time was spent {where}",
            text=(
                f"{spent} of GPU time, {say_pct(share_pct)} of the whole job's, went by {meaning}; "
                f"{say_pct(busy_pct)} was work{_IN_LOOP if part in _UNRECORDED else ''}.{remark}"
            ),
            advice=advice,
            measured=round(share_pct, 4),
            unit="%",
            exhibit=SHARES,
            causes=_CAUSES.get(part, ()),
        ),
    )


_UNRECORDED: dict[Part, str] = {
    Part.INITIALIZATION: "before the first recorded step",
    Part.FINALIZATION: "after the last recorded step",
}
_IN_LOOP = " within the loop"
_RECORD_ALL = "Record the steps of the whole job, or look at what was recorded (--from, --to)."
_SHORT: dict[Part, str] = {
    Part.INITIALIZATION: "before the training loop",
    Part.FINALIZATION: "after the training loop",
    Part.STRAGGLER: "waiting for a slower GPU",
    Part.IO_WAIT: "waiting for I/O",
    Part.NETWORK: "waiting for the network",
    Part.CPU_INPUT: "waiting for the CPU or for input",
    Part.BETWEEN_STEPS: "between steps",
    Part.NEVER_USED: "on GPUs that the job never uses",
    Part.UNEXPLAINED: "idle, for no recorded reason",
}
_MEANING: dict[Part, tuple[str, str]] = {
    Part.INITIALIZATION: (
        "before the training loop",
        "Shorten the start: smaller downloads, a cached data set, lighter imports and warm-up.",
    ),
    Part.FINALIZATION: (
        "after the training loop",
        "Shorten the end: save and upload less, or do so while training still runs.",
    ),
    Part.STRAGGLER: (
        "idle while another GPU of the node was busy and workers waited in steps or communication",
        "Give each GPU an equal share of the work; look at the pace of the workers.",
    ),
    Part.IO_WAIT: (
        "idle while the cores waited for I/O",
        "Read fewer and larger files, cache the data, or use faster storage.",
    ),
    Part.NETWORK: (
        "idle while the node received data close to the limit of its network",
        "Send less, cache what is read again, or take an instance with more network bandwidth.",
    ),
    Part.CPU_INPUT: (
        "idle while a core was above 90 % or the loop waited for a batch",
        "Load faster if the loop waits for data; else move the CPU work out of its process.",
    ),
    Part.BETWEEN_STEPS: (
        "idle between steps",
        "Look at what the loop does between steps: callbacks, logging, evaluation, checkpoints.",
    ),
    Part.NEVER_USED: (
        "on GPUs that never work while others of their node do",
        "Start one process per GPU, or take an instance with fewer GPUs.",
    ),
    Part.UNEXPLAINED: (
        "idle for no reason that the recording shows",
        "Record framework events, and look at small kernels, copies and synchronization.",
    ),
}
_CAUSES: dict[Part, tuple[str, ...]] = {
    Part.INITIALIZATION: ("INIT-1",),
    Part.STRAGGLER: ("STRAG-1", "BAL-1"),
    Part.IO_WAIT: ("IO-1",),
    Part.NETWORK: ("SYS-5",),
    Part.CPU_INPUT: ("DL-1", "DL-2", "DL-5", "CPU-1", "PERIOD-1", "STEP-1"),
    Part.BETWEEN_STEPS: ("PERIOD-1", "DL-1", "DL-5"),
    Part.NEVER_USED: ("GPU-1",),
    Part.UNEXPLAINED: ("GPU-1",),
}
"""The findings that look closer at a part."""
