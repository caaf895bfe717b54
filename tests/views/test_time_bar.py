"""The first picture: where the GPU time went, by hand-made numbers."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from reportgen import views
from reportgen.report import Report
from reportgen.results import About, ExhibitKind, ReasonCode, Status, exhibit
from reportgen.views.time_bar import picture_of
from reportgen.views.verdict import verdict_of
from tests.builders import known
from tests.views import reports
from tests.views.timeline.jobs import training_node, training_report

WORKED = "While training, the GPUs worked in"


def budget_report(
    parts: dict[str, float], *, usd: float | None = None, n_gpus: int = 2, outside_s: float = 0.0
) -> Report:
    total = sum(parts.values())
    table = reports.table(
        ("node", "", ["algo-1"] * n_gpus),
        ("device", "", [f"gpu{at}" for at in range(n_gpus)]),
        ("part", "", ["busy_high"] * n_gpus),
        exhibit_id="gpu_time_budget",
        title="By GPU",
    )
    shares = reports.drawn(
        ExhibitKind.SHARES,
        ("part", "", list(parts)),
        ("gpu_s", "s", list(parts.values())),
        ("pct", "%", [100 * value / total for value in parts.values()]),
        exhibit_id="budget",
        title="Where the GPUs' time went",
    )
    metrics: dict[str, float | int | None] = {"worked_outside_loop_s": outside_s}
    result = reports.result("GPUTimeBudget", Status.OK, exhibits=(shares, table), metrics=metrics)
    result.params["usd_per_gpu_hour"] = usd  # type: ignore[index]  # a plain dictionary here
    return reports.report_of((result,))


INPUT_BOUND = {"initialization": 360.0, "busy_high": 3_240.0, "cpu_input": 3_600.0}


def test_the_parts_fill_the_bar_and_add_up_to_a_hundred():
    picture = known(picture_of(budget_report(INPUT_BOUND)))
    assert [(item.name, item.pct) for item in picture.segments] == [
        ("busy", "45.0 %"),
        ("waits for CPU or input", "50.0 %"),
        ("before training", "5.0 %"),
    ]
    assert sum(item.width_pct for item in picture.segments) == pytest.approx(100.0)


def test_traced_gpus_that_only_copy_are_told_in_the_words_of_traces():
    picture = known(picture_of(budget_report({"memory_operations": 60.0, "host_late": 40.0})))
    assert [item.name for item in picture.segments] == [
        "memory operations",
        "waits for a slow host",
    ]
    assert picture.says == (
        "The GPUs computed in 0.0 % of their time; another 60.0 % was memory operations, and "
        "another 40.0 % (40 s) was lost waiting for a slow host."
    )


def test_the_sentence_says_what_was_lost_and_to_what():
    picture = known(picture_of(budget_report(INPUT_BOUND)))
    assert picture.says == (
        f"{WORKED} 45.0 % of the job's time; another 50.0 % (1.0 h) was lost waiting for the "
        "CPU or for input."
    )
    assert picture.whole == "2 GPUs × 1 h 00 min = 2.0 h of GPU time in whole samples"


@pytest.mark.parametrize(("outside_s", "is_told"), [(449.0, False), (450.0, True)])
def test_work_outside_of_the_recorded_loop_is_work_all_the_same(outside_s: float, is_told: bool):
    parts = {"initialization": 100.0, "busy_high": 100.0, "finalization": 800.0}
    picture = known(picture_of(budget_report(parts, outside_s=outside_s)))
    assert picture.says == (
        "The GPUs worked in 10.0 % of the job's time during the recorded loop, and in 45.0 % "
        "before or after it."
        if is_told
        else f"{WORKED} 10.0 % of the job's time; another 90.0 % was before or after training."
    )


def test_with_a_price_the_loss_is_money():
    picture = known(picture_of(budget_report(INPUT_BOUND, usd=3.5)))
    assert "another 50.0 % ($3.50) was lost" in picture.says
    assert picture.whole.endswith("$7.00")
    assert [item.amount for item in picture.segments] == [
        "54 min 00 s · $3.15",
        "1.0 h · $3.50",
        "6 min 00 s · $0.35",
    ]


def test_causes_of_idling_stand_by_size_and_the_tiny_ones_are_one():
    parts = {
        "busy_high": 900.0,
        "io_wait": 40.0,
        "network": 3.0,
        "cpu_input": 52.0,
        "between_steps": 2.0,
        "unexplained": 3.0,
    }
    picture = known(picture_of(budget_report(parts)))
    assert [item.name for item in picture.segments] == [
        "busy",
        "waits for CPU or input",
        "waits for I/O",
        "3 smaller causes",
    ]
    assert picture.segments[-1].pct == "0.8 %"
    assert "waiting, mostly for the CPU or for input" in picture.says


@pytest.mark.parametrize("idle", [(38.23, 7.14, 6.22, 2.4, 2.37), (10.04, 9.97, 0.04, 0.03)])
def test_written_shares_of_idling_add_up_to_the_share_that_the_sentence_says(idle):
    names = ("host_late", "launch", "cpu_input", "kernel_gap", "unexplained")
    parts = {"compute": 100.0 - sum(idle), **dict(zip(names, idle, strict=False))}
    picture = known(picture_of(budget_report(parts)))
    said = re.findall(r"another (\d+\.\d) %", picture.says)
    written = [float(item.pct.removesuffix(" %")) for item in picture.segments[1:]]
    assert [f"{sum(written):.1f}"] == said


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ((990.0, 10.0, 0.0), f"{WORKED} 99.0 % of the job's time; another 1.0 % was lost waiting."),
        ((9999.6, 0.4, 0.0), f"{WORKED} 100.0 % of the job's time."),
        (
            (10.0, 0.0, 990.0),
            "99.0 % of the GPUs' time was not measured, which is too much to judge the rest.",
        ),
    ],
)
def test_a_job_that_works_or_was_hardly_measured_is_not_told_of_losses(parts, says: str):
    names = ("busy_high", "between_steps", "not_measured")
    assert known(picture_of(budget_report(dict(zip(names, parts, strict=True))))).says == says


@pytest.mark.parametrize(
    ("loading", "says"),
    [
        (6.0, "data loading takes 60.0 % of an iteration."),
        (4.0, "what takes 60.0 % of an iteration was not recorded."),
    ],
)
def test_without_gpus_the_picture_is_where_an_iteration_goes(loading: float, says: str):
    parts = {"data loading": loading, "others": 10 - loading}
    shares = reports.shares("loop", "Data loading and passes", parts)
    about = About(checks="c", reading="r", advice="a", host_picture="loop")
    framework = replace(reports.result("Framework", Status.OK, exhibits=(shares,)), about=about)
    skipped = reports.skipped("GPUTimeBudget", ReasonCode.NO_GPU, "The job has no GPU.")
    picture = known(picture_of(reports.report_of((skipped, framework))))
    assert picture.says == f"No GPU was recorded; {says}"
    assert [(item.name, item.pct) for item in picture.segments] == [
        (name, f"{10 * part:.1f} %") for name, part in parts.items()
    ]


def test_without_gpus_and_steps_the_picture_is_of_the_cpu():
    skipped = reports.skipped("GPUTimeBudget", ReasonCode.NO_GPU, "The job has no GPU.")
    usage = reports.result(
        "OverallSystemUsage", Status.OK, metrics={"cpu_mean_pct": 69.7, "io_wait_mean_pct": 4.3}
    )
    picture = known(picture_of(reports.report_of((skipped, usage))))
    assert (
        picture.says
        == "No GPU was recorded. The mean utilization of the CPU cores, by all programs, is 69.7 %."
    )
    assert [(item.name, item.pct) for item in picture.segments] == [
        ("CPU in use", "69.7 %"),
        ("waits for I/O", "4.3 %"),
        ("idle", "26.0 %"),
    ]


def test_without_any_samples_there_is_a_sentence_and_no_empty_bar():
    skipped = reports.skipped("GPUTimeBudget", ReasonCode.TOO_FEW_SAMPLES, "Only one sample.")
    picture = known(picture_of(reports.report_of((skipped,))))
    assert picture.says == "Where the GPU time went is not known. Only one sample."
    html = views.header(reports.report_of((skipped,)))._repr_html_()
    assert "rg-budget-says" in html
    assert 'class="rg-budget-bar"' not in html


def test_results_without_a_budget_have_no_picture():
    assert picture_of(reports.healthy_report()) is None


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (
            {"busy_high": 60.0, "busy_partial": 30.0, "initialization": 10.0},
            "What limits it now: The GPUs work in 90.0 % of their time. A kernel trace",
        ),
        (
            {"busy_high": 20.0, "initialization": 80.0},
            "What limits it now: 80.0 % of the GPU time was spent before the training loop.",
        ),
    ],
)
def test_a_job_without_faults_learns_what_limits_it(parts: dict[str, float], expected: str):
    verdict = verdict_of(budget_report(parts))
    assert verdict.kind == "ok"
    assert expected in verdict.lead.replace("\N{NO-BREAK SPACE}", " ")


def test_the_picture_of_a_real_result_is_readable_without_script():
    gpu = [0.0] * 300 + [95.0] * 300
    html = views.header(training_report(training_node(gpu), usd_per_gpu_hour=2.0))._repr_html_()
    assert "2 GPUs × 5 min 00 s = 10 min 00 s of GPU time in whole samples, $0.33" in html
    assert "waits for CPU or input" in html


def test_a_second_bar_divides_the_time_at_work_as_the_exhibit_that_declares_it():
    speeds = exhibit(
        "bands",
        ExhibitKind.SHARES,
        title="Kernel time by speed",
        caption="Half of it is slow.",
        columns=[
            ("part", "", ["fast", "slow"]),
            ("time_us", "us", [3_000.0, 1_000.0]),
            ("pct", "%", [75.0, 25.0]),
        ],
    )
    budget = budget_report(INPUT_BOUND)
    about = About(checks="c", reading="r", advice="a", second_picture="bands")
    result = replace(reports.result("Speed", Status.OK, exhibits=(speeds,)), about=about)
    picture = known(picture_of(reports.report_of((*budget.results.values(), result))))
    assert picture.second is not None
    assert picture.second.says == "Half of it is slow."
    assert [(item.name, item.pct, item.amount) for item in picture.second.segments] == [
        ("fast", "75.0 %", "3 ms"),
        ("slow", "25.0 %", "1 ms"),
    ]
