# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown] tags=["notebook-only"]
# # Profiler report
#
# This notebook draws the report from the saved results in `profiler-report/`; it needs neither the
# raw traces nor a network. Each section is one call, so it is easy to adapt the report:
#
# * **Leave out** a section: delete its cell. **Reorder** sections: move their cells.
# * **Add** cells: write them anywhere. Text, tables, images, plotly figures appear on the page.
# * **Turn it into a page again**:
#   `make-profiler-report profiler-report/ --notebook profiler-report.ipynb`
#
# Below each section is something to try: copy it into a new cell. Every table and chart is a pandas
# frame too: `views.frame(report, "StepOutlier", "steps")`.
#
# Text cells with the tag `notebook-only`, like this one, explain the notebook and stay out of the
# page. The page allows no network: scripts and images from elsewhere do not load there.

# %% tags=["parameters"]
report_dir: str = "profiler-report"  # The folder with report.json, relative to this notebook.

# %%
import reportgen
from reportgen import views

report = reportgen.load(report_dir)

# %% [markdown] tags=["notebook-only"]
# ## Overview
#
# The faults, how bad they are, and what to try first. Findings are ranked by severity, then by the
# share of the time that they may cost; "up to 1.5× faster" is an upper bound, not a promise. A
# section without a fault is one line on the page; "All checks" says which of them looked, and why
# others could not.
#
# The same as data: `report.findings` is a tuple, most important first, and
# `report.findings[0].finding.measured` is a plain number.

# %%
views.section(report, "overview")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the text of every finding, and the most that removing its cause could save.
#
# ```python
# for item in report.findings:
#     print(item.finding.severity, item.finding.title, item.finding.estimate)
# ```

# %% [markdown] tags=["notebook-only"]
# ## At a glance
#
# The first answers: how long the job, its start and its end took, how much of each resource was
# used, where the time of the framework went, how long steps took, and what held the GPUs up. Of
# kernel traces: when the GPUs were active and with what, which kernels took the time.

# %%
views.section(report, "at-a-glance")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: how busy each GPU of a trace was, over its recorded steps.
#
# ```python
# activity = views.frame(report, "GPUActivity", "activity_by_device")
# activity.assign(busy_pct=100 * activity["busy_us"] / activity["window_us"])
# ```

# %% [markdown] tags=["notebook-only"]
# ## Findings
#
# The findings that follow the one in the overview.

# %%
views.section(report, "findings")

# %% [markdown] tags=["notebook-only"]
# ## Timeline
#
# Utilization, step durations, phases and what the checks detected, over one time axis. In each
# panel the line is the mean of a short stretch of time and the shade reaches from its lowest to its
# highest sample, so a brief stall stays visible. On the page a zoom in one chart zooms all of them,
# and the table of functions follows the range in view.

# %%
views.section(report, "timeline")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the functions of the second minute, in seconds.
#
# ```python
# functions = views.frame(report, "OverallFrameworkMetrics", "function_time")
# first_s = functions["time_s"].min()
# its = functions[functions["time_s"].between(first_s + 60, first_s + 120)]
# its.groupby("row")["function_s"].sum().nlargest(10)
# ```

# %% [markdown] tags=["notebook-only"]
# ## Job summary
#
# Initialization is everything before the first step, finalization everything after the last one.
# Times are in UTC. A dash means that the value was not recorded, not that it was zero.
#
# The numbers: `report.summary.job_duration_in_seconds`, `report.summary.initialization_pct` …

# %%
views.section(report, "job-summary")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: how long the job would take without its start and its end.
#
# ```python
# report.summary.training_loop_duration_in_seconds
# ```

# %% [markdown] tags=["notebook-only"]
# ## System usage
#
# How much of each resource was used, per node. The median (p50) is the usual use, p95 the need of
# the job at its busiest; the distance between them shows how unsteady the job runs. The curves are
# in the timeline.

# %%
views.section(report, "system-usage")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the table as a pandas frame, sorted by what was busiest.
#
# ```python
# views.frame(report, "OverallSystemUsage", "usage").sort_values("p95", ascending=False)
# ```

