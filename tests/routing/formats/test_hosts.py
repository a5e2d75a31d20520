"""Server lists of MCP hosts, Harvey's routes and LiteLLM's models, as people really write them."""

from __future__ import annotations

import json

import pytest

from routing.engine.validation import parse_document
from routing.formats import read

CANARY = "sk-canary-0a1b2c3d4e5f6a7b"


def endpoints(found):
    return {
        one["name"]: {key: value for key, value in one.items() if key != "name"}
        for one in found.document.get("endpoints", ())
    }


def refused(found):
    return {entry["name"]: entry["problems"][0] for entry in found.entries if entry["action"] == "refused"}


def places(details):
    return [detail["path"] for detail in details]


DESKTOP = """{
  // what the desktop host keeps
  "mcpServers": {
    "filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"]},
    "github": {
      "command": "docker", "args": ["run", "-i", "--rm", "-e", "GITHUB_TOKEN", "ghcr.io/github/github-mcp-server"],
      "env": {"GITHUB_TOKEN": "CANARY"}
    },
    "remote": {"command": "npx", "args": ["mcp-remote", "https://x.example/sse", "--header", "Authorization: Bearer CANARY"]},
    "linear": {"type": "sse", "url": "https://mcp.linear.app/sse", "disabled": true, "alwaysAllow": ["list_issues"]},
    "Sentry Prod": {"type": "http", "url": "https://mcp.sentry.dev/mcp", "headers": {"Authorization": "Bearer ${SENTRY_TOKEN:-CANARY}", "X-Org": "acme", "Accept": "application/json"}},
    "surf": {"serverUrl": "https://surf.example/mcp?api_key=CANARY&team=7", "timeout": 60}, /* trailing comma next */
  },
  "globalShortcut": "Ctrl+Space",
}
""".replace("CANARY", CANARY)


def test_a_desktop_hosts_list_with_comments_secrets_and_switched_off_servers():
    found = read(DESKTOP, filename="claude_desktop_config.json")

    assert (found.format, found.problems) == ("mcp-json", ())
    assert endpoints(found) == {
        "filesystem": {"kind": "mcp", "launch": "host:filesystem"},
        "github": {"kind": "mcp", "launch": "host:github"},
        "remote": {"kind": "mcp", "launch": "host:remote"},
        "linear": {"kind": "mcp", "url": "https://mcp.linear.app/sse", "transport": "sse", "enabled": False},
        "sentry-prod": {
            "title": "Sentry Prod",
            "kind": "mcp",
            "url": "https://mcp.sentry.dev/mcp",
            "credential": "env:SENTRY_TOKEN",
            "headers": {"X-Org": "env:SENTRY_PROD_X_ORG", "Accept": "application/json"},
        },
        "surf": {"kind": "mcp", "url": "https://surf.example/mcp?team=7"},
    }
    assert set(places(found.secrets)) == {
        "mcpServers.github.env.GITHUB_TOKEN",
        "mcpServers.remote.args[3]",
        'mcpServers["Sentry Prod"].headers.X-Org',
        "mcpServers.surf.serverUrl",
    }
    assert {"mcpServers.linear.alwaysAllow", "mcpServers.surf.timeout", ""} <= set(places(found.warnings))
    assert CANARY not in repr(found)


VS_CODE = """{
  "inputs": [{"type": "promptString", "id": "perplexity-key", "description": "API key", "password": true}],
  "servers": {
    "fetch": {"type": "stdio", "command": "uvx", "args": ["mcp-server-fetch"], "envFile": "${workspaceFolder}/.env"},
    "perplexity": {"type": "http", "url": "https://pp.example/mcp", "headers": {"Authorization": "Bearer ${input:perplexity-key}", "X-Trace": "${env:TRACE}"}}
  }
}"""


@pytest.mark.parametrize("nested", [False, True])
def test_vs_codes_list_with_inputs(nested):
    text = f'{{"editor.fontSize": 12, "mcp": {VS_CODE}}}' if nested else VS_CODE
    found = read(text)

    assert (found.format, found.problems) == ("mcp-json", ())
    assert endpoints(found)["perplexity"] == {
        "kind": "mcp",
        "url": "https://pp.example/mcp",
        "credential": "env:PERPLEXITY_KEY",
        "headers": {"X-Trace": "env:TRACE"},
    }
    assert endpoints(found)["fetch"]["launch"] == "host:fetch"
    assert "inputs" in places(found.warnings)


