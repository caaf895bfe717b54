from __future__ import annotations

from benchmarks.exam.traces.drawing import draw_jobs
from benchmarks.exam.traces.faults import ACCEPTED, Kind
from benchmarks.exam.traces.kineto_file import write_job
from benchmarks.exam.traces.plan import Family
from benchmarks.exam.traces.simulate import share_of


def test_equal_seeds_give_equal_jobs_and_files(tmp_path) -> None:
    for run in ("first", "second"):
        for job in draw_jobs(5, 2):
            write_job(job, tmp_path / run / job.plan.name)
    first = sorted((tmp_path / "first").rglob("*.json"))
    assert first
    for path in first:
        other = tmp_path / "second" / path.relative_to(tmp_path / "first")
        assert path.read_bytes() == other.read_bytes()


def test_other_seeds_give_other_jobs() -> None:
    assert draw_jobs(5, 1) != draw_jobs(6, 1)


def test_two_of_five_traces_are_healthy_and_some_have_two_faults() -> None:
    jobs = draw_jobs(5, 15)
    assert sum(not job.faults for job in jobs) / len(jobs) >= 0.35
    assert any(len(job.faults) == 2 for job in jobs)
    assert {job.plan.family for job in jobs} == set(Family)


def test_planted_faults_have_the_size_that_was_aimed_at() -> None:
    for job in draw_jobs(5, 10, (Kind.LONG_GAP,)):
        for fault in job.faults:
            assert 0.02 < share_of(job, fault) < 0.45


def test_every_kind_has_a_cause_that_is_right() -> None:
    assert set(ACCEPTED) == set(Kind)
    assert all(ACCEPTED.values())
