"""Write ``docs/command-line.md``, the reference of the commands, from their options.

``python docs/cli_build.py`` rewrites it; a test proves that it is fresh.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from reportgen.cli.family import family
from reportgen.cli.places import Grouped

PAGE = Path(__file__).resolve().parent / "command-line.md"
_INTRO = """\
# Commands

Written by `docs/cli_build.py` from the commands themselves; `reportgen COMMAND --help` (or `-h`)
prints the same. `make-profiler-report` is `reportgen report`; `python -m reportgen` is the same.

## Completion in the shell

Add one line to the start-up file of your shell:

```bash
eval "$(_REPORTGEN_COMPLETE=bash_source reportgen)"      # bash: ~/.bashrc
eval "$(_REPORTGEN_COMPLETE=zsh_source reportgen)"       # zsh: ~/.zshrc
_REPORTGEN_COMPLETE=fish_source reportgen | source       # fish: ~/.config/fish/config.fish
```

For `make-profiler-report` the name of the variable is `_MAKE_PROFILER_REPORT_COMPLETE`.
"""


def cli_text() -> str:
    """Return the whole page."""
    ctx = click.Context(family, info_name="reportgen")
    parts = [_INTRO]
    for name in family.list_commands(ctx):
        found = family.get_command(ctx, name)
        if found is not None:
            parts.append("\n".join(_command(name, found, ctx)))
    return "\n".join(parts)


def _command(name: str, command: click.Command, above: click.Context) -> Iterator[str]:
    ctx = click.Context(command, info_name=name, parent=above)
    usage = " ".join(command.collect_usage_pieces(ctx))
    yield f"## `reportgen {name}`\n"
    yield f"```text\nreportgen {name} {usage}\n```\n"
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        is_verbatim = paragraph.lstrip().startswith("\b")
        text = paragraph.replace("\b\n", "").strip("\n")
        yield f"```text\n{text}\n```\n" if is_verbatim else f"{' '.join(text.split())}\n"
    for heading, options in _groups(command, ctx).items():
        if rows := [_row(option, ctx) for option in options if _is_shown(option)]:
            yield f"**{heading}**\n\n| option | meaning |\n|---|---|"
            yield from (*rows, "")


def _groups(command: click.Command, ctx: click.Context) -> dict[str, list[click.Option]]:
    if isinstance(command, Grouped):
        return command.grouped_options(ctx)
    options = [param for param in command.get_params(ctx) if isinstance(param, click.Option)]
    return {"Options": options}


def _is_shown(option: click.Option) -> bool:
    return not option.hidden and "--help" not in option.opts


def _row(option: click.Option, ctx: click.Context) -> str:
    record = option.get_help_record(ctx)
    if record is None:
        return ""
    names, meaning = (text.replace("|", "\\|") for text in record)
    return f"| `{names}` | {meaning.replace('<', '&lt;')} |"


if __name__ == "__main__":
    PAGE.write_text(cli_text(), encoding="utf-8")
    sys.stderr.write(f"{PAGE.name}\n")
