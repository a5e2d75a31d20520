from __future__ import annotations

import json
from uuid import UUID

import pytest

from control.api.schemas import out
from routing.models import Decision, Workspace
from routing.models.actor import SYSTEM
from routing.services import decisions, entries, ledger, registry, revisions
from tests.control.api.conftest import Api
from tests.routing.conftest import EDITOR

FETCH = "fetch https://example.com/guide as Markdown"


def test_a_resolve_has_every_key_of_the_contract(api):
    status, answer = api.post("/resolve", {"query": FETCH, "explain": True})

    assert status == 200
    out.ResolveOut.model_validate(answer)
    assert (answer["status"], answer["recommendation"]["namespaced"]) == ("confident", "hitspec__fetch")
    assert answer["explanation"]["candidates"][0]["namespaced"] == "hitspec__fetch"


def test_no_match_leaves_out_what_it_has_not(api):
    _, answer = api.post("/resolve", {"query": "hello, how are you?"})

    assert (answer["status"], answer["recommendation"], answer["alternatives"]) == ("no_match", None, [])
    assert not {"matched_fraction", "score_gap", "alternatives_truncated"} & set(answer)


def test_an_activity_is_put_together_as_one_text(api):
    _, answer = api.post(
        "/resolve",
        {"activity": {"goal": "read a guide", "phase": "research", "activity": FETCH, "input_kinds": ["url", "text"]}},
    )

    assert (
        answer["query"]
        == f"Goal: read a guide. Phase: research. Current activity: {FETCH}. Available inputs: url, text."
    )


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, ""),
        ({"query": "a", "activity": {"goal": "a", "phase": "b", "activity": "c"}}, ""),
        ({"query": 5}, "query"),
        ({"query": "a", "max_hits": "5"}, "max_hits"),
        ({"query": "a", "max_hits": True}, "max_hits"),
        ({"query": "a", "explain": 1}, "explain"),
        ({"query": "a", "tier": "psychic"}, "tier"),
        ({"query": "a", "bogus": 1}, "bogus"),
        ({"query": "a", "wait_ms": 30_001}, "wait_ms"),
        ({"query": "a", "wait_ms": -1}, "wait_ms"),
        ({"query": "a", "session_id": "no spaces"}, "session_id"),
        ({"activity": {"goal": "a", "phase": "b"}}, "activity.activity"),
        ({"activity": {"goal": "a", "phase": "b", "activity": "c", "mood": "d"}}, "activity.mood"),
    ],
)
def test_a_bad_resolve_names_its_field(api, body, path):
    status, answer = api.post("/resolve", body)

    assert (status, answer["error"]["code"]) == (422, "invalid_request")
    assert path in [detail["path"] for detail in answer["error"]["details"]]
    out.ErrorOut.model_validate(answer)


