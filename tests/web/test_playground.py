from __future__ import annotations

import re
from html import unescape

import pytest

from control.web import trying
from routing.engine import resolve_detailed
from routing.models import AuditEntry, Decision, PendingEvent
from routing.services import compiling, entries, registry, revisions
from tests.routing.conftest import DOCUMENT, EDITOR

FETCH = "fetch a public web page as readable Markdown text"
PART = {"HX-Request": "true"}


@pytest.fixture
def ask(admin):
    def ask(part=True, client=admin, **fields):
        given = {"form": "text", "q": FETCH, "scope": "default", "against": "draft"} | fields
        return unescape(client.post("/w/acme/playground", given, headers=PART if part else {}).content.decode())

    return ask


def side(page, key="live"):
    return re.search(rf'data-side="{key}">(.*?)</section>', page, re.DOTALL)[1]


def names(text):
    return re.findall(r'name="why" value="\w+:([^"]+)"', text)


def edit(workspace, **changes):
    entries.edit(workspace, "endpoints", "notes", changes, by=EDITOR)


# --- what it shows ------------------------------------------------------------------------------------------------------
def test_live_and_draft_stand_side_by_side_with_what_moved(ask, workspace):
    edit(workspace, use_when=[FETCH], tool_use_when={"add_note": [FETCH]})
    entries.edit(workspace, "endpoints", "hitspec", {"use_when": []}, by=EDITOR)

    page = ask()
    live, draft = names(side(page)), names(side(page, "other"))

    assert (live[0], draft[0]) == ("hitspec__fetch", "notes__add_note")
    assert "3 changes on revision 2" in side(page, "other")
    assert "places up" in side(page, "other") and "places down" in side(page, "other")
    assert 'class="num mv delta up">+' in side(page, "other") and 'delta up">+' not in side(page)


def test_it_answers_as_a_harness_is_answered(ask, workspace):
    from routing import snapshot

    answer = resolve_detailed(snapshot.live(workspace.pk).catalog, FETCH, explain=True).answer

    live = side(ask())

    assert names(live)[0] == answer["recommendation"]["namespaced"]
    assert f"fits {answer['match_probability']:.2f}, chance {answer['probability']:.2f}" in live
    assert "Confident" in live and "points, " in live


def test_points_add_up_and_say_how_a_word_was_met(ask, workspace):
    from routing import snapshot

    found = resolve_detailed(snapshot.live(workspace.pk).catalog, "fetching a page", explain=True, weigh_hints=False)
    shown = trying.points(
        trying.Side(key="live", word="Live", note="", resolution=found), "hitspec__fetch", "the fetching a page"
    )

    total = sum(row[2] for row in shown.rows) + sum(score for _, score in shown.adjustments)
    assert total == pytest.approx(shown.score, abs=0.02)
    assert all(sum(cell.score for cell in cells if cell) == pytest.approx(row) for _, cells, row in shown.rows)
    assert ("s", "same stem") in shown.marks and "the" in shown.silent
    assert "Points by word and field" in ask()


def test_another_candidate_is_explained_when_it_is_chosen(ask):
    page = ask(why="live:notes__add_note")

    heading = re.search(r'<h2 id="h-ex">.*?</h2>', page, re.DOTALL)[0]
    assert "notes__add_note" in heading and "live" in heading


def test_what_would_flip_it_is_found_out_beside_the_ranking(ask, workspace):
    edit(workspace, tool_use_when={"add_note": [FETCH]})

    first, later, whole = ask(), ask(part="flips"), ask(part=False)

    assert "What the hints bring is being found out" in first and "Without the hint" not in first
    assert f"Without the hint “{FETCH}”" in whole
    assert 'hx-trigger="load delay' in first and "hx-trigger" not in side(whole)
    assert "is being found out" in later  # asked without saying which part


def test_the_part_that_weighs_hints_comes_alone(admin, workspace):
    edit(workspace, tool_use_when={"add_note": [FETCH]})
    given = {"form": "text", "q": FETCH, "scope": "default", "against": "draft", "part": "flips"}

    page = admin.post("/w/acme/playground", given, headers=PART).content.decode()

    assert page.strip().startswith('<section class="panel') and "Without the hint" in page


@pytest.mark.parametrize(("against", "word"), [("1", "Revision 1"), ("none", ""), ("99", ""), ("x", "")])
def test_any_revision_stands_beside_live_or_nothing(ask, against, word):
    page = ask(against=against)

    assert ('data-side="other"' in page) is bool(word)
    assert word in page


