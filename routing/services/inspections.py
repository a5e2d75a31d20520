"""Looks at endpoints that workers take: does it answer, and which tools does an MCP server list.

What is found is kept apart from the draft until somebody picks what to take of it. A look ends by itself after a minute,
can be stopped, and never tells a secret.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from routing import working
from routing.choices import DecisionState, InspectionKind
from routing.dispatch import Dispatch
from routing.engine.errors import RegistryError
from routing.engine.registry import Tool
from routing.engine.secrets import is_reference
from routing.engine.validation import entry_document
from routing.engine.validation.endpoints import read_tool
from routing.engine.validation.problems import Problems
from routing.errors import InvalidRequest, NotFound
from routing.formats.tools_list import tool_document
from routing.models import Actor, Inspection, Workspace
from routing.providers.addresses import Destinations
from routing.providers.mcp import McpReader
from routing.providers.transport import CallFailed, Server, secret_of
from routing.services import audit, entries
from routing.services.providers import probing

logger = logging.getLogger(__name__)
Document = dict[str, Any]
GIVEN_UP_S = 120  # a look that is older has no worker any more
MOST_OPEN = 4  # in a workspace at a time: workers have decisions to make
KEPT = 5  # of each endpoint
TEST_S = 15.0
LONGEST_ANSWER = 2**20
OPEN = (DecisionState.QUEUED, DecisionState.RUNNING)
FIELDS = ("title", "description", "input_schema", "output_schema", "annotations")  # what a server says of a tool
_LOOK_S = 0.5  # between two questions whether it is still wanted
_PATHS = {"ollama": "/api/tags", "anthropic": "/v1/models", "gemini": "/v1beta/models"}

workers = Dispatch("inspection")


# --- asking for one ---------------------------------------------------------------------------------------------------
@transaction.atomic
def request(workspace: Workspace, name: str, kind: str, *, by: Actor) -> Inspection:
    """Have a worker look at an endpoint of the draft. One that is under way already is answered instead of a second.

    Raises NotFound, and InvalidRequest for an endpoint that is never contacted or when too many looks are under way.
    """
    body = working.copy_of(workspace).entry(section_of(kind), name)
    if body is None:
        raise NotFound
    _check(body, kind)
    Workspace.objects.select_for_update().get(pk=workspace.pk)
    under_way = [row for row in Inspection.objects.filter(workspace=workspace, state__in=OPEN) if not is_lost(row)]
    same = next((row for row in under_way if (row.endpoint, row.kind) == (name, kind)), None)
    if same is not None:
        return same
    if len(under_way) >= MOST_OPEN:
        raise InvalidRequest(f"{MOST_OPEN} endpoints are looked at right now. Wait until one of them is done.")
    row = Inspection.objects.create(
        workspace=workspace, endpoint=name, kind=kind, by=str(by), said="Waiting for a worker"
    )
    _prune(workspace, name)
    action, target = f"{_noun(kind)}.{_VERBS[kind]}", f"{_noun(kind)} {name}"
    audit.record(workspace.pk, action, target, by=by, after={"inspection": str(row.pk)})
    transaction.on_commit(lambda: _enqueue(row.pk))
    return row


_VERBS = {
    InspectionKind.TEST.value: "tested",
    InspectionKind.DISCOVER.value: "discovered",
    InspectionKind.PROVIDER.value: "tested",
}


def section_of(kind: str) -> str:
    """The list of the document that holds what is looked at."""
    return "providers" if kind == InspectionKind.PROVIDER else "endpoints"


def _noun(kind: str) -> str:
    return entries.NOUNS[section_of(kind)]


def _check(body: Mapping[str, Any], kind: str) -> None:
    if kind not in _VERBS:
        raise NotFound
    if kind == InspectionKind.PROVIDER:
        if body["kind"] == "local":
            raise InvalidRequest("This provider decides here; there is nobody to connect to.")
        return
    if not body.get("url"):
        raise InvalidRequest("This endpoint has no URL, so there is nothing to connect to.")
    if kind == InspectionKind.DISCOVER and body["kind"] != "mcp":
        raise InvalidRequest("Only MCP servers list their tools.")
    if body["kind"] == "mcp" and body.get("transport", "http") != "http":
        raise InvalidRequest(
            "Only servers over streamable HTTP can be looked at; this one speaks the older SSE transport."
        )


def _prune(workspace: Workspace, name: str) -> None:
    rows = Inspection.objects.filter(workspace=workspace, endpoint=name).order_by("-id")
    Inspection.objects.filter(pk__in=list(rows.values_list("pk", flat=True)[KEPT:])).delete()


def _enqueue(pk: uuid.UUID) -> None:
    if not workers.send(str(pk)):
        _finish(
            pk, DecisionState.FAILED, "No worker can be reached right now. Try again in a moment.", code="unavailable"
        )


@transaction.atomic
def cancel(workspace: Workspace, pk: uuid.UUID, *, by: Actor) -> None:
    """Stop a look that is under way; one that has ended stays as it is. Raises NotFound."""
    row = find(workspace, pk)
    noun = _noun(row.kind)
    audit.record(workspace.pk, f"{noun}.inspection_stopped", f"{noun} {row.endpoint}", by=by)
    Inspection.objects.filter(pk=pk, state__in=OPEN).update(
        state=DecisionState.CANCELLED, said="Stopped", finished_at=timezone.now()
    )


def find(workspace: Workspace, pk: uuid.UUID) -> Inspection:
    row = Inspection.objects.filter(workspace=workspace, pk=pk).first()
    if row is None:
        raise NotFound
    return row


def newest(workspace: Workspace, name: str, kind: str) -> Inspection | None:
    return Inspection.objects.filter(workspace=workspace, endpoint=name, kind=kind).order_by("-id").first()


def is_lost(row: Inspection) -> bool:
    """Whether it should have ended long ago: its worker is gone."""
    return row.state in OPEN and row.created_at < timezone.now() - timedelta(seconds=GIVEN_UP_S)


# --- taking one -------------------------------------------------------------------------------------------------------
def run(pk: uuid.UUID) -> None:
    """Take a look that waits. Safe to call twice: the second finds it taken."""
    if not Inspection.objects.filter(pk=pk, state=DecisionState.QUEUED).update(
        state=DecisionState.RUNNING, said="Connecting"
    ):
        return
    row = Inspection.objects.select_related("workspace").get(pk=pk)
    try:
        body = working.copy_of(row.workspace).entry(section_of(row.kind), row.endpoint)
        if body is None or not (body.get("url") or row.kind == InspectionKind.PROVIDER):
            raise CallFailed("it is no longer in the draft", "gone")
        said, found = _look(row, body)
        _finish(pk, DecisionState.FINISHED, said, found=found)
    except CallFailed as problem:
        _finish(pk, DecisionState.FAILED, f"{row.endpoint}: {problem}.", code=problem.code)
    except Exception:
        logger.exception("inspection %s failed", pk)
        _finish(pk, DecisionState.FAILED, "It failed here, not there; the log says why.", code="internal")


def _finish(pk: uuid.UUID, state: str, said: str, *, code: str = "", found: Document | None = None) -> None:
    Inspection.objects.filter(pk=pk, state__in=OPEN).update(
        state=state, said=said[:400], code=code, found=found or {}, finished_at=timezone.now()
    )


def _look(row: Inspection, body: Mapping[str, Any]) -> tuple[str, Document]:
    if row.kind == InspectionKind.PROVIDER:
        return probing.probe(row.workspace, row.endpoint)
    headers = _headers(body)
    secret = bool(body.get("credential")) or any(map(is_reference, body.get("headers", {}).values()))
    server = Server(body["url"], Destinations.of(row.workspace.allow_private))
    try:
        if body["kind"] != "mcp":
            return _models(server, body, headers, secret)
        reader = McpReader(server, headers, secret, is_unwanted=_Unwanted(row.pk))
        if row.kind == InspectionKind.TEST:
            reader.patience_s = TEST_S
        return _mcp(row, reader)
    finally:
        server.close()


def _headers(body: Mapping[str, Any]) -> dict[str, str]:
    found = {
        name: secret_of(value) if is_reference(value) else value for name, value in body.get("headers", {}).items()
    }
    if body.get("credential"):
        secret = secret_of(body["credential"])
        match body["kind"]:
            case "anthropic":
                found |= {"x-api-key": secret, "anthropic-version": "2023-06-01"}
            case "gemini":
                found["x-goog-api-key"] = secret
            case _:
                found["Authorization"] = f"Bearer {secret}"
    return found


def _mcp(row: Inspection, reader: McpReader) -> tuple[str, Document]:
    began = time.monotonic()
    greeting = reader.greet()
    try:
        took = round((time.monotonic() - began) * 1000)
        about = f"an MCP server, protocol {greeting.protocol}"
        if row.kind == InspectionKind.TEST:
            return f"It answers: {about}, in {took:,} ms.", {"server": greeting.name, "version": greeting.version}
        listed = reader.tools(lambda pages, tools: _progress(row.pk, f"{tools:,} tools on {pages:,} pages so far"))
    finally:
        reader.leave()
    tools, unreadable = read_listed(listed)
    said = f"It lists {len(tools):,} {'tool' if len(tools) == 1 else 'tools'}."
    return said, {"tools": tools, "unreadable": unreadable, "server": greeting.name, "version": greeting.version}


def _models(server: Server, body: Mapping[str, Any], headers: Mapping[str, str], secret: bool) -> tuple[str, Document]:
    path = _PATHS.get(body["kind"], "/v1/models")
    if body["url"].rstrip("/").endswith("/v1") and path.startswith("/v1/"):
        path = path.removeprefix("/v1")
    began = time.monotonic()
    answer = server.get(path, headers=headers, secret=secret, timeout_s=TEST_S, most=LONGEST_ANSWER)
    took = round((time.monotonic() - began) * 1000)
    listed = next((answer[key] for key in ("data", "models") if isinstance(answer, Mapping) and key in answer), None)
    if not isinstance(listed, list):
        raise CallFailed("what it answers is no list of models", "protocol")
    names = {str(one.get("id") or one.get("name") or "") for one in listed if isinstance(one, Mapping)}
    model = body.get("model")
    known = model is None or any(name.removeprefix("models/") == model for name in names)
    missing = "" if known else " The model that this endpoint names is not among them."
    return f"It answers in {took:,} ms and lists {len(listed):,} models.{missing}", {}


def _progress(pk: uuid.UUID, said: str) -> None:
    Inspection.objects.filter(pk=pk, state=DecisionState.RUNNING).update(said=said)


class _Unwanted:
    """Whether a look was stopped meanwhile, asked now and then."""

    def __init__(self, pk: uuid.UUID) -> None:
        self._pk, self._asked = pk, 0.0

    def __call__(self) -> bool:
        if time.monotonic() - self._asked < _LOOK_S:
            return False
        self._asked = time.monotonic()
        return not Inspection.objects.filter(pk=self._pk, state=DecisionState.RUNNING).exists()


def read_listed(listed: Iterable[Any]) -> tuple[list[Document], list[str]]:
    """Listed tools as our document spells them, and why the others cannot be taken; only what servers may say is read."""
    tools: dict[str, Document] = {}
    unreadable: list[str] = []
    for place, one in enumerate(listed, 1):
        told = tool_document(one)
        known = {key: told[key] for key in ("name", *FIELDS) if key in told} if isinstance(told, Mapping) else told
        tool, problem = _read(known)
        if tool is None:
            unreadable.append(f"Tool {place}: {problem}")
        elif tool.name in tools:
            unreadable.append(f"Tool {place}: another tool of this server has its name")
        else:
            tools[tool.name] = entry_document(tool)
    return list(tools.values()), unreadable


def _read(told: object) -> tuple[Tool | None, str]:
    problems = Problems()
    tool = read_tool(told, "tool", problems)
    try:
        problems.raise_if_any()
    except RegistryError as error:
        first = error.problems[0]
        return None, f"{str(first['path'])[:80]} {str(first['message'])[:160]}"
    return tool, "" if tool else "cannot be read"


# --- what is found against what the draft has ---------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A tool that the server lists otherwise than the draft. `fields`: each that differs, with both sides."""

    name: str
    action: str  # new, changed or vanished
    fields: tuple[tuple[str, Any, Any], ...] = ()
    tool: Mapping[str, Any]


