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
from reportgen.explore.notebook import Notebook

# %%
job = reportgen.open(job_path)
show = Notebook(job)
job

# %% [markdown]
# ## The data
#
# Two pandas frames: `system` has one row per sample (percent, bytes/s or 1/s), `framework` one row
# per event, with smdebug's columns; their microseconds count from `job.origin_us`. The tables here
# are in UTC and seconds. For a job that is still running, `job.latest()` returns the new data since
# the last call.

# %%
system, framework = show.system, show.framework
show.table(system.head(), of="samples")

# %%
show.table(framework.head().drop(columns=["pid", "tid"]), of="events")

# %% [markdown]
# `dimension` is the measured quantity. GPU utilization and GPU memory are separate metrics, and so
# are CPU utilization and I/O wait: a frame filtered by `gpu0` alone holds both of its metrics.

# %%
use = statistics.utilization(system).drop(columns=["type", "count", "min"])
show.table(use, of="samples")

# %% [markdown]
# ## When the job ran
#
# Initialization lasts until the first step, finalization begins after the last one.

# %%
phases = statistics.phase_intervals(framework, job_us=selections.extent_us(system))
phases["phase"] = phases["phase"].str.replace("Step:ModeKeys.", "")
show.table(phases, of="steps")

# %%
phases = phases.eval("length_us = end_time_us - start_time_us")
show.chart(
    charts.share_info(phases, by="phase", value="length_us", title="Phases of the job"), of="steps"
)

# %% [markdown]
# ## How busy the devices were
#
# One row per device; dark is busy.

# %%
show.chart(
    charts.heatmap_info(system, origin_us=job.origin_us), of="samples", none="No use was recorded."
)

# %% [markdown]
# How often each utilization was seen. A healthy GPU has one peak near the right edge; a peak at 0
# is time that was paid for and not used.

# %%
show.chart(charts.utilization_histogram_info(system, by="system_metric"), of="gpu")

# %%
cpu = "CPUUtilization"
show.chart(charts.utilization_histogram_info(system, dimension=cpu), of="cpu")

# %% [markdown]
# The same in the training loop alone, which lasts from the first training step to the last.

# %%
in_loop = system[selections.places_in_job(system, framework) == "training loop"]
none = "No sample lies in the training loop: it is shorter than the sampling interval."
show.chart(charts.utilization_histogram_info(in_loop), of="gpu, steps", none=none)

# %%
show.chart(charts.utilization_histogram_info(in_loop, dimension=cpu), of="cpu, steps", none=none)

# %%
show.table(statistics.usage_ranges(system), of="samples", none="No use was recorded.")

# %% [markdown]
# How many samples are at 0 %, and how many at 50 % or below.

# %%
low = statistics.usage_ranges(system, ranges=((0, 0), (0, 50), (0, 100)))
low = low.set_axis(["type", "nodeID", "at 0 %", "up to 50 %", "samples"], axis="columns")
show.table(low, of="samples", none="No use was recorded.")

# %% [markdown]
# GPUs of one node that share the work have distances near 0; above 0.5 their use differs much.

# %%
show.table(statistics.workload_distances(system), of="gpu", none="No node has two GPUs to compare.")

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
what = "idle GPU samples beside a hot core"
show.text(selections.describe_places(bottlenecks, framework, what=what), of="gpu, cpu")

# %%
show.table(bottlenecks.head(10), of="gpu, cpu", none="No bottleneck was found.")

# %% [markdown]
# Where the samples of each GPU belong. No sample is in two classes: a row's sum is their number.

# %%
classes = selections.gpu_classes(system, framework, bottlenecks)
show.table(classes, of="gpu")

# %%
counted = classes.melt(["nodeID", "gpu"], var_name="class", value_name="samples")
show.chart(
    charts.share_info(counted, by="class", value="samples", title="Use of the GPUs"), of="gpu"
)

# %% [markdown]
# ## Functions at the bottlenecks
#
# Every event that spans one of these moments counts once, with its full length. Beside them are the
# functions that ran while the GPU was above 90 %: a function that takes much longer at the
# bottlenecks than otherwise is the suspect. The sentence is said only when the evidence is there.

# %%
at_bottlenecks = causes.functions_at_rows(job, bottlenecks)
at_work = causes.functions_at_rows(job, selections.busy_moments(system))
joined = explore.compare(at_bottlenecks, at_work).query("count > 0")
of, shown = "gpu, cpu, functions", "function|process|count$|mean|share"
show.table(joined.head(15).filter(regex=shown), of=of, none="No function ran at a bottleneck.")

