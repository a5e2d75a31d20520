"""servers → endpoints."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from routing.formats.commands import propose_launch
from routing.formats.secrets import convert_headers, strip_url
from routing.formats.units import flag
from routing.formats.values import Report

SERVER_KEYS = (
    "command", "args", "env", "cwd", "url", "transport", "headers", "vault", "vault_only", "vault_prefix", "enabled",
    "description", "tags", "use_when", "tool_use_when",
)  # fmt: skip


def convert_server(old: str, new: str, server: Mapping[str, Any], path: str, report: Report) -> dict[str, Any]:
    """One server as an endpoint of kind mcp. A server that does not say `enabled` is disabled: so it is in mcphub."""
    endpoint: dict[str, Any] = {"name": new}
    if old != new:
        endpoint["title"] = old
    endpoint["kind"] = "mcp"
    _warn_unknown(server, path, report)
    command, url = server.get("command"), server.get("url")
    if command and url:
        report.problem(path, "must have exactly one of command and url")
    elif command:
        endpoint["launch"] = propose_launch(new, server, path, report)
        _warn_of_vault(server, path, report)
    elif url:
        endpoint.update(_target(new, server, path, report))
    else:
        report.problem(path, "must have exactly one of command and url")
    endpoint["enabled"] = flag(server.get("enabled", False))
    for key in ("description", "tags", "use_when", "tool_use_when"):
        if server.get(key) is not None:
            endpoint[key] = server[key]
    return endpoint


def _warn_unknown(server: Mapping[str, Any], path: str, report: Report) -> None:
    for key in server:
        if key not in SERVER_KEYS:
            warn_unknown(key, SERVER_KEYS, f"{path}.{key}", report)


def warn_unknown(key: object, known: tuple[str, ...], path: str, report: Report) -> None:
    likely = difflib.get_close_matches(str(key)[:64], known, n=1)
    report.warn(path, "unknown key, not imported" + (f": {likely[0]} was perhaps meant" if likely else ""))


def _warn_of_vault(server: Mapping[str, Any], path: str, report: Report) -> None:
    if server.get("vault"):
        report.warn(
            f"{path}.vault",
            "the command's secrets come from a vault: name them as vault:PROJECT/KEY in the host-side entry",
        )


def _target(new: str, server: Mapping[str, Any], path: str, report: Report) -> dict[str, Any]:
    url = server["url"]
    if not isinstance(url, str):
        report.problem(f"{path}.url", "must be text")
        return {}
    plain, target = strip_url(url, new, f"{path}.url", report)
    target = {"url": plain, **target}
    if server.get("transport"):
        target["transport"] = server["transport"]
    headers = convert_headers(new, server.get("headers"), f"{path}.headers", report)
    target["headers"] = {**headers.pop("headers", {}), **target.get("headers", {})}
    if any(server.get(key) is not None for key in ("vault", "vault_only", "vault_prefix")):
        report.warn(f"{path}.vault", "a vault is for commands only; not imported")
    return {key: value for key, value in {**target, **headers}.items() if value != {}}
