"""What the frame around every page needs. Counts are callables, asked once and only by a template that shows them."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.http import HttpRequest

from control import preferences
from control.access import allows
from control.web import shortcuts, source_state
from routing.models import EndpointRow, Revision, Workspace
from routing.services import registry
from routing.services.doctor import ignoring

THEME_COOKIE = "switchyard_theme"
THEMES = (
    {"value": "light", "label": "Light"},
    {"value": "dark", "label": "Dark"},
    {"value": "auto", "label": "System"},
)
_WORDS = {"light": "light", "dark": "dark", "auto": "as the system"}
_NEXT = {"light": "dark", "dark": "auto", "auto": "light"}


def frame(request: HttpRequest) -> dict[str, Any]:
    """Context processor: theme, and inside a workspace its name, counts, draft and the person's role there."""
    return _theme(request) | _place(request)


def theme_of(request: HttpRequest) -> str:
    """What the person chose; on a page for nobody in particular, what was last chosen in this browser."""
    theme = preferences.of(request).theme or request.COOKIES.get(THEME_COOKIE, "auto")
    return theme if theme in _WORDS else "auto"


def _theme(request: HttpRequest) -> dict[str, Any]:
    theme = theme_of(request)
    following = _NEXT[theme]
    return {
        "theme": theme,
        "theme_word": _WORDS[theme],
        "themes": THEMES,
        "next_theme": {"value": following, "word": _WORDS[following]},
        "time_zone": preferences.of(request).zone,
        "time_zones": preferences.zones,
    }


def _place(request: HttpRequest) -> dict[str, Any]:
    workspace: Workspace | None = getattr(request, "workspace", None)
    role = getattr(request, "role", None)
    if workspace is None:
        return {"workspace": None}
    return {
        "workspace": workspace,
        "role": role,
        "shortcuts": shortcuts.of(role),
        "can": _can(workspace, role),
        "source": cache(lambda: source_state.of(workspace)),
        "source_place": source_state.place_of(request),
        "workspaces": cache(lambda: list(Workspace.objects.visible_to(request.user))),
        "live_number": cache(lambda: workspace.live_revision.number if workspace.live_revision else None),
        "draft_count": cache(lambda: draft_count(workspace)),
        "endpoint_count": cache(lambda: EndpointRow.objects.filter(workspace=workspace).count()),
        "finding_count": cache(lambda: ignoring.open_count(workspace)),
        "revision_count": cache(lambda: Revision.objects.filter(workspace=workspace).count()),
    }


_CAN = {
    "see_registry": "registry.view",
    "edit": "endpoint.edit",
    "inspect": "endpoint.inspect",
    "label": "decision.label",
    "ignore_finding": "finding.ignore",
    "edit_provider": "provider.edit",
    "test_provider": "provider.test",
    "reset_provider": "provider.reset",
    "settle_provider": "provider.settle",
    "try_registry": "registry.try",
    "edit_capability": "capability.edit",
    "edit_policy": "policy.edit",
    "edit_scope": "scope.edit",
    "edit_expectation": "expectation.edit",
    "override": "expectation.override",
    "discard": "draft.discard",
    "publish": "revision.publish",
    "see_audit": "audit.view",
    "see_settings": "workspace.view",
    "configure": "workspace.configure",
    "propose": "draft.propose",
    "review": "revision.review",
    "restore": "revision.restore",
    "emergency": "revision.emergency",
    "read_query": "query.read",
    "see_people": "people.view",
    "see_keys": "key.view",
    "make_key": "key.manage",
    "connect": "harness.connect",
    "share_view": "view.share",
    "import": "registry.import",
}


# What a registry that is changed in its file alone refuses to everybody.
_EDITS = {"edit", "edit_capability", "edit_policy", "edit_scope", "edit_expectation", "restore", "import"}


def _can(workspace: Workspace, role: str | None) -> dict[str, bool]:
    refused = _EDITS if workspace.is_read_only else frozenset()
    return {name: name not in refused and allows(role, action) for name, action in _CAN.items()}


def draft_count(workspace: Workspace) -> int:
    return registry.draft_change_count(workspace)
