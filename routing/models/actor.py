from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who changes something: an operator at the console, a harness key, or the installation itself."""

    kind: str  # operator | key | system
    name: str

    def __str__(self) -> str:
        return self.name if self.kind == "operator" else f"{self.kind} {self.name}"


SYSTEM = Actor(kind="system", name="switchyard")
