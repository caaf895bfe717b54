"""Colours by meaning: one name per meaning, the same on every chart, in light and in dark.

A figure names its colours ``var(--rg-gpu)``, and ``resolved`` puts the values of a theme in. Each
of its traces says its role (``meta.role``), by which the page's script finds the colour of the
reader's theme.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from colorsys import hls_to_rgb, rgb_to_hls
from dataclasses import dataclass
from functools import cache
from typing import Any

N_SHADES = 4
"""Lines of one meaning differ by shade, then by dash."""

DASHES = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hue:
    """One meaning's colour on a light and on a dark page, as ``#rrggbb``."""

    light: str
    dark: str


HUES: dict[str, Hue] = {
    "gpu": Hue(light="#0063b1", dark="#58a9ec"),
    "gpu-memory": Hue(light="#2f8fae", dark="#74cfe6"),
    "cpu": Hue(light="#c8520a", dark="#f58b46"),
    "memory": Hue(light="#a57400", dark="#e3b341"),
    "io": Hue(light="#a8478a", dark="#e08fc6"),
    "network": Hue(light="#00805a", dark="#35c08f"),
    "step": Hue(light="#6a4fb0", dark="#ab95ee"),
    "idle": Hue(light="#7d8794", dark="#7c8794"),
    "other": Hue(light="#596478", dark="#a3afbf"),
    "start": Hue(light="#8a6d3b", dark="#c9a86a"),
    "critical": Hue(light="#b3202c", dark="#ff7b72"),
    "warning": Hue(light="#8a5200", dark="#f0a63a"),
    "info": Hue(light="#2464a8", dark="#79b8ff"),
    "ok": Hue(light="#19713f", dark="#5bc98a"),
}
"""After Okabe and Ito's palette (https://jfly.uni-koeln.de/color/), darkened or lightened until
each reaches a contrast of 3:1 with the page (WCAG 2.2, 1.4.11); severities reach 4.5:1."""

SURFACES: dict[str, Hue] = {
    "page": Hue(light="#f5f6f8", dark="#0e1217"),
    "surface": Hue(light="#ffffff", dark="#161b22"),
    "raised": Hue(light="#eef1f5", dark="#202731"),
    "line": Hue(light="#d8dde4", dark="#303945"),
    "grid": Hue(light="#e6e9ee", dark="#29313b"),
    "text": Hue(light="#1a212b", dark="#e8ecf1"),
    "muted": Hue(light="#545f6e", dark="#a9b4c1"),
    "link": Hue(light="#0b5cad", dark="#79b8ff"),
}

SCALES: dict[str, tuple[str, ...]] = {
    "light": ("#f1f4f8", "#c3dbf0", "#7fb4de", "#3583c0", "#0b5596", "#072f57"),
    "dark": ("#1b222c", "#173d63", "#1d5f9c", "#3b8ad0", "#83bdf0", "#dcefff"),
}
"""Heat maps: one hue whose lightness shows the amount, which works with any colour vision."""

_SHADES = ((0.0, 0.0), (0.36, 0.0), (-0.42, 0.0), (0.16, -0.055))
"""Per shade: how much it is mixed with white (or black), and how far its hue turns (of 1)."""

_TOKEN = re.compile(r"var\(--rg-([a-z0-9-]+)\)")
_FILL_ALPHA = 0.2
_TEXTS = ("#ffffff", "#000000")


def role(hue: str, index: int) -> str:
    """Return the name of the ``index``-th colour of one meaning: ``gpu-2``."""
    step = index % N_SHADES
    return hue if step == 0 else f"{hue}-{step}"


def shade(hue: str, index: int) -> str:
    """Return the token of the ``index``-th line of one meaning: ``var(--rg-gpu-2)``."""
    return f"var(--rg-{role(hue, index)})"


def on(hue: str, index: int) -> str:
    """Return the token of a text that lies on the ``index``-th colour of a meaning."""
    return shade(f"on-{hue}", index)


