"""Python profiles: names, functions, hostile and damaged dumps."""

from __future__ import annotations

import cProfile
import json
import marshal
import pstats
import re
import time
from pathlib import Path

import pandas as pd
import pytest

from reportgen.explore.profiles import PythonProfiles, describe_own_time
from reportgen.formats.python_profile.names import profile_key
from reportgen.formats.python_profile.reading import read_profiles
from tests.builders import known

T = 1_594_662_605_425_850


def busy(seconds: float) -> None:
    ends_at = time.perf_counter() + seconds
    while time.perf_counter() < ends_at:
        sum(range(100))


def dump(path: Path, *, seconds: float = 0.01, calls: int = 2) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(calls):
        busy(seconds)
    profile.disable()
    profile.dump_stats(path)


def folder(start: str, end: str, *, node: str = "27-algo-1", profiler: str = "cprofile") -> str:
    return f"framework/pytorch/{profiler}/{node}/{start}_{end}"


@pytest.mark.parametrize(
    ("interval", "modes", "steps"),
    [
        (
            f"prestepzero-*-start-{T}.5_train-0-stepstart-{T + 9}",
            ("prestepzero", "train"),
            (None, 0),
        ),
        (f"train-5-stepstart-{T}_train-5-forwardpassend-{T + 9}.25", ("train", "train"), (5, 5)),
        (
            f"my_mode-7-stepend-{T}_posthookclose-*-end-{T + 9}",
            ("my_mode", "posthookclose"),
            (7, None),
        ),
    ],
)
def test_the_path_says_from_when_to_when(interval, modes, steps) -> None:
    key = known(
        profile_key(
            f"job/profiler-output/framework/pytorch/cProfile/27-algo-1/{interval}/python_stats"
        )
    )

    assert key.job_prefix == "job/profiler-output/"
    assert (key.profiler, key.node) == ("cprofile", "27-algo-1")
    assert (key.interval.start.mode, key.interval.end.mode) == modes
    assert (key.interval.start.step, key.interval.end.step) == steps
    assert key.interval.end.time_us == T + 9


def test_the_layout_of_2020_is_known() -> None:
    key = known(profile_key(f"framework/tensorflow/cProfile/{T}_{T + 5}_1-algo-1_-1/python_stats"))

    assert key.node == "1-algo-1"
    assert key.interval.start.mode == "prestepzero"
    assert key.interval.start.step is None


@pytest.mark.parametrize(
    "key", ["python_stats", "framework/pytorch/cprofile/a/b/python_stats", "x"]
)
def test_other_files_are_no_profiles(key: str) -> None:
    assert profile_key(key) is None


def test_functions_equal_pstats_and_are_merged(tmp_path: Path) -> None:
    names = [
        folder(f"train-{k}-stepstart-{T + k}", f"train-{k}-stepend-{T + k + 1}") for k in range(3)
    ]
    for name in names:
        dump(tmp_path / name / "python_stats")
    profiles = PythonProfiles(str(tmp_path))
    functions, problems = profiles.functions()

    assert problems == ()
    assert len(profiles.table) == 3
    truth = pstats.Stats(*(str(tmp_path / name / "python_stats") for name in names))
    expected = truth.stats  # type: ignore[attr-defined]  # not in the stubs
    assert len(functions) == len(expected)
    for row in functions.itertuples():
        primitive, calls, own_s, cumulative_s, _ = expected[row.file, row.line, row.function]
        assert (row.primitive_calls, row.calls) == (primitive, calls)
        assert row.own_s == pytest.approx(own_s)
        assert row.cumulative_s == pytest.approx(cumulative_s)
    assert functions["function"].iloc[0] == "busy"
    assert functions["calls"].max() >= 6


