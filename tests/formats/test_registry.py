"""What a file's key says."""

from __future__ import annotations

import pytest

from reportgen.formats import FORMATS, FileRole, claim
from reportgen.formats.format import worker_of
from tests.builders import known


@pytest.mark.parametrize(
    ("key", "prefix"),
    [
        ("system/incremental/2026070309/1783071000.algo-1.json", ""),
        ("system/incremental/1783071000.algo-1.json", ""),
        ("j/system/incremental/2026070309/1783071000.algo-1.json", "j/"),
    ],
)
def test_minute_files_of_both_layouts_are_system_metrics(key: str, prefix: str) -> None:
    claimed = known(claim(key))
    assert (claimed.format_id, claimed.node, claimed.stamp) == (
        "sagemaker_system",
        "algo-1",
        1783071000,
    )
    assert claimed.job_prefix == prefix


@pytest.mark.parametrize(
    ("name", "node", "worker", "source"),
    [
        ("27-algo-1_pythontimeline", "algo-1", "algo-1-27", "pythontimeline"),
        ("28-algo-12_model_timeline", "algo-12", "algo-12-28", "model_timeline"),
        (
            "88-8c85.host.com_horovod_timeline",
            "8c85.host.com",
            "8c85.host.com-88",
            "horovod_timeline",
        ),
        ("0001_model_timeline", "0001", "0001", "model_timeline"),
        ("4487_0000_pythontimeline", "0000", "0000-4487", "pythontimeline"),
        ("2-a_smdataparallel_timeline", "a", "a-2", "smdataparallel_timeline"),
        ("27-algo-1_mytimeline", "algo-1", "algo-1-27", "other"),
        ("27-algo-1_my_timeline", "algo-1", "algo-1-27", "other"),
    ],
)
def test_timelines_say_their_worker_and_writer(name, node, worker, source) -> None:
    claimed = known(claim(f"framework/pevents/2026070309/1593673051472361_{name}.json"))
    assert (claimed.format_id, claimed.node, claimed.worker) == ("sagemaker_events", node, worker)
    assert claimed.source == source
    assert claimed.stamp == 1593673051472361


@pytest.mark.parametrize(
    "key",
    [
        "framework/27-algo-1_pythontimeline.tmp",
        "framework/27-algo-1_smdataparallel_timeline.json.tmp",
    ],
)
def test_unfinished_timelines_are_claimed_without_a_stamp(key: str) -> None:
    claimed = known(claim(key))
    assert (claimed.format_id, claimed.worker, claimed.stamp) == (
        "sagemaker_events",
        "algo-1-27",
        0,
    )


def test_a_trace_of_tensorflow_and_its_metadata_are_claimed() -> None:
    step = "job/framework/tensorflow/detailed_profiling/2020080513/000000005"
    trace = known(claim(f"{step}/plugins/profile/2020_08_05_13_37_44/host.trace.json.gz"))
    assert (trace.format_id, trace.job_prefix) == ("tensorflow_profiler", "job/")
    times = known(claim(f"{step}/27-algo-1_1596659864545103_1596659864854168.metadata"))
    assert (times.worker, times.start_us) == ("algo-1-27", 1596659864545103)
    summary = known(claim(f"{step}/plugins/profile/2020_08_05_13_37_44/host.kernel_stats.pb"))
    assert (summary.format_id, summary.node) == ("tensorflow_summary", "")


def test_a_log_folder_of_tensorflow_is_a_job() -> None:
    claimed = known(claim("logs/train/plugins/profile/2026_07_03_09_00_00/host.trace.json.gz"))
    assert (claimed.job_prefix, claimed.node) == ("logs/train/", "host")


@pytest.mark.parametrize(
    "key",
    [
        "1783071000.algo-1.json",
        "system/incremental/notes.txt",
        "system/incremental/178307100.algo-1.json",
        "system/incremental/1783071000.algo-1.json.corrupt",
        "framework/pevents/2026070309/27-algo-1_pythontimeline.json",
        "framework/pevents/2020/1589930988000000000_4487_pythontimeline.json",
        "framework/pevents/2020/1589930988000000_27-algo-1_merged_timeline.json",
        "framework/tensorflow/detailed_profiling/x/host.trace.txt",
        "profiler-reports/BatchSize.json",
    ],
)
def test_other_files_are_not_claimed(key: str) -> None:
    assert claim(key) is None


def test_a_node_id_without_a_process_is_node_and_worker() -> None:
    assert worker_of("0001") == ("0001", "0001")


def test_a_trace_of_pytorch_in_a_log_folder_is_a_kernel_trace() -> None:
    assert known(claim("plugins/profile/2020_08_05/host.pt.trace.json.gz")).format_id == "kineto"


def test_each_format_has_an_id_of_its_own_and_timelines_have_a_reader() -> None:
    assert len({item.id for item in FORMATS}) == len(FORMATS)
    assert [item.id for item in FORMATS if item.role is FileRole.EVENTS and item.read is None] == []
