"""What profiles and functions are called: the stage of a profile, the place and kind of a function.

Of a path only what tells functions apart is kept, so that no home folder reaches a report.
"""

from __future__ import annotations

import re
from enum import StrEnum

from reportgen.profile import ProfileInterval, PythonFunction

_BUILT_IN = "~"
_PACKAGES = re.compile(r".*(?:/(?:site|dist)-packages/|/lib/python\d[\d.]*/)")
_HOME = re.compile(r"(?:[A-Za-z]:)?/(?:.*/)?(?:(?:home|Users)/[^/]+|root)/")
_OWN_PARTS = 2
_METHOD = re.compile(
    r"<(?:slot wrapper|method|built-in method) '(?P<name>.+)' of '(?P<of>.+)' objects>"
)
_FUNCTION = re.compile(r"<built-in (?:method|function) (?P<name>[^<> ]+)>")

_MODES = {
    "train": "training",
    "eval": "evaluation",
    "predict": "prediction",
    "global": "training",
}
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
    """What a function works at, as far as its file and name tell."""

    PROFILER = "the profiler itself"
    LOGGING = "logging and printing"
    SAVING = "saving"
    METRICS = "metrics"
    LOADING = "loading data"
    DEVICE = "waiting for the device"
    MODEL = "the model"
    OTHER = ""


_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        Kind.PROFILER,
        re.compile(r"/(?:smdebug|pyinstrument|torch/profiler|tensorflow/python/profiler)/|_lsprof"),
    ),
    (
        Kind.LOGGING,
        re.compile(
            r"/(?:logging|tqdm|wandb|mlflow|tensorboard\w*|tensorflow/python/summary)/"
            r"|builtins\.print>|/loguru/|/rich/"
        ),
    ),
    (
        Kind.SAVING,
        re.compile(
            r"/torch/serialization\.py|/torch/distributed/checkpoint/|/(?:h5py|safetensors)/"
            r"|_?pickle\.dumps?>|/tensorflow/python/(?:saved_model|checkpoint|training/saving)/"
        ),
    ),
    (
        Kind.METRICS,
        re.compile(r"/(?:sklearn/metrics|torchmetrics|torcheval|keras/metrics|evaluate)(?:/|\.py)"),
    ),
    (
        Kind.LOADING,
        re.compile(r"/(?:torch/utils/data|tensorflow/python/data|torchvision|webdataset)/"),
    ),
    (
        Kind.DEVICE,
        re.compile(
            r"method '?(?:item|cpu|numpy|tolist)'? of '?torch|\.?synchronize>|/torch/cuda/.*sync"
        ),
    ),
    (
        Kind.MODEL,
        re.compile(
            r"/torch/(?:nn|autograd|optim)/|run_backward|method torch[._]|torch\._C\._nn"
            r"|/(?:tensorflow/python/(?:eager|ops|keras)|keras)/|_pywrap_tfe\.TFE_Py_\w*Execute"
        ),
    ),
)


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
    ends = (start.phase.lower(), end.phase.lower())
    phase = _PHASES.get(ends, f"{start.phase} to {end.phase}")
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
        own = _HOME.sub("", path).split("/")
        return f"{'/'.join(own[-_OWN_PARTS:])}:{function.line}"
    package, *folders, file = packaged.split("/") if "/" in packaged else ("", packaged)
    return f"{'/'.join([package] * bool(package) + ['…'] * bool(folders) + [file])}:{function.line}"


def kind_of(function: PythonFunction) -> Kind:
    """Return what a function works at; ``OTHER`` where its name does not tell."""
    text = f"/{function.file.replace(chr(92), '/')} {function.name}"
    return next((kind for kind, pattern in _KINDS if pattern.search(text)), Kind.OTHER)
