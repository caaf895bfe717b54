"""How numbers, lists and places are written for people; the only place that writes a number.

``write`` fills a text: ``write("{share:pct} of {n:count step}", share=12.3, n=2)``.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_NS_PER_S = 1_000_000_000
_ROUNDS_UP = 999.5
"""At this value three digits would be written as 1e+03."""
_LINE_BREAK = re.compile(r"\n *")
_MODES = {"TRAIN": "training", "EVAL": "validation", "PREDICT": "prediction", "GLOBAL": "global"}
"""What people call the modes of a step."""
_BYTE_PREFIXES = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def format_duration(duration_s: float) -> str:
    """Write a duration for people: ``850 ms``, ``12.4 s``, ``11 min 38 s``, ``2 h 05 min``."""
    if duration_s < 0:
        text = format_duration(-duration_s)
        return text if text.startswith("0 ") else f"-{text}"
    if not duration_s:
        return "0 s"
    if duration_s < _ROUNDS_UP / 1e6:
        return f"{duration_s * 1e6:.0f} µs"
    if duration_s < _ROUNDS_UP / 1000:
        return f"{duration_s * 1e3:.3g} ms"
    if duration_s < 60:
        return f"{duration_s:.3g} s"
    minutes, rest_s = divmod(int(duration_s + 0.5), 60)  # as the page's script rounds it
    if minutes < 60:
        return f"{minutes} min {rest_s:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def format_difference(duration_s: float) -> str:
    """Write a difference in time with its sign: ``+12.4 ms``."""
    text = format_duration(duration_s)
    return text if text.startswith("-") else f"+{text}"


def format_bytes(size_bytes: float) -> str:
    """Write a number of bytes with decimal prefixes: ``1.56 MB``."""
    size = float(size_bytes)
    for prefix in _BYTE_PREFIXES[:-1]:
        if abs(size) < _ROUNDS_UP:
            return f"{size:.3g} {prefix}"
        size /= 1000
    digits = f"{size:.3g}" if abs(size) < _ROUNDS_UP else f"{size:,.0f}"
    return f"{digits} {_BYTE_PREFIXES[-1]}"


def format_pct(value_pct: float) -> str:
    """Write a percentage with one decimal: ``55.0 %``."""
    return f"{round(value_pct, 1) + 0.0:.1f} %"  # the zero takes the sign from -0.0


def format_longer(longer_pct: float) -> str:
    """Compare durations: ``45.2 % longer than``, from twice on ``2.5× as long as``."""
    return _compared(longer_pct, "% longer than", "× as long as")


def format_above(above_pct: float) -> str:
    """Compare amounts: ``45.2 % above``, from twice on ``2.5× that of``."""
    return _compared(above_pct, "% above", "× that of")


def _compared(more_pct: float, below_twice: str, from_twice: str) -> str:
    if more_pct < 100:
        return f"{more_pct:.1f} {below_twice}"
    return f"{1 + more_pct / 100:,.3g}{from_twice}"


def mode_word(mode: str) -> str:
    """Return what people call the mode of a step: ``validation`` for ``EVAL``."""
    return _MODES.get(mode, mode)


def phase_words(phase: str) -> str:
    """Return what people call a phase: ``training steps`` for ``Step:ModeKeys.TRAIN``."""
    kind, _, mode = phase.rpartition(".")
    return f"{mode_word(mode)} steps" if kind == "Step:ModeKeys" else mode_word(phase)


def format_count(count: int) -> str:
    """Write a whole number with thousands apart: ``1,555,200``."""
    return f"{count:,}"


def join_names(names: Sequence[str], *, most: int = 3) -> str:
    """Name the first few: ``gpu0, gpu1, gpu2 and 5 more``."""
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) > 1:
        return f"{', '.join(names[:-1])} and {names[-1]}"
    return "".join(names)


def list_names(names: Sequence[str], *, most: int = 3) -> str:
    """List the first few, for a place that is no sentence: ``algo-1, algo-2 and 62 more``."""
    listed = ", ".join(names[:most])
    return f"{listed} and {len(names) - most:,} more" if len(names) > most else listed


def format_place(node: str, device: str) -> str:
    """Name a device: ``gpu1 on algo-2``."""
    return f"{device} on {node}"


def format_places(places: Sequence[tuple[str, str]]) -> str:
    """Name devices, each with its node; a node that all of them share only once.

    Example:
        >>> format_places([("algo-1", "gpu1"), ("algo-1", "gpu2")])
        'gpu1 and gpu2 on algo-1'
    """
    nodes = {node for node, _ in places}
    if len(nodes) != 1:
        return join_names([format_place(node, device) for node, device in places])
    return format_place(nodes.pop(), join_names([device for _, device in places]))


def part_of(part: int, whole: int, noun: str) -> str:
    """Count a part of a whole: ``3 of 4 GPUs``, ``the only GPU``, ``both GPUs``, ``all 4 GPUs``."""
    if part == whole:
        return {1: f"the only {noun}", 2: f"both {noun}s"}.get(whole, f"all {whole:,} {noun}s")
    return f"{part:,} of {whole:,} {noun}{'s' if whole != 1 else ''}"


def plural(count: int, noun: str, plural: str = "") -> str:
    """Count things: ``1 minute``, ``1,250 ticks``; ``plural`` where an s is not enough."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def verb(count: int, verb: str, of_one: str = "") -> str:
    """Write the verb for a number of things: ``take``, for one ``takes`` or ``of_one``."""
    return (of_one or f"{verb}s") if count == 1 else verb


