"""A whole configuration as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from routing.formats.mcphub.agents import convert_agent
from routing.formats.mcphub.names import Names, as_text
from routing.formats.mcphub.servers import SERVER_KEYS, convert_server, warn_unknown
from routing.formats.renaming import suitable_names
from routing.formats.units import DURATION_RULE, SIZE_RULE, byte_size, flag, seconds
from routing.formats.values import Report

TOP_KEYS = (
    "version", "expose", "pin", "servers", "groups", "agents", "connect_timeout", "call_timeout", "listen", "response_budget", "verbatim",
)  # fmt: skip
ASSUMED = {"expose": "all"}  # there, not to say anything means all
_OWN_SERVER_KEYS = {
    "enabled",
    "use_when",
    "tool_use_when",
    "tags",
    "transport",
    "vault",
    "vault_only",
    "vault_prefix",
    "description",
}


def looks_like_mcphub(content: Mapping[Any, Any], *, named_so: bool = False) -> bool:
    """VS Code's list of servers also has `servers`, with a `type` for each and `inputs` beside them."""
    servers = content.get("servers")
    if not isinstance(servers, Mapping) or "inputs" in content:
        return named_so and "mcpServers" not in content
    entries = [server for server in servers.values() if isinstance(server, Mapping)]
    typed = any("type" in server for server in entries)
    own = any(_OWN_SERVER_KEYS & set(server) for server in entries) or bool(
        {"agents", "groups", "expose", "pin"} & set(content)
    )
    return named_so or own or not typed


def convert(
    content: Mapping[str, Any], tools: Mapping[str, Sequence[Any]], report: Report
) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """The document, old server names by new ones, and for each path of the document the path in the file."""
    servers = _section(content, "servers", report)
    renamed = suitable_names(map(str, servers))
    groups, agents = _section(content, "groups", report), _section(content, "agents", report)
    names = Names(renamed, {server: _wires(listed) for server, listed in tools.items()})
    _warn_unused(content, report)
    document: dict[str, Any] = {"version": 1}
    sources: dict[str, str] = {}
    document["gateway"] = _gateway(content, names, report)
    document["groups"] = _groups(groups, names, sources, report)
    document["endpoints"] = _endpoints(servers, renamed, names, sources, report)
    document["scopes"] = _scopes(agents, names, sources, report)
    return {key: value for key, value in document.items() if value not in ({}, [])}, renamed, sources


def _section(content: Mapping[str, Any], key: str, report: Report) -> Mapping[str, Any]:
    value = content.get(key)
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    report.problem(key, "must be a mapping")
    return {}


def _wires(listed: Sequence[Any]) -> list[str]:
    return [tool["name"] for tool in listed if isinstance(tool, Mapping) and isinstance(tool.get("name"), str)]


def _warn_unused(content: Mapping[str, Any], report: Report) -> None:
    for key in content:
        if key in ("listen", "version"):
            report.warn(key, "not used")
        elif key not in TOP_KEYS:
            warn_unknown(key, TOP_KEYS, str(key), report)


def _gateway(content: Mapping[str, Any], names: Names, report: Report) -> dict[str, Any]:
    gateway: dict[str, Any] = {}
    if content.get("expose") not in (None, ""):
        gateway["expose"] = content["expose"]
    if content.get("pin") is not None:
        pins = content["pin"]
        gateway["pins"] = (
            [names.pin(pin) if isinstance(pin, str) else pin for pin in pins] if isinstance(pins, list) else pins
        )
    for key, field in (("connect_timeout", "connect_timeout_s"), ("call_timeout", "call_timeout_s")):
        if content.get(key) not in (None, ""):
            duration = seconds(content[key])
            if duration is None:
                report.problem(key, "is no duration", allowed=DURATION_RULE)
            else:
                gateway[field] = duration
    if content.get("response_budget") is not None:
        budget = byte_size(content["response_budget"])
        if budget is None:
            report.problem("response_budget", "is no size", allowed=SIZE_RULE)
        else:
            gateway["response_budget_bytes"] = budget
    if content.get("verbatim") is not None:
        gateway["verbatim"] = flag(content["verbatim"])
    return gateway


def _groups(groups: Mapping[str, Any], names: Names, sources: dict[str, str], report: Report) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for old, new in suitable_names(map(str, groups)).items():
        members = groups.get(old)
        found[new] = (
            [names.server(one) if isinstance(one, str) else one for one in map(as_text, members)]
            if isinstance(members, list)
            else members
        )
        sources[f"groups.{new}"] = f"groups.{old}"
        if old != new:
            report.warn(f"groups.{old}", f"renamed to {new}")
    return found


def _endpoints(
    servers: Mapping[str, Any], renamed: Mapping[str, str], names: Names, sources: dict[str, str], report: Report
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for old, server in servers.items():
        old = str(old)
        path, new = f"servers.{old}", renamed[old]
        if not isinstance(server, Mapping):
            report.problem(path, "must be a mapping", allowed=list(SERVER_KEYS))
            continue
        if old != new:
            report.warn(path, f"renamed to {new}; the old spelling is kept as title")
        endpoint = convert_server(old, new, server, path, report)
        hints = endpoint.get("tool_use_when")
        if isinstance(hints, Mapping):
            endpoint["tool_use_when"] = {
                names.hint_key(old, key) if isinstance(key, str) else key: hint for key, hint in hints.items()
            }
        sources[f"endpoints[{len(found)}]"] = path
        found.append(endpoint)
    return found


def _scopes(agents: Mapping[str, Any], names: Names, sources: dict[str, str], report: Report) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for old, new in suitable_names(map(str, agents)).items():
        agent, path = agents.get(old), f"agents.{old}"
        if not isinstance(agent, Mapping):
            report.problem(path, "must be a mapping")
            continue
        if old != new:
            report.warn(path, f"renamed to {new}")
        sources[f"scopes[{len(found)}]"] = path
        found.append(convert_agent(new, agent, path, names, report))
    return found
