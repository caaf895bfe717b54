"""Files of other monitoring programs, changed at random, and made to do harm."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from random import Random

import duckdb

from tests.builders import START_S
from tests.fuzz.mutations import mutate_bytes
from tests.monitoring_files import (
    event_file,
    gpu_values,
    history,
    message,
    samples,
    scalar,
    wandb_log,
    wandb_run,
)

_SMI = "timestamp, index, name, utilization.gpu [%], memory.used [MiB], power.draw [W]\n"
_DMON = "#Date Time gpu pwr gtemp sm mem pclk\n#YYYYMMDD HH:MM:SS Idx W C % % MHz\n"


def whole_tables() -> Mapping[str, bytes]:
    """Return a whole file of each form of table, by its name."""
    ticks = range(150)
    smi = "".join(
        f"2026/07/03 09:{31 + at // 60}:{at % 60:02}.0{gpu}, "
        f"{gpu}, A10G, {at % 99} %, {at} MiB, 9 W\n"
        for at in ticks
        for gpu in (0, 1)
    )
    dmon = "".join(f" 20260703 09:31:{at % 60:02} 0 70 41 {at % 99} 3 1590\n" for at in ticks)
    amd = "timestamp,gpu,gfx_activity,socket_power,vram_used\n"
    amd += "".join(f"{START_S + at},0,{at % 99},200,1024\n" for at in ticks)
    export = '"","system.gpu.0.gpu","_timestamp","system.network.recv","global_step"\n'
    export += "".join(f"{at},{at % 99},{START_S + 15 * at},{at}.5,{at}\n" for at in ticks)
    texts = {"smi.csv": _SMI + smi, "dmon.csv": _DMON + dmon, "amd.csv": amd, "wandb.csv": export}
    return {name: text.encode() for name, text in texts.items()}


def wandb_bytes(folder: Path, chance: Random) -> Path:
    """Change the bytes of a run's file: sums are wrong then, and blocks are left out."""
    return _written(folder / "run-x.wandb", mutate_bytes(wandb_log(wandb_run()), chance))


def wandb_records(folder: Path, chance: Random) -> Path:
    """Change the records of a run behind right sums."""
    records = wandb_run()
    for place in chance.sample(range(len(records)), chance.choice([1, 5, 60])):
        records[place] = mutate_bytes(records[place], chance)
    chance.shuffle(records)
    return _written(folder / "run-x.wandb", wandb_log(records))


def tables(folder: Path, chance: Random) -> Path:
    """Change the bytes of a table of GPU metrics, or of an export."""
    name, content = chance.choice(sorted(whole_tables().items()))
    return _written(folder / name, mutate_bytes(content, chance))


def parquet(folder: Path, chance: Random) -> Path:
    """Change the bytes of an export as Parquet."""
    return _written(folder / "export.parquet", mutate_bytes(_parquet(), chance))


def events(folder: Path, chance: Random) -> Path:
    """Change the bytes of an event file of TensorBoard, or its events behind right sums."""
    scalars = [scalar(START_S + at, at, "tokens_per_sec", 1.0) for at in range(60)]
    if chance.random() < 0.5:
        scalars = [mutate_bytes(event, chance) for event in scalars]
        content = event_file(scalars)
    else:
        content = mutate_bytes(event_file(scalars), chance)
    return _written(folder / "events.out.tfevents.1783071000.host.1.0", content)


@cache
def _parquet() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        csv = _written(Path(folder, "a.csv"), whole_tables()["wandb.csv"])
        duckdb.sql(f"COPY (FROM '{csv}') TO '{folder}/a.parquet'")
        return Path(folder, "a.parquet").read_bytes()


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


# Attacks


def many_metrics(folder: Path) -> Path:
    """Two million samples, each of another metric, then as many of one at one instant."""
    names = {f"gpu.{at}.gpu": 1 for at in range(100_000)} | {f"x{at}": 1 for at in range(400_000)}
    same = [samples(START_S, gpu_values(50.0)) for _ in range(60_000)]
    return _written(folder / "run-x.wandb", wandb_log([samples(START_S, names), *same]))


def times_far_apart(folder: Path) -> Path:
    """Samples at instants from 1998 to 2261, each alone."""
    far = [samples(9e8 + 60_000.5 * at, gpu_values(50.0)) for at in range(100_000)]
    return _written(folder / "run-x.wandb", wandb_log(far))


def a_record_without_end(folder: Path) -> Path:
    """A record of 300 MB, and a text of it that looks like a number."""
    digits = message(1, b"gpu.0.gpu") + message(16, b"9" * (300 << 20))
    return _written(folder / "run-x.wandb", wandb_log([message(7, message(3, digits))]))


def names_of_speed(folder: Path) -> Path:
    """Names that nearly mean a throughput, long and many."""
    names = {f"{'tokens_per_' * 10_000}{at}": 1 for at in range(40)}
    many = {f"a{at}/tokens_per_sec": at for at in range(200_000)}
    stamp: dict[str, object] = {"_timestamp": START_S, "_step": 1}
    records = [history(stamp | names), history(stamp | many)]
    return _written(folder / "run-x.wandb", wandb_log(records))


def a_table_of_one_line(folder: Path) -> Path:
    """A header and then 200 MB without an end of line, quotes among them."""
    return _written(folder / "a.csv", _SMI.encode() + b'"a,' * (70 << 20))


def a_table_of_many_gpus(folder: Path) -> Path:
    """A million rows, each of another GPU."""
    rows = (f"2026/07/03 09:31:00.1, gpu{at}, A10G, 5 %, 1 MiB, 9 W\n" for at in range(1_000_000))
    return _written(folder / "a.csv", (_SMI + "".join(rows)).encode())


def many_scalars(folder: Path) -> Path:
    """Half a million scalars, each with a tag of its own."""
    scalars = [scalar(START_S + at, at, f"tag{at}/tokens_per_sec", 1.0) for at in range(100_000)]
    path = folder / "events.out.tfevents.1783071000.host.1.0"
    return _written(path, event_file(scalars) * 3)


ATTACKS_ON_MONITORED: Mapping[str, Callable[[Path], Path]] = {
    attack.__name__: attack
    for attack in (
        many_metrics, times_far_apart, a_record_without_end, names_of_speed, a_table_of_one_line,
        a_table_of_many_gpus, many_scalars,
    )
}  # fmt: skip
FORMATS_OF_MONITORS: Mapping[str, Callable[[Path, Random], Path]] = {
    "wandb": wandb_bytes,
    "wandb-records": wandb_records,
    "gpu-tables": tables,
    "wandb-parquet": parquet,
    "tensorboard": events,
}
