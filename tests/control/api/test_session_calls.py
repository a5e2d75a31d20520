from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import pytest

from control.api.schemas import out
from control.keys import create_key
from routing import bus
from routing.models import Decision, Event, Workspace
from routing.models.actor import SYSTEM
from routing.services import decisions, ledger, registry, revisions
from routing.services.decisions import claims
from routing.services.decisions import route as route_service
from tests.control.api.conftest import Api
from tests.routing.conftest import DOCUMENT, EDITOR

NOBODY = "01a2297f-9bcb-770a-b322-25f1a3d9350a"
READ = [{"name": "read_file", "description": "Read a file"}]
CAREFUL = {"name": "careful", "router": {"max_route_steps": 3, "max_same_action_repeats": 3}}


@pytest.fixture
def careful(workspace) -> Workspace:
    scopes = [{"name": "default", "policies": ["default", "careful"]}, {"name": "web-only", "endpoints": ["hitspec"]}]
    registry.replace_working_copy(workspace, {**DOCUMENT, "policies": [CAREFUL], "scopes": scopes}, by=EDITOR)
    revisions.publish(workspace, message="Careful", by=EDITOR)
    return workspace


def begin(api: Api, **body) -> str:
    status, session = api.post("/sessions", body)
    assert status == 201
    out.SessionOut.model_validate(session)
    return session["id"]


def ran(api: Api, session: str, tool: str, **more):
    status, answer = api.post(f"/sessions/{session}/executions", {"tool": tool, **more})
    assert status == 200
    out.RecordedOut.model_validate(answer)
    return answer


def route(api: Api, session: str, goal: str = "read the file config.toml", **more):
    """A route whose worker works in the test: the answer, as whoever polls gets it."""
    status, promised = api.post("/route", {"goal": goal, "session_id": session, "wait_ms": 0, "tools": READ, **more})
    assert status == 202, promised
    decisions.run(UUID(promised["decision_id"]))
    return api.get(f"/decisions/{promised['decision_id']}")[1]["answer"]


def missing(api: Api, session: str) -> dict:
    """A route that ends as a fallback: nothing is on offer."""
    return route(api, session, tools=[])


def test_a_session_begins_with_nothing_used(api):
    status, session = api.post("/sessions", {"ttl_s": 120})

    assert status == 201
    assert UUID(session["id"]).version == 7
    lasts = datetime.fromisoformat(session["expires_at"]) - datetime.fromisoformat(session["created_at"])
    assert lasts == timedelta(seconds=120)
    assert {**session, "id": "", "created_at": "", "expires_at": ""} == {
        "id": "", "policy": "default", "created_at": "", "expires_at": "", "steps": 0, "max_route_steps": 50,
        "consecutive_fallbacks": 0, "max_consecutive_fallbacks": 2, "circuit": "closed", "loop": False, "executions": [],
    }  # fmt: skip
    assert api.get(f"/sessions/{session['id']}") == (200, session)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"ttl_s": 59}, "ttl_s"),
        ({"ttl_s": 604_801}, "ttl_s"),
        ({"ttl_s": "600"}, "ttl_s"),
        ({"ttl_s": True}, "ttl_s"),
        ({"ttl": 600}, "ttl"),
        ({"policy": 5}, "policy"),
    ],
)
def test_a_bad_session_names_its_field(api, body, path):
    status, answer = api.post("/sessions", body)

    assert (status, answer["error"]["code"]) == (422, "invalid_request")
    assert [detail["path"] for detail in answer["error"]["details"]] == [path]


def test_the_longest_and_the_shortest_session_are_accepted(api):
    assert api.post("/sessions", {"ttl_s": 60})[0] == 201
    assert api.post("/sessions", {"ttl_s": 604_800})[0] == 201


def test_a_policy_that_the_scope_does_not_allow_is_not_found(api, make_api, careful):
    assert api.post("/sessions", {"policy": "careful"})[1]["max_route_steps"] == 3
    assert make_api("web-only").post("/sessions", {"policy": "careful"})[0] == 404
    assert api.post("/sessions", {"policy": "no-such"})[0] == 404


