"""Files made to take long, to fill the memory or to end in a traceback, one by one.

``python -m tests.fuzz.attacks [NAME ...]`` runs them and prints seconds, memory and what was said.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tests.builders import START_S, system_line, timeline_lines, write_minute, write_timeline
from tests.end_to_end.command import run_here
from tests.fuzz import samples
from tests.fuzz.attacks_nsight import CANARIES, NSIGHT_ATTACKS
from tests.fuzz.attacks_saved import ATTACKS_ON_SAVED
from tests.fuzz.attacks_text import TEXT_ATTACKS
from tests.fuzz.monitored import ATTACKS_ON_MONITORED
from tests.tensorflow_traces import write_tensorflow
from tests.traces import Event, header, kernel, launch, small_events, span

MOST_S = 20.0
MOST_MIB = 1024
_HANGS_S = 300.0

TRAIN = "Step:ModeKeys.TRAIN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run of the command took and said; ``seconds`` are of computing, as in ``times``."""

    code: int
    seconds: float
    mib: float
    stderr: str
    changed: tuple[str, ...] = ()
    """Files beside the output that are not as they were."""


_MEASURED = """
import json, resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([code, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
"""On Linux the peak of a process is never below that of the one which started it: this is small, a
process that runs tests is not."""


def run_measured(args: Iterable[str | Path], *, cwd: Path) -> Outcome:
    """Run the command without the notebook and measure it with all its processes."""
    return _measured([sys.executable, "-m", "reportgen", *map(str, args), "--format", "md"], cwd)


def _measured(command: Iterable[str], cwd: Path) -> Outcome:
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", _MEASURED, *command],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    try:
        answer, said = process.communicate(timeout=_HANGS_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, said = process.communicate()
        answer = json.dumps([-signal.SIGKILL, _HANGS_S, 0]).encode()
    code, seconds, kib = json.loads(answer)
    stderr = said.decode("utf-8", "replace")
    return Outcome(code=code, seconds=seconds, mib=kib / 1024, stderr=stderr)


# Kernel traces.

_MIB = 1 << 20
_LONG = [b"a" * 1_000_000] * 300
_IN_A_TRACE = {
    "escaped_quotes": b'{"ph":"X","name":"\x01' + b'\\"' * 120_000 + b"}",
    "many_names": b'{"ph":"X",' + b'"name":"a' * 50_000 + b"}",
    "many_ends": b'{"ph":"X" "name" x' + b"}]}" * 60_000,
    "many_blanks": b'{"ph":"X","name":"a" x}' + b" " * 400_000 + b"x}",
    "blanks_after_colon": b'{"ph":"X","dur":' + b" " * 400_000 + b'x "name":"a"}',
    "many_commas": b'{"ph":"X"' + b", " * 200_000 + b"x}",
    "many_keys": b'{"ph":"X","name":"a",' + b'"args":"ts":' * 50_000 + b"}",
    "many_braces": b'{"ph":"X","name":"a"' + b"} " * 150_000 + b"}",
    "many_opened": b'{"ph":' * 60_000,
    "many_backslashes": b'{"ph":"X","name":"' + b"\\x" * 200_000 + b'"}',
    "many_slashes": json.dumps(span("cpu_op", "/a" * 30_000 + "/", 3, 4)).encode(),
}
"""What stands behind the events of a trace; the slashes are one name that begins many paths."""


def _trace_of(folder: Path, parts: Iterable[bytes]) -> Path:
    path = folder / "t.pt.trace.json"
    with path.open("wb") as file:
        file.write(json.dumps(header())[:-1].encode() + b', "traceEvents": [\n')
        file.write(",\n".join(map(json.dumps, small_events())).encode())
        file.writelines(parts)
        file.write(b"\n]}")
    return path


def _trace_with(inserted: bytes, folder: Path) -> Path:
    return _trace_of(folder, (b",\n", inserted))


def many_headers(folder: Path) -> Path:
    path = folder / "t.pt.trace.json"
    path.write_bytes(b'{"deviceProperties": [' + b'"deviceProperties": [' * 100_000)
    return path


def ids_above_2_63(folder: Path) -> Path:
    """Process, thread, step, device and correlation numbers that no int64 holds."""
    big = 2**63 + 5
    events: list[Event] = []
    for event in small_events():
        args = {
            key: 2**64 - 1 if isinstance(value, int) else value
            for key, value in event["args"].items()
        }
        events += [event, event | {"pid": big, "tid": big + 1, "args": args}]
    events.append(span("cpu_op", "ProfilerStep#99999999999999999999", 1, 2, tid=2**70))
    events.append(
        {
            "ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": big, "tid": big,
            "ts": events[0]["ts"],
            "args": {
                "Device Type": 2**64, "Device Id": 2**63, "Bytes": 2**63, "Total Allocated": 2**64,
                "Total Reserved": 2**63, "Addr": 2**64,
            },
        }
    )  # fmt: skip
    return _written(folder, events)


def one_memory_of_2_62(folder: Path) -> Path:
    events = small_events()
    for number in range(8):
        args = {
            "Device Type": 1, "Device Id": 0, "Bytes": 2**62, "Total Allocated": 2**62 * number,
            "Total Reserved": 2**63 - 1,
        }  # fmt: skip
        events.append(
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1,
             "ts": events[0]["ts"] + number, "args": args}
        )  # fmt: skip
    return _written(folder, events)


def million_names(folder: Path) -> Path:
    """A million operators, each with a name of its own."""
    row = b',\n{"ph":"X","cat":"cpu_op","name":"aten::op_%d","pid":4100,"tid":4100,'
    row += b'"ts":%d,"dur":0.5,"args":{}}'
    return _trace_of(folder, (row % (at, 104_412_400 + at) for at in range(1_000_000)))


def million_kernels(folder: Path) -> Path:
    """A million kernels, each with a name of its own."""
    row = b',\n{"ph":"X","cat":"kernel","name":"void gemm_%d<float>","pid":0,"tid":7,'
    row += b'"ts":%d,"dur":0.5,"args":{"device":0,"stream":7,"correlation":%d}}'
    return _trace_of(folder, (row % (at, 104_412_400 + at, at) for at in range(1_000_000)))


def thousand_devices(folder: Path) -> Path:
    """Five thousand GPUs with a kernel each."""
    events = small_events()
    for number in range(5_000):
        events += [launch(5.0, 10 + number), kernel(20.0, 5.0, 10 + number, device=number)]
    return _written(folder, events)


def thousand_threads(folder: Path) -> Path:
    events = small_events()
    for number in range(100_000):
        events.append(span("cpu_op", "aten::mm", number / 10, 1, tid=number))
    return _written(folder, events)


def long_trace_line(folder: Path) -> Path:
    """One operator with a name of 300 MB."""
    end = b'","pid":1,"tid":1,"ts":104412400,"dur":1}'
    return _trace_of(folder, (b',{"ph":"X","cat":"cpu_op","name":"', *_LONG, end))


def _written(folder: Path, events: list[Event]) -> Path:
    path = folder / "t.pt.trace.json"
    path.write_text(json.dumps({**header(), "traceEvents": events}))
    return path


# Packed bombs: what small files unpack to.


def _packed(path: Path, parts: Iterable[bytes]) -> None:
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    with path.open("wb") as file:
        for part in parts:
            file.write(packer.compress(part))
        file.write(packer.flush())


def _bomb(parts: Iterable[bytes], folder: Path) -> Path:
    path = folder / "t.pt.trace.json.gz"
    _packed(path, parts)
    return path


_BOMBS = {
    "bomb_of_nul": [b'{"traceEvents": [', *[b"\0" * _MIB] * 1024],
    "bomb_of_nul_alone": [b"\0" * _MIB] * 1024,
    "bomb_of_brackets": [b'{"traceEvents": [', *[b"[" * _MIB] * 200],
    "bomb_of_braces": [b'{"traceEvents": [', *[b"{" * _MIB] * 200],
    "bomb_of_ends": [b'{"traceEvents": [', *[b"}" * _MIB] * 1024],
    "bomb_of_one_name": [
        b'{"traceEvents": [{"ph":"X","name":"', *[b"a" * _MIB] * 1024, b'"}]}',
    ],
    "bomb_of_header": [b'{"schemaVersion":1,"x":"', *[b"a" * _MIB] * 1024, b'"}'],
}  # fmt: skip


# Jobs of SageMaker.


def _append_long(path: Path, before: bytes, after: bytes) -> None:
    with path.open("ab") as file:
        file.writelines((before, *_LONG, after))


def _minute(folder: Path) -> Path:
    lines = [
        system_line(name, value, START_S + tick / 2)
        for tick in range(40)
        for name, value in (("gpu0", 50.0), ("cpu0", 20.0))
    ]
    write_minute(folder, lines)
    return folder


def _steps(folder: Path, more: Mapping[str, object] | None = None, *, at: float = 0) -> None:
    rows = [
        (TRAIN, TRAIN, START_S + n, START_S + n + 0.5, {"step": n, **(more or {})})
        for n in range(20)
    ]
    if at:
        rows.append((TRAIN, TRAIN, at, at + 1, {"step": 21}))
    write_timeline(folder, timeline_lines(rows))


def job_step_above_2_63(folder: Path) -> Path:
    _minute(folder)
    _steps(folder, {"step": 2**63 + 1, "os_pid": 2**64, "tid": 2**70, "worker_id": 2**63})
    return folder


def job_event_at_1e18(folder: Path) -> Path:
    _minute(folder)
    _steps(folder, at=1e12)
    return folder


def job_all_events_at_1e18(folder: Path) -> Path:
    _steps(folder)
    path = next(folder.rglob("*timeline.json"))
    for there in (b"1000000000000000000", b"1e18"):
        path.write_bytes(path.read_bytes().replace(b'"ts": ', b'"ts": ' + there + b'.0, "tx": '))
    return folder


def job_sample_at_1e18(folder: Path) -> Path:
    _minute(folder)
    path = next((folder / "profiler-output" / "system").rglob("*.json"))
    text = path.read_text().splitlines()
    spoilt = [json.dumps(json.loads(line) | {"Timestamp": 1e18}) for line in text]
    path.write_text("\n".join(spoilt))
    return folder


def job_node_not_utf8(folder: Path) -> Path:
    _minute(folder)
    path = next((folder / "profiler-output" / "system").rglob("*.json"))
    path.rename(path.with_name(path.name.replace("algo-1", "algo\udcff-1")))
    return folder


def job_node_not_utf8_with_events(folder: Path) -> Path:
    _steps(folder)
    path = next((folder / "profiler-output" / "framework").rglob("*.json"))
    path.rename(path.with_name(path.name.replace("algo-1", "al\udcffgo-1")))
    return folder


def job_thousand_gpus(folder: Path) -> Path:
    """Five thousand names of GPUs in one file."""
    lines = [
        system_line("gpu0", 50.0, START_S + tick / 2).replace("gpu0", f"gpu{number}")
        for tick in range(4)
        for number in range(5_000)
    ]
    write_minute(folder, lines)
    return folder


def job_line_of_300_mb(folder: Path) -> Path:
    _minute(folder)
    path = next((folder / "profiler-output" / "system").rglob("*.json"))
    _append_long(path, b'{"Type":"cpu","Name":"', b'"}\n')
    return folder


def job_damaged_hour(folder: Path) -> Path:
    """An hour of 96 cores, 160 MB packed into 8, with a broken line every half minute."""
    hour_s = int(START_S) // 3_600 * 3_600
    path = write_minute(folder, b"", minute_s=hour_s)
    path.unlink()
    names = [f"cpu{core}{kind}" for core in range(96) for kind in ("", "_iowait")]

    def ticks() -> Iterable[bytes]:
        for tick in range(7_200):
            lines = [system_line(name, tick % 97, hour_s + tick / 2) for name in names]
            yield ("\n".join(["garbage", *lines] if tick % 60 == 0 else lines) + "\n").encode()

    _packed(path.with_name(f"{path.name}.gz"), ticks())
    return folder


def job_timeline_line_of_300_mb(folder: Path) -> Path:
    _minute(folder)
    _steps(folder)
    path = next((folder / "profiler-output" / "framework").rglob("*.json"))
    path.write_bytes(path.read_bytes().rstrip().removesuffix(b"]"))
    _append_long(path, b',\n{"ph":"X","name":"', b'"}\n]')
    return folder


def job_million_functions(folder: Path) -> Path:
    """Half a million events, each with a name of its own."""
    _minute(folder)
    rows = [
        ("Fwd", f"op_{number}", START_S + number / 1e5, START_S + number / 1e5 + 1e-5)
        for number in range(500_000)
    ]
    write_timeline(folder, timeline_lines(rows))
    return folder


def job_bomb(folder: Path, inner: bytes = b"[") -> Path:
    """A timeline of TensorFlow of one gigabyte of brackets."""
    _minute(folder)
    parts = [b'{"traceEvents": [', *[inner * _MIB] * 1024]
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    content = b"".join([*map(packer.compress, parts), packer.flush()])
    write_tensorflow(folder, content=content, node_ids=("27-algo-1",))
    return folder


def job_bomb_of_ends(folder: Path) -> Path:
    return job_bomb(folder, b"}")


def traces_without_a_clock(folder: Path) -> Path:
    """Events at 10^18 microseconds."""
    return _written(folder, [event | {"ts": event["ts"] + 1e18} for event in small_events()])


def horovod_of_one_line(folder: Path) -> Path:
    path = folder / "timeline.json"
    _append_long(path, b'[\n{"name":"process_name","ph":"M","pid":1,"args":{"name":"', b'"}}\n')
    return path


def aws_nested(folder: Path) -> Path:
    target = folder / "profiler-reports"
    target.mkdir(parents=True)
    (target / "OverallSystemUsage.json").write_bytes(
        b'{"RuleTriggered":0,"Violations":0,"Datapoints":1,"RuleParameters":"","Details":'
        + b"[" * (200 << 20)
    )
    return target


ATTACKS: Mapping[str, Callable[[Path], Path]] = {
    attack.__name__: attack
    for attack in (
        many_headers, ids_above_2_63, one_memory_of_2_62, million_names, million_kernels,
        thousand_devices, thousand_threads, long_trace_line, job_step_above_2_63, job_event_at_1e18,
        job_all_events_at_1e18, job_sample_at_1e18, job_node_not_utf8,
        job_node_not_utf8_with_events, job_thousand_gpus, job_line_of_300_mb, job_damaged_hour,
        job_timeline_line_of_300_mb, job_million_functions, job_bomb, job_bomb_of_ends,
        traces_without_a_clock, horovod_of_one_line, aws_nested,
        *NSIGHT_ATTACKS.values(), *TEXT_ATTACKS.values(),
    )
} | dict(ATTACKS_ON_SAVED) | dict(ATTACKS_ON_MONITORED) | {
    name: partial(_trace_with, inserted) for name, inserted in _IN_A_TRACE.items()
} | {name: partial(_bomb, parts) for name, parts in _BOMBS.items()}  # fmt: skip


_FAMILY = "from reportgen.cli.family import main; raise SystemExit(main())"
READERS: Mapping[str, Callable[[Path, Path], tuple[str | Path, ...]]] = {
    "query": lambda it, _: ("query", it),
    "query one rule": lambda it, _: ("query", it, "StepOutlier"),
    "query exhibits": lambda it, _: ("query", it, "exhibits"),
    "compare as first": lambda it, good: ("compare", it, good, "--output", "out"),
    "compare as second": lambda it, good: ("compare", good, it, "--output", "out"),
    "compare as baseline": lambda it, good: (
        "compare", good, "--baseline", it / "report.json", "--output", "out",
    ),
    "index": lambda it, _: ("index", it.parent, "--output", "out"),
    "index --make": lambda it, _: ("index", it.parent, "--make", "--output", "out"),
}  # fmt: skip
"""Commands that read a saved report, from the path of that and of a good one."""


def attack_reader(name: str, reader: str, folder: Path) -> Outcome:
    """Build a saved report that attacks and have a command read it."""
    (folder / "out").mkdir()
    good = samples.write_job(folder / "good" / "job")
    made = run_here(good, "--output", folder / "good", "--format", "md")
    if made.code != 0:
        raise RuntimeError(f"the sample job gives {made}")

    def run(path: Path) -> Outcome:
        args = READERS[reader](path, folder / "good" / "profiler-report")
        return _measured([sys.executable, "-c", _FAMILY, *map(str, args)], folder)

    return _watched(name, folder, run)


def attack(name: str, folder: Path) -> Outcome:
    """Build one and run it."""

    def run(path: Path) -> Outcome:
        return run_measured([path, "--output", folder / "out"], cwd=folder)

    return _watched(name, folder, run)


def _watched(name: str, folder: Path, run: Callable[[Path], Outcome]) -> Outcome:
    inside = folder / "in"
    inside.mkdir()
    canaries = folder / CANARIES
    canaries.mkdir()
    for canary in ("kept.txt", "secret.json", "run.sqlite-journal"):
        (canaries / canary).write_text(f"the content of {canary}\n")
    path = ATTACKS[name](inside)
    before = _state_of(folder)
    outcome = run(path)
    after = _state_of(folder)
    changed = {place for place, _ in before.items() ^ after.items()}
    return replace(outcome, changed=tuple(sorted(changed)))


def _state_of(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return what each file outside of the output is: content, mode and times of all."""
    state: dict[str, tuple[object, ...]] = {}
    for path in (folder / CANARIES, folder / "in"):
        for one in (path, *path.rglob("*")):
            info = one.lstat()
            content = one.read_bytes() if path.name == CANARIES and one.is_file() else b""
            facts = (info.st_mode, info.st_size, info.st_mtime_ns, info.st_ino, info.st_nlink)
            state[str(one.relative_to(folder))] = (*facts, content)
    state["."] = tuple(sorted({one.name for one in folder.iterdir()} - {"out"}))
    return state


