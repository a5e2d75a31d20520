"""mcphub's configuration, key by key."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from routing.engine.errors import RegistryError
from routing.engine.validation import parse_document
from routing.formats import read
from routing.formats.units import byte_size, seconds

CANARY = "canary-0a1b2c3d4e5f"


def convert(**content):
    found = read(content, "mcphub")
    assert found.problems == ()
    return found


def server(**more):
    return {"url": "https://x.example/mcp", "enabled": True, **more}


def paths(details):
    return [detail["path"] for detail in details]


def test_a_server_becomes_an_mcp_endpoint_and_is_disabled_unless_it_says_otherwise():
    found = convert(
        servers={
            "on": server(),
            "off": {
                "url": "https://y.example",
                "transport": "sse",
                "description": "d",
                "tags": ["t"],
                "use_when": ["u"],
            },
        }
    )

    assert found.document["endpoints"] == [
        {"name": "on", "kind": "mcp", "url": "https://x.example/mcp"},
        {
            "name": "off",
            "kind": "mcp",
            "url": "https://y.example",
            "transport": "sse",
            "enabled": False,
            "description": "d",
            "tags": ["t"],
            "use_when": ["u"],
        },
    ]


def test_absent_lists_mean_all_and_empty_ones_none():
    found = convert(
        servers={"a": server()},
        agents={
            "free": {"type": "claude", "path": "~/.claude.json"},
            "bound": {"type": "codex", "path": "p", "servers": [], "tools": [], "pin": []},
            "null": {"servers": None},
        },
    )

    free, bound, null = found.document["scopes"]
    assert free == {"name": "free", "harness": {"type": "claude", "path": "~/.claude.json"}}
    assert (bound["endpoints"], bound["tools"], bound["pins"]) == ([], [], [])
    assert null == {"name": "null"}


def test_an_agent_becomes_a_scope():
    found = convert(
        servers={"a": server(), "b": server(enabled=False)},
        groups={"both": ["a", "b"]},
        agents={
            "x": {
                "type": "cursor",
                "path": "p",
                "mode": "direct",
                "disabled": True,
                "servers": ["a", "b"],
                "tool_schema_budget": "4 KB",
            }
        },
    )

    assert found.document["groups"] == {"both": ["a", "b"]}
    assert found.document["scopes"] == [
        {
            "name": "x",
            "endpoints": ["a", "b"],
            "mode": "direct",
            "tool_schema_budget_bytes": 4096,
            "harness": {"type": "cursor", "path": "p", "disabled": True},
        }
    ]


def test_a_budget_of_nothing_is_no_missing_budget():
    agents = {"none": {"tool_schema_budget": "0"}, "free": {}}

    none, free = convert(servers={}, agents=agents).document["scopes"]

    assert none["tool_schema_budget_bytes"] == 0
    assert "tool_schema_budget_bytes" not in free


def test_top_level_settings_become_the_gateways():
    found = convert(
        version=1,
        expose="all",
        pin=["a", "a__*"],
        connect_timeout="1m30s",
        call_timeout="1h",
        response_budget="64KB",
        verbatim=True,
        listen="127.0.0.1:1",
        servers={"a": server()},
    )

    assert found.document["gateway"] == {
        "expose": "all",
        "pins": ["a", "a__*"],
        "connect_timeout_s": 90,
        "call_timeout_s": 3600,
        "response_budget_bytes": 65536,
        "verbatim": True,
    }
    assert {warning["path"]: warning["message"] for warning in found.warnings} == {
        "version": "not used",
        "listen": "not used",
    }


def test_what_mcphub_means_by_saying_nothing_is_kept():
    found = convert(servers={"a": server()})

    assert (dict(found.gateway), found.assumed) == ({}, {"expose": "all"})
    assert dict(convert(servers={}, expose="lazy").gateway) == {"expose": "lazy"}


@pytest.mark.parametrize(
    ("name", "member"),
    [("off", "off"), ("yes", "yes"), ("1", "1"), ("2024-01-01", "2024-01-01"), ("true", "'true'"), ("0x10", "'0x10'")],
)
def test_a_server_is_called_what_was_written(name, member):
    text = f"servers:\n  {name}: {{url: https://x.example/mcp, enabled: yes}}\ngroups: {{g: [{member}]}}\n"
    found = read(text, "mcphub")

    assert found.document["endpoints"][0]["name"] == name
    assert [entry["action"] for entry in found.entries if entry["kind"] == "endpoint"] == ["added"]
    assert "enabled" not in found.document["endpoints"][0]
    assert not found.warnings


def test_merged_mappings_have_keys_as_they_were_written_too():
    found = read("servers:\n  base: &b {url: https://x.example, enabled: on}\n  off: {<<: *b, tags: [no]}\n", "mcphub")

    assert found.document["endpoints"][1] == {"name": "off", "kind": "mcp", "url": "https://x.example", "tags": ["no"]}


def test_unknown_keys_are_warnings_that_name_what_was_meant():
    found = convert(servers={"a": server(usewhen=["x"])}, agents={"x": {"server": ["a"]}}, expos="all")

    told = {warning["path"]: warning["message"] for warning in found.warnings}
    assert "use_when" in told["servers.a.usewhen"]
    assert "servers" in told["agents.x.server"]
    assert "expose" in told["expos"]


def test_names_outside_the_rules_are_renamed_everywhere_and_told():
    content = {
        "pin": ["My Server__*", "a_"],
        "servers": {
            "My Server": server(tool_use_when={"My Server_x": ["h"]}),
            "my-server": server(),
            "a_": server(),
            "MCPHub": server(),
        },
        "groups": {"All of them": ["My Server", "a_"]},
        "agents": {"Claude Code": {"servers": ["My Server"], "tools": ["My Server__x", "a___b"]}},
    }
    tools = {"My Server": [{"name": "My Server_x"}], "a_": [{"name": "_b"}, {"name": "b"}]}

    found = read(content, "mcphub", tools=tools)

    assert found.problems == ()
    assert [(one["name"], one.get("title")) for one in found.document["endpoints"]] == [
        ("my-server-2", "My Server"),
        ("my-server", None),
        ("a", "a_"),
        ("mcphub-1", "MCPHub"),
    ]
    assert found.document["gateway"]["pins"] == ["my-server-2__*", "a"]
    assert found.document["groups"] == {"all-of-them": ["my-server-2", "a"]}
    assert found.document["scopes"] == [
        {"name": "claude-code", "endpoints": ["my-server-2"], "tools": ["my-server-2__My Server_x", "a__b"]}
    ]
    assert found.document["endpoints"][0]["tool_use_when"] == {"My Server_x": ["h"]}
    assert {entry["name"]: entry["action"] for entry in found.entries if entry["kind"] == "endpoint"} == {
        "my-server-2": "renamed",
        "my-server": "added",
        "a": "renamed",
        "mcphub-1": "renamed",
    }


def test_commands_are_proposed_to_the_host_and_nothing_of_them_is_kept():
    found = convert(
        servers={
            "a": {
                "command": "npx",
                "args": ["--token", CANARY],
                "env": {"API_KEY": CANARY, "V": "tvault://team/key"},
                "cwd": "~/x",
                "vault": "team",
                "enabled": True,
            }
        }
    )

    assert found.document["endpoints"] == [{"name": "a", "kind": "mcp", "launch": "host:a"}]
    assert found.launches == ("a",)
    assert {secret["path"]: secret["suggested"] for secret in found.secrets} == {
        "servers.a.args[1]": "env:TOKEN",
        "servers.a.env.API_KEY": "env:API_KEY",
        "servers.a.env.V": "vault:team/key",
    }
    assert {"servers.a.command", "servers.a.vault"} <= set(paths(found.warnings))
    assert CANARY not in repr(found)


@pytest.mark.parametrize(
    ("header", "value", "field", "reference"),
    [
        ("Authorization", f"Bearer {CANARY}", "credential", "env:A_TOKEN"),
        ("authorization", "Bearer tvault://team/key", "credential", "vault:team/key"),
        ("Authorization", "Bearer ${HUB_TOKEN}", "credential", "env:HUB_TOKEN"),
        ("Authorization", f"Basic {CANARY}", "Authorization", "env:A_AUTHORIZATION"),
        ("X-Api-Key", CANARY, "X-Api-Key", "env:A_X_API_KEY"),
        ("X-Plain", "words", "X-Plain", "env:A_X_PLAIN"),
        ("X-Key", "tvault://current/key", "X-Key", "vault:key"),
        ("X-Key", "$HUB", "X-Key", "env:HUB"),
        ("X-Key", "env:HUB", "X-Key", "env:HUB"),
        ("Accept", "text/html", "Accept", "text/html"),
        ("Accept", CANARY, "Accept", "env:A_ACCEPT"),
    ],
)
def test_headers_become_references(header, value, field, reference):
    found = convert(servers={"a": server(headers={header: value})})

    endpoint = found.document["endpoints"][0]
    assert (endpoint.get("credential") if field == "credential" else endpoint["headers"][field]) == reference
    assert CANARY not in repr(found)


def test_secrets_in_addresses_are_taken_out():
    found = convert(servers={"a": server(url=f"https://me:{CANARY}@x.example:8443/mcp?team=7&api_key={CANARY}")})

    endpoint = found.document["endpoints"][0]
    assert endpoint["url"] == "https://x.example:8443/mcp?team=7"
    assert endpoint["headers"] == {"Authorization": "env:A_AUTHORIZATION"}
    assert paths(found.secrets) == ["servers.a.url", "servers.a.url"]
    assert CANARY not in repr(found)


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ({"servers": {"a": {}}}, "servers.a"),
        ({"servers": {"a": {"url": "https://x.example", "command": "x"}}}, "servers.a"),
        ({"servers": {"a": []}}, "servers.a"),
        ({"servers": []}, "servers"),
        ({"servers": {"a": server(use_when=["x"] * 9)}}, "servers.a.use_when"),
        ({"servers": {"a": server(use_when="x")}}, "servers.a.use_when"),
        ({"servers": {"a": server(transport="ftp")}}, "servers.a.transport"),
        ({"servers": {"a": server(enabled="maybe")}}, "servers.a.enabled"),
        ({"servers": {"a": server(headers={1: 2})}}, "servers.a.headers.1"),
        ({"servers": {}, "connect_timeout": "soon"}, "connect_timeout"),
        ({"servers": {}, "call_timeout": "0s"}, "gateway.call_timeout_s"),
        ({"servers": {}, "response_budget": "1.5KB"}, "response_budget"),
        ({"servers": {}, "response_budget": "100B"}, "gateway.response_budget_bytes"),
        ({"servers": {}, "expose": "some"}, "gateway.expose"),
        ({"servers": {}, "pin": ["nope"]}, "gateway.pins[0]"),
        ({"servers": {}, "groups": {"g": ["nope"]}}, "groups.g[0]"),
        ({"servers": {}, "agents": {"x": {"servers": ["nope"]}}}, "agents.x.endpoints[0]"),
        ({"servers": {}, "agents": {"x": 1}}, "agents.x"),
        ({"servers": {}, "agents": {"x": {"tool_schema_budget": "-1"}}}, "agents.x.tool_schema_budget"),
    ],
)
def test_what_cannot_be_imported_is_a_problem_with_its_place_in_the_file(content, path):
    found = read(content, "mcphub")

    assert path in paths(found.problems)
    assert found.document is None


def test_a_hint_for_a_tool_that_is_not_there_is_a_warning_in_the_files_words():
    found = read({"servers": {"a": server(tool_use_when={"gone": ["x"]})}}, "mcphub", tools={"a": [{"name": "here"}]})

    assert paths(found.warnings) == ["servers.a.tool_use_when.gone"]


CONTENT = {
    "expose": "lazy",
    "servers": {"a": {"url": "https://x.example/mcp", "enabled": True, "tags": ["t"]}},
    "agents": {"x": {"servers": ["a"], "tools": []}},
}
TOML = 'expose = "lazy"\n[servers.a]\nurl = "https://x.example/mcp"\nenabled = true\ntags = ["t"]\n[agents.x]\nservers = ["a"]\ntools = []\n'


@pytest.mark.parametrize(
    ("text", "filename"),
    [
        (yaml.safe_dump(CONTENT), "mcphub.yaml"),
        (json.dumps(CONTENT), "mcphub.json"),
        (TOML, "mcphub.toml"),
        (yaml.safe_dump(CONTENT), None),
        (json.dumps(CONTENT), None),
        (TOML, None),
    ],
)
def test_yaml_json_and_toml_say_the_same_with_and_without_a_name(text, filename):
    found = read(text, filename=filename)

    assert found.format == "mcphub"
    assert found.document == convert(**CONTENT).document


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("30s", 30),
        ("1m30s", 90),
        ("1h2m3.5s", 3723.5),
        ("500ms", 0.5),
        ("1.5h", 5400),
        ("0", 0),
        ("-5s", -5),
        ("+1s", 1),
        ("2µs", 2e-6),
        ("10ns", 1e-8),
    ],
)
def test_durations_are_read_in_gos_notation(written, value):
    assert seconds(written) == value


@pytest.mark.parametrize("written", ["", "5", "s", "1 s", "1d", "1.2.3s", "-", "1s ", None, 5, True])
def test_other_durations_are_refused(written):
    assert seconds(written) is None


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("", 0),
        ("0", 0),
        ("512", 512),
        ("512B", 512),
        ("32KB", 32768),
        (" 1 mb ", 1024**2),
        ("2GB", 2 * 1024**3),
        (77, 77),
    ],
)
def test_sizes_are_read(written, value):
    assert byte_size(written) == value


@pytest.mark.parametrize(
    "written", ["1.5KB", "KB", "-1", "1TB", "1 K B", "9" * 30, "9" * 19 + "GB", None, True, -1, 1.5]
)
def test_other_sizes_are_refused(written):
    assert byte_size(written) is None


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | st.integers(), inner, max_size=3),
    max_leaves=6,
)
SERVER = st.dictionaries(
    st.sampled_from(
        "command args env cwd url transport headers vault enabled description tags use_when tool_use_when usewhen".split()
    ),
    ANYTHING,
    max_size=6,
)
CONFIGURATION = st.fixed_dictionaries(
    {"servers": st.dictionaries(st.text(max_size=6), SERVER | ANYTHING, max_size=3)},
    optional={
        "agents": st.dictionaries(
            st.text(max_size=6),
            st.dictionaries(st.sampled_from("type path mode servers tools pin tool_schema_budget".split()), ANYTHING),
            max_size=3,
        )
        | ANYTHING,
        "groups": ANYTHING,
        "pin": ANYTHING,
        "expose": ANYTHING,
        "connect_timeout": ANYTHING,
        "response_budget": ANYTHING,
        "verbatim": ANYTHING,
    },
)


@given(CONFIGURATION)
@settings(max_examples=300, deadline=None)
def test_whatever_a_file_says_the_outcome_is_a_valid_document_or_problems(content):
    found = read(content, "mcphub")

    assert (found.document is None) == bool(found.problems)
    if found.document is not None:
        try:
            parse_document(found.document)
        except RegistryError as error:  # pragma: no cover - the assertion below tells it
            assert not error.problems
