"""The page of one tool: what it says, what it is, who reaches it; and what operators say of it in the draft."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from control.access import may
from control.web import endpoints, replaying, schemas, telling, toasts
from control.web import tools as listed
from control.web.context import draft_count
from control.web.tool_traits import TraitsEditor, TraitsForm
from control.web.whole import Meeting, Sides
from routing import inventory, listings, mapping, snapshot, working
from routing.engine import load_registry
from routing.engine.catalog import Catalog
from routing.engine.inference import Traits
from routing.engine.parts import ToolDoc
from routing.engine.registry import TRAITS
from routing.engine.validation import entry_document
from routing.errors import InvalidRegistry, NotFound, StaleDraft
from routing.models import EndpointRow, Workspace

Document = dict[str, Any]
SHOWN = 10  # decisions on the page
ALLOWED = {"risk": inventory.RISKS, "effect": inventory.EFFECTS}


@require_http_methods(["GET", "HEAD", "POST"])
@may("registry.view", posts="endpoint.edit")
def page(request: Any, workspace: Workspace, public: str) -> HttpResponse:
    catalog = snapshot.live(workspace.pk).catalog
    pair = catalog.pair(public)
    doc = catalog.tool(*pair) if pair else None
    is_live = doc is not None
    if doc is None:
        catalog, doc = _of_draft(workspace, public)
    own = Own.of(workspace, doc)
    if request.method != "POST":
        return _show(request, workspace, catalog, doc, is_live, own)
    if own is None:
        raise Http404
    return _save(request, workspace, catalog, doc, is_live, own)


def _of_draft(workspace: Workspace, public: str) -> tuple[Catalog, ToolDoc]:
    """A tool that is nowhere but in the draft: its endpoint is compiled by itself."""
    row = (
        EndpointRow.objects.filter(workspace=workspace, name=public.partition("__")[0])
        .prefetch_related("tools")
        .first()
    )
    if row is None:
        raise Http404
    catalog = load_registry({"version": 1, "endpoints": [mapping.endpoint_document(row)]})
    pair = catalog.pair(public)
    doc = catalog.tool(*pair) if pair else None
    if doc is None:
        raise Http404
    return catalog, doc


def _show(
    request: HttpRequest,
    workspace: Workspace,
    catalog: Catalog,
    doc: ToolDoc,
    is_live: bool,
    own: Own | None,
    *,
    status: int = 200,
) -> HttpResponse:
    context = _told(workspace, catalog, doc, is_live=is_live) | {
        "own": own,
        "asks": own is not None and bool(own.problems or own.meeting.conflicts),
        "back": request.path,
        "panel": replaying.of(request, workspace, "tool", doc.public),
    }
    return render(request, "tools/detail.html", context, status=status)


def _told(workspace: Workspace, catalog: Catalog, doc: ToolDoc, *, is_live: bool) -> Document:
    recent = listed.recent(workspace).filter(target=doc.public)
    total, capped = listings.counted(recent)
    return {
        "doc": doc,
        "tool": doc.tool,
        "is_live": is_live,
        "available": catalog.is_available(doc),
        "off": [word for word, on in (("its endpoint", doc.endpoint.enabled), ("it", doc.tool.enabled)) if not on],
        "traits": [
            {"name": name, "value": getattr(doc.traits, name), "provenance": doc.traits.provenance[name]}
            for name in TRAITS
        ],
        "annotations": sorted((str(key), str(value)) for key, value in doc.tool.annotations.items()),
        "inputs": schemas.told(doc.tool.input_schema),
        "outputs": schemas.told(doc.tool.output_schema) if doc.tool.output_schema else None,
        "reach": [_reached(one) for one in inventory.scopes_of(catalog, doc)] if is_live else None,
        "decisions": [
            {"decision": row, "verdict": telling.verdict(row), "chance": telling.chance(row)}
            for row in recent.order_by("-pk")[:SHOWN]
        ],
        "decided": total,
        "capped": capped,
    }


def _reached(reach: inventory.Reach) -> dict[str, Any]:
    if not reach.permitted:
        shape, word = "no_match", "Not reached"
    elif not reach.available:
        shape, word = "ambiguous", "Permitted, but off"
    else:
        shape, word = "confident", "Reached"
    return {"scope": reach.scope, "shape": shape, "word": word, "pinned": reach.permitted and reach.pinned}


# --- what operators say of it -----------------------------------------------------------------------------------------
@dataclass(slots=True, kw_only=True)
class Setting:
    """One trait in the form: what the draft gives, what the tool is by that, and what it would be by itself."""

    name: str
    given: str  # empty where the draft gives nothing
    value: str
    provenance: str
    natural: str
    natural_provenance: str
    live: str  # what it is in the live revision, where that differs
    choices: tuple[str, ...]
    problem: str = ""
    sides: Sides | None = None


@dataclass(slots=True, kw_only=True)
class Own:
    """The tool as the draft has it, and the form for what operators may say of it."""

    pair: tuple[str, str]
    tool: Document
    settings: list[Setting]
    meeting: Meeting
    pick: str
    seen: int
    problems: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, workspace: Workspace, doc: ToolDoc) -> Own | None:
        """None when the draft no longer has the tool."""
        tool = _drafted(workspace, doc)
        if tool is None:
            return None
        now, natural = endpoints.traits(tool), endpoints.traits(_bare(tool))
        return cls(
            pair=(doc.endpoint.name, doc.wire),
            tool=tool,
            settings=[_setting(name, tool, now, natural, doc.traits) for name in TRAITS],
            meeting=_editor(workspace, doc).opened(tool).meeting,
            pick=f"{doc.endpoint.name}__{doc.wire}",
            seen=workspace.draft_version,
        )

    @property
    def enabled(self) -> bool:
        return bool(self.tool.get("enabled", True))

    def keep(self, form: TraitsForm) -> None:
        """Show in the fields what was posted."""
        self.meeting = form.meeting
        for one in self.settings:
            one.given = form.values.get(one.name, one.given) or ""
            one.sides = form.meeting.conflicts.get(one.name)


def _drafted(workspace: Workspace, doc: ToolDoc) -> Document | None:
    if not draft_count(workspace):
        return entry_document(doc.tool)  # the draft says what is live
    endpoint = working.copy_of(workspace).entry("endpoints", doc.endpoint.name) or {}
    return next((tool for tool in endpoint.get("tools", ()) if tool["name"] == doc.wire), None)


def _bare(tool: Document) -> Document:
    return {key: value for key, value in tool.items() if key not in (*TRAITS, "overridden")}


def _setting(name: str, tool: Document, now: Traits, natural: Traits, live: Traits) -> Setting:
    value, is_live = getattr(now, name), getattr(live, name)
    return Setting(
        name=name,
        given=tool.get(name) or "",
        value=value,
        provenance=now.provenance[name],
        natural=getattr(natural, name),
        natural_provenance=natural.provenance[name],
        live=is_live if is_live != value else "",
        choices=ALLOWED.get(name, ()),
    )


def _editor(workspace: Workspace, doc: ToolDoc) -> TraitsEditor:
    return TraitsEditor(doc.endpoint.name, doc.wire, lambda: _drafted(workspace, doc))


def _save(request: Any, workspace: Workspace, catalog: Catalog, doc: ToolDoc, is_live: bool, own: Own) -> HttpResponse:
    editor, form = _editor(workspace, doc), TraitsForm.posted(request.POST)
    here = listed.address(workspace, doc.public)
    try:
        saved = editor.save(request, workspace, own.tool, form)
    except NotFound:
        raise Http404 from None
    except StaleDraft as error:
        own.keep(form)
        own.problems.append(f"{error.message} Save again.")
        return _show(request, workspace, catalog, doc, is_live, own, status=409)
    except InvalidRegistry as error:
        own.keep(form)
        _refuse(own, error)
        return _show(request, workspace, catalog, doc, is_live, own, status=422)
    if saved is None:
        own = Own.of(workspace, doc) or own
        own.keep(form)
        return _show(request, workspace, catalog, doc, is_live, own, status=409)
    if editor.changed:
        also = f". Also kept: {saved.also}" if saved.also else ""
        toasts.stepped(request, f"{doc.public}: {_words(editor.changed)} in the draft{also}", editor.step, back=here)
    return redirect(here)


def _refuse(own: Own, error: InvalidRegistry) -> None:
    for detail in error.details:
        named = next((one for one in own.settings if str(detail["path"]).endswith(f".{one.name}")), None)
        if named:
            named.problem = f"It {detail['message']}."
        else:
            own.problems.append(f"It {detail['message']}.")


def _words(changes: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name} {value}" if value else f"{name} as it says of itself" for name, value in changes.items())
