"""Samples are read back whichever minutes are packed, and a kill costs none that was written."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import numpy as np

from reportgen.profile import SystemTable
from reportgen.record.readings import MinuteFiles
from tests.builders import read_job

START_S = 1_760_000_040
"""The beginning of a minute, some minutes before an hour ends."""
NS = 1_000_000_000


def line(second: int) -> str:
    return (
        f'{{"Type":"cpu","Name":"cpu0","Dimension":"CPUUtilization","Value":{second % 97},'
        f'"NodeId":"node-1","Timestamp":{START_S + second}.000000}}\n'
    )


def written(root: Path, seconds: range) -> MinuteFiles:
    files = MinuteFiles(root, "node-1")
    for second in seconds:
        files.write(line(second), (START_S + second) * NS)
    return files


def system(root: Path) -> SystemTable:
    return read_job(root).system


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.glob("system/incremental/*/*"))


def test_minutes_that_are_over_are_packed_into_one_file_of_their_hour(tmp_path: Path) -> None:
    written(tmp_path, range(0, 1_500, 2))

    assert names(tmp_path) == [
        "1760000040.node-1.json.gz",
        "1760000400.node-1.json.gz",  # the next hour begins
        "1760001480.node-1.json",
    ]
    np.testing.assert_array_equal(
        system(tmp_path).tick_ns, [(START_S + second) * NS for second in range(0, 1_500, 2)]
    )
    for path in tmp_path.glob("system/incremental/*/*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_minute_that_a_kill_left_beside_its_packed_file_counts_once(tmp_path: Path) -> None:
    written(tmp_path, range(0, 60, 2))
    (minute,) = tmp_path.glob("system/incremental/*/*.json")
    shutil.copy(minute, tmp_path / "kept")
    written(tmp_path, range(60, 62))
    shutil.copy(tmp_path / "kept", minute)

    assert system(tmp_path).n_ticks == 32


def test_nothing_is_added_to_a_packed_file_that_a_kill_may_have_cut_off(tmp_path: Path) -> None:
    for first in (0, 6):
        written(tmp_path, range(first, first + 120, 2))
    packed = sorted(tmp_path.glob("system/incremental/*/*.gz"))
    packed[0].write_bytes(packed[0].read_bytes()[:-9])

    assert [path.name[:10] for path in packed] == ["1760000040", "1760000041"]
    assert system(tmp_path).n_ticks >= 60


def test_a_minute_that_cannot_be_packed_stays_as_it_is(tmp_path: Path, monkeypatch) -> None:
    files = written(tmp_path, range(0, 60, 2))
    with monkeypatch.context() as patch:
        patch.setattr("gzip.compress", _fail)
        files.write(line(60), (START_S + 60) * NS)

    assert [name for name in names(tmp_path) if name.endswith(".gz")] == []
    assert system(tmp_path).n_ticks == 31
    assert not files.n_lost_ticks


def _fail(*_args: object, **_options: object) -> bytes:
    raise OSError(28, "no space")
