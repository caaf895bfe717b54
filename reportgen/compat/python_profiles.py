"""``cProfileAnalysis``, ``PyinstrumentAnalysis``: Python profiles by step, time and mode."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from reportgen.errors import ConfigError
from reportgen.explore.profiles import PythonProfiles, SelectedProfile, top_functions

if TYPE_CHECKING:
    import pandas as pd

_ANY_NODE = "any"


class PythonProfileModes(Enum):
    """Stages of the script."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "predict"
    GLOBAL = "global"
    PRE_STEP_ZERO = "prestepzero"
    POST_HOOK_CLOSE = "posthookclose"


class StepPhase(Enum):
    """Where within a step a profile begins or ends."""

    START = "start"
    STEP_START = "stepstart"
    FORWARD_PASS_END = "forwardpassend"  # noqa: S105  # no password
    STEP_END = "stepend"
    END = "end"


class Metrics(Enum):
    """Orders of functions."""

    TOTAL_TIME = "tottime"
    CUMULATIVE_TIME = "cumtime"
    PRIMITIVE_CALLS = "pcalls"
    TOTAL_CALLS = "ncalls"


_COLUMN = {
    Metrics.TOTAL_TIME: "own_s",
    Metrics.CUMULATIVE_TIME: "cumulative_s",
    Metrics.PRIMITIVE_CALLS: "primitive_calls",
    Metrics.TOTAL_CALLS: "calls",
}


class cProfileStats:  # noqa: N801  # the name people know
    """The functions of some profiles, merged.

    Attributes:
        functions: one row per function, most cumulative time first.
        problems: what could not be read, a sentence each.
    """

    def __init__(self, functions: pd.DataFrame, problems: tuple[str, ...]) -> None:
        """Take what ``PythonProfiles.functions`` returns."""
        self.functions, self.problems = functions, problems

    def print_top_n_functions(self, by: Metrics | str, n: int = 10) -> None:
        """Print the first functions by a metric; ``cumtime`` and the like are accepted."""
        print(top_functions(self.functions, by=_COLUMN[Metrics(by)], n=n).to_string())

    def get_function_stats(self) -> list[dict[Any, Any]]:
        """Return the functions as dictionaries."""
        found: list[dict[Any, Any]] = self.functions.to_dict("records")
        return found


class PyinstrumentAnalysis:
    """The profiles of pyinstrument; where the original returns pages, functions are returned."""

    _profiler = "pyinstrument"

    def __init__(self, local_profile_dir: str = "", s3_path: str | None = None) -> None:
        """List the profiles under an ``s3://`` address, or under a folder; nothing is copied.

        Raises:
            ConfigError: neither was given.
        """
        self.path = s3_path or local_profile_dir
        if not self.path:
            raise ConfigError(
                "Neither s3_path nor local_profile_dir says where the profiles lie.",
                hint="Pass the job's folder, or its s3:// address.",
            )
        self._profiles = PythonProfiles(self.path)

    def list_profile_stats(self, refresh_stats: bool = True) -> pd.DataFrame:
        """Return one row per profile."""
        self._refresh(refresh_stats)
        table = self._profiles.table()
        return table[table["profiler"] == self._profiler]

    def list_available_node_ids(self, refresh_stats: bool = True) -> list[str]:
        """Return the nodes that have profiles."""
        self._refresh(refresh_stats)
        return sorted({item.node for item in self._profiles.select(profiler=self._profiler)})

    def fetch_profile_stats_by_step(
        self,
        start_step: int,
        end_step: int | None = None,
        mode: PythonProfileModes = PythonProfileModes.TRAIN,
        start_phase: StepPhase = StepPhase.STEP_START,
        end_phase: StepPhase = StepPhase.STEP_END,
        node_id: str = _ANY_NODE,
        refresh_stats: bool = True,
    ) -> cProfileStats:
        """Return the statistics of profiles between two steps; the last step is included.

        Without ``end_step`` one step is meant.
        """
        return self._fetch(
            refresh_stats,
            node_id,
            steps=(start_step, start_step if end_step is None else end_step),
            start_mode=mode.value,
            end_mode=mode.value,
            start_phase=start_phase.value,
            end_phase=end_phase.value,
        )

    def fetch_profile_stats_by_time(
        self,
        start_time_since_epoch_in_secs: float,
        end_time_since_epoch_in_secs: float,
        node_id: str = _ANY_NODE,
        refresh_stats: bool = True,
    ) -> cProfileStats:
        """Return the statistics of profiles in a range of time."""
        edges = (start_time_since_epoch_in_secs, end_time_since_epoch_in_secs)
        start_us, end_us = (round(edge * 1e6) for edge in edges)
        return self._fetch(refresh_stats, node_id, times_us=(start_us, end_us))

    def fetch_profile_stats_between_modes(
        self,
        start_mode: PythonProfileModes,
        end_mode: PythonProfileModes,
        node_id: str = _ANY_NODE,
        refresh_stats: bool = True,
    ) -> cProfileStats:
        """Return the statistics of profiles from one mode to another."""
        return self._fetch(
            refresh_stats, node_id, start_mode=start_mode.value, end_mode=end_mode.value
        )

    def fetch_pre_step_zero_profile_stats(
        self, node_id: str = _ANY_NODE, refresh_stats: bool = True
    ) -> cProfileStats:
        """Return the functions that ran before the first step."""
        return self._fetch(
            refresh_stats, node_id, start_mode=PythonProfileModes.PRE_STEP_ZERO.value
        )

    def fetch_post_hook_close_profile_stats(
        self, node_id: str = _ANY_NODE, refresh_stats: bool = True
    ) -> cProfileStats:
        """Return the functions that ran after the last step."""
        return self._fetch(
            refresh_stats, node_id, end_mode=PythonProfileModes.POST_HOOK_CLOSE.value
        )

    def _fetch(self, refresh_stats: bool, node_id: str, **wanted: Any) -> cProfileStats:
        self._refresh(refresh_stats)
        node = None if node_id == _ANY_NODE else node_id
        chosen: tuple[SelectedProfile, ...] = self._profiles.select(
            profiler=self._profiler, node=node, **wanted
        )
        return cProfileStats(*self._profiles.functions(chosen))

    def _refresh(self, is_wanted: bool) -> None:
        if is_wanted:
            self._profiles = PythonProfiles(self.path)


class cProfileAnalysis(PyinstrumentAnalysis):  # noqa: N801  # the name people know
    """The profiles of cProfile."""

    _profiler = "cprofile"
