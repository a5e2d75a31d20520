"""The keys under which demo traffic is sent: one for each audience, so that several harness names appear."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from control.keys import create_key, find_harness
from control.models import HarnessKey
from routing.models import Workspace
from routing.models.actor import SYSTEM
from routing.services import revisions

LIFETIME_DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Who asks: a harness name, and the scope of the workspace that its key reaches."""

    workspace: str
    scope: str
    harness: str


AUDIENCES = {
    "ci-agents": Audience(workspace="default", scope="ci-agents", harness="demo-ci-runner"),
    "research": Audience(workspace="default", scope="research", harness="demo-notebook"),
    "support-desk": Audience(workspace="default", scope="support-desk", harness="demo-support-assistant"),
    "contextual-routing": Audience(workspace="contextual-routing", scope="default", harness="demo-coding-agent"),
}


def keys_by_audience(names: Sequence[str], data_dir: Path, first_run: Mapping[str, str]) -> dict[str, str]:
    """A working key for each audience. Those that are made here are kept in `<data-dir>/demo-keys.json`, mode 0600.

    The audience `default` uses the key of the first run. An audience whose scope is not there any more is left out.
    """
    path = data_dir / "demo-keys.json"
    kept: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in set(names) & set(AUDIENCES):
        if find_harness(kept.get(name, "")) is None:
            kept[name] = _make(AUDIENCES[name])
    usable = {name: key for name, key in kept.items() if key}
    _write(path, usable)
    known = {**usable, "default": first_run["harness_key"]}
    return {name: known[name] for name in names if name in known}


def _make(audience: Audience) -> str:
    workspace = Workspace.objects.filter(name=audience.workspace).first()
    if workspace is None or not _reaches(workspace, audience.scope):
        return ""
    _, plain = create_key(
        workspace, audience.scope, name=_free_name(workspace, audience.harness), expires_days=LIFETIME_DAYS, by=SYSTEM
    )
    return plain


def _reaches(workspace: Workspace, scope: str) -> bool:
    scopes = revisions.live_document(workspace).get("scopes", [])
    return scope == "default" or scope in [entry["name"] for entry in scopes]


def _free_name(workspace: Workspace, wanted: str) -> str:
    taken = set(HarnessKey.objects.filter(workspace=workspace).values_list("name", flat=True))
    return next(name for n in count(1) if (name := wanted if n == 1 else f"{wanted}-{n}") not in taken)


def _write(path: Path, content: Mapping[str, str]) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(content, file)
