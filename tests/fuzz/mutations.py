"""Changes to bytes and to JSON trees, drawn from a seeded source."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

TOKENS = (
    b"\n", b"\r\n", b"[", b"]", b"{", b"}", b",", b'"', b":", b"\\", b"\x00", b"\xff\xfe",
    b"\xef\xbb\xbf", b"null", b"true", b"NaN", b"-Infinity", b"-1e400", b"9" * 40, b"-1", b"0",
    b"\\ud800", b"\xc3", b"[" * 2000, b'{"a":' * 2000, b" " * 500, b"\n" * 50,
    b"]}]}", b"# x\n", b"=", b"'''",
)  # fmt: skip

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**70), 10**40, 0.5, -0.0, 1e308, 5e-324,
    "", "x", "7", "NaN", "\ud83d", "\u2028<b>", "a" * 5000, [], {}, [[]], {"": None},
    [1, "a", None], {"p50": "x"}, {"algo-1": {"gpu0": None}}, "2026-13-45T99:99:99Z",
    "../../x", "/dev/zero",
)  # fmt: skip

_LARGEST_CUT = 400
_DIGITS = re.compile(rb"[0-9]+")


def mutate_bytes(content: bytes, chance: Random) -> bytes:
    """Return content after one to a few dozen byte-level changes."""
    for _ in range(chance.choice([1, 1, 1, 3, 30])):
        content = chance.choice(_BYTE_CHANGES)(content, chance)
    return content


def _flip_bit(content: bytes, chance: Random) -> bytes:
    place = chance.randrange(max(len(content), 1))
    changed = bytes(byte ^ (1 << chance.randrange(8)) for byte in content[place : place + 1])
    return content[:place] + changed + content[place + 1 :]


def _put_token(content: bytes, chance: Random) -> bytes:
    place = chance.randrange(len(content) + 1)
    return content[:place] + chance.choice(TOKENS) + content[place:]


def _cut_stretch(content: bytes, chance: Random) -> bytes:
    place = chance.randrange(len(content) + 1)
    return content[:place] + content[place + chance.randrange(_LARGEST_CUT) :]


def _repeat_stretch(content: bytes, chance: Random) -> bytes:
    place = chance.randrange(len(content) + 1)
    end = place + chance.randrange(_LARGEST_CUT)
    return content[:end] + content[place:]


def _break_off(content: bytes, chance: Random) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _swap_digits(content: bytes, chance: Random) -> bytes:
    """Replace one run of digits by an odd number."""
    runs = [found.span() for found in _DIGITS.finditer(content)]
    if not runs:
        return content
    start, end = chance.choice(runs)
    start = chance.randrange(start, end)
    odd = chance.choice([b"0", b"-7", b"1e999", b"99999999999999999999", b"null", b'"3"', b"1.5e3"])
    return content[:start] + odd + content[end:]


_BYTE_CHANGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    _flip_bit, _flip_bit, _put_token, _cut_stretch, _repeat_stretch, _break_off, _swap_digits,
    _swap_digits,
)  # fmt: skip


def mutate_json(content: bytes, chance: Random) -> bytes:
    """Return a JSON document after one to a few changes of its tree."""
    tree = [json.loads(content)]
    for _ in range(chance.choice([1, 1, 2, 8])):
        _change_tree(tree, chance)
    return json.dumps(tree[0] if tree else None, ensure_ascii=chance.random() < 0.5).encode(
        "utf-8", "surrogatepass"
    )


def mutate_values(content: bytes, chance: Random) -> bytes:
    """Return a JSON document with other values of the same types: its shape stays as it was."""
    tree = [json.loads(content)]
    leaves: list[tuple[Any, Any]] = []

    def collect(holder: Any) -> None:
        for key in holder if isinstance(holder, dict) else range(len(holder)):
            is_leaf = not isinstance(holder[key], dict | list)
            leaves.append((holder, key)) if is_leaf else collect(holder[key])

    collect(tree)
    for holder, key in chance.choices(leaves, k=chance.choice([1, 1, 2, 8])) if leaves else ():
        alike = [odd for odd in ODD_VALUES if type(odd) is type(holder[key])]
        holder[key] = chance.choice([*alike, None])
    return json.dumps(tree[0]).encode("utf-8", "surrogatepass")


def _change_tree(tree: Any, chance: Random) -> None:
    """Change one place of a tree; deep places are as likely as shallow ones."""
    holder = tree
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return
        key = chance.choice(keys)
        child = holder[key]
        if isinstance(child, dict | list) and child and chance.random() < 0.85:
            holder = child
            continue
        _change_entry(holder, key, chance)
        return


def _change_entry(holder: Any, key: Any, chance: Random) -> None:
    kind = chance.randrange(5)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[chance.choice([f"{key}x", "", "name", "\u202e"])] = holder.pop(key)
    elif kind == 2 and isinstance(holder, list):
        holder.append(holder[key])
    elif kind == 3:
        holder[key] = [holder[key]] if chance.random() < 0.5 else {"a": holder[key]}
    else:
        holder[key] = deepcopy(chance.choice(ODD_VALUES))


def nested(depth: int, *, opens: bytes = b"[", closes: bytes = b"]") -> bytes:
    """Return brackets within brackets."""
    return opens * depth + closes * depth
