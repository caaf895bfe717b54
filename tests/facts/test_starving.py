"""Minutes in which GPUs idle in gaps shorter than a tick, and what sets the pace meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from reportgen.facts.starving import (
    busy_cores_ratio,
    starved_by_cores,
    starved_by_disk,
    starved_by_network,
    worst_of,
)
from reportgen.profile import NodeProfile
from tests.builders import START_S, node_profile, ns
from tests.rules.framework_jobs import TRAIN

TICKS = 240
LIMIT = 100e6


def node(
    gpu: Sequence[float],
    *,
    waiting: float = 0.0,
    cpu: float = 20.0,
    receive: Sequence[float] = (),
    name: str = "algo-1",
) -> NodeProfile:
    """A tick a second of one GPU and four cores, which all wait for the disk equally long."""
    n = len(gpu)
    columns = {"gpu0": list(gpu)}
    columns |= {f"cpu{core}": [cpu + waiting] * n for core in range(4)}
    columns |= {f"cpu{core}_iowait": [waiting] * n for core in range(4)}
    if len(receive):
        columns["receive"] = list(receive)
    return node_profile(columns, interval_s=1.0, node=name)


def test_idling_in_each_tick_adds_up_while_cores_wait_for_the_disk() -> None:
    # Two minutes at work, two with 70 of 95 % and 1.2 of 4 cores that wait; one tick more.
    (found,) = starved_by_disk(node([95.0] * 120 + [70.0] * 121, waiting=30))

    assert (found.n_ticks, found.n_minutes, found.n_cores) == (241, 3, 4)
    assert (found.first_ns, found.last_ns) == (ns(START_S + 120), ns(START_S + 240))
    assert found.ratio == pytest.approx(121 * 25 / 95 / 241)
    assert (found.waiting_cores, found.busy_cores) == pytest.approx((1.2, 0.8))


@pytest.mark.parametrize(
    ("waiting", "cpu", "is_found"),
    [(12.4, 5, False), (12.6, 5, True), (19.9, 30, False), (20.1, 30, True)],
)
def test_half_a_core_and_two_fifths_of_the_work_must_wait(waiting, cpu, is_found) -> None:
    part = node([60.0] * 120 + [95.0] * 121, waiting=waiting, cpu=cpu)

    assert bool(starved_by_disk(part)) == is_found


@pytest.mark.parametrize(("every", "is_found"), [(1, False), (2, True)])
def test_one_long_stretch_without_work_is_a_pause(every: int, is_found: bool) -> None:
    gpu = [
        0.0 if 60 <= tick < 60 + 40 * every and tick % every == 0 else 95.0 for tick in range(240)
    ]

    assert bool(starved_by_disk(node(gpu, waiting=50))) == is_found


@pytest.mark.parametrize(("gpu_pct", "is_found"), [(92.1, False), (91.9, True)])
def test_a_minute_at_work_is_not_starved(gpu_pct: float, is_found: bool) -> None:
    assert bool(starved_by_disk(node([100.0] * 120 + [gpu_pct] * 121, waiting=50))) == is_found


@pytest.mark.parametrize(("interval_s", "expected"), [(0.1, 0.25), (2.0, 0.5)])
def test_gpus_that_idle_by_turns_within_a_second_do_not_idle_together(interval_s, expected) -> None:
    # Each of two GPUs idles in half of every second sample, but for one more sample at the end.
    columns = {"gpu0": [50.0, 100.0] * 600 + [100.0], "gpu1": [100.0, 50.0] * 600 + [100.0]}
    columns |= {f"cpu{core}_iowait": [50.0] * 1201 for core in range(4)}
    columns |= {f"cpu{core}": [70.0] * 1201 for core in range(4)}
    (found,) = starved_by_disk(node_profile(columns, interval_s=interval_s, node="algo-1"))
    assert found.ratio == pytest.approx(expected, abs=0.01)


def test_a_gpu_that_waits_for_another_one_looks_busy_and_hides_nothing() -> None:
    # In turns each of two GPUs idles a fifth, while the other one spins; a third one ends early.
    columns = {"gpu0": [80.0, 100.0] * 120, "gpu1": [100.0, 80.0] * 120}
    columns["gpu2"] = [100.0] * 120 + [0.0] * 120
    columns |= {f"cpu{core}_iowait": [50.0] * TICKS for core in range(4)}
    columns |= {f"cpu{core}": [70.0] * TICKS for core in range(4)}
    (found,) = starved_by_disk(node_profile(columns, interval_s=1.0, node="algo-1"))
    assert found.ratio == pytest.approx(0.2)


@pytest.mark.parametrize(("gpu_pct", "lost"), [(79.0, 0.21), (81.0, None)])
def test_where_no_tick_reaches_the_usual_use_all_that_is_missing_may_be_waiting(gpu_pct, lost):
    found = starved_by_disk(node([gpu_pct] * TICKS, waiting=50))

    assert (found[0].ratio if found else None) == (pytest.approx(lost) if lost else None)


def test_too_few_ticks_no_gpu_and_recorded_waits_say_nothing() -> None:
    waits = [("DataLoaderIter", "It::GetNext", START_S, START_S + 1)]
    usual = node([60.0] * TICKS, waiting=50)
    steps = [(TRAIN, TRAIN, START_S, START_S + 200)]
    recorded = node_profile(system=usual.system, rows=waits + steps, node="algo-1")
    unused = node([0.0] * TICKS, waiting=50)

    assert starved_by_disk(node([60.0] * 40, waiting=50)) == ()
    assert len(starved_by_disk(node([60.0] * 41, waiting=50))) == 1
    assert starved_by_disk(unused) == ()
    assert starved_by_disk(recorded) == ()
    assert len(starved_by_disk(usual)) == 1


@pytest.mark.parametrize(("lasts_s", "is_found"), [(115, True), (125, False)])
def test_waits_of_a_window_do_not_say_what_holds_gpus_up(lasts_s: int, is_found: bool) -> None:
    usual = node([60.0] * TICKS, waiting=50)
    waits = [("DataLoaderIter", "It::GetNext", START_S, START_S + 1)]
    rows = [*waits, (TRAIN, TRAIN, START_S, START_S + lasts_s)]
    part = node_profile(system=usual.system, rows=rows, node="algo-1")
    assert bool(starved_by_disk(part)) is is_found


GPU = [95.0, 55.0] * 120


@pytest.mark.parametrize(("rate", "is_found"), [(84e6, False), (86e6, True)])
def test_a_network_is_at_its_limit_where_the_rate_is_steady(rate: float, is_found: bool) -> None:
    # One tick of each minute, 1.7 % of all, sets the 99th percentile.
    found = starved_by_network(node(GPU, receive=([rate] * 59 + [LIMIT]) * 4))
    assert bool(found) == is_found
    if found:
        assert found[0].bytes_per_s == pytest.approx((236 * rate + 4 * LIMIT) / 240)


@pytest.mark.parametrize(("other_pct", "is_found"), [(54.5, False), (64.5, True)])
def test_gpus_of_a_steady_use_do_not_wait_for_a_steady_rate(other_pct, is_found) -> None:
    part = node([50.0, other_pct - 0.5] * 120, receive=[LIMIT] * TICKS)
    assert bool(starved_by_network(part)) == is_found


@pytest.mark.parametrize(("cpu", "is_found"), [(49.0, True), (51.0, False)])
def test_cores_at_work_may_set_the_pace_instead(cpu: float, is_found: bool) -> None:
    assert bool(starved_by_network(node(GPU, cpu=cpu, receive=[LIMIT] * TICKS))) == is_found


def test_a_rate_that_falls_when_gpus_idle_is_the_exchange_of_gradients() -> None:
    falls = node(GPU, receive=[LIMIT, 0.8 * LIMIT] * 120)
    goes_on = node(GPU, receive=[LIMIT, 0.8 * LIMIT, 0.8 * LIMIT, LIMIT] * 60)

    assert starved_by_network(falls) == ()
    assert len(starved_by_network(goes_on)) == 1


def test_a_pause_in_which_all_is_read_ahead_is_not_lost_to_the_network() -> None:
    # Ten seconds of each minute nothing runs. Of the others every second one idles 40 of 95 %.
    part = node((GPU[:50] + [0.0] * 10) * 4, receive=([LIMIT] * 50 + [0.0] * 10) * 4)
    (found,) = starved_by_network(part)

    assert found.ratio == pytest.approx(100 * 40 / 95 / 230)


@pytest.mark.parametrize(("n_rests", "is_found"), [(8, True), (10, False)])
def test_a_network_that_often_rests_is_not_what_gpus_wait_for(n_rests: int, is_found: bool) -> None:
    part = node(GPU, receive=([LIMIT] * (60 - n_rests) + [0.0] * n_rests) * 4)
    assert bool(starved_by_network(part)) == is_found


def test_a_slow_rate_is_no_limit_and_without_a_rate_nothing_is_known() -> None:
    assert starved_by_network(node(GPU, receive=[9e6] * TICKS)) == ()
    assert starved_by_network(node(GPU)) == ()


@pytest.mark.parametrize(("idle_pct", "is_notable"), [(19, False), (21, True)])
def test_of_several_nodes_the_one_counts_that_loses_a_notable_share(idle_pct, is_notable) -> None:
    # A quarter of the time: 4.75 or 5.25 %.
    part = node([100.0] * 180 + [100.0 - idle_pct] * 60, waiting=50, name="algo-2")
    less = node([100.0] * 180 + [91.0] * 60, waiting=50)
    worst = worst_of([*starved_by_disk(less), *starved_by_disk(part)])

    assert (worst.node if worst else None) == ("algo-2" if is_notable else None)


@pytest.mark.parametrize(
    ("idle_ticks", "waits_while_idle"), [(10, True), (20, True), (40, True), (20, False)]
)
def test_one_reader_that_waits_while_the_gpu_idles_is_a_reader(idle_ticks, waits_while_idle):
    """One of four cores waits when the GPU idles: less than half a core of a minute's mean."""
    is_idle = [tick % 60 < idle_ticks for tick in range(TICKS)]
    columns = {"gpu0": [5.0 if idle else 95.0 for idle in is_idle]}
    columns |= {f"cpu{core}": [5.0] * TICKS for core in range(1, 4)}
    waits = [90.0 if idle is waits_while_idle else 0.0 for idle in is_idle]
    part = node_profile({**columns, "cpu0": waits, "cpu0_iowait": waits}, interval_s=1.0)

    assert len(starved_by_disk(part)) == waits_while_idle


@pytest.mark.parametrize(("cpu", "is_found"), [(84.9, False), (85.1, True)])
def test_idling_in_each_tick_adds_up_while_the_cores_are_used_up(cpu, is_found) -> None:
    part = node([95.0] * 120 + [70.0] * 121, cpu=cpu)

    found = starved_by_cores(part)

    assert bool(found) is is_found
    assert all(item.ratio == pytest.approx(121 * 25 / 95 / 241) for item in found)
    assert busy_cores_ratio(part) == pytest.approx(cpu / 100)


def test_how_busy_cores_are_while_gpus_idle_is_unknown_where_they_never_idle() -> None:
    assert busy_cores_ratio(node([95.0] * TICKS)) is None