def test_sessions_of_other_scopes_and_workspaces_look_like_none(api, make_api, workspace):
    session = begin(api)
    other = registry.create_workspace("other", by=EDITOR)
    _, key = create_key(other, "default", rights=("decide",), by=SYSTEM)
    strangers = [make_api("web-only"), Api(key, api.client)]

    for stranger in strangers:
        for theirs, nobodys in ((session, NOBODY),):
            for call in (
                lambda id_, s=stranger: s.get(f"/sessions/{id_}"),
                lambda id_, s=stranger: s.post(f"/sessions/{id_}/executions", {"tool": "a"}),
                lambda id_, s=stranger: s.post(f"/sessions/{id_}/reset", {}),
                lambda id_, s=stranger: s.post("/route", {"goal": "read", "session_id": id_, "wait_ms": 0}),
            ):
                (status, found), (status_of_none, none) = call(theirs), call(nobodys)
                assert (status, status_of_none) == (404, 404)
                assert {**found["error"], "request_id": ""} == {**none["error"], "request_id": ""}
    assert not Decision.objects.exists()
    assert api.get(f"/sessions/{session}")[1]["executions"] == []


def test_repeats_alternations_and_cycles_are_told(api):
    session = begin(api)
    told = [ran(api, session, "search", arguments={"q": "x"})["kind"] for _ in range(3)]
    assert told == [None, None, "repeat"]

    api.post(f"/sessions/{session}/reset", {"what": "all"})
    told = [ran(api, session, tool)["kind"] for tool in ("a", "b", "a", "b")]
    assert told == [None, None, None, "alternation"]

    api.post(f"/sessions/{session}/reset", {"what": "all"})
    answers = [ran(api, session, tool) for tool in ("a", "b", "c") * 3]
    assert [one["kind"] for one in answers] == [None] * 8 + ["cycle"]
    assert (answers[-1]["loop"], answers[-1]["period"], answers[-1]["session"]["loop"]) == (True, 3, True)


def test_equal_actions_are_no_alternation_and_absent_arguments_no_empty_ones(api, careful):
    session = begin(api, policy="careful")
    for arguments in (None, {}, None, {}):
        last = ran(api, session, "a", **({} if arguments is None else {"arguments": arguments}))
    assert last["kind"] == "alternation"

    session = begin(api, policy="careful")
    assert [ran(api, session, "a")["kind"] for _ in range(4)] == [None, None, None, "repeat"]


def test_executions_are_shown_newest_last_and_arguments_never_kept(api):
    session = begin(api)
    for number in range(30):
        ran(api, session, f"tool-{number}", arguments={"q": "canary-7Q2x"}, result_class="ok")

    shown = api.get(f"/sessions/{session}")[1]["executions"]
    assert [one["tool"] for one in shown] == [f"tool-{number}" for number in range(6, 30)]
    assert set(shown[0]) == {"tool", "result_class", "at"}
    kept = b"".join(bus.client().get(name) or b"" for name in bus.client().scan_iter("switchyard:session:*"))
    assert b"canary" not in kept and b"tool-29" in kept


def test_a_route_in_a_session_counts_a_step_and_shows_the_session(api):
    session = begin(api)

    first, second = route(api, session), route(api, session)

    assert (first["tool"], first["session"]["steps"], second["session"]["steps"]) == ("read_file", 1, 2)
    out.RouteOut.model_validate(second)
    assert second["session"] == api.get(f"/sessions/{session}")[1]


def test_a_session_gives_its_policy_to_its_routes(api, careful):
    session = begin(api, policy="careful")

    assert route(api, session)["policy"] == "careful"
    assert route(api, session, policy="default")["policy"] == "default"


def test_a_session_out_of_steps_refuses_without_a_step(api, careful):
    session = begin(api, policy="careful")
    for _ in range(3):
        assert not route(api, session)["fallback"]

    refused = route(api, session)

    assert (refused["fallback_reason"], refused["source"], refused["tool"]) == ("max_route_steps", "session", None)
    assert (refused["session"]["steps"], refused["requests"], refused["provider"]) == (3, 0, None)
    assert api.post(f"/sessions/{session}/reset", {"what": "all"})[1]["steps"] == 0
    assert not route(api, session)["fallback"]


