"""A rule: three pure functions and the words that explain it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from typing import Any, Generic, TypeVar

from reportgen import results
from reportgen.profile import NodeProfile, RankTrace

About = results.About


class Need(StrEnum):
    """Kinds of input of a rule."""

    SYSTEM = "system metrics"
    FRAMEWORK = "framework events"
    PYTHON = "Python profiles"
    KERNELS = "kernel traces"
    PROGRESS = "progress logged by the job"


Part = NodeProfile | RankTrace
"""Inputs that a rule may measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamSpec:
    """A parameter: name, default, range, unit, meaning and source.

    ``minimum`` and ``maximum`` are inclusive, ``is_whole`` asks for a whole number, ``choices``
    restricts text, ``is_pattern`` asks for a regular expression, ``is_text`` takes any
    text, which the rule reads. ``may_be_none`` accepts ``None``.
    """

    name: str
    default: results.Scalar
    unit: str
    meaning: str
    source: str
    minimum: float | None = None
    maximum: float | None = None
    is_whole: bool = False
    choices: tuple[str, ...] = ()
    is_pattern: bool = False
    is_text: bool = False
    may_be_none: bool = False
    is_printed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class NoParams:
    """The parameters of a rule that has none."""


def param(default: results.Scalar, *, unit: str, meaning: str, source: str, **limits: Any) -> Any:
    """Declare one parameter of a rule as a dataclass field; ``limits`` are those of ``ParamSpec``.

    ``is_printed`` is false for parameters of ours that AWS's ``RuleParameters`` does not know.
    """
    spec = {"unit": unit, "meaning": meaning, "source": source, **limits}
    return field(default=default, metadata=spec)


def param_specs(params: type[Any]) -> tuple[ParamSpec, ...]:
    """Return the parameters of a params class in the order of declaration, which is AWS's."""
    specs = []
    for item in fields(params):
        if item.default is MISSING or "meaning" not in item.metadata:
            raise TypeError(f"{params.__name__}.{item.name} was not declared with param()")
        specs.append(ParamSpec(name=item.name, default=item.default, **item.metadata))
    return tuple(specs)


def parameter_text(params: Any) -> str:
    r"""Return AWS's ``RuleParameters``: ``"threshold:50\ncpu_threshold:90"``, actual values."""
    return "\n".join(
        f"{spec.name}:{getattr(params, spec.name)}"
        for spec in param_specs(type(params))
        if spec.is_printed
    )


def param_values(params: Any) -> dict[str, results.Scalar]:
    """Return the actual values by name."""
    return {spec.name: getattr(params, spec.name) for spec in param_specs(type(params))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """Findings and exhibits, as plugins made them before there was an ``Outcome``."""

    findings: tuple[results.Finding, ...] = ()
    exhibits: tuple[results.Exhibit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The findings of a rule, or the reason why it could not look.

    Attributes:
        missing: why the rule could not look; its evidence is shown all the same. Plain text is a
            lack of events.
        findings: statements; ``None`` among them is left out.
        metrics: numbers by which jobs are compared.
        data: numbers to compute with that no exhibit shows (``reportgen.results.packed_columns``).
        counters, details: what AWS's rule of this name writes; empty for all other rules.
    """

    missing: results.Reason | str | None = None
    findings: Iterable[results.Finding | None] = ()
    exhibits: Iterable[results.Exhibit] = ()
    metrics: Mapping[str, float | int | None] = field(default_factory=dict)
    data: Iterable[results.PackedTable] = ()
    counters: results.Counters = field(default_factory=results.Counters)
    details: results.Details = field(default_factory=dict)


P = TypeVar("P")
M = TypeVar("M")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Generic[P, M]):
    """One analysis of a job; ``P`` is the class of its parameters, ``M`` that of its measurements.

    Attributes:
        id: SageMaker's public name (``LowGPUUtilization``).
        title: the heading people read.
        about: its question, how to read it, its advice, and the place of its results.
        needs: which inputs it reads.
        params: the class of its parameters.
        measure: ``(part, params) -> measurement``; runs where the data are, once per part: a
            ``NodeProfile`` for rules that need system metrics or framework events, a
            ``RankTrace`` for those that need kernel traces, either for those that need both.
            A measurement is any small picklable value.
        judge: ``(measurements, params) -> Outcome``; runs once, measurements in node order. A
            ``RuleResult`` is accepted from plugins that build it themselves.
        present: accepted from plugins that were written before there was an ``Outcome``; nothing
            calls it.
        folded: exhibits that wait behind a fold, as patterns of their ids: what repeats, or shows
            in more detail, the content of the page.
        places: where exhibits stand if not in their turn in the rule's section, by patterns of
            their ids; the first that fits counts.
        describe_params: writes ``RuleParameters``; AWS's order is the order of declaration.
        param_aliases: other names under which a parameter may be set.
        former_ids: rules that it replaced: their names choose it, and set its parameters.

    A rule is deterministic, changes nothing it is given, and answers an empty job with
    ``skipped`` and the ``Details`` AWS would have written.
    """

    id: results.RuleId
    title: str
    about: About
    needs: tuple[Need, ...]
    params: type[P]
    measure: Callable[[Any, P], M]
    judge: Callable[[Sequence[M], P], Outcome | results.RuleResult]
    present: Callable[[results.Counters, results.Details, Any, Any], Presentation] | None = None
    folded: tuple[str, ...] = ()
    places: Mapping[str, results.Place] = field(default_factory=dict)
    describe_params: Callable[[Any], str] = parameter_text
    param_aliases: Mapping[str, str] = field(default_factory=dict)
    former_ids: tuple[str, ...] = ()


AnyRule = Rule[Any, Any]
"""A rule whose parameters and measurements do not matter."""
