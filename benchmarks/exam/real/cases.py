"""The scripts, their faults, and what a report may say of them first."""

from __future__ import annotations

from dataclasses import dataclass

from reportgen.results.causes import Cause

LOADING = (Cause.TOO_FEW_LOADERS, Cause.CPU_PREPROCESSING)
READING = (Cause.TOO_FEW_LOADERS, Cause.IO_WAIT, Cause.NETWORK_INPUT)
_TORCHRUN = ("torchrun", "--nproc-per-node", "2", "--master-port", "29577")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One script with one fault, or with none.

    Attributes:
        script: Its file.
        fault: Of those that the script knows; empty for the healthy twin.
        right: Causes of which the first warning must have or list one.
        rank: The rank that must be named.
        options: More words for the script.
        is_short: Whether it also runs for five seconds.
        is_crowded: Whether it also runs beside a program that fills all cores.
    """

    script: str
    fault: str = ""
    right: tuple[Cause, ...] = ()
    rank: int | None = None
    options: tuple[str, ...] = ()
    is_short: bool = False
    is_crowded: bool = False

    @property
    def name(self) -> str:
        """Return a name for people."""
        words = (self.script.partition(".")[0], *self.options, self.fault or "healthy")
        return " ".join(words).replace("--", "")

    @property
    def twin(self) -> tuple[str, tuple[str, ...]]:
        """Return what a faulty case has in common with its healthy twin."""
        return self.script, self.options

    @property
    def command(self) -> tuple[str, ...]:
        """Return how people start it."""
        if self.script.endswith(".sh"):
            return ("sh", self.script)
        return (*_TORCHRUN, self.script) if self.script == "ddp.py" else ("python", self.script)


BETWEEN = (Cause.WORK_BETWEEN_STEPS,)
CASES = (
    Case(script="plain.py", is_short=True, is_crowded=True),
    Case(script="plain.py", fault="augment", right=LOADING, is_short=True, is_crowded=True),
    Case(script="plain.py", fault="read", right=READING, is_short=True, is_crowded=True),
    Case(script="plain.py", fault="log", right=BETWEEN, is_short=True, is_crowded=True),
    Case(script="plain.py", fault="checkpoint", right=(Cause.PERIODIC_SLOW_STEPS,)),
    Case(script="plain.py", fault="hiccup", right=(Cause.RANDOM_SLOW_STEPS, Cause.LONG_PAUSE)),
    Case(script="plain.py", fault="grow", right=(Cause.SLOWING_DOWN,)),
    Case(script="plain.py", fault="pause", right=(Cause.LONG_PAUSE,)),
    Case(script="plain.py", fault="validate", right=(Cause.MUCH_VALIDATION,)),
    Case(script="plain.py", fault="crash"),
    Case(script="workers.py", is_short=True, is_crowded=True),
    Case(script="workers.py", fault="heavy", right=LOADING, is_short=True, is_crowded=True),
    Case(script="workers.py", fault="many", right=(Cause.TOO_MANY_LOADERS,)),
    Case(script="accumulate.py"),
    Case(script="accumulate.py", fault="mix", right=BETWEEN),
    Case(script="iterable.py"),
    Case(script="iterable.py", fault="slow", right=READING),
    Case(script="generator.py"),
    Case(script="generator.py", fault="slow", right=(*BETWEEN, *LOADING, Cause.SLOW_INPUT)),
    Case(script="ddp.py", is_crowded=True),
    Case(script="ddp.py", fault="rank", right=(Cause.SLOW_WORKER,), rank=1),
    Case(script="ddp.py", fault="log", right=(Cause.SLOW_WORKER, *BETWEEN), rank=0),
    Case(script="lightning_fit.py", is_short=True, is_crowded=True),
    Case(script="lightning_fit.py", fault="load", right=LOADING),
    Case(script="lightning_fit.py", fault="callback", right=BETWEEN, is_short=True),
    Case(script="hf_trainer.py"),
    Case(script="hf_trainer.py", fault="collate", right=LOADING),
    Case(script="hf_trainer.py", fault="callback", right=BETWEEN),
    Case(script="keras_fit.py"),
    Case(script="keras_fit.py", fault="callback", right=BETWEEN),
    Case(script="keras_fit.py", options=("--jax",)),
    Case(script="keras_fit.py", fault="data", options=("--jax",), right=LOADING),
    Case(script="jax_loop.py"),
    Case(script="jax_loop.py", fault="prepare", right=(*LOADING, Cause.SLOW_INPUT)),
    Case(script="jax_loop.py", fault="log", right=BETWEEN),
    Case(script="sweep.py"),
    Case(script="several.sh"),
)
