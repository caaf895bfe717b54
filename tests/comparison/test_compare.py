"""Two reports side by side: verdict, waterfall, conditions, findings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.comparison import Comparison, Verdict, codec, compare, exhibits
from reportgen.comparison.gates import met, parse_gate
from reportgen.errors import FormatError, LocationError
from reportgen.report import Report, Setup
from reportgen.results import ExhibitKind, RuleId, RuleResult, Severity, Status, Where, exhibit
from reportgen.results.packed_columns import unpack
from tests.comparison.builders import budget_table, finding, report_of, steps_table
from tests.schemas import complaints


def waiting(seed: int, wait_ms: float, *, n: int = 300) -> Report:
    inside = 100 * np.random.default_rng(seed).lognormal(0, 0.02, n)
    wait = np.full(n, wait_ms)
    steps = steps_table(inside + wait + 5, inside_ms=inside, wait_ms=wait)
    starts = unpack(steps)["start_ns"]
    budget = budget_table(steps, {"busy_high": inside * 0.8, "unexplained": inside * 0.2}, starts)
    return report_of(steps, budget, name=f"wait-{wait_ms:g}")


def states(comparison: Comparison) -> dict[str, str]:
    return {row.id: row.state.value for row in comparison.findings}


def test_the_waterfall_names_the_cause_and_adds_up() -> None:
    comparison = compare(waiting(1, 40.0), waiting(2, 0.0))

    assert comparison.verdict is Verdict.FASTER
    first = comparison.waterfall[0]
    assert first.key == "input_wait"
    assert first.difference_s == pytest.approx(-0.040)
    assert comparison.step is not None
    total = sum(row.difference_s for row in comparison.waterfall)
    assert total == pytest.approx(comparison.step.step_mean_difference_s, abs=1e-9)
    for side in ("before_s", "after_s"):
        mean_s = getattr(comparison.step, side.replace("_s", "_mean_s"))
        assert sum(getattr(row, side) for row in comparison.waterfall) == pytest.approx(mean_s)
    assert comparison.headline == (
        "“wait-0” is 1.38× faster: a step takes 105 ms instead of 145 ms in the mean, mostly "
        "because of less “waiting for data between steps” (-40 ms)."
    )
    assert comparison.lead.endswith(
        "The mean step changed by -39.9 ms: “waiting for data between steps” by -40 ms and all "
        "other parts together by +121 µs."
    )


def test_labels_stand_in_place_of_the_names_of_the_jobs() -> None:
    jobs = waiting(1, 40.0), waiting(2, 0.0)
    equal = [replace(job, job=replace(job.job, name="run")) for job in jobs]

    said = compare(*jobs, labels=("main", "branch")), compare(*equal)

    assert [comparison.headline.split(" is ")[0] for comparison in said] == ["“branch”", "“after”"]


@pytest.mark.parametrize("burst_ms", [40.0, 160.0])
def test_the_headline_is_the_ratio_of_mean_periods(burst_ms: float) -> None:
    """Four loader processes deliver four batches at a time: the median step never waits."""
    rng = np.random.default_rng(4)
    slow, fast = (20 * rng.lognormal(0, 0.01, 1000) for _ in range(2))
    slow += burst_ms
    fast[::4] += burst_ms
    comparison = compare(report_of(steps_table(slow)), report_of(steps_table(fast)))

    ratio = (20 + burst_ms) / (20 + burst_ms / 4)
    assert f"is {ratio:.2f}× faster" in comparison.headline
    assert "The median step takes" in comparison.lead


@pytest.mark.parametrize(
    ("slower", "verdict"), [(9.61, "1.66× faster"), (16.0, "No difference"), (20.0, "1.25× slower")]
)
def test_where_samples_are_known_they_are_the_verdict(slower: float, verdict: str) -> None:
    rng = np.random.default_rng(4)
    few, many = (20 * rng.lognormal(0, 0.01, 1000) for _ in range(2))
    setups = Setup(batch_size=64), Setup(batch_size=1024)
    before, after = (
        report_of(steps_table(times), setup=setup)
        for times, setup in zip((few, slower * many), setups, strict=True)
    )
    comparison = compare(before, after)

    assert verdict in comparison.headline
    is_slower = comparison.verdict is Verdict.SLOWER
    for gate in ("step_mean > +3%", "step_p50 > +3%"):
        assert bool(met(comparison, [parse_gate(gate)])) is is_slower


def test_an_interval_without_zero_that_is_no_difference_says_why() -> None:
    noise = np.random.default_rng(9).lognormal(0, 1, (2, 1000))
    wide, small = (
        compare(
            *(report_of(steps_table(100 * side)) for side in (noise[0] ** s, f * noise[1] ** s))
        )
        for s, f in ((0.03, 1.004), (0.002, 1.002))
    )

    for comparison in (wide, small):
        assert comparison.step is not None
        assert comparison.step.interval_s[0] > 0
        assert comparison.verdict is Verdict.NO_DIFFERENCE
    assert "The wider interval that a verdict asks for includes zero: " in wide.lead
    assert "Two runs of one job differ by as much." in small.lead


@given(
    inside=st.lists(st.floats(1, 1e4), min_size=3, max_size=40),
    other=st.lists(st.floats(1, 1e4), min_size=3, max_size=40),
    share=st.floats(0, 1),
)
def test_parts_always_add_up_to_the_difference_of_the_means(inside, other, share) -> None:
    reports = []
    for values in (inside, other):
        inside_ms = np.array(values)
        steps = steps_table(inside_ms * 1.5, inside_ms=inside_ms, wait_ms=inside_ms * share / 2)
        parts = {"compute": inside_ms * share, "launch": inside_ms * (1 - share)}
        reports.append(report_of(steps, budget_table(steps, parts, unpack(steps)["start_ns"])))

    comparison = compare(*reports)

    assert comparison.step is not None
    total = sum(row.difference_s for row in comparison.waterfall)
    assert total == pytest.approx(comparison.step.step_mean_difference_s, abs=1e-6)


def test_of_steps_that_vary_a_hundredfold_no_change_beyond_100_percent_is_claimed() -> None:
    before, after = np.random.default_rng(7).lognormal(0, 5, (2, 60))

    comparison = compare(*(report_of(steps_table(side)) for side in (before, after)))

    assert comparison.verdict is Verdict.NO_DIFFERENCE
    assert "(95 % interval -100.0 to" in comparison.lead
    assert "Even twice the time per step could be noise" in comparison.lead
    assert comparison.headline.startswith("The steps vary too much: a step takes")


def test_a_job_does_not_differ_from_itself() -> None:
    report = waiting(3, 10.0)

    comparison = compare(report, report)

    assert comparison.verdict is Verdict.NO_DIFFERENCE
    assert all(row.difference_s == 0 for row in comparison.waterfall)
    assert all(row.same is not False for row in comparison.comparability)


def test_what_became_of_findings_depends_on_whether_their_check_looked() -> None:
    steps = steps_table(np.full(40, 10.0))
    before = report_of(
        steps,
        findings={
            "A": [finding("A-1", share=0.3), finding("A-2", share=0.3), finding("A-3")],
            "B": [finding("B-1")],
            "C": [finding("C-1")],
        },
    )
    after = report_of(
        steps,
        findings={
            "A": [
                finding("A-1", share=0.2),
                finding("A-2", share=0.31),
                finding("A-3", severity=Severity.CRITICAL),
            ],
            "D": [finding("D-1")],
        },
        statuses={"B": Status.OK, "C": Status.SKIPPED},
    )

    found = states(compare(before, after))

    assert found == {
        "A-1": "better",
        "A-2": "unchanged",
        "A-3": "worse",
        "B-1": "resolved",
        "C-1": "not_checked",
        "D-1": "not_checked",
    }


def test_a_finding_of_a_rank_whose_data_are_missing_is_not_resolved() -> None:
    steps = steps_table(np.full(40, 10.0))
    late = replace(finding("A-1"), where=Where(node="rank 1"))
    two = replace(
        report_of(steps, findings={"A": [late, finding("A-2")]}), nodes=("rank 0", "rank 1")
    )
    one = replace(report_of(steps, findings={"A": []}), nodes=("rank 0",))

    assert states(compare(two, one)) == {"A-1": "not_checked", "A-2": "resolved"}
    assert states(compare(one, two)) == {"A-1": "not_checked", "A-2": "new"}
    assert states(compare(two, replace(one, nodes=("a", "b"))))["A-1"] == "resolved"


def test_another_gpu_is_a_warning_and_another_kind_of_data_a_refusal() -> None:
    steps = steps_table(np.full(40, 10.0))
    one = report_of(steps, setup=Setup(gpu_names=("A100",), n_ranks=8))
    other = report_of(steps, setup=Setup(gpu_names=("V100",), n_ranks=8))
    comparison, refused = compare(one, other), compare(one, report_of())

    assert comparison.verdict is Verdict.NO_DIFFERENCE
    assert comparison.warnings == ("GPU: A100 before, V100 after",)
    assert comparison.lead.endswith("The jobs differ in GPU.")
    assert refused.verdict is Verdict.NOT_COMPARABLE
    assert refused.step is None
    assert "framework events" in refused.reason


def computing_in(**pct_of: float) -> Report:
    pcts = [*pct_of.values()]
    shares = exhibit(
        "precision_shares",
        ExhibitKind.SHARES,
        title="t",
        columns=[("part", "", [*pct_of]), ("time_us", "us", pcts), ("pct", "%", pcts)],
    )
    rule = RuleId("KernelPrecision")
    result = RuleResult(id=rule, status=Status.OK, exhibits=(shares,))
    report = report_of(steps_table(np.full(40, 10.0)))
    return replace(report, results={**report.results, rule: result})


@pytest.mark.parametrize(
    ("after", "same"),
    [
        ({"FP32": 60.0, "BF16": 40.0}, True),
        ({"BF16": 40.0, "FP32": 30.0, "BF16 by input": 30.0}, True),
        ({"BF16": 100.0}, False),
        ({"Unknown": 100.0}, None),
    ],
)
def test_number_formats_are_equal_whoever_says_them(after, same) -> None:
    comparison = compare(computing_in(BF16=50.0, FP32=40.0, Unknown=10.0), computing_in(**after))
    (formats,) = [row for row in comparison.comparability if row.what == "number formats"]
    assert formats.same is same


def test_steps_that_take_no_time_are_not_compared() -> None:
    none, some = (report_of(steps_table(np.full(40, ms))) for ms in (0.0, 10.0))

    for comparison in (compare(none, some), compare(some, none), compare(none, none)):
        assert comparison.verdict is Verdict.NOT_COMPARABLE
        assert comparison.reason == "Most of the recorded steps take no time."
        assert not comparison.waterfall


def test_steps_of_different_phases_are_not_compared() -> None:
    train = report_of(steps_table(np.full(40, 10.0)))
    judged = report_of(steps_table(np.full(40, 10.0), phase="Step:ModeKeys.EVAL"))

    comparison = compare(train, judged)

    assert comparison.verdict is Verdict.NOT_COMPARABLE
    assert "TRAIN in “before”, EVAL in “after”" in comparison.reason


def test_the_json_keeps_its_contract_and_comes_back_equal(tmp_path) -> None:
    comparison = compare(waiting(4, 20.0), waiting(5, 0.0))
    raw = codec.encode(comparison)
    path = tmp_path / codec.FILE
    path.write_bytes(raw)

    assert not complaints("comparison", raw)
    assert codec.load(tmp_path) == comparison
    assert codec.load(path).findings == comparison.findings


def test_what_is_no_comparison_is_named(tmp_path) -> None:
    with pytest.raises(LocationError, match=r"profiler-comparison\.json"):
        codec.load(tmp_path)
    (tmp_path / codec.FILE).write_text("[]")
    with pytest.raises(FormatError):
        codec.load(tmp_path)


def test_a_finding_that_was_not_checked_is_called_so_on_the_page() -> None:
    steps = steps_table(np.full(40, 10.0))
    faulty = report_of(steps, findings={"Dataloader": [finding("DL-1")]})

    (table,) = exhibits.findings(compare(report_of(steps), faulty))

    (states,) = (column.values for column in table.columns if column.name == "state")
    assert list(states) == ["not checked"]


def multiplying(seed: int, compute_ms: float, tflop: float, *, known: float = 1.0) -> Report:
    """Return 300 steps of matrix products of so many TFLOP on one GPU, of which some is known."""
    inside = compute_ms * np.random.default_rng(seed).lognormal(0, 0.01, 300)
    steps = steps_table(inside, inside_ms=inside)
    budget = budget_table(steps, {"compute": inside}, unpack(steps)["start_ns"])
    report = report_of(steps, budget)
    time_us = float(inside.sum()) * 1e3
    whole = tflop * 300
    tables = {
        "KernelTime": ("kernels", ("name", "category", "sum_us"), ("gemm", "compute", time_us)),
        "Efficiency": (
            "classes",
            ("class", "time_us", "tflop", "tflops_per_s"),
            ("matrix products", time_us, whole * known, whole / (time_us / 1e6)),
        ),
    }
    more = {
        RuleId(rule): RuleResult(
            id=RuleId(rule),
            status=Status.OK,
            exhibits=(
                exhibit(
                    name,
                    ExhibitKind.TABLE,
                    title="t",
                    columns=[(head, "", [value]) for head, value in zip(heads, row, strict=True)],
                ),
            ),
        )
        for rule, (name, heads, row) in tables.items()
    }
    return replace(report, results={**report.results, **more})


def test_faster_products_are_fewer_flops_and_better_use_which_add_up() -> None:
    comparison = compare(multiplying(1, 40.0, 4.0), multiplying(2, 12.0, 2.0))

    part = comparison.waterfall[0]
    assert part.key == "compute_matrix"
    assert part.by_flops_s is not None
    assert part.by_use_s is not None
    # 100 and 167 TFLOP/s: two TFLOP less at the mean of 10 and 6 ms each, 3 TFLOP by 4 ms faster
    assert part.by_flops_s == pytest.approx(-0.016, rel=0.02)
    assert part.by_use_s == pytest.approx(-0.012, rel=0.02)
    assert part.by_flops_s + part.by_use_s == pytest.approx(part.difference_s)
    assert "by fewer FLOPs" in comparison.lead
    assert "by better use of the GPU" in str(exhibits.waterfall(comparison))


def test_products_whose_flops_are_not_all_known_are_not_divided() -> None:
    comparison = compare(multiplying(1, 40.0, 4.0, known=0.5), multiplying(2, 12.0, 2.0))

    assert comparison.waterfall[0].by_flops_s is None
    assert "FLOPs" not in comparison.lead


def test_of_workers_that_meet_the_longest_wait_is_that_of_all() -> None:
    n = 100
    waits = np.tile([6.0, 0.0], n // 2)
    tables = [
        steps_table(
            np.full(n, 20.0), inside_ms=20.0 - wait, wait_ms=wait, worker=f"algo-1-{number}"
        )
        for number, wait in enumerate((waits, waits[::-1].copy()))
    ]
    before = report_of(
        *(steps_table(np.full(n, 14.0), worker=f"algo-1-{number}") for number in (0, 1))
    )

    comparison = compare(before, report_of(*tables))

    parts = {row.key: row.difference_s for row in comparison.waterfall}
    assert parts["input_wait"] == pytest.approx(0.006)
    assert parts["inside_steps"] == pytest.approx(0.0)
