"""What was read of a timeline, in words."""

from __future__ import annotations

from typing import Any

from reportgen.formats.trace_events.file_events import FileEvents
from reportgen.formats.trace_events.rows import Vocabulary
from reportgen.profile import SpanArguments
from reportgen.profile.spans import NUMBER_COLUMNS


def in_words(
    events: FileEvents, vocabulary: Vocabulary, arguments: SpanArguments
) -> dict[str, Any]:
    """Return everything that was read of a file, columns as lists and codes as what they mean."""
    names, phases = list(vocabulary.names), list(vocabulary.phases)
    numbers = {column: getattr(arguments, column)[events.argument] for column in NUMBER_COLUMNS}
    numbers |= {"start_ns": events.start_ns, "end_ns": events.end_ns}
    columns: dict[str, Any] = {name: column.tolist() for name, column in numbers.items()}
    return columns | {
        "name": [names[code] for code in events.name],
        "phase": [phases[code] for code in events.phase],
        "labels": arguments.labels,
        "base_ns": events.base_ns,
        "n_loose": events.loose.n_marks if events.loose else 0,
    }
