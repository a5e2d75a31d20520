"""The live event stream: names and ids only; whoever hears one asks again through a view or call that checks access."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils import timezone

from control.access import allows, note_denied, note_stranger
from control.api.auth import harness_of, note_wrong_place
from control.api.errors import problem, unauthenticated
from control.hub import Message, Subscription, hub
from control.models import Membership
from routing.choices import EventKind
from routing.events import timestamp
from routing.generation import Watched, is_kept_fresh
from routing.models import Actor, Event, Workspace

PING_S = 15.0
CATCH_UP_S = 1.0
MOST_MISSED = 1000
FILTERS = ("kind", "scope", "harness", "target", "status")
KINDS = frozenset(
    {
        "revision.published",
        "decision.finished",
        "search.progress",
        "search.finished",
        "replay.progress",
        "replay.finished",
        *EventKind.values,
    }
)
_LEDGER_KINDS = frozenset({"recommendation", "invocation", "transport_outcome", "domain_outcome"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Who listens, to what: one workspace, perhaps one scope of it, and the filters of the address."""

    workspace_id: Any
    filters: Mapping[str, str]
    may_still: Callable[[], bool]  # asks memory whether whoever listens may go on; ends with the key or the membership

    def wants(self, message: Mapping[str, Any]) -> bool:
        """Filters that a message says nothing about do not hold it back, unless it is a row of the ledger."""
        if message.get("workspace") != str(self.workspace_id):
            return False
        strict = message["event"] in _LEDGER_KINDS
        return all(
            message.get(name) == value or (not strict and name != "kind" and message.get(name) is None)
            for name, value in self.filters.items()
        )


