from __future__ import annotations

import json
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone
from uuid_utils.compat import uuid7

from control.web.annotated import annotate
from control.web.search_tree import draw, principal
from routing import bus
from routing.models import AuditEntry, Decision
from routing.services import decisions, ledger, searches, sessions
from routing.services.decisions import Caller, RouteRequest
from routing.services.searches import SearchRequest

GRAPH = {
    "root_state": "root",
    "states": [
        {"id": "root", "goal": "canary-7Q2x", "tools": [{"name": "quick"}, {"name": "invest"}]},
        {"id": "invested", "goal": "g", "tools": [{"name": "finish"}]},
        {"id": "done", "goal": "g"},
    ],
    "transitions": [
        {"from_state": "root", "tool": "quick", "to_state": "done", "reward": 0.6, "terminal": True},
        {"from_state": "root", "tool": "invest", "to_state": "invested", "reward": 0.05},
        {"from_state": "invested", "tool": "finish", "to_state": "done", "reward": 1.0, "terminal": True},
    ],
}


@pytest.fixture
def harness(workspace) -> Caller:
    return Caller(workspace_id=workspace.pk, scope="default", harness="a-harness")


@pytest.fixture
def looped(harness):
    session = sessions.open_session(harness, policy=None, ttl_s=3600)
    for tool in ("fetch", "read", "fetch", "read"):
        sessions.record_execution(harness, session.id, tool=tool, arguments={"q": "canary-7Q2x"}, result_class="empty")
    for _ in range(2):
        row = decisions.request_route(str(uuid7()), harness, RouteRequest(goal="read", tools=(), session_id=session.id))
        decisions.run(UUID(str(row.pk)))
    return session


def searched(harness: Caller, **more) -> Decision:
    row = searches.request_search(str(uuid7()), harness, SearchRequest(**GRAPH, bounds={"simulations": 64}, **more))
    decisions.run(UUID(str(row.pk)))
    return row


def text_of(response) -> str:
    return response.content.decode()


def test_a_name_that_turns_text_round_is_spelled_in_the_drawing_too(enter, harness):
    name = "git__\u202eevil"
    graph = {"root_state": "root", "states": [{"id": "root", "goal": "g", "tools": [{"name": name}]}]}
    row = searches.request_search(str(uuid7()), harness, SearchRequest(**graph, bounds={}))
    decisions.run(UUID(str(row.pk)))
    page = text_of(enter("viewer").get(f"/w/acme/searches/{row.pk}"))

    assert ">[U+202E]evil</text>" in page and 'aria-label="git__[U+202E]evil, ' in page
    assert "\u202e" not in page


def test_a_session_that_has_ended_is_told_as_one(enter, harness):
    client = enter("viewer")
    answer = client.get(f"/w/acme/sessions/{uuid7()}")

    assert answer.status_code == 404
    assert "This session is over" in text_of(answer)
    assert 'href="/w/acme/sessions">To the sessions' in text_of(answer)


def test_a_session_shows_its_evidence(enter, looped, harness):
    quiet = sessions.open_session(harness, policy=None, ttl_s=3600)
    client = enter("editor")

    every = text_of(client.get("/w/acme/sessions"))
    assert looped.id in every and quiet.id in every
    some = text_of(client.get("/w/acme/sessions?state=attention"))
    assert looped.id in some and quiet.id not in some
    page = text_of(client.get(f"/w/acme/sessions/{looped.id}"))
    for part in (
        "After 2 fallbacks in a row routes are refused",
        "The latest executions: back and forth.",
        "Circuit opened",
        "no_tools",
    ):
        assert part in page, part
    assert page.count('<b class="mono">A</b>') == page.count('<b class="mono">B</b>') == 2
    assert "canary" not in page


def test_a_reset_is_asked_for_and_told(enter, looped):
    client = enter("editor")
    address = f"/w/acme/sessions/{looped.id}/reset/all"

    assert "2 steps and 4 executions are forgotten" in text_of(client.get(address))
    assert sessions.find_in_workspace(looped.workspace_id, looped.id).shared.state.steps == 2
    page = text_of(client.post(address, follow=True))

    assert "The session starts from nought." in page and "by <bdi>the-editor</bdi>" in page
    assert sessions.find_in_workspace(looped.workspace_id, looped.id).shared.state.steps == 0
    assert AuditEntry.objects.get(action="harness_session.reset").before == {"steps": 2, "consecutive_fallbacks": 2}
    assert client.get(f"/w/acme/sessions/{looped.id}/reset/nothing").status_code == 404
    assert "Reset everything" not in text_of(enter("viewer").get(f"/w/acme/sessions/{looped.id}"))


def test_without_the_bus_the_page_says_so(enter, monkeypatch):
    client = enter("viewer")

    def away(*args, **kwargs):
        raise bus.BusAway("gone")

    monkeypatch.setattr(bus, "ask", away)
    response = client.get("/w/acme/sessions")

    assert response.status_code == 503 and "Sessions cannot be shown now" in text_of(response)


def test_a_search_is_drawn_folded_and_compared(enter, harness):
    row = searched(harness, method="puct", use_prior=False)
    client = enter("viewer")

    assert str(row.pk) in text_of(client.get("/w/acme/searches"))
    page = text_of(client.get(f"/w/acme/searches/{row.pk}"))
    for part in (
        "invest, 52 visits",
        "Start with ",
        "One step ahead only",
        "Differs",
        "Exact optimum",
        "Agrees",
        'class="edge pv"',
    ):
        assert part in page, part
    assert "canary" not in page
    root = page.split('data-parent=""')[0].rsplit('href="', 1)[1].split('"')[0]
    folded = text_of(client.get(root.replace("&amp;", "&"), headers={"HX-Request": "true"}))
    assert "<html" not in folded and "invest, 52 visits" not in folded and "+3" in folded
    assert 'width="' in text_of(client.get(f"/w/acme/searches/{row.pk}?zoom=140&nodes=60&fold=zzz"))