def test_an_activity_is_put_together_as_for_advice(ask):
    page = ask(form="activity", goal="read the guide", phase="research", activity="fetch a web page", inputs="url")

    assert names(side(page))[0] == "hitspec__fetch"


def test_an_endpoint_is_taken_away(ask):
    live = side(ask(offline=["hitspec"]))

    assert "A better candidate exists" in live and "Away" in live


def test_a_scope_that_only_the_draft_has_is_told(ask, workspace):
    entries.add(workspace, "scopes", {"name": "fresh"}, by=EDITOR)
    page = ask(scope="fresh")

    assert "There is no scope fresh here." in side(page)
    assert names(side(page, "other"))


@pytest.mark.parametrize(
    "fields", [{"q": "x" * 3000}, {"q": "👩‍🔬\u202e"}, {"q": "  "}, {"scope": "nowhere"}, {"form": "nothing"}]
)
def test_whatever_is_typed_gets_a_page(admin, fields):
    assert admin.post("/w/acme/playground", {"q": FETCH} | fields, headers=PART).status_code == 200


def test_a_draft_that_is_being_compiled_is_waited_for_by_the_page_and_not_by_the_request(ask, workspace, monkeypatch):
    edit(workspace, use_when=[FETCH])
    monkeypatch.setattr(compiling, "within", lambda wanted, seconds: wanted.result() if seconds > 1 else None)

    page = ask()

    assert "It is being compiled" in side(page, "other")
    assert 'hx-trigger="load delay:400ms" hx-include="#pg"' in page
    assert names(side(ask(part=False), "other"))


def test_a_catalog_is_compiled_once_for_each_document(workspace):
    edit(workspace, use_when=[FETCH])

    first, again = compiling.draft(workspace).result(), compiling.draft(workspace).result()
    edit(workspace, use_when=[])
    equal_to_live = compiling.draft(workspace).result()

    assert first is again
    assert equal_to_live is not first


# --- routes and model endpoints -----------------------------------------------------------------------------------------
def test_a_route_is_decided_by_the_local_provider_under_a_policy_of_choice(ask, workspace):
    entries.add(workspace, "policies", {"name": "planner", "router": {"mode": "planner_only"}}, by=EDITOR)

    default, planner = (ask(form="route", route_goal=FETCH, policy=name) for name in ("default", "planner"))

    assert "hitspec__fetch" in side(default) and "direct from 0.85" in side(default)
    assert "There is no such policy here." in side(planner)
    assert "planner_only" in side(planner, "other")


def test_a_model_endpoint_is_not_chosen_here_and_the_page_says_where_to_look(ask):
    page = ask(form="endpoint")

    assert "not part of this version" in page and "data-side" not in page
    assert 'href="/w/acme/coverage"' in page


# --- what becomes of it -------------------------------------------------------------------------------------------------
def test_nothing_is_stored_and_nothing_is_told(ask, workspace, caplog):
    audited = AuditEntry.objects.count()
    ask(q="a very secret wish")
    ask(form="route", route_goal="a very secret wish")

    assert not Decision.objects.exists() and not PendingEvent.objects.exists()
    assert AuditEntry.objects.count() == audited
    assert "secret wish" not in caplog.text


def test_what_came_out_is_saved_as_an_expectation(ask, admin, workspace):
    page = ask(offline=["notes"])
    form = re.search(r'<form id="pg-save".*?</form>', page, re.DOTALL)[0]
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))

    opened = admin.post("/w/acme/new/expectation", fields | {"do": "open"})
    admin.post("/w/acme/new/expectation", fields | {"do": "save"})

    assert "expectations" not in DOCUMENT and opened.status_code == 200
    assert registry.working_document(workspace)["expectations"] == [
        {
            "name": FETCH,
            "query": FETCH,
            "offline": ["notes"],
            "endpoint": "hitspec",
            "expect": {"status": ["confident"], "recommendation": "hitspec__fetch"},
        }
    ]
    revisions.publish(workspace, message="It holds", by=EDITOR)


def test_an_activity_is_saved_as_one_when_it_is_whole(ask):
    whole = ask(form="activity", goal="g", phase="p", activity="fetch a web page")
    part = ask(form="activity", goal="", phase="", activity="fetch a web page")

    assert 'name="kind" value="activity"' in whole
    assert 'name="kind" value="query"' in part and "Current activity: fetch a web page." in part


def test_a_viewer_tries_and_saves_nothing(ask, enter):
    page = ask(client=enter("viewer"))

    assert names(side(page)) and "pg-save" not in page
