"""Ask for a replay: the row is the promise, the message only its id. What a dead worker left goes back to the queue."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.db import DatabaseError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from routing import bus, snapshot, working
from routing.choices import FINAL_STATES, DecisionState
from routing.dispatch import Dispatch
from routing.engine.canonical import digest_of
from routing.engine.errors import RegistryError
from routing.engine.validation import parse_document, to_document
from routing.errors import InvalidRegistry, InvalidRequest, NotFound, ReplayDisabled, Unavailable
from routing.events import timestamp
from routing.models import Replay, Revision, Workspace
from routing.services.recordings import keeping

DRAFT = "draft"
KEPT = 50  # final replays of a workspace
MOST_OPEN = 8  # of a workspace at a time: workers have other things to do
MOST_RUNS = 3  # a replay that its workers die of is not tried for ever
SEND_AGAIN = timedelta(seconds=30)
DIED = f"{MOST_RUNS} workers died over this replay"

workers = Dispatch("replay")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which decisions: the newest `last` of those from `since` on and before `until`, of these scopes (None: of all)."""

    last: int = 1000
    since: datetime | None = None
    until: datetime | None = None
    scopes: tuple[str, ...] | None = None

    def told(self) -> dict[str, Any]:
        moments = {"since": self.since, "until": self.until}
        scopes = None if self.scopes is None else list(self.scopes)
        return {"last": self.last, "scopes": scopes} | {
            name: None if moment is None else timestamp(moment) for name, moment in moments.items()
        }

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Window:
        since, until = (
            None if told[name] is None else datetime.fromisoformat(told[name]) for name in ("since", "until")
        )
        scopes = None if told["scopes"] is None else tuple(told["scopes"])
        return cls(last=told["last"], since=since, until=until, scopes=scopes)


def request(
    workspace: Workspace,
    document: Mapping[str, Any],
    *,
    window: Window | None = None,
    against: int | None = None,
    about: str = "",
    who: str,
    replay_id: uuid.UUID | None = None,
    is_canonical: bool = False,
) -> Replay:
    """Keep a replay of a candidate document for a worker; for `about` a thing, an older one of it gives way. `is_canonical`: of
    a document that is one of ours already, which then is not read anew.

    Raises ReplayDisabled where nothing is recorded, InvalidRegistry for a document that breaks a rule, NotFound for a
    revision that is not there, InvalidRequest for scopes of no decision or when too many are under way, and Unavailable
    when it cannot be kept.
    """
    refuse_unrecorded(workspace)
    window = window or Window()
    other = against_of(workspace, against)
    _check_scopes(window, working.frozen(other))
    content = document if is_canonical else _canonical(document)
    try:
        with transaction.atomic():
            row = _kept(workspace, content, other, window, about, who, replay_id)
    except DatabaseError:
        raise Unavailable("The replay could not be kept; nothing was accepted. Ask again.") from None
    return row


def refuse_unrecorded(workspace: Workspace) -> None:
    """Raises ReplayDisabled where neither the workspace nor a policy of what is live records what is asked."""
    if workspace.record_queries or keeping.records(snapshot.live(workspace.pk)):
        return
    raise ReplayDisabled(
        "This workspace records no queries, so there is nothing to replay. Its settings, or the command "
        "`workspace NAME --record-queries on`, switch that on for decisions from then on."
    )


def against_of(workspace: Workspace, number: int | None) -> Revision | None:
    """The revision of this number, the live one without; None where nothing is live. Raises NotFound."""
    if number is None:
        return Workspace.objects.select_related("live_revision").get(pk=workspace.pk).live_revision
    found = Revision.objects.filter(workspace=workspace, number=number).first()
    if found is None:
        raise NotFound(f"There is no revision {number} in this workspace.")
    return found


def _check_scopes(window: Window, document: Mapping[str, Any]) -> None:
    known = ["default", *(one["name"] for one in document.get("scopes", ()) if one["name"] != "default")]
    problems = [
        {"path": f"window.scopes[{place}]", "message": "is no scope of what is compared against", "value": name}
        | {"allowed": ", ".join(known)}
        for place, name in enumerate(window.scopes or ())
        if name not in known
    ]
    if problems:
        raise InvalidRequest(f"{problems[0]['path']}: {problems[0]['message']}", problems)


