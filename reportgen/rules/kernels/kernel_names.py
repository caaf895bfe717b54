"""Everything a kernel's name tells: its precision and how it is called for people."""

from __future__ import annotations

import re

from reportgen.rules.kernels.communication import is_communication
from reportgen.rules.kernels.library_names import LIBRARIES
from reportgen.rules.kernels.precision import COMM, Reading
from reportgen.rules.kernels.type_names import read_types, split_parameters

LONGEST_LABEL = 60
"""Longer names do not fit beside a bar. Source: ours."""


def read_precision(name: str) -> Reading:
    """Return in which format a kernel computes and whether on matrix units, by its name.

    Source: kernel-trace definitions 2.3, P0 to P11.

    Example:
        >>> read_precision("volta_sgemm_64x64_nt")
        Reading(precision=<Precision.FP32: 'FP32'>, tensor_core=False)
    """
    if is_communication(name):
        return COMM
    for family in LIBRARIES:
        reading = family(name)
        if reading is not None:
            return reading
    return read_types(name)
