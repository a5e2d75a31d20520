"""Who calls, and may it. Each operation names the right it needs: `auth=needs("decide")`."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest

from control.access import ADMINISTRATIVE, RIGHTS, note_denied
from control.api.errors import Forbidden
from control.keys import Harness, find_harness, look
from control.uses import uses
from routing.generation import is_kept_fresh
from routing.services import audit
from routing.services.decisions import Caller


class Needs:
    """Lets a request pass whose bearer key is valid and has the right; the harness is then `request.auth`."""

    def __init__(self, right: str) -> None:
        if right not in RIGHTS:
            raise ValueError(f"there is no right {right}")
        self.right = right
        self.openapi_security_schema = {"type": "http", "scheme": "bearer"}

    async def __call__(self, request: HttpRequest) -> Harness | None:
        # Usually memory is asked; where nothing keeps it fresh (tests, a database that was away) the database is.
        harness = harness_of(request) if is_kept_fresh() else None
        if harness is None:
            harness = await sync_to_async(_harness_now)(request)
        if harness is None:
            await sync_to_async(note_wrong_place)(request)
        if harness is not None and self.right not in harness.rights:
            await sync_to_async(note_denied)(request, harness.workspace_id, by=harness.actor, lacks=self.right)
            raise Forbidden(_lacking(harness, self.right))
        if harness is not None and self.right in ADMINISTRATIVE:
            await sync_to_async(_note_use)(request, harness, self.right)
        return harness


def _lacking(harness: Harness, right: str) -> str:
    if right in harness.withheld:
        return f"This key acts as {harness.made_by}, whose role does not include what the right {right} needs."
    return f"This key lacks the right {right}."


def _note_use(request: HttpRequest, harness: Harness, right: str) -> None:
    """An administrative right was used, whatever came of it: what was changed has an entry of its own."""
    used = {"right": right, "scope": harness.scope, "key_ends_with": harness.ends_with}
    target = f"{request.method} {request.path_info}"
    audit.record(harness.workspace_id, "right.used", target, by=harness.actor, after=used)


def needs(right: str) -> Needs:
    return Needs(right)


def note_wrong_place(request: HttpRequest) -> None:
    """Tell the audit log of a key that is good but not from here. Whoever holds it is told what a stranger is told."""
    harness = _named(request.headers.get("Authorization", ""))
    if harness is not None and not harness.may_come_from(_address(request)):
        note_denied(request, harness.workspace_id, by=harness.actor, lacks="allowed address", status=401)


def harness_of(request: HttpRequest) -> Harness | None:
    """The harness whose key the request carries; memory is asked, not the database."""
    return harness_by(request.headers.get("Authorization", ""), _address(request))


def _harness_now(request: HttpRequest) -> Harness | None:
    """The same after a look at the database: a key may be younger than what memory knows."""
    look()
    return harness_of(request)


def _address(request: HttpRequest) -> str:
    """Where a request comes from, as the server found it: behind a proxy that it trusts, what that one says."""
    return request.META.get("REMOTE_ADDR") or ""


def harness_by(authorization: str, address: str) -> Harness | None:
    """The harness whose key this header carries, if the key may be used from this address."""
    harness = _named(authorization)
    if harness is None or not harness.may_come_from(address):
        return None
    uses.note(harness.key_id)
    return harness


def _named(authorization: str) -> Harness | None:
    scheme, _, key = authorization.partition(" ")
    return find_harness(key.strip()) if scheme.lower() == "bearer" and key.strip() else None


def caller(request: Any) -> Caller:
    """The caller as the domain knows it."""
    return caller_of(request.auth)


def caller_of(harness: Harness) -> Caller:
    return Caller(workspace_id=harness.workspace_id, scope=harness.scope, harness=harness.name)
