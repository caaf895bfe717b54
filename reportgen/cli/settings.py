"""Options that set parameters of rules, and values of options: offsets, lists of formats."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import reduce, wraps
from pathlib import Path
from typing import Any

import click

from reportgen.cli.places import FileType
from reportgen.errors import ConfigError
from reportgen.plain_files import read_named

JSON = "json"
FORMATS = ("html", "ipynb", "md", JSON)
RULES_WITH: Mapping[str, Sequence[str]] = {
    "top": ("KernelTime", "OperatorTime", "LaunchLatency"),
    "communication_names": (
        "GPUActivity", "KernelTime", "KernelPrecision", "Collectives", "GPUTimeBudget", "Timeline",
        "Efficiency",
    ),
    "usd_per_gpu_hour": ("GPUTimeBudget",),
    "usd_per_kwh": ("GPUPower",),
    "pue": ("GPUPower",),
    "link_gb_per_s": ("Collectives",),
    "gpu_peak": ("Efficiency",),
    "params": ("Efficiency",),
    "tokens_per_step": ("Efficiency",),
    "attention": ("Efficiency",),
}  # fmt: skip
"""The rules with a parameter that has an option with a name of its own."""

_OPTIONS = (
    click.option(
        "--set", "settings", metavar="RULE.PARAM=VALUE", multiple=True,
        help="Set a parameter of a rule; may be repeated.",
    ),
    click.option(
        "--config", type=FileType(), metavar="FILE.toml",
        help="Parameters of rules, one table per rule. --set wins.",
    ),
    click.option(
        "--top", type=click.IntRange(1, 1000), metavar="N",
        help="How many kernels and operators are shown one by one. [default: 15]",
    ),
    click.option(
        "--communication", "communication_names", metavar="REGEX",
        help="Kernels with a matching name count as communication too, like those of NCCL.",
    ),
    click.option(
        "--usd-per-gpu-hour", metavar="X",
        help="Price of one GPU for an hour: the GPU time budget also shows costs.",
    ),
    click.option(
        "--usd-per-kwh", metavar="X",
        help="Price of a kilowatt-hour: the report also shows the cost of the GPUs' energy.",
    ),
    click.option(
        "--pue", metavar="X",
        help="Power usage effectiveness of the data centre: a factor of the cost of energy.",
    ),
    click.option(
        "--link-gb-per-s", metavar="X",
        help="Bandwidth of a GPU's link in one direction, in GB/s: the report shows which share of "
        "it collectives reach.",
    ),
    click.option(
        "--gpu-peak", metavar="FORMAT=X,…",
        help="Dense peaks of a GPU that is not in the table, in TFLOP/s, and its memory in GB/s: "
        "bf16=989,memory=3350.",
    ),
    click.option(
        "--params", metavar="N",
        help="Parameters of the model, such as 7e9: with --tokens-per-step they give the MFU of "
        "traces without sizes of inputs.",
    ),
    click.option(
        "--tokens-per-step", metavar="N",
        help="Tokens of a step on all GPUs of the job together.",
    ),
    click.option(
        "--attention", metavar="LAYERS,WIDTH,LENGTH",
        help="Layers, width and sequence length, such as 32,4096,2048: the MFU counts attention "
        "too.",
    ),
)  # fmt: skip


def utc_offset(text: str) -> int:
    """Return a difference to UTC in seconds: of ``+02:00``, ``-0530`` or ``9``."""
    match = re.fullmatch(r"([+-]?)(\d{1,2})(?::?(\d{2}))?", text.strip())
    if match is None or int(match[2]) > _MOST_HOURS or int(match[3] or 0) > _MOST_MINUTES:
        raise click.BadParameter(f"{text!r} is not a difference to UTC; write it as +02:00.")
    seconds = 3600 * int(match[2]) + 60 * int(match[3] or 0)
    return -seconds if match[1] == "-" else seconds


_MOST_HOURS, _MOST_MINUTES = 23, 59


def named_formats(text: str) -> frozenset[str]:
    """Return the formats of a list beside JSON, which is always made."""
    names = frozenset(name.strip().lower() for name in text.split(",") if name.strip())
    unknown = sorted(names.difference(FORMATS))
    if unknown or not names:
        said = f"{unknown[0]!r} is not a format" if unknown else "no format was named"
        raise click.BadParameter(f"{said}; there are {', '.join(FORMATS)}.")
    return names - {JSON}


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that set parameters of rules; it gets them as ``settings``.

    ``--set`` names one rule, so it wins over an option that sets a parameter of several.
    """

    @wraps(command)
    def tuned(settings: Sequence[str], config: Path | None, **others: Any) -> Any:
        of_one: dict[str, object] = {}
        of_several: dict[str, object] = {}
        for name, rules in RULES_WITH.items():
            if (value := others.pop(name)) is not None:
                given = of_several if rules[1:] else of_one
                given.update({f"{rule}.{name}": value for rule in rules})
        return command(
            settings={**of_several, **read_settings(settings, config), **of_one}, **others
        )

    return reduce(lambda inner, option: option(inner), reversed(_OPTIONS), tuned)


def read_settings(pairs: Sequence[str], config: Path | None) -> Mapping[str, object]:
    """Return the parameters that were set: those of the file, overridden by ``RULE.PARAM=VALUE``.

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
    return settings


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
