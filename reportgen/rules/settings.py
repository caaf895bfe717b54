"""Parameters that users set: names looked up, values checked, mistakes explained.

Accepted spellings: ``Rule.param`` and AWS's ``Rule_param``, case ignored.
"""

from __future__ import annotations

import difflib
import logging
import re
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from reportgen.errors import ConfigError
from reportgen.profile.patterns import found_in
from reportgen.results import RuleId, Scalar
from reportgen.rules.base import AnyRule, ParamSpec, param_specs

logger = logging.getLogger(__name__)

_FORMER = {
    "annotations": ("histograms",),
    "gpupower": ("idle_energy_pct", "power_limit_pct", "shared_pct", "throttled_pct"),
    "horovodnegotiation": ("fair_factor", "min_held_up_pct", "min_negotiations"),
    "kernelprecision": ("top",),
    "launchlatency": ("threshold_full_pct",),
    "networkbottleneck": ("floor_bytes_per_s", "min_duration_s", "patience"),
    "overallframeworkmetrics": ("others_pct", "pass_pct", "straggler_pct"),
}
"""Parameters that rules once had, by rule, in small letters."""

_LARGEST = 2.0**53
"""Beyond, float64 holds no whole numbers; counts and thresholds are far below."""


def resolve_params(rules: Sequence[AnyRule], settings: Mapping[str, object]) -> dict[RuleId, Any]:
    """Return the parameters of each rule, defaults replaced by ``"Rule.param"`` to a value.

    Raises:
        ConfigError: an unknown rule or parameter, or a value out of range.
    """
    chosen = checked_settings(rules, settings)
    return {rule.id: rule.params(**chosen.get(rule.id, {})) for rule in rules}


def checked_settings(
    rules: Sequence[AnyRule], settings: Mapping[str, object]
) -> dict[RuleId, dict[str, Scalar]]:
    """Return the values that were set, by rule and parameter.

    Raises:
        ConfigError: an unknown rule or parameter, or a value out of range.
    """
    chosen: dict[RuleId, dict[str, Scalar]] = defaultdict(dict)
    for key, value in without_former(settings).items():
        rule, spec = find_param(rules, key)
        chosen[rule.id][spec.name] = checked_value(f"{rule.id}.{spec.name}", spec, value)
    return chosen


def without_former(settings: Mapping[str, object]) -> dict[str, object]:
    """Return the settings without parameters that rules of earlier versions had; a log names them.

    A configuration that names one goes on working.
    """
    kept = dict(settings)
    for key in settings:
        rule, _, param = key.lower().partition("." if "." in key else "_")
        if param in _FORMER.get(rule, ()):
            logger.warning("%s has no effect any more.", key)
            del kept[key]
    return kept


def select_rules(rules: Sequence[AnyRule], wanted: Sequence[str]) -> tuple[AnyRule, ...]:
    """Return the rules named in ``wanted`` (case ignored) in the order of ``rules``.

    Raises:
        ConfigError: a name is no rule.
    """
    ids = {find_rule(rules, name).id for name in wanted}
    return tuple(rule for rule in rules if rule.id in ids)


def find_rule(rules: Sequence[AnyRule], name: str) -> AnyRule:
    """Return the rule of this name, now or formerly, case ignored.

    Raises:
        ConfigError: no such rule; the message holds the nearest name.
    """
    by_name = {former.lower(): rule for rule in rules for former in rule.former_ids}
    by_name |= {rule.id.lower(): rule for rule in rules}
    found = by_name.get(name.strip().lower())
    if found is not None:
        return found
    raise ConfigError(
        f"Unknown rule {name.strip()!r}{_nearest(name, [rule.id for rule in rules])}.",
        hint=f"Rules: {', '.join(sorted(rule.id for rule in rules))}.",
        rule_id=name,
    )


