"""The first start: an administrator and a harness key, made at random and written down once for their owner."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

from django.contrib.auth import get_user_model
from django.db import transaction

from control.access import RIGHTS
from control.keys import create_key
from control.members import admit
from control.models import Role
from routing.models import Workspace
from routing.models.actor import SYSTEM
from routing.services import registry

USERNAME = "admin"


def ensure(data_dir: Path, url: str) -> dict[str, str] | None:
    """Make the first workspace, administrator and key when there is no person yet, and write first-run.json (mode 0600).

    Returns what was written, or None when the installation has been started before.
    """
    path = data_dir / "first-run.json"
    with transaction.atomic():
        if get_user_model().objects.exists():
            return None
        workspace = Workspace.objects.filter(name="default").first() or registry.create_workspace(
            "default", title="Default", by=SYSTEM
        )
        password = secrets.token_urlsafe(15)
        user = get_user_model().objects.create_superuser(USERNAME, password=password)
        admit(user, workspace, Role.ADMINISTRATOR, by=SYSTEM)
        _, key = create_key(workspace, "default", name="first-run", rights=RIGHTS, by=SYSTEM)
        content = {"url": url, "username": USERNAME, "password": password, "harness_key": key}
        _write(path, content)
    return content


def _write(path: Path, content: dict[str, str]) -> None:
    """Within the transaction: when the file cannot be written, nothing was made."""
    draft = path.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(content, file)
        file.write("\n")
    draft.replace(path)
