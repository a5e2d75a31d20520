"""Who may do what. Roles of people and rights of keys lead to actions here, and every door asks here.

A person without a role in a workspace finds nothing there (404); a member whose role lacks the action is told so (403).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase

from control import preferences
from control.gate import to_sign_in
from control.models import Membership, Role
from routing.choices import AuditResult
from routing.models import Actor, Workspace
from routing.services import audit, registry

_EVERYBODY = {
    "overview.view",
    "decision.view",
    "revision.view",
    "live.view",
    "people.view",
    "key.view",
    "workspace.view",
}
_LOOK = _EVERYBODY | {"registry.view", "harness.connect"}
_AUDIT = _EVERYBODY | {"ledger.verify", "audit.view"}
_EDIT = {
    "endpoint.edit",
    "endpoint.inspect",
    "finding.ignore",
    "decision.label",
    "provider.edit",
    "provider.test",
    "provider.reset",
    "capability.edit",
    "policy.edit",
    "scope.edit",
    "expectation.edit",
    "draft.discard",
    "draft.propose",
    "revision.restore",
    "key.manage",
    "harness.ask",
    "harness_session.reset",
    "search.run",
    "registry.try",
    "registry.import",
    "replay.run",
    "view.share",
}
_REVIEW = {
    "decision.label",
    "draft.propose",
    "replay.run",
    "revision.review",
    "revision.publish",
    "source.write",
    "view.share",
}
_RULE = {
    "query.read",
    "revision.emergency",
    "expectation.override",
    "workspace.configure",
    "provider.settle",
    "people.manage",
    "metrics.view",
}

# One table: what each role may do.
ROLES: dict[str, frozenset[str]] = {
    Role.VIEWER: frozenset(_LOOK),
    Role.AUDITOR: frozenset(_AUDIT),
    Role.EDITOR: frozenset(_LOOK | _EDIT),
    Role.REVIEWER: frozenset(_LOOK | _REVIEW),
    Role.ADMINISTRATOR: frozenset(_LOOK | _AUDIT | _EDIT | _REVIEW | _RULE),
}
ACTIONS = frozenset().union(*ROLES.values())

# Edits of the registry: where it is kept in a file, the console opens no form for them.
_EDITS_REGISTRY = frozenset(
    {
        "endpoint.edit",
        "provider.edit",
        "capability.edit",
        "policy.edit",
        "scope.edit",
        "expectation.edit",
        "registry.import",
        "revision.restore",
    }
)

# What a harness key may be allowed to do, and what the person who made it has to be allowed for it, each time it is used.
RIGHT_NEEDS = {
    "decide": "harness.ask",
    "call": "harness.ask",
    "report": "harness.ask",
    "read": "decision.view",
    "simulate": "registry.try",
    "registry.read": "registry.view",
    "registry.write": "endpoint.edit",
    "registry.publish": "revision.publish",
    "registry.review": "revision.review",
    "metrics": "metrics.view",
}
RIGHTS = tuple(RIGHT_NEEDS)
DEFAULT_RIGHTS = ("decide", "call", "report", "read")
# Those whose every use is told to the audit log.
ADMINISTRATIVE = frozenset({"registry.write", "registry.publish", "registry.review"})


def allows(role: str | None, action: str) -> bool:
    return role is not None and action in ROLES.get(role, frozenset())


def rights_of(role: str | None) -> frozenset[str]:
    """The rights that a key can have at most when somebody in this role made it."""
    return frozenset(right for right, action in RIGHT_NEEDS.items() if allows(role, action))


def is_installation(made_by: str) -> bool:
    """Whether a key is the installation's own: made by a command, which acts as an administrator."""
    return made_by.startswith("system ")  # no user name holds a space


def role_of_maker(workspace_id: Any, made_by: str) -> str | None:
    """The role in which a key acts: that of the person who made it, today; the installation's own keys are administrators'."""
    if is_installation(made_by):
        return str(Role.ADMINISTRATOR)
    memberships = Membership.objects.active().filter(workspace_id=workspace_id, user__username=made_by)
    return memberships.values_list("role", flat=True).first()


def roles_in(workspace_id: Any) -> dict[str, str]:
    """The role of everybody who gets into a workspace, by user name."""
    return dict(Membership.objects.active().filter(workspace_id=workspace_id).values_list("user__username", "role"))


def may_publish(workspace_id: Any, person: str) -> bool:
    """Whether a person (or the installation) may publish in a workspace today: asked when a schedule comes to its time."""
    return allows(role_of_maker(workspace_id, person), "revision.publish")


def may(action: str, *, posts: str = "") -> Callable[..., Any]:
    """Let a console view run only for members of its workspace whose role has the action; `posts` where POST needs another.

    The view takes `workspace` (a name in the URL); it receives the row, and `request.workspace`, `request.role` and
    `request.actor` are set. Whoever is not signed in goes to the sign-in page and comes back.
    """
    posts = posts or action
    if unknown := {action, posts} - ACTIONS:
        raise ValueError(f"no role has the action {', '.join(sorted(unknown))}")

    def decorate(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @functools.wraps(view)
        def guarded(request: Any, workspace: str, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return to_sign_in(request)
            enter(request, workspace, posts if request.method == "POST" else action)
            if request.method != "POST" and action in _EDITS_REGISTRY:
                registry.refuse_where_a_file_is_the_source(request.workspace)
            return view(request, request.workspace, *args, **kwargs)

        guarded.action, guarded.posts = action, posts  # type: ignore[attr-defined]
        return guarded

    return decorate


def enter(request: Any, workspace: str, action: str) -> None:
    """Put the workspace, the person's role in it and the actor on the request, or refuse."""
    actor = Actor(kind="operator", name=request.user.get_username())
    row = Workspace.objects.visible_to(request.user).select_related("live_revision").filter(name=workspace).first()
    if row is None:
        note_stranger(request, workspace, by=actor)
        raise Http404
    request.workspace = row
    member = Membership.objects.values_list("role", "user__preference__theme", "user__preference__time_zone")
    request.role, theme, time_zone = member.get(user=request.user, workspace=row)
    preferences.settle(request, theme=theme, time_zone=time_zone)
    request.actor = actor
    if not allows(request.role, action):
        note_denied(request, row.pk, by=actor, lacks=action, role=request.role)
        raise PermissionDenied(f"Your role here, {request.role}, does not include this.")


def must(request: Any, action: str, doing: str) -> None:
    """What a form asks for beyond its page's own action is allowed, or refused and told."""
    if not allows(request.role, action):
        note_denied(request, request.workspace.pk, by=request.actor, lacks=action, role=request.role)
        raise PermissionDenied(f"Your role here, {request.role}, does not include {doing}.")


def note_denied(
    request: HttpRequest, workspace_id: Any, *, by: Actor, lacks: str, role: str | None = None, status: int = 403
) -> None:
    """Tell the audit log that somebody was refused: what was asked for without its query, and what was missing."""
    told = {"status": status, "lacks": lacks} | ({"role": role} if role else {})
    target = f"{request.method} {request.path_info}"
    audit.record(workspace_id, "access.denied", target, by=by, after=told, result=AuditResult.REFUSED)


def note_stranger(request: HttpRequest, workspace: str, *, by: Actor) -> None:
    """The same of a person who asks for a workspace of others; nothing of one that does not exist."""
    theirs = Workspace.objects.filter(name=workspace).values_list("pk", flat=True).first()
    if theirs is not None:
        note_denied(request, theirs, by=by, lacks="membership", status=404)
