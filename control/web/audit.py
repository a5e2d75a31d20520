"""The audit log: the list with its filters, one entry, the chain's proof, and the log to take away.

Whatever of it is read here is itself an entry.
"""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import orjson
from asgiref.sync import sync_to_async
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import allows, may
from control.web import diffing, views, words
from control.web.filters import NEWEST_FIRST, Filters, ends
from routing import listings
from routing.engine.diff import Change
from routing.events import AUDITED
from routing.models import AuditEntry, AuditHead, Workspace
from routing.services import audit

FILTERS = ("q", "actor", "action", "target", "result", "since", "until")
SPANS = {
    "1h": (timedelta(hours=1), "last hour"),
    "24h": (timedelta(hours=24), "last 24 hours"),
    "7d": (timedelta(days=7), "last 7 days"),
    "30d": (timedelta(days=30), "last 30 days"),
}
RESULTS = ("done", "refused")
WORDS = {"q": "about", "since": "", "until": "before"}
CHANGES_WORD = "changes only"
CHUNK = 500
COLUMNS = (*(name for name in AUDITED if name != "workspace"), "prev_hash", "hash")


# --- the list -----------------------------------------------------------------------------------------------------------
@require_safe
@vary_on_headers("HX-Request")
@may("audit.view")
@views.kept("audit")
def listing(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    filters = _filters(request, workspace)
    _note_reading(request, workspace, "audit.read", "audit log", filters.chosen)
    template = "audit/list.html" + ("#list" if request.htmx else "")  # type: ignore[attr-defined]
    return render(request, template, _rows(request, workspace, filters))


def _filters(request: HttpRequest, workspace: Workspace, page: str = "audit") -> Filters:
    read = Filters.read(request, reverse(page, args=[workspace.name]), FILTERS, ("time",))
    unreadable = {name for name in ("since", "until") if name in read.chosen and _moment(read.chosen[name]) is None}
    return replace(read, chosen={name: value for name, value in read.chosen.items() if name not in unreadable})


def _note_reading(request: Any, workspace: Workspace, action: str, target: str, chosen: Mapping[str, str]) -> None:
    told = {"filters": dict(chosen)} if chosen else None
    audit.record(workspace.pk, action, target, by=request.actor, after=told)


def _rows(request: Any, workspace: Workspace, filters: Filters) -> dict[str, Any]:
    everything, upwards = listings.audit_entries(workspace), filters.sort == "time"
    rows = _filter(filters.chosen).apply(everything)
    after, before = _number(request.GET.get("after")), _number(request.GET.get("before"))
    page = listings.page_of(rows, key="seq", after=after, before=before, upwards=upwards)
    number, capped = listings.counted(rows)
    return {
        "filters": filters,
        "chosen": filters.chosen,
        "active": [_chip(filters, name) for name in filters.chosen],
        "heads": filters.heads([("time", "Seq", "num")], NEWEST_FIRST),
        "rows": [{"entry": row, "who": who(row), "what": what(row)} for row in page.rows],
        "total": number,
        "capped": capped,
        "pinned": bool(after or before),
        "clear": filters.clear,
        "proof": everything.filter(action="audit.verified").first(),
        "head": AuditHead.objects.filter(workspace=workspace).first(),
        "csv": _filters(request, workspace, "audit-csv").address(sort=""),
        "jsonl": _filters(request, workspace, "audit-jsonl").address(sort=""),
        "may_verify": allows(request.role, "ledger.verify"),
        **ends(filters, page, upwards=upwards),
        **_choices(workspace),
    }


def _choices(workspace: Workspace) -> dict[str, Any]:
    actors, actions = listings.audit_choices(workspace)
    return {
        "actors": actors,
        "actions": [(listings.CHANGES, CHANGES_WORD.capitalize()), *((action, action) for action in actions)],
        "results": [(result, words.badge(result).word) for result in RESULTS],
        "spans": [(value, word) for value, (_, word) in SPANS.items()],
    }


def _filter(chosen: Mapping[str, str]) -> listings.AuditFilter:
    exact = {name: chosen.get(name, "") for name in ("actor", "action", "target", "result")}
    return listings.AuditFilter(
        text=chosen.get("q", ""), since=_moment(chosen.get("since")), until=_moment(chosen.get("until")), **exact
    )


def _moment(given: str | None) -> datetime | None:
    """A span of the list, or a moment in RFC 3339; anything else filters nothing."""
    if given in SPANS:
        return timezone.now() - SPANS[given][0]
    try:
        moment = datetime.fromisoformat((given or "").replace(" ", "+"))  # "+" in an address reads as a space
    except ValueError:
        return None
    return moment if moment.tzinfo else timezone.make_aware(moment)


def _number(given: str | None) -> int | None:
    return int(given) if given and given.isascii() and given.isdigit() and len(given) < 18 else None


def _chip(filters: Filters, name: str) -> dict[str, str]:
    value = filters.chosen[name]
    shown = {
        "since": SPANS[value][1] if value in SPANS else f"since {value}",
        "result": words.badge(value).word.lower(),
        "action": CHANGES_WORD if value == listings.CHANGES else value,
    }.get(name, value)
    return {"name": name, "word": WORDS.get(name, name), "value": shown, "without": filters.address(**{name: ""})}


# --- words --------------------------------------------------------------------------------------------------------------
def who(entry: AuditEntry) -> str:
    """The actor as the console names actors."""
    return entry.actor if entry.actor_kind in ("operator", "visitor") else f"{entry.actor_kind} {entry.actor}"


def what(entry: AuditEntry) -> str:
    """What an entry tells, in one line: the change, else what became of the target."""
    changes = [change for change in entry.changes if change["path"]]
    if len(changes) == 1:
        return _one(changes[0])
    if changes:
        left_out = sum(change.get("number", 0) for change in entry.changes if not change["path"])
        return f"{len(changes) + left_out:,} changes"
    before, after = entry.before or {}, entry.after or {}
    told = [
        _fact_told(name, before, after) for name in (after or before) if name != "digest" or len(after or before) == 1
    ]
    return ", ".join(told)[:200]


def _fact_told(name: str, before: dict[str, Any], after: dict[str, Any]) -> str:
    value = _short(after[name] if name in after else before[name])
    was = f"{_short(before[name])} → " if name in before and name in after else ""
    return f"{name.replace('_', ' ')} {was}{value}"


def _one(change: dict[str, Any]) -> str:
    path = change["path"].rpartition("].")[2]
    if change["action"] == "changed" and not isinstance(change["before"], dict | list):
        return f"{path}: {_short(change['before'])} → {_short(change['after'])}"
    return f"{path} {change['action']}"


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_short(held)}" for name, held in value.items())
    text = (
        ", ".join(map(str, value))
        if isinstance(value, list)
        else ("yes" if value else "no")
        if isinstance(value, bool)
        else "none"
        if value is None
        else str(value)
    )
    text = " ".join(text.split()) or "none"
    if text.startswith("sha256:"):
        return text[7:15] + "…"
    return text if len(text) <= 48 else text[:47] + "…"


