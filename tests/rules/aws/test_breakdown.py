from __future__ import annotations

from typing import Any

import pytest

from reportgen.facts.breakdown import Breakdown, breakdown_of
from reportgen.merging import merge
from reportgen.profile import SpanSource
from reportgen.rules.aws.breakdown import breakdown_details
from tests.builders import span_table
from tests.rules.framework_jobs import EVAL, TRAIN

EMPTY: dict[str, Any] = {"ratio": {}, "phase": {}, "phase_time": {}}


def details_of(*rows: tuple[Any, ...], others: bool = True) -> dict[str, Any]:
    return breakdown_details(breakdown_of(span_table(rows)), with_others=others, phases_first=True)


def test_without_events_the_members_are_empty() -> None:
    assert details_of() == EMPTY
    assert breakdown_details(Breakdown(), with_others=True) == EMPTY


def test_time_between_steps_is_the_gap_not_half_of_it() -> None:
    details = details_of((TRAIN, TRAIN, 0, 3), (TRAIN, TRAIN, 5, 8), (EVAL, EVAL, 8, 10))

    assert details["phase"] == {TRAIN: 60.0, EVAL: 20.0, "others": 20.0}


def test_the_bottleneck_rules_leave_out_the_time_between_steps() -> None:
    rows = ((TRAIN, TRAIN, 0, 3), (TRAIN, TRAIN, 5, 8))

    assert details_of(*rows, others=False)["phase"] == {TRAIN: 100.0}


def test_labels_of_the_ratio_belong_to_their_sums() -> None:
    details = details_of(
        ("cpu_functions", "aten::mm", 0, 1),
        ("gpu_functions-dev:0", "aten::mm", 0, 2),
        ("gpu_functions-dev:1", "aten::mm", 0, 5),
    )

    assert list(details["ratio"]) == ["gpu_functions-dev:0", "gpu_functions-dev:1", "cpu_functions"]
    assert details["ratio"] == {
        "cpu_functions": 12.5,
        "gpu_functions-dev:0": 25.0,
        "gpu_functions-dev:1": 62.5,
    }
    assert details["GPU_total"] == {"aten::mm": 7_000_000}


@pytest.mark.parametrize(("small_us", "is_listed"), [(20, False), (21, True)])
def test_operators_are_listed_above_two_percent(small_us: int, is_listed: bool) -> None:
    big_us = 1000 - small_us
    details = details_of(
        ("cpu_functions", "big", 0, big_us / 1e6), ("cpu_functions", "small", 0, small_us / 1e6)
    )

    expected = {"big": big_us} | ({"small": small_us} if is_listed else {})
    assert details["CPU_total"] == expected
    assert sum(details["CPU"].values()) == pytest.approx(100, abs=1e-12)


def test_members_come_in_the_two_orders_of_aws() -> None:
    parts = breakdown_of(
        span_table(
            [
                (TRAIN, TRAIN, 0, 1),
                ("cpu_functions", "a", 0, 1),
                ("gpu_functions-dev:0", "a", 0, 1),
                ("DataLoaderIter", "It::GetNext", 0, 1),
                ("Forward", "Net", 0, 1),
                ("Backward(post-forward)", "Net", 0, 1),
            ]
        )
    )
    operators = ["CPU", "CPU_total", "GPU", "GPU_total"]

    overall = breakdown_details(parts, with_others=True, phases_first=True)
    assert list(overall) == [
        *("ratio", "phase", "phase_time"),
        *operators,
        *("general", "forward_backward"),
    ]
    bottleneck = breakdown_details(parts, with_others=False)
    assert list(bottleneck) == [
        "ratio",
        *operators,
        *("phase", "phase_time", "general", "forward_backward"),
    ]
    assert list(bottleneck["ratio"]) == ["cpu_functions", "gpu_functions-dev:0"]  # type: ignore[arg-type]


def test_submodules_tell_the_passes_when_both_exist() -> None:
    details = details_of(
        ("Forward", "Net", 0, 50),
        ("Backward(post-forward)", "Net", 50, 60),
        ("Forward-SubModuleInternal", "conv1", 0, 1),
        ("Backward-SubModuleInternal", "conv1", 0, 3),
    )

    assert details["forward_backward"] == {"Forward pass": 25.0, "Backward pass": 75.0}
    assert set(details["general"]) == {"Forward", "Backward(post-forward)"}


@pytest.mark.parametrize(
    "events",
    [
        [
            ("Forward", "Net", 0, 1),
            ("Backward(post-forward)", "Net", 1, 5),
            ("Forward-SubModuleInternal", "conv1", 0, 1),
        ],
        [
            ("ForwardPass", "conv", 0, 2),
            ("ComputeGradient", "conv", 2, 5),
            ("ApplyGradient", "conv", 5, 10),
        ],
    ],
    ids=["no submodules backward", "both parts of TensorFlow's backward pass"],
)
def test_whole_passes_tell_and_their_parts_add_up(events) -> None:
    assert details_of(*events)["forward_backward"] == {"Forward pass": 20.0, "Backward pass": 80.0}


def test_one_pass_alone_is_no_comparison() -> None:
    assert "forward_backward" not in details_of(("Forward", "Net", 0, 1))


@pytest.mark.parametrize("source", [SpanSource.HOROVOD, SpanSource.SMDATAPARALLEL])
def test_communication_is_told_by_activity_whatever_its_tensor_is_called(source) -> None:
    more = {"source": source}
    details = details_of(
        ("Allreduce/gpu_embedding", "NEGOTIATE_ALLREDUCE", 0, 75, more),
        ("Allreduce/fc.weight", "NCCL_ALLREDUCE", 75, 100, more),
        ("Allreduce/fc.weight", "MEMCPY_IN_FUSION_BUFFER", 75, 76, more),
    )

    assert details["horovod"] == {"NEGOTIATE_ALLREDUCE": 75.0, "NCCL_ALLREDUCE": 25.0}
    assert details["ratio"] == {}
    assert "general" not in details


def test_instants_alone_share_nothing() -> None:
    assert details_of(("Forward", "Net", 1, 1)) == EMPTY


def test_nodes_add_up() -> None:
    one = breakdown_of(span_table([(TRAIN, TRAIN, 0, 3), (TRAIN, TRAIN, 5, 8)]))
    other = breakdown_of(span_table([(TRAIN, TRAIN, 0, 2), ("Forward", "Net", 0, 1)]))
    merged = merge([Breakdown(), one, other])

    assert merged.step_ns == {TRAIN: 8_000_000_000}
    assert merged.others_ns == 2_000_000_000
    assert merged.general_ns == {"Forward": 1_000_000_000}
