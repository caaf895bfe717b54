"""Options of earlier versions without effect: scripts that name them go on working."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from reportgen.cli.streams import say


def former_option(name: str, instead: str, *, is_flag: bool = False) -> Callable[..., Any]:
    """Accept an option without effect, and say ``instead`` what has one."""

    def tell(_context: click.Context, _option: click.Parameter, value: object) -> None:
        if value:
            say(f"{name} has no effect any more: {instead}")

    return click.option(
        name, name.strip("-"), is_flag=is_flag, hidden=True, expose_value=False, callback=tell
    )
