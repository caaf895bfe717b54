"""Where in the pipeline the loop's time goes, by hand-made events."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.rules.overall_framework_metrics.measure import each_stage_once, stages_of
from reportgen.rules.overall_framework_metrics.tables import (
    LoopParts,
    exhibit_of_loop,
    exhibit_of_stages,
)
from tests.builders import START_S, span_table
from tests.rules.framework_jobs import TRAIN

HOROVOD = {"source": "horovod_timeline"}


def event(phase: str, name: str, start_s: float, end_s: float, **more: Any) -> tuple[Any, ...]:
    """Return an event, seconds after the start of built jobs."""
    return (phase, name, START_S + start_s, START_S + end_s, more)


def step(number: int, start_s: float, end_s: float, **more: Any) -> tuple[Any, ...]:
    return event(TRAIN, TRAIN, start_s, end_s, step=number, **more)


def table(*nodes: list[tuple[Any, ...]]) -> dict[str, tuple[float | None, str]]:
    """Return (share in %, evidence) of each stage."""
    (exhibit,) = exhibit_of_stages(each_stage_once([stages_of(span_table(rows)) for rows in nodes]))
    stages, shares, _, _, evidence = (column.values for column in exhibit.columns)
    return {
        str(stage): (share if isinstance(share, float | int) else None, str(said))
        for stage, share, said in zip(stages, shares, evidence, strict=True)
    }


TEN = [
    row
    for number in range(10)
    for row in (
        step(number, 10 * number, 10 * number + 8),
        event("Forward", "ResNet", 10 * number, 10 * number + 3),
        event("Backward(post-forward)", "ResNet", 10 * number + 3, 10 * number + 7),
        event("DataLoaderIter", "Iter::GetNext", 10 * number + 8, 10 * number + 9),
    )
]
"""Ten steps of 8 s, a new one each 10 s: 3 s forward, 4 s backward, 1 s waiting behind it."""


def test_shares_of_the_loop_add_up_to_a_hundred_where_stages_do_not_overlap() -> None:
    shares = {stage: share for stage, (share, _) in table(TEN).items() if share is not None}
    assert shares == pytest.approx(
        {
            "wait for a batch": 100 * 9 / 98,  # the tenth lies behind the loop
            "forward": 100 * 30 / 98,
            "backward": 100 * 40 / 98,
            "others within steps": 100 * 10 / 98,
            "others between steps": 100 * 9 / 98,
        },
        abs=1e-3,
    )
    assert sum(shares.values()) == pytest.approx(100, abs=0.01)


def test_a_stage_without_data_is_unknown_not_zero() -> None:
    stages = table(TEN)
    for stage in ("read", "preprocess", "transfer", "communication", "output"):
        assert stages[stage] == (None, "not recorded")


def test_operators_of_some_steps_have_shares_of_those_steps() -> None:
    rows = [
        *TEN,
        event("gpu_functions-dev:0", "Memcpy HtoD", 20, 22),
        event("gpu_functions-dev:0", "aten::conv2d", 30, 31),
    ]
    share, said = table(rows)["transfer"]
    assert share == pytest.approx(100 * 2 / 16)
    assert said == "Memcpy HtoD; 2 of 10 steps"


def test_what_a_loader_and_a_script_name_is_told_apart() -> None:
    rows = [
        *TEN,
        event("DataIterator", "TFRecordDataset", 0, 4.9),
        event("DataIterator", "ParallelMapV2", 0, 9.8),
        event("Script", "save_checkpoint", 88, 89.96),
    ]
    stages = table(rows)
    assert stages["read"][0] == pytest.approx(5.0)
    assert stages["preprocess"][0] == pytest.approx(10.0)
    assert stages["output"][0] == pytest.approx(2.0)
    assert stages["output"][1] == "save_checkpoint; all steps and the time between them"


def test_horovods_activities_are_communication() -> None:
    rows = [*TEN, event("tensor.cpu", "NCCL_ALLREDUCE", 0, 9.8, **HOROVOD)]
    assert table(rows)["communication"][0] == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("phase", "name", "is_communication"),
    [
        ("NcclManager", "kAllReduce", True),
        ("cpu_functions", "c10d::allreduce_", True),
        ("cpu_functions", "record_param_comms: all_gather", True),
        ("cpu_functions", "c10d::broadcast_", True),
        ("cpu_functions", "aten::broadcast_tensors", False),
        ("cpu_functions", "aten::allclose", False),
    ],
)
def test_an_exchange_of_data_is_communication_in_any_spelling(phase, name, is_communication):
    stages = table([*TEN, event(phase, name, 0, 9.8)])
    assert (stages["communication"][0] is not None) is is_communication


def test_workers_and_nodes_add_up() -> None:
    other = [step(0, 0, 98, worker="algo-2-27")]
    assert table(TEN, other)["forward"][0] == pytest.approx(100 * 30 / 98, abs=1e-3)
    both = table(TEN, [*other, event("Forward", "x", 0, 68, worker="algo-2-27")])
    assert both["forward"][0] == pytest.approx(50.0)


def test_without_steps_there_is_no_loop_to_share() -> None:
    for rows in ([], [event("Forward", "x", 0, 1)]):
        assert stages_of(span_table(rows)) == ()
    assert list(exhibit_of_stages(())) == []


def test_steps_alone_tell_only_the_time_between_them() -> None:
    stages = table([step(0, 0, 4), step(1, 6, 10)])
    assert stages["others between steps"][0] == pytest.approx(20.0)
    assert stages["others within steps"] == (None, "not recorded")


@pytest.mark.parametrize("are_waits_known", [True, False])
def test_waits_that_were_not_recorded_are_said_to_be_among_the_others(are_waits_known) -> None:
    part = LoopParts(
        forward_ns=2,
        backward_ns=3,
        loading_ns=1,
        whole_ns=10,
        n_steps=5,
        n_all_steps=5,
        are_waits_known=are_waits_known,
    )
    (shares,) = exhibit_of_loop([part])

    assert ("Only recorded waits count here" in (shares.caption or "")) is not are_waits_known
