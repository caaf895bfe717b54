"""Options that stand for a parameter of several rules."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from reportgen.cli.settings import RULES_WITH, read_settings, settings_options
from reportgen.errors import ConfigError
from reportgen.results import RuleId
from reportgen.rules.base import param_specs
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.settings import resolve_params


@pytest.mark.parametrize("parameter", list(RULES_WITH))
def test_an_option_reaches_every_rule_that_has_its_parameter(parameter: str) -> None:
    having = {
        str(rule.id)
        for rule in BUILTIN_RULES
        if parameter in {spec.name for spec in param_specs(rule.params)}
    }

    assert set(RULES_WITH[parameter]) == having


def _settings(*words: str) -> dict[str, object]:
    @click.command()
    @settings_options
    def command(settings: dict[str, object]) -> dict[str, object]:
        return settings

    given = command.main(list(words), standalone_mode=False)
    assert isinstance(given, dict)
    return given


def test_options_that_are_not_given_set_nothing() -> None:
    assert _settings() == {}


def test_an_option_of_one_rule_wins_over_set() -> None:
    given = _settings("--set", "Collectives.link_gb_per_s=25", "--link-gb-per-s", "50")

    assert resolve_params(BUILTIN_RULES, given)[RuleId("Collectives")].link_gb_per_s == 50.0


def test_set_wins_over_an_option_of_several_rules() -> None:
    given = _settings("--set", "KernelTime.top=5", "--top", "3")

    assert given == {"KernelTime.top": "5", "OperatorTime.top": 3, "LaunchLatency.top": 3}


@pytest.mark.parametrize("text", [b"a = ", b"\xff", b"a = " + b"[" * 100_000 + b"]" * 100_000])
def test_a_configuration_that_is_none_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "rules.toml"
    path.write_bytes(text)

    with pytest.raises(ConfigError, match="cannot be read"):
        read_settings((), path)
