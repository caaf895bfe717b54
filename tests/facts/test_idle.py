"""Causes of idling, by hand-made numbers."""

from __future__ import annotations

import numpy as np
import pytest

from reportgen.facts.device_busy import unions_of, windows_of
from reportgen.facts.idle import causes_of, cut, gaps_in, totals_by_cause
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import SliceKind
from reportgen.units import NS_PER_US
from tests.rules.kernels.builders import ANNOTATION, LOADER, gap_trace


def causes(trace: RankTrace, place: int = 0) -> dict[str, float]:
    """Return the causes of the first device in a window that are not 0."""
    window = windows_of(trace)[place]
    gaps = gaps_in(trace, unions_of(trace, None)[0], window)
    found = totals_by_cause(causes_of(trace, gaps), window)
    return {cause: time_ns / 1000 for cause, time_ns in found.items() if time_ns}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ((150.0, 10.0), {"host_late:other": 50, "in_launch_call": 10, "waiting": 40}),
        ((150.0, 25.0), {"host_late:other": 50, "in_launch_call": 25, "kernel_gap": 25}),
        ((10.0, 5.0), {"waiting": 100}),
        ((150.0, 90.0), {"host_late:other": 50, "in_launch_call": 50}),
        ((90.0, 80.0), {"in_launch_call": 70, "waiting": 30}),
        ((90.0, 80.5), {"in_launch_call": 70.5, "kernel_gap": 29.5}),
        (None, {"launch_not_recorded": 100}),
    ],
)
def test_a_gap_is_split_by_the_launch_that_ends_it(call, expected) -> None:
    assert causes(gap_trace(call)) == expected


def test_the_host_is_late_for_the_first_reason_that_holds() -> None:
    trace = gap_trace(
        (200.0, 1.0),
        calls=[
            ("cudaStreamSynchronize", 105.0, 15.0),
            ("cudaMemcpyAsync", 115.0, 10.0),
            ("cudaMalloc", 170.0, 5.0),
        ],
        slices=[
            (LOADER, 100.0, 10.0, ANNOTATION),
            ("Optimizer.step#SGD.step", 120.0, 20.0, ANNOTATION),
            ("autograd::engine::evaluate_function: MulBackward0", 130.0, 20.0),
            ("train.py(1): f", 160.0, 20.0, {"kind": int(SliceKind.PYTHON)}),
        ],
    )

    assert causes(trace) == {
        "host_late:dataloader": 10,
        "host_late:sync": 10,
        "host_late:copy": 5,
        "host_late:optimizer": 15,
        "host_late:autograd": 10,
        "host_late:alloc": 5,
        "host_late:python": 15,
        "host_late:other": 30,
    }


def test_what_other_threads_do_is_no_reason_but_for_the_loader() -> None:
    trace = gap_trace(
        (200.0, 1.0),
        calls=[("cudaStreamSynchronize", 100.0, 50.0, {"thread": "other"})],
        slices=[(LOADER, 190.0, 10.0, ANNOTATION | {"thread": "other"})],
    )

    assert causes(trace) == {"host_late:dataloader": 10, "host_late:other": 90}


def test_the_window_of_steps_has_a_head_and_a_tail() -> None:
    trace = gap_trace((200.0, 1.0), steps=[(1, -50.0, 200.0), (2, 150.0, 250.0)])

    found = causes(trace, 1)

    assert windows_of(trace)[1].length_ns == 450_000
    assert found["tail"] == 100
    assert found["host_late:other"] == 150
    assert "tail" not in causes(trace, 0)


def test_gaps_that_are_cut_keep_their_causes() -> None:
    trace = gap_trace(
        (150.0, 10.0), slices=[(LOADER, 110.0, 20.0, ANNOTATION)], steps=[(1, -20.0, 420.0)]
    )
    window = windows_of(trace)[1]
    gaps = gaps_in(trace, unions_of(trace, None)[0], window)
    edges = np.array([-20, 90, 120, 155, 180, 400]) * NS_PER_US
    parts, stretch = cut(gaps, edges[:-1], edges[1:])

    assert totals_by_cause(causes_of(trace, parts), window) == totals_by_cause(
        causes_of(trace, gaps), window
    )
    length_ns = parts.high_ns - parts.low_ns
    assert np.bincount(stretch, weights=length_ns, minlength=5).tolist() == [
        20_000,
        20_000,
        35_000,
        25_000,
        120_000,
    ]