# %% [markdown] tags=["notebook-only"]
# ## GPU time budget
#
# The time of each GPU, by its use. Every moment counts once: as start or end of the job, as work,
# or as idling with the first cause that fits. The shares are of the time of all GPUs and add up to
# 100 %; time without samples is a separate part.

# %%
views.section(report, "gpu-time")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: idle GPU time per GPU and cause, in hours.
#
# ```python
# budget = views.frame(report, "GPUTimeBudget", "gpu_time_budget")
# budget.pivot_table(index="device", columns="part", values="gpu_s", aggfunc="sum") / 3600
# ```

# %% [markdown] tags=["notebook-only"]
# ## GPU activity
#
# Active is the union of kernels, copies and memsets, so what runs at the same time counts once.

# %%
views.section(report, "gpu-activity")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: communication that hides behind no compute, per GPU.
#
# ```python
# views.frame(report, "GPUActivity", "activity_by_device").nlargest(5, "exposed_communication_us")
# ```

# %% [markdown] tags=["notebook-only"]
# ## Idle time
#
# Each gap on a GPU, by what its host did before it launched the next operation.

# %%
views.section(report, "idle-time")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the causes of idling by rank.
#
# ```python
# causes = views.frame(report, "IdleTime", "idle_causes").query("window == 'steps'")
# causes.pivot_table(index="cause", columns="rank", values="time_us", aggfunc="sum")
# ```

# %% [markdown] tags=["notebook-only"]
# ## Steps
#
# From the start of a step to the start of the next, as `prof.step()` marked them.

# %%
views.section(report, "steps")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the slowest steps.
#
# ```python
# views.frame(report, "StepTime", "steps").nlargest(5, "period_us")
# ```

# %% [markdown] tags=["notebook-only"]
# ## Kernels
#
# Every kernel with its count, durations and number format.

# %%
views.section(report, "kernels")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: kernels with a word in their name.
#
# ```python
# every = views.frame(report, "KernelTime", "kernels")
# every[every["name"].str.contains("gemm")]
# ```

# %% [markdown] tags=["notebook-only"]
# ## Operators of traces
#
# Self time leaves out what an operator called, so that self times add up.

# %%
views.section(report, "traced-operators")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: operators that keep the host busy and the GPU idle.
#
# ```python
# operators = views.frame(report, "OperatorTime", "operators")
# operators[operators["gpu_time_us"] < operators["self_us"]].head(10)
# ```

# %% [markdown] tags=["notebook-only"]
# ## Communication
#
# A collective ends on all ranks at once; who came early waited in it.

# %%
views.section(report, "communication")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the collectives with the longest transfer.
#
# ```python
# views.frame(report, "Collectives", "collectives").nlargest(5, "transfer_us")
# ```

# %% [markdown] tags=["notebook-only"]
# ## Memory
#
# Copies by direction, and what tensors and the allocator held.

# %%
views.section(report, "device-memory")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: bandwidth by direction.
#
# ```python
# copies = views.frame(report, "MemoryOperations", "memory_operations")
# copies[["direction", "kinds", "gb_per_s"]]
# ```

# %% [markdown] tags=["notebook-only"]
# ## Launches
#
# How far the host runs ahead of the GPU.

# %%
views.section(report, "launches")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the deepest queues.
#
# ```python
# views.frame(report, "LaunchQueue", "queue_depth").nlargest(5, "max_depth")
# ```

# %% [markdown] tags=["notebook-only"]
# ## Host threads
#
# The work of the traced threads; loader processes are not among them.

# %%
views.section(report, "host-threads")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: calls that block the host.
#
# ```python
# views.frame(report, "HostThreads", "blocking_calls").head(10)
# ```

# %% [markdown] tags=["notebook-only"]
# ## Annotations
#
# The ranges that the script marks with `record_function`.

# %%
views.section(report, "annotations")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the first ten annotations as numbers.
#
# ```python
# views.frame(report, "Annotations", "annotations").head(10)
# ```

# %% [markdown] tags=["notebook-only"]
# ## Framework
#
# Where the framework's own events spent their time: the phases of training and what lies between
# the steps, forward against backward pass, CPU against GPU operators.

# %%
views.section(report, "framework")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the phases as numbers.
#
# ```python
# views.frame(report, "OverallFrameworkMetrics", "phase_shares")
# ```

