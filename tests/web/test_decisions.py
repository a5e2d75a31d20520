from __future__ import annotations

import re
import uuid

import pytest
from django.utils import timezone

from control.templatetags.console import shortened
from control.templatetags.console import shown as spelled_out
from routing import snapshot
from routing.models import Decision, Event
from tests.routing.conftest import DOCUMENT
from tests.web.test_tools import publish

HOSTILE = "<script>alert(1)</script>\u202etxt"


@pytest.fixture
def many(workspace) -> list[Decision]:
    """120 decisions, oldest first."""
    rows = [
        Decision(
            id=uuid.UUID(int=n + 1),
            workspace=workspace,
            type="resolve",
            created_at=timezone.now(),
            scope="default",
            harness="h",
            status="confident",
            target=f"notes__t{n}",
        )
        for n in range(120)
    ]
    return Decision.objects.bulk_create(rows)


def shown(response) -> list[str]:
    return [row["decision"].target for row in response.context["rows"]]


def test_pages_follow_each_other_without_gap_or_repeat(admin, many):
    first = admin.get("/w/acme/decisions")
    second = admin.get(first.context["next_page"])
    third = admin.get(second.context["next_page"])

    assert shown(first) + shown(second) + shown(third) == [row.target for row in reversed(many)]
    assert third.context["next_page"] == ""
    assert shown(admin.get(third.context["previous_page"])) == shown(second)


def test_oldest_first_the_pages_follow_each_other_too_and_the_order_stays_in_the_address(admin, many):
    turned = admin.get("/w/acme/decisions").context["heads"][0]["address"]
    first = admin.get(f"{turned}&scope=default")
    second = admin.get(first.context["next_page"])
    third = admin.get(second.context["next_page"])

    assert turned == "/w/acme/decisions?sort=time"
    assert shown(first) + shown(second) + shown(third) == [row.target for row in many]
    assert shown(admin.get(third.context["previous_page"])) == shown(second)
    assert "scope=default&sort=time&after=" in second.context["next_page"]
    assert (first.context["next_word"], first.context["heads"][0]["order"]) == ("Newer", "ascending")
    assert first.context["heads"][0]["address"] == "/w/acme/decisions?scope=default"


def test_a_page_holds_still_while_newer_rows_come_in_and_says_how_many(admin, many, workspace):
    second = admin.get("/w/acme/decisions").context["next_page"]
    before = shown(admin.get(second))
    Decision.objects.create(
        id=uuid.UUID(int=500),
        workspace=workspace,
        type="resolve",
        created_at=timezone.now(),
        scope="default",
        harness="h",
    )

    again = admin.get(second)

    assert shown(again) == before
    assert again.context["newer_count"] == 51
    assert "51</a>" in re.sub(r"\s*newer</a>", "</a>", again.content.decode())


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=hitspec", 1),
        ("q=HITSPEC__", 1),
        ("q=nothing", 0),
        ("status=confident", 1),
        ("status=no_match", 1),
        ("type=route", 0),
        ("harness=a-harness", 2),
        ("harness=other", 0),
        ("scope=web-only", 0),
        ("source=cache", 0),
        ("fallback_reason=no_tools", 0),
        ("agreement=same", 0),
        ("agreement=not_called", 1),
        ("agreement=nonsense", 2),
        ("paid=yes", 0),
        ("since=15m", 2),
        ("since=2001-01-01", 2),
        ("since=2100-01-01T00:00:00Z", 0),
        ("since=nonsense", 2),
    ],
)
def test_filters_say_what_is_shown(admin, decide, query, found):
    decide()
    decide("bake a cake with cherries")

    response = admin.get(f"/w/acme/decisions?{query}")

    assert (len(response.context["rows"]), response.context["total"]) == (found, found)


def test_an_id_finds_its_decision(admin, decide):
    decision = decide()
    decide("bake a cake with cherries")

    assert shown(admin.get(f"/w/acme/decisions?q={decision.pk}")) == ["hitspec__fetch"]


def test_filtered_away_offers_to_take_each_filter_off(admin, decide):
    decide()

    text = admin.get("/w/acme/decisions?q=nothing&status=fallback").content.decode()

    assert "No decision fits these filters" in text
    assert 'href="/w/acme/decisions?status=fallback"' in text


def test_no_decision_at_all_reads_differently(admin):
    assert "No decision yet" in admin.get("/w/acme/decisions?q=nothing").content.decode()


def test_htmx_gets_the_list_alone(admin, decide):
    decide()

    response = admin.get("/w/acme/decisions", headers={"HX-Request": "true"})

    assert response.content.decode().lstrip().startswith('<section class="panel" id="list"')
    assert "HX-Request" in response["Vary"]


def test_a_decision_says_what_it_advises_why_and_what_came_of_it(admin, decide):
    decision = decide(reports=(("invocation", "started"), ("transport_outcome", "ok"), ("domain_outcome", "unknown")))

    response = admin.get(f"/w/acme/decisions/{decision.pk}")
    facts = [(fact.title, fact.known) for fact in response.context["track"]]

    assert facts == [
        ("Recommended", True),
        ("Invoked, as advised", True),
        ("Returned: ok", True),
        ("Outcome: unknown", False),
    ]
    assert 'Use <bdi class="mono">hitspec__fetch</bdi>' in response.content.decode()
    assert [reason.code for reason in response.context["reasons"]] == decision.reason_codes
    assert "Text not stored." in response.content.decode()


def test_what_nobody_reported_is_not_shown_as_done(admin, decide):
    context = admin.get(f"/w/acme/decisions/{decide().pk}").context

    assert [fact.known for fact in context["track"]] == [True, False, False, False]


