"""The data loader by hand: iterators, workers, waits for a batch, time from batch to batch.

All functions take a DATALOADER frame (``Job.dataloader_metrics``). An outlier lasts at least
``OUTLIER_FACTOR`` times the median, as smdebug's code compares.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reportgen.arrays import Instants, Integers, Mask
from reportgen.explore.statistics import STEP
from reportgen.facts.loader import INITIALIZE, lives_of
from reportgen.facts.trend import MEDIAN_FACTOR
from reportgen.merging import rows_by_code
from reportgen.profile.spans import LOADER_PROCESS, TENSORFLOW_FETCH

UNRECORDED_FACTOR = 3
"""More than this many times the usual number of steps between two waits: waits of some steps were
not recorded (docs/rules.md, Slow batches)."""
OUTLIER_FACTOR = float(MEDIAN_FACTOR)
_ASKED = ["node_id", "asked_by"]
_CHAIN = [*_ASKED, "kind", "loader"]


def initializations(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how each type of iterator was set up, one row per type.

    Returns:
        ``iterator`` (the class, ``_MultiProcessingDataLoaderIter``), ``count`` (how often it was
        set up, which is once per epoch and loader), ``num_workers`` and ``pin_memory`` (texts;
        several values are listed), ``median_us``, ``max_us``, ``outliers``.
    """
    rows = initialization_times(frame)
    made = [
        {
            "iterator": name,
            "count": len(group),
            "num_workers": _listed(group["num_workers"]),
            "pin_memory": _listed(group["pin_memory"]),
            "median_us": float(group["duration_us"].median()),
            "max_us": int(group["duration_us"].max()),
            "outliers": len(outliers(group, by="num_workers")),
        }
        for name, group in rows.groupby("iterator", sort=True)
    ]
    columns = ["iterator", "count", "num_workers", "pin_memory", "median_us", "max_us", "outliers"]
    return pd.DataFrame(made, columns=columns)


