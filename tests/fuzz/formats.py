"""One function per input format that builds a mutated case; a new format is one function more.

A function gets an empty folder and a seeded source of chance, writes files into the folder, and
returns what to run and what must come of it.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from random import Random

import duckdb

from reportgen.publish import is_unchanged, read_notebook
from sample_data.horovod import horovod_bytes, late_rank, negotiation_lines
from sample_data.nsight_report import COLUMNS, training
from sample_data.python_profiles import BETWEEN, dump_bytes, tree_bytes, write_profile
from tests.end_to_end.command import run_here
from tests.fuzz import samples
from tests.fuzz.damage import (
    MINUTE_DAMAGE,
    TIMELINE_DAMAGE,
    LineDamage,
    minute_bytes,
    timeline_bytes,
)
from tests.fuzz.monitored import FORMATS_OF_MONITORS
from tests.fuzz.mutations import mutate_bytes, mutate_json, mutate_values
from tests.fuzz.recordings import write_recording
from tests.fuzz.saved_values import saved_values
from tests.fuzz.strict import damaged_minute, damaged_timeline
from tests.shared_data import SHARED_DATA
from tests.tensorflow_traces import tensorflow_bytes, tensorflow_events, write_tensorflow
from tests.traces import PID, START_US, header, kernel, launch, small_events, span, step


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One mutated input.

    Attributes:
        path: of what the command is given; ``None`` when ``call`` is all there is.
        config: the configuration it is given.
        twin: a path whose numbers this one's must equal.
        counts: by how much each counter must be higher than in the twin.
        must_be_noted: there must be a note or a counter that the twin does not have.
        call: runs instead of the command; may raise nothing but errors of ours.
        copies_results: results are copied as they are, with keys that nobody knows.
    """

    path: Path | None = None
    config: Path | None = None
    twin: Path | None = None
    counts: Mapping[str, int] | None = None
    must_be_noted: bool = False
    call: Callable[[], object] | None = None
    copies_results: bool = False


Builder = Callable[[Path, Random], Case]

_WHOLE_JOB_OF = 4
"""One job of so many has samples and events, the others one of both, which takes half of the time:
there are rules that need both."""
_SAMPLES, _EVENTS = "profiler-output/system/incremental", "profiler-output/framework/pevents"

_WHOLE = "reportgen-fuzz-whole-"


def _of_job(job: Path) -> Case:
    return Case(path=job, config=job.parent / "rules.toml")


def known_damage(folder: Path, chance: Random) -> Case:
    """Damage minutes and timelines in ways of which it is known what they cost."""
    whole = samples.job()
    changed: dict[str, bytes] = {}
    rest: dict[str, bytes] = {}
    counts: Counter[str] = Counter()

    def damage(
        files: Mapping[str, list[str]],
        kinds: Sequence[LineDamage],
        to_bytes: Callable[[Sequence[str]], bytes],
    ) -> None:
        for path in chance.sample(sorted(files), chance.choice([0, 1, len(files)])):
            done = chance.choice(kinds)(files[path], chance)
            changed[path], rest[path] = done.content, to_bytes(done.rest)
            counts.update(done.counts)

    damage(whole.minutes, MINUTE_DAMAGE, minute_bytes)
    damage(whole.timelines, TIMELINE_DAMAGE, timeline_bytes)
    job = samples.write_job(folder / "case" / "job", changed)
    twin = samples.write_job(folder / "twin" / "job", rest)
    return replace(_of_job(job), twin=twin, counts=counts)


def wild_minute(folder: Path, chance: Random) -> Case:
    """Change the bytes of a minute file at random."""
    path = chance.choice(sorted(samples.job().minutes))
    content = mutate_bytes(minute_bytes(samples.job().minutes[path]), chance)
    minute_s = float(Path(path).name.split(".")[0])
    return _wild(folder, path, content, chance, is_damaged=damaged_minute(content, minute_s))


