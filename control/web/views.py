"""Saved views: the menu on every list, and the page where views are saved, renamed, deleted and made the default."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from control import saved
from control.access import allows, may, must
from control.models import SavedView
from control.web import going, toasts
from control.web.filters import ALL, LONGEST
from routing.errors import InvalidRequest
from routing.models import Workspace

# What each list is called, and what a role needs to see it.
LISTS = {
    "decisions": ("Decisions", "decision.view"),
    "endpoints": ("Endpoints", "registry.view"),
    "tools": ("Tools", "registry.view"),
    "capabilities": ("Capabilities", "registry.view"),
    "scopes": ("Scopes", "registry.view"),
    "expectations": ("Expectations", "registry.view"),
    "revisions": ("Revisions", "revision.view"),
    "audit": ("Audit log", "audit.view"),
}
PLACES = ("after", "before", "page", "view")  # where in a list somebody is, which is no part of a view
MOST_FILTERS = 16
_WORD = re.compile(r"[a-z_]{1,32}")


def kept(page: str) -> Callable[..., Any]:
    """Give a list its saved views as `request.views`; opened without a question, it leads to the person's default view."""

    def decorate(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @functools.wraps(view)
        def with_views(request: Any, workspace: Workspace, *args: Any, **kwargs: Any) -> HttpResponseBase:
            views = list(saved.of(request.user, workspace).filter(page=page))
            request.views = [told(workspace, one) for one in views]
            request.views_page = page
            request.default_view = next((one for one in request.views if one["is_default"]), None)
            if request.default_view and not request.GET and not request.htmx:
                return redirect(request.default_view["address"])
            return view(request, workspace, *args, **kwargs)

        return with_views

    return decorate


def told(workspace: Workspace, view: SavedView) -> dict[str, Any]:
    path = reverse(view.page, args=[workspace.name])
    return {
        "pk": view.pk,
        "name": view.name,
        "shared": view.shared,
        "mine": view.user_id,
        "query": view.query,
        "is_default": view.is_default,  # type: ignore[attr-defined]  # annotated by saved.of
        "address": f"{path}?{view.query or ALL}",
        "title": LISTS[view.page][0],
    }


def clean(query: str) -> str:
    """The filters and the order of a query string, in one spelling; whatever else is in it falls away."""
    pairs = parse_qsl(query[: LONGEST * MOST_FILTERS], max_num_fields=MOST_FILTERS * 4)
    fitting = {
        name: value.replace("\0", "").strip()[:LONGEST]
        for name, value in pairs
        if _WORD.fullmatch(name) and name not in PLACES
    }
    return urlencode(dict(list(fitting.items())[:MOST_FILTERS]))


@require_http_methods(["GET", "HEAD", "POST"])
@may("overview.view")
def page(request: Any, workspace: Workspace) -> HttpResponse:
    if request.method != "POST":
        return _show(request, workspace)
    deed = _DEEDS.get(request.POST.get("do", ""))
    if deed is None:
        raise Http404
    try:
        return deed(request, workspace)
    except InvalidRequest as error:
        return _show(request, workspace, status=422, problem=error.message, tried=request.POST)


def _show(request: Any, workspace: Workspace, status: int = 200, **more: Any) -> HttpResponse:
    rows = saved.of(request.user, workspace)
    views = [told(workspace, one) for one in rows if allows(request.role, LISTS[one.page][1])]
    context = {"views": views, "may_share": allows(request.role, "view.share"), "most": saved.MOST} | more
    return render(request, "views/list.html", context, status=status)


def _save(request: Any, workspace: Workspace) -> HttpResponse:
    page, shared = request.POST.get("page", ""), request.POST.get("shared") == "yes"
    if page not in LISTS:
        raise Http404
    _refuse_unless(request, LISTS[page][1])
    if shared:
        _refuse_unless(request, "view.share")
    query = clean(_query(request.POST.get("query", "")))
    view = saved.save(
        request.user,
        workspace,
        page,
        name=request.POST.get("name", "")[:1000],
        query=query,
        shared=shared,
        by=request.actor,
    )
    messages.success(request, f"View {view.name} saved{' for everybody here' if shared else ''}")
    return going.to(request, f"{reverse(page, args=[workspace.name])}?{query or ALL}")


def _query(given: str) -> str:
    return given.partition("?")[2] if "?" in given else "" if given.startswith("/") else given


def _rename(request: Any, workspace: Workspace) -> HttpResponse:
    view = _own(request, workspace)
    saved.rename(view, request.POST.get("name", "")[:1000], by=request.actor)
    messages.success(request, f"View renamed to {view.name}")
    return going.to(request, reverse("views", args=[workspace.name]))


def _remove(request: Any, workspace: Workspace) -> HttpResponse:
    view, here = _own(request, workspace), reverse("views", args=[workspace.name])
    again = [("do", "save"), ("page", view.page), ("name", view.name), ("query", view.query)]
    again += [("shared", "yes")] if view.shared else []
    saved.remove(view, by=request.actor)
    toasts.saved(request, f"View {view.name} deleted", action=here, undo={"fields": again})
    return going.to(request, here)


def _default(request: Any, workspace: Workspace) -> HttpResponse:
    view = _find(request, workspace)
    saved.choose(request.user, view)
    messages.success(request, f"{LISTS[view.page][0]} opens with {view.name} from now on")
    return going.to(request, reverse("views", args=[workspace.name]))


def _usual(request: Any, workspace: Workspace) -> HttpResponse:
    view = _find(request, workspace)
    saved.choose_none(request.user, view)
    messages.success(request, f"{LISTS[view.page][0]} opens without a view from now on")
    return going.to(request, reverse("views", args=[workspace.name]))


_DEEDS: dict[str, Callable[[Any, Workspace], HttpResponse]] = {
    "save": _save,
    "rename": _rename,
    "delete": _remove,
    "default": _default,
    "usual": _usual,
}


def _find(request: Any, workspace: Workspace) -> SavedView:
    """One that the person sees; any other is not there."""
    given = request.POST.get("view", "")
    known = given.isascii() and given.isdecimal() and len(given) < 18
    view = saved.of(request.user, workspace).filter(pk=int(given)).first() if known else None
    if view is None or not allows(request.role, LISTS[view.page][1]):
        raise Http404
    return view


def _own(request: Any, workspace: Workspace) -> SavedView:
    """One that the person may change: their own, or a shared one when they may share."""
    view = _find(request, workspace)
    if view.shared:
        _refuse_unless(request, "view.share")
    return view


def _refuse_unless(request: Any, action: str) -> None:
    must(request, action, "this")
