"""What an import does to a workspace: all of it or nothing, and never a secret."""

from __future__ import annotations

import json

import pytest

from routing.engine.canonical import document_digest
from routing.formats.merging import merge
from routing.models import EndpointRow, EntryRow, Revision, Workspace
from routing.models.actor import SYSTEM
from routing.services import registry, revisions
from routing.services.imports import import_registry

pytestmark = pytest.mark.django_db

WEB = {"name": "web", "kind": "declared", "tools": [{"name": "web_fetch"}]}
DOCUMENT = {"version": 1, "endpoints": [WEB], "scopes": [{"name": "s", "endpoints": ["web"], "tools": ["web__fetch"]}]}


@pytest.fixture
def workspace(db) -> Workspace:
    return registry.create_workspace("imports", by=SYSTEM)


def names(workspace, section="endpoints"):
    return [one["name"] for one in registry.working_document(workspace).get(section, [])]


def test_an_import_is_proposed_as_a_revision_and_changes_nothing_that_is_live(workspace):
    before = revisions.live_document(workspace)

    answer = import_registry(workspace, DOCUMENT, message="Web", by=SYSTEM)

    assert (answer["format"], answer["revision"], answer["state"]) == ("switchyard", 2, "proposed")
    assert [(entry["kind"], entry["name"], entry["action"]) for entry in answer["entries"]] == [
        ("endpoint", "web", "added"),
        ("scope", "s", "added"),
    ]
    assert names(workspace) == ["web"]
    assert revisions.live_document(workspace) == before
    assert answer["digest"] == document_digest(registry.working_document(workspace))


def test_importing_the_same_again_is_nothing_new(workspace):
    first = import_registry(workspace, DOCUMENT, by=SYSTEM)
    again = import_registry(workspace, DOCUMENT, by=SYSTEM)

    assert (again["revision"], again["state"], again["digest"]) == (first["revision"], "unchanged", first["digest"])
    assert {entry["action"] for entry in again["entries"]} == {"skipped"}


def test_what_a_workspace_has_besides_stays(workspace):
    import_registry(workspace, DOCUMENT, by=SYSTEM)
    import_registry(workspace, {"version": 1, "endpoints": [{"name": "other", "kind": "declared"}]}, by=SYSTEM)

    assert names(workspace) == ["web", "other"]
    assert "long-context" in names(workspace, "capabilities")


def test_a_dry_run_tells_the_outcome_and_stores_nothing(workspace):
    count = Revision.objects.filter(workspace=workspace).count()

    answer = import_registry(workspace, DOCUMENT, dry_run=True, by=SYSTEM)

    assert (answer["state"], answer["revision"]) == ("dry_run", None)
    assert names(workspace) == []
    assert Revision.objects.filter(workspace=workspace).count() == count
    assert import_registry(workspace, DOCUMENT, by=SYSTEM)["digest"] == answer["digest"]


def test_a_problem_refuses_the_whole_file(workspace):
    bad = {**DOCUMENT, "endpoints": [WEB, {"name": "bad", "kind": "ftp"}]}

    answer = import_registry(workspace, bad, by=SYSTEM)

    assert (answer["state"], answer["revision"], answer["digest"]) == ("refused", None, None)
    assert {entry["name"]: entry["action"] for entry in answer["entries"]} == {
        "web": "skipped",
        "bad": "refused",
        "s": "skipped",
    }
    assert names(workspace) == []


def test_what_cannot_be_read_is_refused_with_the_file_named(workspace):
    answer = import_registry(workspace, "a: [", filename="x.yaml", by=SYSTEM)

    assert [(entry["kind"], entry["name"]) for entry in answer["entries"]] == [("document", "x.yaml")]
    assert "line 1" in answer["entries"][0]["problems"][0]["message"]


def test_literal_secrets_are_told_by_place_and_stored_nowhere(workspace):
    canary = "canary-0a1b2c3d4e5f"
    content = {
        "servers": {
            "a": {"url": "https://x.example", "enabled": True, "headers": {"Authorization": f"Bearer {canary}"}},
            "b": {"command": canary, "env": {"KEY": canary}},
        }
    }

    answer = import_registry(workspace, content, format="mcphub", by=SYSTEM)

    assert answer["state"] == "proposed"
    assert {secret["path"] for secret in answer["secrets"]} == {"servers.a.headers.Authorization", "servers.b.env.KEY"}
    stored = [list(model.objects.values()) for model in (EndpointRow, EntryRow, Revision)]
    assert canary not in json.dumps(answer) + repr(stored) + repr(
        revisions.find(workspace, answer["revision"]).manifest
    )


