"""One function per input format that builds a mutated case; a new format is one function more.

A function gets an empty folder and a seeded source of chance, writes files into the folder, and
returns what to run and what must come of it.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from reportgen.publish import is_unchanged, read_notebook
from sample_data.horovod import horovod_bytes, late_rank, negotiation_lines
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
from tests.fuzz.mutations import mutate_bytes, mutate_json
from tests.fuzz.strict import damaged_minute, damaged_timeline
from tests.shared_data import SHARED_DATA
from tests.tensorflow_traces import (
    tensorflow_bytes,
    tensorflow_events,
    write_tensorflow,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One mutated input.

    Attributes:
        args: of the command, without ``--output``; empty when ``call`` is all there is.
        twin_args: of a run whose numbers this one's must equal.
        counts: by how much each counter must be higher than in the twin.
        must_be_noted: there must be a note or a counter that the twin does not have.
        call: runs instead of the command; may raise nothing but errors of ours.
    """

    args: Sequence[str | Path] = ()
    twin_args: Sequence[str | Path] = ()
    counts: Mapping[str, int] | None = None
    must_be_noted: bool = False
    call: Callable[[], object] | None = None


Builder = Callable[[Path, Random], Case]


def _job_args(job: Path) -> list[str | Path]:
    return [job, "--config", job.parent / "rules.toml"]


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
    return Case(args=_job_args(job), twin_args=_job_args(twin), counts=counts)


def wild_minute(folder: Path, chance: Random) -> Case:
    """Change the bytes of a minute file at random."""
    path = chance.choice(sorted(samples.job().minutes))
    content = mutate_bytes(minute_bytes(samples.job().minutes[path]), chance)
    minute_s = float(Path(path).name.split(".")[0])
    return _wild(folder, path, content, is_damaged=damaged_minute(content, minute_s))


def wild_array_of_2020(folder: Path, chance: Random) -> Case:
    """Change the bytes of a minute file that is one JSON array."""
    path = chance.choice(sorted(samples.job().minutes))
    lines = samples.job().minutes[path]
    if chance.random() < 0.5:
        array = ("[" + ",".join(lines[:200]) + "]").encode()
        return _wild(folder, path, mutate_json(array, chance), is_damaged=False)
    array = ("[\n" + ",\n".join(lines) + "\n]\n").encode()
    content = mutate_bytes(array, chance)
    minute_s = float(Path(path).name.split(".")[0])
    return _wild(folder, path, content, is_damaged=damaged_minute(content, minute_s))


def wild_timeline(folder: Path, chance: Random) -> Case:
    """Change the bytes of a timeline at random."""
    path = chance.choice(sorted(samples.job().timelines))
    content = mutate_bytes(timeline_bytes(samples.job().timelines[path]), chance)
    return _wild(folder, path, content, is_damaged=damaged_timeline(content))


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
    return _wild(folder, path, content, is_damaged=damaged_timeline(content))


def _wild(folder: Path, path: str, content: bytes, *, is_damaged: bool) -> Case:
    job = samples.write_job(folder / "case" / "job", {path: content})
    twin = samples.write_job(folder / "twin" / "job")
    return Case(args=_job_args(job), twin_args=_job_args(twin), must_be_noted=is_damaged)


def saved_report(folder: Path, chance: Random) -> Case:
    """Change one file of a saved report."""
    report = samples.copy_report(_saved(), folder)
    _change_one(sorted(report.glob("*.json")), chance)
    return Case(args=[report])


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
    return Case(args=[target])


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
    job = samples.write_job(folder / "job")
    config = folder / "mutated.toml"
    text = samples.SETTINGS + '[StepOutlier]\nstddev = 3\nmode = "TRAIN"\nn_outliers = 5\n'
    config.write_bytes(mutate_bytes(text.encode(), chance))
    return Case(args=[job, "--config", config])


def horovod_timeline(folder: Path, chance: Random) -> Case:
    """Change the bytes of a timeline that Horovod itself wrote."""
    path = folder / "timeline.json"
    content = horovod_bytes(negotiation_lines(late_rank(60)))
    path.write_bytes(mutate_bytes(content, chance))
    return Case(args=[path])


def tensorflow_trace(folder: Path, chance: Random) -> Case:
    """Change a trace of TensorFlow's profiler, packed or before it is packed."""
    job = samples.write_job(folder / "case" / "job")
    content = tensorflow_bytes(tensorflow_events() * 20)
    if chance.random() < 0.5:
        content = mutate_bytes(content, chance)
    else:
        content = gzip.compress(mutate_bytes(gzip.decompress(content), chance), mtime=0)
    write_tensorflow(job, content=content, node_ids=chance.choice([(), ("27-algo-1",)]))
    return Case(args=_job_args(job))


def profiler_configuration(folder: Path, chance: Random) -> Case:
    """Change the configuration of a job's profiler."""
    job = samples.write_job(folder / "job")
    windows = {"StartStep": "5", "NumSteps": 3, "StartTimeInSecSinceEpoch": 1596659864}
    asked = {"DetailedProfilingConfig": json.dumps(windows), "PythonProfilingConfig": windows}
    tree = {"ProfilingIntervalInMillis": 500, "ProfilingParameters": asked}
    change = chance.choice([mutate_bytes, mutate_json])
    (job / "profilerconfig.json").write_bytes(change(json.dumps(tree).encode(), chance))
    return Case(args=_job_args(job))


def python_profiles(folder: Path, chance: Random) -> Case:
    """Change a Python profile of a job, or the mode and the time in its folder's name."""
    job = samples.write_job(folder / "job")
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
    return Case(args=_job_args(job))


FORMATS: Mapping[str, Builder] = {
    "known": known_damage,
    "minute": wild_minute,
    "array": wild_array_of_2020,
    "timeline": wild_timeline,
    "metadata": wild_metadata,
    "saved": saved_report,
    "aws": aws_results,
    "notebook": notebook,
    "config": configuration,
    "horovod": horovod_timeline,
    "tensorflow": tensorflow_trace,
    "profiler": profiler_configuration,
    "python": python_profiles,
}


def _change_one(paths: Sequence[Path], chance: Random) -> None:
    path = chance.choice(paths)
    change = chance.choice([mutate_bytes, mutate_json, mutate_json])
    try:
        path.write_bytes(change(path.read_bytes(), chance))
    except ValueError:  # changed to something that is no JSON before
        path.write_bytes(mutate_bytes(path.read_bytes(), chance))


@cache
def _saved() -> Path:
    """Return the saved report of the whole sample job, made once per process."""
    folder = Path(tempfile.mkdtemp(prefix="reportgen-fuzz-"))
    job = samples.write_job(folder / "job")
    answer = run_here(*_job_args(job), "--output", folder, "--format", "md")
    if answer.code != 0:
        raise RuntimeError(f"the whole job gives {answer}")
    return folder / "profiler-report"
