from __future__ import annotations

import pytest

from reportgen.facts.distributions import Box
from reportgen.results import ColumnType, ExhibitKind, ReasonCode, Role, Severity
from reportgen.results.charts import MOST_BOXES, MOST_INTERVALS
from reportgen.rules.kit import (
    Interval,
    Message,
    boxes,
    col,
    columns_of,
    concerning,
    derived,
    estimate_of,
    fault_severity,
    histogram,
    intervals,
    merge,
    ranking,
    reason_to_skip,
    row,
    table,
)
from reportgen.units import NS_PER_US
from tests.builders import known


@row
class Queue:
    node: str
    rank: int = col()
    device: str | None = col()
    spent_ns: int = col("us", name="spent_us", per=NS_PER_US)
    share_pct: float = col("%", digits=1, role=Role.GPU)


QUEUES = [Queue(node="a", rank=0, device=None, spent_ns=1_500, share_pct=12.34)]


def test_the_declared_fields_of_a_row_are_the_columns_of_its_table() -> None:
    built = table("queues", QUEUES, Queue, title="Queues", caption="By rank.")

    assert built.kind is ExhibitKind.TABLE
    assert [(item.name, item.unit, item.values) for item in built.columns] == [
        ("rank", "", (0,)),
        ("device", "", (None,)),
        ("spent_us", "us", (1.5,)),
        ("share_pct", "%", (12.3,)),
    ]
    assert built.columns[3].role is Role.GPU


@row
class Share:
    done: int = col()
    rest: int = derived(lambda item: 10 - item.done)
    total: int


def test_a_derived_column_is_computed_from_its_row_and_never_passed() -> None:
    one = Share(done=3, total=10)

    assert [(item.name, item.values) for item in columns_of([one], Share)] == [
        ("done", (3,)),
        ("rest", (7,)),
    ]
    assert one.rest == 7
    assert one == Share(done=3, total=10) == merge([one, Share(done=4, total=10)])


FULL = Message(
    id="QUEUE-1",
    title="The queue is full {measured:pct} of the time",
    text="{spent:ns} of {node}, limit {threshold:pct}, in {n:count step}.",
    advice="Look at {node}.",
    exhibit="queues",
)


def test_a_message_becomes_a_finding_with_its_numbers() -> None:
    found = FULL.finding(measured=12.34567, threshold=10, spent=2_000_000, node="algo-1", n=1)

    assert found.title == "The queue is full 12.3 % of the time"
    assert found.text == "2 ms of algo-1, limit 10.0 %, in 1 step."
    assert found.advice == "Look at algo-1."
    assert (found.measured, found.threshold, found.unit) == (12.3457, 10.0, "%")
    assert (found.severity, found.exhibit, found.estimate) == (Severity.INFO, "queues", None)


def test_a_message_without_one_of_its_numbers_is_an_error() -> None:
    with pytest.raises(KeyError, match="spent"):
        FULL.finding(measured=1.0, threshold=1.0, node="algo-1", n=1)


def test_a_ranking_adds_up_what_it_does_not_show() -> None:
    built = ranking(
        "top",
        [("a", 3_000), ("b", 2_000), ("c", 1_000), ("d", 2_000)],
        title="Top",
        caption="By time.",
        name="operator",
        amount=("time_us", "us"),
        most=2,
        others="operator",
        per=NS_PER_US,
        roles=[Role.GPU] * 4,
    )

    assert [item.values for item in built.columns] == [
        ("a", "b", "others (2 operators)"),
        (3.0, 2.0, 3.0),
        (37.5, 25.0, 37.5),
    ]
    assert built.caption == "By time. Showing 2 of 4; the table has all."
    assert built.row_roles == (Role.GPU, Role.GPU, Role.OTHER)


BOX = Box(p25=1, p50=2, p75=3, p95=4, upper=5, lower=0)


def test_a_box_is_drawn_from_exactly_its_numbers() -> None:
    item = boxes("boxes", [("gpu0", BOX, 9.0), ("cpu", BOX, None)], title="t", unit="%")

    assert [(column.name, column.values[0]) for column in item.columns] == [
        ("name", "gpu0"), ("lower", 0), ("p25", 1), ("p50", 2), ("p75", 3), ("upper", 5),
        ("p95", 4), ("max", 9),
    ]  # fmt: skip
    assert item.columns[-1].values[1] is None
    assert "1.5 times the length of the box" in item.caption


