"""A sentence encoder behind an OpenAI-compatible `/v1/embeddings`: a model endpoint of the registry that says it has one."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from routing.engine.registry import Endpoint, Registry
from routing.engine.secrets import is_reference
from routing.providers.addresses import Destinations
from routing.providers.encoders.base import EncoderError, Matrix
from routing.providers.transport import CallFailed, Server, secret_of

KINDS = ("openai", "ollama", "llamafile", "llamacpp", "mistral")  # those that speak this protocol
LONGEST_ANSWER = 32 * 2**20  # bytes
LARGEST_VECTOR = 8192
PATIENCE_S = 30.0


def find_endpoint(registry: Registry) -> Endpoint | None:
    """The enabled model endpoint whose `features.embeddings` is true; of several the first by priority, then by name."""
    able = [
        one
        for one in registry.endpoints
        if one.enabled and one.kind in KINDS and one.url and one.model and one.features.get("embeddings") is True
    ]
    return min(able, key=lambda one: (one.priority, one.name), default=None)


class RemoteEncoder:
    """Safe to share between threads. `allow`: the workspace's private destinations. Raises EncoderError when its address is none."""

    def __init__(self, endpoint: Endpoint, allow: Destinations | None = None) -> None:
        self._endpoint = endpoint
        base = _base(endpoint.url or "")
        named = f"{base}\n{endpoint.model}"
        self.identity = f"remote-{hashlib.sha256(named.encode()).hexdigest()[:32]}"
        try:
            self._server = Server(base, allow)
        except CallFailed as problem:
            raise EncoderError(f"endpoint {endpoint.name}: {problem}") from None

    def encode(self, texts: Sequence[str], *, timeout_s: float | None = None) -> Matrix:
        try:
            headers = self._headers()
            answer = self._server.post(
                "/embeddings",
                {"model": self._endpoint.model, "input": list(texts), "encoding_format": "float"},
                headers=headers,
                secret=bool(headers),
                timeout_s=PATIENCE_S if timeout_s is None else timeout_s,
                most=LONGEST_ANSWER,
            )
            return _vectors(answer, len(texts))
        except CallFailed as problem:
            raise EncoderError(f"endpoint {self._endpoint.name}: {problem}") from None

    def _headers(self) -> dict[str, str]:
        found = {
            name: secret_of(value) if is_reference(value) else value for name, value in self._endpoint.headers.items()
        }
        if self._endpoint.credential:
            found["Authorization"] = f"Bearer {secret_of(self._endpoint.credential)}"
        return found


def _base(url: str) -> str:
    """The address with `/v1` at its end, once."""
    bare = url.rstrip("/").removesuffix("/embeddings")
    return bare if urlsplit(bare).path.endswith("/v1") else f"{bare}/v1"


def _vectors(answer: Any, count: int) -> Matrix:
    """The rows of an answer in the order of the question. Raises CallFailed for anything else."""
    rows = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(rows, list) or len(rows) != count:
        raise CallFailed("its answer has not one vector for each text")
    found: dict[int, list[float]] = {}
    for place, row in enumerate(rows):
        values = row.get("embedding") if isinstance(row, Mapping) else None
        if not isinstance(values, list) or not 0 < len(values) <= LARGEST_VECTOR or not all(map(_is_number, values)):
            raise CallFailed("its answer holds what is no vector")
        found[row.get("index", place)] = values
    if set(found) != set(range(count)) or len({len(values) for values in found.values()}) != 1:
        raise CallFailed("its vectors do not fit together")
    matrix = np.array([found[place] for place in range(count)], np.float64)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
        raise CallFailed("its answer holds a vector that points nowhere")
    return np.asarray(matrix / lengths, np.float32)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
