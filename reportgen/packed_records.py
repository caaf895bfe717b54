"""Long sequences of records in little memory: a block is unpacked while it is used."""

from __future__ import annotations

import marshal
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Generic, TypeVar

Record = TypeVar("Record")

BLOCK_ROWS = 512
"""Records that are compressed together: minute files of one node then take 10 bytes each."""
_MARSHAL_VERSION = 2
"""Its bytes are the same for equal records; later ones depend on what else refers to a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed(Sequence[Record], Generic[Record]):
    """``n_rows`` frozen records of a class whose fields are texts and numbers, as columns."""

    kind: type[Record]
    blocks: tuple[bytes, ...]
    n_rows: int

    def __len__(self) -> int:
        """Return how many records there are."""
        return self.n_rows

    def __iter__(self) -> Iterator[Record]:
        """Yield the records, unpacking one block after the other."""
        for number in range(len(self.blocks)):
            yield from self._block(number)

    def __getitem__(self, index: Any) -> Any:
        """Return a record, or of a slice some as a tuple."""
        place = range(self.n_rows)[index]
        if isinstance(place, range):
            return tuple(self[one] for one in place)
        return self._block(place // BLOCK_ROWS)[place % BLOCK_ROWS]

    def _block(self, number: int) -> list[Record]:
        names = [field.name for field in fields(self.kind)]  # type: ignore[arg-type]  # a dataclass
        columns = marshal.loads(zlib.decompress(self.blocks[number]))  # noqa: S302  # we wrote it
        kind: Any = self.kind
        return [kind(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]


class Packer(Generic[Record]):
    """Takes records one by one and packs them."""

    def __init__(self, kind: type[Record]) -> None:
        """Start without records of a class."""
        self._kind = kind
        self._row = attrgetter(*(field.name for field in fields(kind)))  # type: ignore[arg-type]  # a dataclass
        self._fresh: list[Record] = []
        self._blocks: list[bytes] = []

    def add(self, record: Record) -> None:
        """Take a record."""
        self._fresh.append(record)
        if len(self._fresh) == BLOCK_ROWS:
            self._pack()

    def packed(self) -> Sequence[Record]:
        """Return the records: a tuple of a few, packed if they are many."""
        if not self._blocks:
            return tuple(self._fresh)
        n_rows = len(self._blocks) * BLOCK_ROWS + len(self._fresh)
        if self._fresh:
            self._pack()
        return Packed(kind=self._kind, blocks=tuple(self._blocks), n_rows=n_rows)

    def _pack(self) -> None:
        columns = tuple(zip(*map(self._row, self._fresh), strict=True))
        self._blocks.append(zlib.compress(marshal.dumps(columns, _MARSHAL_VERSION), 1))
        self._fresh = []


def pack(records: Iterable[Record], kind: type[Record]) -> Sequence[Record]:
    """Return records as a sequence that takes little memory, however many they are."""
    packer = Packer(kind)
    for record in records:
        packer.add(record)
    return packer.packed()
