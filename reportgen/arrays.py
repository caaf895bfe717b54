"""Types of arrays, one row for each thing of a kind; docstrings say their shapes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Instants = NDArray[np.int64]
"""Times in ns."""
Rows = NDArray[np.int64]
"""Which rows of a table."""
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]
"""Whether each row is meant."""
