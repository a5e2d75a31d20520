from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from routing.errors import NotFound
from routing.snapshot import Live, live


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The harness that asks, and the one scope through which it sees."""

    workspace_id: Any
    scope: str
    harness: str

    def live(self) -> Live:
        """The live catalog; NotFound when the caller's scope is no part of it any more."""
        found = live(self.workspace_id)
        if self.scope not in found.catalog.scopes:
            raise NotFound("The scope of this key does not exist in the live revision.")
        return found
