from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reportgen.results import Cause, Counters, ReasonCode, Severity, Status
from reportgen.rules.low_gpu_utilization import RULE
from tests.builders import START_S, known, node_profile
from tests.rules.framework_jobs import finding, rows_of
from tests.rules.samples import run

SMALL = {"patience": 10, "window": 10}
"""Ten samples a minute at one sample in six seconds: judged from the second minute on."""


def node(*, name: str = "algo-1", steps: tuple[float, float] | None = None, **gpus: list[float]):
    rows = [("Step:ModeKeys.TRAIN", "s", START_S + steps[0], START_S + steps[1])] if steps else []
    return node_profile(gpus, rows, interval_s=6, node=name)


def test_an_under_used_gpu_is_counted_each_judged_minute() -> None:
    result = run(RULE, node(gpu0=[30.0, 40.0] * 15), **SMALL)

    assert result.status is Status.TRIGGERED
    assert result.counters == Counters(rule_triggered=2, violations=2, datapoints=30)
    assert result.details == {
        "algo-1": {
            "gpu0": {
                "gpu_max": 40.0,
                "gpu_95": 40.0,
                "gpu_5": 30.0,
                "p25": 30.0,
                "p50": 35.0,
                "p75": 40.0,
                "p95": 40.0,
                "upper": 40.0,
                "lower": 30.0,
            }
        },
        "last_timestamp": int(START_S + 120) * 1_000_000,
    }
    assert list(result.details) == ["algo-1", "last_timestamp"]


def test_an_under_used_gpu_gets_its_own_text_with_place_time_and_estimate() -> None:
    found = known(finding(run(RULE, node(gpu0=[30.0, 40.0] * 15), **SMALL), "GPU-1"))
    assert found.severity is Severity.CRITICAL
    unit = "% (95th percentile in its working time)"
    assert (found.measured, found.threshold, found.unit) == (40.0, 70.0, unit)
    assert "gpu0 on algo-1 is only 40.0 %" in found.title
    assert "the mean utilization of this GPU is 35.0 %" in found.text
    assert (found.where.node, found.where.device) == ("algo-1", "gpu0")
    assert (found.where.start_s, found.where.end_s) == (START_S, START_S + 29 * 6)
    assert found.estimate is not None
    assert (found.estimate.share_ratio, found.estimate.speedup_at_most) == (0.65, 2.86)
    assert "batch" in found.advice


@pytest.mark.parametrize(
    ("gpus", "said"), [(1, "The only GPU is never used"), (2, "Both GPUs are never used")]
)
def test_a_job_that_leaves_all_its_gpus_alone_is_not_told_to_raise_the_batch(gpus, said) -> None:
    columns: dict[str, Any] = {f"gpu{index}": [0.0, 1.0] * 15 for index in range(gpus)}
    (found,) = run(RULE, node(**columns), **SMALL).findings

    assert found.title.startswith(said)
    assert found.severity is Severity.CRITICAL
    assert "moved to the GPU" in found.advice
    assert found.estimate is None


def test_a_gpu_that_swings_gets_the_other_text() -> None:
    result = run(RULE, node(gpu0=[0.0, 95.0] * 15), **SMALL)
    found = finding(result, "GPU-2")

    assert result.counters.rule_triggered == 2
    assert finding(result, "GPU-1") is None
    assert found is not None
    # The first idle sample is start-up: 14 of the 29 samples at work are idle.
    assert "idle for 48.3 % of its working time" in found.title
    assert (found.measured, found.threshold) == (0.0, 10.0)
    assert rows_of(result, "utilization")[0]["verdict"] == "fluctuating"


def test_a_busy_gpu_is_fine() -> None:
    result = run(RULE, node(gpu0=[80.0, 95.0] * 15), **SMALL)

    assert result.status is Status.OK
    assert result.counters == Counters(datapoints=30)
    assert (result.details, result.findings) == ({}, ())
    assert rows_of(result, "utilization")[0]["verdict"] == "fine"


