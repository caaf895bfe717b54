"""``reportgen timeline`` as a user calls it."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from reportgen.cli.timeline import command
from reportgen.errors import ConfigError, ReportgenError, WouldOverwriteError
from tests.s3_server import Bucket
from tests.traces import BASE_NS, START_US, kernel, launch, ranked, small_events, write_trace

SAMPLES = Path(__file__).resolve().parents[2] / "sample_data"


def timeline(*args: object) -> Result:
    return CliRunner().invoke(command, [*map(str, args)], standalone_mode=False)


def slices_in(path: Path) -> list[dict[str, Any]]:
    content = path.read_bytes()
    content = gzip.decompress(content) if path.suffix == ".gz" else content
    return [event for event in json.loads(content)["traceEvents"] if event["ph"] == "X"]


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    for rank in range(3):
        write_trace(tmp_path / "job" / f"rank-{rank}.pt.trace.json", ranked(rank, world_size=3))
    return tmp_path / "job"


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.pftrace"])
def test_a_name_in_gz_asks_for_compression(ranks: Path, tmp_path: Path, name: str) -> None:
    answer = timeline(ranks, "-o", tmp_path / name)
    assert answer.exception is None
    assert answer.stdout.strip() == str(tmp_path / name)
    assert len(slices_in(tmp_path / name)) == 3 * len(small_events())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "job"])


def test_ranks_are_chosen(ranks: Path, tmp_path: Path) -> None:
    assert timeline(ranks, "--ranks", "0,2", "-o", tmp_path / "a.json").exception is None
    tree = json.loads((tmp_path / "a.json").read_bytes())["traceEvents"]
    named = [event["args"]["name"] for event in tree if event["name"] == "process_name"]
    assert named == ["rank 0", "rank 2"]


@pytest.mark.parametrize(
    ("options", "n_slices"), [(["--steps", "1:1"], 7), (["--to", f"{1782967892.412345}"], 3)]
)
def test_a_range_is_cut(tmp_path: Path, options: list[str], n_slices: int) -> None:
    place = write_trace(tmp_path / "rank-0.pt.trace.json", ranked(0))
    assert timeline(place, *options, "-o", tmp_path / "a.json").exception is None
    assert 0 < len(slices_in(tmp_path / "a.json")) <= n_slices


REFUSED: tuple[tuple[list[str], str], ...] = (
    (["--steps", "1:2", "--from", "0"], "--steps"),
    (["--ranks", "7"], "rank 7"),
    (["--ranks", "all"], "all"),
    (["--from", "2030-01-01T00:00:00Z"], "range"),
)


@pytest.mark.parametrize(("options", "said"), REFUSED)
def test_what_cannot_be_done_is_said(ranks: Path, tmp_path: Path, options, said) -> None:
    answer = timeline(ranks, *options, "-o", tmp_path / "a.json")
    assert said in str(answer.exception)
    assert type(answer.exception).__module__ in {"reportgen.errors", "click.exceptions"}
    assert not (tmp_path / "a.json").exists()


def test_a_file_is_replaced_only_by_force(ranks: Path, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("mine")
    assert isinstance(timeline(ranks, "-o", tmp_path / "a.json").exception, ReportgenError)
    assert (tmp_path / "a.json").read_text() == "mine"
    assert timeline(ranks, "-o", tmp_path / "a.json", "--force").exception is None
    assert slices_in(tmp_path / "a.json")


def test_terminals_get_no_bytes(ranks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True)
    assert "terminal" in str(timeline(ranks, "-o", "-").exception)


def test_pipes_get_them(ranks: Path) -> None:
    answer = timeline(ranks, "-o", "-")
    assert answer.exception is None
    assert len(json.loads(answer.stdout_bytes)["traceEvents"]) > 3 * len(small_events())


def test_a_bucket_is_read_and_written(s3: Bucket, ranks: Path, tmp_path: Path) -> None:
    s3.put_folder(ranks, "job")
    target = f"{s3.url}/out/a.json.gz"
    assert timeline(f"{s3.url}/job", "-o", target).exception is None
    assert timeline(ranks, "-o", tmp_path / "a.json").exception is None
    (tmp_path / "b.json.gz").write_bytes(s3.read("out/a.json.gz"))
    assert slices_in(tmp_path / "b.json.gz") == slices_in(tmp_path / "a.json")
    assert isinstance(timeline(f"{s3.url}/job", "-o", target).exception, WouldOverwriteError)
    assert timeline(ranks, "-o", target, "--force", "--ranks", "1").exception is None
    (tmp_path / "b.json.gz").write_bytes(s3.read("out/a.json.gz"))
    assert 0 < len(slices_in(tmp_path / "b.json.gz")) < len(slices_in(tmp_path / "a.json"))


def test_an_export_of_nsight_systems_is_written_with_its_kernels(tmp_path: Path) -> None:
    reports = SAMPLES / "nsight_reports"
    assert timeline(reports, "-o", tmp_path / "a.json").exception is None
    written = Counter(event["cat"] for event in slices_in(tmp_path / "a.json"))
    with closing(sqlite3.connect(reports / "training.sqlite")) as base:
        ((n_kernels,),) = base.execute("select count(*) from CUPTI_ACTIVITY_KIND_KERNEL")
    assert written["stream"] >= n_kernels > 0
    assert written["steps"] > 0


def test_damaged_traces_are_written_as_far_as_they_go(tmp_path: Path) -> None:
    place = write_trace(tmp_path / "rank-0.pt.trace.json", ranked(0)[:-400])
    answer = timeline(place, "-o", tmp_path / "a.json")
    assert answer.exception is None
    assert slices_in(tmp_path / "a.json")
    assert "rank-0.pt.trace.json" in answer.stderr


def test_times_are_those_of_the_input(tmp_path: Path) -> None:
    events = [launch(0.123, 1), kernel(7.456, 3.789, 1)]
    place = write_trace(tmp_path / "rank-0.pt.trace.json", ranked(0, events=events))
    assert timeline(place, "-o", tmp_path / "a.json").exception is None
    tree = json.loads((tmp_path / "a.json").read_bytes())
    first, second = slices_in(tmp_path / "a.json")
    base_ns = tree["baseTimeNanoseconds"]
    assert base_ns + round(first["ts"] * 1000) == BASE_NS + round((START_US + 0.123) * 1000)
    assert second["dur"] == 3.789
    assert first["bind_id"] == second["bind_id"]
    assert (first["flow_out"], second["flow_in"]) == (True, True)


def test_another_cycle_of_the_profiler_is_chosen(tmp_path: Path) -> None:
    steps = [*small_events(), *small_events()[:1]]
    for stamp, events in ((1694128201545, steps), (1694128301545, small_events())):
        text = ranked(0, world_size=1, events=events)
        write_trace(tmp_path / "job" / f"rank0.{stamp}.pt.trace.json", text)

    for cycle, expected in ((1, len(small_events())), (2, len(steps))):
        out = tmp_path / f"{cycle}.json"
        assert timeline(tmp_path / "job", "--cycle", cycle, "-o", out).exception is None
        assert len(slices_in(out)) == expected
    answer = timeline(tmp_path / "job", "--cycle", 3, "-o", tmp_path / "3.json")
    assert isinstance(answer.exception, ConfigError)
