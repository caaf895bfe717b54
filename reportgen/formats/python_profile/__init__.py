"""Python profiles that SageMaker's hooks wrote: cProfile and pyinstrument (formats.md §7)."""

from reportgen.formats.python_profile.names import ProfileKey, profile_key
from reportgen.formats.python_profile.reading import (
    OUT_OF_LIMITS,
    FunctionTimes,
    ProfileContent,
    read_profiles,
)

__all__ = [
    "OUT_OF_LIMITS",
    "FunctionTimes",
    "ProfileContent",
    "ProfileKey",
    "profile_key",
    "read_profiles",
]
