"""Connect a harness: snippets for a scope that can be pasted as they are, with this installation's own address."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_safe

from control.access import may
from routing import snapshot
from routing.models import Workspace

VARIABLE = "SWITCHYARD_KEY"


@require_safe
@may("harness.connect")
def page(request: Any, workspace: Workspace) -> HttpResponse:
    scopes = list(snapshot.live(workspace.pk).catalog.scopes)
    asked = request.GET.get("scope", "")
    scope = asked if asked in scopes else "default"
    origin = origin_of(request)
    context = {
        "scope": scope,
        "scopes": scopes,
        "origin": origin,
        "variable": VARIABLE,
        "snippets": snippets(origin),
        "later": _later(),
    }
    return render(request, "connect/page.html", context)


def origin_of(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"


def snippets(origin: str) -> list[dict[str, str]]:
    """What can be pasted to call this installation, the shortest first."""
    return [*_calls(origin), *_hooks(origin), *_mcp(origin)]


def _calls(origin: str) -> list[dict[str, str]]:
    ask = {"query": "fetch a public web page as text"}
    return [
        _snippet(
            "curl",
            "curl",
            "Ask which tool fits, from any shell.",
            f"export {VARIABLE}=…   # the key\n"
            f"curl -s {origin}/api/v1/resolve \\\n"
            f'  -H "Authorization: Bearer ${VARIABLE}" -H "Content-Type: application/json" \\\n'
            f"  -d '{json.dumps(ask)}'",
        ),
        _snippet(
            "python",
            "Python",
            "With httpx, or any other HTTP client.",
            "import os\n\nimport httpx\n\n"
            f'key = os.environ["{VARIABLE}"]\n'
            f'client = httpx.Client(base_url="{origin}/api/v1", headers={{"Authorization": f"Bearer {{key}}"}})\n'
            f'answer = client.post("/resolve", json={ask!r}).json()\n'
            'print(answer["status"], answer["recommendation"])',
        ),
        _snippet(
            "command",
            "Command line",
            "Our own program, as a shell or a script calls it.",
            f"export SWITCHYARD_URL={origin} {VARIABLE}=…\nswitchyard resolve 'fetch a public web page as text'\n"
            'har route --goal \'read the release notes\' --tools-json \'[{"name": "fetch"}, {"name": "search"}]\'',
        ),
    ]


def _hooks(origin: str) -> list[dict[str, str]]:
    """Agents that ask before a step, by a hook of theirs."""
    return [
        _snippet(
            host,
            word,
            "A hook that asks before the agent takes a step; it advises and never blocks.",
            f"export SWITCHYARD_URL={origin} {VARIABLE}=…\n"
            f"switchyard hooks show --host {host}      # what would be written, and nothing else\n"
            f"switchyard hooks install --host {host}",
        )
        for host, word in (("codex", "Codex"), ("claude-code", "Claude Code"))
    ]


def _mcp(origin: str) -> list[dict[str, str]]:
    """For hosts that speak MCP: they start the program, which asks this server."""
    server = {
        "command": "switchyard",
        "args": ["mcp"],
        "env": {"SWITCHYARD_URL": origin, VARIABLE: f"${{{VARIABLE}}}"},
    }
    return [
        _snippet(
            "mcp",
            "Any MCP host",
            "An entry of its mcp.json: two tools, route and route_mcts. Where the host fills in no variables, its own place for secrets holds the key.",
            json.dumps({"mcpServers": {"switchyard": server}}, indent=2),
        )
    ]


def _later() -> list[str]:
    """What this version does not serve yet, in words."""
    said = {
        "mcp": "MCP over HTTP: this version has no MCP server at /mcp yet. A host that can start a program uses the entry above.",
        "chat-completions": "OpenAI-compatible base URL: this version does not serve /v1/chat/completions yet.",
    }
    return [sentence for name, sentence in said.items() if not _serves(name)]


def _serves(name: str) -> bool:
    try:
        reverse(name)
    except NoReverseMatch:
        return False
    return True


def _snippet(key: str, title: str, about: str, text: str) -> dict[str, str]:
    return {"key": key, "title": title, "about": about, "text": text}