def test_opencodes_list_with_commands_as_lists():
    found = read(
        json.dumps(
            {
                "$schema": "https://opencode.ai/config.json",
                "provider": {"x": {"options": {"apiKey": CANARY}}},
                "mcp": {
                    "local": {
                        "type": "local",
                        "command": ["bun", "x", "thing", "--api-key", CANARY],
                        "environment": {"A": CANARY},
                        "enabled": True,
                    },
                    "away": {
                        "type": "remote",
                        "url": "https://a.example/mcp",
                        "enabled": False,
                        "headers": {"Authorization": "Bearer {env:AWAY}"},
                    },
                    "override": {"enabled": False},
                },
            }
        ),
        filename="opencode.json",
    )

    assert endpoints(found) == {
        "local": {"kind": "mcp", "launch": "host:local"},
        "away": {"kind": "mcp", "url": "https://a.example/mcp", "credential": "env:AWAY", "enabled": False},
    }
    assert set(refused(found)) == {"override"}
    assert set(places(found.secrets)) == {
        "mcp.local.command[4]",
        "mcp.local.environment.A",
        "provider.x.options.apiKey",
    }
    assert CANARY not in repr(found)


CODEX = f"""
model = "gpt-5"

[mcp_servers.docs]
command = "npx"
args = ["-y", "docs-mcp"]
startup_timeout_sec = 20

[mcp_servers.docs.env]
DOCS_TOKEN = "{CANARY}"

[mcp_servers.figma]
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA_TOKEN"
http_headers = {{ "X-Figma-Region" = "us-east-1" }}
env_http_headers = {{ "X-Team" = "FIGMA_TEAM" }}
enabled = false
enabled_tools = ["get_file"]
"""


def test_codexs_config_toml():
    found = read(CODEX, filename="config.toml")

    assert (found.format, found.problems) == ("mcp-json", ())
    assert endpoints(found) == {
        "docs": {"kind": "mcp", "launch": "host:docs"},
        "figma": {
            "kind": "mcp",
            "url": "https://mcp.figma.com/mcp",
            "credential": "env:FIGMA_TOKEN",
            "headers": {"X-Figma-Region": "env:FIGMA_X_FIGMA_REGION", "X-Team": "env:FIGMA_TEAM"},
            "enabled": False,
        },
    }
    assert "mcp_servers.figma.enabled_tools" in places(found.warnings)
    assert CANARY not in repr(found)


@pytest.mark.parametrize(
    "server",
    [
        None,
        [],
        {},
        {"command": "x", "url": "https://a.example"},
        {"url": "https://a.example", "httpUrl": "https://b.example"},
        {"type": "ws", "url": "wss://a.example"},
        {"type": "stdio", "url": "https://a.example"},
        {"type": "http", "command": "x"},
        {"type": 3, "command": "x"},
        {"command": ["x", "y"]},
        {"command": "x", "args": "y"},
        {"command": "x", "env": ["A=B"]},
        {"command": "x", "disabled": "yes"},
        {"command": "x", "enabled": True, "disabled": True},
        {"url": "https://${HOST}/mcp"},
        {"url": "ftp://a.example"},
        {"url": 7},
        {"url": "https://a.example", "headers": ["a"]},
        {"url": "https://a.example", "bearer_token_env_var": CANARY + " x"},
        {"url": "https://a.example", "headers": {"bad header": "x"}},
    ],
)
def test_what_is_not_clear_is_told_and_stays_out_while_the_rest_comes_in(server):
    found = read({"mcpServers": {"odd": server, "good": {"url": "https://good.example/mcp"}}})

    assert list(endpoints(found)) == ["good"]
    assert list(refused(found)) == ["odd"]
    assert refused(found)["odd"]["path"].startswith("mcpServers.odd")
    assert any(warning["path"].startswith("mcpServers.odd") for warning in found.warnings)
    assert CANARY not in repr(found)


