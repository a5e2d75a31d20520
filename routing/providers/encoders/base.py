from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]


class EncoderError(Exception):
    """Why there are no vectors, in a few words that never quote a text."""


class TextEncoder(Protocol):
    """Texts in, vectors out. `identity` is equal exactly where the vectors may be compared."""

    identity: str

    def encode(self, texts: Sequence[str], *, timeout_s: float | None = None) -> Matrix:
        """A row of length 1 for each text; raises EncoderError."""
        ...
