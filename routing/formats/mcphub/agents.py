"""agents → scopes. A list that is absent means all and stays absent; an empty one means none and stays empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from routing.formats.mcphub.names import Names, as_text
from routing.formats.mcphub.servers import warn_unknown
from routing.formats.units import SIZE_RULE, byte_size, flag
from routing.formats.values import Report

AGENT_KEYS = ("type", "path", "mode", "disabled", "servers", "tools", "pin", "tool_schema_budget")
AGENT_TYPES = frozenset(
    "claude claudecode opencode codex crush forge forgecode hermes copilot qwen gemini kilo kimi local-agent localagent cursor "
    "claude-desktop claudedesktop desktop".split()
)


def convert_agent(new: str, agent: Mapping[str, Any], path: str, names: Names, report: Report) -> dict[str, Any]:
    scope: dict[str, Any] = {"name": new}
    for key in agent:
        if key not in AGENT_KEYS:
            warn_unknown(key, AGENT_KEYS, f"{path}.{key}", report)
    for key, field, translate in (
        ("servers", "endpoints", names.server),
        ("tools", "tools", names.tool),
        ("pin", "pins", names.pin),
    ):
        if agent.get(key) is not None:
            scope[field] = _translated(agent[key], translate)
    mode = agent.get("mode")
    if mode == "direct":
        scope["mode"] = "direct"
    elif mode not in (None, "", "gateway"):
        report.warn(f"{path}.mode", "any mode but direct is read as gateway")
    if agent.get("tool_schema_budget") is not None:
        budget = byte_size(agent["tool_schema_budget"])
        if budget is None:
            report.problem(f"{path}.tool_schema_budget", "is no size", allowed=SIZE_RULE)
        else:
            scope["tool_schema_budget_bytes"] = budget
    harness = _harness(agent, path, report)
    if harness:
        scope["harness"] = harness
    return scope


def _translated(value: Any, translate: Any) -> Any:
    """A list in our names; anything else is left for validation to name."""
    return (
        [translate(one) if isinstance(one, str) else one for one in map(as_text, value)]
        if isinstance(value, list)
        else value
    )


def _harness(agent: Mapping[str, Any], path: str, report: Report) -> dict[str, Any]:
    kind = agent.get("type")
    if isinstance(kind, str) and kind not in AGENT_TYPES:
        report.warn(f"{path}.type", "an agent of unknown type was imported as a plain one")
    found = {key: agent[key] for key in ("type", "path") if agent.get(key) is not None}
    return found | ({"disabled": True} if flag(agent.get("disabled")) is True else {})
