"""Python profiles that SageMaker's hooks wrote: cProfile and pyinstrument (formats.md §7)."""

from reportgen.formats.python_profile.names import (
    ProfileInterval,
    ProfileKey,
    ProfileMoment,
    profile_key,
)
from reportgen.formats.python_profile.reading import (
    FunctionTimes,
    ProfileContent,
    read_profiles,
)

__all__ = [
    "FunctionTimes",
    "ProfileContent",
    "ProfileInterval",
    "ProfileKey",
    "ProfileMoment",
    "profile_key",
    "read_profiles",
]
