"""A short run of the fuzzer: ``make fuzz`` makes a long one with other seeds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.campaign import Worker
from tests.fuzz.damage import MINUTE_DAMAGE, TIMELINE_DAMAGE, minute_bytes, timeline_bytes
from tests.fuzz.formats import FORMATS
from tests.fuzz.samples import job
from tests.fuzz.strict import damaged_minute, damaged_timeline

pytestmark = pytest.mark.slow

N_SEEDS = 3


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as worker:
        yield worker


@pytest.mark.parametrize("name", FORMATS)
def test_mutated_input_ends_in_a_report_or_a_message(worker: Worker, name: str) -> None:
    for seed in range(N_SEEDS):
        outcome = worker.run(name, seed, depth="results" if seed else "command")
        assert not outcome.wrong, str(outcome)


@pytest.mark.parametrize("name", FORMATS)
def test_some_mutated_inputs_of_a_format_still_make_a_report(worker: Worker, name: str) -> None:
    """A campaign whose inputs are all refused looks at nothing."""
    assert any(worker.run(name, seed, depth="results").has_report for seed in range(40))


@pytest.mark.parametrize("name", FORMATS)
def test_a_seed_makes_the_same_case_again(tmp_path: Path, name: str) -> None:
    def files_of(folder: Path) -> dict[str, bytes]:
        folder.mkdir()
        FORMATS[name](folder, Random("again"))
        paths = [path for path in folder.rglob("*") if path.is_file()]
        return {str(path.relative_to(folder)): path.read_bytes() for path in paths}

    assert files_of(tmp_path / "one") == files_of(tmp_path / "other")


@pytest.mark.parametrize(
    ("kind", "is_timeline"),
    [(kind, False) for kind in MINUTE_DAMAGE] + [(kind, True) for kind in TIMELINE_DAMAGE],
)
def test_damage_with_a_price_is_seen_by_the_strict_reader_too(kind, is_timeline) -> None:
    """The two oracles agree: where lines are lost, a file is damaged; else it may not be."""
    whole = job().timelines if is_timeline else job().minutes
    path, lines = min(whole.items())
    done = kind(lines, Random(0))

    if is_timeline:
        is_damaged = damaged_timeline(done.content)
        assert not damaged_timeline(timeline_bytes(lines))
    else:
        minute_s = float(Path(path).name.split(".")[0])
        is_damaged = damaged_minute(done.content, minute_s)
        assert not damaged_minute(minute_bytes(lines), minute_s)
    if not done.counts:
        assert done.rest == lines
        assert not is_damaged
    elif "lines_broken" in done.counts:
        assert is_damaged
