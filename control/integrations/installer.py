"""Write hook and skill with backups, and put everything back.

A file that nobody touched since is put back byte for byte; from one that was changed since, only our part is taken out.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from control.integrations import ask
from control.integrations.ask import Credentials, read_credentials
from control.integrations.hosts import HOSTS, Host, find_host
from control.integrations.settings import (
    CannotMerge,
    cleaned_json,
    cleaned_toml,
    has_ours,
    merged_json,
    merged_toml,
    our_command,
    uses_toml,
)

BACKUP = ".before-switchyard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a file holds and is to hold; None is no file. `note` says what is left as it is, and why."""

    path: Path
    before: bytes | None
    after: bytes | None
    note: str = ""


def plan(host: Host, *, credentials: Path | None = None) -> list[Change]:
    """What `install` would write. Raises CannotMerge for settings that cannot be merged, or credentials that cannot be used."""
    if credentials is not None and read_credentials(credentials.absolute()) is None:
        raise CannotMerge(
            f"--credentials: {credentials} must hold url and harness_key as JSON, and be readable by you only (chmod 600)"
        )
    command = hook_command(host, credentials)
    toml = host.toml_path
    present = _content(toml) if toml else None
    if toml is not None and present is not None and uses_toml(toml, cleaned_toml(present)):
        hook = Change(path=toml, before=present, after=merged_toml(toml, present, host, command))
    else:
        path, found = host.hooks_path, _content(host.hooks_path)
        hook = Change(path=path, before=found, after=merged_json(path, found, host, command))
    skill = Change(path=host.skill_path, before=_content(host.skill_path), after=skill_text())
    return [hook, skill]


def hook_command(host: Host, credentials: Path | None) -> str:
    """Runs our file with this Python, whatever lies in the folder the agent works in (-I), and never fails (|| true)."""
    words = [sys.executable, "-I", str(Path(ask.__file__).absolute()), "--host", host.name]
    if credentials is not None:
        words += ["--credentials", str(credentials.absolute())]
    return f"{shlex.join(words)} 2>/dev/null || true"


def skill_text() -> bytes:
    return files("control.integrations").joinpath("skill", "switchyard", "SKILL.md").read_bytes()


def plan_removal(host: Host) -> list[Change]:
    """What `uninstall` would do: files of the record, and our entry wherever else it stands."""
    record = _record(host)
    changes = []
    for path in dict.fromkeys([*map(Path, record), *_places(host)]):
        now, kept = _content(path), record.get(str(path))
        if now is None:
            continue
        if kept is not None and _digest(now) == kept["sha256"]:
            changes.append(Change(path=path, before=now, after=_backed_up(path) if kept["existed"] else None))
        elif path == host.skill_path:
            if kept is not None:
                changes.append(Change(path=path, before=now, after=now, note="changed since it was written; left"))
        elif has_ours(now):
            clean = _without_us(path, now)
            empty = kept is not None and not kept["existed"] and clean.strip() in (b"", b"{}")
            changes.append(Change(path=path, before=now, after=None if empty else clean))
    return changes


def apply(host: Host, changes: Sequence[Change], *, remove: bool) -> None:
    """Write the changes, the record first: what was begun can always be undone."""
    old = _record(host)
    if remove:
        for change in changes:
            _write(change.path, change.after)
        for path in {*map(Path, old), *(change.path for change in changes)}:
            backup_of(path).unlink(missing_ok=True)
        made = _made_folders(host)
        host.record_path.unlink(missing_ok=True)
        _prune(made)
        return
    record: dict[str, dict[str, Any]] = dict(old)
    for change in changes:
        known = old.get(str(change.path))
        untouched = known is not None and change.before is not None and _digest(change.before) == known["sha256"]
        if not untouched and change.before is not None:
            _write(backup_of(change.path), _without_us(change.path, change.before))
        existed = known["existed"] if known and untouched else change.before is not None
        record[str(change.path)] = {"sha256": _digest(change.after or b""), "existed": existed}
    kept = {"version": 1, "files": record, "folders": [str(folder) for folder in _made_folders(host)]}
    _write(host.record_path, json.dumps(kept, indent=2).encode() + b"\n", mode=0o600)
    for change in changes:
        _write(change.path, change.after)