def wild_array_of_2020(folder: Path, chance: Random) -> Case:
    """Change the bytes of a minute file that is one JSON array."""
    path = chance.choice(sorted(samples.job().minutes))
    lines = samples.job().minutes[path]
    if chance.random() < 0.5:
        array = ("[" + ",".join(lines[:200]) + "]").encode()
        return _wild(folder, path, mutate_json(array, chance), chance, is_damaged=False)
    array = ("[\n" + ",\n".join(lines) + "\n]\n").encode()
    content = mutate_bytes(array, chance)
    minute_s = float(Path(path).name.split(".")[0])
    return _wild(folder, path, content, chance, is_damaged=damaged_minute(content, minute_s))


def wild_timeline(folder: Path, chance: Random) -> Case:
    """Change the bytes of a timeline at random."""
    path = chance.choice(sorted(samples.job().timelines))
    content = mutate_bytes(timeline_bytes(samples.job().timelines[path]), chance)
    return _wild(folder, path, content, chance, is_damaged=damaged_timeline(content))


def wild_metadata(folder: Path, chance: Random) -> Case:
    """Change the header lines of a timeline: base time and names of phases."""
    path = chance.choice(sorted(samples.job().timelines))
    lines = list(samples.job().timelines[path])
    heads = [index for index, line in enumerate(lines) if '"ph": "M"' in line]
    for index in chance.sample(heads, chance.choice([1, len(heads)])):
        change = chance.choice([mutate_bytes, mutate_json])
        try:
            lines[index] = change(lines[index].encode(), chance).decode("utf-8", "surrogateescape")
        except ValueError:
            continue
    content = ("[\n" + ",\n".join(lines) + "\n]\n").encode("utf-8", "surrogateescape")
    return _wild(folder, path, content, chance, is_damaged=damaged_timeline(content))


def _left_out(chance: Random, kind: str) -> str:
    return kind if chance.randrange(_WHOLE_JOB_OF) else ""


def _wild(folder: Path, path: str, content: bytes, chance: Random, *, is_damaged: bool) -> Case:
    """Return a job of whose files one has other bytes, and often none are of the other kind."""
    left_out = _left_out(chance, _EVENTS if path.startswith(_SAMPLES) else _SAMPLES)
    job = samples.write_job(folder / "case" / "job", {path: content}, without=left_out)
    return replace(_of_job(job), twin=_whole_job(left_out), must_be_noted=is_damaged)


@cache
def _whole_job(without: str) -> Path:
    """Return the job without damage, written once per process."""
    folder = Path(tempfile.mkdtemp(prefix=_WHOLE))
    return samples.write_job(folder / "job", without=without)


def is_whole_job(path: Path) -> bool:
    """Return whether a twin is a job without damage, which is the same for many cases."""
    return path.parent.name.startswith(_WHOLE)


def saved_report(folder: Path, chance: Random) -> Case:
    """Change one file of a saved report."""
    report = samples.copy_report(_saved(), folder)
    _change_one(sorted(report.glob("*.json")), chance)
    return Case(path=report, copies_results=True)


def hostile_saved_report(folder: Path, chance: Random) -> Case:
    """Give a saved report values of the declared types that no rule writes."""
    report = samples.copy_report(_saved(), _made(folder / "values"))
    return Case(path=saved_values(folder, chance, report), copies_results=True)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def aws_results(folder: Path, chance: Random) -> Case:
    """Change one or a few of SageMaker's results, real ones where they are at hand."""
    sets = sorted((SHARED_DATA / "aws-reports").glob("*/"))
    real = chance.choice(sets) if sets and chance.random() < 0.7 else None
    target = folder / "profiler-reports"
    if real is None:
        samples.aws_results(_saved(), target)
    else:
        target.mkdir(parents=True)
        for path in sorted(real.rglob("*.json")):
            (target / path.name).write_bytes(path.read_bytes())
    for _ in range(chance.choice([1, 1, 4])):
        _change_one(sorted(target.glob("*.json")), chance)
    return Case(path=target)


