"""What the sections say: found, found nothing, could not look, broke: each told apart."""

from dataclasses import replace

import pytest

from reportgen import views
from reportgen.recorded_job import Recording
from reportgen.report import JobSummary
from reportgen.results import (
    Cause,
    Exhibit,
    ExhibitKind,
    Finding,
    Reason,
    ReasonCode,
    Severity,
    Status,
    Where,
    exhibit,
)
from reportgen.views.cell_output import METADATA_KEY, PageSection, outputs
from reportgen.views.facts import summary_rows
from reportgen.views.findings import card_of
from reportgen.views.sections.closing import quality_rows
from reportgen.views.sections.rule import format_counters
from reportgen.views.sections.rules_summary import rule_rows
from reportgen.views.status import hint_of, rule_state
from reportgen.views.values import ABSENT
from reportgen.views.verdict import verdict_of
from tests.views import reports, traces

TOLD_APART = {"operators", "step-periodicity"}
UNLOOKED = {"data-loading", "io-bottlenecks"}
"""Sections of the checks that did not look in the busy report."""
SECTIONS = [
    name
    for name in views.section_ids(reports.busy_report())
    if name not in TOLD_APART | UNLOOKED | set(traces.SECTIONS) - {"not-recorded"}
]


def _html(section: PageSection) -> str:
    return "".join(block.html for block in section.blocks)


@pytest.fixture(scope="module")
def busy():
    return reports.busy_report()


def test_the_verdict_is_the_top_finding_in_a_sentence(busy):
    verdict = verdict_of(busy)
    assert verdict.kind == "critical"
    assert verdict.headline == "The GPUs wait for the CPU in a third of the time."
    assert verdict.lead == (
        "The most important of 5 findings (1 critical, 2 warnings, 2 info). "
        "Removing the cause could make training at most 1.49× faster. "
        "1 check failed. Not checked: 1 not recorded, 1 with too few data."
    )


def test_the_verdict_counts_the_effects_of_its_finding(busy):
    first, second, *others = busy.findings
    effect = replace(second.finding, symptom_of=(first.finding.id,))
    report = replace(busy, findings=(first, replace(second, finding=effect), *others))
    assert "2 warnings, 2 info); 1 is probably an effect of it. " in verdict_of(report).lead


def test_a_job_without_faults_says_who_looked():
    verdict = verdict_of(reports.healthy_report())
    assert (verdict.kind, verdict.headline) == ("ok", "No problem found.")
    assert verdict.lead == "3 checks found nothing wrong."


def test_a_job_nobody_could_judge_is_not_called_healthy():
    verdict = verdict_of(reports.short_report())
    assert (verdict.kind, verdict.headline) == ("skipped", "Nothing could be judged.")


def test_few_eyes_do_not_make_a_clean_bill_of_health():
    results = (
        reports.result("LowGPUUtilization", Status.OK),
        reports.skipped("StepOutlier", ReasonCode.NO_STEPS, "No steps."),
        reports.skipped("Dataloader", ReasonCode.NO_EVENTS, "No events."),
    )
    verdict = verdict_of(reports.report_of(results))
    assert verdict.kind == "skipped"
    assert verdict.lead == "1 check found nothing wrong. Not checked: 2 not recorded."


def test_the_state_of_a_rule_is_its_worst_finding_else_its_status(busy):
    kinds = {rule_id: rule_state(rule_id, busy).kind for rule_id in busy.rules}
    assert kinds["CPUBottleneck"] == "critical"
    assert kinds["StepOutlier"] == "warning"
    assert kinds["OverallSystemUsage"] == "ok"
    assert kinds["Dataloader"] == "skipped"
    assert kinds["GPUMemoryIncrease"] == "failed"


def test_a_reading_that_names_a_loss_has_no_tick():
    kinds = []
    for cause in (Cause.OBSERVATION, Cause.GPU_SWINGS):
        found = reports.finding("SYS-6", Severity.INFO, "GPUs work at times.", cause=cause)
        result = reports.result("OverallSystemUsage", Status.OK, findings=(found,))
        kinds.append(rule_state("OverallSystemUsage", reports.report_of((result,))).kind)
    assert kinds == ["ok", "info"]


