"""Answering by asking a server, with its key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from control.asking.errors import BadInput, NoAnswer, NotThere
from control.asking.remote import WAIT_MS, Server
from control.mcp_server.tools import POLICY, BadCall, MctsCall, RouteCall, tell_route, tell_search


class _Server(Server):
    """Whose errors name the fields of the call and not the flags of a command."""

    def _told(self, error: Mapping[str, Any], status: int) -> str:
        details = [one for one in error.get("details") or () if isinstance(one, Mapping) and one.get("path")]
        told = "; ".join(f"{one['path']}: {one.get('message')}" for one in details)
        return (told or str(error.get("message") or f"status {status}")).replace(self._key, "[REDACTED]")


class Remote:
    """Asks for the policy `fast` where the call names none, and goes by the scope's own where its key may not have that."""

    def __init__(self, url: str, key: str) -> None:
        self._server = _Server(url, key)

    def answer(self, call: RouteCall | MctsCall) -> Mapping[str, Any]:
        """Raises BadCall with what is wrong."""
        body = call.model_dump(exclude_none=True, exclude={"use_jev_prior", "wait_ms"}) | {"wait_ms": WAIT_MS}
        try:
            if isinstance(call, MctsCall):
                return tell_search(self._server.ask("/searches", body))
            return tell_route(self._route(body))
        except (BadInput, NoAnswer) as problem:
            raise BadCall(str(problem)) from None

    def _route(self, body: dict[str, Any]) -> Mapping[str, Any]:
        if "policy" in body or "session_id" in body:
            return self._server.ask("/route", body)
        try:
            return self._server.ask("/route", body | {"policy": POLICY})
        except NotThere:
            return self._server.ask("/route", body)
