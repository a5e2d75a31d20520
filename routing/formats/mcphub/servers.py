"""servers → endpoints."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from routing.formats.mcphub.secrets import convert_headers, report_environment, strip_url
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
        endpoint["launch"] = _propose_launch(new, server, path, report)
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


def _propose_launch(new: str, server: Mapping[str, Any], path: str, report: Report) -> str:
    """A command is run by the host, from a file of the host: what that file needs is told, nothing of it is stored."""
    variables = report_environment(server.get("env"), f"{path}.env", report)
    arguments = server.get("args") or []
    told = f"commands are not stored: add an entry {new} to the host-side file with this command"
    if isinstance(arguments, list) and arguments:
        told += f", its {len(arguments)} arguments"
    if variables:
        told += f", the variables {', '.join(variables)}"
    if server.get("cwd"):
        told += ", its working folder"
    report.warn(f"{path}.command", told)
    if server.get("vault"):
        report.warn(
            f"{path}.vault",
            "the command's secrets come from a vault: name them as vault:PROJECT/KEY in the host-side entry",
        )
    if server.get("headers"):
        report.warn(f"{path}.headers", "headers are for servers with a url; not imported")
    report.launches.append(new)
    return f"host:{new}"
