"""The job in time."""

from __future__ import annotations

from reportgen.report import Extent, JobSummary, join_extents, summarize

S = 1_000_000_000
START = 1_783_071_000 * S


def test_the_three_phases_add_up_to_the_job() -> None:
    extent = Extent(
        first_ns=START,
        last_ns=START + 100 * S,
        first_step_ns=START + 9 * S,
        last_step_ns=START + 99 * S,
    )
    summary = summarize(extent)

    assert summary.start_time == "2026-07-03T09:30:00.000000Z"
    assert summary.job_duration_in_seconds == 100.0
    assert summary.initialization_in_seconds == 9.0
    assert summary.training_loop_duration_in_seconds == 90.0
    assert summary.finalization_in_seconds == 1.0
    assert (summary.initialization_pct, summary.training_loop_pct, summary.finalization_pct) == (
        9.0,
        90.0,
        1.0,
    )


def test_without_steps_the_loop_is_unknown_and_not_zero() -> None:
    summary = summarize(Extent(first_ns=START, last_ns=START + S))

    assert summary.job_duration_in_seconds == 1.0
    assert summary.training_loop_start is None
    assert summary.initialization_in_seconds is None
    assert summary.finalization_pct is None


def test_an_empty_job_has_an_empty_summary() -> None:
    assert summarize(join_extents([])) == JobSummary()


def test_extents_of_nodes_are_joined() -> None:
    joined = join_extents(
        [
            Extent(first_ns=5, last_ns=9),
            Extent(first_ns=3, last_ns=7, first_step_ns=4, last_step_ns=6),
        ]
    )

    assert joined == Extent(first_ns=3, last_ns=9, first_step_ns=4, last_step_ns=6)


def test_events_decide_only_where_there_are_no_samples() -> None:
    events = Extent(first_event_ns=START - 50 * S, last_event_ns=START)
    samples = Extent(first_ns=START, last_ns=START + S)

    assert summarize(events).job_duration_in_seconds == 50.0
    assert summarize(join_extents([events, samples])).job_duration_in_seconds == 1.0
