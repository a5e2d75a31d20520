"""Tools as hosts describe them, as descriptors: whatever is not declared is annotated or inferred, and it is told which.

A tool is a mapping or an object with such attributes, so that the classes of any SDK may be handed over as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from routing.engine.inference import describe_traits
from routing.engine.models import RiskLevel, ToolDescriptor
from routing.engine.registry import Tool

_EFFECTS = ("read", "write", "erase", "execute")
_SCHEMAS = ("schema", "input_schema", "inputSchema")


class ToolAdapter(Protocol):
    """Knows how one kind of host describes its tools."""

    def normalize(self, tool: Any) -> ToolDescriptor: ...


class GenericToolAdapter:
    """`name`, and where they are given `description`, `category`, `risk`, `effect` and a schema under one of its three names.

    `normalize` raises ValueError that names the tool and the field: a blank name, a category that is no text, an unknown
    risk or effect, a schema that is no mapping.
    """

    def normalize(self, tool: Any) -> ToolDescriptor:
        name = _name(tool)
        given = Tool(
            name=name,
            description=_description(tool, name),
            annotations=self.annotations(tool, name),
            category=_category(tool, name),
            risk=_risk(tool, name),
            effect=_effect(tool, name),
        )
        traits = describe_traits(given)
        return ToolDescriptor(
            name=name,
            description=given.description,
            category=traits.category,
            risk=RiskLevel(traits.risk),
            schema=_schema(tool, name),
            effect=traits.effect,
            provenance=traits.provenance,
        )

    def annotations(self, tool: Any, name: str) -> Mapping[str, Any]:
        return {}


class MCPToolAdapter(GenericToolAdapter):
    """A tool of an MCP `tools/list` answer: its annotations tell risk and effect before its words do."""

    def annotations(self, tool: Any, name: str) -> Mapping[str, Any]:
        given = _get(tool, "annotations")
        if given is None:
            return {}
        if isinstance(given, Mapping):
            return given
        hints = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
        found = {hint: getattr(given, hint) for hint in hints if hasattr(given, hint)}
        if not found:
            raise ValueError(f"tool {name!r}: annotations must be an object")
        return found


def normalize_tools(tools: Iterable[Any], adapter: ToolAdapter | None = None) -> list[ToolDescriptor]:
    """Every tool as a descriptor, in order; descriptors pass as they are. Raises what the adapter raises."""
    adapter = adapter or GenericToolAdapter()
    return [tool if isinstance(tool, ToolDescriptor) else adapter.normalize(tool) for tool in tools]


def _get(tool: Any, key: str) -> Any:
    """A field of a mapping or a plain attribute: a method of that name (`schema` of some models) is no field."""
    if isinstance(tool, Mapping):
        return tool.get(key)
    value = getattr(tool, key, None)
    return None if callable(value) else value


def _name(tool: Any) -> str:
    name = _get(tool, "name")
    if not isinstance(name, str) or not name.strip():
        raise ValueError("a tool needs a name: a text that is not blank")
    return name.strip()


def _description(tool: Any, name: str) -> str:
    given = _get(tool, "description")
    return str(given) if given else name


def _category(tool: Any, name: str) -> str | None:
    given = _get(tool, "category")
    if given is not None and not isinstance(given, str):
        raise ValueError(f"tool {name!r}: category must be a text")
    return given if given and given.strip() else None


def _risk(tool: Any, name: str) -> str | None:
    given = _get(tool, "risk")
    if given is None:
        return None
    try:
        return RiskLevel(given.strip().lower()).value
    except (AttributeError, ValueError):
        raise ValueError(f"tool {name!r}: risk must be one of {', '.join(RiskLevel)}") from None


def _effect(tool: Any, name: str) -> str | None:
    given = _get(tool, "effect")
    if given is None:
        return None
    effect = "execute" if given == "exec" else given
    if effect not in _EFFECTS:
        raise ValueError(f"tool {name!r}: effect must be one of {', '.join(_EFFECTS)}")
    return str(effect)


def _schema(tool: Any, name: str) -> dict[str, Any]:
    found: Any = next((given for key in _SCHEMAS if (given := _get(tool, key))), {})
    if not isinstance(found, Mapping):
        raise ValueError(f"tool {name!r}: its schema must be an object")
    return dict(found)