async def events(request: HttpRequest) -> HttpResponseBase:
    """`text/event-stream` for a signed-in member (`?workspace=`) or a key with `read` (its own scope)."""
    found = await sync_to_async(_listener)(request)
    if not isinstance(found, Listener):
        return found
    after = _number(request.headers.get("Last-Event-ID") or request.GET.get("after"))
    response = StreamingHttpResponse(_stream(found, after), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


def _listener(request: HttpRequest) -> Listener | HttpResponseBase:
    filters = {name: request.GET[name] for name in FILTERS if request.GET.get(name)}
    if "\0" in "".join(filters.values()):
        return problem(request, "invalid_request", "A filter must not hold NUL characters.")
    if filters.get("kind", "recommendation") not in KINDS:
        allowed = ", ".join(sorted(KINDS))
        details = [{"path": "kind", "message": "is no kind of event", "allowed": allowed}]
        return problem(request, "invalid_request", "kind: is no kind of event", details)
    if (after := request.GET.get("after")) and _number(after) is None:
        details = [{"path": "after", "message": "must be the number of an event", "value": after[:100]}]
        return problem(request, "invalid_request", "after: must be the number of an event", details)
    unknown = [name for name in request.GET if name not in (*FILTERS, "workspace", "after")]
    if unknown:
        return problem(
            request,
            "invalid_request",
            f"{unknown[0]}: is not known here",
            [{"path": unknown[0], "message": "is not known here"}],
        )
    if "Authorization" in request.headers:
        return _for_harness(request, filters)
    return _for_member(request, filters)


def _for_harness(request: HttpRequest, filters: dict[str, str]) -> Listener | HttpResponseBase:
    harness = harness_of(request)
    if harness is None:
        note_wrong_place(request)
        return unauthenticated(request)
    if "read" not in harness.rights:
        note_denied(request, harness.workspace_id, by=harness.actor, lacks="read")
        return problem(request, "forbidden", "This key lacks the right read.")
    if filters.get("scope", harness.scope) != harness.scope:
        return problem(request, "not_found", "There is no such thing here.")
    return Listener(
        workspace_id=harness.workspace_id,
        filters={**filters, "scope": harness.scope},
        may_still=lambda: "read" in getattr(harness_of(request), "rights", ()),
    )


def _for_member(request: HttpRequest, filters: dict[str, str]) -> Listener | HttpResponseBase:
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return unauthenticated(request)
    name, actor = request.GET.get("workspace", "default"), Actor(kind="operator", name=user.get_username())
    workspace = Workspace.objects.visible_to(user).filter(name=name).first()
    if workspace is None:
        note_stranger(request, name, by=actor)
        return problem(request, "not_found", "There is no such thing here.")
    role = Membership.objects.values_list("role", flat=True).get(user=user, workspace=workspace)
    if not allows(role, "live.view"):
        note_denied(request, workspace.pk, by=actor, lacks="live.view", role=role)
        return problem(request, "forbidden", "Your role does not include this.")
    return Listener(
        workspace_id=workspace.pk, filters=filters, may_still=lambda: (workspace.pk, user.pk) in _members.get()
    )


def _load_members(_: frozenset[tuple[Any, Any]] | None) -> frozenset[tuple[Any, Any]]:
    return frozenset(Membership.objects.active().values_list("workspace_id", "user_id"))


_members: Watched[frozenset[tuple[Any, Any]]] = Watched(_load_members)


async def _may_still(listener: Listener) -> bool:
    return listener.may_still() if is_kept_fresh() else await sync_to_async(listener.may_still)()


async def _stream(listener: Listener, after: int | None) -> AsyncIterator[bytes]:
    """From the ledger up to now, then from the bus; from the ledger again whenever the bus may have left something out."""
    with hub.subscribe() as inbox:
        seen = await sync_to_async(_newest)(listener) if after is None else after
        yield b"retry: 1000\n\n"
        inbox.lagging = True
        silent_for = 0.0
        while True:
            if inbox.lagging or not hub.connected:
                inbox.lagging = False
                lines, seen = await sync_to_async(_missed)(listener, seen)
                for line in lines:
                    yield line
            wait = PING_S if hub.connected else CATCH_UP_S
            message = await _next(inbox, wait)
            if not await _may_still(listener):
                return
            if message is None:
                silent_for += wait
                if silent_for >= PING_S or not hub.connected:
                    silent_for = 0.0
                    yield b": still here\n\n"
                continue
            line, seen = _line(listener, message, seen)
            if line:
                silent_for = 0.0
                yield line


async def _next(inbox: Subscription, wait: float) -> Message | None:
    return await inbox.get(wait)


def _line(listener: Listener, message: Message, seen: int) -> tuple[bytes, int]:
    """A message as a line of the stream, and the newest number seen; nothing for what is unwanted or was sent before."""
    seq = message.get("seq")
    if seq is None:
        return (_format(message["event"], _said(message)) if listener.wants(message) else b""), seen
    if message.get("workspace") != str(listener.workspace_id) or seq <= seen:
        return b"", seen
    return (_format(message["event"], _said(message), seq) if listener.wants(message) else b""), seq


def _missed(listener: Listener, seen: int) -> tuple[list[bytes], int]:
    rows = Event.objects.filter(workspace_id=listener.workspace_id, seq__gt=seen)
    newest = rows.order_by("-seq").values_list("seq", flat=True).first()
    if newest is None:
        return [], seen
    wanted = rows.filter(**listener.filters)
    count = wanted.count()
    if count > MOST_MISSED:
        gap = {"from": seen + 1, "to": newest, "count": count}
        return [_format("skipped", gap, newest)], newest
    lines = [_format(row.kind, _of_row(row), row.seq) for row in wanted.order_by("seq")]
    return lines, newest


def _newest(listener: Listener) -> int:
    return (
        Event.objects.filter(workspace_id=listener.workspace_id).order_by("-seq").values_list("seq", flat=True).first()
        or 0
    )


def _of_row(row: Event) -> dict[str, Any]:
    return {
        "id": row.event_id,
        "seq": row.seq,
        "at": timestamp(row.at),
        "kind": row.kind,
        "scope": row.scope,
        "decision_id": row.decision_id,
    }


def _said(message: Message) -> dict[str, Any]:
    said = {name: message.get(name) for name in ("id", "seq", "at", "kind", "scope", "decision_id")}
    said["kind"] = said["kind"] or message["event"]
    said["at"] = said["at"] or timestamp(timezone.now())
    return said | ({"revision": message["revision"]} if "revision" in message else {})


def _format(event: str, data: Mapping[str, Any], seq: int | None = None) -> bytes:
    head = f"id: {seq}\n" if seq is not None else ""
    return f"{head}event: {event}\ndata: {orjson.dumps(data).decode()}\n\n".encode()


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None
