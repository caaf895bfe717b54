"""Which rules there are: ours, and those of installed packages and plugins.

A rule of ours is registered by the name of its module, here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reportgen.errors import PluginError
from reportgen.rules.base import AnyRule, Rule, param_specs

ENTRY_POINT_GROUP = "reportgen.rules"
_OURS = __name__.partition(".")[0]
_OF_SAMPLES = (
    "overall_system_usage",
    "gpu_time_budget",
    "overall_framework_metrics",
    "max_initialization_time",
    "step_outlier",
    "long_pause",
    "step_periodicity",
    "low_gpu_utilization",
    "load_balancing",
    "dataloader",
    "python_functions",
    "horovod_negotiation",
    "batch_size",
    "cpu_bottleneck",
    "io_bottleneck",
    "network_bottleneck",
    "gpu_memory_increase",
    "gpu_power",
    "progress",
)
"""Modules of the rules that read samples and framework events, in the order of the report."""
_OF_TRACES = (
    "gpu_activity",
    "idle_time",
    "kernel_time",
    "kernel_precision",
    "efficiency",
    "operator_time",
    "memory_operations",
    "step_time",
    "collectives",
    "launch_latency",
    "host_threads",
)
"""Modules of the rules that read kernel traces alone, in the order of the report. They take a tenth
of a second to import and wait until they are asked for."""

_OF_BOTH = ("memory_in_use", "annotations", "timeline")
"""Modules of the rules that read whatever there is. They come last: their modules are large."""

if TYPE_CHECKING:
    BUILTIN_RULES: tuple[AnyRule, ...]
    """Every rule of ours, in the order of the report."""
    SAMPLED_RULES: tuple[AnyRule, ...]
    """The rules that read samples and framework events."""
    TRACE_RULES: tuple[AnyRule, ...]
    """The rules that read kernel traces alone."""

_HINT = "docs/adding-a-rule.md (in the source distribution) shows a rule outside reportgen."

_GROUPS = {
    "BUILTIN_RULES": (*_OF_SAMPLES, *_OF_TRACES, *_OF_BOTH),
    "SAMPLED_RULES": (*_OF_SAMPLES, *_OF_BOTH),
    "TRACE_RULES": _OF_TRACES,
}


def __getattr__(name: str) -> tuple[AnyRule, ...]:
    """Import rules when they are asked for (PEP 562)."""
    if name not in _GROUPS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _builtin(_GROUPS[name])


def _builtin(modules: Sequence[str]) -> tuple[AnyRule, ...]:
    return tuple(import_module(f"reportgen.rules.{module}").RULE for module in modules)


def all_rules(
    plugins: Sequence[str] = (), *, builtin: Sequence[AnyRule] | None = None
) -> tuple[AnyRule, ...]:
    """Return the built-in rules, those of installed packages, and those of ``plugins``.

    Args:
        plugins: names of modules that hold a ``RULE`` or a tuple ``RULES``.
        builtin: ``SAMPLED_RULES`` where no other of ours can be meant; all of them by default.

    Raises:
        PluginError: a plugin cannot be imported, holds no rule, or takes a name in use.
    """
    rules = list(_builtin(_GROUPS["BUILTIN_RULES"]) if builtin is None else builtin)
    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda item: item.name):
        hint = f"Mend or uninstall the package that provides {entry.name}."
        loaded = _loaded(entry.load, f"The installed rule {entry.value}", entry.value, hint=hint)
        rules.extend(_checked(loaded, entry.value))
    for name in plugins:
        rules.extend(_from_module(name))
    return _without_clashes(rules)


def _from_module(name: str) -> tuple[AnyRule, ...]:
    hint = f"`python -c 'import {name}'` must work: check its name, its code and PYTHONPATH."
    module = _loaded(lambda: import_module(name), f"The plugin {name}", name, hint=hint)
    return _checked(getattr(module, "RULES", None) or getattr(module, "RULE", None), name)


def _loaded(load: Callable[[], Any], what: str, rule_id: str, *, hint: str) -> Any:
    """Load a foreign module, which may raise anything while it is imported.

    Raises:
        PluginError: it did.
    """
    try:
        return load()
    except KeyboardInterrupt:
        raise
    except BaseException as err:
        message = f"{what} cannot be imported ({type(err).__name__}: {err})."
        raise PluginError(message, hint=hint, rule_id=rule_id) from err


def _checked(loaded: object, source: str) -> tuple[AnyRule, ...]:
    rules = loaded if isinstance(loaded, tuple) else (loaded,)
    for rule in rules:
        if not isinstance(rule, Rule):
            raise PluginError(
                f"{source} holds no rule: expected a `reportgen.rules.base.Rule` named RULE, or "
                f"a tuple of them named RULES, saw {type(rule).__name__}.",
                hint=_HINT,
                rule_id=source,
            )
        try:
            param_specs(rule.params)
        except TypeError as err:
            raise PluginError(
                f"The rule {rule.id} of {source} has parameters that cannot be set ({err}).",
                hint=_HINT,
                rule_id=rule.id,
            ) from err
    return tuple(rule for rule in rules if isinstance(rule, Rule))


def _without_clashes(rules: Sequence[AnyRule]) -> tuple[AnyRule, ...]:
    seen: set[str] = set()
    for rule in rules:
        if rule.id.lower() in seen:
            raise PluginError(
                f"Two rules are called {rule.id}.",
                hint="Rename the one of the plugin.",
                rule_id=rule.id,
            )
        seen.add(rule.id.lower())
    return tuple(rules)


def foreign_modules(rules: Sequence[AnyRule]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the modules of rules that are not ours, and the folders in which they were found."""
    measures = (getattr(rule.measure, "func", rule.measure) for rule in rules)  # of a partial
    names = {measure.__module__ for measure in measures} | {r.params.__module__ for r in rules}
    foreign = sorted(name for name in names if name.partition(".")[0] != _OURS)
    folders = []
    for name in foreign:
        found = find_spec(name.partition(".")[0])
        if found is not None and found.origin:
            path = Path(found.origin).resolve()
            folders.append(str(path.parents[1 if path.name == "__init__.py" else 0]))
    return tuple(foreign), tuple(dict.fromkeys(folders))
