"""Buckets: read, listed, and in trouble. The server is real, on this machine."""

from __future__ import annotations

import gzip
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reportgen import intake
from reportgen.errors import LocationError, PlaceError
from reportgen.profile import Quality
from reportgen.storage import open_location, read_blocks
from reportgen.storage.s3_access import region_of
from tests.builders import START_S, system_line, timeline_lines, write_minute, write_timeline
from tests.s3_server import Bucket
from tests.traces import ranked

pytestmark = pytest.mark.slow

BIG = bytes(range(256)) * 4_000


def two_minutes(s3: Bucket, folder: Path) -> list[str]:
    for minute in (0, 1):
        start_s = START_S + 60 * minute
        write_minute(folder, [system_line("gpu0", 1 + minute, start_s)], minute_s=start_s)
    s3.put_folder(folder, "job")
    return [key for key in s3.keys("job/") if key.endswith(".json")]


def test_keys_of_all_pages_are_listed_in_order_with_sizes_and_versions(s3: Bucket) -> None:
    keys = [f"job/a b+c%25ü/{number:04}.json" for number in range(1_003)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: s3.put(key, b"{}"), keys))
    found = open_location(f"{s3.url}/job/").list()
    assert [info.key for info in found] == [key.removeprefix("job/") for key in keys]
    assert {info.size_bytes for info in found} == {2}
    assert all(info.version for info in found)
    assert open_location(f"{s3.url}/job").read_bytes(found[0].key) == b"{}"


def test_many_objects_come_in_the_order_of_their_keys(s3: Bucket) -> None:
    keys = [f"{number:03}" for number in range(100)]
    for key in keys:
        s3.put(key, key.encode())
    assert list(open_location(s3.url).read_many(keys)) == [key.encode() for key in keys]


def test_all_nodes_of_a_job_share_their_connections(s3: Bucket) -> None:
    s3.put("job/a", b"{}")
    for _ in range(20):
        assert open_location(f"{s3.url}/job").read_bytes("a") == b"{}"
    assert len(s3.trouble.clients) < 10


def test_the_region_of_a_bucket_is_asked_from_the_store(s3: Bucket, monkeypatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-west-2")
    assert region_of(s3.name) == "eu-central-1"


def test_an_object_that_changed_is_read_as_it_is_now_and_named(s3: Bucket, tmp_path: Path) -> None:
    first, _ = two_minutes(s3, tmp_path)
    (part,) = intake.discover(f"{s3.url}/job").parts
    s3.put(
        first,
        f"{system_line('gpu0', 50, START_S)}\n{system_line('gpu0', 60, START_S + 1)}\n".encode(),
    )
    node = intake.read_node(part)
    assert node.system.n_samples == 3
    assert [note.path for note in node.notes if "changed after it was listed" in note.text] == [
        first.removeprefix("job/")
    ]


def test_an_object_that_vanished_is_named_and_the_others_are_read(s3: Bucket, tmp_path: Path):
    first, _ = two_minutes(s3, tmp_path)
    (part,) = intake.discover(f"{s3.url}/job").parts
    s3.delete(first)
    node = intake.read_node(part)
    assert node.system.n_samples == 1
    (note,) = [note for note in node.notes if Quality.FILES_SKIPPED in note.counts]
    assert note.path == first.removeprefix("job/")
    assert note.text == "1 file cannot be read (vanished)."


@pytest.mark.parametrize("name", ["run", "run/rank0.json.gz"])
def test_traces_that_may_be_listed_but_not_read_are_denied_not_absent(s3: Bucket, name) -> None:
    s3.put("run/rank0.json.gz", gzip.compress(ranked(0).encode()))
    s3.trouble.denies_objects = True
    with pytest.raises(PlaceError, match="Access denied: s3:GetObject"):
        intake.discover(f"{s3.url}/{name}")


def test_a_store_without_etags_is_checked_by_size(s3: Bucket, tmp_path: Path) -> None:
    first, _ = two_minutes(s3, tmp_path)
    s3.trouble.hides_tags = True
    (part,) = intake.discover(f"{s3.url}/job").parts
    assert [file.version for file in part.files] == ["", ""]
    assert not [note for note in intake.read_node(part).notes if "changed" in note.text]
    line = system_line("gpu0", 50, START_S)
    s3.put(first, f"{line}\n{line.replace('50', '60')}\n".encode())
    node = intake.read_node(part)
    assert [note.path for note in node.notes if "changed after it was listed" in note.text] == [
        first.removeprefix("job/")
    ]


def test_timelines_are_fetched_in_parallel_and_one_that_vanished_is_named(s3, tmp_path) -> None:
    for number in range(40):
        rows = [("Step:ModeKeys.TRAIN", f"step {number}", START_S + number, START_S + number + 0.5)]
        write_timeline(
            tmp_path, timeline_lines(rows, base_s=START_S), end_s=START_S + number + 1,
            node_id=f"{number}-algo-1",
        )  # fmt: skip
    s3.put_folder(tmp_path, "job")
    (part,) = intake.discover(f"{s3.url}/job").parts
    gone = part.files[17].key
    whole = intake.read_node(part).spans
    assert whole.n_spans == 40
    s3.delete(f"job/{gone}")
    node = intake.read_node(part)
    assert node.spans.n_spans == 39
    assert set(node.spans.names) < set(whole.names)
    (note,) = [note for note in node.notes if Quality.FILES_SKIPPED in note.counts]
    assert (note.path, note.text) == (gone, "1 file cannot be opened (vanished).")


def test_a_listing_that_is_interrupted_is_made_again(s3: Bucket) -> None:
    s3.put("x", b"x")
    s3.trouble.cuts = "GET"
    place = open_location(s3.url)
    threading.Timer(0.5, setattr, (s3.trouble, "cuts", "")).start()
    assert [info.key for info in place.list()] == ["x"]


def test_a_key_that_cannot_be_read_is_said_and_not_left_out(s3: Bucket) -> None:
    s3.put("job//x.json", b"x")
    with pytest.raises(PlaceError, match=r"holds a key that cannot be read: with an empty folder"):
        open_location(s3.url).list()
    with pytest.raises(PlaceError, match="has an empty folder"):
        open_location(f"{s3.url}/job//deep")


def test_folders_that_the_console_made_are_not_files_of_the_job(s3: Bucket, tmp_path: Path) -> None:
    two_minutes(s3, tmp_path)
    for folder in ("job/", "job/profiler-output/", "job/profiler-output/system/"):
        s3.put(folder, b"")
    job = intake.discover(f"{s3.url}/job")
    assert [len(part.files) for part in job.parts] == [2]
    assert intake.read_node(job.parts[0]).system.n_samples == 2


def test_a_part_of_an_object_is_read_and_blocks_make_the_whole(s3: Bucket) -> None:
    s3.put("big", BIG)
    s3.put("empty", b"")
    location = open_location(s3.url)
    assert location.read_range("big", 1_000, 5) == BIG[1_000:1_005]
    assert location.read_range("big", len(BIG) - 3, 50) == BIG[-3:]
    assert b"".join(read_blocks(location, "big", len(BIG), block_bytes=300_000)) == BIG
    with pytest.raises(LocationError):
        location.read_range("gone", 0, 5)
    with pytest.raises(LocationError, match="is empty"):
        location.read_range("empty", 0, 300)
