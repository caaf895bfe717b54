"""Contents of Python profiles to rows; unreadable profiles are reported, never raised."""

from __future__ import annotations

import json
import selectors
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import IO, Any

_CHILD = ("-I", "-S", str(Path(__file__).with_name("child.py")))
_SECONDS_EACH = 20.0
"""A profile that takes longer to read is given up; real ones take 20 ms."""
MOST_BYTES = 64_000_000
"""Larger profiles are not read; real ones have some hundred kB."""
TOO_LARGE = f"it is larger than {MOST_BYTES // 10**6} MB"
OUT_OF_LIMITS = "reading it took too much time or memory"
"""The remark on a profile that made its reader die."""
_MOST_FRAMES = 500_000
_MOST_S = 1e9
_MOST_LINES = 10**9
_SELF = "[self]"
"""How pyinstrument calls a frame that stands for the time in its parent itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTimes:
    """One function in one profile.

    ``calls`` is ``None`` where the profiler samples; ``primitive_calls`` were not recursive.
    ``own_s`` are seconds in the function itself, ``cumulative_s`` also in what it called.
    """

    file: str
    line: int
    function: str
    calls: int | None
    primitive_calls: int | None
    own_s: float
    cumulative_s: float


_FIELDS = (
    "file", "line", "function", "primitive_calls", "calls", "own_s", "cumulative_s",
)  # fmt: skip
"""The fields of ``FunctionTimes``, in the order in which the child process writes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileContent:
    """The functions of a profile, or in ``problem`` why there are none."""

    functions: tuple[FunctionTimes, ...] = ()
    problem: str = ""


def read_profiles(contents: Iterable[tuple[str, bytes]]) -> Iterator[ProfileContent]:
    """Read (profiler, bytes) in order: ``cprofile`` dumps and ``pyinstrument`` JSON.

    cProfile's dumps are read by a child process with a limit on memory and time; when it dies,
    the profile that killed it has a problem and the next child goes on.
    """
    child: Popen[bytes] | None = None
    with ExitStack() as exits:
        for profiler, content in contents:
            if not content:
                yield ProfileContent(problem="it is empty")
            elif len(content) > MOST_BYTES:
                yield ProfileContent(problem=TOO_LARGE)
            elif profiler == "pyinstrument":
                yield _read_tree(content)
            else:
                child = child or exits.enter_context(_interpreter())
                answer = _ask(child, content)
                if answer is None:
                    exits.close()
                    child = None
                    yield ProfileContent(problem=OUT_OF_LIMITS)
                else:
                    yield _from_rows(answer)


@contextmanager
def _interpreter() -> Iterator[Popen[bytes]]:
    """Start an interpreter that reads dumps; it is killed when the context ends."""
    child = Popen([sys.executable, *_CHILD], stdin=PIPE, stdout=PIPE, stderr=DEVNULL)  # noqa: S603  # our own code, no shell
    try:
        yield child
    finally:
        child.kill()
        with suppress(OSError), child:  # closes the pipes, though not everything was sent
            pass


def _ask(child: Popen[bytes], content: bytes) -> Any | None:
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(len(content).to_bytes(8, "big") + content)
        child.stdin.flush()
        line = _line_in_time(child.stdout, _SECONDS_EACH)
        return json.loads(line) if line.endswith(b"\n") else None
    except (OSError, ValueError):
        return None


def _line_in_time(stream: IO[bytes], timeout_s: float) -> bytes:
    ends_at, line = time.monotonic() + timeout_s, b""
    parts: list[bytes] = []
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            if not selector.select(max(ends_at - time.monotonic(), 0)):
                break
            line = stream.read1() if hasattr(stream, "read1") else b""
            if not line:
                break
            parts.append(line)
    return b"".join(parts)


def _from_rows(answer: Any) -> ProfileContent:
    if isinstance(answer, str):
        return ProfileContent(problem=f"it is no cProfile dump ({answer})")
    return ProfileContent(
        functions=tuple(FunctionTimes(**dict(zip(_FIELDS, row, strict=True))) for row in answer)
    )


def _read_tree(content: bytes) -> ProfileContent:
    """Read pyinstrument's tree of frames; a function's time is the sum over its frames.

    Cumulative time counts the outermost of nested frames of a function, so that recursion is not
    counted twice.
    """
    try:
        root = json.loads(content)["root_frame"]
    except (ValueError, KeyError, TypeError, RecursionError) as err:
        return ProfileContent(problem=f"it is no pyinstrument JSON ({type(err).__name__})")
    if root is None:
        return ProfileContent(problem="pyinstrument recorded nothing")
    self_s: dict[tuple[str, int, str], float] = {}
    cumulative: dict[tuple[str, int, str], float] = {}
    stack: list[tuple[Any, frozenset[tuple[str, int, str]]]] = [(root, frozenset())]
    n_frames = 0
    while stack:
        frame, above = stack.pop()
        n_frames += 1
        read = _frame(frame)
        if read is None or n_frames > _MOST_FRAMES:
            return ProfileContent(problem="its frames cannot be read")
        key, total_s, children = read
        children = [item for item in children if not _is_self(item)]
        inner_s = sum(child[1] for item in children if (child := _frame(item)) is not None)
        self_s[key] = self_s.get(key, 0.0) + max(total_s - inner_s, 0.0)
        if key not in above:
            cumulative[key] = cumulative.get(key, 0.0) + total_s
        below = above | {key}
        stack.extend((item, below) for item in reversed(children))
    return ProfileContent(
        functions=tuple(
            FunctionTimes(
                file=file,
                line=line,
                function=function,
                primitive_calls=None,
                calls=None,
                own_s=own_s,
                cumulative_s=cumulative.get((file, line, function), 0.0),
            )
            for (file, line, function), own_s in self_s.items()
        )
    )


def _is_self(frame: Any) -> bool:
    return isinstance(frame, dict) and frame.get("function") == _SELF and not frame.get("children")


def _frame(frame: Any) -> tuple[tuple[str, int, str], float, list[Any]] | None:
    if not isinstance(frame, dict):
        return None
    total_s, children = frame.get("time"), frame.get("children", [])
    if not isinstance(total_s, int | float) or not 0 <= total_s <= _MOST_S:
        return None
    if not isinstance(children, list):
        return None
    file = frame.get("file_path") or frame.get("file_path_short") or ""
    line = frame.get("line_no")
    if not isinstance(line, int) or not 0 <= line <= _MOST_LINES:
        line = 0
    key = (str(file), line, str(frame.get("function", "")))
    return key, float(total_s), children
