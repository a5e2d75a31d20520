"""A sentence encoder of one's own: the ONNX graph that `manage.py build_encoder` makes, run in this process on one thread."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from routing.providers.encoders.base import EncoderError, Matrix
from routing.providers.encoders.build import ABOUT, MODEL, VOCABULARY
from routing.providers.encoders.wordpiece import WordPiece

BATCH = 16


class LocalEncoder:
    """Safe to share between threads. Raises EncoderError when it is absent or cannot be read.

    The graph is opened by the first text, so a process that encodes nothing does not hold it.
    """

    def __init__(self, folder: Path) -> None:
        try:
            about = json.loads((folder / ABOUT).read_text())
            self.identity = str(about["identity"])
            self._longest = int(about["longest"])
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise EncoderError(f"the local encoder cannot be read ({type(problem).__name__})") from None
        self._folder = folder
        self._opened: tuple[WordPiece, Any] | None = None
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str], *, timeout_s: float | None = None) -> Matrix:
        """A row of length 1 for each text. A graph that runs cannot be stopped, so whoever waits must give up by itself."""
        del timeout_s
        pieces, session = self._open()
        spelled = [pieces.ids(text, self._longest) for text in texts]
        order = sorted(range(len(texts)), key=lambda place: len(spelled[place]))  # texts of like length fill up least
        rows: dict[int, Any] = {}
        for first in range(0, len(order), BATCH):
            places = order[first : first + BATCH]
            rows.update(zip(places, _run(session, [spelled[place] for place in places]), strict=True))
        return np.array([rows[place] for place in range(len(texts))], np.float32)

    def _open(self) -> tuple[WordPiece, Any]:
        with self._lock:
            if self._opened is None:
                try:
                    vocabulary = (self._folder / VOCABULARY).read_text(encoding="utf-8").splitlines()
                    self._opened = WordPiece(vocabulary), _session(self._folder / MODEL)
                except (OSError, ValueError, KeyError) as problem:
                    raise EncoderError(f"the local encoder cannot be read ({type(problem).__name__})") from None
            return self._opened


def is_usable(folder: Path) -> bool:
    """Whether an encoder was built there, and this Python can run it."""
    return (folder / ABOUT).is_file() and find_spec("onnxruntime") is not None


def _run(session: Any, spelled: Sequence[Sequence[int]]) -> Matrix:
    ids = np.zeros((len(spelled), max(map(len, spelled))), np.int64)
    mask = np.zeros_like(ids)
    for row, one in enumerate(spelled):
        ids[row, : len(one)] = one
        mask[row, : len(one)] = 1
    try:
        (vectors,) = session.run(["vectors"], {"ids": ids, "mask": mask})
    except Exception as problem:  # whatever the runtime raises
        raise EncoderError(f"the local encoder failed ({type(problem).__name__})") from None
    return np.asarray(vectors, np.float32)


def _session(model: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as problem:
        raise EncoderError(f"the local encoder cannot be opened ({type(problem).__name__})") from None
