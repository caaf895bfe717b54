"""Options that say where things are: output folders or buckets, and how buckets are reached."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


class OutputType(click.Path):
    """A folder, or ``s3://bucket/prefix``, which stays text."""

    def __init__(self) -> None:
        """Take folders that need not exist yet."""
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a path, or the address as it is."""
        if isinstance(value, str) and value.lower().startswith("s3://"):
            return "s3://" + value[5:]
        return super().convert(value, param, ctx)


def reach_buckets(
    *, profile: str | None, region: str | None, endpoint_url: str | None, no_sign_request: bool
) -> None:
    """Set the variables of the AWS CLI as the options say, for this process and its children.

    A profile that is named wins over keys in the environment, as in the AWS CLI.
    """
    if profile is not None:
        for name in _KEYS:
            os.environ.pop(name, None)
        os.environ["AWS_PROFILE"] = profile
    if region is not None:
        os.environ["AWS_REGION"] = region
    if endpoint_url is not None:
        os.environ["AWS_ENDPOINT_URL_S3"] = endpoint_url
    if no_sign_request:
        os.environ["AWS_SKIP_SIGNATURE"] = "true"