def test_discovered_tools_stay_when_a_configuration_lists_none(workspace):
    import_registry(workspace, DOCUMENT, by=SYSTEM)

    import_registry(
        workspace, {"servers": {"web": {"url": "https://x.example", "enabled": True}}}, format="mcphub", by=SYSTEM
    )

    endpoint = registry.working_document(workspace)["endpoints"][0]
    assert (endpoint["kind"], endpoint["tools"]) == ("mcp", [{"name": "web_fetch"}])


CHANGED = {
    "version": 1,
    "endpoints": [{**WEB, "description": "new"}],
    "scopes": [{"name": "t", "tools": ["web__fetch"], "pins": ["web__*"]}],
}


@pytest.mark.parametrize(
    ("strategy", "action", "description"), [("update", "updated", "new"), ("skip", "skipped", None)]
)
def test_an_entry_that_exists_is_updated_or_left(workspace, strategy, action, description):
    import_registry(workspace, DOCUMENT, by=SYSTEM)

    answer = import_registry(workspace, CHANGED, strategy=strategy, by=SYSTEM)

    assert answer["entries"][0]["action"] == action
    assert registry.working_document(workspace)["endpoints"][0].get("description") == description


def test_an_entry_that_exists_may_refuse_the_import(workspace):
    import_registry(workspace, DOCUMENT, by=SYSTEM)

    answer = import_registry(workspace, CHANGED, strategy="refuse", by=SYSTEM)

    assert answer["state"] == "refused"
    assert [entry["action"] for entry in answer["entries"]] == ["refused", "skipped"]
    assert names(workspace, "scopes") == ["s"]


def test_an_entry_that_exists_may_give_the_new_one_another_name_wherever_it_is_used(workspace):
    import_registry(workspace, DOCUMENT, by=SYSTEM)

    answer = import_registry(workspace, CHANGED, strategy="rename", by=SYSTEM)

    document = registry.working_document(workspace)
    assert [(entry["name"], entry["action"]) for entry in answer["entries"]] == [("web-2", "renamed"), ("t", "added")]
    assert [one["name"] for one in document["endpoints"]] == ["web", "web-2"]
    assert document["scopes"][1] == {"name": "t", "tools": ["web-2__web_fetch"], "pins": ["web-2__*"]}


def test_merging_changes_neither_side():
    present, imported = json.loads(json.dumps(DOCUMENT)), json.loads(json.dumps(CHANGED))

    merge(present, imported, strategy="rename")

    assert (present, imported) == (DOCUMENT, CHANGED)


def test_export_and_import_into_another_workspace_lose_nothing(workspace):
    rich = {
        "version": 1,
        "gateway": {"expose": "all", "pins": ["web"]},
        "groups": {"g": ["web"], "none": []},
        "providers": [{"name": "p", "kind": "openrouter", "timeout_s": 2}],
        "endpoints": [
            {
                **WEB,
                "headers": {"X-A": "env:A"},
                "features": {"vision": False},
                "tool_use_when": {"fetch": ["a page"]},
                "note": "n",
            }
        ],
        "capabilities": [{"name": "long-context", "synonyms": ["long"], "prefer": ["web"]}],
        "scopes": [
            {"name": "default", "endpoints": ["group:g"], "tools": [], "harness": {"type": "claude", "disabled": True}}
        ],
        "policies": [
            {
                "name": "careful",
                "routing": "advise",
                "router": {"fallback_threshold": 0.7},
                "execution": {"rules": [{"effect": "erase", "verdict": "ask"}]},
            }
        ],
        "task_rules": [{"id": "r", "any": [1, None]}],
        "contracts": [{"a": {}}],
        "expectations": [{"name": "e", "query": "fetch", "expect": {"recommendation": None}}],
    }
    import_registry(workspace, rich, by=SYSTEM)
    exported = registry.working_document(workspace)
    other = registry.create_workspace("other", by=SYSTEM)
    registry.replace_working_copy(other, {"version": 1}, by=SYSTEM)

    import_registry(other, exported, by=SYSTEM)

    assert registry.working_document(other) == exported


