"""Python profiles merged by the stage that they cover, and what their functions are called and do.

Of a path only the part that distinguishes functions is kept, so that no home folder reaches a
report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

import numpy as np

from reportgen.arrays import Integers
from reportgen.merging import merge_by, merge_members, merged, sums_by_code
from reportgen.profile import NO_CALLS, ProfileInterval, PythonFunction, PythonTable
from reportgen.rules.kit import col, derived, row
from reportgen.units import US_PER_S

_BUILT_IN = "~"
_PACKAGES = re.compile(r"(?m)^.*(?:/(?:site|dist)-packages/|/lib/python\d[\d.]*/)")
_HOME = re.compile(r"(?m)^([^/\n]*?)(?:[A-Za-z]:)?/(?:.*/)?(?:(?:home|Users)/[^/]+|root)/")
_OWN_PARTS = 2
_METHOD = re.compile(
    r"<(?:slot wrapper|method|built-in method) '(?P<name>[^']+)' of '(?P<of>[^']+)' objects>"
)
_FUNCTION = re.compile(r"<built-in (?:method|function) (?P<name>[^<> ]+)>")

_MODES = {
    "train": "training", "eval": "evaluation", "predict": "prediction", "global": "training",
}  # fmt: skip
_BEFORE, _AFTER = "prestepzero", "posthookclose"
_PHASES = {
    ("stepstart", "forwardpassend"): "forward",
    ("forwardpassend", "stepstart"): "backward, between steps",
    ("forwardpassend", "stepend"): "backward",
    ("stepstart", "stepend"): "in steps",
    ("stepend", "stepstart"): "between steps",
    ("stepstart", "stepstart"): "whole steps",
}

BEFORE_STEPS = "before the first step"


class Kind(StrEnum):
    """The kind of work of a function, as far as its file and name show it."""

    PROFILER = "the profiler itself"
    LOGGING = "logging and printing"
    SAVING = "saving"
    METRICS = "metrics"
    LOADING = "loading data"
    DEVICE = "waiting for the device"
    MODEL = "the model"
    OTHER = ""


_PATTERNS = {
    Kind.PROFILER: r"/(?:smdebug|pyinstrument|torch/profiler|tensorflow/python/profiler)/|_lsprof",
    Kind.LOGGING: (
        r"/(?:logging|tqdm|wandb|mlflow|tensorboard\w*|tensorflow/python/summary)/"
        r"|builtins\.print>|/loguru/|/rich/"
    ),
    Kind.SAVING: (
        r"/torch/serialization\.py|/torch/distributed/checkpoint/|/(?:h5py|safetensors)/"
        r"|_?pickle\.dumps?>|/tensorflow/python/(?:saved_model|checkpoint|training/saving)/"
    ),
    Kind.METRICS: r"/(?:sklearn/metrics|torchmetrics|torcheval|keras/metrics|evaluate)(?:/|\.py)",
    Kind.LOADING: r"/(?:torch/utils/data|tensorflow/python/data|torchvision|webdataset)/",
    Kind.DEVICE: (
        r"method '?(?:item|cpu|numpy|tolist)'? of '?torch|\.?synchronize>|/torch/cuda/.*sync"
    ),
    Kind.MODEL: (
        r"/torch/(?:nn|autograd|optim)/|run_backward|method torch[._]|torch\._C\._nn"
        r"|/(?:tensorflow/python/(?:eager|ops|keras)|keras)/|_pywrap_tfe\.TFE_Py_\w*Execute"
    ),
}
"""Patterns in file and name of a function; the first that fits counts."""
_KINDS = {kind: re.compile(pattern) for kind, pattern in _PATTERNS.items()}


def stage_of(interval: ProfileInterval) -> str:
    """Return which part of the job a profile covers: ``training: forward``.

    Example:
        >>> from reportgen.profile import ProfileMoment
        >>> start = ProfileMoment(mode="train", step=5, phase="stepstart", time_us=1)
        >>> end = ProfileMoment(mode="train", step=5, phase="forwardpassend", time_us=2)
        >>> stage_of(ProfileInterval(start=start, end=end))
        'training: forward'
    """
    start, end = interval.start, interval.end
    if start.mode.lower() == _BEFORE:
        return BEFORE_STEPS
    mode = _MODES.get(start.mode.lower(), start.mode)
    if end.mode.lower() == _AFTER or end.step is None:
        return f"{mode}: to the end of the job"
    phase = _PHASES.get((start.phase.lower(), end.phase.lower()), f"{start.phase} to {end.phase}")
    if end.mode != start.mode:
        phase += f", until {_MODES.get(end.mode.lower(), end.mode)}"
    return f"{mode}: {phase}"


def name_of(function: PythonFunction) -> str:
    """Return a function's name as people write it.

    Example:
        >>> built_in = "<method 'read' of '_io.FileIO' objects>"
        >>> name_of(PythonFunction(file="~", line=0, name=built_in))
        '_io.FileIO.read'
    """
    if match := _METHOD.fullmatch(function.name):
        return f"{match['of']}.{match['name']}"
    match = _FUNCTION.fullmatch(function.name)
    return match["name"] if match else function.name


def place_of(function: PythonFunction) -> str:
    """Return where a function is defined: its package and file, or its folder and file.

    Example:
        >>> place_of(PythonFunction(file="/home/ann/job/train.py", line=7, name="step"))
        'job/train.py:7'
        >>> path = "/usr/lib/python3.11/site-packages/torch/nn/modules/conv.py"
        >>> place_of(PythonFunction(file=path, line=443, name="forward"))
        'torch/…/conv.py:443'
    """
    if function.file == _BUILT_IN:
        return "built-in"
    path = function.file.replace("\\", "/")
    packaged = _PACKAGES.sub("", path)
    if packaged == path:
        parts = _HOME.sub(r"\1", path).split("/")
        return f"{'/'.join(parts[-_OWN_PARTS:])}:{function.line}"
    package, *folders, file = packaged.split("/") if "/" in packaged else ("", packaged)
    return f"{'/'.join([package] * bool(package) + ['…'] * bool(folders) + [file])}:{function.line}"


def kind_of(function: PythonFunction) -> Kind:
    """Return the kind of work of a function; ``OTHER`` where its name does not show it."""
    text = f"/{function.file.replace(chr(92), '/')} {function.name}"
    return next((kind for kind, pattern in _KINDS.items() if pattern.search(text)), Kind.OTHER)


def _calls(parts: Sequence[int | None]) -> int | None:
    counts = [count for count in parts if count is not None]
    return sum(counts) if len(counts) == len(parts) else None


@row
class FunctionSum:
    """One function over some profiles; ``calls`` is ``None`` where the profiler samples."""

    function: PythonFunction
    name: str = derived(lambda item: name_of(item.function))
    place: str = derived(lambda item: place_of(item.function))
    kind: Kind = derived(lambda item: kind_of(item.function))
    calls: int | None = merged(_calls)
    own_s: float = merged(sum)
    cumulative_s: float = merged(sum)


@row
class ProfileSum:
    """Some profiles of one profiler and stage merged.

    Attributes:
        covered_us: their lengths added up.
        own_s: own times of all functions added up: the time that was profiled.
        first_us: when the first began, µs UTC.
        functions: each function once, sorted by where it is defined.
    """

    stage: str = col()
    profiler: str = col()
    n_profiles: int = col(name="profiles", reduce=sum)
    covered_us: int = col("s", name="covered_s", per=US_PER_S, reduce=sum)
    own_s: float = col("s", name="profiled_s", reduce=sum)
    n_functions: int = derived(lambda item: len(item.functions), name="functions")
    first_us: int = merged(min)
    functions: tuple[FunctionSum, ...] = merged(merge_members(lambda item: item.function))


def sums_by_stage(table: PythonTable) -> tuple[ProfileSum, ...]:
    """Return a node's profiles merged by profiler and stage."""
    keys = [(profile.profiler, stage_of(profile.interval)) for profile in table.profiles]
    return tuple(
        sum_of(table, np.array([place for place, other in enumerate(keys) if other == key]), key[1])
        for key in dict.fromkeys(keys)
    )


