"""Whole numbers as bytes that pack well: differences, and their bytes plane by plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def differences(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return (n, ...) numbers as the first one and how far each is from the one before.

    Differences wrap around beyond the type.
    """
    return np.diff(numbers, axis=0, prepend=np.zeros_like(numbers[:1]))


def summed(steps: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers of which ``differences`` were made."""
    return np.cumsum(steps, axis=0, dtype=steps.dtype)


def in_planes(numbers: NDArray[Any]) -> bytes:
    """Return the first byte of all numbers, then the second of all, and so on.

    Example:
        >>> in_planes(np.array([1, 258], dtype="<i2")).hex()
        '01020001'
    """
    return np.ascontiguousarray(numbers).view(np.uint8).reshape(-1, numbers.itemsize).T.tobytes()


def from_planes(planes: bytes, dtype: DTypeLike) -> NDArray[Any]:
    """Return the (n,) numbers that ``in_planes`` wrote.

    Raises:
        ValueError: the length is not that of whole numbers.
    """
    kind = np.dtype(dtype)
    octets = np.frombuffer(planes, dtype=np.uint8).reshape(kind.itemsize, -1).T
    return octets.copy(order="C").reshape(-1).view(kind)
