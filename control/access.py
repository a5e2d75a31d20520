"""Who may do what. Roles of people and rights of keys lead to actions here, and every door asks here.

A person without a role in a workspace finds nothing there (404); a member whose role lacks the action is told so (403).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode

from control.models import Membership, Role
from routing.models import Actor, Workspace

_LOOK = {"overview.view", "decision.view", "registry.view", "revision.view", "live.view"}
_AUDIT = {"overview.view", "decision.view", "revision.view", "live.view", "ledger.verify"}
_EDIT = {"endpoint.edit", "capability.edit", "draft.discard"}

# One table: what each role may do.
ROLES: dict[str, frozenset[str]] = {
    Role.VIEWER: frozenset(_LOOK),
    Role.AUDITOR: frozenset(_AUDIT),
    Role.EDITOR: frozenset(_LOOK | _EDIT),
    Role.REVIEWER: frozenset(_LOOK | {"revision.review", "revision.publish"}),
    Role.ADMINISTRATOR: frozenset(
        _LOOK | _AUDIT | _EDIT | {"revision.review", "revision.publish", "workspace.configure"}
    ),
}
ACTIONS = frozenset().union(*ROLES.values())

# What a harness key may be allowed to do.
RIGHTS = (
    "decide",
    "call",
    "report",
    "read",
    "simulate",
    "registry.read",
    "registry.write",
    "registry.publish",
    "registry.review",
    "metrics",
)
DEFAULT_RIGHTS = ("decide", "call", "report", "read")


def allows(role: str | None, action: str) -> bool:
    return role is not None and action in ROLES.get(role, frozenset())


def may(action: str) -> Callable[..., Any]:
    """Let a console view run only for members of its workspace whose role has the action.

    The view takes `workspace` (a name in the URL); it receives the row, and `request.workspace`, `request.role` and
    `request.actor` are set. Whoever is not signed in goes to the sign-in page and comes back.
    """
    if action not in ACTIONS:
        raise ValueError(f"no role has the action {action}")

    def decorate(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @functools.wraps(view)
        def guarded(request: Any, workspace: str, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return _to_sign_in(request)
            enter(request, workspace, action)
            return view(request, request.workspace, *args, **kwargs)

        guarded.action = action  # type: ignore[attr-defined]
        return guarded

    return decorate


def enter(request: Any, workspace: str, action: str) -> None:
    """Put the workspace, the person's role in it and the actor on the request, or refuse."""
    row = get_object_or_404(Workspace.objects.visible_to(request.user).select_related("live_revision"), name=workspace)
    request.workspace = row
    request.role = Membership.objects.values_list("role", flat=True).get(user=request.user, workspace=row)
    request.actor = Actor(kind="operator", name=request.user.get_username())
    if not allows(request.role, action):
        raise PermissionDenied(f"Your role here, {request.role}, does not include this.")


def _to_sign_in(request: HttpRequest) -> HttpResponseBase:
    address = f"{reverse('sign-in')}?{urlencode({'next': request.get_full_path()})}"
    if request.headers.get("HX-Request"):
        response = redirect(address)
        response.status_code = 204
        response["HX-Redirect"] = address
        return response
    return redirect(address)
