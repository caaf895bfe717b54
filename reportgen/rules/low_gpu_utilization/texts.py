"""The prose of LowGPUUtilization: faults of a GPU, and advice."""

from __future__ import annotations

from dataclasses import replace

from reportgen import results
from reportgen.rules import kit

UNDER_USED = kit.Message(
    id="GPU-1",
    cause=results.Cause.GPU_UNDERUSED,
    title="GPU under-used: the 95th percentile of {gpu.gpu} on {gpu.node} is only {measured:pct}",
    text="""In {fault.work_ns.size:n} of {gpu.judged_minutes:count check} (once a minute, of the
        latest samples, at most {params.window:n}) the 95th percentile was below {threshold:pct};
        the lowest was {measured:pct}. In its working time the mean utilization of this GPU was
        {gpu.work_mean_pct:pct}, and it was idle (below {params.threshold_p5:pct}) for
        {gpu.work_idle_pct:pct} of it. This concerns {concerned}.""",
    advice="""Give it more work at a time (see batch size), or use a smaller GPU or fewer of them;
        the samples do not show that it waits for the host.""",
    unit="% (lowest 95th percentile of a window)",
    exhibit="utilization",
)
STEADILY_LOW = replace(
    UNDER_USED,
    unit="% (95th percentile of means over 10 s)",
    title="GPU under-used: {gpu.gpu} on {gpu.node} is at {gpu.work_mean_pct:pct} on average",
    text="""In its working time the mean utilization of this GPU is {gpu.work_mean_pct:pct}.
        Averaged over 10 s, it stays below {measured:pct} for 95 % of this time. The GPU is rarely
        idle: only 5 % of the samples are below {gpu.work_p5_pct:pct}. This concerns
        {concerned}.""",
)
BEGAN_LATE = replace(
    UNDER_USED,
    unit="% of the time",
    cause=results.Cause.LONG_START,
    title="""GPU begins late: {gpu.gpu} on {gpu.node} is idle for the first {edge.pct:pct} of the
        time""",
    text="""It first worked {edge.length_ns:ns} after it could have begun. In its working time its
        mean utilization was {gpu.work_mean_pct:pct}. This concerns {concerned}.""",
    advice="""Shorten the preparation before its work begins: downloads, preprocessing, compilation,
        waiting for other processes.""",
)
STOPPED = replace(
    BEGAN_LATE,
    cause=results.Cause.GPU_STOPPED,
    title="GPU stopped: {gpu.gpu} on {gpu.node} is idle for the last {edge.pct:pct} of the time",
    text="""It last worked {edge.length_ns:ns} before its last sample. In its working time its mean
        utilization was {gpu.work_mean_pct:pct}. This concerns {concerned}.""",
    advice="""Find out why its work ended: if training was over, end the job sooner; if not, its
        process hung or died.""",
)
NONE_USED = "None of {n_gpus:n} GPUs is ever used: {unused}"
NEVER_USED = "{which} {n_unused:verb are/is} never used: {unused}"
EVER_USED = """The largest utilization of {gpu.gpu} on {gpu.node} in {gpu.n_samples:count sample}
    was {gpu.max_pct:pct}. {which} {n_unused:verb are/is} never used: {unused}."""
EVER_USED_UNIT = "% (95th percentile in its working time)"
USE_ANY = """Check that model and batches are moved to the GPU and that the framework is built for
    it; a job that needs no GPU is cheaper on an instance without one."""
USE_NODES = """Check whether the processes on {nodes:names} run and have joined the others; start
    them, or take fewer nodes."""
USE_ALL = """Start one process per GPU (torchrun, DistributedDataParallel), or take an instance with
    fewer GPUs."""
SHARE_WORK = """Share the work evenly first: {busy} {n_busy:verb are/is} well used (see workload
    balance and the speed of the training processes)."""
RELIEVE_CPU = """Take work off the CPU first: its cores are at {gpu.host_mean_pct:pct} on average;
    load and preprocess more cheaply, or take more cores per GPU."""
FILL_LOOP = """First shorten the work between the steps: inside the steps the mean utilization of
    this GPU is {gpu.in_steps_pct:pct}."""
RELIEVE_HOST = """Take work off the host first: in {gpu.hot_when_idle_pct:pct} of the idle samples a
    CPU core was busy or waited for I/O; find its work with a sampling profiler such as py-spy."""

FLUCTUATING = kit.Message(
    id="GPU-2",
    cause=results.Cause.GPU_SWINGS,
    title="""GPU swings between busy and idle: {gpu.gpu} on {gpu.node} is idle
        for {gpu.work_idle_pct:pct} of its working time""",
    text="""In {fault.work_ns.size:n} of {gpu.judged_minutes:count check} (once a minute, of the
        latest samples, at most {params.window:n}) the 95th percentile was above
        {params.threshold_p95:pct} and the 5th below {threshold:pct} (the lowest was
        {measured:pct}). In its working time the mean utilization of this GPU was
        {gpu.work_mean_pct:pct}, and it was idle (below {threshold:pct}) for
        {gpu.work_idle_pct:pct} of it. This concerns {concerned}.""",
    advice="""Find what the GPU waits for between its bursts of work: data loading, synchronization
        with other GPUs, checkpoints or logging.""",
    unit="% (lowest 5th percentile of a window)",
    exhibit="utilization",
)
