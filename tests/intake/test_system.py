"""A node's minute files to its table: variants, damage, clocks, blocks."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from reportgen import intake
from reportgen.intake import blocks, system
from reportgen.profile import Quality, Series, SeriesKind, SystemTable
from reportgen.profile.column_file import ColumnFile
from reportgen.rules import cpu_bottleneck
from reportgen.units import seconds_key
from tests.builders import (
    START_S,
    counted,
    ns,
    pack_hour,
    read_job,
    system_line,
    system_table,
    values_of,
    write_minute,
    write_system,
)
from tests.rules.samples import run

pytestmark = pytest.mark.usefixtures("each_reader")

COLUMNS: dict[str, list[float | None]] = {
    "gpu0": [10.0, 20.0, 30.0],
    "gpu0_memory": [1.0, 2.0, 3.0],
    "cpu0": [None, 50.0, 60.0],
    "cpu10": [None, 5.0, 6.0],
    "cpu2": [None, 7.0, 8.0],
    "memory": [4.0, 5.0, 6.0],
    "receive": [None, 1e6, 2e6],
}


def minute(n_lines: int = 20, *, start_s: float = START_S) -> list[str]:
    return [
        system_line(name, tick, start_s + tick / 2)
        for tick in range(n_lines // 2)
        for name in ("gpu0", "cpu0")
    ]


def assert_same(table: SystemTable, expected: SystemTable) -> None:
    assert table.series == expected.series
    assert table.tick_ns.tolist() == expected.tick_ns.tolist()
    np.testing.assert_array_equal(values_of(table), values_of(expected))
    assert (table.first_ns, table.last_ns) == (expected.first_ns, expected.last_ns)
    assert (table.interval_ns, table.n_samples) == (expected.interval_ns, expected.n_samples)


def test_a_written_job_reads_back_as_the_table_it_was_written_from(tmp_path: Path) -> None:
    write_system(tmp_path, COLUMNS)
    table, expected = read_job(tmp_path).system, system_table(COLUMNS)
    assert_same(table, expected)
    assert table.interval_ns == ns(0.5)


def test_a_long_job_is_put_together_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    columns = {name: [float(n) for n in range(600)] for name in ("gpu0", "cpu0", "cpu1")}
    write_system(tmp_path, {**columns, "memory": [None] * 400 + [1.0] * 200})
    expected = read_job(tmp_path).system
    monkeypatch.setattr(blocks, "ColumnFile", partial(ColumnFile, large_bytes=1))
    monkeypatch.setattr(blocks, "PIECE_BYTES", 1)
    monkeypatch.setattr(blocks, "_ROWS_AT_ONCE", 100)

    assert_same(read_job(tmp_path).system, expected)


def test_cores_are_in_numeric_order(tmp_path: Path) -> None:
    write_system(tmp_path, COLUMNS)
    assert read_job(tmp_path).system.names(SeriesKind.CPU_UTILIZATION) == ("cpu0", "cpu2", "cpu10")


def test_both_folder_layouts_at_once_are_the_same_samples_twice(tmp_path: Path) -> None:
    write_minute(tmp_path, minute())
    write_minute(tmp_path, minute(), has_hour_folder=False)
    profile = read_job(tmp_path)
    assert profile.system.n_samples == 20
    assert profile.system.n_ticks == 10
    assert counted(profile, Quality.LINES_DUPLICATE) == 20


def test_a_broken_file_costs_its_lines_and_names_them(tmp_path: Path) -> None:
    lines = minute()
    path = write_minute(tmp_path, [*lines[:7], "garbage } {", *lines[7:], lines[0][:30]])
    path.write_bytes(path.read_bytes()[:-1])
    write_minute(tmp_path, minute(start_s=START_S + 60), minute_s=START_S + 60)
    profile = read_job(tmp_path)
    assert profile.system.n_samples == 40
    assert counted(profile, Quality.LINES_BROKEN) == 2
    assert counted(profile, Quality.BYTES_LOST) == 30
    (note,) = [note for note in profile.notes if Quality.LINES_BROKEN in note.counts]
    assert note.text == "2 lines cannot be read and were skipped (line 8, line 22)."
    assert note.path.endswith("1783071000.algo-1.json")


@pytest.mark.parametrize(
    "content",
    [
        ("[\n" + ",\n".join(minute()) + "\n]").encode(),
        "\n".join(minute()).encode("utf-16"),
        "\n".join(minute()).encode("utf-8-sig"),
        "\r\n".join(minute()).encode(),
        "".join(minute()).encode(),
    ],
    ids=["array", "utf-16", "bom", "crlf", "one-line"],
)
def test_variants_are_read_whole(tmp_path: Path, content: bytes) -> None:
    write_minute(tmp_path, content)
    profile = read_job(tmp_path)
    assert profile.system.n_samples == 20
    assert counted(profile, Quality.LINES_BROKEN) == 0


def test_a_line_longer_than_the_parser_s_limit_is_one_broken_line(tmp_path: Path) -> None:
    write_minute(tmp_path, [*minute(), "x" * 20_000_000])
    profile = read_job(tmp_path)
    assert profile.system.n_samples == 20
    assert counted(profile, Quality.LINES_BROKEN) == 1


@pytest.mark.parametrize("value", ["NaN", "null", "1e400", "-1e400", '"many"'])
def test_values_that_are_no_finite_numbers_are_left_out(tmp_path: Path, value: str) -> None:
    write_minute(tmp_path, [*minute(), system_line("cpu0", value, START_S + 20)])
    profile = read_job(tmp_path)
    assert profile.system.n_samples == 20
    assert counted(profile, Quality.VALUES_BROKEN) == 1
    assert np.isfinite(values_of(profile.system)[~np.isnan(values_of(profile.system))]).all()


@pytest.mark.parametrize(
    ("name", "value", "n_odd"),
    [
        ("cpu0", 100.0, 0),
        ("cpu0", 100.01, 1),
        ("gpu0", -0.01, 1),
        ("gpu0", 0.0, 0),
        ("memory", 1e300, 1),
        ("receive", -1.0, 1),
        ("receive", 1e15, 0),
        ("receive", 1e300, 1),
    ],
)
def test_impossible_values_are_counted_and_left_out(tmp_path: Path, name, value, n_odd) -> None:
    write_minute(tmp_path, [*minute(), system_line(name, value, START_S + 20)])
    profile = read_job(tmp_path)
    assert counted(profile, Quality.SAMPLES_OUT_OF_RANGE) == n_odd
    assert profile.system.n_samples == 21 - n_odd


def test_metrics_we_do_not_know_are_kept_whatever_their_value(tmp_path: Path) -> None:
    odd = '{"Type":"tpu","Name":"<b>t</b>","Dimension":"\\"q\\"","Value":-500,"Timestamp":'
    write_minute(tmp_path, [*minute(), f"{odd}{START_S + 1}}}"])
    profile = read_job(tmp_path)
    assert profile.system.series[-1] == Series("tpu", "<b>t</b>", '"q"')
    assert np.nanmin(values_of(profile.system)) == -500
    assert counted(profile, Quality.SAMPLES_OUT_OF_RANGE) == 0


def test_a_line_without_a_name_and_one_with_it_are_one_series(tmp_path: Path) -> None:
    write_minute(
        tmp_path,
        [
            f'{{"Type":"cpu","Dimension":"I","Value":1,"Timestamp":{START_S}}}',
            f'{{"Type":"cpu","Name":"cpu","Dimension":"I","Value":2,"Timestamp":{START_S + 1}}}',
        ],
    )
    table = read_job(tmp_path).system
    assert table.series == (Series("cpu", "cpu", "I"),)
    assert values_of(table)[:, 0].tolist() == [1, 2]


@pytest.mark.parametrize(("late_s", "n_outside"), [(64.5, 0), (65.5, 1)])
def test_samples_outside_their_minute_are_kept_and_counted(tmp_path: Path, late_s, n_outside):
    """Five seconds over the minute are nothing."""
    write_minute(tmp_path, [*minute(), system_line("gpu0", 9, START_S + late_s)])
    profile = read_job(tmp_path)
    assert profile.system.n_samples == 21
    assert counted(profile, Quality.SAMPLES_OUT_OF_MINUTE) == n_outside


@pytest.mark.parametrize("time_s", [-4e9, 0.0, 1e6, 4.9e9, 1e12, 1.7e18, 1e300])
def test_another_century_does_not_stretch_the_job(tmp_path: Path, time_s: float) -> None:
    write_minute(tmp_path, [*minute(), system_line("gpu0", 9, time_s)])
    profile = read_job(tmp_path)
    assert profile.system.n_samples == 20
    assert profile.system.last_ns == ns(START_S + 4.5)
    assert counted(profile, Quality.SAMPLES_OUT_OF_MINUTE) == 1


@pytest.mark.parametrize("start_s", [4_938_744_600.0, 1e12, 1e300])
def test_times_far_from_the_name_leave_nothing(tmp_path: Path, start_s: float) -> None:
    write_minute(tmp_path, minute(start_s=start_s))
    profile = read_job(tmp_path)
    assert profile.system.n_ticks == 0
    assert counted(profile, Quality.SAMPLES_OUT_OF_MINUTE) == 20


def test_seven_digit_fractions_are_rounded_to_microseconds(tmp_path: Path) -> None:
    line = system_line("gpu0", 1, START_S).replace(f"{START_S:.6f}", "1783071000.4570894")
    write_minute(tmp_path, [line])
    (tick_ns,) = read_job(tmp_path).system.tick_ns.tolist()
    assert tick_ns % 1000 == 0
    assert abs(tick_ns - 1_783_071_000_457_089_400) <= 1000  # a float second is 0.24 µs apart


def test_lines_that_name_another_node_belong_to_the_file_s_node(tmp_path: Path) -> None:
    lines = [system_line("gpu0", 1, START_S + tick, node="algo-9") for tick in range(5)]
    write_minute(tmp_path, lines)
    profile = read_job(tmp_path)
    assert (profile.node, profile.system.n_samples) == ("algo-1", 5)
    (note,) = [note for note in profile.notes if "algo-9" in note.text]
    assert note.text == (
        "Lines in files of algo-1 name the node algo-9; they were counted to algo-1, "
        "which the files' names say."
    )


def test_an_instant_that_ends_in_the_next_file_is_one_tick(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(system, "BLOCK_BYTES", 1)
    edge_s = START_S + 60
    first = [system_line("gpu0", tick % 9, START_S + tick / 2 + 0.4999) for tick in range(120)]
    second = [system_line("cpu0", tick % 9, START_S + tick / 2 + 0.5004) for tick in range(120)]
    write_minute(tmp_path, [*first, *second[:119]])
    write_minute(tmp_path, [second[119]], minute_s=edge_s)
    table = read_job(tmp_path).system
    assert table.n_ticks == 120
    assert not np.isnan(values_of(table)).any()


def test_blocks_do_not_change_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_system(tmp_path, {"gpu0": [7.0] * 400, "cpu0": [5.0] * 399, "cpu1": [None] * 300 + [1.0]})
    whole = read_job(tmp_path).system
    monkeypatch.setattr(system, "BLOCK_BYTES", 1)
    assert_same(read_job(tmp_path).system, whole)


def test_late_samples_find_their_place_in_an_earlier_block(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(system, "BLOCK_BYTES", 1)
    first = [system_line("gpu0", tick % 50, START_S + tick / 2) for tick in range(120)]
    late = system_line("cpu0", 33, START_S + 5.0003)
    repeated = system_line("gpu0", 10, START_S + 5)
    write_minute(tmp_path, first)
    write_minute(
        tmp_path, [system_line("gpu0", 1, START_S + 60), late, repeated], minute_s=START_S + 60
    )
    profile = read_job(tmp_path)
    table = profile.system
    assert (table.n_ticks, table.n_samples) == (121, 122)
    assert values_of(table)[10].tolist() == [33.0, 10.0]
    assert counted(profile, Quality.LINES_DUPLICATE) == 1
    assert counted(profile, Quality.SAMPLES_OUT_OF_MINUTE) == 2


def test_a_packed_hour_is_read_like_its_minutes(tmp_path: Path) -> None:
    columns: dict[str, list[float | None]] = {
        "gpu0": [float(tick % 97) for tick in range(1_000)],
        "memory": [float(tick % 89) for tick in range(1_000)],
    }
    write_system(tmp_path / "minutes", columns)
    write_system(tmp_path / "packed", columns)
    for hour in sorted((tmp_path / "packed/profiler-output/system/incremental").iterdir()):
        pack_hour(hour)
    (packed,) = (tmp_path / "packed").rglob("*.json.gz")
    minutes, profile = read_job(tmp_path / "minutes"), read_job(tmp_path / "packed")

    assert packed.name == f"{START_S:.0f}.algo-1.json.gz"
    assert list((tmp_path / "packed").rglob("*.json")) == []
    assert_same(profile.system, minutes.system)
    assert [note.counts for note in profile.notes] == [{Quality.FILES_READ: 1}]


def test_an_hour_that_was_packed_and_not_yet_removed_is_counted_once(tmp_path: Path) -> None:
    path = write_minute(tmp_path, minute())
    text = path.read_bytes()
    pack_hour(path.parent)
    path.write_bytes(text)
    profile = read_job(tmp_path)

    assert profile.system.n_samples == 20
    assert counted(profile, Quality.LINES_DUPLICATE) == 20


def test_of_a_damaged_packed_file_the_beginning_is_read(tmp_path: Path) -> None:
    lines = [system_line("gpu0", tick % 100, START_S + tick / 2) for tick in range(6_000)]
    pack_hour(write_minute(tmp_path, lines).parent)
    (packed,) = tmp_path.rglob("*.json.gz")
    packed.write_bytes(packed.read_bytes()[: packed.stat().st_size // 2])
    profile = read_job(tmp_path)

    assert 100 < profile.system.n_samples < 5_900
    assert any("packed bytes" in note.text for note in profile.notes)


def test_a_folder_name_that_looks_like_a_pattern_is_only_a_name(tmp_path: Path) -> None:
    job = tmp_path / "run [a-z]* 'quoted' ?"
    write_minute(job, minute())
    assert read_job(job).system.n_samples == 20


def test_progress_is_told_rows_and_bytes(tmp_path: Path) -> None:
    path = write_minute(tmp_path, minute())
    calls: list[tuple[int, int]] = []
    (part,) = intake.discover(str(tmp_path)).parts
    intake.read_node(part, on_progress=lambda rows, size: calls.append((rows, size)))
    assert calls == [(20, path.stat().st_size)]


@pytest.mark.parametrize("early_s", [-0.06, 0.02, 0.24])
def test_planted_bottlenecks_are_found_whichever_device_is_sampled_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, early_s: float
) -> None:
    monkeypatch.setattr(system, "BLOCK_BYTES", 1)  # an instant may be torn by every minute
    planted = set(random.Random(37).sample(range(600), 37))
    minutes: dict[float, list[str]] = {}
    for tick in range(600):
        for name, values in (("gpu0", (95.0, 3.0)), ("cpu0", (20.0, 99.0)), ("cpu1", (9.0, 9.0))):
            time_s = START_S + tick / 2 - early_s * name.startswith("cpu")
            line = system_line(name, values[tick in planted], time_s)
            minutes.setdefault(time_s // 60 * 60, []).append(line)
    for minute_s, lines in minutes.items():
        write_minute(tmp_path, lines, minute_s=minute_s)
    result = run(cpu_bottleneck.RULE, read_job(tmp_path), patience=10)

    found = result.details["bottlenecks"]
    assert isinstance(found, dict)
    assert set(found) == {seconds_key(ns(START_S + tick / 2)) for tick in planted}
    assert result.counters.violations == 37
    assert result.counters.datapoints == 600
