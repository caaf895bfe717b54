"""One ``reportgen record``: folder, command, sampler, and what is said at the end."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from reportgen.gpu_peaks import peak_of
from reportgen.record import OWN_COMMAND
from reportgen.record.folder import (
    NodeFolder,
    boot_token,
    is_alive,
    open_recording,
    process_start,
    read_json,
)
from reportgen.record.runs import RecordedRun, is_free, program_name
from reportgen.record.sampler import Sampler
from reportgen.record.supervise import Command, NotStartedError
from reportgen.text_safety import terminal_text

FLOPS_PER_TOKEN = 6
"""FLOPs of a training step for each token and parameter (docs/efficiency.md, MFU and HFU)."""
INJECTED = Path(__file__).parent / "injected"
_SAMPLER_ENDS_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """Options of ``reportgen record``.

    Attributes:
        command: what to run, with its arguments.
        out: the folder; ``None`` means a new one below ``profiler-runs``.
        every_s: the interval of samples.
        trace: ``A:B`` or ``A:B@RANK,RANK``: steps that PyTorch's profiler records.
        makes_report: whether a report is made at the end.
        with_host_name: whether nodes are called by their host names.
        version: of this package, which the recording names.
    """

    command: Sequence[str]
    out: Path | None = None
    every_s: float = 0.5
    trace: str | None = None
    makes_report: bool = False
    with_host_name: bool = False
    version: str = ""


def record(options: RecordOptions) -> int:
    """Run the command, recorded as far as that is possible, and return its exit code."""
    if shutil.which(options.command[0]) is None:
        return _run_alone(options.command)  # which says why not; there is nothing to record
    try:
        recording, run = _begin(options)
    except OSError as err:
        say(f"not recorded: {err.filename or options.out}: {err.strerror}; the command runs anyway")
        return _run_alone(options.command)
    return _record(options, recording, run)


def say(text: str) -> None:
    """Write a line to stderr; a closed stream is no failure."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"reportgen: {terminal_text(text)}\n")
        sys.stderr.flush()


def _begin(options: RecordOptions) -> tuple[NodeFolder, RecordedRun]:
    out = options.out.absolute() if options.out else _new_folder(options.command)
    root = next(filter(partial(is_free, command=options.command), _folders(out)))
    if root != out:
        say(f"{out.name} holds the recording of another run; this one goes into {root.name}")
    recording = open_recording(root, with_host_name=options.with_host_name)
    return recording, RecordedRun(recording, options.command)


def _folders(out: Path) -> Iterator[Path]:
    """Yield the wished folder, then such beside it that hold nothing or recordings."""
    yield out
    for number in count(2):
        root = out.with_name(f"{out.name}-{number}")
        is_empty = not root.exists() or (root.is_dir() and not any(root.iterdir()))
        if is_empty or (root / "recorder").exists():
            yield root


def _new_folder(command: Sequence[str]) -> Path:
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{program_name(command)}"
    above = Path.cwd() / "profiler-runs"
    above.mkdir(exist_ok=True)
    for ending in ("", *(f"-{number}" for number in range(2, 1000))):
        with suppress(FileExistsError):
            root = above / f"{stem}{ending}"
            root.mkdir(mode=0o700)
            return root
    raise FileExistsError(17, "a thousand recordings of this second", str(above))


def _run_alone(command: Sequence[str]) -> int:
    try:
        return Command(command, os.environ).wait()
    except NotStartedError as err:
        say(str(err))
        return err.exit_code


def _record(options: RecordOptions, recording: NodeFolder, run: RecordedRun) -> int:
    try:
        command = Command(options.command, environment(options, recording))
    except NotStartedError as err:
        with suppress(OSError):
            run.end(err.exit_code)
        say(str(err))
        return err.exit_code
    sampler = Sampler(
        recording, every_s=options.every_s, command_pid=command.pid, version=options.version
    )
    try:
        sampler.start()
    except Exception as err:  # noqa: BLE001  # the command runs already, and must be waited for
        say(f"not recorded: {type(err).__name__}: {err}")
    exit_code = command.wait()
    try:
        _finish(options, recording, run, sampler, exit_code)
    except Exception as err:  # noqa: BLE001  # the command's answer must reach its caller
        say(f"the recording could not be finished: {type(err).__name__}: {err}")
    return exit_code


def _finish(
    options: RecordOptions,
    recording: NodeFolder,
    run: RecordedRun,
    sampler: Sampler,
    exit_code: int,
) -> None:
    sampler.stop(_SAMPLER_ENDS_S)
    losses = list(sampler.losses)
    try:
        run.end(exit_code)
    except OSError as err:
        losses.append(f"the mark of the end ({err.strerror})")
    _say_end(recording, losses, is_reported=options.makes_report)
    if options.makes_report:
        _make_report(recording.root)


def _make_report(root: Path) -> None:
    """Make the report in a separate process; its output must not mix with that of the command."""
    page = str(report_folder(root))
    words = [sys.executable, *OWN_COMMAND, "report", str(root), "--output", page]
    code = subprocess.run(words, check=False, stdout=2).returncode  # noqa: S603  # our own command
    if code:
        say(f"the report could not be made (exit code {code}); the recording is complete")


def attach(options: RecordOptions, pid: int) -> int:
    """Record the machine while a process lives that records itself, a notebook's say.

    Its environment variables are written to stdout as one line of JSON. SIGTERM ends it.
    """
    recording, run = _begin(options)
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that is recorded
    started = process_start(pid)
    sampler = Sampler(recording, every_s=options.every_s, command_pid=pid, version=options.version)
    sampler.start()
    sys.stdout.write(json.dumps(added_variables(options, recording)) + "\n")
    sys.stdout.flush()
    while is_alive(pid, started) and not ended.wait(options.every_s):
        pass
    _finish(options, recording, run, sampler, 0)
    return 0