def device_label(node: str, device: str, *, n_nodes: int) -> str:
    """Label a device in a chart: ``gpu0``, or ``algo-2 gpu0`` when there are several nodes."""
    return device if n_nodes == 1 else f"{node} {device}"


def ordinal(number: int) -> str:
    """Write a rank: ``50th``, ``2nd``, ``111th``."""
    last_two = number % 100
    suffix = "th" if 10 <= last_two <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{suffix}"


def format_ns(duration_ns: float) -> str:
    """Write a duration in nanoseconds for people; see ``format_duration``."""
    return format_duration(duration_ns / _NS_PER_S)


def format_ns_range(durations_ns: Sequence[float], *, more: str = ", by rank") -> str:
    """Write durations of several ranks: ``12.5 ms to 19.9 ms, by rank``; equal ones once."""
    low, high = format_ns(min(durations_ns)), format_ns(max(durations_ns))
    return low if low == high else f"{low} to {high}{more}"


_FORMATS: Mapping[str, Callable[[Any], str]] = {
    "pct": format_pct,
    "longer": format_longer,
    "above": format_above,
    "mode": mode_word,
    "s": format_duration,
    "ns": format_ns,
    "bytes": format_bytes,
    "n": format_count,
    "names": join_names,
}


class _Writer(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        kind, _, words = format_spec.partition(" ")
        if kind == "count":
            return plural(value, *words.split("/"))
        if kind == "verb":
            return verb(value, *words.split("/"))
        known = _FORMATS.get(format_spec)
        return known(value) if known else str(super().format_field(value, format_spec))


_WRITER = _Writer()


def one_line(text: str) -> str:
    """Return a text that is written over several lines of code as one paragraph."""
    return _LINE_BREAK.sub(" ", text)


def write(text: str, /, **values: object) -> str:
    """Return a text with its values written for people, as one paragraph.

    Args:
        text: a format string. Beside Python's own format specifications these are known:
            ``pct`` (0-100), ``longer`` and ``above`` (by how many percent), ``mode`` (of a
            step),
            ``s`` (seconds), ``ns`` (nanoseconds), ``bytes``, ``n`` (a whole number with
            thousands apart), ``count step`` (``1 step``, ``2 steps``;
            ``count match/matches`` where an s is not enough), ``verb take`` (``takes`` for 1,
            ``take`` for more; ``verb are/is`` where no s is added), ``names`` (the first of a list
            of names).
        **values: by name.

    Raises:
        KeyError: the text names a value that is absent.

    Example:
        >>> write("{share:pct} of {n:count step}", share=12.34, n=2)
        '12.3 % of 2 steps'
    """
    return _WRITER.vformat(one_line(text), (), values)
