"""Options of several commands: folders, buckets, cycles, ranges, colours; and their help."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce, wraps
from pathlib import Path
from typing import Any

import click

from reportgen.cli.streams import say
from reportgen.plain_files import oddity

_IN_ENVIRONMENT = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
)
_OF_BUCKETS = (
    click.option("--profile", metavar="NAME", help="AWS profile for s3://."),
    click.option(
        "--region", metavar="NAME", help="Region of the bucket. [default: as the store says]"
    ),
    click.option("--endpoint-url", metavar="URL", help="Address of a store that is not Amazon's."),
    click.option(
        "--no-sign-request", is_flag=True, help="Read public buckets without credentials."
    ),
)
_OF_RANGES = (
    click.option("--from", "since", metavar="T", help="Only T and later: ISO 8601, Unix seconds."),
    click.option("--to", "until", metavar="T", help="Only T and earlier."),
    click.option("--steps", metavar="A:B", help="Only the time of steps A to B, both included."),
)
_ADDRESS = re.compile(r"https?://[^\s/@?#]+(/[^\s@?#]*)?", re.IGNORECASE)


def output_option(kind: click.Path, about: str) -> Callable[[Callable[..., Any]], Any]:
    """Return the option ``--output``, which is the current folder by default."""
    return click.option(
        "-o", "--output", type=kind, default=Path(), metavar="DIR", help=f"{about} [default: here]"
    )


def former_option(name: str, instead: str, *, is_flag: bool = False) -> Callable[..., Any]:
    """Accept an option of earlier versions without effect, and say ``instead`` what has one."""

    def tell(_context: click.Context, _option: click.Parameter, value: object) -> None:
        if value:
            say(f"{name} has no effect any more: {instead}")

    return click.option(
        name, name.strip("-"), is_flag=is_flag, hidden=True, expose_value=False, callback=tell
    )


cycle_option = click.option(
    "--cycle",
    type=click.IntRange(min=1),
    default=1,
    metavar="K",
    help="Report the K-th newest cycle of torch.profiler's schedule(repeat=...), not the newest.",
)
"""The option of every command that reads kernel traces of a job that has ended."""

theme_option = click.option(
    "--theme",
    type=click.Choice(["auto", "light", "dark"]),
    default="auto",
    show_default=True,
    help="Colours of the page; auto follows the reader's system.",
)
"""The option of every command that makes a page."""


def range_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that name a part of a job; it gets the range as ``wanted``."""

    @wraps(command)
    def ranged(since: str | None, until: str | None, steps: str | None, **others: Any) -> Any:
        if since is until is steps is None:
            return command(wanted=None, **others)
        from reportgen.pipeline.wanted import wanted_range  # numpy, which --help does without

        return command(wanted=wanted_range(since, until, steps), **others)

    return reduce(lambda inner, option: option(inner), reversed(_OF_RANGES), ranged)


class FileType(click.Path):
    """A file; pipes and devices, which would be waited for, are refused."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a path; fail where it is neither a file nor nothing."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.exists() and (kind := oddity(path.stat().st_mode)):
            said = f"{click.format_filename(path)!r} is {kind}, which is not a plain file."
            self.fail(f"{said} Copy its content into one and pass that.", param, ctx)
        return path


class OutputType(click.Path):
    """A folder, or ``s3://bucket/prefix``, which stays text."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a path, or the address as it is."""
        if isinstance(value, str) and value.lower().startswith("s3://"):
            return "s3://" + value[5:]
        return super().convert(value, param, ctx)


def bucket_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say how buckets are reached, and do what they say first."""

    @wraps(command)
    def reaching(
        profile: str | None,
        region: str | None,
        endpoint_url: str | None,
        no_sign_request: bool,
        **others: Any,
    ) -> Any:
        reach_buckets(profile, region, endpoint_url, is_anonymous=no_sign_request)
        return command(**others)

    return reduce(lambda inner, option: option(inner), reversed(_OF_BUCKETS), reaching)


def reach_buckets(
    profile: str | None, region: str | None, endpoint_url: str | None, *, is_anonymous: bool
) -> None:
    """Set the variables of the AWS CLI as the options say, for this process and its children.

    A profile that is named wins over keys in the environment, as in the AWS CLI.

    Raises:
        click.UsageError: an endpoint that is not an address.
    """
    from reportgen.storage.s3_settings import WANTED_REGION

    if profile is not None:
        for name in _IN_ENVIRONMENT:
            os.environ.pop(name, None)
        os.environ["AWS_PROFILE"] = profile
    if region is not None:
        os.environ["AWS_REGION"] = os.environ[WANTED_REGION] = region
    if endpoint_url is not None:
        if not _ADDRESS.fullmatch(endpoint_url):
            raise click.UsageError("--endpoint-url needs an address, https://host or http://host.")
        os.environ["AWS_ENDPOINT_URL_S3"] = endpoint_url
    if is_anonymous:
        os.environ["AWS_SKIP_SIGNATURE"] = "true"


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
