"""The rules of a large trace, measured by two processes: this one and a copy of it.

Another interpreter would need as long to import the rules and to be sent the tables as it saves.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from reportgen.engine import HelperError, may_copy, run_in_copy
from reportgen.profile import RankTrace
from reportgen.results import RuleId
from reportgen.rules.base import AnyRule, Part
from reportgen.rules.runner import measure_part, reads

_LEAST_EVENTS = 200_000
"""Fewer are measured in 0.2 s; a copy takes 0.05 s to be made and to answer."""
_MOST_RULES = 4_096
"""A pipe holds as many bytes on any system."""


def measure_shared(
    part: Part, rules: Sequence[AnyRule], params: Mapping[RuleId, Any]
) -> dict[RuleId, Any]:
    """Return the answer of ``measure_part``; a copy of this process has a share in large traces.

    Both take rules from the same list, this one from its start and the copy from its end: rules
    that stand together need the same facts, which each process computes for itself.

    Edge cases: rules whose measurements did not come back from the copy are measured here.
    """
    is_large = isinstance(part, RankTrace) and part.n_events >= _LEAST_EVENTS
    if not (is_large and len(rules) <= _MOST_RULES and may_copy()):
        return measure_part(part, rules, params)
    ours = [rule for rule in rules if reads(rule, is_rank=True)]
    tickets, writing = os.pipe()
    os.write(writing, bytes(len(ours)))
    os.close(writing)

    def share(rules: Iterable[AnyRule]) -> Iterator[tuple[RuleId, Any]]:
        left = iter(rules)
        while os.read(tickets, 1):
            yield from measure_part(part, [next(left)], params).items()

    found: dict[RuleId, Any] = {}
    try:
        with suppress(HelperError), run_in_copy(lambda: _packed(share(reversed(ours)))) as answers:
            found.update(share(ours))
            found.update(_unpacked(answers))
    finally:
        os.close(tickets)
    found |= measure_part(part, [rule for rule in ours if rule.id not in found], params)
    return {rule.id: found[rule.id] for rule in ours}


def _packed(measured: Iterable[tuple[RuleId, Any]]) -> Iterator[bytes]:
    """Yield measurements, without those of strangers that cannot travel."""
    for item in measured:
        with suppress(Exception):
            yield pickle.dumps(item, protocol=pickle.HIGHEST_PROTOCOL)


def _unpacked(answers: Iterable[bytes]) -> Iterator[tuple[RuleId, Any]]:
    for answer in answers:
        with suppress(Exception):
            yield pickle.loads(answer)  # noqa: S301  # our own copy wrote it