@pytest.mark.parametrize(
    ("sent", "content_type", "status", "code"),
    [
        ("{", "application/json", 400, "bad_json"),
        ("", "application/json", 422, "invalid_request"),
        (b"\xff\xfe", "application/json", 400, "bad_json"),
        ('{"query": NaN}', "application/json", 400, "bad_json"),
        ("[]", "application/json", 422, "invalid_request"),
        ("null", "application/json", 422, "invalid_request"),
        ("query=a", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
        ("<a/>", "text/xml", 415, "unsupported_media_type"),
        ('{"query": "' + "a" * (1024 * 1024) + '"}', "application/json", 413, "too_large"),
    ],
)
def test_a_body_that_cannot_be_read_says_why(api, sent, content_type, status, code):
    found, answer = api.post("/resolve", sent, content_type)

    assert (found, answer["error"]["code"]) == (status, code)


@pytest.mark.parametrize("key", [None, "", "swy_unknown", "x" * 10_000, "ключ"])
def test_without_a_valid_key_every_reason_sounds_the_same(make_api, key):
    stranger = Api(key, make_api().client)
    status, answer = stranger.get("/decisions")

    assert (status, answer["error"]["code"]) == (401, "unauthenticated")
    assert answer["error"]["message"] == "Send a valid key: Authorization: Bearer <key>."


def test_a_revoked_or_expired_key_is_an_unknown_one(make_api, workspace):
    from datetime import timedelta

    from django.utils import timezone

    from control.keys import revoke_key
    from control.models import HarnessKey
    from routing import generation

    revoked, expired = make_api(name="revoked"), make_api(name="expired")
    revoke_key(HarnessKey.objects.get(workspace=workspace, name="revoked"), by=EDITOR)
    HarnessKey.objects.filter(name="expired").update(expires_at=timezone.now() - timedelta(seconds=1))
    generation.bump()

    assert revoked.get("/decisions")[0] == 401
    assert expired.get("/decisions")[0] == 401


@pytest.mark.parametrize(
    ("right", "call"),
    [
        ("decide", lambda api: api.post("/resolve", {"query": "a"})),
        ("decide", lambda api: api.post("/route", {"goal": "a", "wait_ms": 0})),
        ("decide", lambda api: api.get("/tools/search")),
        ("decide", lambda api: api.post("/tools/search", {})),
        ("decide", lambda api: api.get("/tools/hitspec__fetch")),
        ("report", lambda api: api.post("/events", {"events": [{}]})),
        ("read", lambda api: api.get("/events")),
        ("read", lambda api: api.get("/decisions")),
        (
            "simulate",
            lambda api: api.post("/simulate/resolve", {"registry": {"version": 1}, "queries": [{"query": "a"}]}),
        ),
        ("registry.read", lambda api: api.get("/registry")),
        ("registry.read", lambda api: api.get("/revisions")),
        ("registry.read", lambda api: api.get("/revisions/1")),
    ],
)
def test_each_call_needs_its_right_and_no_other(make_api, right, call):
    from control.access import RIGHTS

    assert call(make_api(rights=(right,)))[0] in (200, 202)
    status, answer = call(make_api(rights=tuple(other for other in RIGHTS if other != right)))
    assert (status, answer["error"]["code"]) == (403, "forbidden")


def test_every_operation_declares_the_right_it_needs():
    from control.api.api import api
    from control.api.auth import Needs

    operations = [
        operation
        for _, router in api._routers
        for view in router.path_operations.values()
        for operation in view.operations
    ]
    assert len(operations) >= 13
    assert all(any(isinstance(callback, Needs) for callback in operation.auth_callbacks) for operation in operations)


def test_out_of_scope_and_unknown_tools_are_the_same_absence(make_api):
    narrow = make_api("web-only")

    def without_id(found):
        status, answer = found
        answer["error"].pop("request_id")
        return status, answer

    assert without_id(narrow.get("/tools/notes__add_note")) == without_id(narrow.get("/tools/nothing__here"))
    assert narrow.get("/tools/hitspec__fetch")[0] == 200
    assert narrow.get("/tools/search", query="note")[1]["matches"] == []


def test_both_spellings_describe_the_same_tool_and_its_wire_name(api):
    short, long = api.get("/tools/hitspec__fetch")[1], api.get("/tools/hitspec__hitspec_fetch")[1]

    assert short == long
    assert (short["namespaced"], short["downstream"]) == ("hitspec__fetch", "hitspec_fetch")
    out.ToolOut.model_validate(short)


def test_searching_without_words_lists_the_scope_by_name(api):
    status, answer = api.post("/tools/search", {"query": "  "})

    assert status == 200
    assert [match["namespaced"] for match in answer["matches"]] == [
        "hitspec__fetch",
        "hitspec__validate",
        "notes__add_note",
        "notes__delete_note",
    ]
    out.SearchToolsOut.model_validate(answer)


def test_a_route_that_is_not_made_in_time_is_a_promise(api):
    status, answer = api.post("/route", {"goal": FETCH, "wait_ms": 0})

    assert status == 202
    assert answer == {
        "decision_id": answer["decision_id"],
        "state": "queued",
        "poll": f"/api/v1/decisions/{answer['decision_id']}",
    }
    decisions.run(UUID(answer["decision_id"]))
    found = api.get(f"/decisions/{answer['decision_id']}")[1]
    assert (found["state"], found["answer"]["tool"]) == ("finished", "hitspec__fetch")
    out.RouteOut.model_validate(found["answer"])


def test_a_route_can_be_read_before_it_is_decided(api):
    key = api.post("/route", {"goal": FETCH, "wait_ms": 0})[1]["decision_id"]

    found = api.get(f"/decisions/{key}")[1]
    assert (found["state"], found["answer"], found["events"]) == ("queued", None, [])
    out.DecisionDetailOut.model_validate(found)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "goal"),
        ({"goal": ""}, "goal"),
        ({"goal": "a" * 16_385}, "goal"),
        ({"goal": "a", "observation": "é" * 8_193}, "observation"),
        ({"goal": "a", "recent_actions": [{"tool": "a"}]}, "recent_actions[0].outcome"),
        ({"goal": "a", "tools": [{"description": "a"}]}, "tools[0].name"),
        ({"goal": "a", "tools": [{"name": "a", "risk": "huge"}]}, "tools[0].risk"),
        ({"goal": "a", "tools": [{"name": "a"}, {"name": "a"}]}, "tools[1].name"),
        ({"goal": "a", "tools": [{"name": f"t{n}"} for n in range(513)]}, "tools"),
        ({"goal": "a", "wait_ms": "5"}, "wait_ms"),
    ],
)
def test_a_bad_route_names_its_field_and_keeps_nothing(api, body, path):
    status, answer = api.post("/route", body)

    assert (status, answer["error"]["code"]) == (422, "invalid_request")
    assert path in [detail["path"] for detail in answer["error"]["details"]]
    assert not Decision.objects.exists()