def told(host: Host, changes: Sequence[Change], *, written: bool) -> str:
    """What is done or would be, file by file, as differences."""
    lines: list[str] = []
    for change in changes:
        if change.note or change.before == change.after:
            lines.append(f"{change.path}: {change.note or 'is as it should be'}")
            continue
        verb = "removed" if change.after is None else "made" if change.before is None else "changed"
        lines.append(f"{change.path}: {verb if written else f'would be {verb}'}")
        if change.before is not None and change.after is not None:
            lines.append(f"  backup: {backup_of(change.path)}")
        if change.after is None:
            continue
        before, after = (_lines(content) for content in (change.before, change.after))
        lines += [f"  {line}" for line in list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]]
    if not changes:
        lines.append(f"Nothing of Switchyard is in {host.home}.")
    if host.name == "codex" and any(change.after and has_ours(change.after) for change in changes):
        lines.append("Codex runs a new hook only after you have reviewed it there: see /hooks.")
    return "\n".join(lines)


def check(host: Host) -> tuple[bool, str]:
    """Whether the hook is in place and its server answers to its key, in one sentence."""
    entry = next((content for path in _places(host) if (content := _content(path)) and our_command(content)), None)
    if entry is None:
        return False, f"no hook of Switchyard in {host.home}: `switchyard hooks install --host {host.name}`"
    words = shlex.split(our_command(entry).partition(" 2>")[0])
    if gone := [word for word in (words[0], words[2]) if not Path(word).exists()]:
        return False, f"the hook of {host.name} starts {gone[0]}, which is gone: install it again"
    given = words[words.index("--credentials") + 1] if "--credentials" in words[:-1] else None
    found = read_credentials(Path(given) if given else None)
    if found is None:
        where = (
            f"{given} cannot be used"
            if given
            else "neither SWITCHYARD_URL with SWITCHYARD_KEY nor --credentials is set"
        )
        return False, f"the hook of {host.name} has no server to ask: {where}"
    return _reaches(host, found)


def examine() -> tuple[bool, str]:
    """`check` for every agent of this user that has a hook; all is well where there is none."""
    hosts = [find_host(name) for name in HOSTS]
    with_hook = [host for host in hosts if host.record_path.exists()]
    found = [check(host) for host in with_hook]
    if not found:
        return True, "no agent on this account has our hook; `switchyard hooks` installs it"
    return all(ok for ok, _ in found), "; ".join(message for _, message in found)


def _reaches(host: Host, found: Credentials) -> tuple[bool, str]:
    from control.asking.errors import BadInput, NoAnswer
    from control.asking.remote import Server

    try:
        Server(found.url, found.key, timeout_s=2.0).send("GET", "/api/v1/tools/search?max_hits=1", None)
    except (BadInput, NoAnswer) as problem:
        return False, f"the hook of {host.name} gets no advice: {problem}"
    return True, f"the hook of {host.name} reaches {found.url}"


def _without_us(path: Path, content: bytes) -> bytes:
    """What a file held before us, as far as it can be told from what it holds now."""
    if not has_ours(content):
        return content
    return cleaned_toml(content) if path.suffix == ".toml" else cleaned_json(path, content)


def _places(host: Host) -> list[Path]:
    return [host.hooks_path, *([host.toml_path] if host.toml_path else [])]


def _record(host: Host) -> Mapping[str, Any]:
    try:
        found = json.loads(host.record_path.read_bytes())
        return {path: kept for path, kept in found["files"].items() if {"sha256", "existed"} <= set(kept)}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise CannotMerge(
            f"{host.record_path} cannot be read; take the hook out of {host.hooks_path} by hand"
        ) from None


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def backup_of(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def _backed_up(path: Path) -> bytes:
    found = _content(backup_of(path))
    if found is None:
        raise CannotMerge(f"{backup_of(path)} is gone, so {path} cannot be put back; take the hook out by hand")
    return found


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode(errors="replace").splitlines()


def _write(path: Path, content: bytes | None, *, mode: int | None = None) -> None:
    """Whole or not at all, through links, with the rights that the file has."""
    if content is None:
        path.unlink(missing_ok=True)
        return
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        mode = target.stat().st_mode & 0o777
    elif mode is None:
        mode = _usual_mode()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _usual_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _made_folders(host: Host) -> list[Path]:
    """Those that are not there before installing, as recorded once it is done; from the skill's upwards."""
    folders = [host.skill_path.parent, *host.skill_path.parent.parents]
    if not host.record_path.exists():
        return [folder for folder in folders if not folder.exists()]
    recorded = json.loads(host.record_path.read_bytes()).get("folders")
    # A record of before folders were recorded: the skill's are ours at least.
    return folders[:2] if recorded is None else [folder for folder in folders if str(folder) in recorded]


def _prune(folders: Sequence[Path]) -> None:
    """Remove those that hold nothing any more."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
