"""``reportgen record``: run a command and record it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from reportgen import __version__
from reportgen.cli.places import CONTEXT, former_option
from reportgen.errors import ConfigError

_SHORTEST_S, _LONGEST_S = 0.1, 60.0


def _traced_steps(text: str) -> str:
    if not re.fullmatch(r"\d+:\d+(@\d+(,\d+)*)?", text):
        raise click.BadParameter(f"{text!r} is not a range of steps; write 20:25 or 20:25@0,7.")
    first, last = text.partition("@")[0].split(":")
    if int(last) < int(first):
        raise click.BadParameter(f"{text!r} ends before it begins.")
    return text


@click.command(
    context_settings={**CONTEXT, "allow_interspersed_args": False, "ignore_unknown_options": False}
)
@click.argument("words", metavar="COMMAND…", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder of the recording; nodes and ranks of one job share it. "
    "[default: profiler-runs/<time>-<name>]",
)
@click.option(
    "--every",
    type=click.FloatRange(_SHORTEST_S, _LONGEST_S),
    default=0.5,
    show_default=True,
    metavar="SECONDS",
    help="Interval between samples of the machine.",
)
@click.option(
    "--trace",
    type=_traced_steps,
    metavar="A:B[@RANKS]",
    help="Record steps A to B with PyTorch's profiler, on the first, middle and last rank, or on "
    "those after @.",
)
@click.option("--report", is_flag=True, help="Make the report when the command has ended.")
@former_option(
    "--watch", "--report makes it at the end, `reportgen watch DIR` meanwhile.", is_flag=True
)
@click.option("--attach", type=click.IntRange(1), hidden=True)
@click.option("--hostnames", is_flag=True, help="Call nodes by their host names, not node-1 ….")
def command(
    words: tuple[str, ...],
    out: Path | None,
    every: float,
    trace: str | None,
    report: bool,
    attach: int | None,
    hostnames: bool,
) -> int:
    """Run a training command and record it, on Linux and macOS.

    \b
    reportgen record -- python train.py
    reportgen record --report -- torchrun --nproc-per-node 8 train.py
    srun reportgen record --out shared/run-1 -- python train.py

    The command's input, output, signals and exit code are as without this program. A script that
    uses PyTorch, Lightning, Hugging Face or Keras needs no change. docs/record.md lists the
    recorded data, and their limits.
    """  # noqa: D301  # click's mark
    if sys.platform == "win32":
        hint = "On Windows, record inside WSL."
        raise ConfigError("Recording needs Linux or macOS.", hint=hint)
    if not words and attach is None:
        raise click.UsageError("There is no command to record; write it after --.")
    from reportgen.record import session

    options = session.RecordOptions(
        command=words or ("notebook",),
        out=out,
        every_s=every,
        trace=trace,
        makes_report=report,
        with_host_name=hostnames,
        version=__version__,
    )
    return session.record(options) if attach is None else session.attach(options, attach)
