"""The formats that this version knows. A new one is an entry here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from reportgen.formats.diagnostics import printable
from reportgen.formats.format import Claim, FileRole, Format
from reportgen.formats.gpu_csv import GPU_TABLES
from reportgen.formats.horovod import HOROVOD
from reportgen.formats.kineto.detection import KERNEL_TRACES, head_text
from reportgen.formats.nsight.detection import NSIGHT_REPORTS
from reportgen.formats.python_profile.names import PYTHON_PAGES, PYTHON_PROFILES
from reportgen.formats.sagemaker import job_files
from reportgen.formats.tensorboard_events import TENSORBOARD_EVENTS
from reportgen.formats.tensorflow import TENSORFLOW_SUMMARIES, TENSORFLOW_TIMES, TENSORFLOW_TRACES
from reportgen.formats.wandb import WANDB_RUNS
from reportgen.formats.wandb.exports import WANDB_EXPORTS, WANDB_PARQUET

_ENDINGS = re.compile(
    r"(\.pt)?(\.trace)?(\.json|\.sqlite3?|\.wandb|\.csv|\.parquet)?(\.gz)?(\.tmp)?$"
)

FORMATS: tuple[Format, ...] = (
    job_files.END_MARKERS,
    job_files.SYSTEM_METRICS,
    TENSORFLOW_TRACES,
    TENSORFLOW_TIMES,
    TENSORFLOW_SUMMARIES,
    job_files.TIMELINES,
    job_files.PROFILER_CONFIGS,
    PYTHON_PROFILES,
    PYTHON_PAGES,
    HOROVOD,
    KERNEL_TRACES,
    NSIGHT_REPORTS,
    WANDB_RUNS,
    WANDB_EXPORTS,
    WANDB_PARQUET,
    GPU_TABLES,
    TENSORBOARD_EVENTS,
)


def claim(key: str) -> Claim | None:
    """Return the claim on a file by its key, or ``None`` when no format claims it.

    Example:
        >>> claim("system/incremental/2026070309/1783071000.algo-1.json").node
        'algo-1'
        >>> claim("framework/pevents/1783071061000000_27-algo-1_model_timeline.json").worker
        'algo-1-27'
    """
    found = next((found for item in FORMATS if (found := item.claims(key)) is not None), None)
    if found is None or key.isascii():
        return found
    return replace(found, node=printable(found.node), worker=printable(found.worker))


def candidates(key: str, *, is_chosen: bool) -> list[Format]:
    """Return the formats that an unclaimed file may be of, as its content has to show.

    The name of a file that the user chose need not look like anything.
    """
    return [
        item
        for item in FORMATS
        if item.claim_named is not None
        and (is_chosen or (item.may_be is not None and item.may_be.fullmatch(key)))
    ]


def claim_by_content(key: str, head: bytes, among: Sequence[Format]) -> Claim | None:
    """Return the claim on a file by its first bytes, or ``None`` when it is of no format."""
    text = head_text(head)
    found = next((item for item in among if item.looks_like(text)), None)
    if found is None or found.claim_named is None:
        return None
    return found.claim_named(stem_of(key) or "timeline")


def stem_of(key: str) -> str:
    """Return a file's name without its folder and its endings."""
    return printable(_ENDINGS.sub("", PurePosixPath(key).name))


def format_of(format_id: str) -> Format:
    """Return a format by its id."""
    return next(item for item in FORMATS if item.id == format_id)


def role_of(found: Claim) -> FileRole:
    """Return the role of a claimed file in its job."""
    return format_of(found.format_id).role
