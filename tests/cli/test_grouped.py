"""``--help`` with options by purpose."""

from __future__ import annotations

import click
import pytest

from reportgen.cli import command
from reportgen.cli.command import _GROUPS
from reportgen.cli.family import family
from reportgen.cli.places import Grouped


def test_every_option_of_the_report_stands_under_one_heading() -> None:
    ctx = click.Context(command)
    grouped = command.grouped_options(ctx)
    assert list(grouped) == ["Input", "Rules", "Output", "Options", "Buckets"]
    shown = [option.name for options in grouped.values() for option in options]
    options = [param.name for param in command.get_params(ctx) if isinstance(param, click.Option)]
    assert sorted(map(str, shown)) == sorted(map(str, options))
    assert len(grouped["Options"]) <= 8


def test_the_groups_name_options_that_exist() -> None:
    named = {name for names in _GROUPS.values() for name in names}
    assert named <= {param.name for param in command.params}


@pytest.mark.parametrize("name", ["report", "compare", "index", "query", "watch"])
def test_buckets_have_a_group_in_every_command_that_reads_them(name: str) -> None:
    found = family.get_command(click.Context(family), name)
    assert isinstance(found, Grouped)
    buckets = found.grouped_options(click.Context(found))["Buckets"]
    assert [option.opts[0] for option in buckets] == [
        "--profile", "--region", "--endpoint-url", "--no-sign-request",
    ]  # fmt: skip
    text = found.get_help(click.Context(found))
    assert text.index("\nOptions:") < text.index("\nBuckets:")
