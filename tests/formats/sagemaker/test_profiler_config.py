"""The configuration of a job's profiler, as lenient as people are when they pass it on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reportgen.formats.sagemaker.profiler_config import parse_profiler_config

CONFIG: dict[str, Any] = {
    "S3OutputPath": "s3://bucket/jobs/a",
    "ProfilingIntervalInMilliseconds": 100,
    "ProfilingIntervalInMillis": 500,
    "ProfilingParameters": {
        "LocalPath": "/opt/ml/output/profiler",
        "ProfilerEnabled": "true",
        "DetailedProfilingConfig": '{"StartStep": "5", "NumSteps": 3}',
        "DataloaderProfilingConfig": '{"startstep": 7, "NUMSTEPS": "1", "MetricsRegex": ".*"}',
        "PythonProfilingConfig": (
            '{"StartStep": 9, "NumSteps": 1, "ProfilerName": "cprofile", "cProfileTimer": None}'
        ),
        "HorovodProfilingConfig": (
            '{"StartTimeInSecSinceEpoch": "1596659864", "DurationInSeconds": 60.5}'
        ),
    },
}


def parse(tree: object) -> Any:
    return parse_profiler_config(json.dumps(tree).encode())


def test_steps_and_times_are_read_whoever_quoted_them() -> None:
    config = parse(CONFIG)
    assert config.interval_ms == 100
    assert not config.is_disabled
    windows = {window.kind: window for window in config.windows}
    detailed = windows["detailed profiling"]
    assert (detailed.start_step, detailed.n_steps) == (5, 3)
    loader = windows["data loader"]
    assert (loader.start_step, loader.n_steps, loader.metrics) == (7, 1, ".*")
    python = windows["Python profiling"]
    assert (python.start_step, python.profiler, python.timer) == (9, "cprofile", "")
    horovod = windows["Horovod"]
    assert (horovod.start_s, horovod.duration_s) == (1596659864.0, 60.5)


@pytest.mark.parametrize(
    "text",
    [
        '{"StartStep": 7, "NumSteps": 1, "MetricsRegex": ".*", }',
        "{'StartStep': 7, 'NumSteps': 1, 'MetricsRegex': '.*',}",
    ],
)
def test_a_comma_after_the_last_key_is_forgiven(text: str) -> None:
    # SageMaker's own Python SDK writes one
    (window,) = parse({"ProfilingParameters": {"DataloaderProfilingConfig": text}}).windows
    assert (window.start_step, window.n_steps, window.metrics) == (7, 1, ".*")


def test_the_names_of_profiler_rules_are_read() -> None:
    rules = [
        {"RuleConfigurationName": "ProfilerReport-1", "RuleParameters": {"other": "secret"}},
        {
            "RuleConfigurationName": "mine",
            "RuleParameters": {"rule_to_invoke": "LowGPUUtilization"},
        },
        {"RuleConfigurationName": "a/b?secret"},
        "no rule",
    ]
    config = parse({"ProfilerConfig": CONFIG, "ProfilerRuleConfigurations": rules})
    assert config.rules == ("ProfilerReport-1", "LowGPUUtilization")
    assert parse({**CONFIG, "ProfilerRuleConfigurations": 3}).rules == ()


@pytest.mark.parametrize(
    "wrapped",
    [{"ProfilerConfig": CONFIG}, {"profilerconfig": json.dumps(CONFIG)}],
    ids=["the whole answer", "as text"],
)
def test_a_configuration_may_stand_in_an_answer_of_sagemaker(wrapped: object) -> None:
    assert parse(wrapped) == parse(CONFIG)


@pytest.mark.parametrize(
    ("switch", "is_disabled"),
    [
        ({"DisableProfiler": True}, True),
        ({"disableprofiler": "False"}, False),
        ({"ProfilerEnabled": "FALSE"}, True),
    ],
)
def test_a_switch_says_whether_there_was_profiling(
    switch: dict[str, object], *, is_disabled: bool
) -> None:
    assert parse(switch).is_disabled is is_disabled


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b"\xff\xfe", b'{"a": 1}', b"[" * 100_000, b'"' * 7]
)
def test_other_files_are_no_configuration(content: bytes) -> None:
    assert parse_profiler_config(content) is None


def test_what_cannot_be_read_is_named_and_nothing_else_leaks() -> None:
    config = parse(
        {
            "S3OutputPath": "s3://bucket/a?X-Amz-Signature=secret",
            "ProfilingIntervalInMillis": "soon",
            "ProfilingParameters": {
                "DetailedProfilingConfig": "{StartStep",
                "AWS_SECRET_ACCESS_KEY": "secret",
                "PythonProfilingConfig": {"StartStep": 1e400, "ProfilerName": "a secret"},
            },
        }
    )
    assert config.unreadable == ("detailed profiling",)
    assert "secret" not in repr(config)
    assert config.interval_ms is None
    (python,) = config.windows
    assert python.start_step is None