# --- one entry ----------------------------------------------------------------------------------------------------------
@require_safe
@may("audit.view")
def page(request: HttpRequest, workspace: Workspace, seq: int) -> HttpResponse:
    rows = listings.audit_entries(workspace)
    if len(str(seq)) > 18 or (entry := rows.filter(seq=seq).first()) is None:
        raise Http404
    _note_reading(request, workspace, "audit.read", f"audit entry {seq}", {})
    context = {
        "entry": entry,
        "who": who(entry),
        "blocks": diffing.blocks(_changes(entry), whole=request.GET.getlist("whole")),
        "left_out": sum(change.get("number", 0) for change in entry.changes if not change["path"]),
        "older": rows.filter(seq=seq - 1).first(),
        "newer": rows.filter(seq=seq + 1).first(),
        "revision": _revision(workspace, entry),
    }
    return render(request, "audit/detail.html", context)


def _changes(entry: AuditEntry) -> Iterable[Change]:
    """The changes of a document, and else the facts before and after, field by field."""
    if told := [change for change in entry.changes if change["path"]]:
        return [Change(**change) for change in told]
    before, after = entry.before or {}, entry.after or {}
    return [
        _fact(name, before, after)
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name) or (name in before) != (name in after)
    ]


def _fact(name: str, before: dict[str, Any], after: dict[str, Any]) -> Change:
    action = "added" if name not in before else "removed" if name not in after else "changed"
    return Change(path=name, action=action, before=before.get(name), after=after.get(name))


