"""The rules of a large trace, measured by two processes: this one and a copy of it.

Another interpreter would need as long to import the rules and to be sent the tables as it saves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from reportgen.engine import HelperError, may_copy, run_in_copy
from reportgen.profile import RankTrace
from reportgen.results import RuleId
from reportgen.rules.base import AnyRule, Part
from reportgen.rules.runner import measure_part, reads

_LEAST_EVENTS = 200_000
"""Fewer are measured in 0.2 s; a copy takes 0.05 s to be made and to answer."""

_REPLAYED = frozenset({"IdleTime", "KernelTime", "MemoryOperations"})
"""Rules that play the recording without some of its costs: a third of the time of all rules, and
less than half of it for those that the same process measures."""


def measure_shared(
    part: Part,
    rules: Sequence[AnyRule],
    params: Mapping[RuleId, Any],
    aside: Callable[[], None] = lambda: None,
) -> dict[RuleId, Any]:
    """Return the answer of ``measure_part``; a copy of this process takes its share if it is large.

    Edge cases: the rules that the copy did not answer are measured here.

    Args:
        aside: writes files of the part; where there is a copy, the copy begins with it.
    """
    ours = [rule for rule in rules if reads(rule, is_rank=isinstance(part, RankTrace))]
    found: dict[RuleId, Any] = {}
    is_written = False
    if isinstance(part, RankTrace) and part.n_events >= _LEAST_EVENTS and may_copy():
        found, is_written = _by_two(part, ours, params, aside)
    found |= measure_part(part, [rule for rule in ours if rule.id not in found], params)
    if not is_written:
        aside()
    return {rule.id: found[rule.id] for rule in ours}


def _by_two(
    part: Part, rules: Sequence[AnyRule], params: Mapping[RuleId, Any], aside: Callable[[], None]
) -> tuple[dict[RuleId, Any], bool]:
    """Return the measurements of two processes, and whether the copy called ``aside``.

    Both take rules from the same list, this one from its start and the copy from its end: rules
    that stand together need the same facts, which each process computes for itself.
    """
    rules = sorted(rules, key=lambda rule: rule.id not in _REPLAYED)
    tickets, writing = os.pipe()
    os.write(writing, bytes(len(rules)))
    os.close(writing)

    def share(rules: Iterable[AnyRule]) -> Iterator[tuple[RuleId, Any]]:
        left = iter(rules)
        while os.read(tickets, 1):
            yield from measure_part(part, [next(left)], params).items()

    def share_of_copy() -> Iterator[object]:
        aside()
        measured = [*share(reversed(rules))]  # the answers are read at the end
        yield True
        yield from measured

    found: dict[RuleId, Any] = {}
    is_written = False
    try:
        with suppress(HelperError), run_in_copy(share_of_copy) as answers:
            found.update(share(rules))
            is_written = next(answers)
            found.update(answers)
    finally:
        os.close(tickets)
    return found, is_written