def gateway(workspace):
    return registry.working_document(workspace).get("gateway", {})


def gateway_entries(answer):
    return [(one["name"], one["action"]) for one in answer["entries"] if one["kind"] == "gateway"]


def test_only_the_defaults_that_a_file_states_change_and_are_told(workspace):
    first = import_registry(
        workspace, {"version": 1, "gateway": {"expose": "all", "pins": ["web"]}, "endpoints": [WEB]}, by=SYSTEM
    )
    second = import_registry(
        workspace, {"version": 1, "gateway": {"expose": "lazy", "verbatim": False, "call_timeout_s": 60}}, by=SYSTEM
    )

    assert gateway_entries(first) == [("expose", "updated"), ("pins", "updated")]
    assert gateway_entries(second) == [("expose", "updated"), ("call_timeout_s", "updated")]
    assert gateway(workspace) == {"pins": ["web"], "call_timeout_s": 60}


def test_what_mcphub_means_by_silence_is_for_a_new_workspace_only(workspace):
    silent = {"servers": {"a": {"url": "https://x.example", "enabled": True}}}
    first = import_registry(workspace, silent, format="mcphub", by=SYSTEM)
    import_registry(workspace, {"version": 1, "gateway": {"expose": "lazy"}}, by=SYSTEM)
    again = import_registry(workspace, silent, format="mcphub", by=SYSTEM)

    assert gateway_entries(first) == [("expose", "updated")]
    assert gateway_entries(again) == []
    assert gateway(workspace) == {}


@pytest.mark.parametrize(("strategy", "action"), [("skip", "skipped"), ("rename", "skipped"), ("refuse", "refused")])
def test_a_default_that_is_set_stays_where_the_strategy_says_so(workspace, strategy, action):
    import_registry(workspace, {"version": 1, "gateway": {"call_timeout_s": 60}}, by=SYSTEM)

    answer = import_registry(workspace, {"version": 1, "gateway": {"call_timeout_s": 90}}, strategy=strategy, by=SYSTEM)

    assert gateway_entries(answer) == [("call_timeout_s", action)]
    assert gateway(workspace) == {"call_timeout_s": 60}


def test_an_endpoint_that_can_recommend_nothing_yet_is_told(workspace):
    servers = {name: {"url": "https://x.example", "enabled": name != "off"} for name in ("bare", "known", "off")}
    tools = {"known": {"tools": [{"name": "fetch"}]}}

    answer = import_registry(workspace, {"servers": servers}, format="mcphub", tools=tools, by=SYSTEM)

    assert [warning["message"] for warning in answer["warnings"]] == [
        "endpoint bare has no tools yet; add them with --tools"
    ]


def test_an_entry_that_is_not_clear_is_told_and_the_others_come_in(workspace):
    servers = {"good": {"url": "https://good.example/mcp"}, "odd": {"type": "ws", "url": "wss://odd.example"}}

    answer = import_registry(workspace, {"mcpServers": servers}, by=SYSTEM)

    assert (answer["format"], answer["state"]) == ("mcp-json", "proposed")
    assert {entry["name"]: entry["action"] for entry in answer["entries"]} == {"good": "added", "odd": "refused"}
    assert [problem["path"] for problem in answer["entries"][1]["problems"]] == ["mcpServers.odd.type"]
    assert names(workspace) == ["good"]


@pytest.mark.parametrize(
    ("content", "format"),
    [
        (
            {"mcpServers": {"a": {"url": "https://a.example", "headers": {"X-Key": "CANARY"}, "env": {"K": "CANARY"}}}},
            "mcp-json",
        ),
        ({"enabled": True, "endpoints": [{"Name": "a", "URL": "http://me:CANARY@a.example"}]}, "harvey-routes"),
        (
            {"model_list": [{"model_name": "a", "litellm_params": {"model": "openai/x", "api_key": "CANARY"}}]},
            "litellm",
        ),
    ],
)
def test_a_secret_of_any_format_is_told_by_place_and_stored_nowhere(workspace, caplog, content, format):
    canary = "sk-canary-0a1b2c3d4e5f6a7b"

    answer = import_registry(workspace, json.dumps(content).replace("CANARY", canary), format=format, by=SYSTEM)

    assert answer["state"] == "proposed" and answer["secrets"]
    assert canary not in json.dumps([answer, registry.working_document(workspace)]) + caplog.text
