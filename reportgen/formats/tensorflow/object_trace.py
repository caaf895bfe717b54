"""Chrome traces that are one object with a list of events in it, as TensorFlow writes them.

``{"displayTimeUnit": …, "traceEvents": [{…}, …, {}]}``, packed or not, on one line or on many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.kineto.salvage import Decoding
from reportgen.formats.kineto.text import TraceText
from reportgen.formats.trace_events.events import JsonEvent, decode_event, decode_events
from reportgen.profile import Quality

_DECODING = Decoding(decode=decode_events, repair=decode_event)
_SAY_NO_LIST = "{n} [file holds|files hold] no list of events"


def read_object_events(
    blocks: Iterable[bytes], key: str, problems: Diagnostics
) -> Iterator[list[JsonEvent]]:
    """Yield a file's events in their order, some thousands at a time, from bytes packed or not."""
    text = TraceText(blocks=blocks, decoding=_DECODING)
    for batch in text.batches():
        if not batch.document:
            yield batch.events
    problems.add(Quality.FILES_SKIPPED, key, int(not text.n_documents), what=_SAY_NO_LIST)
    text.tell_losses(key, problems)
