"""Event files of TensorBoard say when which step was reached."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from reportgen import intake
from reportgen.errors import AmbiguousJobError, FormatError
from reportgen.formats.tensorboard_events import checksum
from reportgen.profile import Quality
from tests.builders import START_S, known, read_job
from tests.monitoring_files import event_file, message, number, scalar
from tests.shared_data import SHARED_DATA, needs_shared_data

NAME = "events.out.tfevents.1783071000.private-host.77.0"


def write(folder: Path, events: list[bytes], *, name: str = NAME) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(event_file(events))
    return folder


def events() -> list[bytes]:
    return [
        scalar(START_S + 2 * at, 10 * at, tag, value)
        for at in range(20)
        for tag, value in (("loss", 0.5), ("perf/tokens_per_sec", 100.0 + at))
    ] + [scalar(START_S, 1, "epoch_loss", 1.0), scalar(START_S + 40, 2, "epoch_loss", 0.5)]


def test_the_checksum_is_that_of_tfrecords() -> None:
    assert checksum(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) % 2**32


def test_progress_is_that_of_the_tag_with_most_events(tmp_path: Path) -> None:
    node = read_job(write(tmp_path / "run", events()))
    assert node.job.name == "run"
    assert not node.system.n_ticks
    (progress,) = known(node.monitoring).progress
    assert progress.counter == "step"
    assert progress.step.tolist() == [10.0 * at for at in range(20)]
    assert progress.time_ns[1] == (START_S + 2) * 1_000_000_000
    assert list(progress.logged) == ["perf/tokens_per_sec"]
    assert node.notes[0].text == "1 file of TensorBoard of tensorboard was read."


def test_numbers_of_speed_are_kept_in_each_form(tmp_path: Path) -> None:
    tensors = [
        message(5, struct.pack("<f", 7.5)),
        message(4, struct.pack("<f", 7.5)),
        message(6, struct.pack("<d", 7.5)),
    ]
    scalars = [scalar(START_S + at, at, "loss", 0.1) for at in range(9)]
    for at, tensor in enumerate(tensors):
        value = message(1, "mfu") + message(8, tensor)
        scalars.append(
            b"\x09"
            + struct.pack("<d", START_S + at)
            + number(2, at)
            + message(5, message(1, value))
        )
    progress = known(read_job(write(tmp_path, scalars)).monitoring)
    assert progress.progress[0].logged["mfu"][1].tolist() == [7.5, 7.5, 7.5]


def test_damage_is_counted_without_the_name_of_the_machine(tmp_path: Path) -> None:
    content = bytearray(event_file(events()))
    content[80] ^= 1
    (tmp_path / NAME).write_bytes(content[:-5])
    node = read_job(tmp_path)
    counts = {quality: n for note in node.notes for quality, n in note.counts.items()}
    assert counts[Quality.LINES_BROKEN] == 1
    assert counts[Quality.BYTES_LOST] > 0
    assert all("private-host" not in note.path + note.text for note in node.notes)
    content[len(content) // 2 :] = bytes(1_000)
    (tmp_path / NAME).write_bytes(content)
    assert 5 < known(read_job(tmp_path).monitoring).progress[0].step.size < 20


def test_large_events_are_passed_over(tmp_path: Path) -> None:
    image = message(5, message(1, message(1, "image") + message(4, bytes(3 << 20))))
    scalars = events()
    monitoring = known(read_job(write(tmp_path, [*scalars[:9], image, *scalars[9:]])).monitoring)
    assert monitoring.progress[0].step.size == 20


def test_writers_of_one_run_are_a_job_and_runs_are_several(tmp_path: Path) -> None:
    write(tmp_path / "a" / "train", events())
    write(tmp_path / "a" / "validation", events()[:2])
    job = intake.discover(str(tmp_path))
    assert (job.info.name, len(job.parts[0].files)) == ("a", 2)
    write(tmp_path / "b", events())
    with pytest.raises(AmbiguousJobError):
        intake.discover(str(tmp_path))


def test_a_file_of_another_form_is_refused(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"no event file at all")
    with pytest.raises(FormatError) as caught:
        intake.discover(str(tmp_path))
    assert "private-host" not in str(caught.value)


@needs_shared_data
def test_a_real_file_is_read_to_its_end() -> None:
    node = read_job(SHARED_DATA / "wandb" / "events.out.tfevents.1585769947")
    (progress,) = known(node.monitoring).progress
    assert not any(note.counts.get(Quality.LINES_BROKEN) for note in node.notes)
    assert progress.step.size > 3