def notebook(folder: Path, chance: Random) -> Case:
    """Change a notebook; it is read and judged, not run."""
    path = folder / "n.ipynb"
    source = Path(__file__).resolve().parents[2] / "report_notebook" / "profiler_report.ipynb"
    path.write_bytes(source.read_bytes())
    _change_one([path], chance)

    def read() -> None:
        is_unchanged(path)
        read_notebook(path)

    return Case(call=read)


def configuration(folder: Path, chance: Random) -> Case:
    """Change a configuration file."""
    job = samples.write_job(folder / "job", without=_left_out(chance, _EVENTS))
    config = folder / "mutated.toml"
    text = samples.SETTINGS + '[StepOutlier]\nstddev = 3\nmode = "TRAIN"\nn_outliers = 5\n'
    config.write_bytes(mutate_bytes(text.encode(), chance))
    return Case(path=job, config=config)


def horovod_timeline(folder: Path, chance: Random) -> Case:
    """Change the bytes of a timeline that Horovod itself wrote."""
    path = folder / "timeline.json"
    content = horovod_bytes(negotiation_lines(late_rank(60)))
    path.write_bytes(mutate_bytes(content, chance))
    return Case(path=path)


def tensorflow_trace(folder: Path, chance: Random) -> Case:
    """Change a trace of TensorFlow's profiler, packed or before it is packed."""
    job = samples.write_job(folder / "case" / "job", without=_left_out(chance, _SAMPLES))
    content = tensorflow_bytes(tensorflow_events() * 20)
    if chance.random() < 0.5:
        content = mutate_bytes(content, chance)
    else:
        content = gzip.compress(mutate_bytes(gzip.decompress(content), chance), mtime=0)
    write_tensorflow(job, content=content, node_ids=chance.choice([(), ("27-algo-1",)]))
    return _of_job(job)


def profiler_configuration(folder: Path, chance: Random) -> Case:
    """Change the configuration of a job's profiler."""
    job = samples.write_job(folder / "job", without=_left_out(chance, _EVENTS))
    windows = {"StartStep": "5", "NumSteps": 3, "StartTimeInSecSinceEpoch": 1596659864}
    asked = {"DetailedProfilingConfig": json.dumps(windows), "PythonProfilingConfig": windows}
    tree = {"ProfilingIntervalInMillis": 500, "ProfilingParameters": asked}
    change = chance.choice([mutate_bytes, mutate_json])
    (job / "profilerconfig.json").write_bytes(change(json.dumps(tree).encode(), chance))
    return _of_job(job)


def python_profiles(folder: Path, chance: Random) -> Case:
    """Change a Python profile of a job, or the mode and the time in its folder's name."""
    job = samples.write_job(folder / "job", without=_left_out(chance, _SAMPLES))
    profiler, content = chance.choice(
        [("cprofile", dump_bytes(BETWEEN)), ("pyinstrument", tree_bytes(BETWEEN))]
    )
    is_json = profiler == "pyinstrument" and chance.random() < 0.5
    content = mutate_json(content, chance) if is_json else mutate_bytes(content, chance)
    start_us = chance.choice([1_783_071_010_000_000, 10**18, 0])
    write_profile(
        job / "profiler-output",
        content,
        start=f"{chance.choice(['train', 'a-_b', chr(0xDCFF)])}-1-stepstart-{start_us}",
        end=f"train-1-stepend-{start_us + 10**6}",
        profiler=profiler,
    )
    return _of_job(job)


def kernel_trace(folder: Path, chance: Random) -> Case:
    """Change the bytes of a kernel trace, packed or not, or before it is packed."""
    content = _trace()
    kind = chance.randrange(4)
    if kind == 3:
        content = mutate_bytes(gzip.compress(content, mtime=0), chance)
    else:
        content = mutate_bytes(content, chance)
        content = gzip.compress(content, mtime=0) if kind == 2 else content
    path = folder / ("t.pt.trace.json.gz" if kind >= 2 else "t.pt.trace.json")
    path.write_bytes(content)
    return Case(path=path if chance.random() < 0.5 else folder)


