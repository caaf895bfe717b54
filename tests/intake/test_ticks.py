"""Samples to ticks (docs/rules.md, Ticks): by hand-made numbers and by random lateness."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.intake.blocks import TableBuilder
from reportgen.intake.ticks import Grid, Rows, lay_out, snapped_interval_us
from reportgen.profile import Series
from tests.builders import series

GPU, CPU, MEMORY, NETWORK = (series(name) for name in ("gpu0", "cpu0", "memory", "receive"))
ALL = (GPU, CPU, MEMORY, NETWORK)
HEAT = Series("gpu", "gpu0", "GPUTemperature")
MS = 1000


def rows(*samples: tuple[Series, float, float]) -> Rows:
    """Return samples of (series, milliseconds, value)."""
    return Rows(
        time_us=np.array([round(time_ms * MS) for _, time_ms, _ in samples], dtype=np.int64),
        code=np.array([(*ALL, HEAT).index(item) for item, _, _ in samples], dtype=np.int32),
        value=np.array([value for *_, value in samples], dtype=np.float64),
    )


def column(grid: Grid, item: Series) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in grid.values[:, ALL.index(item)]]


def ticks_ms(grid: Grid) -> list[float]:
    return [float(time_us) / MS for time_us in grid.tick_us]


def test_a_sample_just_before_its_anchor_belongs_to_it() -> None:
    grid = lay_out(rows((GPU, 0, 1), (GPU, 500, 2), (CPU, 495, 3), (CPU, 994.9, 4)), ALL)
    assert column(grid, CPU)[1] == 3
    assert ticks_ms(grid)[:2] == [0, 500]


@pytest.mark.parametrize(
    ("interval_ms", "before_ms"),
    [(500, 5), (500, 20), (500, 250), (200, 100), (1000, 499), (100, 15)],
)
def test_samples_up_to_half_an_interval_before_an_anchor_belong_to_it(interval_ms, before_ms):
    samples = [(GPU, 1e5 + interval_ms * tick, tick) for tick in range(12)]
    samples += [(CPU, 1e5 + interval_ms * tick - before_ms, tick) for tick in range(12)]
    grid = lay_out(rows(*samples), ALL)

    assert column(grid, CPU) == column(grid, GPU) == list(range(12))


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("before_ms", [20, 35, 49])
def test_a_writer_that_takes_the_cpu_first_keeps_its_instants_at_short_intervals(before_ms, first):
    """SageMaker's files have no sample of the CPU at the first instant, and memory behind GPUs."""
    samples = [(GPU, 1e5 + 100 * tick, tick) for tick in range(24)]
    samples += [(MEMORY, 1e5 + 100 * tick + 0.2, tick) for tick in range(24)]
    samples += [(CPU, 1e5 + 100 * tick - before_ms + tick % 2, tick) for tick in range(first, 24)]
    grid = lay_out(rows(*samples), ALL)

    assert column(grid, MEMORY) == column(grid, GPU) == list(range(24))
    assert column(grid, CPU)[first:] == list(range(first, 24))


def test_a_writer_that_takes_the_cpu_first_keeps_its_instants_across_blocks() -> None:
    builder = TableBuilder()
    for block in range(3):
        begin_ms = 60_000 * block
        stamps = [100 * tick for tick in range(600 * block, 600 * (block + 1))]
        samples = [(GPU, stamp, stamp / 100) for stamp in stamps]
        samples += [(CPU, stamp + 65, stamp / 100 + 1) for stamp in stamps if stamp < 179_900]
        next_start_us = None if block == 2 else (begin_ms + 60_000) * MS
        builder.add(rows(*samples), ALL, next_start_us=next_start_us)
    table = builder.table(ALL)
    names = [item.name for item in table.series]
    cpu, gpu = (np.array(table.columns[names.index(item.name)]) for item in (CPU, GPU))

    assert table.tick_ns.size == 1800
    assert (cpu[1:] == gpu[1:]).all()


