"""The rules of a large trace, measured by two processes: this one and a copy of it.

A copy has the tables and the rules at once; another interpreter would need as long to import the
rules and to be sent the tables as it saves. Of this process a copy has one thread only, so where
more run here, one process measures alone.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

from reportgen.engine import spare_cores
from reportgen.profile import RankTrace
from reportgen.results import RuleId
from reportgen.rules.base import AnyRule, Part
from reportgen.rules.runner import measure_part, reads

_LEAST_EVENTS = 200_000
"""Fewer are measured in 0.2 s; a copy takes 0.05 s to be made and to answer."""
_MOST_RULES = 4_096
"""A pipe holds as many bytes on any system."""

Measurements = dict[RuleId, Any]


def measure_shared(
    part: Part, rules: Sequence[AnyRule], params: Mapping[RuleId, Any]
) -> Measurements:
    """Return what ``measure_part`` does; a copy of this process takes its share of a large trace.

    Both take rules from the same list, this one from its start and the copy from its end: rules
    that stand together need the same facts, which each process computes for itself.

    Edge cases: rules whose measurements did not come back from the copy are measured here.
    """
    ours = [rule for rule in rules if reads(rule, is_rank=isinstance(part, RankTrace))]
    if not (_is_large(part) and 1 < len(ours) <= _MOST_RULES and _may_copy()):
        return measure_part(part, ours, params)
    tickets, writing = os.pipe()
    with os.fdopen(tickets, "rb", buffering=0) as left, os.fdopen(writing, "wb") as pipe:
        pipe.write(bytes(len(ours)))
        pipe.close()

        def share(rules: Iterable[AnyRule]) -> Measurements:
            next_rule, found = iter(rules), Measurements()
            while left.read(1):
                found |= measure_part(part, [next(next_rule)], params)
            return found

        with _in_copy(lambda: share(reversed(ours))) as answer:
            found = {**share(ours), **answer()}
    found |= measure_part(part, [rule for rule in ours if rule.id not in found], params)
    return {rule.id: found[rule.id] for rule in ours}


def _is_large(part: Part) -> bool:
    return isinstance(part, RankTrace) and part.n_events >= _LEAST_EVENTS


def _may_copy() -> bool:
    """Return whether a copy can run well: macOS lets none use its libraries."""
    return sys.platform == "linux" and threading.active_count() == 1 and spare_cores() > 0


@contextmanager
def _in_copy(work: Callable[[], Measurements]) -> Iterator[Callable[[], Measurements]]:
    """Do some work in a copy of this process, which is gone when the context ends.

    Gives a function that waits for what it found: less, or nothing, where the copy failed.
    """
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as incoming, os.fdopen(writing, "wb") as outgoing:
        _flush()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of threads that numpy has
                pid = os.fork()
        except OSError:
            yield Measurements
            return
        if pid == 0:
            _answer(work, outgoing)
        outgoing.close()
        try:
            yield lambda: _received(incoming)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _answer(work: Callable[[], Measurements], outgoing: IO[bytes]) -> None:
    """Write what work found, as far as it can travel, and end; Ctrl-C is for who copied us."""
    with suppress(BaseException):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for item in work().items():
            with suppress(Exception):
                packed = pickle.dumps(item, protocol=pickle.HIGHEST_PROTOCOL)
                pickle.dump(packed, outgoing)
        outgoing.flush()
        _flush()
    os._exit(0)


def _flush() -> None:
    """Write what a rule printed: once, and not never, as a copy ends without doing so."""
    if sys.stdout is not None:
        sys.stdout.flush()


def _received(incoming: IO[bytes]) -> Measurements:
    found = Measurements()
    with suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            packed = pickle.load(incoming)  # noqa: S301  # our own copy wrote it
            with suppress(Exception):
                rule, item = pickle.loads(packed)  # noqa: S301  # as above
                found[rule] = item
    return found
