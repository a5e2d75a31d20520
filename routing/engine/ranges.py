"""Ranges of numbers laid end to end, as postings and texts are kept."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.intp]


def spread(starts: npt.NDArray[np.integer], lengths: npt.NDArray[np.integer]) -> tuple[Places, Places]:
    """The numbers of all these ranges in a row, and for each the range it is from."""
    owner = np.repeat(np.arange(len(lengths)), lengths)
    before = np.cumsum(lengths) - lengths
    return np.arange(len(owner)) + (starts - before)[owner], owner
