"""The live registry of an installation on this machine: the one question for which Django is loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from control.asking.errors import NoAnswer

WORKSPACE = "default"


def live_document() -> Mapping[str, Any]:
    """Raises NoAnswer where there is no installation, saying how to name a registry instead."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "control.settings"
    import django
    from pydantic import ValidationError

    from control.place import Refused

    try:
        from control.environment import environment

        environment.only_look()
        django.setup()
        return _read()
    except (Refused, ValidationError) as problem:
        first = str(problem).splitlines()[0]
        raise NoAnswer(f"the installation here cannot be read: {first}; name a registry with --registry FILE") from None


def _read() -> Mapping[str, Any]:
    from django.db import DatabaseError

    from control import preparation
    from routing.models import Workspace
    from routing.services import revisions

    try:
        reason = preparation.why_not_started()
        workspace = None if reason else Workspace.objects.filter(name=WORKSPACE).first()
    except (preparation.DatabaseAway, DatabaseError) as problem:
        reason, workspace = str(problem).splitlines()[0], None
    if workspace is None:
        raise NoAnswer(f"{reason or 'there is no workspace yet'}; name a registry with --registry FILE")
    return revisions.live_document(workspace)