def test_an_address_that_suggests_sse_is_read_as_written_and_told():
    found = read({"mcpServers": {"a": {"url": "https://a.example/sse"}}})

    assert "transport" not in endpoints(found)["a"]
    assert any("suggests sse" in warning["message"] for warning in found.warnings)


@pytest.mark.parametrize("section", ["mcpServers", "mcp_servers", "mcp"])
def test_a_list_that_is_no_mapping_is_a_problem(section):
    assert read({section: [1]}, format="mcp-json").problems[0]["path"] == section


def test_hostile_names_become_plain_ones_and_marks_are_not_kept():
    names = ["<script>alert(1)</script>", "\u202egnp.exe", "a__b", "switchyard", "𝒳🦊", "x" * 10_000, "", "..", "a\nb"]
    found = read({"mcpServers": {name: {"url": "https://a.example/mcp"} for name in names}})

    assert len(endpoints(found)) == len(names)
    parse_document(found.document)
    assert "\u202e" not in json.dumps(found.document, ensure_ascii=False)
    assert max(len(path) for path in places(found.warnings)) < 200


# --- Harvey -----------------------------------------------------------------------------------------------------------
ROUTES = {
    "enabled": True,
    "endpoints": [
        {"Name": "pi2", "URL": "ollama://192.168.1.12:11434", "Model": "qwen3:4b", "Kind": "ollama", "Tools": True},
        {"Name": "web", "URL": "https://ollama.example", "Model": ""},
        {"name": "cpp", "url": "llamacpp://localhost:8080/v1", "kind": "llamacpp"},
        {"Name": "Claude", "URL": "anthropic://", "Model": "claude-sonnet-4-5", "Kind": "anthropic"},
        {"Name": "compat", "URL": "http://box:8000", "Kind": "llamafile"},
    ],
}


def test_harveys_routes_become_model_endpoints():
    found = read(json.dumps(ROUTES), filename="agents/routes.json")

    assert (found.format, found.problems) == ("harvey-routes", ())
    assert endpoints(found) == {
        "pi2": {"kind": "ollama", "url": "http://192.168.1.12:11434", "model": "qwen3:4b"},
        "web": {"kind": "ollama", "url": "https://ollama.example"},
        "cpp": {"kind": "llamacpp", "url": "http://localhost:8080/v1"},
        "claude": {
            "title": "Claude",
            "kind": "anthropic",
            "url": "https://api.anthropic.com",
            "credential": "env:ANTHROPIC_API_KEY",
            "model": "claude-sonnet-4-5",
        },
        "compat": {"kind": "llamafile", "url": "http://box:8000"},
    }
    assert "endpoints[0].Tools" in places(found.warnings)


def test_routes_that_are_off_come_in_switched_off_and_the_file_is_known_without_its_name():
    found = read({**ROUTES, "enabled": False})

    assert found.format == "harvey-routes"
    assert {one["enabled"] for one in endpoints(found).values()} == {False}


@pytest.mark.parametrize(
    "route",
    [
        7,
        {"URL": "ollama://a"},
        {"Name": "odd"},
        {"Name": "odd", "URL": "box:11434"},
        {"Name": "odd", "URL": "gopher://a"},
        {"Name": "odd", "URL": "http://a", "Kind": "vllm"},
        {"Name": "odd", "URL": "ollama://a", "Kind": "openai"},
        {"Name": "odd", "URL": "ollama://"},
        {"Name": "odd", "name": "odder", "URL": "ollama://a"},
        {"Name": "odd", "URL": "ollama://a b"},
        {"Name": "good", "URL": "ollama://b"},
    ],
)
def test_a_route_that_is_not_clear_stays_out(route):
    found = read(
        {"enabled": True, "endpoints": [{"Name": "good", "URL": "ollama://good:1"}, route]}, format="harvey-routes"
    )

    assert list(endpoints(found)) == ["good"]
    assert len(refused(found)) == 1
    assert any(warning["path"].startswith("endpoints[1]") for warning in found.warnings)