@pytest.mark.parametrize(
    ("values", "triggers"),
    [
        *[([69.99], 2), ([70.0], 0), ([70.01], 0)],  # p95 must be below its threshold
        *[([9.99] * 3 + [95.0] * 7, 2), ([10.0] * 3 + [95.0] * 7, 0)],  # as p5 below its own
        *[([0.0, 70.0], 0), ([0.0, 70.01], 2)],  # a p95 equal to it is neither low nor fluctuating
    ],
)
def test_thresholds_of_both_percentiles_are_strict(values: list[float], triggers: int) -> None:
    gpu = values * (30 // len(values))

    assert run(RULE, node(gpu0=gpu), **SMALL).counters.rule_triggered == triggers


def test_as_many_samples_as_patience_are_too_few() -> None:
    short = run(RULE, node(gpu0=[5.0] * 10), **SMALL)
    enough = run(RULE, node(gpu0=[5.0] * 11), **SMALL)

    assert short.status is Status.SKIPPED
    assert short.reason is not None
    assert short.reason.code is ReasonCode.TOO_FEW_SAMPLES
    assert "10 samples of the machines' utilization; this check needs" in short.reason.text
    assert short.counters == Counters(datapoints=10)
    assert short.findings == ()
    assert enough.counters.rule_triggered == 1


def test_a_job_without_gpus_is_skipped() -> None:
    result = run(RULE, node_profile({"cpu0": [5.0] * 30}), **SMALL)

    assert result.status is Status.SKIPPED
    assert known(result.reason).code is ReasonCode.NO_GPU
    assert result.details == {}


def test_all_gpus_of_all_nodes_are_counted_and_one_finding_names_them() -> None:
    result = run(
        RULE,
        node(name="algo-1", gpu0=[90.0] * 30, gpu1=[60.0] * 29 + [90.0]),
        node(name="algo-2", gpu0=[20.0] * 25),
        **SMALL,
    )

    assert result.counters.rule_triggered == 3
    # The stamp stands behind the first node.
    assert list(result.details) == ["algo-1", "last_timestamp", "algo-2"]
    assert result.details["last_timestamp"] == int(START_S + 120) * 1_000_000
    (found,) = result.findings
    assert found.id == "GPU-1"
    assert found.where.node == "algo-2"
    assert "2 of 3 GPUs (also gpu1 on algo-1)" in found.text


def test_an_entry_keeps_the_history_of_its_last_violation() -> None:
    result = run(RULE, node(gpu0=[40.0] * 20 + [95.0] * 20), **SMALL)

    entry = result.details["algo-1"]
    assert isinstance(entry, dict)
    assert isinstance(entry["gpu0"], dict)
    assert entry["gpu0"]["gpu_max"] == 40.0
    assert result.details["last_timestamp"] == int(START_S + 60) * 1_000_000


def test_an_idle_end_alone_is_counted_but_raises_no_alarm() -> None:
    result = run(RULE, node(gpu0=[95.0] * 35 + [0.0] * 5), **SMALL)

    assert result.counters.rule_triggered == 1
    assert result.findings == ()
    assert rows_of(result, "utilization")[0]["verdict"] == "fine"


def test_with_steps_all_that_lies_outside_the_loop_is_an_edge() -> None:
    values = [0.0] * 35 + [95.0] * 25

    without = run(RULE, node(gpu0=values), **SMALL)
    with_steps = run(RULE, node(gpu0=values, steps=(35 * 6, 59 * 6)), **SMALL)

    assert without.counters == with_steps.counters
    # The time in which no GPU works yet is the start of the job, which another rule tells.
    assert {item.severity for item in (*without.findings, *with_steps.findings)} <= {Severity.INFO}


@pytest.mark.parametrize(("n_rests", "is_told"), [(1, False), (2, False), (3, True)])
def test_a_gpu_that_pauses_once_or_twice_does_not_swing(n_rests: int, is_told: bool) -> None:
    values = [95.0] * 400
    for rest in range(n_rests):
        values[100 + 60 * rest : 130 + 60 * rest] = [0.0] * 30
    assert (finding(run(RULE, node(gpu0=values), **SMALL), "GPU-2") is not None) is is_told


def test_a_busy_core_in_idle_ticks_turns_the_advice_to_the_host() -> None:
    gpu = [0.0, 95.0] * 15
    part = node(gpu0=gpu, cpu0=[95.0 if value == 0 else 20.0 for value in gpu])

    found = known(finding(run(RULE, part, **SMALL), "GPU-2"))
    assert "in 100.0 % of the idle samples a CPU core was busy" in found.advice


def test_absent_samples_do_not_count() -> None:
    values = [30.0, None] * 30

    result = run(RULE, node(gpu0=values), patience=10, window=5)  # type: ignore[arg-type]

    assert result.counters.datapoints == 30


def test_gpus_that_never_work_beside_others_are_told_as_unused() -> None:
    found = known(finding(run(RULE, node(gpu0=[90.0] * 20, gpu1=[0.0] * 20), **SMALL), "GPU-1"))
    assert found.title == "1 of 2 GPUs is never used: gpu1 on algo-1"
    assert "one process per GPU" in found.advice


def test_a_few_samples_in_which_cuda_is_set_up_are_no_use_of_a_gpu() -> None:
    (found,) = run(RULE, node(gpu0=[0.0] * 10 + [12.0] * 2 + [0.0] * 60), **SMALL).findings

    assert found.cause == Cause.GPU_IDLE
    assert "was 12.0 %, and that in a few samples only" in found.text


def test_a_gpu_that_works_a_little_is_under_used_and_may_have_a_cause() -> None:
    found = known(finding(run(RULE, node(gpu0=[5.0] * 30), **SMALL), "GPU-1"))
    assert found.title.startswith("GPU under-used")
    assert found.cause == Cause.GPU_UNDERUSED


def test_a_gpu_that_works_in_a_part_of_the_time_is_not_called_under_used() -> None:
    found = known(finding(run(RULE, node(gpu0=[95.0] * 20 + [0.0] * 40), **SMALL), "GPU-1"))
    assert found.title.startswith("GPU stopped: gpu0 on algo-1 is idle for the last 67.8 %")
    assert "ended" in found.advice
    assert found.cause == Cause.GPU_STOPPED


def test_a_node_whose_gpus_all_idle_is_told_to_be_looked_at() -> None:
    result = run(RULE, node(gpu0=[90.0] * 20), node(name="algo-2", gpu0=[0.0] * 20), **SMALL)
    assert "processes on algo-2" in known(finding(result, "GPU-1")).advice


def of_cause(result: Any, cause: Cause) -> Any:
    return next((found for found in result.findings if found.cause == cause), None)


@pytest.mark.parametrize(("steps", "share"), [(None, 0.6), ((0, 69 * 6), 0.15)])
def test_a_gpu_that_works_least_costs_what_it_leaves_unused_as_others_may_wait_for_it(
    steps: tuple[int, int] | None, share: float
) -> None:
    """Unless the steps are those of one process."""
    busy = [95.0] * 70
    part = node(steps=steps, gpu0=[40.0] * 70, gpu1=busy, gpu2=busy, gpu3=busy)
    found = known(finding(run(RULE, part), "GPU-1"))

    assert known(found.estimate).share_ratio == share
    assert found.severity is Severity.WARNING  # 15 % of all


def test_a_gpu_that_stops_wastes_the_rest_of_its_own_time() -> None:
    stops = [95.0] * 20 + [0.0] * 40
    result = run(RULE, node(gpu0=stops, gpu1=[95.0] * 60, gpu2=[95.0] * 60), **SMALL)
    (found,) = result.findings

    assert found.cause == Cause.GPU_STOPPED
    # From the 20th to the last of 60 samples: 40 of 59 intervals of one of three GPUs
    assert known(found.estimate).share_ratio == pytest.approx(40 / 59 / 3, abs=1e-6)
    assert (found.where.start_s, found.where.end_s) == (START_S + 19 * 6, START_S + 59 * 6)
    assert rows_of(result, "utilization")[0]["work_mean_pct"] == 95.0


@pytest.mark.parametrize(("n_idle", "is_told"), [(25, False), (26, True)])
def test_what_follows_the_last_work_of_all_gpus_is_told_from_the_cost_of_a_start_on(
    n_idle: int, is_told: bool
) -> None:
    values = [95.0] * 100 + [0.0] * n_idle

    result = run(RULE, node(gpu0=values, gpu1=values, steps=(0, 99 * 6)), **SMALL)

    assert (of_cause(result, Cause.GPU_STOPPED) is not None) == is_told


def test_a_stop_costs_its_part_of_the_time_in_which_others_work() -> None:
    # Of two GPUs, one works for 20 of 60 intervals; both begin and end the job idle.
    rest = [0.0] * 40
    values = [*rest, *[95.0] * 61, *rest], [*rest, *[95.0] * 21, *[0.0] * 40, *rest]
    found = known(
        of_cause(run(RULE, node(gpu0=values[0], gpu1=values[1]), **SMALL), Cause.GPU_STOPPED)
    )
    assert known(found.estimate).share_ratio == pytest.approx((40 + 40 + 40) / 2 / 100, abs=0.01)


@pytest.mark.parametrize(("n_idle", "is_told"), [(5, False), (6, True)])
def test_half_a_minute_alone_is_a_stop_where_others_go_on(n_idle: int, is_told: bool) -> None:
    values = [95.0] * 90 + [0.0] * n_idle

    result = run(RULE, node(gpu0=values, gpu1=[95.0] * len(values)), **SMALL)

    assert (of_cause(result, Cause.GPU_STOPPED) is not None) == is_told


def test_a_gpu_that_stopped_before_the_first_recorded_step_is_not_under_used() -> None:
    values = [95.0] * 80 + [0.0] * 120
    result = run(RULE, node(gpu0=values, gpu1=[95.0] * 200, steps=(100 * 6, 199 * 6)), **SMALL)

    assert [item.cause for item in result.findings] == [Cause.GPU_STOPPED]


def test_a_gpu_that_swings_wastes_its_rests() -> None:
    # Four samples of rest in twelve, the first of them half: what it does between is its usual use.
    values = ([80.0] * 8 + [40.0] + [0.0] * 3) * 5 + [80.0] * 8
    found = known(finding(run(RULE, node(gpu0=values), **SMALL), "GPU-2"))
    assert known(found.estimate).share_ratio == pytest.approx(5 * 3.5 / len(values), abs=1e-6)


@pytest.mark.parametrize(("resting", "is_told"), [(8e7, True), (1.5e7, False)])
def test_what_a_node_writes_while_a_gpu_rests_is_told(resting: float, is_told: bool) -> None:
    use, written = ([95.0] * 16 + [0.0] * 4) * 5 + [95.0], ([1e7] * 16 + [resting] * 4) * 5 + [1e7]
    found = known(finding(run(RULE, node(gpu0=use, write=written), **SMALL), "GPU-2"))
    assert ("80 MB/s written to disk, otherwise 10 MB/s" in found.text) is is_told
    assert ("save checkpoints asynchronously" in found.advice) is is_told


def test_what_is_written_in_a_few_rests_does_not_say_why_a_gpu_rests() -> None:
    use = ([95.0] * 16 + [0.0] * 4) * 5 + [95.0]
    written = [1e6] * 80 + [1e6] * 16 + [5e8] * 4 + [1e6]
    found = known(finding(run(RULE, node(gpu0=use, write=written), **SMALL), "GPU-2"))
    assert "written to disk" not in found.text
    assert "save checkpoints" not in found.advice


def test_a_job_too_short_for_sagemaker_is_judged_nonetheless() -> None:
    result = run(RULE, node(gpu0=[30.0] * 21))

    assert result.counters == Counters(datapoints=21)
    assert result.status is Status.TRIGGERED
    assert finding(result, "GPU-1") is not None
    assert run(RULE, node(gpu0=[30.0] * 20)).status is Status.SKIPPED


@pytest.mark.parametrize(
    ("n_samples", "interval_s", "is_judged"),
    [(21, 1.5, True), (20, 60, False), (21, 1.4, False), (60, 0.5, False), (61, 0.1, True)],
)
def test_more_than_twenty_samples_are_judged_that_span_half_a_minute(
    n_samples, interval_s, is_judged
) -> None:
    columns = {"gpu0": [90.0] * n_samples, "gpu1": [0.0] * n_samples}
    result = run(RULE, node_profile(columns, interval_s=interval_s))

    assert (result.status is Status.TRIGGERED) is is_judged
    assert (of_cause(result, Cause.GPU_IDLE) is not None) is is_judged


@pytest.mark.parametrize(("n_working", "is_judged"), [(19, False), (20, True)])
def test_a_gpu_is_judged_by_as_many_samples_of_its_work(n_working: int, is_judged: bool) -> None:
    result = run(RULE, node(gpu0=[0.0] * 30 + [30.0] * n_working))
    assert (finding(result, "GPU-1") is not None) is is_judged


def test_a_few_recorded_steps_with_hardly_a_sample_are_not_the_loop_of_the_job() -> None:
    use = [100.0] + [49.0] * 2 + [100.0] * 58

    assert run(RULE, node(gpu0=use, steps=(5, 15))).findings == ()


def test_a_window_of_recorded_steps_is_not_the_loop_of_the_job() -> None:
    use = [99.0] * 100 + [40.0] * 30 + [99.0] * 100
    short = run(RULE, node(gpu0=[99.0, 99.0, 60.0] * 80, steps=(60, 300)))

    assert run(RULE, node(gpu0=use, steps=(600, 774))).findings == ()
    assert [found.id for found in short.findings] == ["GPU-4"]


def test_a_gpu_that_is_never_idle_is_judged_by_what_it_does_on_average() -> None:
    # Samples of a second meet steps of 0.7 s here and there.
    values = [50.0, 62.0, 84.0, 66.0, 70.0] * 40
    part = node_profile({"gpu0": values, "gpu1": values}, interval_s=1)
    found = known(finding(run(RULE, part, **SMALL), "GPU-1"))
    assert found.severity is Severity.WARNING
    assert "gpu0 on algo-1 is at 66.4 % on average" in found.title
    assert (found.measured, found.threshold) == (66.4, 70.0)
    assert known(found.estimate).share_ratio == pytest.approx(0.336)
    assert found.where.end_s == START_S + 199


def test_a_gpu_that_rests_costs_all_of_its_rests_as_others_may_wait_for_it_and_look_busy() -> None:
    rests = ([95.0] * 88 + [0.0] * 12) * 4 + [95.0]
    found = known(finding(run(RULE, node(gpu0=rests, gpu1=[95.0] * 401), **SMALL), "GPU-2"))

    assert found.severity is Severity.WARNING
    assert known(found.estimate).share_ratio == pytest.approx(48 / 401, abs=1e-4)


@pytest.mark.parametrize(("level", "severity"), [(95.0, "info"), (60.0, "warning")])
def test_short_rests_are_a_reading_where_a_gpu_has_enough_work_otherwise(level, severity) -> None:
    rests = ([95.0, level] * 46 + [0.0] * 8) * 4 + [95.0]
    (found,) = run(RULE, node(gpu0=rests), **SMALL).findings

    assert (found.id, found.severity) == ("GPU-2", severity)


@pytest.mark.parametrize(("level", "is_told"), [(77.0, False), (75.0, True)])
def test_gpus_that_miss_a_tenth_of_their_usual_use_wait_for_something(level, is_told) -> None:
    # The 75th percentile is 95; half of the samples are lower by 18 or 20 points.
    values = [95.0, level] * 60
    result = run(RULE, node(gpu0=values), **SMALL)
    with_steps = run(RULE, node(gpu0=values, steps=(0, 119 * 6)), **SMALL)

    assert [found.id for found in result.findings] == ["GPU-4"] * is_told
    assert [found.id for found in with_steps.findings] == ["GPU-4"] * is_told
    if is_told:
        assert "PyTorch profiler" in with_steps.findings[0].advice
        (found,) = result.findings
        assert (found.cause, found.severity) == (Cause.LOST_GPU_TIME, Severity.WARNING)
        assert known(found.estimate).share_ratio == pytest.approx(10 / 95, abs=1e-6)


@pytest.mark.parametrize(("steady", "is_told"), [(92.0, False), (86.0, False), (83.0, True)])
def test_a_steady_use_that_scatters_by_four_points_is_short_of_work_if_much_is_unused(
    steady: float, is_told: bool
) -> None:
    values = np.random.default_rng(3).normal(steady, 4.0, 600).round().clip(0, 100).tolist()

    assert [found.id for found in run(RULE, node(gpu0=values)).findings] == ["GPU-4"] * is_told


def test_waiting_for_the_first_batch_belongs_to_the_start() -> None:
    values = [0.0] * 16 + [97.0] * 80
    assert run(RULE, node(gpu0=values, steps=(0, 95 * 6))).findings == ()


@pytest.mark.parametrize(("early", "is_told"), [(10, True), (4, False)])
def test_a_gpu_that_stops_before_the_others_is_told_though_all_idle_at_the_end(early, is_told):
    """They all idle for the last 48 s, as while a model is uploaded; gpu1 for 60, or 24, s more."""
    use, other = ([99.0] * (92 - n) + [0.0] * (8 + n) for n in (0, early))
    found = finding(run(RULE, node(gpu0=use, gpu1=other)), "GPU-1")

    assert (found is not None) is is_told
    if found is not None:
        assert found.where.device == "gpu1"
        assert known(found.estimate).share_ratio == pytest.approx(10 / 91 / 2, abs=1e-3)


def test_the_cost_of_a_gpu_that_stops_is_known_beside_a_window_of_recorded_steps() -> None:
    part = node(steps=(60, 120), gpu0=[99.0] * 100, gpu1=[99.0] * 60 + [0.0] * 40)
    found = known(finding(run(RULE, part), "GPU-1"))
    assert known(found.estimate).share_ratio == pytest.approx(0.2, abs=0.01)
