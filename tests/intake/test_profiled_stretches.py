"""What ``--trace`` disturbs is in no statistic: traced steps, the export, and who waits for it."""

from __future__ import annotations

import json
from pathlib import Path

from reportgen import intake
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.rules import long_pause, low_gpu_utilization
from tests.builders import START_S, timeline_lines, write_end_marker, write_system, write_timeline
from tests.rules.samples import run

TRAIN, PROFILED = "Step:ModeKeys.TRAIN", "ProfiledStep"
N_STEPS, EXPORT_S = 500, 30.0
FIRST, LAST = 200, 204
BEGIN_S = START_S + 5 + 0.5 * FIRST
END_S = BEGIN_S + 0.5 * (LAST - FIRST + 1) + EXPORT_S


def recorded(folder: Path, *, node: str, says_when: bool = True, ahead_s: float = 0.0) -> None:
    """Write a node with two ranks: rank 0 is traced for five steps, all wait for its export."""
    for rank in (0, 1):
        rows = []
        for step in range(N_STEPS):
            begin_s = START_S + 5 + 0.5 * step + (EXPORT_S if step > LAST else 0.0)
            waits = rank == 1 and step == LAST + 1
            phase = PROFILED if rank == 0 and FIRST <= step <= LAST else TRAIN
            start_s = begin_s - EXPORT_S if waits else begin_s
            rows.append((phase, TRAIN, start_s, begin_s + 0.49, {"step": step}))
        lines = timeline_lines([(p, n, a + ahead_s, b + ahead_s, m) for p, n, a, b, m in rows])
        write_timeline(folder, lines, node_id=f"{rank}-{node}", end_s=START_S + 300)
    ticks = [START_S + 5 + tick / 2 for tick in range(int(2 * (0.5 * N_STEPS + EXPORT_S)))]
    use = [0.0 if BEGIN_S < tick < END_S else 95.0 for tick in ticks]
    write_system(folder, {"gpu0": use, "gpu1": use}, start_s=ticks[0] + ahead_s, node=node)
    out = folder / "profiler-output"
    end = "" if node == "node-1" else f".{node}"
    (out / f"recorder{end}.json").write_text(json.dumps({"node": node}))
    begin_ns, end_ns = (int((at_s + ahead_s) * 1e9) for at_s in (BEGIN_S, END_S))
    pauses = [[begin_ns, begin_ns + 1], [end_ns - int(EXPORT_S * 1e9), end_ns]]
    card = {"node": node, "rank": 0, "trace": {"paused": pauses if says_when else []}}
    (out / "recorder" / "ranks").mkdir(parents=True, exist_ok=True)
    (out / "recorder" / "ranks" / f"0-{node}-7.json").write_text(json.dumps(card))
    write_end_marker(folder)


def nodes(folder: Path) -> list[NodeProfile]:
    parts = [intake.read_node(part) for part in intake.discover(str(folder)).parts]
    return [part for part in parts if isinstance(part, NodeProfile)]


def test_samples_of_that_time_are_left_out_and_all_ranks_steps_are_marked(tmp_path: Path) -> None:
    recorded(tmp_path, node="node-1")

    (node,) = nodes(tmp_path)
    assert node.system.matrix(SeriesKind.GPU_UTILIZATION).min() == 95.0
    steps = node.spans.steps()
    assert set(range(N_STEPS)) - set(steps.step.tolist()) == set(range(FIRST, LAST + 1))
    assert steps.duration_ns.max() < 1e9


def test_no_finding_comes_of_it(tmp_path: Path) -> None:
    for says_when in (False, True):
        recorded(tmp_path / str(says_when), node="node-1", says_when=says_when)
    unmarked, marked = (nodes(tmp_path / str(says_when)) for says_when in (False, True))

    assert run(long_pause.RULE, *unmarked).findings
    for rule in (long_pause.RULE, low_gpu_utilization.RULE):
        assert run(rule, *marked).findings == ()


def test_other_nodes_wait_as_well(tmp_path: Path) -> None:
    recorded(tmp_path, node="node-2", says_when=False)
    recorded(tmp_path, node="node-1")

    for node in nodes(tmp_path):
        assert node.system.matrix(SeriesKind.GPU_UTILIZATION).min() == 95.0