def kernel_trace_tree(folder: Path, chance: Random) -> Case:
    """Change the tree of a kernel trace: events, arguments, what stands around them."""
    for rank in range(chance.choice([1, 1, 2])):
        (folder / f"rank{rank}.pt.trace.json").write_bytes(mutate_json(_trace(rank), chance))
    return Case(path=folder)


def nsight_report(folder: Path, chance: Random) -> Case:
    """Change the bytes of a report of Nsight Systems, cut it off, or put nonsense in a column."""
    path = folder / "run.sqlite"
    path.write_bytes(_report())
    kind = chance.randrange(3)
    if kind == 0:
        path.write_bytes(mutate_bytes(_report(), chance))
    elif kind == 1:
        path.write_bytes(_report()[: chance.randrange(len(_report()))])
    else:
        _change_column(path, chance)
    return Case(path=path if chance.random() < 0.5 else folder)


def _change_column(path: Path, chance: Random) -> None:
    table = chance.choice(sorted(set(COLUMNS) - {"OSRT_API", "GPU_METRICS"}))
    column = chance.choice(COLUMNS[table].split())
    value = chance.choice([None, -1, 2**63 - 1, -(2**63), 1e300, "x", b"\xff\x00", "n" * 100_000])
    with closing(sqlite3.connect(path)) as writer, suppress(sqlite3.Error):
        writer.execute(f'UPDATE {table} SET "{column}" = ? WHERE rowid % 3 = 0', [value])
        writer.commit()


def nsight_schema(folder: Path, chance: Random) -> Case:
    """Change what a report of Nsight Systems is made of: its tables, their types, files beside."""
    path = folder / "run.sqlite"
    path.write_bytes(_report())
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA writable_schema = ON")
        for _ in range(chance.choice([1, 1, 3, 8])):
            with suppress(sqlite3.Error):
                writer.execute(_statement(chance))
    if chance.random() < 0.3:
        content = chance.choice([b"", b"x", mutate_bytes(_report()[:9000], chance)])
        side = chance.choice(["-journal", "-wal", "-shm", "-mj0"])
        path.with_name(path.name + side).write_bytes(content)
    return Case(path=path if chance.random() < 0.5 else folder)


def nsight_parquet(folder: Path, chance: Random) -> Case:
    """Change the bytes of a table of an export in Parquet, or the table's columns and rows."""
    place = folder / "run_pqtdir"
    place.mkdir()
    for name, content in _parquet_tables().items():
        (place / name).write_bytes(content)
    path = chance.choice(sorted(place.iterdir()))
    kind = chance.randrange(4)
    if kind == 0:
        path.write_bytes(mutate_bytes(path.read_bytes(), chance))
    elif kind == 1:  # the footer says what the rest means
        content, begin = path.read_bytes(), -chance.choice([12, 400, 2000])
        path.write_bytes(content[:begin] + mutate_bytes(content[begin:], chance))
    else:
        with suppress(duckdb.Error):
            _rewrite_table(path, chance)
    return Case(path=place)


def _rewrite_table(path: Path, chance: Random) -> None:
    described = duckdb.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
    columns = [name for name, *_ in described]
    column, other = (_quoted(name) for name in chance.choices(columns, k=2))
    value = chance.choice(
        [
            "NULL", "-1", "9223372036854775807", "1e300", "'nan'::DOUBLE", "'x'", "[1, 2]",
            "repeat('n', 100000)", "{'a': 1}", "DATE '2020-01-01'", "true", "'\\xFF'::BLOB",
            f"{other}::VARCHAR", f"TRY_CAST({other} AS TINYINT)",
            f"-1e6 * TRY_CAST({other} AS BIGINT)",
        ]
    )  # fmt: skip
    rows = chance.choice(
        [
            f"SELECT * REPLACE ({value} AS {column})",
            f"SELECT * EXCLUDE ({column})",
            f"SELECT * RENAME ({column} AS {_quoted('other')})",
            f"SELECT *, {value} AS {chance.choice(['text', 'start', 'end', 'name', 'more'])}",
        ]
    )
    if chance.random() < 0.2:
        many = chance.choice([0, 1, 50, 300])
        rows = f"SELECT t.* FROM ({rows} FROM '{path}') t, range({many})"
    else:
        rows = f"{rows} FROM '{path}'"
    packing = chance.choice(["snappy", "zstd", "gzip", "uncompressed"])
    duckdb.execute(f"COPY ({rows}) TO '{path}.new' (FORMAT parquet, compression {packing})")
    Path(f"{path}.new").replace(path)