def test_a_quiet_section_is_folded_unless_a_card_leads_to_it(busy):
    folded = {name: views.section(busy, name) for name in ("batch-size", "initialization")}
    assert all(section.is_folded for section in folded.values())
    for name in ("job-summary", "system-usage", "cpu-bottlenecks", "rules-summary", "timeline"):
        assert not views.section(busy, name).is_folded, name


def test_all_checks_say_how_many_ended_how(busy):
    said = (
        "1 failed, 3 found something, 9 found nothing wrong, 1 not recorded, 1 with too few data."
    )
    assert said in views.section(busy, "rules-summary").blocks[0].html


def test_a_rule_that_did_not_look_shows_dashes_instead_of_zeros(busy):
    rows = {row.rule_id: row for row in rule_rows(busy)}
    assert (rows["IOBottleneck"].triggered, rows["IOBottleneck"].violations) == ("–", "–")
    assert (rows["BatchSize"].triggered, rows["BatchSize"].violations) == ("0", "0")
    assert rows["CPUBottleneck"].violations == "2,376"
    assert rows["BatchSize"].params == (
        ("threshold", "50"),
        ("patience", "1,000"),
        ("mode", "not set"),
    )


def test_all_checks_give_the_advice_of_findings_and_no_other():
    ids = ("CPU-1", "CPU-1", "CPU-2")
    found = [
        replace(reports.finding(each, Severity.WARNING, each), advice=f"Mend {each}.")
        for each in ids
    ]
    results = (
        reports.result("CPUBottleneck", Status.TRIGGERED, findings=tuple(found)),
        reports.result("IOBottleneck", Status.TRIGGERED),
    )
    rows = {row.rule_id: row.advice for row in rule_rows(reports.report_of(results))}
    assert rows == {"CPUBottleneck": "Mend CPU-1. Mend CPU-2.", "IOBottleneck": ""}


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (ReasonCode.NO_STEPS, "FrameworkProfile"),
        (ReasonCode.NO_FRAMEWORK_METRICS, "FrameworkProfile"),
        (ReasonCode.NO_EVENTS, "FrameworkProfile"),
        (ReasonCode.NO_GPU, "instance type"),
        (ReasonCode.TOO_FEW_SAMPLES, "--set StepOutlier.patience=N"),
        (ReasonCode.NOT_SAMPLED, "reportgen record"),
        (ReasonCode.IMPORTED, "profiler-output"),
    ],
)
def test_a_skipped_rule_says_how_to_record_what_it_lacks(code, word):
    report = reports.report_of((reports.skipped("StepOutlier", code, "Because."),))
    assert word in hint_of("StepOutlier", report)
    assert views.section(report, "step-durations").blocks == ()
    listed = views.section(report, "not-recorded")
    assert 'id="step-durations"' in _html(listed)
    assert "Because." in _html(listed)
    words = {
        ReasonCode.TOO_FEW_SAMPLES: "with too few data",
        ReasonCode.NO_GPU: "does not apply",
        ReasonCode.IMPORTED: "not judged",
    }
    assert listed.said == f"1 {words.get(code, 'not recorded')}"


def test_a_check_that_measured_before_it_gave_up_keeps_its_section():
    table = reports.shares("p", "P", {"a": 1.0})
    skipped = reports.skipped("StepOutlier", ReasonCode.TOO_FEW_SAMPLES, "Too few.")
    report = reports.report_of((replace(skipped, exhibits=(table,)),))
    assert "Too few." in _html(views.section(report, "step-durations"))
    listed = _html(views.section(report, "not-recorded"))
    assert "Too few." in listed
    assert 'id="step-durations"' not in listed


