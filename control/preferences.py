"""How a person likes the console: kept with the person, so that it is the same on every device."""

from __future__ import annotations

import zoneinfo
from dataclasses import dataclass
from datetime import UTC, tzinfo
from functools import cache
from typing import Any

from django.utils import timezone

from control.models import Membership, Preference, Theme
from routing.models import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Liking:
    """What a person chose; empty where they chose nothing."""

    theme: str = ""
    time_zone: str = ""

    @property
    def zone(self) -> tzinfo:
        """The viewer's zone, UTC unless they chose one that is still known here."""
        return zoneinfo.ZoneInfo(self.time_zone) if self.time_zone in zones() else UTC


@cache
def zones() -> tuple[str, ...]:
    """Names of the time zones to choose from, by name."""
    return tuple(sorted(name for name in zoneinfo.available_timezones() if "/" in name or name == "UTC"))


def of(request: Any) -> Liking:
    """What the person of a request likes, asked of the database once."""
    if not hasattr(request, "liking"):
        user = getattr(request, "user", None)
        known = user is not None and user.is_authenticated
        row = Preference.objects.filter(user=user).first() if known else None
        settle(request, theme=row.theme if row else "", time_zone=row.time_zone if row else "")
    return request.liking  # type: ignore[no-any-return]


def settle(request: Any, *, theme: str | None = "", time_zone: str | None = "") -> None:
    """Put what was read of a person on their request, and tell times in their zone from here on."""
    request.liking = Liking(theme=theme or "", time_zone=time_zone or "")
    timezone.activate(request.liking.zone)


def leave_setup(user: Any, workspace: Workspace) -> None:
    """Not to lead a member to the setup of a workspace any more."""
    Membership.objects.filter(user=user, workspace=workspace).update(setup_left_at=timezone.now())


def choose_theme(user: Any, theme: str) -> bool:
    """Keep a person's theme; False and nothing kept for one that does not exist."""
    return theme in Theme.values and _keep(user, theme=theme)


def choose_zone(user: Any, zone: str) -> bool:
    """Keep a person's time zone by its IANA name; False and nothing kept for one that does not exist."""
    return zone in zones() and _keep(user, time_zone=zone)


def _keep(user: Any, **chosen: str) -> bool:
    Preference.objects.update_or_create(user=user, defaults=chosen)
    return True
