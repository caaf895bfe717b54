"""A store behind a bad network: nothing is lost without a word, and no retry lasts for ever."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest

from reportgen import intake
from reportgen.errors import LocationError, PlaceError
from reportgen.profile import NodeProfile, Quality
from reportgen.storage import open_location, read_blocks, s3
from tests.builders import START_S, system_line, values_of, write_minute
from tests.s3_server import Bucket

N_MINUTES, N_SECONDS = 40, 30


@pytest.fixture
def job(s3: Bucket, tmp_path: Path) -> Bucket:
    """A bucket with a job of forty minutes."""
    for minute in range(N_MINUTES):
        begin_s = START_S + 60 * minute
        lines = [system_line("gpu0", second, begin_s + second) for second in range(N_SECONDS)]
        write_minute(tmp_path / "job", lines, minute_s=begin_s)
    s3.put_folder(tmp_path / "job", "job")
    return s3


def read(job: Bucket) -> NodeProfile:
    (part,) = intake.discover(f"{job.url}/job").parts
    return intake.read_node(part)


def test_drops_delays_and_throttling_together_lose_nothing(job: Bucket) -> None:
    whole = read(job)
    assert whole.system.n_samples == N_MINUTES * N_SECONDS
    job.trouble.says_slow_down = 15
    job.trouble.drops_midway = 15
    job.trouble.truncates = 15
    job.trouble.delays_s = 0.05
    troubled = read(job)
    assert (job.trouble.says_slow_down, job.trouble.truncates) == (0, 0)
    assert troubled.notes == whole.notes
    assert (values_of(troubled.system) == values_of(whole.system)).all()
    assert (troubled.system.tick_ns == whole.system.tick_ns).all()


def test_connections_that_hang_are_given_up_and_opened_again(job: Bucket, monkeypatch) -> None:
    monkeypatch.setattr("reportgen.storage.s3._SILENCE", timedelta(seconds=0.5))
    whole = read(job)
    job.trouble.hangs = 4
    troubled = read(job)
    assert job.trouble.hangs == 0
    assert troubled.notes == whole.notes
    assert (values_of(troubled.system) == values_of(whole.system)).all()


def test_an_object_that_comes_back_shorter_is_asked_for_again(s3: Bucket) -> None:
    s3.put("x", bytes(range(250)) * 100)
    location = listed(s3)
    s3.trouble.truncates = 2
    assert location.read_bytes("x") == bytes(range(250)) * 100
    assert not location.changed()
    s3.trouble.truncates = 2
    assert b"".join(read_blocks(location, "x", 25_000, block_bytes=9_000)) == (
        bytes(range(250)) * 100
    )


def listed(bucket: Bucket) -> s3.S3Location:
    there = open_location(bucket.url).list()
    found = open_location(bucket.url, listed={info.key: info for info in there})
    assert isinstance(found, s3.S3Location)
    return found


def test_an_object_that_is_always_cut_off_ends_the_run(s3: Bucket) -> None:
    s3.put("x", b"0123456789")
    location = listed(s3)
    s3.trouble.truncates = 1_000
    with pytest.raises(PlaceError, match="The connection to the store failed") as caught:
        location.read_bytes("x")
    assert 1.4 <= said_s(caught.value.message) < 30


def said_s(message: str) -> float:
    """The time that a message says."""
    return float(message.partition("; retries for ")[2].partition(" s ")[0])


def test_retries_end_and_their_time_is_said(s3: Bucket) -> None:
    s3.put("x", b"x")
    s3.trouble.says_slow_down = 1_000
    began_s = time.monotonic()
    with pytest.raises(PlaceError, match=r"; retries for \d+\.\d s did not help\.") as caught:
        open_location(s3.url).read_bytes("x")
    assert said_s(caught.value.message) <= time.monotonic() - began_s + 0.1


def test_bytes_that_were_overwritten_are_counted_and_the_file_is_named(job: Bucket) -> None:
    job.trouble.corrupts = 1
    troubled = read(job)
    lost = N_MINUTES * N_SECONDS - troubled.system.n_samples
    counted = sum(note.counts.get(Quality.LINES_BROKEN, 0) for note in troubled.notes)
    assert 1 <= lost <= counted <= 2
    assert any(note.path and Quality.LINES_BROKEN in note.counts for note in troubled.notes)


def test_credentials_that_expire_in_the_middle_end_the_run(job: Bucket) -> None:
    job.trouble.expires_after = N_MINUTES // 2
    began_s = time.monotonic()
    with pytest.raises(PlaceError, match=r"credentials were rejected.*: expired or wrong"):
        read(job)
    assert time.monotonic() - began_s < 30


def test_a_store_that_refuses_some_objects_for_good_is_not_read_without_them(job: Bucket) -> None:
    job.trouble.denies_objects = True
    with pytest.raises(LocationError, match="Access denied: s3:GetObject"):
        read(job)
