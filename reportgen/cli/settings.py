"""Values of options: parameters of rules from ``--set`` and ``--config``, lists of formats."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from reportgen.errors import ConfigError
from reportgen.plain_files import read_named

JSON = "json"
FORMATS = ("html", "ipynb", "md", JSON)
PRICE = "GPUTimeBudget.usd_per_gpu_hour"
KWH_PRICE, PUE = "GPUPower.usd_per_kwh", "GPUPower.pue"
LINK = "Collectives.link_gb_per_s"
_RULES_WITH_TOP = ("KernelTime", "OperatorTime", "LaunchLatency")
_RULES_WITH_COMMUNICATION = (
    "GPUActivity", "KernelTime", "KernelPrecision", "Collectives", "GPUTimeBudget", "Timeline",
    "Efficiency",
)  # fmt: skip


class UtcOffsetType(click.ParamType[int]):
    """A difference to UTC: ``+02:00``, ``-0530`` or ``9``."""

    name = "offset"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return seconds; fail beyond a day."""
        if isinstance(value, int):
            return value
        match = _OFFSET.fullmatch(str(value).strip())
        if match is None or int(match[2]) > _MOST_HOURS or int(match[3] or 0) > _MOST_MINUTES:
            self.fail(f"{value!r} is not a difference to UTC; write it as +02:00.", param, ctx)
        seconds = 3600 * int(match[2]) + 60 * int(match[3] or 0)
        return -seconds if match[1] == "-" else seconds


_OFFSET = re.compile(r"([+-]?)(\d{1,2})(?::?(\d{2}))?")
_MOST_HOURS, _MOST_MINUTES = 23, 59


class FormatsType(click.ParamType[frozenset[str]]):
    """Names of formats, separated by commas."""

    name = "formats"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> frozenset[str]:
        """Return the formats beside JSON, which is always made; fail with the names there are."""
        if isinstance(value, frozenset):
            return value
        names = frozenset(name.strip().lower() for name in str(value).split(",") if name.strip())
        unknown = sorted(names.difference(FORMATS))
        if unknown or not names:
            said = f"{unknown[0]!r} is not a format" if unknown else "no format was named"
            self.fail(f"{said}; there are {', '.join(FORMATS)}.", param, ctx)
        return names - {JSON}


def top_settings(top: int | None) -> Mapping[str, object]:
    """Return how many of the largest are shown, for each rule that shows some; {} if not set."""
    return {} if top is None else {f"{rule}.top": top for rule in _RULES_WITH_TOP}


def communication_settings(pattern: str | None) -> Mapping[str, object]:
    """Return which kernels are communication too, for each rule that asks; {} if not set."""
    if pattern is None:
        return {}
    return {f"{rule}.communication_names": pattern for rule in _RULES_WITH_COMMUNICATION}


def efficiency_settings(**given: object) -> Mapping[str, object]:
    """Return what was given of GPU and model; {} if nothing."""
    return {f"Efficiency.{name}": value for name, value in given.items() if value is not None}


def read_settings(
    pairs: Sequence[str], config: Path | None, named: Mapping[str, str | None] | None = None
) -> Mapping[str, object]:
    """Return the parameters that were set: those of the file, overridden by ``RULE.PARAM=VALUE``.

    ``named`` are parameters with a separate option, ``None`` where an option was not given.

    Raises:
        ConfigError: a pair without a value, or a file that is not one table per rule.
    """
    settings = _read_config(config) if config else {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator:
            raise ConfigError(
                f"--set {pair} has no value.",
                hint="Write --set RULE.PARAM=VALUE, for example StepOutlier.stddev=4.",
            )
        settings[key.strip()] = value.strip()
    return settings | {key: value for key, value in (named or {}).items() if value is not None}


def _read_config(path: Path) -> dict[str, object]:
    try:
        tree = tomllib.loads(read_named(path).decode())
    except (OSError, ValueError, RecursionError) as err:
        reason = err.strerror if isinstance(err, OSError) else err
        raise ConfigError(
            f"The configuration {path} cannot be read ({reason}).",
            hint="Write one table per rule, for example [StepOutlier] and stddev = 4.",
            path=str(path),
        ) from err
    flat: dict[str, object] = {}
    for rule, table in tree.items():
        if not isinstance(table, dict):
            raise ConfigError(
                f"{path}: expected a table per rule, saw {rule} = {table!r}.",
                hint=f"Write [RULE] on a separate line and {rule} = {table!r} below it.",
                path=str(path),
            )
        flat.update({f"{rule}.{key}": value for key, value in table.items()})
    return flat
