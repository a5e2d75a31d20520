"""Rows that many tests begin with: made by the services once in a process, and put back as they were for every other test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.apps import apps
from django.db import transaction
from django.db.models import Model

from routing.models import AuditEntry, Generation, Workspace
from routing.services import registry, revisions
from tests.routing.conftest import DOCUMENT, EDITOR

Rows = list[tuple[type[Model], list[Mapping[str, Any]]]]
_known: Rows = []


def two_endpoints() -> Workspace:
    """The workspace acme in an empty database. In one that is not empty it is made as ever."""
    if any(model._base_manager.exists() for model in (Workspace, Generation, AuditEntry)):
        return _made()
    if not _known:
        made = _made()
        _known.extend((model, rows) for model in _models() if (rows := list(model._base_manager.values())))
        return made
    with transaction.atomic():  # what refers to what is looked at when it ends
        for model, rows in _known:
            model._base_manager.bulk_create([model(**row) for row in rows])
    return Workspace.objects.get(name="acme")


def _made() -> Workspace:
    workspace = registry.create_workspace("acme", by=EDITOR)
    registry.replace_working_copy(workspace, DOCUMENT, by=EDITOR)
    revisions.publish(workspace, message="Two endpoints", by=EDITOR)
    return workspace


def _models() -> list[type[Model]]:
    return [model for app in ("routing", "control") for model in apps.get_app_config(app).get_models()]
