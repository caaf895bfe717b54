"""The bytes of ``<Id>.json``."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.errors import FormatError
from reportgen.profiler_config import ProfilingKind
from reportgen.results import (
    About,
    Choice,
    ColumnType,
    Counters,
    DashboardPanel,
    Estimate,
    ExhibitKind,
    Finding,
    PartWords,
    Place,
    Role,
    RuleId,
    RuleResult,
    Section,
    Severity,
    Status,
    TimelineTrack,
    Track,
    Where,
    column,
    exhibit,
)
from reportgen.results.codec import AWS_KEYS, decode, encode, encode_beside
from reportgen.results.packed_columns import pack


def full_result() -> RuleResult:
    return RuleResult(
        id=RuleId("LowGPUUtilization"),
        status=Status.TRIGGERED,
        counters=Counters(rule_triggered=2, violations=3, datapoints=1310),
        details={"algo-1": {"gpu0": {"gpu_max": 99.0, "gpu_5": 0.0}}, "last_timestamp": 17},
        rule_parameters="threshold_p95:70\nwindow:500",
        params={"threshold_p95": 70, "mode": None},
        metrics={"gpu_busy_ratio": 0.61, "nothing": None},
        findings=(
            Finding(
                id="GPU-1",
                severity=Severity.WARNING,
                title="GPU 0 is under-used",
                text="p95 is 41.2 %.",
                advice="Raise the batch size.",
                where=Where(node="algo-1", device="gpu0", start_s=1.5, end_s=2.5),
                measured=41.2,
                threshold=70.0,
                unit="%",
                estimate=Estimate(share_ratio=0.33, speedup_at_most=1.49),
                exhibit="usage",
            ),
        ),
        exhibits=(
            exhibit(
                "usage",
                ExhibitKind.TABLE,
                title="Usage",
                columns=[("node", "", ["algo-1", "algo-2"]), ("p95_pct", "%", [41.2, np.nan])],
            ),
            exhibit(
                "curve",
                ExhibitKind.SERIES,
                title="Over time",
                columns=[("time_s", "s", np.array([1.0, 2.0])), ("gpu0", "%", np.array([3, 4]))],
            ),
            exhibit("none", ExhibitKind.TABLE, title="Empty", columns=[("a", "", [])]),
            exhibit(
                "parts",
                ExhibitKind.SHARES,
                title="Parts",
                columns=[
                    column("part", "", ["busy"], type=ColumnType.TEXT),
                    column("gpu_s", "s", [None], type=ColumnType.FLOAT, role=Role.GPU),
                    column("pct", "%", [100.0], type=ColumnType.FLOAT),
                ],
                role=Role.IDLE,
                row_roles=[Role.GPU],
                place=Place(
                    section="gpu",
                    dashboard=DashboardPanel(order=1, headline="{title}: {pct}", is_wide=True),
                    timeline=TimelineTrack(kind=Track.LANE, role=Role.WARNING),
                    choice=Choice(group="parts", question="Group by", label="part"),
                    words=(WORDS,),
                ),
            ),
        ),
        data=(pack("steps", {"start_ns": [10, 20], "duration_ns": [3, 4]}, of={"worker": "a"}),),
        about=About(
            title="GPU use",
            checks="c",
            reading="r",
            advice="a",
            section=Section(id="gpu", title="GPUs", order=1),
            further=(Section(id="more", title="More", order=2, lead="l"),),
            needs=("system metrics",),
            recorded_by=ProfilingKind.DETAILED,
            is_quiet=True,
            hint_when_skipped="",
        ),
    )


WORDS = PartWords(
    names={"busy": "at work"}, did="worked in", work=("busy",), aside={}, groups={"Work": ("busy",)}
)


def test_the_five_keys_of_aws_come_first_and_in_order() -> None:
    tree = json.loads(encode(full_result()))

    assert list(tree) == [
        "RuleTriggered", "Violations", "Details", "Datapoints", "RuleParameters", "reportgen",
    ]  # fmt: skip
    assert (tree["RuleTriggered"], tree["Violations"], tree["Datapoints"]) == (2, 3, 1310)
    assert list(tree["reportgen"]) == [
        "format", "id", "status", "reason", "about", "params", "metrics", "findings", "exhibits",
        "data",
    ]  # fmt: skip


def test_tables_are_rows_and_curves_are_columns() -> None:
    table, curve, empty, _ = json.loads(encode(full_result()))["reportgen"]["exhibits"]

    assert table["rows"] == [["algo-1", 41.2], ["algo-2", None]]
    assert table["columns"][1] == {"name": "p95_pct", "unit": "%", "type": "float"}
    assert curve["data"] == {"time_s": [1.0, 2.0], "gpu0": [3, 4]}
    assert empty["rows"] == []


def test_what_is_as_it_is_by_default_is_left_out() -> None:
    ours = json.loads(encode(full_result()))["reportgen"]
    table, *_, parts = ours["exhibits"]

    assert list(table) == ["id", "kind", "title", "caption", "columns", "rows"]
    assert parts["columns"][1] == {"name": "gpu_s", "unit": "s", "type": "float", "role": "gpu"}
    assert (parts["role"], parts["row_roles"]) == ("idle", ["gpu"])
    assert parts["place"]["dashboard"] == {
        "order": 1,
        "headline": "{title}: {pct}",
        "is_wide": True,
    }
    assert ours["about"]["section"] == {"id": "gpu", "title": "GPUs", "order": 1}
    assert "is_optional" not in ours["about"]


def test_words_of_format_1_become_the_object() -> None:
    tree = json.loads(encode(full_result()))
    ours = tree["reportgen"]
    ours["format"] = 1
    del ours["about"], ours["data"], ours["exhibits"][3:]
    ours["exhibits"].append(
        {
            "id": "about",
            "kind": "table",
            "title": "About this analysis",
            "caption": "",
            "columns": [
                {"name": "what", "unit": "", "type": "text"},
                {"name": "text", "unit": "", "type": "text"},
            ],
            "rows": [["title", "T"], ["checks", "c"], ["reading", "r"], ["advice", "a"]],
        }
    )
    read = decode(json.dumps(tree).encode(), path="x.json")

    assert read.about == About(title="T", checks="c", reading="r", advice="a")
    assert read.exhibits == full_result().exhibits[:3]
    assert read.data == ()


def test_a_result_survives_the_round_trip() -> None:
    result = full_result()

    assert decode(encode(result), path="x.json") == result


@pytest.mark.parametrize(
    "raw",
    [b"", b"[]", b"{}", b'{"reportgen": {"format": 1}}', b'{"reportgen": 3}', b"\xff\xfe", b"null"],
)
def test_what_is_no_result_of_ours_is_named(raw: bytes) -> None:
    with pytest.raises(FormatError, match=r"folder/x\.json"):
        decode(raw, path="folder/x.json")


def test_a_newer_format_asks_for_an_update() -> None:
    raw = encode(full_result()).replace(b'"format":3', b'"format":4')

    with pytest.raises(FormatError, match=r"format 4.*pip install -U make-profiler-report"):
        decode(raw, path="x.json")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("RuleTriggered",), [0]),
        (("Datapoints",), -1),
        (("Details",), None),
        (("RuleParameters",), 5),
        (("reportgen", "metrics"), {"gpu_busy_ratio": "many"}),
        (("reportgen", "findings", 0, "measured"), "41"),
        (("reportgen", "findings", 0, "where"), {"node": 1}),
        (("reportgen", "exhibits", 0, "rows", 0, 1), "a text in a column of numbers"),
        (("reportgen", "exhibits", 1, "data", "time_s"), [1.0]),
        (("reportgen", "exhibits", 0, "title"), None),
    ],
)
def test_a_value_of_another_type_is_named_when_it_is_read(path, value) -> None:
    tree = json.loads(encode(full_result()))
    *above, last = path
    holder = tree
    for key in above:
        holder = holder[key]
    holder[last] = value

    with pytest.raises(FormatError, match=r"folder/x\.json"):
        decode(json.dumps(tree).encode(), path="folder/x.json")


def test_a_file_that_is_nested_too_deeply_is_named() -> None:
    raw = b'{"reportgen": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"

    with pytest.raises(FormatError, match=r"x\.json"):
        decode(raw, path="x.json")


@given(
    st.lists(
        st.tuples(
            st.text(max_size=20),
            st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
            st.booleans(),
            st.integers(-(2**53), 2**53),
        ),
        max_size=20,
    )
)
def test_any_table_survives_the_round_trip(rows: list[tuple[object, ...]]) -> None:
    columns = [
        (name, "", [row[index] for row in rows]) for index, name in enumerate(["a", "b", "c", "d"])
    ]
    result = RuleResult(
        id=RuleId("X"),
        status=Status.OK,
        exhibits=(exhibit("t", ExhibitKind.TABLE, title="T", columns=columns),),
    )

    assert decode(encode(result), path="x.json") == result


def test_a_whole_number_in_a_column_of_floats_stays_whole() -> None:
    whole = column("pct", "%", [100, 0.5, 100.0, 0, 0.0, -0.0, None, -0.0], type=ColumnType.FLOAT)
    table = exhibit("t", ExhibitKind.TABLE, title="T", columns=[whole])
    raw = encode(RuleResult(id=RuleId("X"), status=Status.OK, exhibits=(table,)))

    assert b"[[100],[0.5],[100.0],[0],[0.0],[-0.0],[null],[-0.0]]" in raw
    assert encode(decode(raw, path="x.json")) == raw


@pytest.mark.parametrize("damage", [b"\xff", b'"', b""])
def test_an_original_that_cannot_be_read_is_written_anew(damage: bytes) -> None:
    result = RuleResult(id=RuleId("X"), status=Status.OK)
    tree = json.loads(encode(result))
    original = json.dumps({key: tree[key] for key in AWS_KEYS}).encode()
    original = original.replace(b"RuleTriggered", b"RuleTriggered" + damage)
    beside = encode_beside(result, original)

    assert beside.startswith(original[:-1]) != bool(damage)
    assert decode(beside, path="x.json") == result
