from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reportgen.profile import NodeProfile
from reportgen.results import Counters, ReasonCode, Severity, Status
from reportgen.rules.overall_framework_metrics import RULE
from tests.builders import START_S, known, system_table
from tests.rules.framework_jobs import EVAL, TRAIN, finding, node, rows_of, sampled_again, step_rows
from tests.rules.samples import run


def at(phase: str, name: str, begin: float, end: float, **more: Any) -> tuple[Any, ...]:
    return (phase, name, START_S + begin, START_S + end, more)


def gapped(others_s: float, *, total_s: float = 100.0) -> list[tuple[Any, ...]]:
    """Two steps with a gap between them."""
    half = (total_s - others_s) / 2
    return [at(TRAIN, TRAIN, 0, half), at(TRAIN, TRAIN, half + others_s, total_s)]


def synchronous(
    forward_s: dict[str, float], *, step_s: float = 1.0, every_s: float = 1.0, n_steps: int = 40
) -> list[tuple[Any, ...]]:
    """Steps of equal length on several workers, with forward passes of different length."""
    rows: list[tuple[Any, ...]] = []
    for worker, length_s in forward_s.items():
        rows += step_rows([step_s] * n_steps, every_s=every_s, worker=worker)
        rows += [
            at("Forward", "Net", index * every_s, index * every_s + length_s, worker=worker)
            for index in range(n_steps)
        ]
    return rows


def nodes(*specs: tuple[str, float, float, float]) -> list[NodeProfile]:
    """Return nodes of one worker: name, forward pass and step in seconds, use of its GPU."""
    return [
        replace(
            node(synchronous({f"{name}-27": forward_s}, step_s=step_s), name=name),
            system=system_table({"gpu0": [pct] * 40}, interval_s=1.0),
        )
        for name, forward_s, step_s, pct in specs
    ]


def test_counters_are_always_zero() -> None:
    assert run(RULE, node(gapped(50))).counters == Counters()


def test_a_job_without_events_is_skipped_with_empty_members() -> None:
    result = run(RULE, node([]))

    assert result.status is Status.SKIPPED
    assert known(result.reason).code is ReasonCode.NO_FRAMEWORK_METRICS
    assert result.details == {"ratio": {}, "phase": {}, "phase_time": {}}
    assert result.exhibits == ()


def test_events_without_a_duration_are_nothing_to_add_up() -> None:
    result = run(RULE, node([("Net", "4", START_S, START_S), ("Net", "5", START_S, START_S)]))
    assert result.status is Status.SKIPPED
    assert known(result.reason).text == "Of 2 framework events none lasts: all are instants."


@pytest.mark.parametrize(("others_s", "is_told"), [(25.0, False), (26.0, True)])
def test_the_time_in_which_an_interrupted_job_did_not_run_lies_not_between_steps(others_s, is_told):
    # The loop of 100 s is split by 10,000 s without samples and events, in the middle of a gap.
    half = (100 - others_s) / 2
    rows = [at(TRAIN, TRAIN, 0, half), at(TRAIN, TRAIN, half + others_s + 10_000, 100 + 10_000)]
    whole = node(rows, cores=1)
    result = run(RULE, sampled_again(whole, after_s=49.5, pause_s=10_000))
    found = finding(result, "FW-1")

    # From the last tick before it to the first one after it: 10,001 s are unknown.
    assert (found is not None) is is_told
    assert result.metrics["between_steps_ratio"] == pytest.approx((others_s - 1) / 99)
    if found is not None:
        assert "2 h 46 min without any record are left out" in found.text
    assert finding(run(RULE, whole), "FW-1") is not None


@pytest.mark.parametrize(("others_s", "is_told"), [(25.0, False), (25.1, True)])
def test_time_between_steps_is_told_above_a_quarter(others_s: float, is_told: bool) -> None:
    result = run(RULE, node(gapped(others_s)))
    found = finding(result, "FW-1")

    assert (found is not None) == is_told
    assert result.status is Status.OK
    if found is not None:
        assert found.severity is Severity.INFO
        assert (found.measured, found.threshold, found.unit) == (25.1, 25.0, "%")