@cache
def _parquet_tables() -> Mapping[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        place = training().write(Path(folder) / "run_pqtdir")
        return {path.name: path.read_bytes() for path in sorted(place.iterdir())}


def _statement(chance: Random) -> str:
    table = chance.choice(sorted(set(COLUMNS) - {"OSRT_API", "GPU_METRICS"}))
    column, other = chance.choices(COLUMNS[table].split(), k=2)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
    kind = chance.choice(["INTEGER", "TEXT", "BLOB", "REAL"])
    made = chance.choice(
        [
            f"CREATE VIEW {table} AS {endless} SELECT x AS {_quoted(column)} FROM n",
            f"CREATE TABLE {table} AS SELECT 1 AS {_quoted(column)}",
            f"CREATE TABLE {table} ({_quoted(column)} {kind}, x AS (randomblob(1000000)))",
            f"CREATE TABLE {table} ({_quoted(column)} {kind} PRIMARY KEY, x) WITHOUT ROWID",
            f"CREATE VIRTUAL TABLE {table} USING fts5({_quoted(column)})",
        ]
    )
    changed = chance.choice(
        [
            "type = 'table'", "type = 'view'", f"rootpage = {chance.randrange(80)}", "sql = NULL",
            "rootpage = -1", f"name = '{chance.choice(list(COLUMNS))}'", "tbl_name = x'ff'",
            f"sql = replace(sql, {_text(column)}, {_text(other)})",
            f"sql = substr(sql, 1, {chance.randrange(200)})", "sql = sql || zeroblob(300000)",
        ]
    )  # fmt: skip
    return chance.choice(
        [
            f"DROP TABLE {table}",
            f"ALTER TABLE {table} RENAME TO {chance.choice(sorted(COLUMNS))}",
            f"ALTER TABLE {table} DROP COLUMN {_quoted(column)}",
            f"ALTER TABLE {table} RENAME COLUMN {_quoted(column)} TO other",
            f"UPDATE {table} SET {_quoted(column)} = CAST({_quoted(other)} AS {kind})",
            f"UPDATE {table} SET {_quoted(column)} = -1e9 * {_quoted(column)}",
            f"INSERT INTO {table} SELECT * FROM {table}",
            f"UPDATE sqlite_master SET {changed} WHERE name = '{table}'",
            f"CREATE INDEX i{chance.randrange(9)} ON {table} ({_quoted(column)})",
            f"ALTER TABLE {table} RENAME TO old",
            made,
        ]
    )


def _quoted(name: str) -> str:
    return f'"{name}"'


def _text(value: str) -> str:
    return f"'{value}'"


@cache
def _report() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return training().write(Path(folder) / "run.sqlite").read_bytes()


@cache
def _trace(rank: int = 0) -> bytes:
    events = [*small_events(), *(step(number, 100.0 * number, 100.0) for number in range(2, 6))]
    for number in range(2, 6):
        start_us = 100.0 * number
        args = {"Collective name": "allreduce", "In msg nelems": 64, "Group size": 2, "Seq": number}
        memory = {"Device Type": 1, "Device Id": 0, "Bytes": 512, "Total Allocated": 512 * number}
        events += [
            span("cpu_op", "aten::mm", start_us + 2, 10, **{"External id": number}),
            launch(start_us + 5, 2 * number),
            kernel(start_us + 20, 30.0, 2 * number, name="ncclDevKernel_AllReduce_Sum", **args),
            span("cuda_sync", "Stream Sync", start_us + 60, 9, device=0, stream=7),
            span("gpu_memcpy", "Memcpy HtoD", start_us + 70, 5, device=0, stream=7, bytes=4096),
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": START_US + start_us,
             "pid": PID, "tid": PID, "args": memory},
            {"ph": "s", "cat": "ac2g", "id": number, "ts": START_US + start_us + 5, "tid": PID,
             "pid": PID, "name": "ac2g"},
        ]  # fmt: skip
    head = header(distributedInfo={"rank": rank, "world_size": 2, "backend": "nccl"})
    return json.dumps({**head, "traceEvents": events}).encode()