def dash(index: int) -> str:
    """Return the dash of the ``index``-th line of one meaning: a new one after each N_SHADES."""
    return DASHES[index // N_SHADES % len(DASHES)]


def fill_role(hue: str) -> str:
    """Return the name of the colour of an area under or around a line."""
    return f"{hue}-fill"


def fill(hue: str) -> str:
    """Return the token of an area under or around a line."""
    return f"var(--rg-{fill_role(hue)})"


def scale() -> list[list[object]]:
    """Return a heat map's colour scale in plotly's form."""
    steps = len(SCALES["light"]) - 1
    return [[index / steps, f"var(--rg-scale-{index})"] for index in range(steps + 1)]


@cache
def tokens(theme: str) -> Mapping[str, str]:
    """Return every token and its value in the ``light`` or ``dark`` theme."""
    values: dict[str, str] = {}
    for name, hue in SURFACES.items():
        values[name] = getattr(hue, theme)
    for name, hue in HUES.items():
        base = getattr(hue, theme)
        values[name] = base
        for step in range(1, N_SHADES):
            values[f"{name}-{step}"] = _mixed(base, *_SHADES[step])
        for step in range(N_SHADES):
            ink = f"{name}-{step}" if step else name
            values[f"on-{ink}"] = _readable_on(values[ink])
        red, green, blue = _channels(base)
        values[f"{name}-fill"] = f"rgba({red},{green},{blue},{_FILL_ALPHA})"
    for step, value in enumerate(SCALES[theme]):
        values[f"scale-{step}"] = value
    return values


@cache
def css() -> str:
    """Return the style sheet of all colours: light, or dark if the system or the reader asks."""
    light, dark = (
        " ".join(f"--rg-{name}: {value};" for name, value in tokens(theme).items())
        for theme in ("light", "dark")
    )
    return (
        f":root {{ color-scheme: light; {light} }}\n"
        "@media screen and (prefers-color-scheme: dark) {\n"
        f"  :root:not([data-theme='light']) {{ color-scheme: dark; {dark} }}\n"
        "}\n"
        "@media screen {\n"
        f"  :root[data-theme='dark'] {{ color-scheme: dark; {dark} }}\n"
        f"  body[data-jp-theme-light='true'] {{ {light} }}\n"
        f"  body[data-jp-theme-light='false'] {{ {dark} }}\n"
        "}\n"
        + "".join(
            f".rg-ink-{name} {{ background-color: var(--rg-{name}); }}\n"
            for hue in HUES
            for name in (hue, *(f"{hue}-{step}" for step in range(1, N_SHADES)))
        )
    )


def resolved(node: Any, *, theme: str = "light") -> Any:
    """Return a figure, or a part of one, with its colour tokens replaced by a theme's values."""
    if isinstance(node, dict):
        return {key: resolved(value, theme=theme) for key, value in node.items()}
    if isinstance(node, list):
        return [resolved(value, theme=theme) for value in node]
    found = _TOKEN.fullmatch(node) if isinstance(node, str) and node.startswith("var(") else None
    return tokens(theme)[found[1]] if found else node


@cache
def with_fallback(colour: str) -> str:
    """Return a colour that has its light value where no style sheet knows its token.

    Example:
        >>> with_fallback("var(--rg-gpu)"), with_fallback("none")
        ('var(--rg-gpu,#0063b1)', 'none')
    """
    values = tokens("light")
    return _TOKEN.sub(lambda found: f"var(--rg-{found[1]},{values[found[1]]})", colour)


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _readable_on(colour: str) -> str:
    """Return white or black, whichever stands out more: at least 4.5:1 on every colour."""
    return max(_TEXTS, key=lambda text: contrast(text, colour))


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, 1-21 (WCAG 2.2, relative luminance)."""
    dark, light = sorted(map(_luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    shares = (channel / 255 for channel in _channels(colour))
    linear = [
        item / 12.92 if item <= 0.04045 else ((item + 0.055) / 1.055) ** 2.4 for item in shares
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _mixed(colour: str, amount: float, turn: float) -> str:
    """Turn a colour's hue and mix it with white (amount > 0) or black (amount < 0)."""
    target = 255 if amount > 0 else 0
    hue, lightness, saturation = rgb_to_hls(*(value / 255 for value in _channels(colour)))
    turned = (255 * value for value in hls_to_rgb((hue + turn) % 1, lightness, saturation))
    mixed = (round(value + (target - value) * abs(amount)) for value in turned)
    return "#" + "".join(f"{value:02x}" for value in mixed)
