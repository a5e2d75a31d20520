"""The keys under which demo traffic is sent: one for each audience, so that several harness names appear."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from control import keys
from control.models import HarnessKey
from routing.models import SYSTEM, Workspace

LIFETIME_DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Who asks: a harness name, and the scope of the workspace that its key reaches."""

    workspace: str
    scope: str
    harness: str


AUDIENCES = {
    "ci-agents": Audience(workspace="default", scope="ci-agents", harness="demo ci runner"),
    "research": Audience(workspace="default", scope="research", harness="demo notebook"),
    "support-desk": Audience(workspace="default", scope="support-desk", harness="demo support assistant"),
    "contextual-routing": Audience(workspace="contextual-routing", scope="default", harness="demo coding agent"),
}


def keys_by_audience(names: Sequence[str], data_dir: Path, first_run: Mapping[str, str]) -> dict[str, str]:
    """A working key for each audience. Those that were made before are kept in `<data-dir>/demo-keys.json`, mode 0600.

    An audience whose scope is not there any more is left out.
    """
    path = data_dir / "demo-keys.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    found = {name: first_run["harness_key"] if name == "default" else _key(AUDIENCES[name], kept.get(name)) for name in names}
    usable = {name: key for name, key in found.items() if key}
    _keep(path, {**kept, **{name: key for name, key in usable.items() if name != "default"}})
    return usable


def _keep(path: Path, content: Mapping[str, str]) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(content, file)
