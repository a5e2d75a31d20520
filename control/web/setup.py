"""Set an empty workspace up: fill its catalog, make a key, see a first decision. Steps are ticked by what is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from control import keys, preferences
from control.access import DEFAULT_RIGHTS, allows, is_installation, may, must, rights_of
from control.demo import loading, requested
from control.models import HarnessKey, Membership, Role
from control.web import connect, telling
from control.web.confirming import named
from control.web.forms.people import KeyForm, refuse
from control.web.keys import key_form
from routing import listings, working
from routing.errors import InvalidRequest, Superseded
from routing.models import Decision, EndpointRow, Revision, Workspace

STEPS = ("catalog", "key", "decision")
FROM = {"import": "import", "empty": "endpoint-new"}  # where the other two beginnings lead


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is there of the three steps."""

    drafted: int  # endpoints in the draft
    live: int  # endpoints in the live revision
    revision: Revision | None
    key: HarnessKey | None  # the newest that somebody made here or that was used, while it is valid
    decision: Decision | None  # the first

    @classmethod
    def of(cls, workspace: Workspace) -> Facts:
        return cls(
            drafted=EndpointRow.objects.filter(workspace=workspace).count(),
            live=len(working.live_of(workspace).get("endpoints", ())),
            revision=workspace.live_revision,
            key=_key_of(workspace),
            decision=Decision.objects.filter(workspace=workspace).order_by("id").first(),
        )

    @property
    def done(self) -> dict[str, bool]:
        return {"catalog": self.live > 0, "key": self.key is not None, "decision": self.decision is not None}

    @property
    def current(self) -> str:
        """The first step that is not done; empty when all are."""
        return next((step for step, done in self.done.items() if not done), "")


def _key_of(workspace: Workspace) -> HarnessKey | None:
    """The key of the first start counts once it is used: until then nobody may know that it is there."""
    rows = [row for row in HarnessKey.objects.filter(workspace=workspace, revoked_at=None)[:50] if keys.is_usable(row)]
    return next((row for row in rows if row.last_used_at), None) or next(
        (row for row in rows if not is_installation(row.created_by)), None
    )


def leads(user: Any, workspace: Workspace) -> bool:
    """Whether somebody who signs in is led here: nothing is there at all, and they did not leave this page before."""
    member = Membership.objects.filter(user=user, workspace=workspace, setup_left_at=None)
    empty = not EndpointRow.objects.filter(workspace=workspace).exists() and not working.live_of(workspace).get(
        "endpoints"
    )
    return empty and not Decision.objects.filter(workspace=workspace).exists() and member.exists()


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@may("overview.view", posts="registry.import")
def page(request: Any, workspace: Workspace) -> HttpResponse:
    if request.method == "POST":
        return _begin(request, workspace, request.POST.get("from", ""))
    template = "setup/page.html" + ("#stage" if request.htmx else "")
    return render(request, template, _told(request, workspace) | {"oob": request.htmx, "beside": request.htmx})


def _begin(request: Any, workspace: Workspace, beginning: str) -> HttpResponse:
    """Where the catalog comes from: the demo is loaded by a worker, the others have pages of their own."""
    if beginning in FROM:
        return redirect(FROM[beginning], workspace.name)
    if beginning != "demo":
        messages.error(request, "Choose where the catalog should come from.")
        return redirect("setup", workspace.name)
    must(request, "workspace.configure", "loading the demo catalog")
    try:
        requested.request(workspace, by=request.actor)
    except Superseded as error:
        messages.error(request, error.message)
    return redirect("setup", workspace.name)


@require_safe
@may("overview.view")
def progress(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    """The steps and the first answer alone, which the page fetches anew: nothing that somebody fills in."""
    return render(request, "setup/page.html#progress", _told(request, workspace) | {"oob": True})


@never_cache
@require_POST
@may("key.manage")
def make_key(request: Any, workspace: Workspace) -> HttpResponse:
    """A key with the usual rights; it is shown on the answer to this, once."""
    form = key_form(request, workspace, _usual(request))
    if not form.is_valid():
        return _again(request, workspace, form)
    given = form.cleaned_data
    try:
        row, plain = keys.create_key(
            workspace, given["scope"], name=given["name"].strip(), rights=given["rights"], by=request.actor
        )
    except InvalidRequest as error:
        refuse(form, error.details, str(error))
        return _again(request, workspace, form)
    return render(request, "setup/page.html", _told(request, workspace, "decision") | {"made": row, "plain": plain})


def _usual(request: Any) -> dict[str, Any]:
    rights = [right for right in DEFAULT_RIGHTS if right in rights_of(request.role)]
    return {"name": request.POST.get("name", ""), "scope": request.POST.get("scope", "default"), "rights": rights}


def _again(request: Any, workspace: Workspace, form: KeyForm) -> HttpResponse:
    return render(request, "setup/page.html", _told(request, workspace, "key") | {"form": form}, status=422)


@require_POST
@may("overview.view")
def leave(request: Any, workspace: Workspace) -> HttpResponse:
    """Not to be led here any more; the finder and the account's menu still know the page."""
    preferences.leave_setup(request.user, workspace)
    return redirect("overview", workspace.name)


# --- what is shown ----------------------------------------------------------------------------------------------------
def _told(request: Any, workspace: Workspace, shown: str = "") -> dict[str, Any]:
    facts = Facts.of(workspace)
    asked = request.GET.get("step", "")
    shown = shown or (asked if asked in STEPS else facts.current or "done")
    return {
        "facts": facts,
        "shown": shown,
        "following": facts.current if facts.current != shown and facts.done.get(shown) else "",
        "everything": not facts.current,
        "asks": _administrators(workspace),
        "stream": _stream(workspace),
        **_catalog(request, workspace),
        **(_key(request, workspace) if shown == "key" else {}),
        **(_decision(request) if shown == "decision" else {}),
        "answer": _answer(facts.decision) if facts.decision else None,
        "origin": connect.origin_of(request),
    }


def _catalog(request: Any, workspace: Workspace) -> dict[str, Any]:
    load = requested.newest(workspace)
    is_open = load is not None and requested.is_open(load)
    return {
        "load": load,
        "loads": is_open,
        "load_failed": load is not None and not is_open and load.state != "finished",
        "load_lost": load is not None and requested.is_lost(load),
        "worker_away": is_open and load is not None and load.state == "queued" and requested.is_worker_away(),
        "is_empty": loading.is_empty(workspace),
        "may_demo": allows(request.role, "workspace.configure"),
    }


def _key(request: Any, workspace: Workspace) -> dict[str, Any]:
    return {"form": key_form(request, workspace, initial={"name": "first-harness", "scope": "default"})}


def _decision(request: Any) -> dict[str, Any]:
    return {"snippets": connect.snippets(connect.origin_of(request)) if allows(request.role, "harness.connect") else []}


def _administrators(workspace: Workspace) -> str:
    rows = Membership.objects.active().filter(workspace=workspace, role=Role.ADMINISTRATOR)
    return named(list(rows.order_by("user__username").values_list("user__username", flat=True)[:20]), 3)


def _answer(decision: Decision) -> dict[str, Any]:
    return {
        "decision": decision,
        "verdict": telling.verdict(decision),
        "say": telling.say(decision),
        "reasons": telling.reasons(decision)[:4],
        "chance": telling.chance(decision),
    }


def _stream(workspace: Workspace) -> str:
    query = {"workspace": workspace.name, "after": str(listings.newest_seq(workspace))}
    return f"{reverse('live-events')}?{urlencode(query)}"
