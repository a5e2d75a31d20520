from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.utils import timezone
from uuid_utils.compat import uuid7

from routing import panels
from routing.models import Decision, Minute, Revision
from routing.services import decisions, entries, ledger, registry, revisions
from routing.services.decisions import RouteRequest
from tests.routing.conftest import EDITOR


@pytest.fixture
def routed(caller):
    """A route that a worker has decided; the ledger's writer has not seen it yet."""

    def routed(goal: str = "fetch https://example.com/guide as Markdown", **request) -> None:
        row = decisions.request_route(str(uuid7()), caller, RouteRequest(goal=goal, **request))
        decisions.run(row.pk if isinstance(row.pk, UUID) else UUID(row.pk))

    return routed


def test_an_empty_overview_teaches_the_first_request(admin):
    text = admin.get("/w/acme/").content.decode()

    assert "No decision has been made here yet" in text
    assert "http://testserver/api/v1/resolve" in text
    assert 'href="/w/acme/setup"' in text


def test_verdicts_and_the_funnel_count_what_was_reported_and_name_the_rest(admin, decide):
    ok, good = ("transport_outcome", "ok"), ("domain_outcome", "success")
    decide(reports=(("invocation", "started"), ok, good))
    decide("fetch a page as text", reports=(("invocation", "started"), ok))
    decide("bake a cake with cherries")

    context = admin.get("/w/acme/").context

    assert sum(part.count for part in context["keys"]) == context["figures"].total == 3
    stages = {stage.name: stage.count for stage in context["funnel"].stages}
    assert stages == {"Recommended": 2, "Invoked": 2, "Returned": 2, "Achieved": 1}
    assert context["funnel"].unknown == 1


def test_the_tail_shows_what_became_of_a_decision_and_links_to_it(admin, decide):
    decision = decide(reports=(("invocation", "started"), ("transport_outcome", "timeout")))

    text = admin.get("/w/acme/panels/tail", headers={"HX-Request": "true"}).content.decode()

    assert f"/w/acme/decisions/{decision.pk}" in text
    assert "Unknown, timed out" in text
    assert text.lstrip().startswith('<tbody id="tail"')


def test_rows_newer_than_those_seen_are_marked_fresh(admin, decide):
    decide()
    seen = re.search(r"seen=(\d+)", admin.get("/w/acme/").content.decode())
    decide("fetch another page as text")

    text = admin.get(f"/w/acme/panels/tail?seen={seen[1]}").content.decode()

    assert text.count('class="fresh"') == 1


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("", 2),
        ("scope=default", 2),
        ("scope=web-only", 0),
        ("status=no_match", 1),
        ("kind=invocation", 1),
        ("kind=domain_outcome", 0),
        ("kind=nonsense", 2),
    ],
)
def test_the_tail_is_filtered_on_the_server(admin, decide, query, rows):
    decide(reports=(("invocation", "started"),))
    decide("bake a cake with cherries")

    assert admin.get(f"/w/acme/panels/tail?{query}").content.decode().count('<tr id="row-') == rows


def test_the_stream_starts_where_the_page_ends_and_carries_its_filters(admin, decide):
    decide()

    address = admin.get("/w/acme/?kind=invocation&scope=default&status=started").context["stream"]["address"]

    assert address == "/live/events?workspace=acme&scope=default&status=started&kind=invocation&after=1"


@pytest.mark.parametrize(("name", "value"), [("after", "-1"), ("after", "x"), ("kind", "nothing")])
def test_a_stream_that_cannot_be_is_refused_with_its_place(admin, name, value):
    answer = admin.get(f"/live/events?workspace=acme&{name}={value}")

    assert answer.status_code == 422
    assert answer.json()["error"]["details"][0]["path"] == name


def test_a_window_keeps_its_place_in_the_address(admin):
    context = admin.get("/w/acme/?window=24h&scope=default").context

    assert context["figures"].window.minutes == 1440
    assert ("24 hours", "/w/acme/?window=24h&scope=default", "24h") in context["windows"]