def test_a_waiting_route_says_that_it_waits_and_asks_again(admin, workspace):
    row = Decision.objects.create(
        workspace=workspace, type="route", state="queued", created_at=timezone.now(), scope="default", harness="h"
    )

    text = admin.get(f"/w/acme/decisions/{row.pk}").content.decode()

    assert "waits for a worker" in text
    assert 'hx-trigger="live, every 3s"' in text


def test_a_route_that_was_handed_back_shows_its_reason_and_the_proposal(admin, workspace):
    row = Decision.objects.create(
        workspace=workspace,
        type="route",
        state="finished",
        created_at=timezone.now(),
        scope="default",
        harness="h",
        status="fallback",
        fallback_reason="planner_confirmation",
        confidence="0.7",
        source="local",
        thresholds={"direct": 0.85, "fallback": 0.6, "by": "policy"},
        answer={"proposed_tool": "notes__add_note", "k": 3, "provider": "local", "margin": 0.2},
    )

    response = admin.get(f"/w/acme/decisions/{row.pk}")
    text = response.content.decode()

    assert "the planner is asked to confirm" in text
    assert "add_note" in text
    ((_, ruler),) = response.context["wide"].rulers
    assert [zone.word for zone in ruler.zones] == ["handed back", "to confirm", "selected"]
    assert ruler.shape == "ambiguous"


def test_the_rule_that_decided_is_told_as_its_revision_had_it(admin, workspace):
    rules = [{"effect": "erase", "verdict": "deny"}, {"endpoint": "hitspec", "verdict": "ask"}]
    policies = [{"name": "default", "execution": {"rules": rules}}, {"name": "careful", "extends": "default"}]
    publish(workspace, {**DOCUMENT, "policies": policies})
    row = Decision.objects.create(
        workspace=workspace, type="route", state="finished", created_at=timezone.now(), scope="default", harness="h",
        status="selected", target="hitspec__fetch", source="provider", policy="careful",
        revision=snapshot.live(workspace.pk).revision, execution={"verdict": "ask", "rule": "rules[1]"},
        thresholds={"direct": 0.85, "fallback": 0.6, "by": "default"}, answer={}, agreed=False,
    )  # fmt: skip
    publish(workspace, DOCUMENT)

    text = admin.get(f"/w/acme/decisions/{row.pk}").content.decode()

    assert "Ask before running every tool on the endpoint hitspec. In policy default" in text
    assert "something else" in text


def test_hostile_names_are_shown_as_text(admin, workspace):
    row = Decision.objects.create(
        workspace=workspace,
        type="resolve",
        created_at=timezone.now(),
        scope="default",
        harness=HOSTILE,
        status="confident",
        target=HOSTILE,
        candidates=[
            {"target": HOSTILE, "score": 2.0, "fields": {"tool": 2.0}},
            {"target": "a__b", "score": 1.0, "fields": {}},
        ],
        reason_codes=[HOSTILE],
    )

    for page in ("/w/acme/decisions", f"/w/acme/decisions/{row.pk}", f"/w/acme/decisions?harness={HOSTILE}"):
        text = admin.get(page).content.decode()
        assert "<script>alert" not in text
        assert "&lt;script&gt;" in text


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("no_tools", False),
        ("planner_only", False),
        ("no_matching_tool", False),
        ("provider_error", False),
        ("low_confidence", True),
    ],
)
def test_a_route_that_chose_nothing_has_no_chance(admin, workspace, reason, shown):
    row = Decision.objects.create(
        id=uuid.UUID(int=900),
        workspace=workspace,
        type="route",
        state="finished",
        created_at=timezone.now(),
        scope="default",
        harness="h",
        status="fallback",
        fallback_reason=reason,
        confidence="0.37",
        thresholds={"direct": 0.85, "fallback": 0.6},
    )

    listed, page = admin.get("/w/acme/decisions"), admin.get(f"/w/acme/decisions/{row.pk}")

    assert (listed.context["rows"][0]["chance"] is not None) == shown
    assert ("<dt>Confidence</dt>" in page.content.decode()) == shown
    assert bool(page.context["wide"].rulers) == shown


def test_a_harness_name_that_turns_text_round_is_isolated(admin, caller, decide, workspace):
    row = decide(reports=(("invocation", "started"), ("domain_outcome", "success")))
    Event.objects.filter(decision_id=row.pk).update(harness=HOSTILE)

    text = admin.get(f"/w/acme/decisions/{row.pk}").content.decode()

    escaped = spelled_out(HOSTILE)
    assert "\u202e" not in text
    assert f"<p>by <bdi>{escaped}</bdi></p>" in text and f"reported by <bdi>{escaped}</bdi>" in text
    assert text.count(escaped) == text.count(f"<bdi>{escaped}</bdi>")


def test_the_record_stands_beside_the_candidates_and_below_where_there_are_none(admin, decide):
    beside = admin.get(f"/w/acme/decisions/{decide().pk}").content.decode()
    bare = decide()
    Decision.objects.filter(pk=bare.pk).update(candidates=[])
    below = admin.get(f"/w/acme/decisions/{bare.pk}").content.decode()

    for text, inside in ((beside, True), (below, False)):
        column = text[text.index('<div class="c4 stack">') :]
        assert ('id="h-fact"' in column.split("\n  </div>\n</div>")[0]) == inside
        assert text.count('id="h-fact"') == 1


def test_a_long_text_is_cut_between_words():
    assert shortened("find code by its meaning", 24) == "find code by its meaning"
    assert shortened("find code by its meaning, and more", 28) == "find code by its meaning…"
    assert shortened("x" * 50, 20) == "x" * 19 + "…"
