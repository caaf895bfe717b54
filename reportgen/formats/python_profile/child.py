"""Runs in a separate process: reads cProfile dumps, which may be hostile or damaged.

Marshal can crash the interpreter or ask for any amount of memory, so limits are set first and the
parent expects that this process dies. Nothing of the package is imported.

Protocol: stdin holds, per profile, 8 bytes of length (big endian) and the content; stdout gets one
JSON line per profile: a list of rows ``[file, line, function, primitive calls, calls, own seconds,
cumulative seconds]``, or a text that says why there is none.
"""

from __future__ import annotations

import json
import marshal
import sys

MEMORY_BYTES = 1 << 30
MOST_FUNCTIONS = 200_000
MOST_CALLS = 10**15
MOST_S = 10**9
"""Larger numbers were not measured: 30 years."""
_KEY_LENGTH, _VALUE_LENGTH = 3, 5


def main() -> None:
    """Answer one profile after the other until stdin ends."""
    _limit(MEMORY_BYTES)
    source, target = sys.stdin.buffer, sys.stdout
    while header := source.read(8):
        content = source.read(int.from_bytes(header, "big"))
        target.write(json.dumps(_answer(content)) + "\n")
        target.flush()


def _limit(memory_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def _answer(content: bytes) -> list[list[object]] | str:
    try:
        tree = marshal.loads(content)  # noqa: S302  # that is why this process is separate
    except (EOFError, ValueError, TypeError, MemoryError, RecursionError) as err:
        return f"{type(err).__name__}: {err}"
    if not isinstance(tree, dict):
        return f"expected a table of functions, saw {type(tree).__name__}"
    if len(tree) > MOST_FUNCTIONS:
        return f"{len(tree)} functions, more than {MOST_FUNCTIONS} are not read"
    rows = [row for item in tree.items() if (row := _row(*item)) is not None]
    if len(rows) < len(tree):
        return f"{len(tree) - len(rows)} of {len(tree)} entries are no functions"
    return rows


def _row(key: object, value: object) -> list[object] | None:
    if not (isinstance(key, tuple) and len(key) == _KEY_LENGTH):
        return None
    if not (isinstance(value, tuple) and len(value) == _VALUE_LENGTH):
        return None
    file, line, function = key
    primitive, calls, own_s, cumulative_s, _ = value
    if not (isinstance(file, str) and isinstance(function, str)):
        return None
    counts = (line, primitive, calls)
    if not all(isinstance(count, int) and 0 <= count <= MOST_CALLS for count in counts):
        return None
    if not all(_is_time(time_s) for time_s in (own_s, cumulative_s)):
        return None
    return [file, line, function, primitive, calls, float(own_s), float(cumulative_s)]


def _is_time(value: object) -> bool:
    """Return whether a value is finite; clocks that were set back give times below 0."""
    return isinstance(value, int | float) and -MOST_S <= value <= MOST_S


if __name__ == "__main__":
    main()