def test_more_boxes_than_can_be_told_apart_are_cut_and_it_is_said() -> None:
    item = boxes("boxes", [("x", BOX, None)] * 100, title="t", unit="%", row_roles=[Role.GPU] * 100)

    assert item.n_rows == len(item.row_roles) == MOST_BOXES
    assert "The first 64 of 100 are shown." in item.caption


def test_a_histogram_has_the_edges_of_its_bins_and_a_column_of_counts_each() -> None:
    item = histogram(
        "bins", [0, 2, 4], [("gpu0", [3, 1])], title="t", unit="%", edge_type=ColumnType.INT
    )

    assert [(column.name, column.values) for column in item.columns] == [
        ("bin_start", (0, 2)),
        ("bin_end", (2, 4)),
        ("gpu0", (3, 1)),
    ]


def interval(start_s: float, end_s: float, *, node: str = "algo-1", device: str = "") -> Interval:
    return Interval(node=node, device=device, what="idle", start_s=start_s, end_s=end_s)


def interval_columns(*items: Interval) -> dict[str, tuple[object, ...]]:
    return {column.name: column.values for column in intervals(items, title="When").columns}


def test_intervals_stand_in_order_of_time_whatever_their_order_was() -> None:
    found = interval_columns(interval(5, 6), interval(1, 2))

    assert list(found) == ["lane", "name", "start_s", "end_s", "node", "device"]
    assert found["start_s"] == (1, 5)
    assert found["end_s"] == (2, 6)


def test_a_lane_is_a_worker_a_device_of_a_node_or_a_node() -> None:
    found = interval_columns(
        interval(1, 2, device="algo-1-27"), interval(2, 3, device="gpu0"), interval(3, 4)
    )

    assert found["lane"] == ("algo-1-27", "algo-1 gpu0", "algo-1")
    assert found["device"] == ("algo-1-27", "gpu0", None)
    assert found["node"] == ("algo-1",) * 3


def test_the_longest_intervals_stay_and_the_caption_says_of_how_many() -> None:
    short = [interval(at, at + 0.1) for at in range(MOST_INTERVALS + 5)]
    made = intervals([*short, interval(1000, 1009)], title="When", caption="Idle.")

    assert made.n_rows == MOST_INTERVALS
    assert made.caption == "Idle. The 200 longest of 206."
    assert made.columns[3].values[-1] == 1009


def test_the_first_thing_that_is_missing_is_named() -> None:
    nothing = known(reason_to_skip(n_ticks=0, n_gpus=0, n_samples=0, patience=1000))
    no_gpu = known(reason_to_skip(n_ticks=5, n_gpus=0, n_samples=0, patience=1000))
    short = known(reason_to_skip(n_ticks=5, n_gpus=1, n_samples=812, patience=1000))

    assert (nothing.code, nothing.text) == (
        ReasonCode.NOT_SAMPLED,
        "The use of CPUs, GPUs, memory, disks and network was not sampled.",
    )
    assert no_gpu.code is ReasonCode.NO_GPU
    assert short.text == (
        "Too few to judge: 812 samples of the machines' utilization; this check "
        "needs more than 1,000."
    )


def test_the_only_one_needs_no_sentence_on_how_many_are_concerned() -> None:
    assert concerning(1, 1, "GPU") == ""
    assert concerning(3, 4, "GPU", more=" (gpu0)") == " This concerns 3 of 4 GPUs (gpu0)."


@pytest.mark.parametrize(
    ("share", "severity"),
    [(None, Severity.WARNING), (0.4999, Severity.WARNING), (0.5, Severity.CRITICAL)],
)
def test_half_of_the_time_is_critical(share: float | None, severity: Severity) -> None:
    assert fault_severity(share) is severity


def test_an_estimate_is_a_share_and_what_it_could_win() -> None:
    half = known(estimate_of(0.5))
    everything = known(estimate_of(1.0))

    assert (half.share_ratio, half.speedup_at_most) == (0.5, 2.0)
    assert everything.speedup_at_most is None
    assert estimate_of(0.0) is estimate_of(None) is None