def environment(options: RecordOptions, recording: NodeFolder) -> dict[str, str]:
    """Return the environment of the command: ours, and what the injected folder reads."""
    before = {key: value for key, value in os.environ.items() if not key.startswith(_OURS)}
    return before | added_variables(options, recording)


def added_variables(options: RecordOptions, recording: NodeFolder) -> dict[str, str]:
    """Return the variables that make a process record itself."""
    clock = recording.clock
    added = {
        "REPORTGEN_RECORD_DIR": str(recording.root),
        "REPORTGEN_RECORD_NODE": recording.node,
        "REPORTGEN_RECORD_BOOT": boot_token(),
        "REPORTGEN_RECORD_CLOCK": f"{clock.wall_ns}:{clock.monotonic_ns}",
        "REPORTGEN_RECORD_EVERY": f"{options.every_s:g}",
        "REPORTGEN_RECORD_INJECTED": str(INJECTED),
        "PYTHONPATH": _with_injected(os.environ),
    }
    if options.trace is not None:
        added["REPORTGEN_RECORD_TRACE"] = options.trace
    return added


_OURS = "REPORTGEN_RECORD_"


def _with_injected(environment: Mapping[str, str]) -> str:
    before = environment.get("PYTHONPATH")
    others = [part for part in (before or "").split(os.pathsep) if part != str(INJECTED)]
    return os.pathsep.join([str(INJECTED), *others] if before else [str(INJECTED)])


def _say_end(recording: NodeFolder, losses: Sequence[str], *, is_reported: bool) -> None:
    for line in losses:
        say(f"not recorded: {line}")
    n_faulty = len(list((recording.root / "recorder" / "faults").glob("*.jsonl")))
    if n_faulty:
        processes = "1 process" if n_faulty == 1 else f"{n_faulty} processes"
        say(f"a part of {processes} was not recorded; the report says what is missing")
    if not (recording.root / "framework").exists():
        say(
            "no step was seen; for a loop without a framework: for batch in "
            "reportgen.steps(loader); python -I, -E, -S and env -i keep the recorder out"
        )
    if numbers := numbers_of(recording.root):
        say(numbers)
    folder = shlex.quote(os.path.relpath(recording.root))
    page = shlex.quote(os.path.relpath(report_folder(recording.root)))
    command = f"reportgen report {folder} --output {page}"
    how = f"now the report is written to {page}" if is_reported else f"for the report: {command}"
    say(f"recorded into {folder}; {how}")


def numbers_of(root: Path) -> str:
    """Return steps, speed and waiting of the rank with most steps; empty without a step.

    MFU is that of this rank, by the parameters and tokens that it saw.
    """
    cards = [read_json(path) for path in sorted((root / "recorder" / "ranks").glob("*.json"))]
    with_loop = [card for card in cards if isinstance(card.get("loop"), dict)]
    card = max(with_loop, key=lambda card: int(card["loop"]["n_steps"]), default={})
    loop = card.get("loop", {})
    n_steps, lasted_ns, waited_ns = map(loop.get, ("n_steps", "lasted_ns", "waited_ns"))
    if not n_steps or not lasted_ns:
        return ""
    steps_per_s = n_steps / (lasted_ns / 1e9)
    waits = (
        "waits for data unknown"
        if waited_ns is None
        else (f"{min(100 * waited_ns / lasted_ns, 100):.1f} % of the time waiting for data")
    )
    speed = f"{steps_per_s:.3g} steps/s{_speed_of_samples(root, card, steps_per_s)}"
    return f"{n_steps:,} steps, {speed}, {waits}"


def _speed_of_samples(root: Path, card: Mapping[str, Any], steps_per_s: float) -> str:
    """Return samples by the second of all ranks, and MFU where model, tokens and GPU are known."""
    n_samples, n_ranks = card.get("samples_per_step"), card.get("world_size") or 1
    if not n_samples:
        return ""
    said = f", {n_samples * n_ranks * steps_per_s:.4g} samples/s"
    n_tokens = n_samples * (card.get("tokens_per_sample") or 0)
    n_parameters = 0 if card.get("has_frozen_parameters") else card.get("n_parameters") or 0
    peak = _peak_of_gpus(root)
    if not n_tokens or not n_parameters or peak is None:
        return said
    kind, most = peak
    mfu = 100 * FLOPS_PER_TOKEN * n_parameters * n_tokens * steps_per_s / most
    return f"{said}, MFU {mfu:.1f} % of the {kind} peak (without attention)"


def _peak_of_gpus(root: Path) -> tuple[str, float] | None:
    """Return number format and dense peak of the GPUs; ``None`` if they differ or are not known."""
    nodes = [read_json(path) for path in sorted(root.glob("recorder*.json"))]
    gpus = [gpu for node in nodes for gpu in node.get("gpus", ())]
    names = {gpu.get("name") for gpu in gpus if gpu.get("is_used") is not False}
    found = peak_of(str(names.pop())) if len(names) == 1 else None
    flops = found.flops_per_s if found else {}
    return next(((kind.upper(), flops[kind]) for kind in ("bf16", "fp16") if kind in flops), None)


def report_folder(root: Path) -> Path:
    """Return where the report of a recording goes: beside it, never into the raw data."""
    return root.with_name(f"{root.name}-report")