@pytest.mark.parametrize(("backward_s", "is_told"), [(70.0, False), (70.1, True)])
def test_a_pass_is_told_above_seventy_percent(backward_s: float, is_told: bool) -> None:
    rows = [
        at("Forward", "Net", 0, 100 - backward_s),
        at("Backward(post-forward)", "Net", 100 - backward_s, 100),
    ]
    found = finding(run(RULE, node(rows)), "FW-2")

    assert (found is not None) == is_told
    if found is not None:
        assert found.title.startswith("Backward pass takes 70.1 %")


@pytest.mark.parametrize(
    ("phase", "eval_s", "is_told"),
    [(TRAIN, 42.0, False), (TRAIN, 44.0, True), ("Step:ModeKeys.PREDICT", 60.0, False)],
)
@pytest.mark.parametrize("rest_s", [0.0, 100.0])
def test_validation_is_wanted_work_below_three_tenths_of_the_loop(phase, eval_s, rest_s, is_told):
    first_s = 100 + rest_s
    rows = [at(phase, phase, 0, 100), at("Step:ModeKeys.EVAL", "e", first_s, first_s + eval_s)]
    found = finding(run(RULE, node(rows)), "FW-5")

    assert (found is not None) == (is_told and not rest_s)
    if found is not None:
        assert found.title == "Steps of validation take 30.6 % of the loop"
        assert found.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("works_s", "n_times", "is_told"), [(740, 1, True), (770, 1, False), (770, 2, True)]
)
def test_one_validation_in_a_window_of_steps_takes_no_such_share_of_the_job(
    works_s: int, n_times: int, is_told: bool
) -> None:
    length_s = 150 / n_times
    parts = ((TRAIN, 0, 0.5), ("Step:ModeKeys.EVAL", 0.5, 0.8), (TRAIN, 0.8, 1.0))
    rows = [
        at(phase, phase, length_s * (turn + begin), length_s * (turn + end))
        for turn in range(n_times)
        for phase, begin, end in parts
    ]
    gpu = system_table({"gpu0": [98.0] * works_s}, interval_s=1.0)
    found = finding(run(RULE, replace(node(rows), system=gpu)), "FW-5")

    assert (found is not None) is is_told
    assert not found or found.title.endswith("of the recorded time")


def test_validation_lasts_from_batch_to_batch() -> None:
    """Passes of 1 s in turns of 2 s; what follows the last of them is no part of it."""
    evals = [at("Step:ModeKeys.EVAL", "e", 100 + 2 * turn, 101 + 2 * turn) for turn in range(30)]
    rows = [at(TRAIN, TRAIN, 0, 100), *evals, at(TRAIN, TRAIN, 170, 200)]
    assert known(finding(run(RULE, node(rows)), "FW-5")).measured == pytest.approx(100 * 60 / 200)


