"""The configuration of a job's profiler: SageMaker's ``ProfilerConfig``.

Only what is named here is read: anything else of such a file, paths and environment included, never
reaches the report. Keys may be in any case, numbers quoted, objects written as text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from reportgen.formats.diagnostics import printable
from reportgen.profiler_config import ProfiledWindow, Profiling, ProfilingKind

MAX_BYTES = 1 << 20
"""Larger files are no configuration; real ones have 2 kB."""

_MAX_DEPTH = 6
_MAX_TEXT = 200
_WORD = re.compile(r"\w{1,40}")
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?")
_BARE = re.compile(r"(?<=[:\[,])(\s*)(None|True|False)(?=\s*[,}\]])")
_LAST_COMMA = re.compile(r",\s*(?=[}\]])")
_RULE = re.compile(r"[\w.\-]{1,80}")
_MOST_RULES = 50
_JSON_WORDS = {"None": "null", "True": "true", "False": "false"}

_KINDS: Mapping[str, ProfilingKind] = {
    "generalmetricsconfig": ProfilingKind.GENERAL,
    "detailedprofilingconfig": ProfilingKind.DETAILED,
    "dataloaderprofilingconfig": ProfilingKind.LOADER,
    "pythonprofilingconfig": ProfilingKind.PYTHON,
    "smdataparallelprofilingconfig": ProfilingKind.DATA_PARALLEL,
    "horovodprofilingconfig": ProfilingKind.HOROVOD,
}
"""Keys of ``ProfilingParameters`` in small letters, and what they ask for."""


def parse_profiler_config(content: bytes) -> Profiling | None:
    """Return the settings of a configuration, ``None`` when it is none.

    ``content`` is ``profilerconfig.json``, the value of ``ProfilerConfig`` in the answer of
    ``DescribeTrainingJob``, or that whole answer.
    """
    whole = _object(content.decode("utf-8-sig", "replace")) if len(content) <= MAX_BYTES else None
    if whole is None:
        return None
    tree = _object(whole.get("profilerconfig")) or whole
    parameters = _object(tree.get("profilingparameters")) or {}
    config = Profiling(
        interval_ms=_whole(next((tree[key] for key in _INTERVALS if tree.get(key)), None)),
        is_disabled=_is_disabled(tree) or _is_disabled(parameters),
        windows=tuple(_windows(parameters)),
        unreadable=tuple(
            kind for key, kind in _KINDS.items() if key in parameters and _bad(parameters[key])
        ),
        rules=tuple(_rules(whole.get("profilerruleconfigurations"))),
    )
    known = {*_INTERVALS[:2], "profilingparameters", "s3outputpath", *_SWITCHES}
    return config if known & tree.keys() else None


_INTERVALS = (
    "profilingintervalinmilliseconds", "profilingintervalinmillis", "profilinginterval",
)  # fmt: skip
"""Names of the interval: that of SageMaker's API, that of the file in a container, an older one."""
_SWITCHES = {"disableprofiler": True, "profilerenabled": False}
"""Which value of a switch means that profiling is off."""


def _is_disabled(tree: Mapping[str, Any]) -> bool:
    return any(
        str(tree[key]).strip().lower() == str(is_off).lower()
        for key, is_off in _SWITCHES.items()
        if key in tree
    )


def _windows(parameters: Mapping[str, Any]) -> Iterator[ProfiledWindow]:
    for key, kind in _KINDS.items():
        asked = _object(parameters.get(key))
        if not asked:
            continue
        yield ProfiledWindow(
            kind=kind,
            start_step=_whole(asked.get("startstep")),
            n_steps=_whole(asked.get("numsteps")),
            start_s=_number(asked.get("starttimeinsecsinceepoch")),
            duration_s=_number(asked.get("durationinseconds")),
            metrics=_text(asked.get("metricsregex")),
            profiler=_matching(_WORD, asked.get("profilername")),
            timer=_matching(_WORD, asked.get("cprofiletimer")),
        )


def _rules(configured: Any) -> Iterator[str]:
    for item in configured[:_MOST_RULES] if isinstance(configured, list) else ():
        rule = _object(item) or {}
        parameters = _object(rule.get("ruleparameters")) or {}
        for name in (parameters.get("rule_to_invoke"), rule.get("ruleconfigurationname")):
            if found := _matching(_RULE, name):
                yield found
                break


def _bad(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and _object(value) is None


def _object(value: Any, depth: int = 0) -> dict[str, Any] | None:
    if isinstance(value, dict):
        return {str(key).strip().lower(): item for key, item in value.items()}
    if not isinstance(value, str) or len(value) > MAX_BYTES or depth > _MAX_DEPTH:
        return None
    mended = _with_json_words(value)
    for text in (value, mended, _LAST_COMMA.sub("", mended)):
        try:
            found = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue
        return _object(found, depth + 1)
    return None


def _with_json_words(text: str) -> str:
    """Return text with JSON's words for Python's, and JSON's quotes if it has none."""
    if '"' not in text:
        text = text.replace("'", '"')
    return _BARE.sub(lambda match: match[1] + _JSON_WORDS[match[2]], text)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip()
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) and 0 <= number < 1e15 else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number == int(number) else None


def _text(value: Any) -> str:
    return printable(value)[:_MAX_TEXT] if isinstance(value, str) else ""


def _matching(pattern: re.Pattern[str], value: Any) -> str:
    return value if isinstance(value, str) and pattern.fullmatch(value) else ""
