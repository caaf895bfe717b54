"""``shares``: what a whole is made of, as one bar and its legend; no script needed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reportgen.names import clean
from reportgen.results import Exhibit, Scalar
from reportgen.units import say_pct
from reportgen.views.charts.arrays import numbers
from reportgen.views.hero_words import BUDGET, said_parts
from reportgen.views.meaning import inks
from reportgen.views.theme import N_SHADES
from reportgen.views.values import (
    Shown,
    exact_name,
    exactly,
    heading_of,
    shorten,
    shown_value,
)

FULL_NAME = "full_name"
"""A column of names whose short forms are the parts: shown where a part is pointed at."""
MOST_PARTS = 8
SMALL_BELOW_PCT = 1.0
_LABEL_FROM_PCT = 9.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a whole. ``bar_label`` is empty where the bar is too narrow for it."""

    name: Shown
    amount: Shown
    pct: Shown
    width_pct: float
    ink: str
    bar_label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SharesInfo:
    """What a share bar shows; parts in the order of the exhibit, small ones as one at the end.

    SageMaker's results hold shares alone: ``has_amounts`` is then false.
    """

    label: str
    amount_head: str
    amount_name: str
    parts: tuple[Part, ...]
    folded: tuple[Part, ...] = ()
    has_amounts: bool = True


def info(exhibit: Exhibit) -> SharesInfo:
    """Return the parts of a ``shares`` exhibit.

    Many tiny parts are one part in the bar, "others (n)", and rows of their own in the legend.
    """
    columns = {column.name: column for column in exhibit.columns}
    names = [str(name) for name in columns["part"].values]
    told = said_parts(names) if exhibit.id == BUDGET else names
    percentages = [value or 0.0 for value in numbers(columns["pct"].values)]
    amount = next(item for item in exhibit.columns if item.name not in {"part", "pct", FULL_NAME})
    full_names = columns[FULL_NAME].values if FULL_NAME in columns else (None,) * len(names)
    colours = inks(names, exhibit.id, exhibit.title)
    parts = [
        Part(
            name=named(said, full),
            amount=shown_value(value, amount.unit),
            pct=Shown(text=say_pct(pct), exact=exactly(pct)),
            width_pct=round(pct, 3),
            ink=ink_class(ink.hue, ink.index),
            bar_label=say_pct(pct) if pct >= _LABEL_FROM_PCT else "",
        )
        for said, full, value, pct, ink in zip(
            told, full_names, amount.values, percentages, colours, strict=True
        )
    ]
    kept, small = _split(parts)
    if small:
        kept.append(_others(small, sum(item.width_pct for item in small)))
    return SharesInfo(
        label=exhibit.title,
        amount_head=heading_of(amount.name),
        amount_name=exact_name(amount),
        parts=tuple(kept),
        folded=tuple(small),
        has_amounts=any(value is not None for value in amount.values),
    )


def named(name: Scalar, full_name: Scalar) -> Shown:
    """Return a short name with the full one behind it, where there is one."""
    shown = shorten(str(name))
    full = clean(full_name) if isinstance(full_name, str) else ""
    return replace(shown, full=full) if full and full != shown.text else shown


def ink_class(hue: str, index: int) -> str:
    """Return the classes that paint a part: its meaning, and a pattern for repeated ones."""
    step = index % N_SHADES
    shade = f"rg-ink-{hue}" if step == 0 else f"rg-ink-{hue}-{step}"
    return f"{shade} rg-hatched" if index >= N_SHADES else shade


def _split(parts: list[Part]) -> tuple[list[Part], list[Part]]:
    """Keep the largest parts where there are many; those too small to see are a group."""
    if len(parts) <= MOST_PARTS:
        return parts, []
    by_size = sorted(parts, key=lambda part: -part.width_pct)[: MOST_PARTS - 1]
    kept = [part for part in parts if part in by_size and part.width_pct >= SMALL_BELOW_PCT]
    small = [part for part in parts if part not in kept]
    return kept, small


def _others(small: list[Part], width_pct: float) -> Part:
    return Part(
        name=Shown(text=f"others ({len(small)})"),
        amount=Shown(text=""),
        pct=Shown(text=say_pct(width_pct), exact=exactly(round(width_pct, 3))),
        width_pct=round(width_pct, 3),
        ink="rg-ink-idle",
        bar_label=say_pct(width_pct) if width_pct >= _LABEL_FROM_PCT else "",
    )
