"""Who a canary answers: the harnesses of chosen scopes, or a share of all harness keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from routing.sealing import keyed_digest

WHOLE = 10_000  # places that keys are spread over


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Either `scopes`, or the keys whose place lies within `percent` of all places.

    A key's place comes from its name and `salt` (the digest of the revision) under the installation's secret: it is the same
    in every process, and nobody chooses it.
    """

    salt: str
    scopes: frozenset[str] = frozenset()
    percent: int = 0

    def holds(self, scope: str, harness: str | None) -> bool:
        if self.scopes or harness is None:
            return scope in self.scopes
        return place_of(self.salt, harness) < self.percent * WHOLE // 100

    def among(self, keys: Iterable[tuple[str, str]]) -> list[str]:
        """The names of those that it holds, of keys as (scope, name)."""
        return [name for scope, name in keys if self.holds(scope, name)]


def place_of(salt: str, harness: str) -> int:
    return int(keyed_digest("canary", f"{salt}\n{harness}")[:16], 16) % WHOLE


def least_percent(salt: str, names: Iterable[str]) -> int | None:
    """The smallest share, in percent, that holds one of these keys; None without keys."""
    places = [place_of(salt, name) for name in names]
    return min(places) * 100 // WHOLE + 1 if places else None
