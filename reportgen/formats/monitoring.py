"""Samples of other monitoring programs: what their formats have in common.

A source names its metrics in its own words. One table of it says which series of ours each is, and
how its unit is converted; what the table does not have is not read.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import Floats
from reportgen.formats.diagnostics import printable
from reportgen.formats.series_codes import SeriesCodes
from reportgen.profile import Series
from reportgen.profile.monitoring import Progress
from reportgen.recorded_job import RecordedGpu

MIB = 1 << 20
UNREAD = -1
"""The code of a metric that is not read."""
LEAST_S, MOST_S = 9e8, 9.2e9
"""Instants from 1998 to the year 2261, where int64 nanoseconds end; others are damage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a metric of a source is: series, factor to our unit, whether it counts from a start."""

    type: str
    name: str
    dimension: str = ""
    factor: float = 1.0
    is_counter: bool = False


def of_gpu(dimension: str, factor: float = 1.0) -> Meaning:
    """Return the meaning of a metric of each GPU; ``name`` is completed with its number."""
    return Meaning(type="gpu", name="gpu", dimension=dimension, factor=factor)


@dataclass(slots=True, kw_only=True)
class Monitored:
    """The samples of one file, unchecked: seconds UTC, codes of series and values, equally many.

    ``counters`` are the codes whose values count from a start; ``is_local`` times are of a zone
    that is not told, ``is_relative`` ones count from the start of the recording.
    """

    source: str
    codes: SeriesCodes = field(default_factory=SeriesCodes)
    time_s: array[float] = field(default_factory=lambda: array("d"))
    code: array[int] = field(default_factory=lambda: array("i"))
    value: array[float] = field(default_factory=lambda: array("d"))
    counters: set[int] = field(default_factory=set)
    gpus: list[RecordedGpu] = field(default_factory=list)
    exit_code: int | None = None
    is_ended: bool | None = None
    is_local: bool = False
    is_relative: bool = False
    progress: list[Progress] = field(default_factory=list)

    def code_of(self, meaning: Meaning, device: str = "") -> int:
        """Return the code of a series, ``UNREAD`` beyond the limits of a node."""
        series = Series(meaning.type, printable(meaning.name + device), meaning.dimension)
        code = self.codes.code(series)
        if meaning.is_counter and code >= 0:
            self.counters.add(code)
        return max(code, UNREAD)

    def add(self, time_s: float, code: int, value: float) -> None:
        """Add one sample."""
        self.time_s.append(time_s)
        self.code.append(code)
        self.value.append(value)

    def columns(self) -> tuple[Floats, NDArray[np.int32], Floats]:
        """Return (n,) times, codes and values where they lie: none can be added meanwhile."""
        return (
            np.frombuffer(self.time_s),
            np.frombuffer(self.code, np.int32),
            np.frombuffer(self.value),
        )

    def taken(self) -> tuple[Floats, NDArray[np.int32], Floats]:
        """Return the columns and keep none of them."""
        columns = self.columns()
        self.time_s, self.code, self.value = array("d"), array("i"), array("d")
        return columns


USED_BYTES, USED_PERCENT, TOTAL_BYTES = (
    f"GPUMemory{what}" for what in ("UsedBytes", "UsedPercent", "TotalBytes")
)


_MOST_MEMORY = 1 << 50
"""Bytes that no GPU has."""
MOST_STEP, _MOST_SPEED = float(1 << 53), 1e30
"""Larger numbers are damage: differences and sums of smaller ones are exact, or finite."""


def add_totals(found: Monitored) -> None:
    """Add the memory of each GPU to its samples, as it was told or as bytes and percent say it."""
    for gpu, (instants_s, total_bytes) in _totals_of(found).items():
        code = found.code_of(Meaning(type="gpu", name=gpu, dimension=TOTAL_BYTES))
        for instant_s in instants_s.tolist():
            found.add(instant_s, code, total_bytes)


def _totals_of(found: Monitored) -> dict[str, tuple[Floats, int]]:
    """Return by GPU when its used memory was sampled, and how much it has."""
    time_s, code, value = found.columns()
    series, totals = list(found.codes.series), dict[str, tuple[Floats, int]]()
    known_bytes = {f"gpu{gpu.index}": gpu.memory_bytes for gpu in found.gpus}

    def of(gpu: str, dimension: str) -> tuple[Floats, Floats]:
        one = Series("gpu", gpu, dimension)
        rows = code == (series.index(one) if one in series else UNREAD)
        return time_s[rows], value[rows]

    for gpu in [one.name for one in series if one.dimension == USED_BYTES]:
        at_s, used = of(gpu, USED_BYTES)
        other_s, pct = of(gpu, USED_PERCENT)
        total = known_bytes.get(gpu)
        if total is None and np.array_equal(at_s, other_s):
            ratios = used[pct > 0] / pct[pct > 0]
            sure = ratios[np.isfinite(ratios) & (ratios < _MOST_MEMORY)]
            total = round(float(np.median(sure)) * 100 / MIB) * MIB if sure.size else None
        if total:
            totals[gpu] = at_s, total
    return totals


_SPEED = re.compile(
    r"(?:tokens?|tok|samples?|examples?|steps?|iters?|it|images?|imgs?|batch(?:es)?|frames?|"
    r"sequences?|seqs?|throughput|tflops?|flops|mfu|hfu)"
)
_WORDS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")
_SECONDS = frozenset({"sec", "second", "s", "ps"})
_ALONE = frozenset({"mfu", "hfu", "tps", "throughput", "tflops", "fps", "sps", "tgs"})


def is_speed(name: str) -> bool:
    """Return whether a name of a training program means throughput or MFU.

    Example:
        >>> [is_speed(name) for name in ("train/tokens_per_sec", "perf/mfu(%)", "loss", "it/s")]
        [True, True, False, True]
    """
    words = [word.lower() for word in _WORDS.split(name) if word]
    if _ALONE & set(words):
        return True
    counted = [place for place, word in enumerate(words) if _SPEED.fullmatch(word)]
    if any(_SECONDS & set(words[place + 1 : place + 2]) for place in counted):
        return True
    return bool(counted) and "per" in words and bool(_SECONDS & set(words[words.index("per") :]))


@dataclass(slots=True, kw_only=True)
class LoggedNumbers:
    """Numbers that a program logged, by name: instants in seconds UTC, and values."""

    series: dict[str, tuple[array[float], array[float]]] = field(default_factory=dict)

    def add(self, name: str, time_s: float, value: float) -> None:
        """Add one number; those past the first ``MOST_NAMES`` names are left out."""
        if name not in self.series:
            if len(self.series) >= MOST_NAMES:
                return
            self.series[name] = array("d"), array("d")
        times_s, values = self.series[name]
        times_s.append(time_s)
        values.append(value)

    def counts(self, name: str) -> bool:
        """Return whether a name counts something: its number rises."""
        return name in self.series and max(self.series[name][1]) > min(self.series[name][1])

    def of(
        self, name: str, *, most: float = _MOST_SPEED
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return (n,) instants in ns UTC, ascending, and values; what cannot be is left out."""
        time_s, values = map(np.array, self.series[name])
        is_real = (time_s >= LEAST_S) & (time_s < MOST_S) & (np.abs(values) < most)
        order = np.argsort(time_s[is_real], kind="stable")
        time_ns = np.rint(time_s[is_real][order] * 1e6).astype(np.int64) * 1_000
        return time_ns, values[is_real][order]


MOST_NAMES = 256
"""Series of one file that are kept: throughput, MFU and counters of steps."""


def progress_of(numbers: LoggedNumbers, counter: str) -> Progress | None:
    """Return the progress by one counter of steps, with the speeds; ``None`` without any."""
    if counter not in numbers.series:
        return None
    time_ns, step = numbers.of(counter, most=MOST_STEP)
    if not step.size:
        return None
    names = [name for name in numbers.series if name != counter and is_speed(name)]
    logged = {printable(name): numbers.of(name) for name in sorted(names)}
    return Progress(counter=printable(counter), time_ns=time_ns, step=step, logged=logged)
