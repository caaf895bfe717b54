"""What Python profiles and their functions are called, and how their sums merge."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import pytest

from reportgen.profile import ProfileInterval, ProfileMoment, PythonFunction
from reportgen.rules.python_functions.profiles import (
    FunctionSum,
    Kind,
    ProfileSum,
    kind_of,
    place_of,
    stage_of,
    sums_in_order,
)


def profiled(*functions: FunctionSum, profiler: str, first_us: int, stage: str = "s") -> ProfileSum:
    return ProfileSum(
        profiler=profiler,
        stage=stage,
        first_us=first_us,
        n_profiles=1,
        covered_us=10,
        own_s=sum(item.own_s for item in functions),
        functions=functions,
    )


def function(name: str, own_s: float, calls: int | None = 1) -> FunctionSum:
    place = PythonFunction(file="train.py", line=1, name=name)
    return FunctionSum(function=place, calls=calls, own_s=own_s, cumulative_s=own_s)


def test_sums_of_one_profiler_and_stage_merge_in_order_of_their_time() -> None:
    sums = [
        profiled(function("b", 1.0), profiler="cprofile", first_us=30),
        profiled(function("a", 4.0, calls=None), profiler="pyinstrument", first_us=20),
        profiled(function("a", 0.5), function("b", 2.0, calls=3), profiler="cprofile", first_us=10),
    ]
    counted, sampled = sums_in_order(sums)

    assert (counted.profiler, counted.first_us, counted.n_profiles) == ("cprofile", 10, 2)
    assert (counted.covered_us, counted.own_s) == (20, 3.5)
    assert counted.functions == (function("a", 0.5), function("b", 3.0, calls=4))
    assert sampled == sums[1]


@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("/home/ann/train.py", "train.py:3"),
        ("/Users/ann/job/src/train.py", "src/train.py:3"),
        ("C:\\Users\\ann\\train.py", "train.py:3"),
        (str(PurePosixPath("/", "root", "train.py")), "train.py:3"),
        ("/mnt/home/ann/x/y/train.py", "y/train.py:3"),
        ("/home/ann/venv/lib/python3.10/site-packages/six.py", "six.py:3"),
        ("/home/ann/.conda/lib/python3.10/json/decoder.py", "json/decoder.py:3"),
        ("train.py", "train.py:3"),
        ("", ":3"),
        ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>:3"),
    ],
)
def test_a_place_keeps_what_tells_functions_apart_and_no_home(file: str, place: str) -> None:
    assert place_of(PythonFunction(file=file, line=3, name="f")) == place


@pytest.mark.parametrize(
    ("file", "name", "kind"),
    [
        ("~", "<built-in method builtins.print>", Kind.LOGGING),
        ("/usr/lib/python3.9/site-packages/tqdm/std.py", "update", Kind.LOGGING),
        ("/x/site-packages/sklearn/metrics/_ranking.py", "roc_auc_score", Kind.METRICS),
        ("/x/site-packages/torch/serialization.py", "save", Kind.SAVING),
        ("~", "<method 'item' of 'torch._C._TensorBase' objects>", Kind.DEVICE),
        ("/x/site-packages/smdebug/pytorch/hook.py", "forward_hook", Kind.PROFILER),
        ("/x/site-packages/torch/utils/data/dataloader.py", "__next__", Kind.LOADING),
        ("train.py", "evaluate", Kind.OTHER),
        ("C:\\lib\\logging\\__init__.py", "info", Kind.LOGGING),
    ],
)
def test_kinds_are_told_from_file_and_name(file: str, name: str, kind: Kind) -> None:
    assert kind_of(PythonFunction(file=file, line=1, name=name)) is kind


@pytest.mark.parametrize(
    ("start", "end", "stage"),
    [
        (("prestepzero", None, "start"), ("train", 0, "stepstart"), "before the first step"),
        (("train", 5, "stepstart"), ("train", 5, "stepend"), "training: in steps"),
        (("eval", 5, "stepend"), ("eval", 6, "stepstart"), "evaluation: between steps"),
        (
            ("train", 9, "stepend"),
            ("eval", 10, "stepstart"),
            "training: between steps, until evaluation",
        ),
        (
            ("train", 9, "stepend"),
            ("posthookclose", None, "end"),
            "training: to the end of the job",
        ),
        (("mine", 1, "a"), ("mine", 2, "b"), "mine: a to b"),
    ],
)
def test_a_stage_is_told_in_words(start: Any, end: Any, stage: str) -> None:
    both = [
        ProfileMoment(mode=mode, step=step, phase=phase, time_us=0)
        for mode, step, phase in (start, end)
    ]
    assert stage_of(ProfileInterval(start=both[0], end=both[1])) == stage
