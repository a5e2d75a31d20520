"""The protocol: the tools by name, each call read, answered and told; what is wrong with one reaches its caller."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any, Protocol

from asgiref.sync import sync_to_async
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations

from control.commandline import version
from control.mcp_server.tools import TOOLS, BadCall, MctsCall, RouteCall, find

logger = logging.getLogger(__name__)
INSTRUCTIONS = (
    "Switchyard advises which tool comes next. Ask `route` before a step; take its tool unless `fallback` is true, and choose "
    "yourself then. Ask `route_mcts` where the best step depends on what follows it."
)


class Answerer(Protocol):
    def answer(self, call: RouteCall | MctsCall) -> Mapping[str, Any]: ...


def serve(answerer: Answerer) -> None:
    """Speak MCP over standard input and output until the host closes them."""
    asyncio.run(_serve(answerer))


async def _serve(answerer: Answerer) -> None:
    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=_tools())

    async def call_tool(context: Any, params: Any) -> CallToolResult:
        return await _called(answerer, params.name, params.arguments)

    server: Server[Any] = Server(
        "switchyard",
        version=version(),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _tools() -> list[Tool]:
    advice = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
    return [
        Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.input_schema,
            annotations=advice,
        )
        for tool in TOOLS.values()
    ]


async def _called(answerer: Answerer, name: str, arguments: Mapping[str, Any] | None) -> CallToolResult:
    tool = find(name)
    if tool is None:
        return _refused(f"there is no tool {name[:200]!r}; there are {', '.join(TOOLS)}")
    try:
        answer = dict(await sync_to_async(answerer.answer, thread_sensitive=False)(tool.read(arguments)))
    except BadCall as problem:
        return _refused(str(problem))
    except Exception as error:
        # Its message may quote what was asked.
        logger.error("%s could not be answered: %s", tool.name, type(error).__name__)
        return _refused(f"{tool.name} could not be answered ({type(error).__name__})")
    return CallToolResult(content=[TextContent(type="text", text=json.dumps(answer))], structured_content=answer)


def _refused(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=message)], is_error=True)
