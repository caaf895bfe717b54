"""What those who load do while training waits: shares, and who is outside the job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reportgen.facts.loading_work import LoadingWork, loading_work_of
from reportgen.profile import NodeProfile
from reportgen.recorded_job import RecordedNode, RecordedWork
from tests.builders import START_S, known, node_profile, span_table, system_table


def part(*work: RecordedWork) -> NodeProfile:
    """Return a node whose loop waits for a second; of two cores the job keeps 0.4 busy."""
    waits = span_table([("DataLoaderIter", "wait", START_S + 1, START_S + 2)])
    system = system_table(
        {"cpu0": [100.0] * 6, "cpu1": [0.0, 0.0, 60.0, 60.0, 60.0, 0.0], "job_cores": [0.4] * 6}
    )
    recorded = RecordedNode(node="algo-1", work=work)
    return replace(node_profile(system=system, spans=waits), recorded=recorded)


def work(computing_s: float, queued_s: float = 0.0, **more: bool | int) -> RecordedWork:
    return RecordedWork(
        **{"has_processes": False, "n": 20, **more},  # type: ignore[arg-type]  # of each field's type
        wall_ns=10 * 10**9,
        cpu_ns=round(computing_s * 10**9),
        queued_ns=round(queued_s * 10**9),
    )


def test_the_shares_are_of_the_time_that_was_measured() -> None:
    found = known(loading_work_of(part(work(2, 3), work(4))))

    assert (found.computing_ratio, found.queued_ratio) == (0.3, 0.15)
    assert found.resting_ratio == pytest.approx(0.55)
    assert (found.batch_ns, found.wall_ns) == (150_000_000, 20 * 10**9)


@pytest.mark.parametrize(
    ("computing_s", "queued_s", "rests", "is_queued"),
    [(5.0, 0.0, True, False), (5.1, 0.0, False, False), (3.5, 3.0, True, False),
     (3.6, 3.0, False, False), (3.0, 4.1, False, True), (0.0, 5.0, True, False)],
)  # fmt: skip
def test_who_does_not_compute_for_half_of_the_time_with_a_free_core_rests(
    computing_s: float, queued_s: float, rests: bool, is_queued: bool
) -> None:
    found = loading_work_of(part(work(computing_s, queued_s)))

    assert isinstance(found, LoadingWork)
    assert (found.rests, found.is_queued) == (rests, is_queued)


def test_the_loaders_that_were_waited_for_longer_count() -> None:
    found = known(
        loading_work_of(part(work(1), work(9, has_processes=True), work(9, has_processes=True)))
    )

    assert (found.has_processes, found.computing_ratio) == (True, 0.9)


def test_fewer_than_twenty_waits_and_other_recorders_say_nothing() -> None:
    assert loading_work_of(part(work(1, n=19))) is None
    assert loading_work_of(part()) is None
    assert loading_work_of(node_profile()) is None


@pytest.mark.parametrize(("queued_s", "is_crowded_out"), [(9.0, True), (4.0, False)])
def test_cores_that_the_job_does_not_keep_busy_are_others(queued_s, is_crowded_out) -> None:
    found = known(loading_work_of(part(work(1, queued_s))))

    assert (round(found.own_cores or 0, 6), round(found.other_cores or 0, 6)) == (0.4, 1.2)
    assert found.is_crowded_out is is_crowded_out
