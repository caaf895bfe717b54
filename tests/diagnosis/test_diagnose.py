"""Which finding is a cause, which a symptom of it, and how the loss is shared out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reportgen.diagnosis import EXPLAINED_BY, diagnose
from reportgen.results import (
    Cause,
    Finding,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Severity,
    Status,
    Where,
)
from tests.report.test_ranking import finding, result

FEW = Cause.TOO_FEW_LOADERS
SWINGS = Cause.GPU_SWINGS
HOST = Cause.HOST_BOUND


def diagnosed(*findings: Finding) -> dict[str, Finding]:
    """Return the findings of a report after the diagnosis, by id."""
    results = diagnose([result(item.id, item) for item in findings])
    return {item.id: item for one in results for item in one.findings}


def symptom(severity: Severity = Severity.WARNING, share_ratio: float | None = 0.4) -> Finding:
    return finding("GPU-2", severity, share_ratio, cause=SWINGS)


def test_a_symptom_names_its_cause_and_points_to_its_advice() -> None:
    found = diagnosed(symptom(), finding("DL-1", Severity.WARNING, 0.5, cause=FEW))

    assert found["GPU-2"].symptom_of == ("DL-1",)
    assert found["GPU-2"].advice == "Do first what DL-1 advises: this is probably an effect of it."
    assert found["DL-1"].advice == "a"
    assert found["DL-1"].symptom_of == ()


@pytest.mark.parametrize(
    "cause",
    [
        finding("DL-1", Severity.INFO, 0.5, cause=FEW),
        finding("DL-1", Severity.WARNING, 0.19, cause=FEW),
        finding("DL-9", Severity.WARNING, 0.5, cause=Cause.MEMORY_GROWTH),
        finding("MY-1", Severity.WARNING, 0.5, cause="solar_wind"),
    ],
    ids=["only a reading", "less than half of the cost", "not in the table", "a plugin's word"],
)
def test_what_does_not_explain_a_finding_leaves_it_a_cause(cause: Finding) -> None:
    found = diagnosed(symptom(), cause)

    assert found["GPU-2"].symptom_of == ()
    assert found["GPU-2"].advice == "a"


def test_a_word_of_a_plugin_is_explained_by_nothing() -> None:
    unknown = finding("MY-1", Severity.WARNING, cause="solar_wind")

    assert diagnosed(unknown, finding("DL-1", Severity.WARNING, cause=FEW))["MY-1"] == unknown


@pytest.mark.parametrize(("worker", "explains"), [("algo-2-28", False), ("algo-1-27", True)])
def test_a_slow_worker_explains_the_rhythm_of_those_that_wait_for_it(worker, explains) -> None:
    slow = finding("STRAG-1", Severity.WARNING, 0.3, cause=Cause.SLOW_WORKER)
    rhythm = finding("PERIOD-1", Severity.WARNING, 0.05, cause=Cause.PERIODIC_SLOW_STEPS)
    slow = replace(slow, where=Where(device="algo-2-28"))

    found = diagnosed(slow, replace(rhythm, where=Where(device=worker)))

    assert (found["PERIOD-1"].symptom_of == ("STRAG-1",)) is explains


def test_the_number_of_the_rule_that_tells_an_effect_does_not_deny_its_causes() -> None:
    waits = finding("DL-5", Severity.WARNING, 0.08, cause=Cause.SLOW_INPUT)
    (loader,) = diagnose([replace(result("Dataloader", waits), metrics={"waited_ratio": 0.03})])

    assert Cause.TOO_FEW_LOADERS in loader.findings[0].possible_causes


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (Cause.LONG_PAUSE, ("GPU-1", Cause.GPU_UNDERUSED)),
        (Cause.PERIODIC_SLOW_STEPS, ("STEP-1", Cause.RANDOM_SLOW_STEPS)),
        (Cause.SLOWING_DOWN, ("STEP-1", Cause.RANDOM_SLOW_STEPS)),
        (Cause.LONG_PAUSE, ("STEP-1", Cause.RANDOM_SLOW_STEPS)),
        (Cause.SLOW_WORKER, ("STEP-1", Cause.RANDOM_SLOW_STEPS)),
        (FEW, ("PERIOD-1", Cause.PERIODIC_SLOW_STEPS)),
        (Cause.TOO_MANY_LOADERS, ("PERIOD-1", Cause.PERIODIC_SLOW_STEPS)),
        (Cause.SLOW_INPUT, ("PERIOD-1", Cause.PERIODIC_SLOW_STEPS)),
    ],
)
def test_two_faults_that_do_not_cause_each_other_stand_beside_each_other(other, expected) -> None:
    finding_id, cause = expected
    fault = finding("X-1", Severity.WARNING, 0.3, cause=other)

    found = diagnosed(fault, finding(finding_id, Severity.WARNING, 0.2, cause=cause))
    assert found[finding_id].symptom_of == ()


def test_a_cause_is_as_severe_as_its_symptom() -> None:
    found = diagnosed(symptom(Severity.CRITICAL), finding("DL-1", Severity.WARNING, 0.5, cause=FEW))

    assert found["DL-1"].severity is Severity.CRITICAL
    assert found["GPU-2"].severity is Severity.CRITICAL


@pytest.mark.parametrize("cost_ratio", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("cause", sorted(EXPLAINED_BY[SWINGS]))
def test_an_unknown_cost_explains_nothing_that_has_one_and_raises_no_severity(cost_ratio, cause):
    known = symptom(Severity.CRITICAL, cost_ratio)
    found = diagnosed(known, finding("X-1", Severity.WARNING, cause=cause))

    assert found["GPU-2"].symptom_of == ()
    assert found["X-1"].severity is Severity.WARNING

    found = diagnosed(
        symptom(Severity.CRITICAL, None), finding("X-1", Severity.WARNING, cost_ratio, cause=cause)
    )
    assert found["X-1"].severity is Severity.WARNING


@pytest.mark.parametrize(
    "effect", [SWINGS, Cause.GPU_UNDERUSED, Cause.HEADROOM, HOST, Cause.LOST_GPU_TIME]
)
def test_what_happens_before_the_first_step_explains_nothing_in_the_loop(effect: str) -> None:
    start = finding("INIT-1", Severity.WARNING, 0.6, cause=Cause.LONG_START)
    found = diagnosed(finding("X-1", Severity.WARNING, 0.5, cause=effect), start)

    assert found["X-1"].symptom_of == ()


@pytest.mark.parametrize(("node", "explains"), [("algo-1", True), ("algo-2", False), (None, True)])
def test_a_gpu_that_is_never_used_explains_that_one_idles_beside_busy_cores(node, explains) -> None:
    busy = replace(finding("CPU-1", Severity.WARNING, 0.5, cause=HOST), where=Where(node="algo-1"))
    unused = replace(
        finding("GPU-1", Severity.WARNING, 0.5, cause=Cause.GPU_IDLE), where=Where(node=node)
    )

    assert (diagnosed(busy, unused)["CPU-1"].symptom_of == ("GPU-1",)) is explains


@pytest.mark.parametrize(("cost", "explained_by"), [(0.55, ()), (0.551, ("DL-1",))])
def test_a_quarter_of_the_time_that_a_cause_leaves_is_a_fault_of_its_own(cost, explained_by):
    # What is a symptom of the same cause takes no more of it.
    found = diagnosed(
        symptom(share_ratio=0.8),
        finding("DL-1", Severity.WARNING, cost, cause=FEW),
        finding("CPU-1", Severity.WARNING, 0.5, cause=HOST),
        finding("PERIOD-1", Severity.WARNING, 0.3, cause=Cause.SLOW_INPUT),
    )

    assert found["GPU-2"].symptom_of == explained_by
    assert found["CPU-1"].symptom_of == ("DL-1",)


def test_only_the_root_of_a_chain_is_named() -> None:
    found = diagnosed(
        symptom(),
        finding("CPU-1", Severity.WARNING, 0.7, cause=HOST),
        finding("DL-1", Severity.WARNING, 0.5, cause=FEW),
    )

    assert found["GPU-2"].symptom_of == ("DL-1",)
    assert found["CPU-1"].symptom_of == ("DL-1",)
    assert found["DL-1"].symptom_of == ()


def test_two_causes_of_one_symptom_are_both_named_the_larger_first() -> None:
    found = diagnosed(
        symptom(),
        finding("IO-1", Severity.WARNING, 0.4, cause=Cause.IO_WAIT),
        finding("PERIOD-1", Severity.WARNING, 0.5, cause=Cause.PERIODIC_SLOW_STEPS),
    )

    assert found["GPU-2"].symptom_of == ("PERIOD-1", "IO-1")
    assert "what PERIOD-1 advises" in found["GPU-2"].advice


@pytest.mark.parametrize(
    ("few", "unpinned", "explained_by"),
    [
        (0.14, 0.06, ("DL-1", "DL-3")),
        (0.13, 0.06, ()),
        (0.16, 0.04, ()),
        (0.15, 0.05, ("DL-1", "DL-3")),
    ],
)
def test_causes_that_account_for_half_of_a_symptom_together_explain_it(few, unpinned, explained_by):
    # Half of 40 % are 20 %; a part below a quarter of that, 5 %, does not count.
    found = diagnosed(
        symptom(),
        finding("DL-1", Severity.WARNING, few, cause=FEW),
        finding("DL-3", Severity.WARNING, unpinned, cause=Cause.UNPINNED_MEMORY),
    )

    assert found["GPU-2"].symptom_of == explained_by


def test_one_cause_told_twice_does_not_count_twice() -> None:
    found = diagnosed(
        symptom(),
        finding("DL-1", Severity.WARNING, 0.15, cause=FEW),
        finding("DL-5", Severity.WARNING, 0.15, cause=FEW),
    )

    assert found["GPU-2"].symptom_of == ()


def test_a_cause_that_two_rules_name_is_told_once_by_the_more_important() -> None:
    found = diagnosed(
        finding("STEPT-1", Severity.WARNING, 0.1, cause=Cause.RANDOM_SLOW_STEPS),
        finding("STEP-1", Severity.WARNING, 0.2, cause=Cause.RANDOM_SLOW_STEPS),
        finding("FW-3", Severity.INFO),
        finding("OPER-1", Severity.INFO),
    )

    assert found["STEP-1"].symptom_of == ()
    assert found["STEPT-1"].symptom_of == ("STEP-1",)
    assert found["OPER-1"].symptom_of == ()


def test_a_rank_that_copies_from_pageable_memory_is_late_because_of_that() -> None:
    late = finding("COMM-1", Severity.WARNING, 0.16, cause=Cause.SLOW_RANK)
    found = diagnosed(late, finding("COPY-1", Severity.WARNING, 0.12, cause=Cause.PAGEABLE_COPIES))

    assert found["COMM-1"].symptom_of == ("COPY-1",)
    assert found["COPY-1"].symptom_of == ()


@pytest.mark.parametrize(("device", "explains"), [("gpu1, gpu2", False), ("gpu0, gpu1", True)])
def test_a_gpu_that_is_never_used_does_not_explain_what_another_one_does(device, explains) -> None:
    swings = replace(symptom(share_ratio=None), where=Where(node="algo-1", device="gpu0"))
    idle = finding("GPU-1", Severity.WARNING, 0.5, cause=Cause.GPU_IDLE)
    found = diagnosed(swings, replace(idle, where=Where(node="algo-1", device=device)))

    assert found["GPU-2"].symptom_of == (("GPU-1",) if explains else ())


@pytest.mark.parametrize(("timed_ratio", "teller"), [(0.3, "DL-5"), (0.29, "IO-1")])
def test_the_rule_that_timed_the_waits_tells_of_their_cause(timed_ratio, teller) -> None:
    # GPUs idle while cores wait for the disk, whatever the GPUs wait for.
    idle = finding("IO-1", Severity.CRITICAL, 0.6, cause=Cause.IO_WAIT)
    timed = finding("DL-5", Severity.WARNING, timed_ratio, cause=Cause.IO_WAIT)
    results = diagnose([result("IOBottleneck", idle), result("Dataloader", timed)])
    (io,), (dl,) = (of.findings for of in results)

    assert [item.id for item in (io, dl) if not item.symptom_of] == [teller]


@pytest.mark.parametrize(("io_wait_pct", "is_possible"), [(49.9, False), (50.0, True)])
def test_an_effect_that_nothing_explains_lists_what_no_measurement_rules_out(
    io_wait_pct: float, is_possible: bool
) -> None:
    skipped = RuleResult(id=RuleId("Dataloader"), status=Status.SKIPPED)
    looked = RuleResult(id=RuleId("IOBottleneck"), status=Status.OK)
    usage = RuleResult(
        id=RuleId("OverallSystemUsage"),
        status=Status.OK,
        metrics={"io_wait_one_core_pct": io_wait_pct},
    )
    (low, *_) = diagnose([result("LowGPUUtilization", symptom()), skipped, looked, usage])

    possible = low.findings[0].possible_causes
    assert Cause.TOO_FEW_LOADERS in possible
    assert (Cause.IO_WAIT in possible) is is_possible


@pytest.mark.parametrize(("copies_ratio", "is_possible"), [(0.039, False), (0.04, True)])
def test_an_effect_lists_copies_from_unpinned_memory_that_no_measurement_rules_out(
    copies_ratio: float, is_possible: bool
) -> None:
    measured = RuleResult(
        id=RuleId("Dataloader"), status=Status.OK, metrics={"copies_at_most_ratio": copies_ratio}
    )
    (low, *_) = diagnose([result("LowGPUUtilization", symptom()), measured])

    assert (Cause.UNPINNED_MEMORY in low.findings[0].possible_causes) is is_possible


def test_without_gpus_nothing_is_copied_to_them() -> None:
    why = Reason(code=ReasonCode.NO_GPU, text="")
    none = RuleResult(id=RuleId("LowGPUUtilization"), status=Status.SKIPPED, reason=why)
    (_, low) = diagnose([none, result("CPUBottleneck", symptom())])

    assert Cause.UNPINNED_MEMORY not in low.findings[0].possible_causes
    assert Cause.WORK_BETWEEN_STEPS in low.findings[0].possible_causes


@pytest.mark.parametrize("n_gpus", [0, 1, 8])
def test_an_effect_in_samples_lists_what_only_a_kernel_trace_would_show(n_gpus: int) -> None:
    lost = finding("GPU-4", Severity.WARNING, 0.2, cause=Cause.LOST_GPU_TIME)
    usage = replace(result("LowGPUUtilization", lost), metrics={"gpu_count": n_gpus})
    possible = diagnose([usage])[0].findings[0].possible_causes

    assert (Cause.SMALL_KERNELS in possible) is (n_gpus > 0)
    assert (Cause.EXPOSED_COMMUNICATION in possible) is (n_gpus > 1)


def test_lost_time_is_told_first_by_the_events_which_say_where_in_the_loop() -> None:
    of_samples = finding("GPU-4", Severity.WARNING, 0.23, cause=Cause.LOST_GPU_TIME)
    of_events = finding("FW-1", Severity.WARNING, 0.22, cause=Cause.LOST_GPU_TIME)
    rules = (("LowGPUUtilization", of_samples), ("OverallFrameworkMetrics", of_events))
    both = diagnose([result(*rule) for rule in rules])

    assert [item.findings[0].symptom_of for item in both] == [("FW-1",), ()]


def test_a_loop_that_does_not_wait_waits_for_no_disk_that_was_not_sampled() -> None:
    skipped = RuleResult(id=RuleId("IOBottleneck"), status=Status.SKIPPED)
    waits = RuleResult(id=RuleId("Dataloader"), status=Status.OK, metrics={"waited_ratio": 0.01})
    (low, *_) = diagnose([result("LowGPUUtilization", symptom()), skipped, waits])

    assert Cause.IO_WAIT not in low.findings[0].possible_causes


def test_gpus_that_are_used_unequally_may_wait_for_a_worker_that_is_held_up() -> None:
    uneven = finding("BAL-1", Severity.WARNING, 0.1, cause=Cause.GPU_IMBALANCE)
    possible = diagnosed(uneven)["BAL-1"].possible_causes

    assert {Cause.RANDOM_SLOW_STEPS, Cause.SLOW_WORKER} <= set(possible)


@pytest.mark.parametrize(("n_processes", "explained"), [(1, ()), (2, ("DL-1",)), (None, ("DL-1",))])
def test_waits_do_not_explain_that_gpus_of_one_process_are_used_unequally(n_processes, explained):
    uneven = finding("BAL-1", Severity.WARNING, 0.4, cause=Cause.GPU_IMBALANCE)
    balance = replace(
        result("LoadBalancing", uneven),
        metrics={} if n_processes is None else {"uneven_processes": n_processes},
    )
    waits = result("Dataloader", finding("DL-1", Severity.WARNING, 0.5, cause=FEW))
    (diagnosed_balance, _) = diagnose([balance, waits])

    assert diagnosed_balance.findings[0].symptom_of == explained
    assert diagnosed_balance.findings[0].possible_causes == ()


def test_unequal_use_in_one_process_and_its_waits_are_two_faults_that_explain_an_effect() -> None:
    uneven = finding("BAL-1", Severity.WARNING, 0.43, cause=Cause.GPU_IMBALANCE)
    balance = replace(result("LoadBalancing", uneven), metrics={"uneven_processes": 1})
    copies = finding("DL-3", Severity.WARNING, 0.35, cause=Cause.UNPINNED_MEMORY)
    low = finding("GPU-1", Severity.CRITICAL, 0.64, cause=Cause.GPU_UNDERUSED)
    found = diagnose([balance, result("Dataloader", copies), result("LowGPUUtilization", low)])

    assert found[2].findings[0].symptom_of == ("BAL-1", "DL-3")


@pytest.mark.parametrize(("n_processes", "explained"), [(1, ("BAL-1",)), (2, ())])
def test_processes_that_wait_for_each_other_explain_no_lost_time(n_processes, explained) -> None:
    uneven = finding("BAL-1", Severity.WARNING, 0.2, cause=Cause.GPU_IMBALANCE)
    balance = replace(result("LoadBalancing", uneven), metrics={"uneven_processes": n_processes})
    lost = finding("FW-1", Severity.WARNING, 0.3, cause=Cause.LOST_GPU_TIME)
    swings = finding("GPU-2", Severity.WARNING, 0.4, cause=Cause.GPU_SWINGS)
    (_, framework, use) = diagnose(
        [balance, result("OverallFrameworkMetrics", lost), result("LowGPUUtilization", swings)]
    )
    assert framework.findings[0].symptom_of == explained
    assert use.findings[0].symptom_of == (explained or ("FW-1",))


def test_busy_cores_hold_up_all_gpus_of_a_node_alike_and_explain_no_unequal_use() -> None:
    uneven = finding("BAL-1", Severity.WARNING, 0.3, cause=Cause.GPU_IMBALANCE)

    found = diagnosed(uneven, finding("CPU-1", Severity.WARNING, 0.3, cause=HOST))
    assert found["BAL-1"].symptom_of == ()
    assert Cause.SLOW_WORKER in found["BAL-1"].possible_causes


def test_an_explained_effect_leaves_nothing_open() -> None:
    skipped = RuleResult(id=RuleId("StepOutlier"), status=Status.SKIPPED)
    results = diagnose(
        [result("A", symptom(), finding("DL-1", Severity.WARNING, 0.5, cause=FEW)), skipped]
    )

    assert [item.possible_causes for item in results[0].findings] == [(), ()]


def test_attributed_shares_do_not_overlap() -> None:
    found = diagnosed(
        symptom(share_ratio=0.9),
        finding("DL-1", Severity.WARNING, 0.5, cause=FEW),
        finding("STRAG-1", Severity.WARNING, 0.6, cause=Cause.SLOW_WORKER),
        finding("FW-1", Severity.INFO, 0.6, cause=Cause.OBSERVATION),
        finding("MEM-1", Severity.WARNING, cause=Cause.MEMORY_GROWTH),
    )

    assert found["STRAG-1"].attributed_ratio == 0.6
    assert found["DL-1"].attributed_ratio == pytest.approx(0.4 * 0.5)
    assert found["GPU-2"].attributed_ratio is None
    assert found["FW-1"].attributed_ratio is None
    assert found["MEM-1"].attributed_ratio is None


def test_the_table_leads_in_no_circle() -> None:
    def reached(word: str, path: tuple[str, ...]) -> None:
        assert word not in path, path
        for cause in EXPLAINED_BY.get(word, ()):
            reached(cause, (*path, word))

    for word in EXPLAINED_BY:
        reached(word, ())


@pytest.mark.parametrize(
    "cause",
    [
        Cause.WORK_BETWEEN_STEPS, Cause.PERIODIC_SLOW_STEPS, Cause.RANDOM_SLOW_STEPS,
        Cause.SLOWING_DOWN, Cause.LONG_PAUSE,
    ],
)  # fmt: skip
def test_a_host_that_is_busy_in_slow_steps_or_between_them_is_a_symptom(cause: Cause) -> None:
    busy = finding("CPU-1", Severity.WARNING, 0.6, cause=HOST)
    found = diagnosed(busy, finding("X-1", Severity.WARNING, 0.5, cause=cause))

    assert found["CPU-1"].symptom_of == ("X-1",)


@pytest.mark.parametrize(
    ("severity", "symptom_of"), [(Severity.WARNING, ()), (Severity.INFO, ("PERIOD-1",))]
)
def test_a_rhythm_explains_the_time_between_steps_but_not_the_work_behind_each(
    severity: Severity, symptom_of: tuple[str, ...]
) -> None:
    rhythm = finding("PERIOD-1", Severity.WARNING, 0.2, cause=Cause.PERIODIC_SLOW_STEPS)
    between = finding("FW-1", severity, 0.3, cause=Cause.WORK_BETWEEN_STEPS)

    assert diagnosed(rhythm, between)["FW-1"].symptom_of == symptom_of


@pytest.mark.parametrize(("share", "teller"), [(0.11, "PERIOD-1"), (0.09, "STEP-1")])
def test_the_rule_that_looks_for_a_cause_tells_it_with_half_of_what_it_may_cost(share, teller):
    cause = Cause.PERIODIC_SLOW_STEPS
    results = diagnose(
        [
            result("StepOutlier", finding("STEP-1", Severity.WARNING, 0.2, cause=cause)),
            result("StepPeriodicity", finding("PERIOD-1", Severity.WARNING, share, cause=cause)),
        ]
    )

    assert [item.id for of in results for item in of.findings if not item.symptom_of] == [teller]


@pytest.mark.parametrize(("status", "is_told"), [(Status.TRIGGERED, False), (Status.OK, True)])
def test_no_larger_batch_is_advised_where_a_bottleneck_rule_triggered(status, is_told) -> None:
    batch = result("BatchSize", finding("BATCH-1", Severity.WARNING, cause=Cause.GPU_UNDERUSED))
    (room, _) = diagnose([batch, RuleResult(id=RuleId("CPUBottleneck"), status=status)])

    assert bool(room.findings) is is_told


@pytest.mark.parametrize(("status", "is_open"), [(Status.SKIPPED, True), (Status.OK, False)])
def test_without_events_a_gpu_that_is_under_used_may_wait_for_something(status, is_open) -> None:
    low = finding("GPU-1", Severity.WARNING, 0.5, cause=Cause.GPU_UNDERUSED)
    events = RuleResult(id=RuleId("OverallFrameworkMetrics"), status=status)
    (found, _) = diagnose([result("LowGPUUtilization", low), events])

    assert (Cause.WORK_BETWEEN_STEPS in found.findings[0].possible_causes) is is_open


@pytest.mark.parametrize(
    ("severity", "share_ratio", "is_open", "explained"),
    [
        (Severity.INFO, 0.6, False, ()),
        (Severity.WARNING, 0.2, True, ()),
        (Severity.WARNING, 0.6, False, ("FW-1",)),
    ],
    ids=["a reading", "little of it", "most of it"],
)
def test_time_that_gpus_lose_between_steps_says_where_they_are_under_used(
    severity: Severity, share_ratio: float, is_open: bool, explained: tuple[str, ...]
) -> None:
    low = finding("GPU-1", Severity.WARNING, 0.5, cause=Cause.GPU_UNDERUSED)
    between = finding("FW-1", severity, share_ratio, cause=Cause.LOST_GPU_TIME)
    results = [result("LowGPUUtilization", low), result("OverallFrameworkMetrics", between)]
    (found, lost) = diagnose(results)

    assert (Cause.WORK_BETWEEN_STEPS in found.findings[0].possible_causes) is is_open
    assert found.findings[0].symptom_of == explained
    if explained:
        assert Cause.WORK_BETWEEN_STEPS in lost.findings[0].possible_causes


def test_copies_are_left_out_of_work_between_steps_and_do_not_explain_it() -> None:
    work = finding("FW-1", Severity.WARNING, 0.3, cause=Cause.WORK_BETWEEN_STEPS)
    copies = finding("DL-3", Severity.WARNING, 0.4, cause=Cause.UNPINNED_MEMORY)
    swings = finding("GPU-2", Severity.CRITICAL, 0.75, cause=Cause.GPU_SWINGS)
    found = diagnosed(work, copies, swings)

    assert found["FW-1"].symptom_of == ()
    assert found["GPU-2"].symptom_of == ("DL-3",), "both together account for it"


def test_gpus_that_are_short_of_work_may_slow_down_or_swing() -> None:
    short = finding("GPU-4", Severity.WARNING, 0.1, cause=Cause.LOST_GPU_TIME)
    possible = diagnosed(short)["GPU-4"].possible_causes

    assert {FEW, SWINGS, Cause.SLOWING_DOWN, Cause.WORK_BETWEEN_STEPS} <= set(possible)