def test_a_search_under_way_leads_and_can_be_cancelled(enter, harness):
    row = searches.request_search(str(uuid7()), harness, SearchRequest(**GRAPH, bounds={}))
    assert "Cancel, keep best so far" not in text_of(enter("viewer").get(f"/w/acme/searches/{row.pk}"))
    client = enter("editor")
    assert "waiting for a worker" in text_of(client.get(f"/w/acme/searches/{row.pk}"))

    page = text_of(client.post(f"/w/acme/searches/{row.pk}/cancel", follow=True))

    assert "Cancelled before anything was tried." in page
    assert Decision.objects.get(pk=row.pk).state == "cancelled"
    assert "It has ended already." in text_of(client.post(f"/w/acme/searches/{row.pk}/cancel", follow=True))


def test_a_pasted_graph_is_searched(enter, workspace):
    client = enter("editor")
    assert "root_state" in text_of(client.get("/w/acme/searches/new"))

    response = client.post("/w/acme/searches/new", {"search": json.dumps(GRAPH), "scope": "default"})

    row = Decision.objects.get(type="search")
    assert (response.status_code, response.url) == (302, f"/w/acme/searches/{row.pk}")
    assert (row.harness, row.scope, row.state) == ("operator the-editor", "default", "queued")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "Line 1, column 2"),
        ("{\n", "Line 2, column 1"),
        ("[" + "1," * 3000 + "}", "Line 1, column 6002: "),
        ('{"root_state": NaN}', "not finite"),
        (json.dumps({**GRAPH, "root_state": "no"}), "root_state: no state has this id"),
        (json.dumps({**GRAPH, "simulations": "many"}), "simulations: "),
        (json.dumps({**GRAPH, "mood": 1}), "mood: is not known here"),
        (json.dumps({**GRAPH, "transitions": [{"from_state": "root"}]}), "transitions[0].tool: "),
        (json.dumps([]), "the document: "),
    ],
)
def test_what_is_wrong_with_a_graph_stands_beside_its_place(enter, text, told):
    response = enter("editor").post("/w/acme/searches/new", {"search": text, "scope": "default"})

    assert response.status_code == 422
    assert told in text_of(response)
    assert not Decision.objects.exists()


def test_a_problem_stands_on_the_line_that_it_is_about():
    lines = annotate(
        {"a": [{"b": 1}, {"b": 2}]}, [{"path": "a[1].b", "message": "no"}, {"path": "a[1].c", "message": "where"}]
    )

    assert [(line.text.strip(), list(line.problems)) for line in lines if line.problems] == [
        ("{", ["a[1].c: where"]),
        ('"b": 2', ["a[1].b: no"]),
    ]


def test_a_tree_is_laid_out_without_overlap_its_principal_line_first():
    tree = [
        {
            "id": 0,
            "parent": None,
            "tool": None,
            "depth": 0,
            "visits": 10,
            "value": 1.0,
            "prior": None,
            "reward": 0.0,
            "terminal": False,
        }
    ]
    for id_, parent, tool, depth, visits in (
        (1, 0, "a", 1, 3),
        (2, 0, "b", 1, 7),
        (3, 2, "c", 2, 2),
        (4, 2, "d", 2, 5),
    ):
        tree.append({**tree[0], "id": id_, "parent": parent, "tool": tool, "depth": depth, "visits": visits})
    drawing = draw(tree, most=24)

    assert [node.tool for node in drawing.nodes] == ["", "b", "d", "c", "a"]
    assert [node.principal for node in drawing.nodes] == [True, True, True, False, False]
    assert len({(node.x, node.y) for node in drawing.nodes}) == 5
    assert [node["tool"] for node in principal(tree, ["b", "c"])] == ["b", "c"]
    folded = draw(tree, most=24, folded={drawing.nodes[1].key})
    assert [(node.tool, node.folded) for node in folded.nodes] == [("", 0), ("b", 2), ("a", 0)]


def test_a_tree_is_forgotten_after_its_days_and_the_answer_stays(enter, harness):
    old, fresh = searched(harness), searched(harness)
    ended = timezone.now() - searches.TREE_LASTS
    Decision.objects.filter(pk=old.pk).update(finished_at=ended - timedelta(seconds=1))
    Decision.objects.filter(pk=fresh.pk).update(finished_at=ended + timedelta(hours=1))

    assert [searches.forget_trees(), searches.forget_trees()] == [1, 0]

    text = text_of(enter("viewer").get(f"/w/acme/searches/{old.pk}"))
    assert "kept for 30 days" in text and "invest" in text and "<figure" not in text
    assert searches.tree_of(searches.find(harness.workspace_id, None, str(fresh.pk)))


def test_loops_and_circuits_are_counted_on_the_overview_and_lead_to_their_routes(enter, looped):
    ledger.write(looped.workspace_id)
    client = enter("viewer")

    lines = {line.code: line for line in client.get("/w/acme/").context["breakdowns"].turns}

    assert {code: line.count for code, line in lines.items()} == {"loop_alternation": 2, "circuit_opened": 1}
    for line in lines.values():
        assert client.get(line.address).context["total"] == line.count
