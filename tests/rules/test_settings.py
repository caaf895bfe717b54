"""Parameters that users set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from reportgen.errors import ConfigError
from reportgen.results import RuleId
from reportgen.rules.base import About, AnyRule, Presentation, Rule, param, parameter_text
from reportgen.rules.kernel_time import RULE as KERNELS
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.settings import resolve_params, select_rules


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoParams:
    threshold_p95: int | float = param(
        70, unit="%", meaning="m", source="the test", minimum=0, maximum=100
    )
    patience: int = param(1000, unit="", meaning="m", source="the test", minimum=1, is_whole=True)
    mode: str | None = param(
        None, unit="", meaning="m", source="the test", choices=("TRAIN", "EVAL"), may_be_none=True
    )


def rule(name: str) -> AnyRule:
    def never(*_: Any) -> Any:
        raise AssertionError

    return Rule(
        id=RuleId(name),
        title=name,
        about=About(checks="c", reading="r", advice="a"),
        needs=(),
        params=DemoParams,
        measure=never,
        judge=never,
        present=lambda *_: Presentation(),
        param_aliases={"limit": "threshold_p95"},
    )


RULES = (rule("LowGPUUtilization"), rule("StepOutlier"))


@pytest.mark.parametrize(
    "key",
    [
        "LowGPUUtilization.threshold_p95",
        "LowGPUUtilization_threshold_p95",
        "lowgpuutilization.THRESHOLD_P95",
        "LowGPUUtilization.limit",
    ],
)
def test_a_parameter_is_found_in_every_spelling(key: str) -> None:
    params = resolve_params(RULES, {key: "80"})

    assert params[RuleId("LowGPUUtilization")] == DemoParams(threshold_p95=80)
    assert params[RuleId("StepOutlier")] == DemoParams()


def test_actual_values_are_printed_in_the_order_of_declaration() -> None:
    params = resolve_params(
        RULES, {"StepOutlier.threshold_p95": "70.5", "StepOutlier.mode": "eval"}
    )

    assert parameter_text(params[RuleId("StepOutlier")]) == (
        "threshold_p95:70.5\npatience:1000\nmode:EVAL"
    )


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("LowGPUUtilization.threshold_p59", "8", "nearest: threshold_p95"),
        ("LowGPUUtilisation.threshold_p95", "8", "nearest: LowGPUUtilization"),
        ("LowGPU.threshold_p95", "8", "nearest: LowGPUUtilization"),
        ("threshold", "8", "RULE.PARAM=VALUE"),
        ("LowGPUUtilization.threshold_p95", "101", "from 0 to 100"),
        ("LowGPUUtilization.threshold_p95", "-1", "from 0 to 100"),
        ("LowGPUUtilization.threshold_p95", "many", "from 0 to 100"),
        ("LowGPUUtilization.threshold_p95", "nan", "from 0 to 100"),
        ("LowGPUUtilization.threshold_p95", True, "from 0 to 100"),
        ("LowGPUUtilization.patience", "0", "whole number of at least 1"),
        ("LowGPUUtilization.patience", "2.5", "whole number of at least 1"),
        ("LowGPUUtilization.patience", "inf", "whole number of at least 1"),
        ("LowGPUUtilization.mode", "TRIAN", "one of TRAIN, EVAL or None"),
    ],
)
def test_a_mistake_is_explained(key: str, value: object, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_params(RULES, {key: value})
    assert said in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("text", ["(", "a{99999999999999999999}", "[[:alpha:]]", ""])
def test_what_is_no_pattern_is_refused_and_one_is_kept(text: str) -> None:
    with pytest.raises(ConfigError, match=r"no regular expression|is empty") as caught:
        resolve_params((KERNELS,), {"KernelTime.communication_names": text})
    assert caught.value.hint

    kept = resolve_params((KERNELS,), {"KernelTime.communication_names": " ^mine_ "})
    assert kept[KERNELS.id].communication_names == "^mine_"


def test_rules_are_selected_by_name_in_their_own_order() -> None:
    assert select_rules(RULES, ["stepoutlier", " LowGPUUtilization "]) == RULES
    assert select_rules(RULES, ["StepOutlier"]) == RULES[1:]


def test_an_unknown_rule_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"'StepOutliers' \(nearest: StepOutlier\)"):
        select_rules(RULES, ["StepOutliers"])


def test_rules_that_are_part_of_another_one_are_known_by_their_former_names() -> None:
    chosen = select_rules(BUILTIN_RULES, ["launchqueue", "DeviceMemory"])
    assert [rule.id for rule in chosen] == ["LaunchLatency", "MemoryInUse"]
    assert resolve_params(chosen, {"LaunchQueue.top": 7})[RuleId("LaunchLatency")].top == 7


@pytest.mark.parametrize("key", ["NetworkBottleneck.patience", "networkbottleneck_PATIENCE"])
def test_a_parameter_that_a_rule_once_had_changes_nothing_and_is_named(key, caplog) -> None:
    assert resolve_params(BUILTIN_RULES, {key: 5}) == resolve_params(BUILTIN_RULES, {})
    assert f"{key} has no effect any more." in caplog.text
