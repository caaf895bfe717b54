"""Options that stand for a parameter of several rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from reportgen.cli.settings import LINK, PRICE, communication_settings, read_settings, top_settings
from reportgen.errors import ConfigError
from reportgen.results import RuleId
from reportgen.rules.base import param_specs
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.settings import resolve_params


@pytest.mark.parametrize(
    ("parameter", "given"),
    [("top", top_settings(3)), ("communication_names", communication_settings("^mine_"))],
)
def test_an_option_reaches_every_rule_that_has_its_parameter(parameter, given) -> None:
    having = {
        f"{rule.id}.{parameter}"
        for rule in BUILTIN_RULES
        if parameter in {spec.name for spec in param_specs(rule.params)}
    }

    assert set(given) == having
    assert having


def test_options_that_are_not_given_set_nothing() -> None:
    assert top_settings(None) == communication_settings(None) == {}
    assert read_settings((), None, {PRICE: None, LINK: None}) == {}


def test_an_option_with_a_name_of_its_own_wins_over_set() -> None:
    given = read_settings([f"{LINK}=25"], None, {LINK: "50"})

    assert resolve_params(BUILTIN_RULES, given)[RuleId("Collectives")].link_gb_per_s == 50.0


@pytest.mark.parametrize("text", [b"a = ", b"\xff", b"a = " + b"[" * 100_000 + b"]" * 100_000])
def test_a_configuration_that_is_none_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "rules.toml"
    path.write_bytes(text)

    with pytest.raises(ConfigError, match="cannot be read"):
        read_settings((), path)