def _canonical(document: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return to_document(parse_document(document).registry)
    except RegistryError as error:
        raise InvalidRegistry("The registry document breaks its rules.", error.problems) from None


def _kept(
    workspace: Workspace,
    content: Mapping[str, Any],
    other: Revision | None,
    window: Window,
    about: str,
    who: str,
    replay_id: uuid.UUID | None,
) -> Replay:
    Workspace.objects.select_for_update().get(pk=workspace.pk)
    if about:
        _end(_open(workspace).filter(about=about))
    if _open(workspace).count() >= MOST_OPEN:
        raise InvalidRequest(f"{MOST_OPEN} replays are under way right now. Wait until one of them is done.")
    row = Replay.objects.create(
        **({"id": replay_id} if replay_id else {}),
        workspace=workspace,
        about=about,
        by=who,
        against=other.number if other else 0,
        digest=digest_of(content),
        document=zlib.compress(orjson.dumps(content)),
        window=window.told(),
    )
    rows = Replay.objects.filter(workspace=workspace, state__in=FINAL_STATES).order_by("-id")
    Replay.objects.filter(pk__in=list(rows.values_list("pk", flat=True)[KEPT:])).delete()
    transaction.on_commit(lambda: _sent(row.pk), robust=True)
    return row


def _open(workspace: Workspace) -> Any:
    return Replay.objects.filter(workspace=workspace, state__in=(DecisionState.QUEUED, DecisionState.RUNNING))


def _end(rows: Any) -> int:
    """Whoever is at it finds that it is wanted no longer, and stops."""
    ended: int = rows.update(
        state=DecisionState.CANCELLED, finished_at=timezone.now(), document=None, claim=None, claimed_until=None
    )
    return ended


def _sent(pk: uuid.UUID) -> None:
    workers.send(str(pk))  # when nobody hears of it, the sweep tells again: the row is kept


def cancel(workspace: Workspace, pk: uuid.UUID) -> None:
    """Stop a replay; one that has ended stays as it is. Raises NotFound."""
    row = find(workspace, pk)
    if _end(_open(workspace).filter(pk=row.pk)):
        tell(row, "replay.finished")


def find(workspace: Workspace, pk: uuid.UUID | str) -> Replay:
    """Raises NotFound."""
    try:
        return Replay.objects.defer("document").get(workspace=workspace, pk=uuid.UUID(str(pk)))
    except (ValueError, Replay.DoesNotExist):
        raise NotFound from None


def newest(workspace: Workspace, about: str) -> Replay | None:
    """The newest replay about something, cancelled ones left out."""
    return _about(workspace, about).exclude(state=DecisionState.CANCELLED).first()


def stopped(workspace: Workspace, about: str) -> Replay | None:
    """The newest replay about something where somebody stopped it and no other followed."""
    row = _about(workspace, about).first()
    return row if row is not None and row.state == DecisionState.CANCELLED else None


def _about(workspace: Workspace, about: str) -> QuerySet[Replay]:
    return Replay.objects.filter(workspace=workspace, about=about).defer("document").order_by("-id")


def resume() -> None:
    """Queue again what a dead worker left, and tell the workers again of what they may not have heard of."""
    now = timezone.now()
    dead = Replay.objects.filter(state=DecisionState.RUNNING, claimed_until__lt=now)
    dead.filter(runs__gte=MOST_RUNS).update(
        state=DecisionState.FAILED, error=DIED, document=None, claim=None, claimed_until=None, finished_at=now
    )
    dead.update(state=DecisionState.QUEUED, claim=None, claimed_until=None, sent_at=now - SEND_AGAIN)
    for pk in Replay.objects.filter(Q(state=DecisionState.QUEUED), sent_at__lte=now - SEND_AGAIN).values_list(
        "pk", flat=True
    ):
        Replay.objects.filter(pk=pk).update(sent_at=now)
        _sent(pk)


def tell(row: Replay, event: str) -> None:
    """Tell every process how a replay stands; whoever waits for it, or shows it, looks again."""
    at = timestamp(timezone.now())
    bus.tell(
        [{"event": event, "kind": event, "workspace": str(row.workspace_id), "decision_id": str(row.pk), "at": at}]
    )