def initialization_times(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the events in which iterators were set up, in order of time, with ``iterator``."""
    rows = _in_order(frame[frame["process"] == INITIALIZE])
    return rows.assign(iterator=rows["framework_metric"].str.extract("^([^.:]*)", expand=False))


def initialization_outliers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the set-ups of at least ``OUTLIER_FACTOR`` medians of their type and ``num_workers``.

    An iterator with loader processes is set up a hundred times as slowly as one without: of one
    median of both, each of them would be an outlier. The more processes, the longer it takes.
    """
    return outliers(initialization_times(frame), by=["iterator", "num_workers"])


def worker_times(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the life times of loader processes, in order of time: not the time they worked."""
    return _in_order(frame[frame["process"] == LOADER_PROCESS])


def waits(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the calls of GetNext, in which training waits for a batch, in order of time."""
    return _in_order(frame[~frame["process"].isin([INITIALIZE, LOADER_PROCESS])])


def wait_outliers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the calls of GetNext of at least ``OUTLIER_FACTOR`` medians of their loader.

    Training and validation may load with iterators of different speed: of different types, or of
    one type in loader processes that live side by side.
    """
    calls = waits(frame)
    found = outliers(calls.assign(loader=_loaders(frame, calls)), by=["framework_metric", "loader"])
    return found.drop(columns="loader")


def outliers(
    rows: pd.DataFrame,
    *,
    column: str = "duration_us",
    factor: float = OUTLIER_FACTOR,
    by: str | list[str] | None = None,
) -> pd.DataFrame:
    """Return the rows whose value is at least ``factor`` medians, largest first.

    ``by`` is a column, or several, such as the type of iterator: each value has its own median.

    Edge cases: a median of 0 makes no outliers; values that are absent are left out.
    """
    median = rows.groupby(by)[column].transform("median") if by else rows[column].median()
    chosen = rows[(median > 0) & (rows[column] >= factor * median)]
    return chosen.sort_values([column, "start_time_us"], ascending=[False, True], ignore_index=True)


def batch_times(frame: pd.DataFrame, framework: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the time from batch to batch: the differences of the starts of GetNext calls.

    Args:
        frame: a DATALOADER frame.
        framework: the FRAMEWORK frame of the same job; its steps show where calls were not
            recorded.

    Returns:
        One row per call, by training process and start: the columns of the frame and
        ``previous_batch_start`` (UTC text, empty for the first), ``batch_time_s`` (NaN for the
        first), ``is_epoch_gap``: an iterator was set up, or another loader asked in between, so
        that the time spans validation or a new epoch and is no outlier; ``is_unrecorded``: too
        many steps began in between for one batch, so other calls were not recorded.
    """
    calls = waits(frame)
    calls["asked_by"] = _asking_processes(
        *(calls[name].to_numpy() for name in ("pid", "worker_id"))
    )
    calls["kind"] = calls["framework_metric"].where(calls["process"] != TENSORFLOW_FETCH, "")
    calls["loader"] = _loaders(frame, calls)
    calls = calls.sort_values([*_ASKED, "start_time_us", "end_time_us"], ignore_index=True)
    calls["place"] = np.arange(len(calls))
    calls = calls.sort_values([*_CHAIN, "start_time_us", "end_time_us"], ignore_index=True)
    groups = calls.groupby(_CHAIN, sort=False)
    before_us = groups["start_time_us"].shift()
    calls["previous_batch_start"] = groups["start_time"].shift().fillna("")
    calls["batch_time_s"] = (calls["start_time_us"] - before_us) / 1e6
    is_gap = _set_up_between(initialization_times(frame), calls, before_us)
    n_between = groups["place"].diff()
    is_next = n_between.notna().to_numpy()
    is_gap |= is_next & _too_many_steps(n_between.fillna(0).to_numpy(dtype=np.int64), is_next)
    calls["is_epoch_gap"] = is_gap
    calls["is_unrecorded"] = _unrecorded(calls, framework)
    return calls.drop(columns=["asked_by", "kind", "loader", "place"])


def _loaders(frame: pd.DataFrame, calls: pd.DataFrame) -> NDArray[np.int64]:
    """Return (n,) which loader of its node made the batch of each call: ``_loaders_of``."""
    lives, set_up = worker_times(frame), initialization_times(frame)
    found = np.zeros(len(calls), dtype=np.int64)
    for node, rows in calls.groupby("node_id", sort=False):
        of_node = lives[lives["node_id"] == node]
        found[calls.index.get_indexer(rows.index)] = _loaders_of(
            (rows["pid"].to_numpy(), rows["start_time_us"].to_numpy()),
            tuple(of_node[name].to_numpy() for name in ("pid", "start_time_us", "end_time_us")),
            set_up.loc[set_up["node_id"] == node, "start_time_us"].to_numpy(),
        )
    return found


def batch_outliers(
    frame: pd.DataFrame, framework: pd.DataFrame | None = None, *, factor: float = OUTLIER_FACTOR
) -> pd.DataFrame:
    """Return the batches that took at least ``factor`` medians; arguments as ``batch_times``.

    Gaps between epochs, and times in which calls were not recorded, are left out.
    """
    return outliers(
        only_batches(batch_times(frame, framework)), column="batch_time_s", factor=factor
    )


def only_batches(times: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of ``batch_times`` that are batches: neither first, nor gaps."""
    is_gap = times["is_epoch_gap"] | times["is_unrecorded"]
    return times[times["batch_time_s"].notna() & ~is_gap]


def _unrecorded(calls: pd.DataFrame, framework: pd.DataFrame | None) -> NDArray[np.bool_]:
    found = np.zeros(len(calls), dtype=bool)
    if framework is None:
        return found
    steps = framework[framework["process"].str.startswith(STEP)]
    is_usual = (calls["batch_time_s"].notna() & ~calls["is_epoch_gap"]).to_numpy()
    for node, rows in calls.groupby("node_id", sort=False):
        step_us = np.sort(steps.loc[steps["nodeID"] == node, "start_time_us"].to_numpy())
        at = np.searchsorted(step_us, rows["start_time_us"])
        n_steps = np.diff(at, prepend=at[:1])
        usual = is_usual[rows.index]
        found[rows.index] = usual & _too_many_steps(n_steps, usual)
    return found


def _set_up_between(
    set_up: pd.DataFrame, calls: pd.DataFrame, before_us: pd.Series
) -> NDArray[np.bool_]:
    is_gap = np.zeros(len(calls), dtype=bool)
    for (node, pid), rows in calls.groupby(_ASKED, sort=False):
        same = set_up[(set_up["node_id"] == node) & ((pid < 0) | (set_up["pid"] == pid))]
        starts_us = np.sort(same["start_time_us"].to_numpy())
        since = np.searchsorted(starts_us, before_us[rows.index].fillna(np.inf), side="right")
        until = np.searchsorted(starts_us, rows["start_time_us"], side="right")
        is_gap[rows.index] = until > since
    return is_gap


def _in_order(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.sort_values(["start_time_us", "end_time_us", "node_id"], ignore_index=True)


def _listed(values: pd.Series) -> str:
    """List the distinct values; a loader for training and one for validation may differ."""
    return ", ".join(str(value) for value in sorted(values.unique().tolist(), key=str))


def _asking_processes(pid: Integers, worker_id: Integers) -> Integers:
    """Return (n,) which process of a training worker asked in each wait, -1 for its only one.

    PyTorch's hook writes a wait under the process id of the loader process that had made the
    batch: where a loader process is named, the ids are not those of who asked.
    """
    return np.where(worker_id >= 0, -1, pid)


def _loaders_of(
    calls: tuple[Integers, Instants], lives: tuple[Integers, Instants, Instants], set_up: Instants
) -> Integers:
    """Return (n,) which of the loaders that live side by side made the batch of each wait.

    A loader is the loader processes that began after the same set-up. One that begins after
    another has ended goes on in its place, as in the next epoch; persistent ones of training and
    validation live side by side. 0 is the only one, and where no process is known.

    Args:
        calls: (n,) process id that was written with each wait, and its start.
        lives: (m,) process id, start and end of each loader process.
        set_up: when iterators were set up.
    """
    pid, started, ended = lives
    number = np.searchsorted(np.sort(set_up), started, side="right")
    place, busy_until = dict[int, int](), list[int]()
    for code, processes in sorted(rows_by_code(number), key=lambda one: int(started[one[1]].min())):
        begins, ends = int(started[processes].min()), int(ended[processes].max())
        free = [at for at, until in enumerate(busy_until) if until <= begins]
        place[code] = free[0] if free else len(busy_until)
        busy_until[place[code] : place[code] + 1] = [ends]
    life = lives_of(calls, (pid, started))
    places = np.array([*(place[code] for code in number.tolist()), 0], dtype=np.int64)
    return places[life]


def _too_many_steps(n_steps: Integers, is_usual: Mask) -> Mask:
    """Return where unusually many steps between two waits show that waits were not recorded.

    The usual number is the median of those of ``n_steps`` that are marked by ``is_usual``.
    """
    usual = max(float(np.median(n_steps[is_usual])), 1.0) if is_usual.any() else np.inf
    return np.asarray(n_steps > UNRECORDED_FACTOR * usual)
