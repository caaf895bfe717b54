"""Small words of findings: places, lists, counts."""

from __future__ import annotations

from collections.abc import Sequence


def say_some(names: Sequence[str], *, most: int = 3) -> str:
    """Name the first few: ``gpu0, gpu1, gpu2 and 5 more``."""
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) > 1:
        return f"{', '.join(names[:-1])} and {names[-1]}"
    return "".join(names)


def say_place(node: str, device: str) -> str:
    """Name a device: ``gpu1 on algo-2``."""
    return f"{device} on {node}"


def say_places(places: Sequence[tuple[str, str]]) -> str:
    """Name devices, each with its node; a node that all of them share only once.

    Example:
        >>> say_places([("algo-1", "gpu1"), ("algo-1", "gpu2")])
        'gpu1 and gpu2 on algo-1'
    """
    nodes = {node for node, _ in places}
    if len(nodes) != 1:
        return say_some([say_place(node, device) for node, device in places])
    return say_place(nodes.pop(), say_some([device for _, device in places]))


def say_of(part: int, whole: int, noun: str) -> str:
    """Count a part of a whole: ``3 of 4 GPUs``, ``the only GPU``, ``both GPUs``, ``all 4 GPUs``."""
    if part == whole:
        return {1: f"the only {noun}", 2: f"both {noun}s"}.get(whole, f"all {whole:,} {noun}s")
    return f"{part:,} of {whole:,} {noun}{'s' if whole != 1 else ''}"


def say_times(count: int, noun: str, plural: str = "") -> str:
    """Count things: ``1 minute``, ``1,250 ticks``; ``plural`` where an s is not enough."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def say_does(count: int, verb: str) -> str:
    """Write what so many things do: ``take``, of one ``takes``."""
    return f"{verb}s" if count == 1 else verb


def label(node: str, device: str, *, n_nodes: int) -> str:
    """Label a device in a chart: ``gpu0``, or ``algo-2 gpu0`` when there are several nodes."""
    return device if n_nodes == 1 else f"{node} {device}"


def ordinal(number: int) -> str:
    """Write a rank: ``50th``, ``2nd``, ``111th``."""
    last_two = number % 100
    suffix = "th" if 10 <= last_two <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{suffix}"