def test_a_tool_definition_may_carry_keys_that_are_not_ours(api):
    tools = [
        {
            "name": "read_file",
            "description": "Read a file",
            "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": True},
            "x": 1,
        }
    ]

    assert api.post("/route", {"goal": "read a file", "tools": tools, "wait_ms": 0})[0] == 202


def test_a_policy_out_of_reach_is_not_found(api):
    assert api.post("/route", {"goal": "a", "policy": "fast"})[0] == 404


def test_events_are_accepted_one_by_one(api, workspace):
    sent = [
        {"id": "e1", "kind": "invocation", "target": "hitspec__fetch"},
        {"id": "e2", "kind": "recommendation", "target": "hitspec__fetch"},
        {"id": "e3", "kind": "transport_outcome", "target": "hitspec__fetch", "status": "lost"},
        {"id": "e4", "kind": "domain_outcome", "target": "hitspec__fetch", "status": "success", "note": "free text"},
        {"id": "e 5", "kind": "invocation", "target": "hitspec__fetch"},
        {"id": "e6", "kind": "domain_outcome", "target": "hitspec__fetch"},
        {"id": "e7", "kind": "invocation", "target": "hitspec__fetch", "at": "2026-11-29T10:00:00"},
        {"id": "e8", "kind": "invocation", "target": "hitspec__fetch", "attempt": 0},
        "not an object",
    ]
    status, answer = api.post("/events", {"events": sent[:-1]})

    assert status == 200
    assert (answer["accepted"], answer["duplicates"]) == (1, 0)
    assert [item["index"] for item in answer["rejected"]] == [1, 2, 3, 4, 5, 6, 7]
    out.EventsAcceptedOut.model_validate(answer)
    assert api.post("/events", {"events": sent[:1]})[1]["duplicates"] == 1
    changed = api.post("/events", {"events": [{**sent[0], "target": "notes__add_note"}]})[1]
    assert changed["rejected"][0]["error"]["code"] == "idempotency_conflict"
    assert api.post("/events", {"events": sent[-1:]})[0] == 422
    assert api.post("/events", {"events": []})[0] == 422


def test_lists_are_paged_without_gap_or_repeat(api, workspace):
    api.post(
        "/events", {"events": [{"id": f"e{n}", "kind": "invocation", "target": "hitspec__fetch"} for n in range(7)]}
    )
    ledger.write(workspace.pk)

    seen, after = [], None
    while True:
        page = api.get("/events", limit=3, **({"after": after} if after else {}))[1]
        seen += [item["seq"] for item in page["items"]]
        after = page["next"]
        if after is None:
            break
    assert seen == [7, 6, 5, 4, 3, 2, 1]
    out.EventPageOut.model_validate(page)


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("/events", {"bogus": 1}, "bogus"),
        ("/events", {"limit": 0}, "limit"),
        ("/events", {"limit": 201}, "limit"),
        ("/events", {"after": "!!"}, "after"),
        ("/events", {"kind": "gossip"}, "kind"),
        ("/decisions", {"since": "yesterday"}, "since"),
        ("/decisions", {"state": "asleep"}, "state"),
        ("/decisions", {"after": "bm90LWEtdXVpZA"}, "after"),
        ("/revisions", {"limit": "many"}, "limit"),
        ("/tools/search", {"q": "x"}, "q"),
    ],
)
def test_a_bad_filter_is_named(api, path, query, field):
    status, answer = api.get(path, **query)

    assert status == 422
    assert answer["error"]["details"][0]["path"] == field