def test_points_of_a_window_add_up_to_its_counts(workspace):
    now = datetime(2026, 5, 1, 12, 34, 56, tzinfo=UTC)
    for ago, status, number in ((0, "confident", 4), (59, "confident", 3), (60, "ambiguous", 5), (10, "fallback", 2)):
        at = now.replace(second=0) - timedelta(minutes=ago)
        Minute.objects.create(
            workspace=workspace,
            at=at,
            scope="default",
            type="resolve",
            status=status,
            count=number,
            latency={"8": number},
        )

    seen = panels.figures(workspace, panels.Window(minutes=60, end=now))

    assert dict(seen.counts) == {"confident": 7, "fallback": 2}
    assert len(seen.points) == 60
    assert sum(sum(point.counts.values()) for point in seen.points) == seen.total == 9
    assert 2 <= seen.p50 <= 3


def test_each_mark_of_where_answers_came_from_leads_to_its_decisions(admin, decide, routed, workspace):
    decide(reports=(("invocation", "started"),))
    decide()
    routed(), routed(tools=()), routed(tools=())
    Decision.objects.filter(fallback_reason=None, type="route").update(cost=0.0125)
    ledger.write(workspace.pk)

    answer = admin.get("/w/acme/")

    seen = answer.context["breakdowns"]
    assert {line.code: line.count for line in seen.fallbacks} == {"no_tools": 2}
    assert {line.code: line.count for line in seen.agreement} == {"same": 1, "not_called": 2}
    assert (seen.agreed, seen.cost) == (1.0, 0.0125)
    for line in (*seen.fallbacks, *seen.agreement):
        assert admin.get(line.address).context["total"] == line.count, line.code
    routes = [line for line in seen.sources if line.code == "none"]
    assert [admin.get(line.address).context["total"] for line in routes] == [2]
    assert admin.get(seen.paid_address).context["total"] == 1
    assert all(line.address.replace("&", "&amp;") in answer.content.decode() for line in seen.fallbacks)


def test_a_day_has_few_enough_points_to_draw(workspace):
    seen = panels.figures(workspace, panels.Window(minutes=1440, end=datetime(2026, 5, 1, tzinfo=UTC)))

    assert len(seen.points) == 96


def test_what_went_live_in_the_window_is_marked_and_leads_to_it(admin, workspace):
    Revision.objects.filter(workspace=workspace).update(published_at=timezone.now() - timedelta(minutes=30))
    for number in range(2, 7):
        entries.edit(workspace, "endpoints", "notes", {"description": f"Notes {number}"}, by=EDITOR)
        revisions.publish(workspace, message="Describe notes", by=EDITOR)
    proposed, *_ = registry.restore(workspace, 2, message="Back", by=EDITOR)

    text = admin.get("/w/acme/panels/figures").content.decode()
    lately = admin.get("/w/acme/panels/figures?window=15m").content.decode()

    assert re.findall(r'id="mark-(\w+)"', text) == ["7", "6", "5", "more"]
    assert len(re.search(r'data-moments="([^"]*)"', text)[1].split()) == 7
    assert len(re.search(r'data-moments="([^"]*)"', lately)[1].split()) == 5
    assert "/w/acme/revisions/7" in text
    assert f"/revisions/{proposed.number}" not in text


def test_charts_and_their_tables_tell_the_time_of_the_viewer(admin):
    admin.post("/zone", {"zone": "Asia/Tokyo"})

    text = admin.get("/w/acme/").content.decode()
    timezone.deactivate()

    assert 'data-zone="Asia/Tokyo"' in text
    at = int(re.search(r'<tr data-at="(\d+)"><td class="tnum">(\d\d:\d\d)', text)[1])
    assert f"{datetime.fromtimestamp(at, UTC) + timedelta(hours=9):%H:%M}</td>" in text
    assert text.count("<th>From, JST</th>") == 2
