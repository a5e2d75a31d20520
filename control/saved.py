"""Saved views of lists: filters and order under a name, for oneself or shared with the workspace."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from control.models import DefaultView, SavedView
from routing.engine.validation.visible import fault_of_line
from routing.errors import InvalidRequest
from routing.models import Actor, Workspace
from routing.services import audit

MOST = 30  # of a person on one list, and as many shared ones
LONGEST_NAME = 60


def of(user: Any, workspace: Workspace) -> QuerySet[SavedView]:
    """What a person has in a workspace, by list and name: their own views and the shared ones, each with `is_default`."""
    chosen = DefaultView.objects.filter(user=user, view=OuterRef("pk"))
    mine = Q(user=user, shared=False) | Q(shared=True)
    rows = SavedView.objects.filter(mine, workspace=workspace).annotate(is_default=Exists(chosen))
    return rows.order_by("page", "shared", "name")


@transaction.atomic
def save(
    user: Any, workspace: Workspace, page: str, *, name: str, query: str, shared: bool = False, by: Actor
) -> SavedView:
    """Keep a query string of a list. Raises InvalidRequest for a name that is no name or taken, or when there are too many."""
    _lock(workspace)
    kin = _kin(user, workspace, page, shared)
    name = _named(name, kin)
    if kin.count() >= MOST:
        raise InvalidRequest(
            f"There are {MOST} {'shared views' if shared else 'views'} of this list. Delete one first."
        )
    view = SavedView.objects.create(user=user, workspace=workspace, page=page, name=name, query=query, shared=shared)
    _tell(view, "view.shared", by=by, after=_facts(view))
    return view


@transaction.atomic
def rename(view: SavedView, name: str, *, by: Actor) -> None:
    """Raises InvalidRequest for a name that is no name or taken."""
    _lock(view.workspace)
    before = _facts(view)
    view.name = _named(name, _kin(view.user, view.workspace, view.page, view.shared).exclude(pk=view.pk))
    view.save(update_fields=["name"])
    _tell(view, "view.renamed", by=by, before=before, after=_facts(view))


@transaction.atomic
def remove(view: SavedView, *, by: Actor) -> None:
    _lock(view.workspace)
    _tell(view, "view.removed", by=by, before=_facts(view))
    view.delete()


def choose(user: Any, view: SavedView) -> None:
    """Open the view's list with it from now on, for this person."""
    place = {"user": user, "workspace": view.workspace, "page": view.page}
    DefaultView.objects.update_or_create(**place, defaults={"view": view})


def choose_none(user: Any, view: SavedView) -> None:
    """Open the view's list as it is again."""
    DefaultView.objects.filter(user=user, view=view).delete()


def _kin(user: Any, workspace: Workspace, page: str, shared: bool) -> QuerySet[SavedView]:
    """Those among which a name stands alone: a person's own on a list, or the shared ones."""
    rows = SavedView.objects.filter(workspace=workspace, page=page, shared=shared)
    return rows if shared else rows.filter(user=user)


def _named(name: str, kin: QuerySet[SavedView]) -> str:
    name = " ".join(name.split())
    if not name:
        raise InvalidRequest("Give the view a name.")
    if len(name) > LONGEST_NAME:
        raise InvalidRequest(f"A name has at most {LONGEST_NAME} characters.")
    if fault := fault_of_line(name):
        raise InvalidRequest(f"A name must not hold {fault}.")
    if kin.filter(name=name).exists():
        raise InvalidRequest(f"Another view of this list is named {name}.")
    return name


def _lock(workspace: Workspace) -> None:
    """Two who save at once wait for one another, so that neither the bound nor a name is passed by."""
    Workspace.objects.select_for_update().get(pk=workspace.pk)


def _facts(view: SavedView) -> dict[str, Any]:
    return {"name": view.name, "list": view.page, "query": view.query}


def _tell(view: SavedView, action: str, *, by: Actor, **facts: Any) -> None:
    """What one keeps for oneself is nobody else's business."""
    if view.shared:
        audit.record(view.workspace_id, action, f"view {view.name}", by=by, **facts)
