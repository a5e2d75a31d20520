from __future__ import annotations

import pytest

from routing.providers import mcp
from routing.providers.mcp import McpReader
from routing.providers.transport import CallFailed, Server
from tests.fake_server import serving as answering
from tests.mcp_server import serving

TOOLS = [{"name": f"tool_{n}", "description": f"Does {n}", "inputSchema": {"type": "object"}} for n in range(5)]


@pytest.mark.parametrize("streams", [False, True])
def test_all_pages_of_tools_are_read_in_one_session(streams):
    steps = []
    with serving(TOOLS, streams=streams) as server:
        reader = McpReader(Server(server.url))
        greeting = reader.greet()
        tools = reader.tools(lambda pages, count: steps.append((pages, count)))
        reader.leave()

        assert (greeting.protocol, greeting.name, greeting.has_tools) == ("2025-06-18", "a test", True)
        assert tools == TOOLS
        assert steps == [(1, 2), (2, 4), (3, 5)]
        assert server.asked == ["initialize", "notifications/initialized", "tools/list", "tools/list", "tools/list"]
        assert {headers.get("mcp-session-id") for headers in server.headers[1:]} == {"session-1"}
        assert {headers.get("mcp-protocol-version") for headers in server.headers[1:]} == {"2025-06-18"}
        assert server.sessions == set()


def test_an_older_version_is_agreed_to_and_an_unknown_one_is_not():
    with serving(TOOLS, protocol="2024-11-05") as server:
        assert McpReader(Server(server.url)).greet().protocol == "2024-11-05"
    with serving(TOOLS, protocol="1999-01-01") as server, pytest.raises(CallFailed, match="version of MCP"):
        McpReader(Server(server.url)).greet()


def test_a_credential_goes_along_and_is_missed_where_it_is_not():
    with serving(TOOLS, secret="hidden") as server:
        assert McpReader(Server(server.url), {"Authorization": "Bearer hidden"}, secret=True).greet()
        with pytest.raises(CallFailed) as failed:
            McpReader(Server(server.url)).greet()

    assert failed.value.code == "credential"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ((404, b""), "no MCP server answers there"),
        ((200, b"<html>"), "not MCP"),
        ((302, b""), "redirect"),
    ],
)
def test_what_is_no_mcp_server_is_told_so(reply, words):
    with answering(lambda *_: reply) as fake, pytest.raises(CallFailed, match=words):
        McpReader(Server(fake.url)).greet()


def test_pages_that_never_end_do(monkeypatch):
    with serving(TOOLS, loops=True) as server:
        reader = McpReader(Server(server.url))
        reader.greet()
        with pytest.raises(CallFailed, match="lead back"):
            reader.tools()


@pytest.mark.parametrize(("bound", "words"), [("MOST_PAGES", "pages"), ("MOST_TOOLS", "tools"), ("MOST_BYTES", "long")])
def test_bounds_hold(monkeypatch, bound, words):
    with serving(TOOLS) as server:
        reader = McpReader(Server(server.url))
        reader.greet()
        monkeypatch.setattr(mcp, bound, 2 if bound != "MOST_BYTES" else 500)
        with pytest.raises(CallFailed, match=words):
            reader.tools()


def test_a_reader_that_nobody_wants_any_more_stops():
    with serving(TOOLS) as server:
        unwanted = []
        reader = McpReader(Server(server.url), is_unwanted=lambda: bool(unwanted))
        reader.greet()
        with pytest.raises(CallFailed) as failed:
            reader.tools(lambda *_: unwanted.append(True))

        assert failed.value.code == "cancelled"
        assert server.asked.count("tools/list") == 1


def test_a_server_that_is_slow_is_given_up():
    with serving(TOOLS, delay_s=0.5) as server:
        reader = McpReader(Server(server.url), patience_s=0.3)
        reader.greet()
        with pytest.raises(CallFailed) as failed:
            reader.tools()

        assert failed.value.code == "timeout"
