"""Messages of IdleTime: names of causes, and faults with advice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reportgen.facts import idle
from reportgen.facts.device_busy import SMALL_GAP_NS
from reportgen.facts.host_costs import Cost
from reportgen.facts.idle import HostCause
from reportgen.results import Cause, PartWords, Role, Severity
from reportgen.rules.kit import Message
from reportgen.units import NS_PER_US

BUSY = "busy"
IDLING = "The GPU was idle"
IDLING_TOGETHER = "The {n:count GPU} together were idle"
AT_THE_END = "the end of the window"
_SMALL_GAP = f"{SMALL_GAP_NS // NS_PER_US} µs"

NAMES: Mapping[str, tuple[str, Role]] = {
    BUSY: ("GPU busy", Role.GPU),
    HostCause.DATALOADER: ("waits for the data loader", Role.IO),
    HostCause.SYNC: ("host late: synchronizing call", Role.CPU),
    HostCause.COPY: ("host late: copying call", Role.CPU),
    HostCause.OPTIMIZER: ("host late: optimizer", Role.CPU),
    HostCause.AUTOGRAD: ("host late: autograd", Role.CPU),
    HostCause.ALLOC: ("host late: allocating call", Role.CPU),
    HostCause.PYTHON: ("host late: Python", Role.CPU),
    HostCause.OTHER: ("host late: operators and other", Role.CPU),
    idle.IN_LAUNCH_CALL: ("in the launch call", Role.GPU),
    idle.KERNEL_GAP: ("gap between kernels", Role.IDLE),
    idle.WAITING: ("waiting after the launch", Role.IO),
    idle.LAUNCH_NOT_RECORDED: ("launch not recorded", Role.GPU),
    idle.TAIL: ("after the last operation", Role.GPU),
}
"""Causes for people, and what they are about."""
WORDS = (PartWords(names={cause: name for cause, (name, _) in NAMES.items()}),)

TABLE_CAPTION = f"""A gap has up to three parts, divided by the call that launched the next
    operation. Before the call the host was late: the cause is the work of its thread. The second
    part is the call. After the call it is a gap between kernels (less than {_SMALL_GAP}) or a wait.
    The rows of one window add up to its idle time."""
STRETCHES_CAPTION = """{times} nothing ran on a GPU for long (at least {least}): {length:ns} in all,
    {share:pct} of the {every:ns} of GPU time. Main causes, with the number of intervals:
    {counts}.{apart}{rest}"""
WORST = " {most} {node} it was {share:pct}."
LOOKS_LIKE_A_START = " The recording looks like a start."

START = Message(
    id="IDLE-9",
    cause=Cause.FIRST_USE,
    severity=Severity.WARNING,
    title="One idle interval takes {measured:pct}: it looks like a start, not like steps",
    text="""For {length:ns} before {before} nothing ran on the GPU ({cause}); this is {measured:pct}
        of {window}. No steps were recorded. Creating a context, loading libraries and choosing
        algorithms happen once, so shares of such a recording say little about later steps.""",
    advice="""Record after warm-up: torch.profiler.schedule(wait=1, warmup=1, active=3), with
        prof.step() at the end of each step.""",
    exhibit="idle_stretches",
)

STOPPED = Message(
    id="IDLE-10",
    cause=Cause.LONG_GAP,
    title="The GPU stops {times} for {length:ns}: {measured:pct} of the time",
    text="""On {stop.node} nothing ran for {once.length_ns:ns} before {once.before}; {doing}.
        {more}Without this the rank would finish {won:ns} earlier, which is {measured:pct} of
        {window}.""",
    advice="""Move this work out of the loop or to another thread, or do it less often: saving,
        evaluation, logging, garbage collection.{stack}""",
    exhibit="idle_stretches",
)
FIRST_USE = Message(
    id="IDLE-11",
    cause=Cause.FIRST_USE,
    title="First use takes {measured:pct} of the time: kernels are loaded, compiled or tried",
    text="""On {stop.node} the host spends {once.length_ns:ns} in calls that load, compile or try
        kernels before they first run. Without them the rank would finish {won:ns} earlier,
        which is {measured:pct} of {window}. It happens once and does not slow later steps.""",
    advice="""Record after warm-up, so that it is not in the recording:
        torch.profiler.schedule(wait=1, warmup=1, active=3). Starts become faster with a cache of
        compiled kernels and with constant shapes; CUDA graphs do not help.""",
    exhibit="host_costs",
)
DOING = "at this time the host was in {name}"
DOING_UNKNOWN = "the recording does not show the work of the host at this time"
MORE = "In all it stops {n:count time}, for {length:ns}. "
RECORD_STACK = " Record with with_stack=True to see the function."
COSTS_CAPTION = """The recording of each rank is simulated again, each time with one cost removed;
    won_us is how much earlier the rank would then finish. Do not add these gains up: while the host
    runs ahead of the GPU, removing one cost may save nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault of idling.

    Attributes:
        idle_for: the causes of idling that it joins.
        cost: the gain without it decides; ``None`` where the idle time does.
    """

    message: Message
    idle_for: tuple[str, ...]
    cost: Cost | None = None


def _fault(
    finding_id: str,
    *idle_for: str,
    cause: Cause,
    title: str,
    meaning: str,
    advice: str,
    cost: Cost | None = None,
    without: str = "",
    costs: str = "costs",
    hidden: str = "",
) -> Fault:
    """Return a fault that is judged by its idle time, or by what is won without its ``cost``."""
    is_cost = cost is not None
    share = "{idle:pct} of the GPU time"
    if not is_cost:
        share = "{measured:pct} of the GPU time within {window}"
    won = f"{without} {{won_by}} would finish {{won:ns}} earlier, {{measured:pct}} of {{window}}."
    text = f"{{idling}} for {{lost:ns}}, {share}, because {meaning}.{{of_worst}}"
    message = Message(
        id=finding_id,
        title=f"{title}{f', which {costs}' if is_cost else ':'} {{measured:pct}} of the time",
        text=f"{won}{hidden} {text}" if is_cost else text,
        advice=advice,
        exhibit="host_costs" if is_cost else "idle_shares",
        cause=cause,
    )
    return Fault(message=message, idle_for=idle_for, cost=cost)


FAULTS = (
    _fault(
        "IDLE-1",
        HostCause.DATALOADER,
        cause=Cause.SLOW_INPUT,
        title="The GPU waits for the data loader",
        meaning="the host waited for the next batch",
        advice="""Raise num_workers of the DataLoader, and set pin_memory and prefetch_factor;
            if this is already done, make each batch cheaper to load.""",
        cost=Cost.LOADER,
        without="Without these waits",
    ),
    _fault(
        "IDLE-2",
        HostCause.SYNC,
        cause=Cause.SYNCHRONIZATION,
        title="The host waits in synchronizing calls",
        meaning="the host waited in synchronizing calls",
        advice="""Remove .item(), .cpu(), print of tensors and torch.cuda.synchronize() from the
            loop, or do them only every few steps.""",
        cost=Cost.SYNC,
        without="If its other costs were mended first, without the synchronizing calls",
        costs="could cost",
        hidden=" Until then the other costs may hide these waits.",
    ),
    _fault(
        "IDLE-3",
        HostCause.COPY,
        cause=Cause.BLOCKING_COPIES,
        title="The GPU waits while the host copies",
        meaning="the host was inside copying calls",
        advice="Copy from pinned memory with non_blocking=True, on a separate stream.",
    ),
    _fault(
        "IDLE-4",
        HostCause.ALLOC,
        cause=Cause.GPU_ALLOCATION,
        title="The GPU waits while the host allocates or frees GPU memory",
        meaning="the host was inside calls that allocate or free memory",
        advice="""Keep shapes constant, do not call empty_cache() in the loop, and let the caching
            allocator use expandable segments.""",
    ),
    _fault(
        "IDLE-5",
        HostCause.OPTIMIZER,
        HostCause.AUTOGRAD,
        HostCause.PYTHON,
        HostCause.OTHER,
        cause=Cause.SLOW_HOST,
        title="The host is too slow to keep the GPU busy",
        meaning="the host had not yet called the next operation: it ran Python or operators",
        advice="""Launch fewer and larger kernels: larger batches,
            {compile}{graphs}{optimizers}less Python in the loop.{stacks}""",
        cost=Cost.HOST,
        without="Without the time of the host between its calls",
    ),
    _fault(
        "IDLE-6",
        idle.IN_LAUNCH_CALL,
        cause=Cause.FULL_LAUNCH_QUEUE,
        title="The GPU waits inside launch calls",
        meaning="the call that launched the next operation was slow",
        advice="Launch fewer kernels: {graphs}{compile}or a larger batch.{stacks}",
    ),
    _fault(
        "IDLE-7",
        idle.KERNEL_GAP,
        cause=Cause.SMALL_KERNELS,
        title="Short gaps between kernels add up",
        meaning=f"the device paused for less than {_SMALL_GAP} between operations",
        advice="Launch fewer kernels: {graphs}{compile}or a larger batch.{stacks}",
    ),
    _fault(
        "IDLE-8",
        idle.WAITING,
        cause=Cause.STREAM_DEPENDENCY,
        title="The GPU waits although its work was launched",
        meaning="operations were launched in time but waited for a stream, an event or a peer",
        advice="""In the timeline, look for waits between streams, and for collectives that wait for
            a late rank, at the times of these gaps.""",
    ),
)
