"""AWS's notebook of 2020 computed again: raw files with ``json``, sums with plain pandas loops.

Nothing of the package is used here, and nothing is fast. Where the notebook of 2020 was wrong
(docs/rules.md, Slow against normal) the definition is the corrected one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

Sums = dict[str, tuple[int, int]]
"""How many events of a name, and their microseconds."""


def raw_samples(job: Path) -> pd.DataFrame:
    """Every sample as its line says; ``us`` is microseconds since 1970."""
    lines = [
        json.loads(line)
        for path in sorted((job / "profiler-output" / "system").rglob("*.json"))
        for line in path.read_text().splitlines()
    ]
    frame = pd.DataFrame(lines).drop_duplicates()
    return frame.assign(us=(frame["Timestamp"] * 1e6).round().astype("int64"))


def raw_events(job: Path) -> pd.DataFrame:
    """Every event, a row each; ``start`` and ``end`` are microseconds since 1970."""
    rows: list[tuple[object, ...]] = []
    opened: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for path in sorted((job / "profiler-output" / "framework").rglob("*.json")):
        pid, node = path.name.split("_")[1].split("-", 1)
        base, phases = 0, {}
        for event in json.loads(path.read_text()):
            args = event.get("args", {})
            if event["ph"] == "M":
                base = args.get("start_time_since_epoch_in_micros", base)
                if "name" in args:
                    phases[event["pid"]] = args["name"]
                continue
            start, phase = base + event["ts"], phases[event["pid"]]
            if event["ph"] == "B":
                opened.setdefault((path.name[16:], phase), []).append((event["name"], start))
                continue
            name, end = event["name"], start + event.get("dur", 0)
            if event["ph"] == "E":
                name, start = opened[path.name[16:], phase].pop()
            step = int(args.get("step_num", -1))
            rows.append((name, phase, start, end, f"{node}-{pid}", node, step))
    columns = ["name", "phase", "start", "end", "worker", "node", "step"]
    return pd.DataFrame(rows, columns=columns).drop_duplicates(ignore_index=True)


def bottlenecks(samples: pd.DataFrame) -> set[tuple[str, str, int]]:
    """(node, GPU, instant) where it is at most 10 % busy and a core nearest to it above 90 %."""
    found = set()
    for node, rows in samples.groupby("NodeId"):
        gpu = rows[rows["Dimension"] == "GPUUtilization"]
        cpu = rows[rows["Dimension"] == "CPUUtilization"]
        if gpu.empty or cpu.empty:
            continue
        ticks = pd.DataFrame({"tick": sorted(gpu["us"].unique())})
        hot = cpu[cpu["Value"] > 90].sort_values("us")
        near = pd.merge_asof(
            hot, ticks.assign(us=ticks["tick"]), on="us", direction="nearest",
            tolerance=int(ticks["tick"].diff().median() / 2),
        )  # fmt: skip
        at_hot = set(near["tick"].dropna().astype("int64"))
        low = gpu[gpu["Value"] <= 10]
        found |= {(node, name, us) for name, us in zip(low["Name"], low["us"], strict=True)
                  if us in at_hot}  # fmt: skip
    return found


def training_steps(events: pd.DataFrame) -> pd.DataFrame:
    """The steps that bound the training loop: those of the training, else all."""
    steps = events[events["phase"].str.startswith("Step:")]
    training = steps[steps["phase"].str.endswith("TRAIN")]
    return training if len(training) else steps


def classes(samples: pd.DataFrame, events: pd.DataFrame) -> dict[tuple[str, str], list[int]]:
    """Samples of each GPU: before, after the loop, above 90, to 90, idle with bottleneck, idle."""
    steps = training_steps(events)
    is_bottleneck = bottlenecks(samples)
    found: dict[tuple[str, str], list[int]] = {}
    for row in samples[samples["Dimension"] == "GPUUtilization"].itertuples():
        counts = found.setdefault((str(row.NodeId), str(row.Name)), [0] * 6)
        if len(steps) and row.us < steps["start"].min():
            counts[0] += 1
        elif len(steps) and row.us > steps["end"].max():
            counts[1] += 1
        elif row.Value > 90:
            counts[2] += 1
        elif row.Value > 10:
            counts[3] += 1
        elif (row.NodeId, row.Name, row.us) in is_bottleneck:
            counts[4] += 1
        else:
            counts[5] += 1
    return found


def sums_at(events: pd.DataFrame, at: Iterable[tuple[str, int]], *, steps: bool) -> Sums:
    """Sums of the events of the same node that span an instant; steps alone, or all but steps."""
    indexes: set[int] = set()
    for node, us in at:
        spans = (events["node"] == node) & (events["start"] <= us) & (events["end"] >= us)
        indexes |= set(events.index[spans])
    return _sums(events, indexes, steps=steps)


def sums_in(events: pd.DataFrame, intervals: pd.DataFrame) -> Sums:
    """Sums of the functions of the same worker that overlap an interval, both ends included."""
    indexes: set[int] = set()
    by_worker = dict(list(events.groupby("worker")))
    for row in intervals.itertuples():
        own = by_worker[row.worker]
        meets = (own["end"].to_numpy() >= row.start) & (own["start"].to_numpy() <= row.end)
        indexes |= set(own.index[meets])
    return _sums(events, indexes, steps=False)


def split_steps(events: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Steps above twice the median of their worker and mode, and the rest."""
    steps = events[events["phase"].str.startswith("Step:")]
    lasted = steps["end"] - steps["start"]
    slow = pd.Series(False, index=steps.index)
    for _, own in lasted.groupby([steps["worker"], steps["phase"]]):
        slow[own.index] = own > 2 * own.median()
    return steps[slow], steps[~slow]


def values_in(samples: pd.DataFrame, intervals: pd.DataFrame, dimension: str) -> list[float]:
    """Values of the same node inside any of the intervals, sorted; each sample once."""
    chosen = samples[samples["Dimension"] == dimension]
    by_node = dict(list(chosen.groupby("NodeId")))
    kept: set[int] = set()
    for row in intervals.itertuples():
        own = by_node.get(row.node, chosen.iloc[:0])
        us = own["us"].to_numpy()
        kept |= set(own.index[(us >= row.start) & (us <= row.end)])
    return sorted(chosen.loc[list(kept), "Value"])


def _sums(events: pd.DataFrame, indexes: set[int], *, steps: bool) -> Sums:
    chosen = events.loc[sorted(indexes)]
    chosen = chosen[chosen["phase"].str.startswith("Step:") == steps]
    chosen = chosen[chosen["phase"] != "DataLoaderWorker"]  # its life time is no function
    lasted = chosen["end"] - chosen["start"]
    return {
        str(name): (len(own), int(own.sum()))
        for name, own in lasted.groupby(chosen["name"] + "|" + chosen["phase"])
    }