def sum_of(table: PythonTable, places: Integers, stage: str) -> ProfileSum:
    """Return the profiles of one profiler at (k,) places of a table, k >= 1, merged."""
    intervals = [table.profiles[place].interval for place in places.tolist()]
    rows = np.isin(table.profile, places)
    codes, inverse = np.unique(table.function[rows], return_inverse=True)
    own_s, cumulative_s = (
        np.bincount(inverse, of[rows], minlength=codes.size)
        for of in (table.own_s, table.cumulative_s)
    )
    has_calls = bool((table.calls[rows] != NO_CALLS).all())
    calls = sums_by_code(inverse, table.calls[rows], codes.size)
    columns = (column.tolist() for column in (codes, calls, own_s, cumulative_s))
    functions = [
        FunctionSum(
            function=table.functions[code],
            calls=count if has_calls else None,
            own_s=function_s,
            cumulative_s=cumulative,
        )
        for code, count, function_s, cumulative in zip(*columns, strict=True)
    ]
    return ProfileSum(
        profiler=table.profiles[places[0]].profiler,
        stage=stage,
        first_us=min(interval.start.time_us for interval in intervals),
        n_profiles=len(intervals),
        covered_us=sum(
            max(interval.end.time_us - interval.start.time_us, 0) for interval in intervals
        ),
        own_s=float(own_s.sum()),
        functions=tuple(sorted(functions, key=lambda item: item.function)),
    )


def sums_in_order(sums: Iterable[ProfileSum]) -> tuple[ProfileSum, ...]:
    """Return sums of several nodes merged by profiler and stage, in order of their time."""
    found = merge_by(sums, lambda item: (item.profiler, item.stage)).values()
    return tuple(sorted(found, key=lambda item: (item.first_us, item.profiler, item.stage)))
