# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Analysis of the data loader
#
# How PyTorch's data loader was set up, how long training waited for batches, which batches were
# slow, and what the machine did in them.
#
# Set `job_path` and run all cells.

# %% tags=["parameters"]
job_path: str = "my-training-job"  # The job's folder, or s3://bucket/prefix.

# %%
import reportgen
from reportgen import explore
from reportgen.explore import causes, charts, loading, selections, statistics, utilization_within
from reportgen.explore.notebook import Notebook
from reportgen.explore.profiles import describe_own_time

# %%
job = reportgen.open(job_path)
show = Notebook(job)
loader, framework, system = show.loader, show.framework, show.system
shown = loader.drop(columns=["pid", "step", "process"])
show.table(shown.head(), of="waits")

# %% [markdown]
# ## Set-up
#
# One row per type of iterator. An iterator is set up once per epoch and loader, so `count` is the
# number of epochs times the number of loaders. The loaders of training and validation may differ;
# then several values are listed. Durations that are at least twice the median of their type
# are outliers.

# %%
show.table(loading.initializations(loader), of="set-ups")

# %%
show.table(loading.initialization_outliers(loader), of="set-ups", none="No set-up is an outlier.")

# %% [markdown]
# ## Workers
#
# How long loader processes lived, not how long they worked: unless `persistent_workers` is set,
# they are started anew for every epoch.

# %%
lives = loading.worker_times(loader)
show.table(statistics.durations(lives, by="framework_metric"), of="workers")

# %%
show.table(loading.outliers(lives).head(10), of="workers", none="No worker lived much longer.")

# %% [markdown]
# ## Waits for a batch
#
# Each call of `GetNext` is a time in which training waits. Long waits for batches of one worker
# point at its part of the data; long waits for those of all at too few workers, or at slow storage.
# Where no worker is named, the training process makes the batches itself, or it was not recorded.

# %%
waits = loading.waits(loader)
show.table(statistics.durations(waits, by="worker_id"), of="waits")

# %%
title = "Waits for a batch: how often"
show.chart(charts.duration_histogram_info(waits, by="process", title=title), of="waits")

# %%
show.table(loading.outliers(waits).head(10), of="waits", none="No wait is an outlier.")

# %% [markdown]
# ## From batch to batch
#
# The time between the starts of two calls of a training process is what a batch costs as a whole,
# whichever worker made it. A gap in which an
# iterator was set up spans validation or the end of an epoch, and one in which many steps began was
# not recorded; both are marked, and no outliers.

# %%
times = loading.batch_times(loader, framework)
named = ["previous_batch_start", "start_time", "batch_time_s", "worker_id", "node_id"]
none = "There are no two waits of one process."
gaps = ["is_epoch_gap", "is_unrecorded"]
show.table(times[[*named[:-1], *gaps]].head(), of="waits", none=none)

# %%
slow = loading.batch_outliers(loader, framework)
show.table(slow[named].head(10), of="waits", none="No batch is slow.")

# %% [markdown]
# ## Work during slow batches
#
# Mean use of the devices in slow and in other batches, and the functions that ran in them.

# %%
batches = selections.batch_spans(loader, framework)
use = utilization_within.utilization_inside(system, batches)
show.table(use, of="samples, waits", none="No sample lies in a batch.")

# %% [markdown]
# The slowest batches one by one: use of the devices, and the functions with most time in them.

# %%
each = utilization_within.utilization_of_each(system, batches["slow batches"])
show.table(each.nlargest(10, "batch_time_s"), of="waits", none="No batch is slow.")

# %%
longest = causes.longest_in_each(job, batches["slow batches"].nlargest(5, "batch_time_s"))
show.table(longest, of="waits, functions", none="No function ran in a slow batch.")

# %%
in_slow = causes.functions_in_rows(job, batches["slow batches"])
in_others = causes.functions_in_rows(job, batches["other batches"])
joined = explore.compare(in_slow, in_others).query("count > 0").head(15)
shown = joined.filter(regex="function|process|count$|mean|share")
show.table(shown, of="waits, functions", none="No function ran in a slow batch.")

# %%
sides = {"at": "in slow batches", "against": "in the others"}
show.text(causes.describe_cause(in_slow, in_others, **sides), of="waits, functions")

# %% [markdown]
# ## Python functions
#
# Where a Python profile was recorded that covers slow batches, its functions with the most own
# time: work on the training process that is no training, such as metrics, logging and printing,
# shows up here.

# %%
profiles = job.python_profiles()
covering = profiles.covering(batches["slow batches"], origin_us=job.origin_us)
functions, problems = profiles.functions(covering)

# %%
show.text(describe_own_time(functions), of="python profiles")

# %%
none = "No Python profile covers a slow batch."
longest = functions.sort_values("own_s", ascending=False).head(10)
show.table(longest, of="python profiles", none=none)

# %% [markdown]
# ## A window of time

# %%
window = selections.window_of(job, batches["slow batches"], seconds=10)
drawn = charts.window_info(job, **window, dimensions=["GPUUtilization", "CPUUtilization"])
show.chart(drawn, none="Nothing was recorded that a window could show.")
