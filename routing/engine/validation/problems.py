"""Collecting what is wrong with a document: every breach once, with its place, never with a secret in it."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from routing.engine.errors import RegistryError
from routing.engine.secrets import looks_like_a_secret, url_secret

MAX_PROBLEMS = 1000
MAX_NODES = 1_000_000  # a 16 MiB body cannot hold more values than this; alias bombs can
MAX_VALUE = 200

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")


def child(path: str, key: object) -> str:
    """The path of a key below `path`: `endpoints[2].headers["odd key"]`."""
    if isinstance(key, str) and _PLAIN_KEY.fullmatch(key):
        return f"{path}.{key}" if path else key
    shown = key if isinstance(key, str) else f"{type(key).__name__} key"
    return f"{path}[{json.dumps(shown[:64])}]"


def item(path: str, index: int) -> str:
    return f"{path}[{index}]"


class Problems:
    """Problems and warnings of one document, in the order of the document."""

    def __init__(self) -> None:
        self._problems: list[dict[str, Any]] = []
        self._warnings: list[dict[str, Any]] = []
        self._nodes = 0
        self._unlisted = 0

    def add(
        self, path: str, message: str, *, value: object = None, allowed: object = None, secret: bool = False
    ) -> None:
        if len(self._problems) >= MAX_PROBLEMS:
            self._unlisted += 1
            return
        problem: dict[str, Any] = {"path": path, "message": message}
        shown = None if secret else presentable(value)
        if shown is not None:
            problem["value"] = shown
        if allowed is not None:
            problem["allowed"] = allowed
        self._problems.append(problem)

    def warn(self, path: str, message: str) -> None:
        if len(self._warnings) < MAX_PROBLEMS:
            self._warnings.append({"path": path, "message": message})

    def spend(self, path: str, nodes: int = 1) -> None:
        """Count values read; a document that is larger than any that may arrive is refused on the spot."""
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            self.add(path, f"the document holds more than {MAX_NODES:,} values")
            self.raise_if_any()

    @property
    def warnings(self) -> tuple[dict[str, Any], ...]:
        return tuple(self._warnings)

    def raise_if_any(self) -> None:
        if not self._problems:
            return
        more = [{"path": "", "message": f"{self._unlisted} more problems are not listed"}] if self._unlisted else []
        raise RegistryError(self._problems + more)


def presentable(value: object) -> str | int | float | bool | None:
    """A scalar as it may be shown: cut, and left out when it could be a secret or says nothing."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else "a very large number"
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if not isinstance(value, str) or looks_like_a_secret(value) or ("://" in value and url_secret(value)):
        return None
    return value[:MAX_VALUE].encode("utf-8", "replace").decode()
