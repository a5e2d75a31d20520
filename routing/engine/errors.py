"""Causes: every error the engine raises, under one root."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Problem = Mapping[str, Any]  # {"path", "message", "value"?, "allowed"?}


class RouterError(Exception):
    """Root of everything that the decision engine raises on purpose."""


class InvalidDocument(RouterError):
    """What was handed in breaks its rules; `problems` lists every breach with its path."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        first = self.problems[0] if self.problems else {"path": "", "message": "unknown problem"}
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        super().__init__(f"{first['path']}: {first['message']}{more}")


class RegistryError(InvalidDocument):
    """A registry document breaks its rules."""


class SearchGraphError(InvalidDocument, ValueError):
    """A supplied graph breaks its rules, or a state was named that it does not have."""


class ProviderError(RouterError):
    """A decision provider did not answer.

    `kind` is its class: credential, payment, request, overload, server, redirect, connection, timeout or refused (nothing
    was sent); None where nobody said. `status` is that of HTTP; `retry_after_s` is how long the provider asks to be left alone;
    `requests` is how many were sent in vain.
    """

    def __init__(
        self,
        message: str = "",
        *,
        kind: str | None = None,
        status: int | None = None,
        retry_after_s: float | None = None,
        requests: int = 0,
    ) -> None:
        super().__init__(message)
        self.requests = requests
        self.kind = kind
        self.status = status
        self.retry_after_s = retry_after_s


class ProviderTimeoutError(ProviderError):
    """A decision provider did not answer in time."""


class InvalidProviderResponse(RouterError):
    """A decision provider answered something that is no decision. `requests` is how many were sent for it."""

    requests: int = 0


class UnknownToolError(RouterError):
    """A tool was named that the catalog does not hold."""


class PolicyDeniedError(RouterError):
    """An execution policy refused the tool."""


class RoutingLoopError(RouterError):
    """The same actions repeat without progress."""


class RouterConfigurationError(RouterError):
    """A configuration value is out of its bounds."""