# %%
show.chart(
    charts.comparison_info(joined, sides=("at bottlenecks", "GPU at work")), of=of, none=none
)

# %%
title = "Time of functions at bottlenecks"
show.chart(
    charts.share_info(at_bottlenecks, by="function", value="total_us", title=title),
    of=of,
    none=none,
)

# %%
title = "Time of functions while the GPU works"
show.chart(
    charts.share_info(at_work, by="function", value="total_us", title=title),
    of=of,
    none="No function ran while a GPU was above 90 %.",
)

# %%
sides = {"at": "at bottlenecks", "against": "while the GPU works"}
show.text(causes.describe_cause(at_bottlenecks, at_work, **sides), of=of)

# %% [markdown]
# The phases of the training at that time: steps are no functions and are listed separately.

# %%
at_phases = causes.phases_at_rows(job, bottlenecks)
none = "No step ran at a bottleneck."
show.table(at_phases, of="gpu, cpu, steps", none=none)

# %%
title = "Time of the steps at bottlenecks"
show.chart(
    charts.share_info(at_phases, by="function", value="total_us", title=title),
    of="gpu, cpu, steps",
    none=none,
)

# %% [markdown]
# ## Slow steps
#
# A step is slow when it takes more than twice the median of its mode and worker.

# %%
show.chart(charts.step_histogram_info(framework), of="steps")

# %%
slow, normal = selections.split_steps(framework)
show.table(slow.head(10), of="steps", none="No step is slow.")

# %% [markdown]
# Functions that overlap the slow steps, against the normal ones; and how busy the devices were in
# both. When CPU and GPU are both lower in slow steps, they wait for something else, such as a disk.

# %%
in_slow = causes.functions_in_rows(job, slow)
in_normal = causes.functions_in_rows(job, normal)
joined = explore.compare(in_slow, in_normal).query("count > 0")
of = "steps, functions"
show.table(joined.head(15).filter(regex=shown), of=of, none="No function overlaps a slow step.")

# %%
show.chart(charts.comparison_info(joined, sides=("slow steps", "normal steps")), of=of, none=none)

# %%
title = "Time of functions in slow steps"
show.chart(
    charts.share_info(in_slow, by="function", value="total_us", title=title),
    of=of,
    none=none,
)

# %%
title = "Time of functions in normal steps"
show.chart(
    charts.share_info(in_normal, by="function", value="total_us", title=title),
    of=of,
    none="No function overlaps a normal step.",
)

# %%
sides = {"at": "in slow steps", "against": "in normal steps"}
show.text(causes.describe_cause(in_slow, in_normal, **sides), of=of)

# %%
use = utilization_within.utilization_inside(system, {"slow steps": slow, "normal steps": normal})
stall = utilization_within.describe_stall(use, slow="slow steps", normal="normal steps")
nothing = "Nothing shows that slow steps wait for something else than CPU and GPU."
show.text(stall or nothing, of="gpu, cpu, steps")

# %%
show.table(use, of="samples, steps", none="No sample lies in a step.")

# %% [markdown]
# The samples in slow steps, how often each use was seen; then those in normal steps. Steps that are
# shorter than the sampling interval may hold none.

# %%
within = utilization_within.samples_inside(system, slow)
none = "No sample lies in a slow step."
show.chart(charts.utilization_histogram_info(within), of="gpu, steps", none=none)

# %%
show.chart(charts.utilization_histogram_info(within, dimension=cpu), of="cpu, steps", none=none)

# %%
within = utilization_within.samples_inside(system, normal)
none = "No sample lies in a normal step."
show.chart(charts.utilization_histogram_info(within), of="gpu, steps", none=none)

# %%
show.chart(charts.utilization_histogram_info(within, dimension=cpu), of="cpu, steps", none=none)

# %% [markdown]
# ## A closer look
#
# Series, step durations and events of a window of time. Pass other times, or patterns of events and
# metrics:
# `charts.window_info(job, since=…, until=…, events=[".*GetNext"], dimensions=["GPUUtilization"])`.

# %%
window = selections.window_of(job, bottlenecks, seconds=30)
drawn = charts.window_info(job, **window, dimensions=["GPUUtilization", "CPUUtilization"])
show.chart(drawn, none="Nothing was recorded that a window could show.")