def test_decisions_are_filtered_and_only_those_of_the_key_s_scope_are_seen(api, make_api, workspace):
    api.post("/resolve", {"query": FETCH})
    make_api("web-only").post("/resolve", {"query": "hello there"})
    ledger.write(workspace.pk)

    own = api.get("/decisions")[1]["items"]
    assert [item["scope"] for item in own] == ["default"]
    assert api.get("/decisions", reason_code=own[0]["reason_codes"][0])[1]["items"] == own
    assert api.get("/decisions", reason_code="score_tie")[1]["items"] == []
    assert api.get("/decisions", target="hitspec__fetch", status="confident", type="resolve")[1]["items"] == own
    assert make_api("web-only").get(f"/decisions/{own[0]['id']}")[0] == 404


@pytest.mark.parametrize("name", ["not-a-uuid", "01a2297f-9bcb-770a-b322-25f1a3d9350a", "%00"])
def test_an_unknown_decision_is_not_found(api, name):
    assert api.get(f"/decisions/{name}")[0] == 404


def test_another_workspace_is_invisible(api, db):
    from control.keys import create_key

    other = registry.create_workspace("other", by=EDITOR)
    _, key = create_key(other, "default", by=SYSTEM)
    stranger = Api(key, api.client)
    decision = api.post("/route", {"goal": FETCH, "wait_ms": 0})[1]["decision_id"]

    assert stranger.get(f"/decisions/{decision}")[0] == 404
    assert stranger.post("/resolve", {"query": FETCH})[1]["status"] == "no_match"


def test_the_registry_is_given_with_its_digest_as_json_and_as_yaml(api):
    import yaml

    response = api.client.get("/api/v1/registry", headers={"Authorization": f"Bearer {api.key}"})
    text = api.client.get(
        "/api/v1/registry", headers={"Authorization": f"Bearer {api.key}", "Accept": "application/yaml"}
    )

    body = response.json()
    assert response["ETag"] == f'"{body["digest"]}"'
    assert yaml.safe_load(text.content) == body["document"]
    out.RegistryOut.model_validate(body)


def test_a_revision_says_what_it_changed(api, workspace):
    entries.edit(workspace, "endpoints", "notes", {"description": "Notes of the team"}, by=EDITOR)
    revisions.publish(workspace, message="Describe notes", by=EDITOR)

    found = api.get("/revisions/3")[1]
    assert found["changes"] == [
        {
            "path": "endpoints[notes].description",
            "action": "changed",
            "before": "Notebook",
            "after": "Notes of the team",
        }
    ]
    out.RevisionDetailOut.model_validate(found)
    assert [item["revision"] for item in api.get("/revisions", limit=2)[1]["items"]] == [3, 2]
    assert api.get("/revisions/99")[0] == 404


def test_a_candidate_document_is_asked_without_being_stored(api, workspace):
    document = {
        "version": 1,
        "endpoints": [
            {"name": "lingua", "kind": "declared", "tools": [{"name": "translate", "description": "Translate text"}]}
        ],
    }
    status, answer = api.post(
        "/simulate/resolve", {"registry": document, "queries": [{"query": "translate text"}, {"query": "x" * 3000}]}
    )

    assert status == 200
    out.SimulateResolveOut.model_validate(answer)
    assert answer["answers"][0]["recommendation"]["namespaced"] == "lingua__translate"
    assert "decision_id" not in answer["answers"][0]
    assert answer["answers"][1]["max_query_bytes"] == 2048
    assert "lingua" not in json.dumps(registry.working_document(Workspace.objects.get(pk=workspace.pk)))


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"registry": {"version": 2}}, "version"),
        ({"scope": "nowhere"}, "scope"),
        ({"offline": ["nobody"]}, "offline[0]"),
        ({"registry": {"version": 1, "endpoints": [{"name": "A B", "kind": "mcp"}]}}, "endpoints[0].name"),
    ],
)
def test_a_candidate_that_breaks_a_rule_is_refused_with_its_place(api, change, path):
    status, answer = api.post("/simulate/resolve", {"registry": {"version": 1}, "queries": [{"query": "a"}], **change})

    assert (status, answer["error"]["code"]) == (422, "invalid_registry")
    assert path in [detail["path"] for detail in answer["error"]["details"]]