def test_samples_that_scatter_around_their_anchors_belong_to_the_nearest() -> None:
    apart_ms = [48 * ((tick * 7) % 25 - 12) / 12 for tick in range(100)]
    samples = [(GPU, 1e5 + 100 * tick, tick) for tick in range(100)]
    samples += [(MEMORY, 1e5 + 100 * tick + 0.2, tick) for tick in range(100)]
    samples += [(CPU, 1e5 + 100 * tick + apart_ms[tick], tick) for tick in range(100)]
    grid = lay_out(rows(*samples), ALL)

    assert column(grid, CPU)[1:] == column(grid, GPU)[1:] == list(range(1, 100))


def test_samples_that_scatter_are_late_though_the_first_lies_before_all_anchors() -> None:
    late_ms = [60, *(70 * (tick % 5) / 4 for tick in range(1, 12))]
    samples = [(GPU, 1e5 + 100 * tick, tick) for tick in range(1, 12)]
    samples += [(CPU, 1e5 + 100 * tick + late, tick) for tick, late in enumerate(late_ms)]
    grid = lay_out(rows(*samples), ALL)

    assert column(grid, CPU)[1:] == column(grid, GPU)[1:] == list(range(1, 12))


def test_another_metric_of_the_gpu_that_is_sampled_apart_is_no_anchor() -> None:
    grid = lay_out(
        rows((GPU, 0, 1), (HEAT, 30, 61), (CPU, 45, 95), (GPU, 500, 2), (HEAT, 500.2, 60)),
        (*ALL, HEAT),
    )
    assert ticks_ms(grid) == [0, 500]
    assert column(grid, CPU) == [95, None]


def test_without_gpus_memory_is_the_anchor() -> None:
    grid = lay_out(rows((CPU, -0.2, 1), (MEMORY, 0, 2), (CPU, 500.2, 3), (MEMORY, 500, 4)), ALL)
    assert ticks_ms(grid) == [0, 500]
    assert column(grid, CPU) == [1, 3]


def test_without_gpus_and_memory_the_earliest_group_is_the_anchor() -> None:
    grid = lay_out(rows((NETWORK, 0.4, 1), (CPU, 0, 2), (NETWORK, 500.4, 3), (CPU, 500, 4)), ALL)
    assert ticks_ms(grid) == [0, 500]
    assert column(grid, NETWORK) == [1, 3]


def test_a_second_sample_within_a_tick_opens_a_tick_of_its_own() -> None:
    grid = lay_out(rows((GPU, 0, 1), (CPU, 1, 2), (CPU, 200, 3), (GPU, 500, 4)), ALL)
    assert ticks_ms(grid) == [0, 200, 500]
    assert column(grid, CPU) == [2, 3, None]


def test_two_gpu_samples_within_the_tolerance_are_two_ticks() -> None:
    grid = lay_out(rows((GPU, 0, 1), (GPU, 2, 2), (GPU, 500, 3), (CPU, 1, 9)), ALL)
    assert ticks_ms(grid) == [0, 2, 500]
    assert column(grid, GPU) == [1, 2, 3]


def test_samples_before_the_first_anchor_make_ticks_of_their_own() -> None:
    grid = lay_out(
        rows((CPU, 0, 1), (MEMORY, 0.1, 2), (CPU, 500, 3), (GPU, 1000, 4), (GPU, 1500, 5)), ALL
    )
    assert ticks_ms(grid) == [0.1, 500, 1000, 1500]
    assert column(grid, CPU) == [1, 3, None, None]


def test_where_the_gpu_was_not_sampled_the_others_keep_their_own_instants() -> None:
    gpu = [(GPU, 500.0 * tick, 1.0) for tick in (0, 1, 2, 9, 10)]
    others = [
        (item, 500.0 * tick + late, 2.0)
        for tick in range(11)
        for item, late in ((MEMORY, 0.1), (CPU, 0.3))
    ]
    grid = lay_out(rows(*gpu, *others), ALL)
    assert len(grid.tick_us) == 11
    assert column(grid, CPU) == [2.0] * 11
    assert column(grid, MEMORY) == [2.0] * 11
    assert column(grid, GPU) == [1.0] * 3 + [None] * 6 + [1.0] * 2