@pytest.mark.parametrize(
    ("rule_id", "code", "has_samples", "word"),
    [
        ("GPUTimeBudget", ReasonCode.NOT_SAMPLED, False, "Leave SageMaker's profiler on"),
        ("GPUTimeBudget", ReasonCode.TOO_FEW_SAMPLES, True, "sample more often"),
        ("BatchSize", ReasonCode.TOO_FEW_SAMPLES, True, "--set BatchSize.patience=N"),
    ],
)
def test_too_few_samples_are_told_from_none(rule_id, code, has_samples, word):
    report = reports.report_of((reports.skipped(rule_id, code, "Too short to judge."),))
    seen = report if has_samples else replace(report, sampling_interval_ms=None)
    assert word in hint_of(rule_id, seen)


@pytest.mark.parametrize(
    ("rule_id", "code", "hint"),
    [
        ("CPUBottleneck", ReasonCode.TOO_FEW_SAMPLES, "What its monitor leaves out"),
        ("CPUBottleneck", ReasonCode.NOT_SAMPLED, "To record it, run the job with"),
        ("StepOutlier", ReasonCode.NO_FRAMEWORK_METRICS, "To record it, run the job with"),
        ("PythonFunctions", ReasonCode.NO_EVENTS, "PythonProfilingConfig"),
    ],
)
def test_a_monitored_job_is_told_what_records_that_very_thing(rule_id, code, hint):
    skipped = reports.skipped(rule_id, code, "Because.")
    recording = Recording(nodes=(), monitored_by="nvidia-smi")
    said = hint_of(rule_id, replace(reports.report_of((skipped,)), recording=recording))
    assert hint in said
    assert "patience" not in said


def test_a_job_with_one_gpu_is_not_told_to_look_for_one():
    single = reports.skipped("LoadBalancing", ReasonCode.NO_GPU, "There is only one GPU per node.")
    judged = reports.result("LowGPUUtilization", Status.OK)
    assert hint_of("LoadBalancing", reports.report_of((single, judged))) == ""
    none = reports.skipped("LowGPUUtilization", ReasonCode.NO_GPU, "The job has no GPU.")
    assert "instance type" in hint_of("LoadBalancing", reports.report_of((single, none)))


def test_what_the_timeline_shows_as_well_waits_behind_a_fold(busy):
    section = views.section(busy, "cpu-bottlenecks")
    folded = [block for block in section.blocks if block.fold]
    assert [block.fold for block in folded] == ["More: When the GPUs waited for the CPU"]
    assert 'id="CPUBottleneck--intervals"' in folded[0].html
    metadata = [output.metadata["reportgen"] for output in outputs(section)]
    assert [item["fold"] for item in metadata if "fold" in item] == [folded[0].fold]


def test_a_rule_that_does_not_apply_folds_all_it_has():
    chart = reports.histogram("workloads", "Samples by GPU utilization", {"gpu0": 50.0})
    reason = Reason(code=ReasonCode.NO_GPU, text="There is only one GPU per node.")
    single = reports.result("LoadBalancing", Status.SKIPPED, exhibits=(chart,), reason=reason)
    section = views.section(reports.report_of((single,)), "workload-balance")
    assert [block.fold for block in section.blocks if "rg-histogram" in block.html] == [
        "More: Samples by GPU utilization"
    ]


def test_a_rule_that_applies_shows_something():
    spans = reports.spans("intervals", "When bottlenecks happened")
    alone = reports.result("IOBottleneck", Status.TRIGGERED, exhibits=(spans,))
    section = views.section(reports.report_of((alone,)), "io-bottlenecks")
    assert not any(block.fold for block in section.blocks)


def test_a_rule_that_found_no_fault_folds_how_it_looked():
    parts = reports.shares("slices", "All ticks", {"busy": 100.0})
    quiet = reports.result("BatchSize", Status.OK, exhibits=(parts,))
    warned = replace(quiet, findings=(reports.finding("BATCH-1", Severity.INFO, "Seldom"),))
    for result, folds in ((quiet, ["More: All ticks"]), (warned, [])):
        section = views.section(reports.report_of((result,)), "batch-size")
        assert [block.fold for block in section.blocks if block.fold] == folds


