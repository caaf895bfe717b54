"""Secrets are put into every text of every kind of input: none is in anything that is written."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import re
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from sample_data.horovod import horovod_bytes, late_rank, negotiation_lines
from sample_data.nsight_report import training
from sample_data.python_profiles import BETWEEN, dump_bytes, tree_bytes, write_profile
from tests.end_to_end.command import run_command, run_here
from tests.fuzz import samples
from tests.fuzz.recordings import recording_files
from tests.s3_server import Bucket
from tests.tensorflow_traces import write_tensorflow
from tests.traces import header, kernel, small_events, span

CANARY = b"c4n4ry"
PLANTED = "sig=c4n4ry01 hf_c4n4ry02abcdefghijklmn password=c4n4ry03 Bearer c4n4ry04abcdefgh"


def _samples_job(folder: Path) -> Path:
    return samples.write_job(folder / "job")


def _python_job(folder: Path) -> Path:
    job = samples.write_job(folder / "job")
    moments = {
        "start": "train-5-stepstart-1783071000000000",
        "end": "train-5-stepend-1783071001000000",
    }
    functions = {
        (f"{file} {PLANTED}", line, f"{name} {PLANTED}"): row
        for (file, line, name), row in BETWEEN.items()
    }
    for profiler, content in (("cprofile", dump_bytes), ("pyinstrument", tree_bytes)):
        write_profile(job / "profiler-output", content(functions), profiler=profiler, **moments)
    return job


def _tensorflow_job(folder: Path) -> Path:
    job = samples.write_job(folder / "job")
    packed = write_tensorflow(job)
    packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()
    return job


def _horovod(folder: Path) -> Path:
    path = folder / "timeline.json"
    path.write_bytes(horovod_bytes(negotiation_lines(late_rank(60))).strip().rstrip(b",]") + b"]")
    return path


def _recording(folder: Path) -> Path:
    job = folder / "recording"
    for name, content in recording_files().items():
        (job / name).parent.mkdir(parents=True, exist_ok=True)
        (job / name).write_bytes(content)
    return job


def _trace(folder: Path) -> Path:
    group = {"rank": 0, "world_size": 1, "backend": "nccl", "pg_config": "x"}
    metadata = {"env": {"HOME": "x"}, "traceName": "x", "host": "x"}
    head = header(distributedInfo=group, metadata=metadata, hostName="x", env=["x"])
    path = folder / "rank0.pt.trace.json"
    path.write_text(json.dumps({**head, "traceEvents": small_events()}))
    return path


def _saved(folder: Path) -> Path:
    job = samples.write_job(folder / "made" / "job")
    config = job.parent / "rules.toml"
    assert run_here(job, "--config", config, "--output", folder, "--format", "md").code == 0
    shutil.rmtree(job.parent)
    return folder / "profiler-report"


def _results_of_aws(folder: Path) -> Path:
    saved = _saved(folder)
    found = samples.aws_results(saved, folder / "profiler-reports")
    shutil.rmtree(saved)
    return found


INPUTS: Mapping[str, Callable[[Path], Path]] = {
    "SageMaker": _samples_job,
    "Python profiles": _python_job,
    "TensorFlow": _tensorflow_job,
    "Horovod": _horovod,
    "recording": _recording,
    "kernel trace": _trace,
    "saved report": _saved,
    "SageMaker's results": _results_of_aws,
}


def _planted(tree: Any, keys: Collection[str], *, is_below: bool = False) -> Any:
    """Return a tree with a secret behind each text of some keys, and of all that is below them."""
    if isinstance(tree, dict):
        return {
            name: _planted(value, keys, is_below=is_below or name in keys)
            for name, value in tree.items()
        }
    if isinstance(tree, list):
        return [_planted(value, keys, is_below=is_below) for value in tree]
    return f"{tree} {PLANTED}" if is_below and isinstance(tree, str) else tree


def _keys(tree: Any) -> Iterator[str]:
    """Yield the keys of a tree that have a text or something else below them."""
    if isinstance(tree, dict):
        yield from (name for name, value in tree.items() if isinstance(value, str | dict | list))
    if isinstance(tree, dict | list):
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from _keys(value)


def _lines(path: Path) -> list[tuple[Any, str]]:
    """Return the JSON values of a file and what stands behind each: one, or one on each line."""
    text = path.read_text()
    with suppress(ValueError):
        return [(json.loads(text), "")]
    found = []
    for line in text.splitlines(keepends=True):
        body = line.rstrip().rstrip(",")
        try:
            found.append((json.loads(body), line[len(body) :]))
        except ValueError:
            found.append((None, line))
    return found


def _plant(place: Path, keys: Collection[str]) -> None:
    for path in _files(place):
        lines = _lines(path)
        path.write_text(
            "".join(
                behind if tree is None else json.dumps(_planted(tree, keys)) + behind
                for tree, behind in lines
            )
        )


def _files(place: Path) -> list[Path]:
    found = [place] if place.is_file() else sorted(place.rglob("*.json*"))
    return [path for path in found if path.suffix in {".json", ".jsonl"}]


def _written(place: Path) -> Iterator[tuple[str, bytes]]:
    """Yield all that was written; what is packed in it also unpacked."""
    for path in sorted(place.rglob("*")) if place.exists() else ():
        yield str(path.relative_to(place)), b""
        content = path.read_bytes() if path.is_file() else b""
        yield path.name, content
        for packed in re.findall(rb"[A-Za-z0-9+/]{60,}={0,2}", content):
            with suppress(binascii.Error, OSError, EOFError, zlib.error):
                yield f"{path.name}, packed", gzip.decompress(base64.b64decode(packed))
        if path.name == "Timeline.bin":
            for found in re.finditer(b"[\x78\x1f]", content):
                with suppress(zlib.error):
                    unpack = zlib.decompressobj(47)
                    yield (
                        f"{path.name} at {found.start()}",
                        unpack.decompress(content[found.start() :]),
                    )


def _leaks(place: Path, *said: str) -> list[str]:
    texts = [*_written(place), *((text, text.encode()) for text in said)]
    return [
        f"{name}: {content[max(at - 80, 0) : at + 20]!r}"
        for name, content in texts
        for text in (name.encode(), content)
        if (at := text.lower().find(CANARY)) >= 0
    ]


def _kept(given: Path, keys: list[str], place: Path, folder: Path) -> list[str]:
    """Plant a secret in fields and return those that keep it; halves alone if it is refused."""
    shutil.copytree(place, before := folder / f"before {len(keys)} {keys[0]}")
    _plant(given, keys)
    run = run_here(given, "--output", folder / "out", "--format", "md", "-v")
    assert not _leaks(folder / "out", run.stdout, run.stderr), keys
    shutil.rmtree(folder / "out", ignore_errors=True)
    if run.code == 0:
        shutil.rmtree(before)
        return keys
    shutil.rmtree(place)
    before.rename(place)
    half = len(keys) // 2
    halves = (keys[:half], keys[half:]) if half else ()
    return [key for some in halves for key in _kept(given, some, place, folder)]


@pytest.mark.notebook
@pytest.mark.parametrize("name", INPUTS)
def test_secrets_in_all_fields_of_an_input_are_in_no_output(name: str, tmp_path: Path) -> None:
    """All fields get a secret and keep it, but for those with which the input is refused."""
    (place := tmp_path / "in hf_c4n4ry05abcdefghijklmn").mkdir()
    given = INPUTS[name](place)
    keys = {key for path in _files(given) for tree, _ in _lines(path) for key in _keys(tree)}
    assert len(_kept(given, sorted(keys), place, tmp_path)) > len(keys) / 3
    assert not _leaks(tmp_path / "all", *_all_said(given, tmp_path / "all"))


@pytest.mark.notebook
def test_what_a_kernel_trace_says_of_people_and_machines_is_in_no_output(tmp_path: Path) -> None:
    """Plain words, that no mask would know: environment, hosts, users, threads, unknown keys."""
    word = CANARY.decode()
    private = {"env": {"USER": word, word: "x"}, "hostname": word, "cmdline": [word], "user": word}
    named = [
        {"ph": "M", "name": name, "pid": 4100, "tid": 4100, "ts": 0, "args": {"name": word}}
        for name in ("process_name", "process_labels", "thread_name", word)
    ]
    stack = {"Call stack": f"/home/{word}/train.py(3): step"}
    called = [
        span("python_function", f"/home/{word}/train.py(3): step", 0, 90),
        span("cpu_op", "aten::mm", 1, 50, **stack),
        kernel(55, 6, 9, **{"kernel file": f"/home/{word}/k.py"}),
    ]
    recorded = [*small_events(), *called]
    events = [event | {"args": event["args"] | private, word: word} for event in recorded]
    path = tmp_path / "rank0.pt.trace.json"
    head = header(metadata=private, traceName=f"/home/{word}/t.json", **{word: word}, **private)
    path.write_text(json.dumps({**head, "traceEvents": [*named, *events], "INFO": [word]}))
    assert not _leaks(tmp_path / "all", *_all_said(path, tmp_path / "all"))


@pytest.mark.notebook
def test_secrets_in_all_columns_of_an_export_are_in_no_output(tmp_path: Path) -> None:
    path = training().write(tmp_path / "hf_c4n4ry05abcdefghijklmn.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT)")
        writer.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('HF_TOKEN', 'x')")
        tables = writer.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            for _, column, *_ in writer.execute(f'PRAGMA table_info("{table}")').fetchall():
                changed = f'UPDATE "{table}" SET "{column}" = "{column}" || \' \' || ?'
                is_text = f"typeof(\"{column}\") = 'text' AND \"{column}\" != '3.11.0'"
                writer.execute(f"{changed} WHERE {is_text}", [PLANTED])  # our own
    assert not _leaks(tmp_path / "all", *_all_said(path, tmp_path / "all"))


def test_secrets_in_addresses_of_a_bucket_are_in_no_output(s3: Bucket, tmp_path: Path) -> None:
    secrets = "hf_c4n4ry05abcdefghijklmn/sig=c4n4ry01&password=c4n4ry03"
    s3.put_folder(samples.write_job(tmp_path / "job"), f"{secrets}/job")
    out = tmp_path / "out"
    for address in (f"{s3.url}/{secrets}/job", f"{s3.url}/{secrets}/none"):
        run = run_command(address, "--output", out, "-v", cwd=tmp_path)
        assert run.code == int(address.endswith("none")), run.stderr
        assert not _leaks(out, run.stdout, run.stderr)


def test_secrets_in_names_of_keys_of_a_bucket_are_in_no_output(s3: Bucket, tmp_path: Path) -> None:
    """Keys that are read, keys of other programs, keys of broken files and of lost ranks."""
    secret, hidden = "hf_c4n4ry02abcdefghijklmn", "sig=c4n4ry01&password=c4n4ry03"
    events = json.dumps({**header(), "traceEvents": small_events()}).encode()
    for name, content in (
        (f"rank0 {secret}.pt.trace.json", events),
        (f"rank1 {secret} {hidden}.pt.trace.json", events[:-40]),
        (f"rank2 {secret}.pt.trace.json", b""),
        (f"rank3 {secret}.pickle", b"x"),
        (f"{secret}/{hidden}/notes.json", b"{"),
        (f"{hidden} {secret}.sqlite", b"SQLite format 3"),
    ):
        s3.put(f"traces/{name}", content)
    s3.put_folder(samples.write_job(tmp_path / "job"), "job")
    s3.put(f"job/profiler-output/framework/{secret} {hidden}_1_model_timeline.json", b"[{")
    s3.put(f"job/profiler-output/system/{secret}/{hidden}.json", b"{")
    out = tmp_path / "out"
    for prefix in ("traces", "job"):
        run = run_command(f"{s3.url}/{prefix}", "--output", out / prefix, "-v", cwd=tmp_path)
        assert run.code == 0, run.stderr
        assert not _leaks(out / prefix, run.stdout, run.stderr)


def _all_said(given: Path, out: Path) -> Iterator[str]:
    """Write all outputs of an input, and yield all that is printed meanwhile."""
    run = run_here(given, "--output", out, "--format", "html,ipynb,md", "-v")
    assert run.code == 0, run.stderr
    yield from (run.stdout, run.stderr)
    asked: tuple[list[str | Path], ...] = (
        ["query", out, "job"],
        ["query", out, "findings", "--json"],
        ["query", out, "exhibits"],
        ["compare", out, out, "--output", out / "compared"],
        ["index", out.parent, "--output", out / "index"],
        ["timeline", given, "--output", out / "t.json"],
    )
    for words in asked:
        done = run_here(*words, of_family=True)
        yield from (done.stdout, done.stderr)