def test_waits_in_bursts_are_part_of_validation() -> None:
    """Each fifth batch of validation comes 4 s late, for which the loop is known to wait."""
    starts = [100 + turn + 4 * (turn // 5) for turn in range(30)]
    evals = [at("Step:ModeKeys.EVAL", "e", start, start + 1) for start in starts]
    waits = [at("DataLoaderIter", "It::GetNext", start - 4, start) for start in starts[5::5]]
    rows = [at(TRAIN, TRAIN, 40, 100), *evals, *waits, at(TRAIN, TRAIN, 150, 170)]
    assert known(finding(run(RULE, node(rows)), "FW-5")).measured == pytest.approx(100 * 50 / 130)


def test_the_top_operator_is_told_by_its_self_time() -> None:
    rows = [
        at("cpu_functions", "aten::conv2d", 0, 10),
        at("cpu_functions", "aten::cudnn_convolution", 1, 9),
        at("cpu_functions", "aten::relu_", 10, 12),
    ]
    found = known(finding(run(RULE, node(rows)), "FW-3"))

    assert found.severity is Severity.INFO
    assert found.title.startswith("aten::cudnn_convolution takes 66.7 % of the time")
    assert found.text == (
        "In the recorded steps, aten::cudnn_convolution ran 1 time and took 8 s: 66.7 % of the "
        "time of all CPU operators."
    )
    assert found.measured == 66.6667


def test_the_operator_table_has_totals_self_times_and_all_shares() -> None:
    rows = [
        at("gpu_functions-dev:0", "outer", 0, 60, tid=1),
        at("gpu_functions-dev:0", "inner", 10, 40, tid=1),
        at("gpu_functions-dev:1", "inner", 0, 9, tid=1),
        at("gpu_functions-dev:0", "tiny", 70, 71, tid=1),
        at("cpu_functions", "inner", 0, 60, tid=1),
    ]
    result = run(RULE, node(rows))

    assert rows_of(result, "gpu_operators") == [
        {
            "operator": name,
            "count": count,
            "total_us": total_s * 1_000_000,
            "self_us": self_s * 1_000_000,
            "pct_of_all": float(total_s),
            "self_pct": pct,
        }
        for name, count, total_s, self_s, pct in (
            ("outer", 1, 60, 30, 42.8571),
            ("inner", 2, 39, 39, 55.7143),
            ("tiny", 1, 1, 1, 1.4286),
        )
    ]
    by_device = rows_of(result, "gpu_operators_by_device")
    assert [(row["device"], row["operator"], row["self_us"]) for row in by_device] == [
        ("gpu_functions-dev:0", "outer", 30_000_000),
        ("gpu_functions-dev:0", "inner", 30_000_000),
        ("gpu_functions-dev:0", "tiny", 1_000_000),
        ("gpu_functions-dev:1", "inner", 9_000_000),
    ]


def test_rare_operators_are_summed_up_as_others() -> None:
    rows = [
        at("cpu_functions", f"op{index:02}", index * 10, index * 10 + 5 - index * 0.1)
        for index in range(30)
    ]
    table = rows_of(run(RULE, node(rows)), "cpu_operators")

    assert len(table) == 21
    assert (table[-1]["operator"], table[-1]["count"]) == ("others", 10)
    assert sum(row["total_us"] for row in table) == round(sum(5 - i * 0.1 for i in range(30)) * 1e6)
    assert sum(row["pct_of_all"] for row in table) == pytest.approx(100, abs=1e-9)


def test_every_member_with_events_has_its_shares() -> None:
    rows = [
        *gapped(20),
        at("Forward", "Net", 0, 10),
        at("Backward(post-forward)", "Net", 10, 40),
        at("cpu_functions", "a", 0, 1),
        at("gpu_functions-dev:0", "a", 0, 3),
        at("Allreduce/fc", "NCCL_ALLREDUCE", 0, 2, source="horovod_timeline"),
        at("DataLoaderWorker", "DataLoaderWorker", 0, 90),  # lives beside the loop
    ]
    result = run(RULE, node(rows))

    assert [
        (row["part"], row["time_s"], row["pct"]) for row in rows_of(result, "phase_shares")
    ] == [(TRAIN, 80.0, 80.0), ("others", 20.0, 20.0)]
    assert [row["pct"] for row in rows_of(result, "forward_backward")] == [25.0, 75.0]
    assert [row["pct"] for row in rows_of(result, "operator_ratio")] == [75.0, 25.0]
    assert [row["time_s"] for row in rows_of(result, "general")] == [30.0, 10.0]
    assert [row["part"] for row in rows_of(result, "horovod")] == ["NCCL_ALLREDUCE"]
    assert result.metrics["between_steps_ratio"] == 0.2


@pytest.mark.parametrize(("slow_s", "is_told"), [(0.412, False), (0.413, True)])
def test_a_worker_that_computes_longer_is_a_straggler(slow_s: float, is_told: bool) -> None:
    # 3 % above 0.4 s is 0.412 s; the others wait, so all steps are equally long.
    parts = [
        node(synchronous({"algo-1-27": 0.4, "algo-1-28": 0.4})),
        node(synchronous({"algo-2-27": 0.4, "algo-2-28": slow_s}), name="algo-2"),
    ]
    result = run(RULE, *parts)
    found = finding(result, "STRAG-1")

    assert (found is not None) == is_told
    assert result.status is (Status.TRIGGERED if is_told else Status.OK)
    if found is not None:
        assert found.severity is Severity.WARNING
        assert (found.where.node, found.where.device) == ("algo-2", "algo-2-28")
        assert "the others wait for it" in found.text
        assert found.measured == 3.25
        # Its backward pass is as slow: 1 - 0.4 / 0.413 of its steps, which fill the loop.
        assert known(found.estimate).share_ratio == 0.031477


@pytest.mark.parametrize(("every_s", "is_told"), [(2.5, True), (2.6, False)])
def test_a_straggler_that_costs_next_to_nothing_is_none(every_s: float, is_told: bool) -> None:
    # Steps of 0.2 s could be 0.075 s shorter: 3.06 % of a loop of 39 x 2.5 s + 0.2 s
    forward_s = {"algo-1-27": 0.1, "algo-1-28": 0.1, "algo-1-29": 0.16}
    rows = synchronous(forward_s, step_s=0.2, every_s=every_s)

    assert (finding(run(RULE, node(rows)), "STRAG-1") is not None) == is_told


def test_a_worker_that_lags_for_a_time_is_told_with_that_time() -> None:
    rows = synchronous({"algo-1-27": 0.2, "algo-1-28": 0.2, "algo-1-29": 0.2}, n_steps=200)
    slow = [
        (phase, name, begin_s, begin_s + 0.4, more)
        if (phase, more["worker"]) == ("Forward", "algo-1-29") and 80 <= begin_s - START_S < 120
        else (phase, name, begin_s, end_s, more)
        for phase, name, begin_s, end_s, more in rows
    ]
    found = known(finding(run(RULE, node(slow)), "STRAG-1"))

    assert found.title.startswith("For a time, the forward passes of algo-1-29 take 2× as long as")
    assert found.text.startswith("The training process is slower only from step 80 to 119. The")
    assert (found.where.start_s, found.where.end_s) == (START_S + 80, START_S + 119)


def test_workers_with_longer_steps_are_compared_by_steps_when_forward_is_unknown() -> None:
    rows = step_rows([0.5] * 30, worker="algo-1-27", every_s=0.7)
    rows += step_rows([0.8] * 30, worker="algo-1-28")
    found = known(finding(run(RULE, node(rows)), "STRAG-1"))

    assert found.where.device == "algo-1-28"
    assert "wait for it" not in found.text


def test_a_worker_that_may_wait_inside_its_longer_steps_is_no_straggler() -> None:
    # Both need a second for a step and what follows it: one waits where the other does not.
    rows = step_rows([0.5] * 30, worker="algo-1-27") + step_rows([0.8] * 30, worker="algo-1-28")

    assert finding(run(RULE, node(rows)), "STRAG-1") is None


@pytest.mark.parametrize(("longer", "is_told"), [(1.0, False), (1.1, True)])
def test_of_two_windows_of_steps_those_that_both_recorded_are_compared(longer, is_told) -> None:
    """The steps are of unequal length, and equally long in both workers, or not."""
    lasts_s = np.linspace(0.50, 0.60, 20)
    ends_s = np.cumsum(lasts_s)
    rows: list[tuple[Any, ...]] = []
    for worker, first, last, factor in (("algo-1-27", 0, 15, 1.0), ("algo-1-28", 5, 20, longer)):
        for step in range(first, last):
            begin_s, end_s = factor * (ends_s[step] - 0.99 * lasts_s[step]), factor * ends_s[step]
            rows.append(at(TRAIN, TRAIN, begin_s, end_s, step=step, worker=worker))

    assert (finding(run(RULE, node(rows)), "STRAG-1") is not None) is is_told


@pytest.mark.parametrize(
    ("uses_pct", "step_s", "is_told"),
    [
        ((98.0, 98.0), 0.5, False),
        ((50.0, 98.0), 0.5, False),
        ((98.0, 50.0), 0.5, True),
        ((50.0, 98.0), 0.9, True),
    ],
)
def test_a_worker_waits_in_its_passes_while_another_one_works_between_steps(
    uses_pct: tuple[float, float], step_s: float, is_told: bool
) -> None:
    """Unless its own GPU lacks work; a host that is ahead waits in any call."""
    parts = nodes(("algo-1", 0.2, step_s, uses_pct[0]), ("algo-2", 0.6, 0.9, uses_pct[1]))

    assert (finding(run(RULE, *parts), "STRAG-1") is not None) is is_told


@pytest.mark.parametrize(("n_waiting", "is_told"), [(3, True), (2, True), (1, False)])
def test_most_others_wait_in_one_place_for_the_worker_that_is_longer_in_its_passes(
    n_waiting: int, is_told: bool
) -> None:
    """All GPUs are busy: those that wait in a collective, too."""
    waiting = [(f"algo-{number}", 0.2, 0.5, 98.0) for number in range(2, 2 + n_waiting)]
    others = [(f"algo-{number}", 0.2, 0.9, 98.0) for number in range(2 + n_waiting, 5)]
    parts = nodes(("algo-1", 0.6, 0.9, 98.0), *waiting, *others)

    found = finding(run(RULE, *parts), "STRAG-1")
    assert (found is not None) is is_told
    if found is not None:
        assert "temperature of its GPU" in found.advice
        cores = (replace(part, system=system_table({"cpu0": [50.0] * 40})) for part in parts)
        assert "GPU" not in known(finding(run(RULE, *cores), "STRAG-1")).advice


@pytest.mark.parametrize(("use_pct", "is_told"), [(90.0, False), (85.0, True)])
def test_a_worker_may_wait_in_its_passes_for_one_of_its_own_node(
    use_pct: float, is_told: bool
) -> None:
    rows = synchronous({"algo-1-27": 0.2}, step_s=0.3)
    rows += synchronous({"algo-1-28": 0.6}, step_s=0.9)
    gpus = system_table({"gpu0": [98.0] * 40, "gpu1": [use_pct] * 40}, interval_s=1.0)

    assert (finding(run(RULE, replace(node(rows), system=gpus)), "STRAG-1") is not None) is is_told


@pytest.mark.parametrize("n_steps", [9, 10])
def test_a_straggler_needs_ten_steps_of_each_worker(n_steps: int) -> None:
    rows = synchronous({"algo-1-27": 0.2, "algo-1-28": 0.8}, n_steps=n_steps)

    assert (finding(run(RULE, node(rows)), "STRAG-1") is not None) == (n_steps == 10)


def test_a_worker_that_also_validates_is_no_straggler() -> None:
    # Validation passes are longer, and only one worker runs them.
    rows = synchronous({"algo-1-27": 0.4, "algo-1-28": 0.4})
    late = START_S + 50
    rows += step_rows([0.9] * 60, phase=EVAL, start_s=late, worker="algo-1-28")
    rows += [
        at("Forward", "Net", 50 + index, 50.9 + index, worker="algo-1-28") for index in range(60)
    ]
    result = run(RULE, node(rows))

    assert finding(result, "STRAG-1") is None
    workers = {(row["worker"], row["phase"]): row for row in rows_of(result, "workers")}
    assert workers["algo-1-28", "TRAIN"]["forward_p50_s"] == 0.4
    assert workers["algo-1-28", "EVAL"]["forward_p50_s"] == 0.9


def test_a_worker_alone_has_no_one_to_lag_behind() -> None:
    assert finding(run(RULE, node(synchronous({"algo-1-27": 0.9}))), "STRAG-1") is None


def test_nodes_are_summed() -> None:
    one = node([at("cpu_functions", "a", 0, 2), at("cpu_functions", "b", 3, 4)])
    two = node([at("cpu_functions", "a", 0, 1, worker="algo-2-27")], name="algo-2")
    result = run(RULE, one, two)

    assert result.details["CPU_total"] == {"a": 3_000_000, "b": 1_000_000}
    assert [row["count"] for row in rows_of(result, "cpu_operators")] == [2, 1]


def test_the_order_of_rows_does_not_matter() -> None:
    rows = synchronous({"algo-1-27": 0.4, "algo-1-28": 0.7})
    rows += [at("cpu_functions", name, 3, 5, tid=1) for name in ("conv2d", "convolution", "mm")]
    rows += [at("cpu_functions", "mm", 3 + index, 4 + index, tid=2) for index in range(30)]
    part = node(rows)
    order = np.random.default_rng(1).permutation(part.spans.n_spans)

    assert run(RULE, replace(part, spans=part.spans.where(order))) == run(RULE, part)
