"""Connect a harness: snippets for a scope that can be pasted as they are, with this installation's own address."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse
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
    origin = f"{request.scheme}://{request.get_host()}"
    context = {
        "scope": scope,
        "scopes": scopes,
        "origin": origin,
        "variable": VARIABLE,
        "snippets": [*_calls(origin), *_hooks(origin), *_mcp(origin)],
        "later": _later(),
    }
    return render(request, "connect/page.html", context)


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
    """For hosts that speak MCP; empty until this installation serves it."""
    if not _serves("mcp"):
        return []
    entry = {
        "mcpServers": {"switchyard": {"url": f"{origin}/mcp", "headers": {"Authorization": f"Bearer ${{{VARIABLE}}}"}}}
    }
    return [_snippet("mcp", "Any MCP host", "An entry of its mcp.json.", json.dumps(entry, indent=2))]


def _later() -> list[str]:
    """What this version does not serve yet, in words."""
    said = {
        "mcp": "Generic MCP: this version has no MCP server at /mcp yet. Hosts that speak only MCP cannot connect; use a hook or the calls above.",
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