def test_equal_series_and_stamp_are_kept_once_and_counted() -> None:
    grid = lay_out(rows((GPU, 0, 7), (GPU, 0, 7), (GPU, 0, 5), (GPU, 500, 1)), ALL)
    assert column(grid, GPU) == [5, 1]
    assert grid.n_duplicates == 2


def test_no_samples_give_no_ticks() -> None:
    assert lay_out(rows(), ALL).values.shape == (0, 4)


def test_one_sample_is_one_tick() -> None:
    grid = lay_out(rows((CPU, 3, 9)), ALL)
    assert ticks_ms(grid) == [3]
    assert column(grid, CPU) == [9]


@pytest.mark.parametrize("interval_ms", [100, 500, 1000])
@given(data=st.data())
def test_groups_up_to_80_ms_late_keep_their_tick(interval_ms: int, data: st.DataObject) -> None:
    n_ticks = 12
    phase_ms = data.draw(st.integers(0, 999_999)) / 1000
    samples = []
    for tick in range(n_ticks):
        start_ms = phase_ms + tick * interval_ms
        samples.append((GPU, start_ms, 100 + tick))
        samples += [
            (item, start_ms + data.draw(st.floats(0, 80)), 100 + tick)
            for item in (CPU, MEMORY, NETWORK)
        ]
    grid = lay_out(rows(*samples), ALL)
    assert len(grid.tick_us) == n_ticks
    expected = [float(100 + tick) for tick in range(n_ticks)]
    assert all(column(grid, item) == expected for item in ALL)


@given(
    samples=st.lists(
        st.tuples(st.sampled_from(ALL), st.integers(0, 4000), st.integers(0, 9)), max_size=40
    ),
    seed=st.randoms(use_true_random=False),
)
def test_the_order_of_lines_does_not_matter_and_no_sample_is_lost(samples, seed) -> None:
    shuffled = list(samples)
    seed.shuffle(shuffled)
    one, other = lay_out(rows(*samples), ALL), lay_out(rows(*shuffled), ALL)
    assert one.tick_us.tolist() == other.tick_us.tolist()
    np.testing.assert_array_equal(one.values, other.values)
    distinct = {(item, time_ms) for item, time_ms, _ in samples}
    assert np.count_nonzero(~np.isnan(one.values)) == len(distinct)
    assert one.n_duplicates == len(samples) - len(distinct)
    assert (np.diff(one.tick_us) > 0).all()


@pytest.mark.parametrize(
    ("difference_ms", "interval_ms"),
    [(99, 100), (130, 100), (240, 200), (499.7, 500), (720, 1000), (61_000, 60_000), (9e6, 60_000)],
)
def test_intervals_snap_to_the_nearest_allowed_value(difference_ms, interval_ms) -> None:
    stamps = (np.arange(5) * difference_ms * MS).astype(np.int64)
    assert snapped_interval_us(stamps) == interval_ms * MS


def test_one_stamp_says_nothing_about_the_interval() -> None:
    assert snapped_interval_us(np.array([5])) is None


@given(
    samples=st.lists(
        st.tuples(st.sampled_from(ALL), st.integers(0, 4000), st.integers(0, 9)), max_size=40
    ),
    order=st.permutations(range(len(ALL))),
)
def test_how_series_are_numbered_does_not_matter(samples, order) -> None:
    numbered = rows(*samples)
    renumbered = Rows(
        time_us=numbered.time_us,
        code=np.array(order, dtype=np.int32)[numbered.code],
        value=numbered.value,
    )
    names = [ALL[order.index(code)] for code in range(len(ALL))]

    one, other = lay_out(numbered, ALL), lay_out(renumbered, names)

    assert one.tick_us.tolist() == other.tick_us.tolist()
    np.testing.assert_array_equal(one.values, other.values[:, order])
