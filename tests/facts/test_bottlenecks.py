from __future__ import annotations

import pytest

from reportgen.facts.bottlenecks import Bottlenecks, bottlenecks_of, stretches_of
from reportgen.merging import merge
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.results import Counters
from reportgen.rules.aws.aws_bottleneck import counted_bottlenecks
from tests.builders import START_S, node_profile, ns, system_table
from tests.rules.framework_jobs import TRAIN


def node(pattern: str, *, name: str = "algo-1", loop_s: float = 0) -> NodeProfile:
    """Return a node of six-second ticks: b bottleneck, i idle GPU beside cool cores, w work."""
    columns = {
        "gpu0": [95.0 if letter == "w" else 5.0 for letter in pattern],
        "cpu0": [95.0 if letter == "b" else 20.0 for letter in pattern],
        "cpu1": [20.0] * len(pattern),
    }
    rows = [(TRAIN, "step", START_S, START_S + loop_s, {"step": 1})] if loop_s else []
    return node_profile(system=system_table(columns, interval_s=6), rows=rows, node=name)


def found_in(part: NodeProfile) -> Bottlenecks:
    return bottlenecks_of(part, SeriesKind.CPU_UTILIZATION, gpu_below=10, hot_above=90)


def test_a_tick_is_a_bottleneck_when_a_gpu_idles_beside_a_hot_core() -> None:
    found = found_in(node("wbbiw"))

    assert (found.n_found, found.n_low_ticks, found.n_ticks) == (2, 3, 5)
    assert found.nodes[0].time_ns.tolist() == [ns(START_S + 6), ns(START_S + 12)]
    assert found.hot_median_ratio == 0.5


def counted(job: Bottlenecks, *, patience: int) -> Counters:
    return counted_bottlenecks(job, share_pct=50, patience=patience)["counters"]


def test_nodes_are_added_up_and_keep_their_instants() -> None:
    job = merge([Bottlenecks(), found_in(node("wb")), found_in(node("wbb", name="algo-2"))])

    assert (job.n_found, job.n_ticks, job.in_use_ratio) == (3, 5, 0.6)
    assert [item.node for item in job.nodes] == ["algo-1", "algo-2"]
    assert [item.time_ns.size for item in job.nodes] == [1, 2]


def test_no_node_has_no_bottleneck() -> None:
    job = merge([Bottlenecks()])

    assert (job.n_found, job.in_use_ratio, job.loop_ratio) == (0, 0.0, None)
    assert counted(job, patience=0).rule_triggered == 0
    assert stretches_of(job) == []


def test_the_loop_says_how_much_of_the_time_training_could_win() -> None:
    found = found_in(node("bwww" + "bbbw" * 2, loop_s=18))

    assert found.loop_in_use.tolist() == [0, 1, 6]
    assert (found.loop_ratio, found.lost_ratio) == (0.25, 0.25)


@pytest.mark.parametrize(("patience", "n_minutes"), [(9, 1), (10, 0), (20, 0)])
def test_the_share_grows_from_minute_to_minute(patience: int, n_minutes: int) -> None:
    job = found_in(node("b" * 10 + "w" * 10))

    assert counted(job, patience=patience).rule_triggered == n_minutes


def test_one_other_tick_does_not_end_a_stretch_and_two_do() -> None:
    stretches = stretches_of(found_in(node("bwbwwb")))

    assert [item.n_ticks for item in stretches] == [2, 1]
    assert stretches[0].end_ns == ns(START_S + 18)
