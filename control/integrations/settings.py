"""Our one entry in an agent's settings: put in beside all others, found again, taken out."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from control.integrations.hosts import Host

OURS = "control/integrations/ask.py"  # stands in the command of our entry and in no other
BEGIN, END = "# >>> switchyard hook >>>", "# <<< switchyard hook <<<"
TIMEOUT_S = 2
EVENT = "PreToolUse"
_BLOCK = re.compile(rf"\n?{re.escape(BEGIN)}\n.*?{re.escape(END)}\n".encode(), re.DOTALL)


class CannotMerge(Exception):
    """Settings that cannot be changed without losing something; nothing was written."""


def merged_json(path: Path, content: bytes | None, host: Host, command: str) -> bytes:
    """The settings with our entry, and everything else as it was. Raises CannotMerge for what is no such file."""
    settings = _read_json(path, content)
    groups = _without_ours(_groups(path, settings))
    groups.append({"matcher": host.matcher, "hooks": [{"type": "command", "command": command, "timeout": TIMEOUT_S}]})
    settings.setdefault("hooks", {})[EVENT] = groups
    return _written(settings, content)


def cleaned_json(path: Path, content: bytes) -> bytes:
    """The settings without our entry, and without what would be empty for lack of it."""
    settings = _read_json(path, content)
    groups = _without_ours(_groups(path, settings))
    if groups:
        settings["hooks"][EVENT] = groups
    elif settings.get("hooks"):
        settings["hooks"].pop(EVENT, None)
        if not settings["hooks"]:
            del settings["hooks"]
    return _written(settings, content)


def has_ours(content: bytes) -> bool:
    return OURS.encode() in content


def our_command(content: bytes) -> str:
    """The command of our entry; empty where there is none. Both kinds of settings have the same shape."""
    for read in (json.loads, tomllib.loads):
        try:
            groups = read(content.decode("utf-8-sig"))["hooks"][EVENT]
            commands = [one["command"] for group in groups for one in group.get("hooks", []) if "command" in one]
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            continue
        return next((command for command in commands if isinstance(command, str) and OURS in command), "")
    return ""


def uses_toml(path: Path, content: bytes) -> bool:
    """Whether hooks stand in the TOML settings already: an agent wants them in one place. Raises CannotMerge for no TOML."""
    try:
        return "hooks" in tomllib.loads(content.decode())
    except (ValueError, RecursionError) as problem:
        raise CannotMerge(f"{path} is no TOML that can be read ({problem}); nothing was changed") from None


def merged_toml(path: Path, content: bytes, host: Host, command: str) -> bytes:
    """The settings with a marked block at their end. Raises CannotMerge where the block does not fit."""
    text = cleaned_toml(content).decode()
    lines = [
        "",
        BEGIN,
        f"[[hooks.{EVENT}]]",
        f"matcher = {json.dumps(host.matcher)}",
        f"[[hooks.{EVENT}.hooks]]",
        'type = "command"',
        f"command = {json.dumps(command)}",
        f"timeout = {TIMEOUT_S}",
        END,
        "",
    ]
    made = (text if text.endswith("\n") or not text else f"{text}\n") + "\n".join(lines)
    try:
        tomllib.loads(made)
    except tomllib.TOMLDecodeError:
        raise CannotMerge(f"{path}: hooks are written inline there; add this by hand:\n" + "\n".join(lines)) from None
    return made.encode()


def cleaned_toml(content: bytes) -> bytes:
    return _BLOCK.sub(b"", content)


def _read_json(path: Path, content: bytes | None) -> dict[str, Any]:
    if content is None or not content.strip():
        return {}
    try:
        found = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as problem:
        raise CannotMerge(f"{path} is no plain JSON ({problem}); nothing was changed") from None
    if not isinstance(found, dict):
        raise CannotMerge(f"{path} holds no object; nothing was changed")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _groups(path: Path, settings: Mapping[str, Any]) -> list[Any]:
    hooks = settings.get("hooks", {})
    groups = hooks.get(EVENT, []) if isinstance(hooks, dict) else None
    if not isinstance(groups, list):
        raise CannotMerge(f"{path}: hooks.{EVENT} is no list; nothing was changed")
    return groups


def _without_ours(groups: list[Any]) -> list[Any]:
    kept = []
    for group in groups:
        entries = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(entries, list):
            kept.append(group)
            continue
        others = [one for one in entries if OURS not in str(one.get("command") if isinstance(one, dict) else "")]
        if others or not entries:
            kept.append(group if len(others) == len(entries) else {**group, "hooks": others})
    return kept


def _written(settings: Mapping[str, Any], content: bytes | None) -> bytes:
    """In the layout that the file had: its indentation and its last line's end."""
    text = (content or b"").decode("utf-8-sig")
    found = re.search(r"^[{\[]\r?\n([ \t]+)", text)
    ending = "" if text and not text.endswith("\n") else "\n"
    return (json.dumps(settings, ensure_ascii=False, indent=found[1] if found else 2) + ending).encode()
