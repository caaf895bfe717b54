"""Colours: one per meaning, readable in both themes, one source for page and notebook."""

import itertools
from dataclasses import replace

import pytest

from reportgen.results import ExhibitKind, Role, exhibit
from reportgen.views import theme
from reportgen.views.color_roles import Ink, hue_of, inks, inks_of


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("hue", theme.HUES)
def test_each_meaning_stands_out_from_the_ground(hue, mode):
    """WCAG 2.2, 1.4.11: graphics reach 3:1."""
    colour, ground = getattr(theme.HUES[hue], mode), getattr(theme.SURFACES["surface"], mode)
    assert _contrast(colour, ground) >= 3


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize(
    ("text", "ground"),
    list(
        itertools.product(
            ["text", "muted", "link", "critical", "warning", "info", "ok"], ["page", "surface"]
        )
    ),
)
def test_text_is_readable_on_both_grounds(text, ground, mode):
    """WCAG 2.2, 1.4.3: text reaches 4.5:1."""
    values = theme.tokens(mode)
    assert _contrast(values[text], values[ground]) >= 4.5


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("hue", theme.HUES)
def test_text_is_readable_on_every_shade_of_every_meaning(hue, mode):
    for step in range(theme.N_SHADES):
        text, ground = (
            str(theme.resolved(token, theme=mode))
            for token in (theme.on(hue, step), theme.shade(hue, step))
        )
        assert _contrast(text, ground) >= 4.5


def test_a_figure_for_jupyter_holds_colours_instead_of_tokens():
    figure = {"line": {"color": theme.shade("gpu", 1)}, "text": ["var(--rg-gpu) is a name here"]}
    resolved = theme.resolved(figure)
    assert isinstance(resolved, dict)
    assert resolved["line"]["color"] == theme.tokens("light")["gpu-1"]
    assert resolved["text"] == figure["text"]


@pytest.mark.parametrize(
    ("name", "hue"),
    [
        ("algo-1 gpu0", "gpu"),
        ("gpu0 memory", "gpu-memory"),
        ("MemoryUsedPercent", "memory"),
        ("cpu", "cpu"),
        ("I/O", "io"),
        ("DataLoaderIter", "io"),
        ("receive", "network"),
        ("others", "idle"),
        ("CPU bottleneck", "warning"),
        ("a GPU below 10.0 %, no bottleneck", "idle"),
        ("Step:ModeKeys.TRAIN", "step"),
        ("Backward(post-forward)", "step"),
        ("Forward", "gpu"),
        ("algo-1", None),
    ],
)
def test_a_name_says_what_it_is_about(name, hue):
    assert hue_of(name) == hue


def test_the_data_loader_has_one_colour_in_all_pictures_of_a_trace():
    budget = inks(["compute", "cpu_input", "host_late", "kernel_gap"], "budget")
    causes = inks(["GPU busy", "waits for the data loader", "host late: optimizer"], "idle_shares")
    assert budget[1].hue == causes[1].hue == inks(["DataLoader.__next__"], "waits")[0].hue == "io"
    assert budget[2].hue == causes[2].hue == "cpu"
    assert inks(["busy_high", "cpu_input"], "budget")[1].hue == "cpu", "samples tell only the CPU"


def test_a_declared_role_decides_and_names_count_where_there_is_none():
    item = exhibit("cpu_usage", ExhibitKind.SERIES, title="CPU", columns=[], role=Role.MEMORY)
    found = inks_of(item, ["gpu0", "gpu1", "disk"], [Role.STEP, None, Role.STEP])
    assert found == (Ink(hue="step", index=0), Ink(hue="memory", index=0), Ink(hue="step", index=1))
    assert [ink.hue for ink in inks_of(replace(item, role=None), ["gpu0", "a"])] == ["gpu", "cpu"]
