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
from reportgen.explore import causes, charts, loading, selections, utilization_within
from reportgen.explore.profiles import describe_own_time

job = reportgen.open(job_path)

# %%
loader, framework = job.dataloader_metrics(), job.framework_metrics()
loader.head()

# %% [markdown]
# ## Set-up
#
# One row per type of iterator. An iterator is set up once per epoch and loader, so `count` is the
# number of epochs times the number of loaders. The loaders of training and validation may differ;
# then several values are listed. Durations that are at least twice the median of their type
# are outliers.

# %%
loading.initializations(loader)

# %%
loading.initialization_outliers(loader)

# %% [markdown]
# ## Workers
#
# How long worker processes lived, not how long they worked: unless `persistent_workers` is set,
# they are started anew for every epoch.

# %%
loading.worker_times(loader)["duration_us"].describe()

# %%
loading.outliers(loading.worker_times(loader))

# %% [markdown]
# ## Waits for a batch
#
# Each call of `GetNext` is a time in which training waits. Long waits of one worker point at its
# part of the data; long waits of all at too few workers, or at slow storage.

# %%
waits = loading.waits(loader)
waits.groupby("worker_id")["duration_us"].describe()

# %%
loading.outliers(waits)

# %% [markdown]
# ## From batch to batch
#
# The time between the starts of two calls is what a batch costs as a whole. A gap in which an
# iterator was set up spans validation or the end of an epoch, and one in which many steps began was
# not recorded; both are marked, and no outliers.

# %%
times = loading.batch_times(loader, framework)
times[["start_time", "batch_time_s", "is_epoch_gap", "is_unrecorded", "worker_id"]].head()

# %%
slow = loading.batch_outliers(loader, framework)
slow[["previous_batch_start", "start_time", "batch_time_s", "worker_id"]]

# %% [markdown]
# ## What went on in slow batches
#
# Mean use of the devices in slow and in other batches, and the functions that ran in them.

# %%
batches = selections.batch_spans(loader, framework)
system = job.system_metrics()
utilization_within.utilization_inside(system, batches)

# %% [markdown]
# The slowest batches one by one: use of the devices, and the functions with most time in them.

# %%
utilization_within.utilization_of_each(system, batches["slow batches"]).nlargest(10, "batch_time_s")

# %%
causes.longest_in_each(job, batches["slow batches"].nlargest(5, "batch_time_s"))

# %%
in_slow = causes.functions_in_rows(job, batches["slow batches"])
in_others = causes.functions_in_rows(job, batches["other batches"])
explore.compare(in_slow, in_others).head(15)

# %%
print(causes.describe_cause(in_slow, in_others, at="in slow batches", against="in the others"))

# %% [markdown]
# ## Python functions
#
# Where a Python profile was recorded that covers slow batches, its functions with the most time of
# their own: work on the training process that is no training, such as metrics, logging and
# printing, shows up here.

# %%
profiles = job.python_profiles()
covering = profiles.covering(batches["slow batches"], origin_us=job.origin_us)
functions, problems = profiles.functions(covering)

# %%
print(describe_own_time(functions))
functions.sort_values("own_s", ascending=False).head(10)

# %% [markdown]
# ## A window of time

# %%
window = selections.window_of(job, batches["slow batches"], seconds=10)
charts.figure(charts.window_info(job, **window, dimensions=["GPUUtilization", "CPUUtilization"]))