def test_a_fold_names_the_first_of_what_it_holds():
    charts = tuple(
        reports.histogram(f"histogram_{at}", f"Durations of a, b {at}", {"x": 1.0})
        for at in range(6)
    )
    result = reports.result("BatchSize", Status.OK, exhibits=charts)
    section = views.section(reports.report_of((result,)), "batch-size")
    names = " · ".join(f"Durations of a, b {at}" for at in range(4))
    assert {block.fold for block in section.blocks if block.fold} == {f"More: {names} · 2 more"}


def test_exhibits_without_rows_are_named_together():
    empty = [
        exhibit(name, ExhibitKind.TABLE, title=title, columns=[("rank", "", [])])
        for name, title in (("waits", "Waiting"), ("last", "Last arrivals"))
    ]
    html = _html_of_own(*empty)
    assert html.count("Nothing was found for") == 1
    assert '<span id="Own--waits">Waiting</span>, <span id="Own--last">Last arrivals<' in html


def test_a_caption_calls_columns_as_their_headings_do():
    table = exhibit(
        "t",
        ExhibitKind.TABLE,
        title="T",
        caption="gpu_busy_us is the union, gpu_busy_us_max is not named.",
        columns=[("gpu_busy_us", "us", [1.0])],
    )
    assert "“GPU busy” is the union, gpu_busy_us_max is not named." in _html_of_own(table)


def _html_of_own(*exhibits: Exhibit) -> str:
    own = reports.result("Own", Status.OK, exhibits=exhibits)
    return _html(views.rule_section(reports.report_of((own,)), "Own"))


def test_a_check_that_sagemaker_counts_nothing_for_shows_no_zeros():
    result = reports.result("IdleTime", Status.TRIGGERED, counters=(0, 0, 0))
    assert format_counters(result) == (ABSENT, ABSENT, ABSENT)
    counted = reports.result("IOBottleneck", Status.OK, counters=(0, 0, 500))
    assert format_counters(counted) == ("0", "0", "500")
    blank = reports.result("StepOutlier", Status.OK, counters=(0, 0, 0))
    assert format_counters(blank) == ("0", "0", "0")


def test_a_check_with_slow_steps_and_no_finding_leads_to_the_rhythm_that_has_them():
    """A saved report knows a cause by its word."""
    rhythm = reports.finding("PERIOD-1", Severity.WARNING, "Every 50th step is slow")
    found = replace(rhythm, cause=str(Cause.PERIODIC_SLOW_STEPS))
    report = reports.report_of(
        (
            reports.result("StepPeriodicity", Status.TRIGGERED, findings=(found,)),
            reports.result("StepOutlier", Status.TRIGGERED, metrics={"slow_steps": 18}),
        )
    )
    html = _html(views.section(report, "step-durations"))
    assert "slow steps, and no finding of this check; see" in html
    assert "no problem was found" not in html


def test_a_quiet_rule_says_that_it_looked():
    html = _html(views.section(reports.healthy_report(), "cpu-bottlenecks"))
    assert "Checked 7,200 datapoints: no problem found." in html


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_begins_with_its_entry_for_the_navigation(name, busy):
    section = views.section(busy, name)
    first, *others = outputs(section)
    assert first.metadata[METADATA_KEY]["section"]["id"] == section.id
    assert all("section" not in output.metadata[METADATA_KEY] for output in others)


def test_a_section_that_the_report_does_not_have_is_told_in_the_notebook_alone():
    (output,) = outputs(views.section(reports.healthy_report(), "step-durations"))
    assert output.metadata[METADATA_KEY] == {"notebook_only": True}
    assert "It has: overview, at-a-glance" in output.data["text/html"]


NOT_APPLICABLE = (
    reports.skipped("LowGPUUtilization", ReasonCode.NO_GPU, "The job has no GPU."),
    reports.skipped("BatchSize", ReasonCode.NO_GPU, "The job has no GPU."),
    reports.skipped("HorovodNegotiation", ReasonCode.NO_EVENTS, "No Horovod timeline."),
)


