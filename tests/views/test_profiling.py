"""Configured profiling, in words, and why a section has no data."""

from __future__ import annotations

import pytest

from reportgen import views
from reportgen.profiler_config import ProfiledWindow, Profiling, ProfilingKind
from reportgen.results import ReasonCode
from reportgen.views.recording import format_window, profiling_table
from reportgen.views.status import hint_of, is_applicable
from tests.views import reports

LOADER = ProfiledWindow(kind=ProfilingKind.LOADER, start_step=7, n_steps=10, metrics=".*")


def cells(profiling: Profiling) -> dict[object, tuple[object, object]]:
    what, asked_for, details = (column.values for column in profiling_table(profiling).columns)
    return {name: (text, more) for name, text, more in zip(what, asked_for, details, strict=True)}


def hint(rule_id: str, code: ReasonCode, profiling: Profiling | None) -> str:
    skipped = reports.skipped(rule_id, code, "Because.")
    return hint_of(rule_id, reports.report_of((skipped,), profiling=profiling))


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ({"start_step": 5, "n_steps": 3}, "3 steps from step 5"),
        ({"start_step": 1000, "n_steps": 1}, "1 step from step 1,000"),
        ({"start_step": 5}, "steps from step 5"),
        ({"n_steps": 2}, "2 steps of any number"),
        ({"duration_s": 60.0}, "1 min 00 s from the start of the job"),
        ({"start_s": 1596659864.0}, "from 2020-08-05 20:37:44 UTC"),
        ({"start_s": 1e14}, "from 1e+14 s since 1970"),
        ({}, "the profiler's default window"),
    ],
)
def test_a_window_is_told_in_steps_or_in_time(window: dict[str, float], said: str) -> None:
    assert format_window(ProfiledWindow(kind=ProfilingKind.DETAILED, **window)) == said  # type: ignore[arg-type]  # ints and floats by name


def test_every_kind_has_a_row_whether_it_was_asked_for_or_not() -> None:
    profiling = Profiling(
        interval_ms=500, windows=(LOADER,), unreadable=(ProfilingKind.PYTHON,), rules=("Mine", "B")
    )
    row_of = cells(profiling)
    assert row_of["system metrics"] == ("every 500 ms", "")
    assert row_of["data loader"] == ("10 steps from step 7", "metrics .*")
    assert row_of["Python profiling"] == ("configured, but that cannot be read", "")
    assert row_of["Horovod"] == ("not configured", "")
    assert row_of["checks by SageMaker"] == ("Mine, B", "")
    assert "checks by SageMaker" not in cells(Profiling())


def test_profiling_that_was_switched_off_is_told_so() -> None:
    table = profiling_table(Profiling(is_disabled=True, interval_ms=500, windows=(LOADER,)))
    assert table.caption.startswith("Profiling was switched off.")
    assert {text for text, _ in cells(Profiling(is_disabled=True)).values()} == {"not configured"}


@pytest.mark.parametrize(
    ("rule_id", "code", "profiling", "said"),
    [
        ("PythonFunctions", ReasonCode.NO_EVENTS, Profiling(windows=(LOADER,)),
         "Not configured: the profiler was not asked for it (Python profiling). To record"),
        ("Dataloader", ReasonCode.NO_EVENTS, Profiling(windows=(LOADER,)),
         "It was configured (10 steps from step 7), but nothing of it was found."),
        ("StepOutlier", ReasonCode.NO_STEPS, Profiling(),
         "Not configured: the profiler was asked for no framework profiling. To record"),
        ("StepOutlier", ReasonCode.NO_STEPS, Profiling(windows=(LOADER,)), "To record"),
        ("StepOutlier", ReasonCode.NO_STEPS, Profiling(is_disabled=True),
         "Not configured: profiling was switched off."),
        ("StepOutlier", ReasonCode.NO_STEPS, None, "To record"),
        ("BatchSize", ReasonCode.NO_GPU, Profiling(), "If there should be one, check"),
    ],
)  # fmt: skip
def test_a_check_that_lacks_data_says_whether_they_were_configured(rule_id, code, profiling, said):
    assert hint(rule_id, code, profiling).startswith(said)


def test_the_table_stands_in_the_job_summary_where_a_configuration_was_found() -> None:
    with_table = reports.report_of((), profiling=Profiling(windows=(LOADER,)))
    html = "".join(block.html for block in views.job_summary(with_table).blocks)
    assert "Configured profiling" in html
    assert "10 steps from step 7" in html
    without = views.job_summary(reports.report_of(()))
    assert "Configured profiling" not in "".join(block.html for block in without.blocks)


@pytest.mark.parametrize(
    ("profiling", "applies"),
    [
        (None, False),
        (Profiling(windows=(LOADER,)), False),
        (Profiling(windows=(ProfiledWindow(kind=ProfilingKind.PYTHON),)), True),
        (Profiling(unreadable=(ProfilingKind.PYTHON,)), True),
    ],
)
def test_what_was_asked_for_and_is_missing_could_not_look(profiling, applies):
    absent = reports.skipped("PythonFunctions", ReasonCode.NO_EVENTS, "There is none.")
    report = reports.report_of((absent,), profiling=profiling)
    assert is_applicable("PythonFunctions", report) is applies