def differences(body: Mapping[str, Any], found: Iterable[Mapping[str, Any]]) -> list[Difference]:
    """New tools first, then changed and vanished ones. What operators set (category, risk, effect, enabled) is no difference."""
    known = {tool["name"]: tool for tool in body.get("tools", ())}
    listed = {tool["name"]: tool for tool in found}
    new = [Difference(name=name, action="new", tool=tool) for name, tool in listed.items() if name not in known]
    pairs = [(known[name], tool) for name, tool in listed.items() if name in known]
    changed = [
        Difference(name=tool["name"], action="changed", fields=fields, tool=tool)
        for before, tool in pairs
        if (
            fields := tuple((key, before.get(key), tool.get(key)) for key in FIELDS if before.get(key) != tool.get(key))
        )
    ]
    gone = [Difference(name=name, action="vanished", tool=tool) for name, tool in known.items() if name not in listed]
    return [*new, *changed, *gone]


def take(workspace: Workspace, pk: uuid.UUID, picks: Iterable[str], *, read: str, by: Actor) -> int:
    """Take the picked differences into the draft in one step; returns how many tools that were.

    `read` is the version of the endpoint that the differences were shown against. What operators set of a tool, and hints,
    stay. Raises NotFound, StaleDraft and InvalidRegistry as `entries.edit`.
    """
    row = find(workspace, pk)
    body = working.copy_of(workspace).entry("endpoints", row.endpoint)
    if body is None or row.kind == InspectionKind.PROVIDER:
        raise NotFound
    wanted = set(picks)
    picked = {one.name: one for one in differences(body, row.found.get("tools", ())) if one.name in wanted}
    if not wanted:
        raise InvalidRequest("Pick at least one tool.")
    if not picked:
        raise InvalidRequest("The draft has what was picked already: nothing of it differs any more.")
    message = f"Tools listed by {row.endpoint}"
    entries.edit(
        workspace, "endpoints", row.endpoint, {"tools": _merged(body, picked)}, by=by, read=read, message=message
    )
    return len(picked)


def _merged(body: Mapping[str, Any], picked: Mapping[str, Difference]) -> list[Document]:
    tools: list[Document] = []
    for tool in body.get("tools", ()):
        one = picked.get(tool["name"])
        if one is None:
            tools.append(tool)
        elif one.action == "changed":
            own = {key: value for key, value in tool.items() if key not in FIELDS}
            tools.append({**own, **{key: one.tool[key] for key in FIELDS if key in one.tool}})
    return [*tools, *(dict(one.tool) for one in picked.values() if one.action == "new")]