def keras_timeline(folder: Path, chance: Random) -> Case:
    """Change the tree of the events of a timeline of a job."""
    path = chance.choice(sorted(samples.job().timelines))
    content = mutate_json(timeline_bytes(samples.job().timelines[path]), chance)
    return _wild(folder, path, content, chance, is_damaged=False)


def horovod_tree(folder: Path, chance: Random) -> Case:
    """Change the tree of a timeline that Horovod wrote."""
    path = folder / "timeline.json"
    content = horovod_bytes(negotiation_lines(late_rank(60))).strip().rstrip(b",")
    content = content if content.endswith(b"]") else content + b"]"
    path.write_bytes(mutate_json(content, chance))
    return Case(path=path)


def recording(folder: Path, chance: Random) -> Case:
    """Change a file that ``reportgen record`` wrote: a card, samples, events."""
    return _of_job(write_recording(folder, chance))


def _monitored(build: Callable[[Path, Random], Path], folder: Path, chance: Random) -> Case:
    return Case(path=build(folder, chance))


FORMATS: Mapping[str, Builder] = {
    "known": known_damage,
    "minute": wild_minute,
    "array": wild_array_of_2020,
    "timeline": wild_timeline,
    "metadata": wild_metadata,
    "saved": saved_report,
    "saved-values": hostile_saved_report,
    "aws": aws_results,
    "notebook": notebook,
    "config": configuration,
    "horovod": horovod_timeline,
    "tensorflow": tensorflow_trace,
    "profiler": profiler_configuration,
    "python": python_profiles,
    "kineto": kernel_trace,
    "kineto-tree": kernel_trace_tree,
    "nsight": nsight_report,
    "nsight-schema": nsight_schema,
    "nsight-parquet": nsight_parquet,
    "keras": keras_timeline,
    "horovod-tree": horovod_tree,
    "recorder": recording,
    **{name: partial(_monitored, build) for name, build in FORMATS_OF_MONITORS.items()},
}

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "samples": ("known", "minute", "array"),
    "events": ("timeline", "metadata", "keras", "horovod", "horovod-tree", "tensorflow", "python"),
    "kernel traces": ("kineto", "kineto-tree"),
    "Nsight exports": ("nsight", "nsight-schema"),
    "exports in Parquet": ("nsight-parquet",),
    "reports": ("saved", "aws"),
    "reports behind the schema": ("saved-values",),
    "recordings": ("recorder",),
    "other monitors": tuple(FORMATS_OF_MONITORS),
    "settings": ("config", "profiler", "notebook"),
}


def _change_one(paths: Sequence[Path], chance: Random) -> None:
    path = chance.choice(paths)
    change = chance.choice([mutate_bytes, mutate_json, mutate_values, mutate_values])
    try:
        path.write_bytes(change(path.read_bytes(), chance))
    except (ValueError, RecursionError):  # changed to something that is no JSON before
        path.write_bytes(mutate_bytes(path.read_bytes(), chance))


@cache
def _saved() -> Path:
    """Return the saved report of the whole sample job, made once per process."""
    folder = Path(tempfile.mkdtemp(prefix="reportgen-fuzz-"))
    job = samples.write_job(folder / "job")
    config = job.parent / "rules.toml"
    answer = run_here(job, "--config", config, "--output", folder, "--format", "md")
    if answer.code != 0:
        raise RuntimeError(f"the whole job gives {answer}")
    return folder / "profiler-report"