# %% [markdown] tags=["notebook-only"]
# ## Operators
#
# Operators nest: the time of a convolution holds that of the kernels it calls, so shares are of all
# operator time, not of the job.

# %%
views.section(report, "operators")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: operators with a word in their name.
#
# ```python
# operators = views.frame(report, "OverallFrameworkMetrics", "gpu_operators")
# operators[operators["operator"].str.contains("conv")]
# ```

# %% [markdown] tags=["notebook-only"]
# ## All checks
#
# Every check with what it looked for, its counters and its parameters. The counters carry
# SageMaker's names; each check counts in another unit.
#
# Other thresholds: `make-profiler-report JOB --set LowGPUUtilization.threshold_p95=60`.

# %%
views.section(report, "rules-summary")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: how each check ended, and why.
#
# ```python
# {rule: (entry.status, entry.reason) for rule, entry in report.rules.items()}
# ```

# %% [markdown] tags=["notebook-only"]
# ## Step durations
#
# A step is an outlier when it lasts longer than the mean of its worker and phase by more than a
# number of standard deviations. A click on the legend of the histogram hides a worker.

# %%
views.section(report, "step-durations")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the slowest steps.
#
# ```python
# outliers = views.frame(report, "StepOutlier", "median_outliers")
# outliers.sort_values("duration_s", ascending=False).head(10)
# ```

# %% [markdown] tags=["notebook-only"]
# ## Long pauses
#
# Times in which training made no progress for much longer than between other steps, and the work
# of the host at these times. Pauses at regular intervals are in the section on periodic slow steps.

# %%
views.section(report, "long-pauses")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: how many pauses there were, and what they cost.
#
# ```python
# report.results["LongPause"].metrics
# ```

# %% [markdown] tags=["notebook-only"]
# ## Periodic slow steps
#
# Slow steps, and pauses between steps, that recur at regular distances in steps or seconds:
# checkpoints, callbacks, validation. Each rhythm names its cost and the functions in it.

# %%
views.section(report, "step-periodicity")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the cost of the rhythm, as numbers.
#
# ```python
# report.results["StepPeriodicity"].metrics
# ```

# %% [markdown] tags=["notebook-only"]
# ## GPU utilization
#
# Two different faults: a GPU that never gets busy, and one that is busy and idle in turns. The
# first asks for larger batches, the second for whatever the GPU waits for.

# %%
views.section(report, "gpu-utilization")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: GPUs whose median is far from their peak.
#
# ```python
# use = views.frame(report, "LowGPUUtilization", "utilization")
# use.assign(room=use["max_pct"] - use["mean_pct"])[["node", "gpu", "room"]]
# ```

# %% [markdown] tags=["notebook-only"]
# ## GPU power and clocks
#
# Power, energy per step, and times in which GPUs ran slower than they could: too hot, at their
# power limit, or shared with another job. Only recordings of our own hold it.

# %%
views.section(report, "gpu-power")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the measurements, as numbers.
#
# ```python
# report.results["GPUPower"].metrics
# ```

# %% [markdown] tags=["notebook-only"]
# ## Workload balance
#
# The distribution of utilization of each GPU. GPUs that share the work have the same shape; the
# distance between two of them is 0 when they are alike and 0.83 when they have nothing in common.

# %%
views.section(report, "workload-balance")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the share of the work of each GPU.
#
# ```python
# views.frame(report, "LoadBalancing", "work")[["node", "gpu", "share_pct"]]
# ```

# %% [markdown] tags=["notebook-only"]
# ## Data loading
#
# How many loader processes work beside how many cores, and how long training waits for a batch. Few
# workers are a problem only where training waits for them.

# %%
views.section(report, "data-loading")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: each loader with its longest wait.
#
# ```python
# views.frame(report, "Dataloader", "loaders").sort_values("max_wait_s", ascending=False)
# ```

# %% [markdown] tags=["notebook-only"]
# ## Python functions
#
# Where the Python code spent its time, by what cProfile or pyinstrument recorded: before the first
# step, in steps, between them; and what ran between a batch and the forward pass.

# %%
views.section(report, "python-functions")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the functions that took most time themselves.
#
# ```python
# views.frame(report, "PythonFunctions", "functions").nlargest(10, "own_s")
# ```