def test_an_address_that_is_no_call_says_so_as_json(api):
    status, answer = api.get("/nonsense")

    assert (status, answer["error"]["code"]) == (404, "not_found")


def test_every_answer_carries_a_request_id(api):
    response = api.client.get(
        "/api/v1/decisions", headers={"Authorization": f"Bearer {api.key}", "X-Request-Id": "mine-1"}
    )
    hostile = api.client.get("/api/v1/decisions", headers={"X-Request-Id": "a b\tc"})

    assert response["X-Request-Id"] == "mine-1"
    assert UUID(hostile["X-Request-Id"])
    assert hostile.json()["error"]["request_id"] == hostile["X-Request-Id"]


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("/decisions", {"revision": 10**20}, "revision"),
        ("/decisions", {"target": "a\0b"}, "target"),
        ("/events", {"scope": "\0"}, "scope"),
        ("/events", {"after": "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OQ"}, "after"),
        ("/events", {"after": "wrI"}, "after"),
        ("/registry", {"revision": "²"}, "revision"),
        ("/registry", {"revision": "\0"}, "revision"),
    ],
)
def test_what_no_database_could_hold_is_refused_by_name(api, path, query, field):
    status, answer = api.get(path, **query)

    assert status == 422
    assert answer["error"]["details"][0]["path"] == field


def test_a_revision_number_beyond_all_revisions_is_refused(api):
    assert api.get(f"/revisions/{10**20}")[0] == 422
    assert api.post(f"/revisions/{10**20}/publish", {})[0] == 422


@pytest.mark.parametrize("name", ["read\0file", "read\nfile", "x" * 257])
def test_a_tool_s_name_that_could_not_be_kept_is_refused(api, name):
    status, answer = api.post("/route", {"goal": "a", "tools": [{"name": name}]})

    assert (status, answer["error"]["details"][0]["path"]) == (422, "tools[0].name")
    assert not Decision.objects.exists()


def test_a_large_registry_is_taken_where_registries_are_expected(api):
    tools = [{"name": f"tool-{n}", "description": "x" * 3000} for n in range(1200)]
    document = {"version": 1, "endpoints": [{"name": "large", "kind": "declared", "tools": tools}]}

    assert api.post("/simulate/resolve", {"registry": document, "queries": [{"query": "tool"}]})[0] == 200
    assert api.post("/resolve", {"query": "a", "activity": document})[0] == 413


def test_tools_are_browsed_by_address_with_a_number_of_hits(api):
    status, answer = api.get("/tools/search", query="note", max_hits=1)

    assert (status, answer["returned"], answer["truncated"]) == (200, 1, True)
    assert api.get("/tools/search", max_hits="many")[1]["error"]["details"][0]["path"] == "max_hits"


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00"])
@pytest.mark.parametrize("path", ["/decisions", "/events"])
def test_a_moment_out_of_all_range_is_refused(api, path, moment):
    status, answer = api.get(path, since=moment)

    assert (status, answer["error"]["details"][0]["path"]) == (422, "since")


def test_every_unknown_name_of_a_simulation_is_told(api):
    body = {"registry": {"version": 1}, "scope": "no", "offline": ["a", "b"], "queries": [{"query": "x"}]}
    answer = api.post("/simulate/resolve", body)[1]

    assert [detail["path"] for detail in answer["error"]["details"]] == ["scope", "offline[0]", "offline[1]"]


def test_a_method_that_a_call_does_not_have_is_told_in_the_shape_of_errors(api):
    status, answer = api.get("/resolve")

    assert (status, answer["error"]["code"]) == (405, "method_not_allowed")
    out.ErrorOut.model_validate(answer)
