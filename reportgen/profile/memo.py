"""Facts of one part, each computed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

_T = TypeVar("_T")
_More = ParamSpec("_More")


class Memo:
    """Values computed from a part so far; they live as long as the part.

    It is never sent to another process with the part, and a changed copy starts empty.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], Any] = {}

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        return Memo, ()

    def get(self, compute: Callable[..., _T], part: object, *more: object, **options: object) -> _T:
        """Return ``compute(part, ...)``, computed at the first call with equal arguments."""
        key = (compute, more, *sorted(options.items()))
        if key not in self._kept:
            self._kept[key] = compute(part, *more, **options)
        kept: _T = self._kept[key]
        return kept


class HasMemo(Protocol):
    """A part that keeps what was computed from it."""

    @property
    def memo(self) -> Memo:
        """Return the values computed so far."""


_P = TypeVar("_P", bound=HasMemo)


def fact(compute: Callable[Concatenate[_P, _More], _T]) -> Callable[Concatenate[_P, _More], _T]:
    """Make a function of a part compute once for each part.

    With further arguments, which are hashable, it computes once for each of their values.

    Use it for values that two rules need. A returned value is shared and must not be changed.

    Example:
        >>> class Part:
        ...     memo = Memo()
        >>> @fact
        ... def answer(part: Part) -> list[int]:
        ...     return [42]
        >>> part = Part()
        >>> answer(part) is answer(part)
        True
    """

    @wraps(compute)
    def computed_once(part: _P, /, *args: _More.args, **kwargs: _More.kwargs) -> _T:
        return part.memo.get(compute, part, *args, **kwargs)

    return computed_once
