"""`manage.py mcp` as a host starts it: a process of its own, spoken to by the protocol's own client."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client

from control.web import connect
from tests.installation import Installation

pytestmark = [pytest.mark.flow, pytest.mark.embedded, pytest.mark.xdist_group("installation")]
ROOT = Path(__file__).parents[2]
GRAPH = {
    "root_state": "root",
    "states": [
        {"id": "root", "goal": "answer", "tools": [{"name": "quick"}, {"name": "invest"}]},
        {"id": "invested", "goal": "answer", "tools": [{"name": "finish"}]},
        {"id": "done", "goal": "answered"},
    ],
    "transitions": [
        {"from_state": "root", "tool": "quick", "to_state": "done", "reward": 0.6, "terminal": True},
        {"from_state": "root", "tool": "invest", "to_state": "invested", "reward": 0.05},
        {"from_state": "invested", "tool": "finish", "to_state": "done", "reward": 1.0, "terminal": True},
    ],
}
READ = {
    "goal": "read the file config.toml",
    "tools": [
        {"name": "read_file", "description": "Read a file", "inputSchema": {"type": "object"}, "risk": "low"},
        {"name": "send_mail", "description": "Send an e-mail"},
    ],
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("route", READ),
    ("mcphub__mcphub_route", READ),
    ("switchyard_route", {"goal": "read", "tools": []}),
    ("route_mcts", GRAPH),
    ("mcphub__route_mcts", {**GRAPH, "use_jev_prior": False}),
    ("mcphub_route_mcts", {**GRAPH, "method": "puct"}),
    ("route", {"tools": [{"name": " "}, {"description": "x"}], "mood": "good"}),
    ("route", {"goal": "read", "tools": [{"name": "a"}, {"name": "a"}]}),
    ("route_mcts", {**GRAPH, "root_state": "nowhere"}),
    ("route_mcts", {**GRAPH, "simulations": 9_999_999}),
    ("route_mcts", {**GRAPH, "wait_ms": 1}),
    ("teleport", {}),
]


@pytest.fixture(scope="module", params=["inside", "remote"])
def spoken(request: pytest.FixtureRequest, installation: Installation) -> Iterator[tuple[list[Any], list[Any]]]:
    """The tools that are listed, and what came of CALLS: in the data dir of an installation, and by asking it."""
    words = ["--data-dir", str(installation.directory)]
    if request.param == "remote":
        words = ["--url", installation.url, "--key", installation.key]
    server = StdioServerParameters(
        command=sys.executable,
        args=[str(ROOT / "manage.py"), "mcp", *words],
        env=installation.environment,
    )

    async def speak() -> tuple[list[Any], list[Any]]:
        async with stdio_client(server) as (incoming, outgoing), ClientSession(incoming, outgoing) as session:
            found = await session.initialize()
            assert found.server_info.name == "switchyard"
            tools = (await session.list_tools()).tools
            return tools, [await session.call_tool(name, arguments) for name, arguments in CALLS]

    yield asyncio.run(asyncio.wait_for(speak(), 120))


def test_the_entry_that_the_console_shows_reaches_the_server(installation: Installation):
    shown = next(one["text"] for one in connect.snippets(installation.url) if one["key"] == "mcp")
    entry = json.loads(shown)["mcpServers"]["switchyard"]
    filled = {name: value.replace("${SWITCHYARD_KEY}", installation.key) for name, value in entry["env"].items()}
    assert entry["command"] == "switchyard"
    server = StdioServerParameters(
        command=sys.executable,
        args=[str(ROOT / "manage.py"), *entry["args"]],
        env={**installation.environment, **filled},
    )

    async def speak() -> Any:
        async with stdio_client(server) as (incoming, outgoing), ClientSession(incoming, outgoing) as session:
            await session.initialize()
            return await session.call_tool("route", READ)

    assert told(asyncio.run(asyncio.wait_for(speak(), 120)))["tool"] in {"read_file", None}


def told(result: Any) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return dict(result.structured_content)


def test_two_tools_are_listed_with_their_fields(spoken):
    tools = {tool.name: tool for tool in spoken[0]}

    assert set(tools) == {"route", "route_mcts"}
    assert {"goal", "tools", "observation", "last_action"} <= set(tools["route"].input_schema["properties"])
    assert "wait_ms" not in str(tools["route"].input_schema)
    assert tools["route"].input_schema["required"] == ["goal"]
    mcts = tools["route_mcts"].input_schema["properties"]
    assert (mcts["simulations"]["default"], mcts["max_depth"]["default"]) == (32, 3)


def test_route_answers_under_every_name(spoken):
    first, second, empty = map(told, spoken[1][:3])

    assert set(first) == {"tool", "confidence", "fallback", "reason"}
    assert (first["tool"], first["fallback"], first["reason"]) == ("read_file", False, None)
    assert second == first
    assert empty == {"tool": None, "confidence": 0.0, "fallback": True, "reason": "no_tools"}


def test_route_mcts_answers_the_line_that_it_found(spoken):
    exact, spelled, puct = map(told, spoken[1][3:6])

    assert exact == {
        "tool": "invest", "confidence": 1.0, "fallback": False, "reason": None,
        "principal_variation": ["invest", "finish"], "simulations": 0, "policy_evaluations": 0,
    }  # fmt: skip
    assert spelled == exact
    assert (puct["tool"], puct["simulations"], puct["policy_evaluations"]) == ("invest", 32, 1)


def test_what_is_wrong_reaches_the_caller_with_its_place(spoken):
    said = [result.content[0].text for result in spoken[1][6:]]

    assert all(result.is_error for result in spoken[1][6:])
    for part in ("goal: is required", "tools[1].name: is required", "mood: is not known here"):
        assert part in said[0]
    assert "tools[1].name" in said[1]
    assert "root_state: no state has this id" in said[2]
    assert "simulations: must be at most" in said[3]
    assert "wait_ms: is not known here" in said[4]
    assert "there is no tool 'teleport'; there are route, route_mcts" in said[5]


def test_without_an_installation_it_says_so(tmp_path, installation: Installation):
    import subprocess

    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "mcp", "--data-dir", str(tmp_path / "none")],
        env={**installation.environment, "SWITCHYARD_DATA_DIR": str(tmp_path / "none")},
        input="",
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr and done.stderr.strip()