def _revision(workspace: Workspace, entry: AuditEntry) -> int | None:
    """The revision that an entry is about, when it is there to be looked at."""
    kind, _, number = entry.target.partition(" ")
    wanted = _number(number) if kind == "revision" else None
    known = wanted is not None and workspace.revisions.filter(number=wanted).exists()
    return wanted if known else None


# --- proof and export ---------------------------------------------------------------------------------------------------
@require_POST
@may("ledger.verify")
def verify(request: Any, workspace: Workspace) -> HttpResponse:
    found = audit.verify(workspace)
    told = {"ok": found.ok, "checked": found.checked} | ({} if found.ok else {"first_bad": found.first_bad})
    audit.record(workspace.pk, "audit.verified", "audit log", by=request.actor, after=told)
    if found.ok:
        messages.success(request, f"The chain holds: {found.checked:,} entries verified")
    else:
        messages.error(request, f"The chain does not hold at entry {found.first_bad}: {_REASONS[str(found.reason)]}")
    return redirect("audit", workspace.name)


_REASONS = {
    "hash": "its content is not what was recorded",
    "prev_hash": "it does not follow the entry before it",
    "gap": "it is missing",
    "order": "entries changed places",
}


@require_safe
@may("audit.view")
def export(request: HttpRequest, workspace: Workspace, form: str) -> HttpResponseBase:
    """All entries that the filters let through, newest first, in the order of their numbers; streamed."""
    chosen = _filters(request, workspace).chosen
    rows = _filter(chosen).apply(listings.audit_entries(workspace))
    newest = rows.values_list("seq", flat=True).first() or 0
    _note_reading(request, workspace, "audit.exported", f"audit log as {form}", chosen)
    kind, head, line = FORMS[form]
    response = StreamingHttpResponse(_stream(rows, newest, head, line), content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{workspace.name}-audit.{form}"'
    response["Cache-Control"] = "no-store"
    return response


async def _stream(rows: Any, newest: int, head: bytes, line: Callable[[AuditEntry], bytes]) -> AsyncIterator[bytes]:
    if head:
        yield head
    below = newest + 1
    while True:
        chunk = await sync_to_async(lambda place: list(rows.filter(seq__lt=place)[:CHUNK]))(below)
        if not chunk:
            return
        yield b"".join(map(line, chunk))
        below = chunk[-1].seq


def _exported(entry: AuditEntry) -> dict[str, Any]:
    """What is hashed of an entry, with both hashes: whoever has the file can recompute the chain."""
    return audit.said(entry) | {"prev_hash": entry.prev_hash, "hash": entry.hash}


def _json_line(entry: AuditEntry) -> bytes:
    return orjson.dumps(_exported(entry)) + b"\n"


def _csv_line(entry: AuditEntry) -> bytes:
    told = _exported(entry)
    return _csv([_cell(told[name]) for name in COLUMNS])


def _csv(cells: Iterable[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue().encode()


def _cell(value: Any) -> str:
    """Text as it is, other values as JSON. What a spreadsheet would run as a formula is led by an apostrophe."""
    text = value if isinstance(value, str) else "" if value is None else orjson.dumps(value).decode()
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


FORMS: dict[str, tuple[str, bytes, Callable[[AuditEntry], bytes]]] = {
    "csv": ("text/csv; charset=utf-8", _csv(COLUMNS), _csv_line),
    "jsonl": ("application/jsonl; charset=utf-8", b"", _json_line),
}
