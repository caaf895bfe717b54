# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Interactive analysis of a training job
#
# From the raw metrics of a job to the function that holds it up: load the data, look at use over
# time, find bottlenecks and slow steps, and compare what ran in them with what runs otherwise.
#
# Set `job_path` and run all cells. Nothing leaves this machine.

# %% tags=["parameters"]
job_path: str = "my-training-job"  # The job's folder, or s3://bucket/prefix.

# %%
import reportgen
from reportgen import explore
from reportgen.explore import causes, charts, selections, statistics, utilization_within

job = reportgen.open(job_path)
job

# %% [markdown]
# ## The data
#
# Two pandas frames: `system` has one row per sample (percent, bytes/s or 1/s), `framework` one row
# per event. Microseconds count from `job.origin_us`. For a job that is still running,
# `job.latest()` returns what is new since the last call. A kernel trace has events and no samples:
# what needs samples is empty then.

# %%
system = job.system_metrics()
system.head()

# %%
framework = job.framework_metrics()
framework.head()

# %% [markdown]
# `metric` tells what was measured. GPU utilization and GPU memory are metrics of their own, and so
# are CPU utilization and I/O wait: a frame filtered by `gpu0` alone holds both of its metrics.

# %%
statistics.utilization(system)

# %% [markdown]
# ## When the job ran
#
# Initialization lasts until the first step, finalization begins after the last one.

# %%
statistics.phase_intervals(framework, job_us=selections.extent_us(system))

# %% [markdown]
# ## How busy the devices were
#
# One row per device; dark is busy.

# %%
charts.figure(charts.heatmap_info(system, origin_us=job.origin_us))

# %% [markdown]
# How often each utilization was seen. A healthy GPU has one peak near the right edge; a peak at 0
# is time that was paid for and not used.

# %%
charts.figure(charts.utilization_histogram_info(system, by="system_metric"))

# %%
statistics.usage_ranges(system)

# %%
use = system.loc[system["dimension"] == "GPUUtilization", "value"]
print(f"{(use == 0).sum():,} of {len(use):,} GPU samples at 0 %, {(use < 50).sum():,} below 50 %")

# %% [markdown]
# GPUs of one node that share the work have distances near 0; above 0.5 their use differs much.

# %%
statistics.workload_distances(system)

# %% [markdown]
# ## Bottlenecks
#
# Moments at which a GPU was at most 10 % busy while a core of its node was above 90 %. Samples of
# CPU and GPU are joined by their nearest time, as their stamps differ by some milliseconds.
# Change the thresholds: `selections.cpu_bottlenecks(system, gpu_at_most_pct=20)`. The check
# CPUBottleneck of the report calls a GPU idle *below* 10 %, as SageMaker does, and counts ticks,
# not GPUs.

# %%
bottlenecks = selections.cpu_bottlenecks(system)
print(selections.describe_places(bottlenecks, framework, what="idle GPU samples beside a hot core"))
bottlenecks

# %% [markdown]
# Where the samples of each GPU belong. No sample is in two classes: a row's sum is their number.

# %%
selections.gpu_classes(system, framework, bottlenecks)

# %% [markdown]
# ## What ran at the bottlenecks
#
# Every event that spans one of these moments counts once, with its full length. Beside it stands
# what ran while the GPU was above 90 %: a function that takes much longer at the bottlenecks than
# otherwise is the suspect. The sentence is said only when the evidence is there.

# %%
at_bottlenecks = causes.functions_at_rows(job, bottlenecks)
at_work = causes.functions_at_rows(job, selections.busy_moments(system))
joined = explore.compare(at_bottlenecks, at_work)
joined.head(15)

# %%
charts.figure(charts.comparison_info(joined, sides=("at bottlenecks", "GPU at work")))

# %%
print(
    causes.describe_cause(
        at_bottlenecks, at_work, at="at bottlenecks", against="while the GPU works"
    )
)

# %% [markdown]
# In which phases of the training that was: steps are no functions and stand apart.

# %%
causes.phases_at_rows(job, bottlenecks)

# %% [markdown]
# ## Slow steps
#
# A step is slow when it takes more than twice the median of its mode and worker.

# %%
charts.figure(charts.step_histogram_info(framework))

# %%
slow, normal = selections.split_steps(framework)
slow.head(10)

# %% [markdown]
# What overlaps the slow steps, against the normal ones; and how busy the devices were in both. When
# CPU and GPU are both lower in slow steps, they wait for something else, such as a disk.

# %%
in_slow = causes.functions_in_rows(job, slow)
in_normal = causes.functions_in_rows(job, normal)
joined = explore.compare(in_slow, in_normal)
joined.head(15)

# %%
charts.figure(charts.comparison_info(joined, sides=("slow steps", "normal steps")))

# %%
print(causes.describe_cause(in_slow, in_normal, at="in slow steps", against="in normal steps"))

# %%
use = utilization_within.utilization_inside(system, {"slow steps": slow, "normal steps": normal})
stall = utilization_within.describe_stall(use, slow="slow steps", normal="normal steps")
print(stall or "Nothing shows that slow steps wait for something else than CPU and GPU.")
use

# %% [markdown]
# The samples in slow steps, how often each use was seen; then those in normal steps. Steps that are
# shorter than the sampling interval may hold none.

# %%
within = utilization_within.samples_inside(system, slow)
charts.figure(charts.utilization_histogram_info(within, by="system_metric"))

# %%
within = utilization_within.samples_inside(system, normal)
charts.figure(charts.utilization_histogram_info(within, by="system_metric"))

# %% [markdown]
# ## A closer look
#
# Series, step durations and events of a window of time. Pass other times, or patterns of events and
# metrics:
# `charts.window_info(job, since=…, until=…, events=[".*GetNext"], dimensions=["GPUUtilization"])`.

# %%
window = selections.window_of(job, bottlenecks, seconds=30)
charts.figure(charts.window_info(job, **window, dimensions=["GPUUtilization", "CPUUtilization"]))
