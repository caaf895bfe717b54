"""A picture of one step of the timeline, for paper and for readers without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from reportgen.results.timeline_file import EVENTS, Family, Numbers, TimelineFile
from reportgen.text import format_duration
from reportgen.views.fragments import render
from reportgen.views.values import shorten

WIDTH_PX, _LEFT_PX = 1000, 170
_ROW_PX, _BAR_PX = 15, 12
_MOST_ROWS, _MOST_ROWS_OF_LANE = 26, 5
_LEAST_GAP_PX = 5
_OF_STRIPS = ("start", "duration", "row", "name", "end")
_LEAST_TEXT_PX, _LETTER_PX = 46, 6.4
_KINDS = ("steps", "annotations", "thread", "stream", "phases", "functions")
_HUES: dict[str, str] = {
    Family.COMPUTE: "gpu",
    Family.COMMUNICATION: "network",
    Family.COPIES: "gpu-memory",
    Family.OPERATORS: "cpu",
    Family.RUNTIME: "other",
    Family.ANNOTATIONS: "step",
    Family.PHASES: "start",
    Family.FUNCTIONS: "memory",
    Family.LOADING: "io",
}
"""As in ``templates/script/lane_colours.js``."""
_KEYS = {
    "gpu": "computation",
    "network": "communication",
    "gpu-memory": "copies",
    "cpu": "operators",
    "other": "calls of the GPU’s runtime",
    "step": "steps and annotations",
    "start": "phases",
    "memory": "functions",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Strips of one colour in one row, as one line of an SVG path."""

    hue: str
    y: float
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A name on its strip."""

    x: float
    y: float
    hue: str
    text: str


def still_of(file: TimelineFile) -> Markup:
    """Return an SVG of the median step of the first part with strips, else of the first window.

    The same families of colours as in ``templates/script/lane_colours.js``; nothing where no
    window is kept in full.
    """
    window = _window(file)
    if window is None:
        return Markup("")
    start, end = window["start"], window["end"]
    names = file.texts("names")
    families = [Family(word) for word in file.texts("families")]
    labels: list[Word] = []
    bars: list[Bars] = []
    words: list[Word] = []
    y, node = 22.0, ""
    for lane, row, columns in _rows(file, start, end):
        node = lane["node"]
        if row == 0:
            y += 4
            labels.append(Word(x=0, y=y, hue="", text=shorten(lane["label"], most=26).text))
        named = file.named(names, columns["name"])
        hues = np.array([_HUES.get(one, "other") for one in file.named(families, columns["name"])])
        begin_px, end_px = (_px(columns[key], start, end) for key in ("start", "end"))
        bars += _bars(hues, begin_px, end_px, y)
        words += _words(hues, begin_px, end_px, named, y)
        y += _ROW_PX
    if not bars:
        return Markup("")
    explained = {_HUES.get(family) for family in families}
    return render(
        "lanes_still",
        height=int(y) + 8,
        why=f"{node}, {window['why']}" if node else window["why"],
        length=format_duration((end - start) / 1e9),
        labels=labels,
        bars=bars,
        words=words,
        keys={hue: word for hue, word in _KEYS.items() if hue in explained},
    )


def _window(file: TimelineFile) -> Mapping[str, Any] | None:
    """Return the range of the median step, where it is kept in full, else the first that is."""
    windows: Sequence[Mapping[str, Any]] = file.header["windows"]
    lanes = (lane for lane in file.header["lanes"] if lane["kind"] == "steps" and lane["blocks"])
    lane = next(lanes, None)
    named = next((item for item in windows if "median" in item["why"]), None)
    if named or lane is None or not windows:
        return named or next(iter(windows), None)
    steps = _strips(file, lane, windows[0]["start"], windows[0]["end"])
    at = np.argsort(steps["duration"], kind="stable")
    if not at.size:
        return windows[0]
    row = int(at[at.size // 2])
    (name,) = file.named(file.texts("names"), steps["name"][row : row + 1])
    span = {key: int(steps[key][row]) for key in ("start", "end")}
    return {**span, "why": f"median step: {name}"}


def _rows(
    file: TimelineFile, start: int, end: int
) -> Iterator[tuple[Mapping[str, Any], int, dict[str, Numbers]]]:
    """Yield lane, row and the strips of it in a window, of the first part that has some."""
    part, n_rows = None, 0
    for lane in file.header["lanes"]:
        if lane["kind"] not in _KINDS or part not in {None, lane["node"]}:
            continue
        strips = _strips(file, lane, start, end)
        for row in range(min(int(strips["row"].max(initial=-1)) + 1, _MOST_ROWS_OF_LANE)):
            if n_rows == _MOST_ROWS:
                return
            part, n_rows = lane["node"], n_rows + 1
            here = strips["row"] == row
            yield lane, row, {key: values[here] for key, values in strips.items()}


def _strips(
    file: TimelineFile, lane: Mapping[str, Any], start: int, end: int
) -> dict[str, Numbers]:
    found: list[dict[str, Numbers]] = [dict.fromkeys(_OF_STRIPS, np.empty(0, np.int64))]
    for block in lane["blocks"]:
        if block["level"] == 0:
            columns = file.columns(block, EVENTS)
            columns["end"] = columns["start"] + columns["duration"]
            is_in = (columns["start"] < end) & (columns["end"] > start)
            found.append({key: columns[key][is_in] for key in _OF_STRIPS})
    return {key: np.concatenate([block[key] for block in found]) for key in _OF_STRIPS}


def _px(times: Numbers, start: int, end: int) -> Numbers:
    share = (np.clip(times, start, end) - start) / max(end - start, 1)
    return np.rint(share * (WIDTH_PX - _LEFT_PX)).astype(np.int64)


def _bars(hues: Any, begin_px: Numbers, end_px: Numbers, y: float) -> Iterator[Bars]:
    """Yield a path for each colour; short strips that touch within a pixel are one line."""
    end_px = np.where(end_px - begin_px > _LEAST_GAP_PX, end_px - 2, end_px)
    for hue in dict.fromkeys(hues.tolist()):
        here = hues == hue
        begin = begin_px[here]
        reach = np.maximum.accumulate(np.maximum(end_px[here], begin + 1))
        first = np.flatnonzero(np.concatenate(([True], begin[1:] > reach[:-1])))
        last = np.append(first[1:], begin.size) - 1
        ends = zip(begin[first].tolist(), reach[last].tolist(), strict=True)
        path = "".join(f"M{_LEFT_PX + left} {y:g}h{right - left}" for left, right in ends)
        yield Bars(hue=hue, y=y, path=path)


def _words(
    hues: Any, begin_px: Numbers, end_px: Numbers, texts: Sequence[str], y: float
) -> Iterator[Word]:
    for at in np.flatnonzero(end_px - begin_px >= _LEAST_TEXT_PX).tolist():
        most = max(int((end_px[at] - begin_px[at] - 8) / _LETTER_PX), 2)
        name = texts[at].removeprefix("void ")
        text = name if len(name) <= most else f"{name[: most - 1]}…"
        yield Word(x=_LEFT_PX + int(begin_px[at]) + 4, y=y + 3.5, hue=hues[at], text=text)