def test_fallbacks_in_a_row_open_the_circuit_until_it_is_reset(api, workspace):
    session = begin(api)
    missing(api, session)
    opened = missing(api, session)
    refused = route(api, session)

    assert (opened["session"]["circuit"], opened["session"]["consecutive_fallbacks"]) == ("open", 2)
    assert (refused["fallback_reason"], refused["source"]) == ("fallback_circuit_open", "session")
    assert refused["session"]["steps"] == 2
    reset = api.post(f"/sessions/{session}/reset", {})[1]
    assert (reset["circuit"], reset["consecutive_fallbacks"], reset["steps"]) == ("closed", 0, 2)
    assert not route(api, session)["fallback"]

    ledger.write(workspace.pk)
    codes = [event.reason_codes for event in Event.objects.filter(session_id=session).order_by("seq")]
    assert codes == [["no_tools"], ["no_tools", "circuit_opened"], ["fallback_circuit_open"], []]


def test_a_loop_stands_in_the_ledger_with_the_next_route(api, workspace):
    session = begin(api)
    for tool in ("a", "b", "a", "b"):
        ran(api, session, tool)
    route(api, session)

    ledger.write(workspace.pk)
    assert Event.objects.get(session_id=session).reason_codes == ["loop_alternation"]
    assert Decision.objects.get(session_id=session).reason_codes == ["loop_alternation"]


def test_a_decision_made_twice_counts_one_step(api):
    session = begin(api)
    _, promised = api.post("/route", {"goal": "read", "session_id": session, "wait_ms": 0, "tools": []})
    row = claims.claim(UUID(promised["decision_id"]))
    # The first worker decides and dies before it can write what it found.
    content = {"goal": "read", "observation": None, "last_action": None, "recent_actions": [], "constraints": []}
    for _ in range(2):
        route_service.decide_route(row, {**content, "tools": []})

    told = api.get(f"/sessions/{session}")[1]
    assert (told["steps"], told["consecutive_fallbacks"]) == (1, 1)


def test_a_session_that_ended_meanwhile_ends_its_decision_too(api):
    session = begin(api)
    _, promised = api.post("/route", {"goal": "read", "session_id": session, "wait_ms": 0})
    bus.client().delete(*bus.client().scan_iter("switchyard:session:*"))
    decisions.run(UUID(promised["decision_id"]))

    row = Decision.objects.get(pk=promised["decision_id"])
    assert (row.state, row.error, row.content) == ("failed", "The session has ended.", None)


def test_without_the_bus_nothing_is_accepted(api, settings, monkeypatch):
    session = begin(api)

    def away(*args, **kwargs):
        raise bus.BusAway("gone")

    monkeypatch.setattr(bus, "ask", away)
    for status, answer in (
        api.post("/sessions", {}),
        api.get(f"/sessions/{session}"),
        api.post(f"/sessions/{session}/executions", {"tool": "a"}),
        api.post(f"/sessions/{session}/reset", {}),
        api.post("/route", {"goal": "read", "session_id": session}),
    ):
        assert (status, answer["error"]["code"]) == (503, "unavailable")
    assert not Decision.objects.exists()
    monkeypatch.undo()
    assert api.get(f"/sessions/{session}")[1]["executions"] == []


@pytest.mark.parametrize(
    ("call", "body", "path"),
    [
        ("executions", {}, "tool"),
        ("executions", {"tool": ""}, "tool"),
        ("executions", {"tool": "a\nb"}, "tool"),
        ("executions", {"tool": "a", "arguments": []}, "arguments"),
        ("executions", {"tool": "a", "result_class": "x" * 65}, "result_class"),
        ("reset", {"what": "steps"}, "what"),
    ],
)
def test_a_bad_call_names_its_field(api, call, body, path):
    status, answer = api.post(f"/sessions/{begin(api)}/{call}", body)

    assert (status, [detail["path"] for detail in answer["error"]["details"]]) == (422, [path])
