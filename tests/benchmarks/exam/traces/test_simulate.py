from __future__ import annotations

import pytest

from benchmarks.exam.traces.faults import Fault, Kind
from benchmarks.exam.traces.plan import Family, Job
from benchmarks.exam.traces.simulate import length_us, share_of, simulate, truths_of, without
from tests.benchmarks.exam.traces.jobs import job, plan


def test_a_long_stop_costs_its_length_less_the_work_in_store() -> None:
    stopped = job(Kind.LONG_GAP, 50_000.0, steps=(2, 2))
    lost_us = length_us(stopped) - length_us(without(stopped, stopped.faults[0]))
    in_store_us = 4 * 2.4 * 200.0  # four layers come before the stop
    assert 50_000.0 - in_store_us <= lost_us < 50_000.0


def test_a_slow_rank_costs_every_rank_its_excess() -> None:
    two = plan(n_ranks=2, transfer_ratio=0.01)
    slow = job(Kind.SLOW_RANK, 0.5, of=two, rank=1)
    assert share_of(slow, slow.faults[0]) == pytest.approx(1 / 3, abs=0.02)


def test_a_mended_job_takes_as_long_as_one_that_never_had_the_fault() -> None:
    for kind, size in ((Kind.SLOW_HOST, 60.0), (Kind.SYNCHRONIZATION, 30.0), (Kind.LOADER, 2e4)):
        planted = job(kind, size)
        assert length_us(without(planted, planted.faults[0])) == length_us(Job(plan=plan()))


def test_tiny_kernels_behind_a_queue_cost_no_more_than_they_run() -> None:
    hidden = plan(n_hidden=8, unit_us=400.0)
    ran_us = 4 * 6 * 8 * (2.2 + 0.9)
    lost_us = length_us(Job(plan=hidden)) - length_us(Job(plan=plan(unit_us=400.0)))
    first_layers_us = 4 * 8 * (8.0 + 4.5)  # there the host is not yet ahead
    assert ran_us <= lost_us <= ran_us + first_layers_us


def test_a_collective_ends_at_once_on_all_ranks() -> None:
    ends: list[list[float]] = [[], []]

    def recorder(rank: int):
        def record(category, name, start_us, lasts_us, place, args):
            if "Collective name" in args:
                ends[rank].append(round(start_us + lasts_us, 6))

        return record

    simulate(job(Kind.SLOW_RANK, 0.5, of=plan(n_ranks=2), rank=1), [recorder(0), recorder(1)])
    assert ends[0] == ends[1]
    assert len(ends[0]) == 4 * 6


def test_a_full_queue_blocks_the_host() -> None:
    clock = simulate(Job(plan=plan(unit_us=4_000.0, n_layers=40, ends_with_item=False)))[0]
    launched_us = clock.now_us
    assert clock.last_us - launched_us < 1_001 * 4_000.0


def test_each_of_two_faults_is_told_by_itself() -> None:
    both = Job(
        plan=plan(),
        faults=(
            Fault(kind=Kind.LONG_GAP, size=20_000.0, steps=(1, 1)),
            Fault(kind=Kind.LOADER, size=20_000.0, variant=1),
        ),
    )
    gap, loader = truths_of(both)
    assert gap.share + loader.share < 1
    assert loader.share == pytest.approx(4 * 20_000.0 / length_us(both), abs=0.02)
    assert gap.reach_us is not None
    assert gap.reach_us[1] - gap.reach_us[0] == pytest.approx(20_000.0)
    assert loader.reach_us is None


@pytest.mark.parametrize("family", list(Family))
def test_every_family_runs_without_faults(family: Family) -> None:
    assert length_us(Job(plan=plan(family=family))) > 1_000.0
