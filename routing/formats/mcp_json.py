"""Server lists of MCP hosts: `mcpServers` (desktop hosts and editors), `servers` with `inputs` (VS Code), `mcp` (opencode) and
`mcp_servers` (Codex). One list for all: they differ in a few words, and what is not clear is told and stays out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from routing.engine.secrets import is_reference
from routing.engine.validation.problems import child
from routing.formats.commands import propose_launch
from routing.formats.entries import Endpoints, Unclear
from routing.formats.renaming import suitable_names
from routing.formats.secrets import convert_headers, report_secrets, strip_url
from routing.formats.values import Converted, Report

_ADDRESSES = ("url", "serverUrl", "httpUrl")
_TRANSPORTS = {
    "stdio": "stdio", "local": "stdio",
    "http": "http", "streamable-http": "http", "streamable_http": "http", "streamablehttp": "http", "remote": "http",
    "sse": "sse",
}  # fmt: skip
_FILLED_IN = re.compile(r"\$\{|\$[A-Za-z_]|\{(?:env|file):|\{\{")
_LIMITS = (
    "enabled_tools", "disabled_tools", "includeTools", "excludeTools", "tools", "alwaysAllow", "autoApprove", "disabledTools",
)  # fmt: skip
_READ = {
    "type", "transport", "transportType", "command", "args", "env", "environment", "cwd", *_ADDRESSES, "headers", "http_headers",
    "env_http_headers", "bearer_token_env_var", "enabled", "disabled", "description",
}  # fmt: skip
MOST_NAMED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _List:
    path: str
    servers: Mapping[Any, Any]
    is_opencode: bool = False


def convert(content: Mapping[str, Any], report: Report) -> Converted:
    """Every server of every list as an endpoint of kind mcp; on unless the file says otherwise, as the hosts have it."""
    lists = list(_lists(content, report))
    _warn_unused(content, report)
    _warn_inputs(content, report)
    found = Endpoints(report)
    olds = [str(old) for one in lists for old in one.servers]
    renamed = suitable_names(dict.fromkeys(olds))
    seen: set[str] = set()
    for one in lists:
        for old, server in one.servers.items():
            path = child(one.path, str(old))
            if str(old) in seen:
                found.refuse(renamed[str(old)], path, Unclear("another list of this file has a server of this name"))
                continue
            seen.add(str(old))
            _take(found, str(old), renamed[str(old)], server, path, one.is_opencode)
    return found.done()


def _lists(content: Mapping[str, Any], report: Report) -> Iterator[_List]:
    for key in ("mcpServers", "mcp_servers", "servers"):
        if key in content:
            yield from _list(content[key], key, report)
    nested = content.get("mcp")
    if isinstance(nested, Mapping) and _is_vs_code(nested):
        yield from _list(nested["servers"], "mcp.servers", report)
    elif "mcp" in content:
        yield from _list(nested, "mcp", report, is_opencode=True)


def _list(servers: object, path: str, report: Report, *, is_opencode: bool = False) -> Iterator[_List]:
    if servers is None:
        return
    if isinstance(servers, Mapping):
        yield _List(path=path, servers=servers, is_opencode=is_opencode)
    else:
        report.problem(path, "must be a mapping from names to servers")


def _is_vs_code(nested: Mapping[Any, Any]) -> bool:
    """Settings of VS Code hold `mcp: {servers, inputs}`; in opencode a server of the name `servers` would have a `type`."""
    servers = nested.get("servers")
    return (
        isinstance(servers, Mapping)
        and set(nested) <= {"servers", "inputs"}
        and not isinstance(servers.get("type"), str)
    )


def _warn_unused(content: Mapping[str, Any], report: Report) -> None:
    others = [
        str(key) for key in content if key not in ("mcpServers", "mcp_servers", "servers", "mcp", "inputs", "$schema")
    ]
    if others:
        named = ", ".join(key[:64] for key in others[:MOST_NAMED]) + (" and more" if len(others) > MOST_NAMED else "")
        report.warn("", f"other settings of the host are not imported: {named}")
    for key in others:
        report_secrets(content[key], child("", key), report)


def _warn_inputs(content: Mapping[str, Any], report: Report) -> None:
    nested = content.get("mcp")
    inputs = content.get("inputs") or (nested.get("inputs") if isinstance(nested, Mapping) else None)
    if inputs:
        report.warn("inputs", "not imported: nobody is asked here; what they stand for is named by references")


def _take(found: Endpoints, old: str, new: str, server: object, path: str, is_opencode: bool) -> None:
    try:
        endpoint = _endpoint(new, server, path, is_opencode, found.report)
    except Unclear as reason:
        report_secrets(server, path, found.report)
        found.refuse(new, path, reason)
    else:
        found.add(old, new, endpoint, path)


def _endpoint(new: str, server: object, path: str, is_opencode: bool, report: Report) -> dict[str, Any]:
    if not isinstance(server, Mapping):
        raise Unclear("must be a mapping")
    command, address = server.get("command"), _address(server)
    transport = _transport(server, command, address)
    enabled = _enabled(server)
    if command:
        endpoint = _started(new, server, path, is_opencode, report)
    else:
        endpoint = _reached(new, server, str(address), transport, path, report)
    _warn_unread(server, path, report)
    endpoint["enabled"] = enabled
    if isinstance(server.get("description"), str):
        endpoint["description"] = server["description"]
    return {"kind": "mcp", **endpoint}


def _address(server: Mapping[str, Any]) -> str | None:
    given = [key for key in _ADDRESSES if server.get(key)]
    if len(given) > 1:
        raise Unclear(f"gives more than one address: {', '.join(given)}")
    return given[0] if given else None


def _transport(server: Mapping[str, Any], command: object, address: str | None) -> str:
    """http, sse or stdio: what the entry says, and it must fit what else it says."""
    if bool(command) == bool(address):
        raise Unclear("must have a command or an address, and not both")
    key = next((key for key in ("type", "transport", "transportType") if server.get(key) is not None), None)
    if key is None:
        return "stdio" if command else "http"
    said = server[key]
    transport = _TRANSPORTS.get(said.lower()) if isinstance(said, str) else None
    if transport is None:
        raise Unclear("says a transport that is not known here", f".{key}")
    if (transport == "stdio") != bool(command):
        raise Unclear("says one transport and gives what belongs to another", f".{key}")
    return transport


def _enabled(server: Mapping[str, Any]) -> bool:
    enabled, disabled = server.get("enabled"), server.get("disabled")
    for key, value in (("enabled", enabled), ("disabled", disabled)):
        if value is not None and not isinstance(value, bool):
            raise Unclear("must be true or false", f".{key}")
    if enabled is not None and disabled is not None and enabled == disabled:
        raise Unclear("says both that it is on and that it is off")
    return enabled if isinstance(enabled, bool) else not disabled


def _started(new: str, server: Mapping[str, Any], path: str, is_opencode: bool, report: Report) -> dict[str, Any]:
    command, parts = server["command"], server.get("args")
    whole = isinstance(command, list) and bool(command) and all(isinstance(part, str) for part in command)
    if not (isinstance(command, str) or (is_opencode and whole)):
        raise Unclear("must be text", ".command")
    if parts is not None and not isinstance(parts, list):
        raise Unclear("must be a list", ".args")
    environment = "environment" if is_opencode else "env"
    if not isinstance(server.get(environment) or {}, Mapping):
        raise Unclear("must be a mapping", f".{environment}")
    arguments = "command" if isinstance(command, list) else "args"
    return {"launch": propose_launch(new, server, path, report, environment=environment, arguments=arguments)}


def _reached(
    new: str, server: Mapping[str, Any], key: str, transport: str, path: str, report: Report
) -> dict[str, Any]:
    url = server[key]
    if not isinstance(url, str):
        raise Unclear("must be text", f".{key}")
    plain, target = strip_url(url.strip(), new, f"{path}.{key}", report)
    if not plain or _FILLED_IN.search(plain):
        raise Unclear("is an address that the host completes; write it out", f".{key}")
    if transport == "http" and key == "url" and plain.rstrip("/").endswith("/sse") and not server.get("type"):
        report.warn(f"{path}.{key}", "does not say its transport and is read as http; its address suggests sse")
    headers = _headers(new, server, path, report)
    target["headers"] = {**headers.pop("headers", {}), **target.get("headers", {})}
    endpoint = {"url": plain, **({"transport": "sse"} if transport == "sse" else {}), **target, **headers}
    return {name: value for name, value in endpoint.items() if value != {}}


def _headers(new: str, server: Mapping[str, Any], path: str, report: Report) -> dict[str, Any]:
    """Headers and credential: literal ones, and those that Codex takes from variables."""
    found: dict[str, Any] = {}
    for key in ("headers", "http_headers"):
        if not isinstance(server.get(key) or {}, Mapping):
            raise Unclear("must be a mapping", f".{key}")
        one = convert_headers(new, server.get(key), f"{path}.{key}", report)
        found["headers"] = {**found.get("headers", {}), **one.pop("headers", {})}
        found |= one
    for header, variable in _pairs(server, "env_http_headers"):
        found["headers"][header] = _variable(variable, f".env_http_headers.{header}")
    if server.get("bearer_token_env_var") is not None:
        found["credential"] = _variable(server["bearer_token_env_var"], ".bearer_token_env_var")
    return found


def _pairs(server: Mapping[str, Any], key: str) -> list[tuple[str, Any]]:
    value = server.get(key) or {}
    if not isinstance(value, Mapping):
        raise Unclear("must be a mapping", f".{key}")
    return [(str(name), held) for name, held in value.items()]


def _variable(name: object, path: str) -> str:
    if not isinstance(name, str) or not is_reference(f"env:{name}"):
        raise Unclear("must be the name of a variable", path)
    return f"env:{name}"


def _warn_unread(server: Mapping[str, Any], path: str, report: Report) -> None:
    for key in server:
        if key in _LIMITS:
            report.warn(child(path, str(key)), "not imported: which tools a harness may use is said by a scope here")
        elif key not in _READ:
            report.warn(child(path, str(key)), "not imported: it has no place here")
            report_secrets(server[key], child(path, str(key)), report)
