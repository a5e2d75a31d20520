"""What can go wrong in the domain, by name and code. `control/api/errors.py` alone knows status numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class RoutingError(Exception):
    """Root of the domain's errors: a code for machines, a sentence for people, details by path."""

    code = "invalid_request"

    def __init__(self, message: str, details: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.details: list[Mapping[str, Any]] = list(details)


class NotFound(RoutingError):
    """It does not exist, or not for whoever asks: the two look alike."""

    code = "not_found"

    def __init__(
        self, message: str = "There is no such thing here.", details: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        super().__init__(message, details)


class InvalidRequest(RoutingError):
    code = "invalid_request"


class InvalidRegistry(RoutingError):
    code = "invalid_registry"


class StaleDraft(RoutingError):
    """Somebody else changed the draft since it was read."""

    code = "stale_draft"


class NeedsApproval(RoutingError):
    code = "needs_approval"


class NotAllowed(RoutingError):
    """The right is there, but not for this one: nobody approves what is their own work."""

    code = "forbidden"


class ReadOnlySource(RoutingError):
    """The registry is kept in a file, and only there it is changed."""

    code = "source_read_only"


class SourceUnreadable(RoutingError):
    """The file that a registry is kept in cannot be read or written, or holds no registry document."""

    code = "source_unreadable"


class ExpectationsFailed(RoutingError):
    code = "expectations_failed"


class Superseded(RoutingError):
    """The revision was made from one that is no longer live."""

    code = "superseded"


class CanaryRunning(RoutingError):
    """A revision answers some first, and that has to be decided before another goes live."""

    code = "canary_running"


class ReplayDisabled(RoutingError):
    """Nothing that was asked is recorded, so nothing can be asked again."""

    code = "replay_disabled"


class Unavailable(RoutingError):
    """What was sent could not be kept; nothing was accepted."""

    code = "unavailable"


class TooLarge(RoutingError):
    code = "too_large"