# %% [markdown] tags=["notebook-only"]
# ## Batch size
#
# When CPU, GPU and GPU memory all have room, a larger batch may use it. Frameworks that reserve all
# of the memory at the start make this check blind.

# %%
views.section(report, "batch-size")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: what room is left up to the threshold.
#
# ```python
# room = views.frame(report, "BatchSize", "head_room")
# room.assign(left_pct=room["threshold_pct"] - room["last_window_p95_pct"])
# ```

# %% [markdown] tags=["notebook-only"]
# ## CPU bottlenecks
#
# Moments at which a GPU idled while a CPU core was fully busy, and what ran at those moments.

# %%
views.section(report, "cpu-bottlenecks")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the longest bottlenecks.
#
# ```python
# hot = views.frame(report, "CPUBottleneck", "intervals")
# hot.assign(duration_s=hot["end_s"] - hot["start_s"]).nlargest(5, "duration_s")
# ```

# %% [markdown] tags=["notebook-only"]
# ## I/O bottlenecks
#
# Moments at which a GPU idled while the CPU waited for disk or network.

# %%
views.section(report, "io-bottlenecks")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: when they happened.
#
# ```python
# views.frame(report, "IOBottleneck", "when")
# ```

# %% [markdown] tags=["notebook-only"]
# ## Network bottlenecks
#
# Times in which a GPU idled while its node received data close to the limit of its network. Without
# a known limit (`--set NetworkBottleneck.limit_bytes_per_s=N`) the job's own maximum stands for it.

# %%
views.section(report, "network-bottlenecks")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the numbers that a comparison of two jobs would read.
#
# ```python
# report.results["NetworkBottleneck"].metrics
# ```

# %% [markdown] tags=["notebook-only"]
# ## GPU memory
#
# Jumps and trends of the memory metric. What SageMaker records under this name is the activity of
# the memory controller, which follows the load; it is not the amount of memory in use.

# %%
views.section(report, "gpu-memory")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: GPUs whose memory metric rises.
#
# ```python
# memory = views.frame(report, "GPUMemoryIncrease", "memory")
# memory[memory["trend_per_min_pct"] > 0]
# ```

# %% [markdown] tags=["notebook-only"]
# ## Memory in use
#
# How much memory of GPUs and nodes was taken, against what there is.

# %%
views.section(report, "memory-in-use")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the measurements, as numbers.
#
# ```python
# report.results["MemoryInUse"].metrics
# ```

# %% [markdown] tags=["notebook-only"]
# ## Initialization
#
# The time until the first step: image pull, data download, graph building.

# %%
views.section(report, "initialization")

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: the same as numbers.
#
# ```python
# report.results["MaxInitializationTime"].metrics
# ```

# %% [markdown] tags=["notebook-only"]
# ## Further checks
#
# Checks of plugins and of later versions. A check of your own appears here without drawing code:
# its exhibits are drawn by their kind.
#
# To show one check elsewhere: `views.rule_section(report, "MyRule")`.

# %%
views.other_rules(report)

# %% [markdown] tags=["notebook-only", "try-this"]
# **Try this**: all rules, and the exhibits of one of them.
#
# ```python
# print(list(report.results))
# [exhibit.id for exhibit in report.results["BatchSize"].exhibits]
# ```

# %% [markdown] tags=["notebook-only"]
# ## Not recorded
#
# Questions that kernel traces did not answer, and how to record the data next time.

# %%
views.section(report, "not-recorded")

# %% [markdown] tags=["notebook-only"]
# ## Your own chart
#
# Take a chart as a plotly figure, change it, show it; it appears on the page:
#
# ```python
# import plotly.graph_objects as go
#
# curve = views.figure(report, "OverallSystemUsage", "gpu_over_time")  # a plain dictionary
# go.Figure(curve).update_layout(title="Work of the GPUs", height=300)
# ```
#
# `[exhibit.id for exhibit in report.results["OverallSystemUsage"].exhibits]` lists all of them.

# %% [markdown] tags=["notebook-only"]
# ## Data quality and appendix
#
# Oddities of the input, and the software behind the numbers.

# %%
views.section(report, "data-quality")

# %%
views.section(report, "appendix")
