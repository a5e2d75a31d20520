from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from routing.engine.policies import EffectivePolicy
from routing.errors import NotFound
from routing.snapshot import Live, answering


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The harness that asks, and the one scope through which it sees.

    `usual_policy` is that of the door it came through, for a call that names none; None means the scope's own.
    """

    workspace_id: Any
    scope: str
    harness: str
    usual_policy: str | None = None

    def live(self) -> Live:
        """The catalog that answers this caller, the live one or a canary's; NotFound when its scope is no part of it any
        more."""
        found = answering(self.workspace_id, self.scope, self.harness)
        if self.scope not in found.catalog.scopes:
            raise NotFound("The scope of this key does not exist in the live revision.")
        return found

    def policy(self, wanted: str | None) -> EffectivePolicy:
        """The policy of that name, or the usual one; NotFound for one that the scope does not allow."""
        catalog = self.live().catalog
        own = catalog.scopes[self.scope]
        if wanted is not None and wanted != own.policy and wanted not in (own.policies or ()):
            raise NotFound("There is no such policy for this key's scope.")
        return catalog.policy(wanted or self.usual_policy or own.policy)
