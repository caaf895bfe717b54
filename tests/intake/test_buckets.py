"""A damaged job from a bucket is read as from disk: the same numbers, the same remarks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.builders import (
    START_S,
    read_job,
    system_line,
    timeline_lines,
    values_of,
    write_minute,
    write_timeline,
)
from tests.s3_server import Bucket

pytestmark = pytest.mark.slow


@pytest.fixture
def damaged_job(tmp_path: Path) -> Path:
    """Minute files and timelines, each with another kind of damage or of writing."""
    job = tmp_path / "damaged"
    spoil = (
        lambda text: text,
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: text.decode().encode("utf-16"),
        lambda text: text[:-30],
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b"\n", b" ", 2),
        lambda text: b"[" + text.strip().replace(b"\n", b",") + b"]",
        lambda text: text + b"\n\n" + text,
        lambda text: b"no sample\n" + text,
        lambda _: b"",
    )
    for minute, change in enumerate(spoil):
        start_s = START_S + 60 * minute
        lines = [system_line("gpu0", 10 + second, start_s + second) for second in range(5)]
        path = write_minute(job, lines, minute_s=start_s)
        path.write_bytes(change(path.read_bytes()))
    for number in range(3):
        rows = [("Step:ModeKeys.TRAIN", "step", START_S + 20 * number, START_S + 20 * number + 1)]
        path = write_timeline(job, timeline_lines(rows), node_id=f"{number}-algo-1")
        path.write_bytes(path.read_bytes()[: -20 * number or None])
    return job


def test_a_damaged_job_is_read_from_a_bucket_as_from_disk(s3: Bucket, damaged_job: Path) -> None:
    s3.put_folder(damaged_job, "job")
    disk, bucket = read_job(str(damaged_job)), read_job(f"{s3.url}/job")
    assert disk.notes == bucket.notes
    assert len(disk.notes) > 5
    assert disk.system.series == bucket.system.series
    np.testing.assert_array_equal(disk.system.tick_ns, bucket.system.tick_ns)
    np.testing.assert_array_equal(values_of(disk.system), values_of(bucket.system))
    assert disk.spans.names == bucket.spans.names
    np.testing.assert_array_equal(disk.spans.start_ns, bucket.spans.start_ns)
    np.testing.assert_array_equal(disk.spans.end_ns, bucket.spans.end_ns)
