"""Commands whose ``--help`` lists options by purpose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

_BUCKETS = ("profile", "region", "endpoint_url", "no_sign_request")
_REST = "Options"
CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Grouped(click.Command):
    """A command with options in groups: ``groups`` maps a heading to names of parameters.

    Options without a group are under "Options"; those of buckets have a group in every command.
    """

    def __init__(
        self, name: str | None, *, groups: Mapping[str, Sequence[str]] | None = None, **others: Any
    ) -> None:
        super().__init__(name, context_settings=CONTEXT, **others)
        self._groups = {**(groups or {}), _REST: (), "Buckets": _BUCKETS}

    def grouped_options(self, ctx: click.Context) -> dict[str, list[click.Option]]:
        """Return the options under their headings, in the order of ``--help``."""
        heading_of = {name: heading for heading, names in self._groups.items() for name in names}
        found: dict[str, list[click.Option]] = {heading: [] for heading in self._groups}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option):
                found[heading_of.get(param.name or "", _REST)].append(param)
        return {heading: options for heading, options in found.items() if options}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups."""
        for heading, options in self.grouped_options(ctx).items():
            records = [option.get_help_record(ctx) for option in options]
            with formatter.section(heading):
                formatter.write_dl([record for record in records if record is not None])
