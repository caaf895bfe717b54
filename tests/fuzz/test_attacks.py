"""Each attack ends in a report or a message, within seconds and a gigabyte."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.attacks import ATTACKS, attack, complaints

pytestmark = pytest.mark.attacks


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_costs_seconds_and_ends_in_a_report_or_a_message(
    tmp_path: Path, name: str
) -> None:
    outcome = attack(name, tmp_path)
    assert not complaints(outcome, tmp_path / "out")
