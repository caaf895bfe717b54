"""Problems of reading, counted per file and reported in sentences."""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

from reportgen.masking import without_secrets
from reportgen.profile import Quality, SourceNote
from reportgen.text import format_bytes, format_count

MAX_FILES_NAMED = 20
"""Files named one by one for each kind of trouble, a screenful; the rest is one sentence."""

MAX_DETAILS = 5
"""Lines named one by one in a file: enough to find the trouble."""

LONGEST_NAME = 1_000
"""Characters; names of operators with their templates have some hundred."""

_SENTENCES: Mapping[Quality, str] = {
    Quality.FILES_READ: "{n} [file was|files were] read",
    Quality.FILES_SKIPPED: "{n} [file was|files were] skipped",
    Quality.LINES_BROKEN: "{n} [line|lines] cannot be read and [was|were] skipped",
    Quality.VALUES_BROKEN: "{n} [sample|samples] without a finite value [was|were] left out",
    Quality.LINES_DUPLICATE: "{n} [sample was|samples were] there twice and [was|were] kept once",
    Quality.SAMPLES_OUT_OF_RANGE: (
        "{n} [sample|samples] outside what can be (a percentage outside 0-100, a negative rate) "
        "[was|were] left out"
    ),
    Quality.SAMPLES_OUT_OF_MINUTE: (
        "{n} [sample lies|samples lie] outside the minute that the file's name says and "
        "[was|were] kept"
    ),
    Quality.EVENTS_UNMATCHED: (
        "{n} begin or end [mark has|marks have] no partner and [was|were] left out"
    ),
    Quality.EVENTS_DROPPED: "{n} [event was|events were] left out",
    Quality.PLACES_REPAIRED: "{n} damaged [place was|places were] repaired",
    Quality.BYTES_LOST: "the file ends in the middle of a line: {bytes} lost",
}
_FORMS = re.compile(r"\[([^|\[\]]*)\|([^\[\]]*)\]")


class Diagnostics:
    """Counts trouble while files are read and says it at the end."""

    def __init__(self) -> None:
        self._counts: dict[tuple[Quality, str, str], int] = defaultdict(int)
        self._details: dict[tuple[Quality, str, str], list[str]] = defaultdict(list)
        self._remarks: dict[tuple[str, str], None] = {}

    def add(
        self, quality: Quality, path: str, count: int = 1, *, what: str = "", detail: str = ""
    ) -> None:
        """Count trouble in a file; nothing happens when ``count`` is 0.

        Args:
            what: sentence that replaces the usual one; ``{n}`` is the count and ``[one|many]``
                a choice between two forms.
            detail: where exactly (``"line 17"``); the first five of a file are named.
        """
        if count == 0:
            return
        key = (quality, what or _SENTENCES[quality], path)
        self._counts[key] += count
        if detail and len(self._details[key]) < MAX_DETAILS:
            self._details[key].append(detail)

    def remark(self, text: str, *, path: str = "") -> None:
        """Say something that no counter counts; the same sentence about a file is said once."""
        self._remarks[text, printable(path)] = None

    def count(self, quality: Quality) -> int:
        """Return how much of one kind was counted."""
        return sum(count for key, count in self._counts.items() if key[0] is quality)

    def files_with(self, quality: Quality) -> set[str]:
        """Return the paths of the files that have this kind of trouble."""
        return {path for found, _, path in self._counts if found is quality}

    def notes(self) -> tuple[SourceNote, ...]:
        """Return the notes: by kind of trouble, then by file, then the remarks."""
        by_kind: dict[tuple[Quality, str], list[str]] = defaultdict(list)
        for quality, sentence, path in self._counts:
            by_kind[quality, sentence].append(path)
        notes: list[SourceNote] = []
        for (quality, sentence), paths in by_kind.items():
            named, others = sorted(paths)[:MAX_FILES_NAMED], sorted(paths)[MAX_FILES_NAMED:]
            notes.extend(self._note_on_file(quality, sentence, path) for path in named)
            if others:
                notes.append(self._note_on_others(quality, sentence, others))
        return (*notes, *(SourceNote(text=text, path=path) for text, path in self._remarks))

    def _note_on_file(self, quality: Quality, sentence: str, path: str) -> SourceNote:
        key = (quality, sentence, path)
        count, details = self._counts[key], self._details[key]
        where = ""
        if details:
            rest = ", …" if count > len(details) else ""
            where = f" ({', '.join(details)}{rest})"
        return SourceNote(
            text=_say(sentence, count) + where + ".", path=printable(path), counts={quality: count}
        )

    def _note_on_others(self, quality: Quality, sentence: str, paths: list[str]) -> SourceNote:
        count = sum(self._counts[quality, sentence, path] for path in paths)
        text = f"{_say(sentence, count)}, in {format_count(len(paths))} more files."
        return SourceNote(text=text, counts={quality: count})


def _say(sentence: str, count: int) -> str:
    text = _FORMS.sub(r"\1" if count == 1 else r"\2", sentence)
    text = text.replace("{n}", format_count(count)).replace("{bytes}", format_bytes(count))
    return text[:1].upper() + text[1:]


def printable(text: str, *, most: int = LONGEST_NAME) -> str:
    """Return text that can be written as UTF-8 and passed on: names from disk may hold anything.

    A text that is too long to be a name is cut; its checksum keeps different ones apart.
    """
    return _cleaned_name(text, most) if len(text) <= LONGEST_NAME else _cleaned(text, most)


def _cleaned(text: str, most: int) -> str:
    encoded = without_secrets(text).encode("utf-8", "backslashreplace")
    written = encoded.decode("utf-8")
    if len(written) <= most:
        return written
    mark = f"… ({zlib.crc32(encoded):08x})"
    return written[: most - len(mark)] + mark


_cleaned_name = lru_cache(maxsize=4096)(_cleaned)
"""Names return in every line of a file; the length keeps what is remembered below a few MiB."""