# --- LiteLLM ----------------------------------------------------------------------------------------------------------
LITELLM = f"""
model_list:
  - model_name: gpt-4o
    litellm_params: {{model: openai/gpt-4o, api_key: os.environ/OPENAI_KEY, rpm: 60, max_parallel_requests: 4}}
    model_info: {{max_input_tokens: 128000, input_cost_per_token: 2.5e-06, output_cost_per_token: 0.00001, supports_vision: true, supports_function_calling: true}}
  - model_name: gpt-4o
    litellm_params: {{model: openai/gpt-4o, api_base: "https://other.example/v1", api_key: "{CANARY}"}}
  - model_name: claude
    litellm_params: {{model: anthropic/claude-sonnet-4-5}}
  - model_name: local
    litellm_params: {{model: ollama_chat/llama3.1, api_base: "http://localhost:11434"}}
  - model_name: embed
    litellm_params: {{model: hosted_vllm/bge-m3, api_base: "http://gpu:8000/v1"}}
    model_info: {{mode: embedding}}
  - model_name: azure-gpt
    litellm_params: {{model: azure/gpt-4o, api_base: "https://x.openai.azure.com", api_key: "{CANARY}"}}
  - model_name: "*"
    litellm_params: {{model: "openai/*"}}
general_settings:
  master_key: {CANARY}
environment_variables:
  SOME_TOKEN: {CANARY}
"""


def test_litellms_models_become_model_endpoints():
    found = read(LITELLM, filename="config.yaml")

    assert (found.format, found.problems) == ("litellm", ())
    assert endpoints(found) == {
        "gpt-4o": {
            "kind": "openai",
            "url": "https://api.openai.com",
            "credential": "env:OPENAI_KEY",
            "model": "gpt-4o",
            "context_window": 128000,
            "tool_tier": "structured",
            "features": {"vision": True},
            "cost_in": 2.5,
            "cost_out": 10,
            "max_concurrency": 4,
        },
        "gpt-4o-2": {
            "kind": "openai",
            "url": "https://other.example/v1",
            "credential": "env:GPT_4O_2_API_KEY",
            "model": "gpt-4o",
        },
        "claude": {
            "kind": "anthropic",
            "url": "https://api.anthropic.com",
            "credential": "env:ANTHROPIC_API_KEY",
            "model": "claude-sonnet-4-5",
        },
        "local": {"kind": "ollama", "url": "http://localhost:11434", "model": "llama3.1"},
        "embed": {"kind": "openai", "url": "http://gpu:8000/v1", "model": "bge-m3", "features": {"embeddings": True}},
    }
    assert len(refused(found)) == 2 and "azure-gpt" in refused(found)
    assert {
        "model_list[1].litellm_params.api_key",
        "model_list[5].litellm_params.api_key",
        "general_settings.master_key",
        "environment_variables.SOME_TOKEN",
    } == set(places(found.secrets))
    assert CANARY not in repr(found)


def test_a_providers_key_is_never_proposed_for_another_address():
    listed = [{"model_name": "a", "litellm_params": {"model": "openai/x", "api_base": "https://elsewhere.example"}}]

    assert "credential" not in endpoints(read({"model_list": listed}))["a"]
    assert read(json.dumps(listed)).format == "litellm"


@pytest.mark.parametrize(
    "deployment",
    [
        3,
        {"model_name": "odd"},
        {"model_name": "odd", "litellm_params": {"model": "gpt-4o"}},
        {"model_name": "odd", "litellm_params": {"model": "bedrock/x"}},
        {"model_name": "odd", "litellm_params": {"model": "hosted_vllm/x"}},
        {"model_name": "odd", "litellm_params": {"model": "openai/x", "api_base": "os.environ/BASE"}},
        {"model_name": "odd", "litellm_params": {"model": "openai/x", "input_cost_per_token": "much"}},
        {"model_name": "odd", "litellm_params": {"model": "openai/x"}, "model_info": {"mode": "image_generation"}},
        {"model_name": "odd", "litellm_params": {"model": "openai/x"}, "model_info": {"max_input_tokens": "many"}},
        {"model_name": 3, "litellm_params": {"model": "openai/x"}},
    ],
)
def test_a_deployment_that_is_not_clear_stays_out(deployment):
    found = read({"model_list": [{"model_name": "good", "litellm_params": {"model": "openai/g"}}, deployment]})

    assert list(endpoints(found)) == ["good"]
    assert len(refused(found)) == 1
