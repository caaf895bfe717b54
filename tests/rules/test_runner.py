"""No rule stops the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reportgen.errors import PluginError
from reportgen.profile import NodeProfile
from reportgen.results import (
    NOWHERE,
    Counters,
    Depth,
    ExhibitKind,
    Finding,
    Place,
    ReasonCode,
    RuleId,
    RuleResult,
    Severity,
    Status,
    exhibit,
)
from reportgen.results.codec import decode, encode
from reportgen.rules.base import About, AnyRule, Outcome, Presentation, Rule
from reportgen.rules.registry import all_rules
from reportgen.rules.runner import judge_all, measure_part, with_about
from tests.builders import known, node_profile


@dataclass(frozen=True, slots=True, kw_only=True)
class NoParams:
    """Nothing to set."""


def count_ticks(part: NodeProfile, params: NoParams) -> int:
    return part.system.n_ticks


def judge_ticks(measurements: Sequence[int], params: NoParams) -> RuleResult:
    return RuleResult(id=RuleId("Ticks"), status=Status.OK, metrics={"ticks": sum(measurements)})


def break_down(*_: Any) -> Any:
    raise ZeroDivisionError("by nothing")


def rule(rule_id: str, *, measure: Any = count_ticks, judge: Any = judge_ticks) -> AnyRule:
    return Rule(
        id=RuleId(rule_id),
        title="Ticks <b>",
        about=About(checks="c", reading="r", advice="a"),
        needs=(),
        params=NoParams,
        measure=measure,
        judge=judge,
        present=lambda *_: Presentation(),
    )


@pytest.mark.parametrize("step", ["measure", "judge"])
def test_a_rule_that_breaks_fails_alone(step: str, caplog: pytest.LogCaptureFixture) -> None:
    rules = (rule("Broken", **{step: break_down}), rule("Ticks"))
    params = {item.id: NoParams() for item in rules}

    broken, sound = judge_all([measure_part(node_profile(), rules, params)], rules, params)

    assert broken.status is Status.FAILED
    assert known(broken.reason).text == f"The rule broke in {step}: ZeroDivisionError: by nothing"
    (warned,) = (record.getMessage() for record in caplog.records)
    assert warned.startswith(f"warning: Broken: The rule broke in {step}: ZeroDivisionError")
    assert sound.status is Status.OK
    assert sound.metrics == {"ticks": 0}


def returning(*results: object, **fields: Any) -> Any:
    """Return a ``judge`` that answers with something, or with a result of its own making."""
    result = RuleResult(id=RuleId("Broken"), status=Status.OK, **fields)
    return lambda *_: results[0] if results else result


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        (returning(None), "TypeError: expected an Outcome or a RuleResult, saw NoneType"),
        (returning(details={"n": np.int64(3)}), "TypeError: Encoding objects of type numpy.int64"),
        (returning(details={"n": "\udcff"}), "UnicodeEncodeError: "),
        (returning(metrics={"n": "many"}), "FormatError: Broken.json is not a rule result"),
        (judge_ticks, "ValueError: its result is called Ticks, not Broken"),
    ],
)
def test_a_result_that_cannot_be_saved_fails_alone(judge: Any, said: str) -> None:
    rules = (rule("Broken", judge=judge), rule("Ticks"))
    params = {item.id: NoParams() for item in rules}

    broken, sound = judge_all([measure_part(node_profile(), rules, params)], rules, params)

    assert (broken.id, broken.status, broken.details) == ("Broken", Status.FAILED, {})
    assert known(broken.reason).text.startswith(f"The rule broke in judge: {said}")
    assert decode(encode(broken), path="Broken.json") == broken
    assert sound.status is Status.OK


def judged(triggers: int, *severities: Severity, missing: str = "") -> RuleResult:
    """Return the result of an outcome with a finding of each severity."""
    findings = [
        Finding(id="X-1", severity=item, title="t", text="t", advice="a") for item in severities
    ]
    outcome = Outcome(
        missing=missing, counters=Counters(rule_triggered=triggers), findings=[*findings, None]
    )
    rules = (rule("Ticks", judge=lambda *_: outcome),)
    (result,) = judge_all([{RuleId("Ticks"): 3}], rules, {RuleId("Ticks"): NoParams()})
    return result


def test_a_status_says_whether_something_was_found() -> None:
    assert judged(0).status is Status.OK
    assert judged(1).status is Status.TRIGGERED
    assert judged(0, Severity.INFO).status is Status.OK
    assert judged(0, Severity.INFO, Severity.WARNING).status is Status.TRIGGERED


def test_a_rule_that_could_not_look_is_skipped_whatever_it_counted() -> None:
    skipped = judged(3, missing="Nothing was recorded.")

    assert skipped.status is Status.SKIPPED
    assert known(skipped.reason).code is ReasonCode.NO_EVENTS


@pytest.mark.parametrize("status", Status)
def test_every_result_carries_the_rule_in_words_and_remedies_only_for_a_fault(status) -> None:
    found = with_about(RuleResult(id=RuleId("Ticks"), status=status), rule("Ticks")).about

    advice = "a" if status is Status.TRIGGERED else ""
    assert found == About(title="Ticks <b>", checks="c", reading="r", advice=advice)


def test_exhibits_are_placed_as_the_rule_declares() -> None:
    shown, placed, own = (
        exhibit(name, ExhibitKind.TABLE, title="T", columns=[("a", "", [1])], place=place)
        for name, place in (("shown", NOWHERE), ("top_2", NOWHERE), ("top_own", Place(section="x")))
    )
    ticks = replace(
        rule("Ticks", judge=lambda *_: Outcome(exhibits=(shown, placed, own))),
        folded=("sh*",),
        places={"top_*": Place(section="tops"), "*": NOWHERE},
    )
    (result,) = judge_all([{RuleId("Ticks"): 3}], (ticks,), {RuleId("Ticks"): NoParams()})

    assert [item.depth for item in result.exhibits] == [Depth.FOLDED, Depth.SHOWN, Depth.SHOWN]
    assert [item.place.section for item in result.exhibits] == ["", "tops", "x"]


def test_a_plugin_adds_its_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    from types import ModuleType

    module = ModuleType("my_rules")
    module.RULE = rule("Mine")  # type: ignore[attr-defined]  # a module made by hand
    monkeypatch.setitem(sys.modules, "my_rules", module)

    assert all_rules(["my_rules"])[-1].id == "Mine"

    module.RULE = rule("batchsize")  # type: ignore[attr-defined]  # a module made by hand
    with pytest.raises(PluginError, match="Two rules are called batchsize"):
        all_rules(["my_rules"])

    module.RULE = "no rule"  # type: ignore[attr-defined]  # a module made by hand
    with pytest.raises(PluginError, match="holds no rule"):
        all_rules(["my_rules"])


def test_a_plugin_that_is_missing_is_named() -> None:
    with pytest.raises(PluginError, match="no_such_module"):
        all_rules(["no_such_module"])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("rules_cut_short", "def (", "SyntaxError: invalid syntax"),
        ("rules_by_nothing", "1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_plugin_that_breaks_on_import_is_named_with_its_error(
    name: str, text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        PluginError, match=f"The plugin {name} cannot be imported .{said}"
    ) as raised:
        all_rules([name])
    assert raised.value.hint.startswith(f"`python -c 'import {name}'` must work")
