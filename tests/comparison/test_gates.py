"""Gates: conditions that fail a build."""

from __future__ import annotations

import numpy as np
import pytest

from reportgen.comparison import Comparison, compare
from reportgen.comparison.gates import met, parse_gate, unjudged
from reportgen.errors import ConfigError
from reportgen.results import Finding, Severity, Status
from tests.comparison.builders import finding, report_of, steps_table
from tests.comparison.test_noise import lasting, run


def pair(factor: float, *findings: Finding) -> Comparison:
    times = 100 * np.random.default_rng(1).lognormal(0, 0.02, 400)
    other = factor * 100 * np.random.default_rng(2).lognormal(0, 0.02, 400)
    return compare(
        report_of(steps_table(times), metrics={"step_p50_s": 2.0, "busy_ratio": 0.5}),
        report_of(
            steps_table(other),
            metrics={"step_p50_s": 3.0, "busy_ratio": 0.4},
            findings={"StepOutlier": findings},
        ),
    )


@pytest.mark.parametrize(
    ("text", "is_met"),
    [
        ("step_p50 > +3%", True),
        ("step_p50>+20%", False),
        ("step_mean > +3%", True),
        ("step_p50 > 0.105", True),
        ("step_p50 > +0.005", True),
        ("step_p50 < -3%", False),
        ("StepOutlier.step_p50_s > +49%", True),
        ("StepOutlier.step_p50_s > 3", False),
        ("busy_ratio < -0.05", True),
        ("busy_ratio < 0.3", False),
    ],
)
def test_a_planted_slowdown_of_ten_percent_meets_what_it_should(text: str, is_met: bool) -> None:
    assert bool(met(pair(1.1), [parse_gate(text)])) is is_met


def test_a_difference_within_noise_never_fails() -> None:
    gates = [parse_gate(text) for text in ("step_p50 > -5%", "step_mean > -0.01")]

    assert met(pair(1.0), gates) == ()


def test_a_limit_holds_whether_the_time_changed_or_not() -> None:
    gates = [parse_gate(text) for text in ("step_p50 > 0.09", "step_p50 > 0.11")]

    assert [text.partition(":")[0] for text in met(pair(1.0), gates)] == ["step_p50 > 0.09"]


def test_a_mean_that_a_part_of_the_steps_makes_sure_meets_its_gate() -> None:
    rng = np.random.default_rng(3)
    inside = [lasting(rng, 1000, memory=0.97, spread=0.05) / 1e6 for _ in range(2)]
    before, after = (
        run(inside_ms, wait_ms) for inside_ms, wait_ms in zip(inside, (5.0, 8.0), strict=True)
    )

    comparison = compare(before, after)

    assert "The whole step varies too much to show it" in comparison.lead
    assert met(comparison, [parse_gate("step_mean > +1%")])
    assert met(comparison, [parse_gate("step_p50 > +1%")]) == ()


def test_new_findings_count_from_their_severity_on() -> None:
    slow = finding("STEP-1", severity=Severity.WARNING)

    found = [
        bool(met(pair(1.0, slow), [parse_gate(text)]))
        for text in ("finding:new", "finding:new:warning", "finding:new:critical", "finding:worse")
    ]

    assert found == [True, True, False, False]


def unchecked(*, before: tuple[Finding, ...] = (), after: tuple[Finding, ...] = ()) -> Comparison:
    """Two jobs; the one without findings had too little data for their check."""
    times = np.full(50, 100.0)
    sides = [
        report_of(
            steps_table(times),
            findings={"Dataloader": found},
            statuses={} if found else {"Dataloader": Status.SKIPPED},
        )
        for found in (before, after)
    ]
    return compare(*sides)


def test_a_finding_that_the_baseline_did_not_check_is_named_and_can_fail() -> None:
    comparison = unchecked(after=(finding("DL-1", severity=Severity.CRITICAL),))
    new, strict, higher = map(
        parse_gate, ("finding:new:critical", "finding:not_checked:critical", "finding:not_checked")
    )

    assert met(comparison, [new]) == ()
    assert unjudged(comparison, [new, strict]) == (
        f"{new.text}: “before” did not check DL-1; to fail then, add “{strict.text}”",
    )
    assert met(comparison, [strict, higher]) == (
        "finding:not_checked:critical: DL-1",
        "finding:not_checked: DL-1",
    )


def test_whether_a_finding_got_worse_is_unknown_where_one_job_did_not_check_it() -> None:
    found = (finding("DL-1", severity=Severity.WARNING),)
    worse, critical = map(parse_gate, ("finding:worse", "finding:worse:critical"))

    for comparison, said in (
        (unchecked(before=found), "“after” did not check DL-1"),
        (
            unchecked(after=found),
            "“before” did not check DL-1; to fail then, add “finding:not_checked”",
        ),
    ):
        assert met(comparison, [worse, critical]) == ()
        assert unjudged(comparison, [worse, critical]) == (f"finding:worse: {said}",)


def test_a_metric_that_one_job_lacks_is_named() -> None:
    times = np.full(50, 100.0)
    comparison = compare(
        report_of(steps_table(times)), report_of(steps_table(times), metrics={"busy_ratio": 0.4})
    )
    change, limit = map(parse_gate, ("busy_ratio < -5%", "busy_ratio > 0.9"))

    assert met(comparison, [change, limit]) == ()
    assert unjudged(comparison, [change, limit]) == ("busy_ratio < -5%: no busy_ratio in “before”",)


@pytest.mark.parametrize(
    "text", ["", "step_p50", "step_p50 >= 3", "finding:new:bad", "x > y", "> 3"]
)
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not a condition"):
        parse_gate(text)


@pytest.mark.parametrize(
    ("text", "change", "limit"),
    [
        ("step_p50 > 3%", "step_p50 > +3%", "step_p50 > 3"),
        ("StepTime.step_p95_us>3 %", "StepTime.step_p95_us > +3%", "StepTime.step_p95_us > 3"),
        ("busy_ratio < 50%", "busy_ratio < -50%", "busy_ratio < 0.5"),
    ],
)
def test_a_percent_without_a_sign_is_refused_with_both_forms(text, change, limit) -> None:
    with pytest.raises(ConfigError, match="a change or a limit") as caught:
        parse_gate(text)

    assert f'"{change}" for a change' in caught.value.hint
    assert f'"{limit}" for a limit' in caught.value.hint


def test_a_metric_in_percent_may_have_a_limit_in_percent() -> None:
    gate = parse_gate("GPUUsage.busy_pct < 50%")

    assert (gate.value, gate.is_change, gate.is_difference) == (50, False, False)


def test_a_metric_that_no_report_has_is_named() -> None:
    with pytest.raises(ConfigError, match="step_p05"):
        met(pair(1.0), [parse_gate("step_p05 > +3%")])
