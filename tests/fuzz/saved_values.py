"""Saved reports behind the schema: each value is of its declared type, and hostile."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from reportgen.byte_planes import differences, in_planes
from reportgen.results import Role
from tests.fuzz.attacks_saved import with_timeline
from tests.schemas import is_valid
from tests.views.lane_files import training_file

_NUMBERS = (-1.0, 0.0, -0.0, 5e-324, 1e308, -1e308, 1e18, 0.1 + 0.2, 2.0**53)
_WHOLE = (-1, 0, 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))
_TEXTS = (
    "", " ", "<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "javascript:alert(1)",
    "\x1b[2J\x1b]0;x\x07", "\u202e\u2066x", "{{ 7 * 7 }}", "$(rm -rf ~)", "a" * 100_000, "%#?&",
    "\u0000", "</svg></style>", "../../etc/passwd", "```\n# x\n|", "NaN", "é" * 3000,
)  # fmt: skip
_TRIES = 6


def saved_values(folder: Path, chance: Random, report: Path) -> Path:
    """Change values of a copied report in place until its schema still accepts them."""
    has_timeline = chance.random() < 0.2
    path = with_timeline(folder, _timeline(chance)) if has_timeline else report
    files = sorted(path.glob("*.json"))
    for file in chance.choices(files, k=chance.choice([1, 1, 2, 5])):
        schema = "report" if file.name == "report.json" else "result"
        whole = file.read_bytes()
        for _ in range(_TRIES):
            tree = json.loads(whole)
            _change(tree, chance)
            if is_valid(schema, tree):
                file.write_bytes(json.dumps(tree).encode("utf-8", "surrogatepass"))
                break
    return path


def _change(tree: Any, chance: Random) -> None:
    leaves = list(_leaves(tree))
    for holder, key in chance.choices(leaves, k=chance.choice([1, 2, 8, 40])):
        holder[key] = _hostile(holder[key], key, chance)


def _leaves(holder: Any) -> Iterator[tuple[Any, Any]]:
    for key in holder if isinstance(holder, dict) else range(len(holder)):
        if isinstance(holder[key], dict | list):
            yield from _leaves(holder[key])
        else:
            yield holder, key


def _hostile(value: Any, key: Any, chance: Random) -> Any:
    if key == "packed":
        return _packed(chance)
    if key in {"role", "color", "colour"}:
        return chance.choice([role.value for role in Role])
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return chance.choice(_WHOLE)
    return chance.choice(_NUMBERS if isinstance(value, float) else _TEXTS)


def _packed(chance: Random) -> str:
    """Return a column that unpacks well: too short, too long, or of absurd numbers."""
    n = chance.choice([0, 1, 59, 60, 61, 200_000])
    numbers = np.full(n, chance.choice(_WHOLE), dtype=np.int64)
    numbers[::3] = chance.choice(_WHOLE)
    return base64.b64encode(zlib.compress(in_planes(differences(numbers)))).decode()


def _timeline(chance: Random) -> bytes:
    """Return a file of the timeline with odd lanes, blocks and windows, or damaged bytes."""
    made = training_file(n_ranks=1)
    for _ in range(chance.choice([1, 2, 5])):
        lane = chance.choice(made.lanes)
        key = chance.choice(sorted(set(lane) - {"blocks"}))
        lane[key] = chance.choice([None, *_WHOLE, *_TEXTS])
        for block in lane["blocks"]:
            if chance.random() < 0.3:
                block[chance.choice(sorted(set(block) - {"at"}))] = chance.choice(_WHOLE)
    for window in made.windows:
        window[chance.choice(sorted(window))] = chance.choice([*_WHOLE, *_TEXTS])
    content = bytearray(made.packed())
    if chance.random() < 0.3:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return bytes(content)
