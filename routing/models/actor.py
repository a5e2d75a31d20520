from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who changes something: an operator at the console, a harness key, or the installation itself."""

    kind: str  # operator | key | system
    name: str
    acts_as: str = ""  # whose key it is: the person (or installation) that made it

    @property
    def person(self) -> str:
        """Who answers for the change: one and the same for a person and for the keys which that person made."""
        return self.acts_as or str(self)

    def __str__(self) -> str:
        return self.name if self.kind == "operator" else f"{self.kind} {self.name}"


SYSTEM = Actor(kind="system", name="switchyard")
