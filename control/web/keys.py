"""Keys of harnesses: the list, a new one, rotation and the end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from django.views.decorators.vary import vary_on_headers

from control import keys
from control.access import RIGHTS, allows, is_installation, may, rights_of, roles_in
from control.models import HarnessKey, Role
from control.web import confirming
from control.web.confirming import Confirmation
from control.web.filters import Filters, ends
from control.web.forms.people import KeyForm, RotateForm, refuse
from routing import snapshot, working
from routing.errors import InvalidRequest
from routing.listings import PAGE, Page
from routing.models import Workspace

STATES = {"valid": "Valid", "expired": "Expired", "revoked": "Revoked"}
COLUMNS = (("name", "Name", ""), ("scope", "Scope", ""), ("created", "Made", ""), ("used", "Last used", ""))
NEVER = datetime(1970, 1, 1, tzinfo=UTC)  # a key that was never used comes before all others
ORDERS = {"name": "name", "scope": "scope", "created": "pk", "used": "last_used_at"}
RIGHT_WORDS = {
    "decide": "ask for tools, steps and endpoints",
    "call": "call tools and models through the gateway",
    "report": "report what was called and what came of it",
    "read": "read decisions and events of its own scope",
    "simulate": "try out candidate registries",
    "registry.read": "read the registry",
    "registry.write": "change the draft",
    "registry.publish": "publish a revision",
    "registry.review": "approve and reject proposals",
    "metrics": "read the metrics",
}


@require_safe
@vary_on_headers("HX-Request")
@may("key.view")
def listing(request: Any, workspace: Workspace) -> HttpResponse:
    filters = Filters.read(request, reverse("keys", args=[workspace.name]), ("q", "scope", "state"), tuple(ORDERS))
    everything = HarnessKey.objects.filter(workspace=workspace)
    sort = filters.sort or "-created"
    fitting = _filtered(everything, filters.chosen)
    page = _page(fitting, sort, after=request.GET.get("after", ""), before=request.GET.get("before", ""))
    roles = roles_in(workspace.pk)
    context = {
        "filters": filters,
        "chosen": filters.chosen,
        "active": filters.chips({"q": "about"}),
        "clear": filters.path,
        "heads": filters.heads(COLUMNS, "-created"),
        "rows": [_line(row, roles) for row in page.rows],
        "total": everything.count(),
        "fitting": fitting.count() if filters.chosen else 0,
        "scopes": sorted(set(everything.order_by().values_list("scope", flat=True))),
        "states": list(STATES.items()),
        "manages": allows(request.role, "key.manage"),
        "connects": allows(request.role, "harness.connect"),
    } | {**ends(filters, page, upwards=False), "previous_word": "Previous", "next_word": "Next", "first_word": "first"}
    return render(request, "keys/list.html" + ("#list" if request.htmx else ""), context)


def _page(rows: QuerySet[Any], sort: str, *, after: str, before: str) -> Page:
    """One page from the database; its edges are named by the keys that stand there, so it holds still while keys are made."""
    down, column = sort.startswith("-"), ORDERS[sort.removeprefix("-")]
    rows = rows.annotate(place=Coalesce(column, Value(NEVER)) if column == "last_used_at" else F(column))
    edge = _edge(rows, after or before)
    turned = edge is not None and not after
    further = down == turned  # whether what is asked for has larger values
    if edge is not None:
        beyond = "gt" if further else "lt"
        ahead = Q(**{f"place__{beyond}": edge.place}) | Q(place=edge.place, **{f"pk__{beyond}": edge.pk})
        rows = rows.filter(ahead)
    order = ("place", "pk") if further else ("-place", "-pk")
    found = list(rows.order_by(*order)[: PAGE + 1])
    shown, more = found[:PAGE][:: -1 if turned else 1], len(found) > PAGE
    first, last = (str(shown[0].pk), str(shown[-1].pk)) if shown else (None, None)
    return Page(
        rows=shown,
        previous=first if (more if turned else edge is not None) else None,
        next=last if (more or turned) else None,
    )


def _edge(rows: QuerySet[Any], named: str) -> Any:
    """The key that a page begins behind; None for the first page, and for a key that is not there any more."""
    try:
        return rows.filter(pk=UUID(named)).first() if named else None
    except ValueError:
        return None


def _filtered(rows: QuerySet[Any], chosen: Any) -> QuerySet[Any]:
    now = timezone.now()
    ended = Q(expires_at__isnull=False, expires_at__lte=now)
    if needle := chosen.get("q", "").replace("\0", ""):
        rows = rows.filter(Q(name__icontains=needle) | Q(ends_with=needle) | Q(created_by__icontains=needle))
    if "scope" in chosen:
        rows = rows.filter(scope=chosen["scope"].replace("\0", ""))
    match chosen.get("state"):
        case "valid":
            rows = rows.filter(revoked_at__isnull=True).exclude(ended)
        case "expired":
            rows = rows.filter(ended, revoked_at__isnull=True)
        case "revoked":
            rows = rows.filter(revoked_at__isnull=False)
    return rows


def _line(row: HarnessKey, roles: Mapping[str, str]) -> dict[str, Any]:
    role = str(Role.ADMINISTRATOR) if is_installation(row.created_by) else roles.get(row.created_by)
    return {
        "key": row,
        "state": "revoked" if row.revoked_at else "valid" if keys.is_usable(row) else "expired",
        "is_orphan": role is None,
        "withheld": sorted(set(row.rights) - rights_of(role)),
        "overlaps": row.previous_until is not None and row.previous_until > timezone.now(),
    }


# --- one more -------------------------------------------------------------------------------------------------------
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@may("key.manage")
def create(request: Any, workspace: Workspace) -> HttpResponse:
    if request.method != "POST":
        return _form(
            request, workspace, key_form(request, workspace, initial={"scope": request.GET.get("scope", "default")})
        )
    form = key_form(request, workspace, request.POST)
    if not form.is_valid():
        return _form(request, workspace, form, status=422)
    given = form.cleaned_data
    try:
        row, plain = keys.create_key(
            workspace,
            given["scope"],
            name=given["name"].strip(),
            rights=given["rights"],
            expires_days=given["expires"],
            allowed_addresses=form.addresses(),
            by=request.actor,
        )
    except InvalidRequest as error:
        refuse(form, error.details, str(error))
        return _form(request, workspace, form, status=422)
    return _shown(request, row, plain)


def key_form(request: Any, workspace: Workspace, data: Any = None, **more: Any) -> KeyForm:
    """Scopes that harnesses are answered from, then those that only the draft has; rights that the person has too."""
    live = list(snapshot.live(workspace.pk).catalog.scopes)
    drafted = [scope["name"] for scope in working.copy_of(workspace).document.get("scopes", ())]
    return KeyForm(data, scopes=dict.fromkeys([*live, *drafted]), grantable=rights_of(request.role), **more)


def _form(request: Any, workspace: Workspace, form: KeyForm, *, status: int = 200) -> HttpResponse:
    chosen = set(form["rights"].value() or ())
    offered = {right for right, _ in form.fields["rights"].choices}  # type: ignore[attr-defined]
    context = {
        "form": form,
        "rights": [
            {"right": right, "word": RIGHT_WORDS[right], "chosen": right in chosen, "offered": right in offered}
            for right in RIGHTS
        ],
    }
    return render(request, "keys/new.html", context, status=status)


def _shown(request: HttpRequest, row: HarnessKey, plain: str, **more: Any) -> HttpResponse:
    return render(request, "keys/made.html", {"key": row, "plain": plain} | more)


def _find(workspace: Workspace, key: Any) -> HarnessKey:
    row = HarnessKey.objects.filter(workspace=workspace, pk=key).first()
    if row is None:
        raise Http404
    return row


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@may("key.manage")
def rotate(request: Any, workspace: Workspace, key: Any) -> HttpResponse:
    row = _find(workspace, key)
    form = RotateForm(request.POST if request.method == "POST" else None, initial={"seen": keys.state_of(row)})
    if request.method == "POST" and form.is_valid():
        try:
            overlap, seen = form.cleaned_data["overlap"], form.cleaned_data["seen"]
            plain = keys.rotate_key(row, overlap_hours=overlap, seen=seen or None, by=request.actor)
        except InvalidRequest as error:
            refuse(form, error.details, str(error))
        else:
            return _shown(request, row, plain, rotated=True)
    context = {"key": row, "form": form, "withheld": sorted(set(row.rights) - rights_of(request.role))}
    return render(request, "keys/rotate.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@may("key.manage")
def revoke(request: Any, workspace: Workspace, key: Any) -> HttpResponse:
    row = _find(workspace, key)
    if request.method == "POST":
        keys.revoke_key(row, by=request.actor)
        return _back(request, workspace, f"Key {row.name} is revoked")
    return confirming.ask(
        request,
        Confirmation(
            title=f"Revoke key {row.name}?",
            stops=_stops(row),
            back="A revoked key never comes back; make a new one instead.",
            action=reverse("key-revoke", args=[workspace.name, row.pk]),
            deed="Revoke",
            keep="Keep it",
            away=reverse("keys", args=[workspace.name]),
        ),
    )


def _stops(row: HarnessKey) -> list[str]:
    used = (
        f"It was used last on {timezone.localtime(row.last_used_at):%d %b %Y, %H:%M %Z}."
        if row.last_used_at
        else "It was never used."
    )
    return [f"Whoever calls with it (scope {row.scope}) is refused within a second.", used]


def _back(request: HttpRequest, workspace: Workspace, said: str) -> HttpResponse:
    messages.success(request, said)
    return redirect("keys", workspace.name)