def test_profiles_that_cover_slow_batches_name_what_is_no_training(tmp_path: Path) -> None:
    for k in range(3):
        start, end = f"train-{k}-stepstart-{T + 100 * k}", f"train-{k}-stepend-{T + 100 * k + 50}"
        dump(tmp_path / folder(start, end) / "python_stats")
    profiles = PythonProfiles(str(tmp_path))
    origin_us = T - 1_000
    slow = pd.DataFrame({"start_time_us": [1_050, 1_190], "end_time_us": [1_060, 1_240]})
    between = pd.DataFrame({"start_time_us": [1_060], "end_time_us": [1_099]})

    found = profiles.covering(slow, origin_us=origin_us)
    assert found["start_step"].tolist() == [0, 2]  # both edges count
    assert profiles.covering(between, origin_us=origin_us).empty
    functions, _ = profiles.functions(found)
    assert functions.loc[functions["function"] == "busy", "calls"].tolist() == [4]
    assert "busy (" in describe_own_time(functions)
    nothing, _ = profiles.functions(found.iloc[:0])
    assert describe_own_time(nothing) == "There is no Python profile for this window."


TREE = {
    "root_frame": {
        "function": "main", "file_path": "train.py", "line_no": 1, "time": 10.0,
        "children": [
            {"function": "step", "file_path": "train.py", "line_no": 5, "time": 7.0, "children": [
                {"function": "step", "file_path": "train.py", "line_no": 5, "time": 3.0,
                 "children": []},
            ]},
            {"function": "log", "file_path": "log.py", "line_no": 2, "time": 1.0, "children": []},
        ],
    }
}  # fmt: skip


def test_pyinstrument_counts_recursion_once() -> None:
    (read,) = read_profiles([("pyinstrument", json.dumps(TREE).encode())])
    times = {item.function: (item.own_s, item.cumulative_s) for item in read.functions}

    assert times == {"main": (2.0, 10.0), "step": (7.0, 7.0), "log": (1.0, 1.0)}


@pytest.mark.parametrize(
    ("profiler", "content", "said"),
    [
        ("cprofile", b"", "empty"),
        ("cprofile", b"not marshal", "no cProfile dump"),
        ("cprofile", marshal.dumps([1, 2]), "saw list"),
        ("cprofile", marshal.dumps({1: 2}), "1 of 1 entries are no functions"),
        ("cprofile", marshal.dumps({("f", 1, "g"): (1, 1, float("nan"), 1.0, {})}), "no functions"),
        ("cprofile", b"(\xff\xff\xff\x7f", "cProfile|memory"),  # a tuple of 2^31 entries
        ("cprofile", b"\xfb" + b"(\x01\x00\x00\x00" * 100_000, "cProfile|memory"),  # deep nesting
        ("pyinstrument", b"{}", "no pyinstrument JSON"),
        ("pyinstrument", b'{"root_frame": null}', "recorded nothing"),
        ("pyinstrument", b'{"root_frame": {"time": "x"}}', "cannot be read"),
        ("pyinstrument", b'{"root_frame": ' + b'{"children": [' * 100_000, "no pyinstrument JSON"),
    ],
)
def test_what_cannot_be_read_is_said_and_the_next_profile_is_read(
    profiler: str, content: bytes, said: str, tmp_path: Path
) -> None:
    dump(tmp_path / "good")
    good = (tmp_path / "good").read_bytes()
    bad, after = read_profiles([(profiler, content), ("cprofile", good)])

    assert re.search(said, bad.problem)
    assert bad.functions == ()
    assert any(item.function == "busy" for item in after.functions)


def test_a_damaged_profile_is_named_and_the_others_count(tmp_path: Path) -> None:
    first = tmp_path / folder(f"train-0-stepstart-{T}", f"train-0-stepend-{T + 1}") / "python_stats"
    second = (
        tmp_path / folder(f"train-1-stepstart-{T}", f"train-1-stepend-{T + 1}") / "python_stats"
    )
    dump(first)
    dump(second)
    first.write_bytes(first.read_bytes()[:40])
    functions, problems = PythonProfiles(str(tmp_path)).functions()

    assert len(problems) == 1
    assert "train-0-stepstart" in problems[0]
    assert "busy" in functions["function"].tolist()