def test_checks_that_do_not_apply_are_no_reason_to_doubt_the_verdict():
    report = reports.report_of((reports.result("StepOutlier", Status.OK), *NOT_APPLICABLE))
    assert verdict_of(report).headline == "No problem found."
    assert verdict_of(report).lead == (
        "1 check found nothing wrong. Not checked: 1 not recorded, 2 do not apply."
    )


def test_a_finding_links_to_its_exhibit_or_else_to_its_section(busy):
    with_exhibit = busy.findings[0]
    card = card_of(with_exhibit.rule, with_exhibit.finding, busy)
    assert card.link == "#CPUBottleneck--intervals"
    assert 'id="CPUBottleneck--intervals"' in _html(views.section(busy, "cpu-bottlenecks"))
    lost = reports.finding("X-1", Severity.INFO, "X", exhibit="gone")
    assert card_of("CPUBottleneck", lost, busy).link == "#cpu-bottlenecks"


def test_a_card_shows_evidence_place_time_and_gain(busy):
    ranked = busy.findings[0]
    card = card_of(ranked.rule, ranked.finding, busy)
    assert (card.measured, card.threshold) == ("33.0\u00a0%", "50.0\u00a0%")
    card = card_of(ranked.rule, replace(ranked.finding, unit="Jensen-Shannon distance"), busy)
    assert (card.measured, card.threshold) == ("33 Jensen-Shannon distance", "50")
    assert [place.text for place in card.places] == ["algo-1", "gpu0"]
    assert card.when == "2026-07-03 09:30:21 – 09:41:00 UTC (10\u00a0min\u00a039\u00a0s)"
    assert (card.gain, card.gain_note) == ("up to 1.49× faster", "saves at most 33.0 % of the time")


def test_a_card_leaves_out_what_is_not_known(busy):
    bare = Finding(id="X", severity=Severity.INFO, title="T", text="t", advice="", where=Where())
    card = card_of("CPUBottleneck", bare, busy)
    assert (card.measured, card.threshold, card.when, card.gain) == ("",) * 4
    assert card.places == ()


def test_the_summary_has_every_row_and_says_why_one_is_unknown():
    whole = {row.name: row.text for row in summary_rows(reports.busy_report())}
    assert whole["Training loop"] == "52 min 12 s"
    assert whole["Start of the job"] == "2026-07-03 09:30:00 UTC"
    part = JobSummary(start_time="2026-07-03T09:30:00.000000Z", job_duration_in_seconds=12.5)
    rows = {row.name: row for row in summary_rows(reports.report_of((), summary=part))}
    assert (rows["Initialization"].text, rows["Initialization"].note) == ("–", "no steps recorded")
    assert rows["Duration of the job"].note == "12.500 s"


def test_the_phases_are_drawn_only_where_steps_tell_them(busy):
    assert "Phases of the job" in _html(views.job_summary(busy))
    assert "Phases of the job" not in _html(views.job_summary(reports.short_report()))


def test_a_recording_without_a_wall_clock_shows_no_date():
    report = reports.report_of((), clock="relative", summary=reports.SUMMARY)
    assert "2026" not in _html(views.job_summary(report))


def test_losses_are_named_on_the_first_screen_and_listed_worst_first(busy):
    assert "1 file skipped, 30 lines broken, 1,555 bytes lost" in _html(views.header(busy))
    names = [row.name for row in quality_rows(busy)]
    assert names[:3] == ["files read", "bytes lost", "lines broken"]
    assert "could not be used" not in _html(views.header(reports.healthy_report()))


def test_hostile_names_are_text_everywhere():
    report = reports.hostile_report()
    parts = [*(views.section(report, name) for name in SECTIONS)]
    html = "".join(_html(part) for part in parts)
    assert "<script>window" not in html
    assert "<img src=x" not in html
    assert "&lt;img src=x" in html
    assert "\u202e" not in html
    assert "x" * 1_000 not in html.replace(f'title="kernel_{"x" * 1993}"', "")
