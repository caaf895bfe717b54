"""Break files the way broken transfers and crashes do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sample_data.spec import Fault, JobSpec, node_name

GARBAGE = b'{"Type":"cpu","Name":"cpu0","Dimen\x00\x13\xfe\x9c not json\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Lines that cannot be read, and how many of them were good before."""

    n_broken: int
    n_lost: int


def damage_files(spec: JobSpec, *, root: Path) -> Damage:
    """Plant the file faults of a job below ``root``.

    A truncated file ends after ``"NodeId":"algo-N"`` in its last line (docs/formats.md, Older
    system files); garbage stands between two whole lines in the middle of a file. Both on every
    node.
    """
    n_truncated = n_garbage = 0
    for node in range(spec.nodes):
        files = sorted((root / "system").rglob(f"*.{node_name(node)}.json"))
        if Fault.TRUNCATED_LAST_LINE in spec.faults:
            _truncate(files[-1])
            n_truncated += 1
        if Fault.GARBAGE_LINE in spec.faults:
            _insert_garbage(files[len(files) // 2])
            n_garbage += 1
    return Damage(n_broken=n_truncated + n_garbage, n_lost=n_truncated)


def _truncate(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b',"Timestamp"')])


def _insert_garbage(path: Path) -> None:
    data = path.read_bytes()
    middle = data.index(b"\n", len(data) // 2) + 1
    path.write_bytes(data[:middle] + GARBAGE + data[middle:])