def find_param(rules: Sequence[AnyRule], key: str) -> tuple[AnyRule, ParamSpec]:
    """Return the rule and parameter that ``Rule.param`` or ``Rule_param`` names.

    Raises:
        ConfigError: no separator, an unknown rule, or an unknown parameter.
    """
    # AWS writes Rule_param; no rule has an underscore in its name, parameters have several.
    rule_name, separator, param_name = key.partition("." if "." in key else "_")
    if not separator:
        raise ConfigError(
            f"{key!r} does not name a parameter of a rule.",
            hint="Write RULE.PARAM=VALUE, for example LowGPUUtilization.threshold_p95=80.",
        )
    rule = find_rule(rules, rule_name)
    specs = {spec.name.lower(): spec for spec in param_specs(rule.params)}
    aliases = {alias.lower(): specs[name] for alias, name in rule.param_aliases.items()}
    spec = specs.get(param_name.lower()) or aliases.get(param_name.lower())
    if spec is not None:
        return rule, spec
    names = [item.name for item in specs.values()]
    raise ConfigError(
        f"{rule.id} has no parameter {param_name!r}{_nearest(param_name, names)}.",
        hint=f"Parameters of {rule.id}: {', '.join(names)}." if names else "It has none.",
        rule_id=rule.id,
    )


def checked_value(name: str, spec: ParamSpec, value: object) -> Scalar:
    """Return a value as its parameter wants it.

    Raises:
        ConfigError: not of the right kind, or out of range; the message holds the range.
    """
    if spec.may_be_none and (value is None or str(value).strip().lower() == "none"):
        return None
    if spec.is_pattern:
        return _pattern(name, value)
    if spec.is_text:
        return str(value)
    converted = _text(spec, value) if spec.choices else _number(spec, value)
    if converted is None:
        raise ConfigError(
            f"{name} cannot be {value!r}.",
            hint=f"Valid: {valid_range(spec)}; the default is {spec.default}.",
            param=name,
        )
    return converted


def valid_range(spec: ParamSpec) -> str:
    """Return the valid values of a parameter in words: ``a number from 0 to 100 (%)``."""
    nothing = " or None" if spec.may_be_none else ""
    if spec.is_pattern:
        return f"a regular expression{nothing}"
    if spec.is_text:
        return f"text{nothing}"
    if spec.choices:
        return f"one of {', '.join(spec.choices)}{nothing}"
    noun = "a whole number" if spec.is_whole else "a number"
    unit = f" ({spec.unit})" if spec.unit else ""
    match (spec.minimum, spec.maximum):
        case (None, None):
            span = ""
        case (low, None):
            span = f" of at least {low:g}"
        case (None, high):
            span = f" of at most {high:g}"
        case (low, high):
            span = f" from {low:g} to {high:g}"
    return f"{noun}{span}{unit}{nothing}"


def _pattern(name: str, value: object) -> str:
    text = str(value).strip()
    try:
        with warnings.catch_warnings(action="error"):  # such as of "[[:alpha:]]", which is no class
            re.compile(text)
        found_in([""], text)
    except (re.error, ValueError, OverflowError, RecursionError, Warning) as err:
        raise ConfigError(
            f"{name} cannot be {text!r}: it is no regular expression ({err}).",
            hint='Write one without look-around, for example "^my_all_reduce|fused_gather".',
            param=name,
        ) from err
    if not text:
        raise ConfigError(
            f"{name} is empty, so it would fit every name.",
            hint="Leave it out, or write a regular expression.",
            param=name,
        )
    return text


def _text(spec: ParamSpec, value: object) -> str | None:
    wanted = str(value).strip().lower()
    return next((choice for choice in spec.choices if choice.lower() == wanted), None)


def _number(spec: ParamSpec, value: object) -> int | float | None:
    try:
        number = float(str(value).strip())
    except ValueError:  # also of True and False
        return None
    low = -_LARGEST if spec.minimum is None else spec.minimum
    high = _LARGEST if spec.maximum is None else spec.maximum
    if not low <= number <= high:  # false for NaN
        return None
    is_whole = number == int(number)
    if spec.is_whole:
        return int(number) if is_whole else None
    return int(number) if is_whole and "." not in str(value) else number


def _nearest(name: str, known: Sequence[str]) -> str:
    lowered, given = {item.lower(): item for item in known}, name.strip().lower()
    match = [item for item in lowered if given and item.startswith(given)]
    match += difflib.get_close_matches(given, list(lowered), n=1, cutoff=0.5)
    return f" (nearest: {lowered[match[0]]})" if match else ""