def complaints(outcome: Outcome, output: Path) -> list[str]:
    """Return what is wrong about what came of an attack; nothing when all is well."""
    found = [f"{place} was changed" for place in outcome.changed]
    if outcome.seconds > MOST_S:
        found.append(f"{outcome.seconds:.0f} s")
    if outcome.mib > MOST_MIB:
        found.append(f"{outcome.mib:.0f} MiB")
    if "Traceback" in outcome.stderr or outcome.code not in {0, 1, 2}:
        found.append(f"code {outcome.code}: {outcome.stderr[-600:]}")
    if outcome.code in {1, 2} and "rror: " not in outcome.stderr:
        found.append(f"code {outcome.code} without a message")
    report = output / "profiler-report" / "report.json"
    if outcome.code == 0 and report.exists():
        rules = json.loads(report.read_bytes())["rules"]
        found += [
            f"{rule}: {entry['reason']}"
            for rule, entry in rules.items()
            if entry["status"] == "failed"
        ]
    return found


def main() -> int:
    """Run the attacks that are named, or all; return 1 when one works."""
    n_wrong = 0
    for name in sys.argv[1:] or ATTACKS:
        with tempfile.TemporaryDirectory(prefix="reportgen-attack-") as there:
            outcome = attack(name, Path(there))
            wrong = complaints(outcome, Path(there) / "out")
        n_wrong += bool(wrong)
        row = f"{name:32} {outcome.code:3} {outcome.seconds:6.1f} s {outcome.mib:6.0f} MiB "
        sys.stdout.write(f"{row}{' | '.join(wrong) or 'ok'} {outcome.stderr[:200].strip()}\n")
        sys.stdout.flush()
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
