"""Damage of which it is known what is lost: the report must be that of the rest, and count it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

Lines = list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A damaged file and what it still holds.

    Attributes:
        content: the file's bytes.
        rest: the lines that can still be read; the report must be that of a file of these.
        counts: by how much each counter of data quality must be higher.
    """

    content: bytes
    rest: Lines
    counts: Mapping[str, int] = field(default_factory=dict)


LineDamage = Callable[[Lines, Random], Damage]


def minute_bytes(lines: Sequence[str]) -> bytes:
    """Return a minute file as SageMaker writes it."""
    return "".join(f"{line}\n" for line in lines).encode()


def timeline_bytes(lines: Sequence[str]) -> bytes:
    """Return a closed timeline."""
    return ("[\n" + ",\n".join(lines) + "\n]\n").encode()


# How else a whole file may be written.


def in_another_encoding(lines: Lines, chance: Random) -> Damage:
    encoding = chance.choice(["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
    return Damage(content=minute_bytes(lines).decode().encode(encoding), rest=lines)


def with_other_line_ends(lines: Lines, chance: Random) -> Damage:
    end = chance.choice(["\r\n", "\n\n", " \n\t", "\r\n\r\n"])
    return Damage(content=end.join(lines).encode(), rest=lines)


def with_several_on_a_line(lines: Lines, chance: Random) -> Damage:
    joined = [line + chance.choice(["\n", "", " ", "  ", ", "]) for line in lines]
    return Damage(content="".join(joined).encode(), rest=lines)


def as_an_array(lines: Lines, chance: Random) -> Damage:
    text = chance.choice(["[" + ",".join(lines) + "]", "[\n" + ",\n".join(lines) + "\n]\n"])
    return Damage(content=text.encode(), rest=lines)


def in_another_order(lines: Lines, chance: Random) -> Damage:
    return Damage(content=minute_bytes(chance.sample(lines, len(lines))), rest=lines)


def rewritten(lines: Lines, chance: Random) -> Damage:
    """Write keys in another order, with spaces and keys that nobody knows."""

    def anew(line: str) -> str:
        items = [*json.loads(line).items(), ("Extra", {"a": [1, None]})]
        return json.dumps(dict(chance.sample(items, len(items))))

    return Damage(content=minute_bytes([anew(line) for line in lines]), rest=lines)


# What loses lines.


def _some(lines: Sequence[str], chance: Random, *, is_chosen: str = "") -> list[int]:
    known = [index for index, line in enumerate(lines) if is_chosen in line]
    return sorted(chance.sample(known, min(chance.choice([1, 2, 7]), len(known))))


def _spoilt(
    lines: Lines,
    lost: Sequence[int],
    spoil: Callable[[str], str],
    counter: str,
    to_bytes: Callable[[Sequence[str]], bytes] = minute_bytes,
) -> Damage:
    changed = [spoil(line) if index in lost else line for index, line in enumerate(lines)]
    rest = [line for index, line in enumerate(lines) if index not in lost]
    return Damage(content=to_bytes(changed), rest=rest, counts={counter: len(lost)})


def with_garbage(lines: Lines, chance: Random) -> Damage:
    garbage = ("}{", "garbage", '{"Type":"gpu",', "12 13", '"', "\x00\x01", "[" * 3000, "{'a': 1}")
    places = _some(lines, chance)
    changed = list(lines)
    for place in reversed(places):
        changed.insert(place, chance.choice(garbage))
    return Damage(content=minute_bytes(changed), rest=lines, counts={"lines_broken": len(places)})


def with_cut_lines(lines: Lines, chance: Random) -> Damage:
    def spoil(line: str) -> str:
        return line[: chance.randrange(1, len(line))]

    return _spoilt(lines, _some(lines, chance), spoil, "lines_broken")


def broken_off(lines: Lines, chance: Random) -> Damage:
    end = chance.randrange(1, len(lines[-1]))
    content = minute_bytes(lines[:-1]) + lines[-1][:end].encode()
    return Damage(content=content, rest=lines[:-1], counts={"lines_broken": 1, "bytes_lost": end})


def with_bad_values(lines: Lines, chance: Random) -> Damage:
    def spoil(line: str) -> str:
        odd = chance.choice(["null", "NaN", '"?"', "[1]", "1e400", "{}", "-Infinity"])
        head, _, tail = line.partition('"Value":')
        return f'{head}"Value":{odd}{tail[tail.index(",") :]}'

    return _spoilt(lines, _some(lines, chance), spoil, "values_broken")


def with_impossible_values(lines: Lines, chance: Random) -> Damage:
    def spoil(line: str) -> str:
        head, _, tail = line.partition('"Value":')
        odd = chance.choice(["-1", "100.01", "1e9"])
        return f'{head}"Value":{odd}{tail[tail.index(",") :]}'

    lost = _some(lines, chance, is_chosen="Utilization")
    return _spoilt(lines, lost, spoil, "samples_out_of_range")


def with_times_of_another_day(lines: Lines, chance: Random) -> Damage:
    def spoil(line: str) -> str:
        tree = json.loads(line)
        tree["Timestamp"] = chance.choice([0, -1, 1.5, 1e15, tree["Timestamp"] + 90_000])
        return json.dumps(tree)

    return _spoilt(lines, _some(lines, chance), spoil, "samples_out_of_minute")


def with_lines_twice(lines: Lines, chance: Random) -> Damage:
    twice = _some(lines, chance)
    changed = lines + [lines[index] for index in twice]
    return Damage(content=minute_bytes(changed), rest=lines, counts={"lines_duplicate": len(twice)})


MINUTE_DAMAGE: tuple[LineDamage, ...] = (
    in_another_encoding, with_other_line_ends, with_several_on_a_line, as_an_array,
    in_another_order, rewritten, with_garbage, with_cut_lines, broken_off, with_bad_values,
    with_impossible_values, with_times_of_another_day, with_lines_twice,
)  # fmt: skip


# Timelines.


def written_otherwise(lines: Lines, chance: Random) -> Damage:
    text = chance.choice(
        [
            "[\n" + ",\n".join(lines) + ",\n",
            "[\n" + ",\n".join(lines),
            "[" + ", ".join(lines) + "]",
            "[\r\n" + ",\r\n".join(lines) + "\r\n]",
            "\n".join(lines),
            "[\n" + ",\n".join(lines) + ",{}\n]\n",
            json.dumps([json.loads(line) for line in lines], indent=chance.choice([None, 1])),
        ]
    )
    encoding = chance.choice(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
    return Damage(content=text.encode(encoding), rest=lines)


def _events(lines: Lines) -> list[int]:
    return [index for index, line in enumerate(lines) if '"ph": "X"' in line]


def with_events_in_another_order(lines: Lines, chance: Random) -> Damage:
    places = _events(lines)
    moved = dict(zip(places, chance.sample(places, len(places)), strict=True))
    changed = [lines[moved.get(index, index)] for index in range(len(lines))]
    return Damage(content=timeline_bytes(changed), rest=lines)


def with_garbage_between(lines: Lines, chance: Random) -> Damage:
    garbage = ("}{", "garbage", '{"ph": "X"', "12", "[" * 3000 + "1", '"name": 5}')
    places = [chance.choice(_events(lines)) for _ in range(chance.choice([1, 2, 7]))]
    changed = list(lines)
    for place in sorted(places, reverse=True):
        changed.insert(place, chance.choice(garbage))
    return Damage(content=timeline_bytes(changed), rest=lines, counts={"lines_broken": len(places)})


def unfinished(lines: Lines, chance: Random) -> Damage:
    end = chance.randrange(1, len(lines[-1]))
    content = ("[\n" + ",\n".join([*lines[:-1], lines[-1][:end]])).encode()
    return Damage(content=content, rest=lines[:-1], counts={"lines_broken": 1, "bytes_lost": end})


def with_useless_events(lines: Lines, chance: Random) -> Damage:
    """Spoil what an event cannot be without: its kind, its start, its length."""
    lost = chance.sample(_events(lines), chance.choice([1, 2, 7]))

    def spoil(line: str) -> str:
        event = json.loads(line)
        key = chance.choice(["ph", "ts", "dur"])
        odd: dict[str, list[Any]] = {
            "ph": ["Q", None],
            "ts": [None, 1e300, -1e300],
            "dur": [-1, None, 1e300, 10**14],
        }
        if chance.random() < 0.3:
            del event[key]
        else:
            event[key] = chance.choice(odd[key])
        return json.dumps(event)

    return _spoilt(lines, lost, spoil, "events_dropped", timeline_bytes)


def with_events_of_another_day(lines: Lines, chance: Random) -> Damage:
    lost = chance.sample(_events(lines), chance.choice([1, 2]))

    def spoil(line: str) -> str:
        event = json.loads(line)
        event["ts"] += chance.choice([-1, 1]) * 2 * 86_400 * 10**6
        return json.dumps(event)

    return _spoilt(lines, lost, spoil, "events_dropped", timeline_bytes)


def with_events_twice(lines: Lines, chance: Random) -> Damage:
    twice = [lines[index] for index in chance.sample(_events(lines), chance.choice([1, 2, 7]))]
    return Damage(
        content=timeline_bytes(lines + twice), rest=lines, counts={"events_dropped": len(twice)}
    )


def with_ends_of_nothing(lines: Lines, chance: Random) -> Damage:
    ends = ['{"ph": "E", "pid": 1, "ts": 5}'] * chance.choice([1, 3])
    return Damage(
        content=timeline_bytes(lines + ends), rest=lines, counts={"events_unmatched": len(ends)}
    )


TIMELINE_DAMAGE: tuple[LineDamage, ...] = (
    written_otherwise, with_events_in_another_order, with_garbage_between, unfinished,
    with_useless_events, with_events_of_another_day, with_events_twice, with_ends_of_nothing,
)  # fmt: skip
