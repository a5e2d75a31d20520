"""The examples of docs/providers.md run as they stand, against a service of this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from routing.providers import OpenRouterConfig, openrouter
from tests.fake_decisions import decisions_server

PAGE = Path(__file__).parents[3] / "docs" / "providers.md"


def test_the_examples_of_the_page_do_what_they_say(monkeypatch, capsys):
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    with decisions_server() as server:
        monkeypatch.setenv("OPENROUTER_API_KEY", "sk-test-0123456789abcdef")
        monkeypatch.setattr(openrouter.OpenRouterConfig, "address", property(lambda _: server.url))
        names: dict[str, Any] = {"__name__": "page"}
        exec(compile(code, str(PAGE), "exec"), names)

    assert OpenRouterConfig().url.startswith("https://openrouter.ai")
    assert capsys.readouterr().out.splitlines() == ["read_file", "allow rules[2]", "[]", "True"]
