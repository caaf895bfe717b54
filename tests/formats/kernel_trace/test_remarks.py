"""What is odd about a trace is counted as its definition says, one annotation after the other."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from reportgen.formats.kernel_trace.remarks import crossing_annotations
from reportgen.profile.trace_tables import SliceKind
from tests.rules.kernels.builders import rank_trace

JITTER_US = 1.0

Annotation = tuple[str, float, float]
marks = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 24), st.integers(0, 24)).map(
        lambda item: (item[0], item[1] / 2, item[2] / 2)
    ),
    max_size=8,
)


def crosses(one: Annotation, other: Annotation) -> bool:
    """Return whether one begins inside the other one of its thread and ends after it."""
    thread, start_us, length_us = one
    its_thread, began_us, its_length_us = other
    its_end_us = began_us + its_length_us
    return (
        thread == its_thread
        and began_us < start_us - JITTER_US
        and start_us + JITTER_US < its_end_us < start_us + length_us - JITTER_US
    )


@given(marks)
@example([("a", 1.0, 12.0), ("a", 6.0, 3.0), ("a", 7.0, 9.0)])
def test_every_annotation_that_crosses_any_other_is_counted_once(spans: list[Annotation]) -> None:
    rows = [
        ("x", start_us, length_us, {"thread": thread, "kind": int(SliceKind.ANNOTATION)})
        for thread, start_us, length_us in spans
    ]
    expected = sum(any(crosses(one, other) for other in spans) for one in spans)

    assert crossing_annotations(rank_trace(slices=rows).slices) == expected
