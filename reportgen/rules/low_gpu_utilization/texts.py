"""The prose of LowGPUUtilization: faults of a GPU, and advice."""

from __future__ import annotations

from dataclasses import replace

from reportgen import results
from reportgen.rules import kit

UNDER_USED = kit.Message(
    id="GPU-1",
    cause=results.Cause.GPU_UNDERUSED,
    title="GPU under-used: the 95th percentile of {gpu.gpu} on {gpu.node} is only {measured:pct}",
    text="""In its working time the mean utilization of this GPU is {gpu.work_mean_pct:pct}, and
        95 % of the samples are at most {measured:pct} (threshold {threshold:pct}). It is idle
        (below {params.threshold_p5:pct}) for {gpu.work_idle_pct:pct} of this time.{concerned}""",
    advice="""Give it more work at a time (see batch size), or use a smaller GPU or fewer of them;
        the samples do not show that it waits for the host.""",
    unit="% (95th percentile in its working time)",
    exhibit="utilization",
)
LOW_ON_AVERAGE = replace(
    UNDER_USED,
    unit="% (mean in its working time)",
    title="GPU under-used: {gpu.gpu} on {gpu.node} is at {measured:pct} on average",
    text="""In its working time the mean utilization of this GPU is {measured:pct} (threshold
        {threshold:pct}). 95 % of the samples are at least {gpu.work_p5_pct:pct}
        (idle is below {params.threshold_p5:pct}).{concerned}""",
)
SHORT = replace(
    UNDER_USED,
    id="GPU-4",
    cause=results.Cause.LOST_GPU_TIME,
    unit="% of the usual use",
    title="GPUs are short of work: {measured:pct} of their usual use is missing",
    text="""In their working time the GPUs that the job uses are used {measured:pct} less than they
        usually are when they work (75th percentile, or 100 % if that is below {usual_from:pct}).
        {gpu.gpu} on {gpu.node} misses most: its mean utilization is {gpu.work_mean_pct:pct}.
        Samples alone do not show what the GPUs wait for.""",
    advice="""Record the job with reportgen record, or switch on framework profiling: steps and
        waits show which of the possible causes it is.""",
)
BUT_FOR = ", and that in a few samples only, as while a process sets up CUDA"
NEVER = replace(
    UNDER_USED,
    cause=results.Cause.GPU_IDLE,
    title="{which} {n_unused:verb are/is} never used: {unused}",
    text="""The largest utilization of {gpu.gpu} on {gpu.node} in {gpu.n_samples:count sample} was
        {gpu.max_pct:pct}{but_for}.""",
)
STOPPED = replace(
    UNDER_USED,
    unit="% of the time",
    cause=results.Cause.GPU_STOPPED,
    title="GPU stopped: {gpu.gpu} on {gpu.node} is idle for the last {end.pct:pct} of the time",
    text="""It last worked {end.length_ns:ns} before its last sample. In its working time its mean
        utilization was {gpu.work_mean_pct:pct}.{concerned}""",
    advice="""Find out why its work ended: if training was over, end the job sooner; if not, its
        process hung or died.""",
)
USE_ANY = """Check that model and batches are moved to the GPU and that the framework is built for
    it; a job that needs no GPU is cheaper on an instance without one."""
USE_NODES = """Check whether the processes on {nodes:names} run and have joined the others; start
    them, or take fewer nodes."""
USE_ALL = """Start one process per GPU (torchrun, DistributedDataParallel), or take an instance with
    fewer GPUs."""
RELIEVE_HOST = """Take work off the host first: in {gpu.hot_when_idle_pct:pct} of the idle samples a
    CPU core was busy or waited for I/O; find its work with a sampling profiler such as py-spy."""

FLUCTUATING = kit.Message(
    id="GPU-2",
    cause=results.Cause.GPU_SWINGS,
    title="""GPU swings between busy and idle: {gpu.gpu} on {gpu.node} is idle
        for {gpu.work_idle_pct:pct} of its working time""",
    text="""In its working time the mean utilization of this GPU is {gpu.work_mean_pct:pct}. The
        95th percentile is {gpu.work_p95_pct:pct} and the 5th {measured:pct}: it is idle (below
        {threshold:pct}) for {gpu.work_idle_pct:pct} of this time.{concerned}""",
    advice="""Find what the GPU waits for between its bursts of work: data loading, synchronization
        with other GPUs, checkpoints or logging.""",
    unit="% (5th percentile in its working time)",
    exhibit="utilization",
)
