"""Each attack ends in a report or a message, within seconds and a gigabyte."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.attacks import ATTACKS, READERS, attack, attack_reader, complaints
from tests.fuzz.attacks_saved import ATTACKS_ON_SAVED

pytestmark = pytest.mark.attacks


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_costs_seconds_and_ends_in_a_report_or_a_message(tmp_path: Path, name) -> None:
    assert not complaints(attack(name, tmp_path), tmp_path / "out")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ATTACKS_ON_SAVED)
def test_a_hostile_report_harms_no_command_that_reads_it(tmp_path: Path, name, reader) -> None:
    assert not complaints(attack_reader(name, reader, tmp_path), tmp_path / "out")
    secret = tmp_path / "in" / "secret.json"
    written = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not secret.exists() or secret.read_bytes() not in b"".join(written)
