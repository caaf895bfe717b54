"""Python profiles that SageMaker's hooks wrote: cProfile and pyinstrument (formats.md §7)."""

from reportgen.formats.python_profile.names import ProfileKey, profile_key
from reportgen.formats.python_profile.reading import (
    MOST_BYTES,
    OUT_OF_LIMITS,
    TOO_LARGE,
    FunctionTimes,
    ProfileContent,
    read_profiles,
)

__all__ = [
    "MOST_BYTES",
    "OUT_OF_LIMITS",
    "TOO_LARGE",
    "FunctionTimes",
    "ProfileContent",
    "ProfileKey",
    "profile_key",
    "read_profiles",
]
