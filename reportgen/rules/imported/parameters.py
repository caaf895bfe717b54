"""The parameters with which SageMaker ran a rule, read from its ``RuleParameters``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reportgen.errors import ConfigError
from reportgen.results import Scalar
from reportgen.rules.base import AnyRule, param_specs
from reportgen.rules.settings import checked_value


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedParams:
    """Parameters of a rule, and the names of those whose printed value could not be used."""

    params: Any
    unread: tuple[str, ...] = ()


def parse_parameters(rule: AnyRule, text: str) -> ImportedParams:
    r"""Read ``"threshold:50\ncpu_threshold:90"``; what is absent or not valid has its default.

    Aliases count (StepOutlier prints ``threshold`` for ``stddev``); the rule's own name wins.
    """
    specs = {spec.name: spec for spec in param_specs(rule.params)}
    printed = dict(line.partition(":")[::2] for line in text.splitlines() if ":" in line)
    chosen: dict[str, Scalar] = {}
    unread: list[str] = []
    for given in sorted(printed, key=lambda name: name in specs):
        name = given if given in specs else rule.param_aliases.get(given)
        if name is None:
            unread.append(given)
            continue
        try:
            chosen[name] = checked_value(f"{rule.id}.{name}", specs[name], printed[given])
        except ConfigError:
            unread.append(given)
    return ImportedParams(params=rule.params(**chosen), unread=tuple(sorted(unread)))
