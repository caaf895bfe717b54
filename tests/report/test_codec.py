"""The bytes of ``report.json``."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.errors import FormatError
from reportgen.profiler_config import ProfiledWindow, Profiling, ProfilingKind
from reportgen.report import (
    DataQuality,
    JobHeader,
    JobSummary,
    QualityNote,
    RankedFinding,
    Report,
    RuleEntry,
)
from reportgen.report.codec import decode, encode
from reportgen.results import Finding, Reason, ReasonCode, RuleId, Severity, Status, Where


def small_report() -> Report:
    rule_id = RuleId("StepOutlier")
    return Report(
        report_id="0123456789abcdef",
        job=JobHeader(name="my-job", source="./my-job", clock="unix"),
        summary=JobSummary(start_time="2026-07-03T09:30:00.000000Z", job_duration_in_seconds=1.0),
        nodes=("algo-1",),
        sampling_interval_ms=500,
        findings=(
            RankedFinding(
                rule=rule_id,
                finding=Finding(
                    id="STEP-1", severity=Severity.WARNING, title="t", text="x", advice="a"
                ),
            ),
        ),
        rules={
            rule_id: RuleEntry(
                status=Status.SKIPPED,
                reason=Reason(code=ReasonCode.NO_STEPS, text="none"),
                file="StepOutlier.json",
            )
        },
        data_quality=DataQuality(
            counters={"files_read": 3}, notes=(QualityNote(text="odd", path="a.json"),)
        ),
        versions={"numpy": "2"},
        profiling=Profiling(
            interval_ms=500,
            windows=(ProfiledWindow(kind=ProfilingKind.PYTHON, start_step=9, profiler="cprofile"),),
            unreadable=(ProfilingKind.HOROVOD,),
            rules=("ProfilerReport",),
        ),
    )


def test_keys_are_those_of_the_contract() -> None:
    tree = json.loads(encode(small_report()))

    assert list(tree) == [
        "format", "report_id", "job", "summary", "nodes", "sampling_interval_ms", "findings",
        "rules", "data_quality", "versions", "profiling", "recording", "setup", "figures",
        "timeline",
    ]  # fmt: skip
    assert tree["summary"]["training_loop_start"] is None
    assert tree["findings"][0]["rule"] == "StepOutlier"
    assert tree["data_quality"] == {"files_read": 3, "notes": [{"text": "odd", "path": "a.json"}]}


def test_a_report_without_a_word_on_profiling_or_recording_is_read() -> None:
    tree = json.loads(encode(small_report()))
    del tree["profiling"], tree["recording"]
    read = decode(json.dumps(tree).encode(), path="report.json", results={})
    assert read == replace(small_report(), profiling=None)


@pytest.mark.parametrize("raw", [b"", b"{}", b"[1]", b'{"format": 1}', b'{"format": 99}'])
def test_what_is_no_report_of_ours_is_named(raw: bytes) -> None:
    with pytest.raises(FormatError, match=r"x/report\.json"):
        decode(raw, path="x/report.json", results={})


texts = st.text(max_size=12)
numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@given(
    findings=st.lists(
        st.builds(
            RankedFinding,
            rule=texts.map(RuleId),
            finding=st.builds(
                Finding,
                id=texts,
                severity=st.sampled_from(Severity),
                title=texts,
                text=texts,
                advice=texts,
                where=st.builds(Where, node=st.none() | texts, start_s=numbers, end_s=numbers),
                measured=numbers,
                threshold=numbers,
                unit=texts,
                exhibit=st.none() | texts,
            ),
        ),
        max_size=4,
    ),
    summary=st.builds(JobSummary, start_time=st.none() | texts, job_duration_in_seconds=numbers),
    counters=st.dictionaries(texts.filter(lambda name: name != "notes"), st.integers(0, 2**60)),
    notes=st.lists(st.builds(QualityNote, text=texts, path=texts), max_size=3),
)
def test_any_report_survives_the_round_trip(findings, summary, counters, notes) -> None:
    report = replace(
        small_report(),
        findings=tuple(findings),
        summary=summary,
        data_quality=DataQuality(counters=counters, notes=tuple(notes)),
    )

    assert decode(encode(report), path="report.json", results={}) == report
