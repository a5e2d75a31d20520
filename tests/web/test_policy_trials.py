from __future__ import annotations

from html import unescape

import pytest

from routing.models import Decision, Event
from routing.services import entries
from tests.routing.conftest import DOCUMENT, EDITOR
from tests.web.test_tools import publish

RULES = [
    {"effect": "erase", "verdict": "deny"},
    {"tool": "hitspec__hitspec_fetch", "min_confidence": 0.95, "verdict": "allow"},
    {"endpoint": "hitspec", "verdict": "ask"},
]
POLICIES = [{"name": "default", "execution": {"rules": RULES}}, {"name": "careful", "extends": "default"}]
SCOPES = [{"name": "default"}, {"name": "web-only", "endpoints": ["hitspec"], "policy": "careful"}]
TRY = "/w/acme/policies/careful/try"


@pytest.fixture
def rules(workspace):
    publish(workspace, {**DOCUMENT, "policies": POLICIES, "scopes": SCOPES})


def results(client, **asked):
    return client.get(TRY, asked).context["results"]


def test_the_verdict_stands_with_the_rule_that_decided_and_those_passed_over(admin, rules):
    answer = admin.get(TRY, {"tool": "hitspec__hitspec_fetch", "confidence": "0.9"})
    live, draft = answer.context["results"]

    assert live["verdict"] == draft["verdict"]
    assert (live["verdict"].verdict, live["verdict"].rule, live["side"].layer) == ("ask", "rules[2]", "default")
    assert [(line["id"], line["misses"]) for line in live["passed"]] == [
        ("rules[0]", ["effect is read, not erase"]),
        ("rules[1]", ["confidence 0.9 is below 0.95"]),
    ]
    text = unescape(answer.content.decode())
    assert "Ask before running every tool on the endpoint hitspec." in text and "asks nobody by itself" in text


def test_live_and_draft_stand_side_by_side(admin, workspace, rules):
    entries.edit(workspace, "policies", "careful", {"execution": {"rules": [{"verdict": "deny"}]}}, by=EDITOR)

    answer = admin.get(TRY, {"tool": "hitspec__fetch"})

    assert [one["verdict"].verdict for one in answer.context["results"]] == ["ask", "deny"]
    assert [(one["verdict"], one["live"], one["draft"]) for one in answer.context["counts"]] == [
        ("allow", 0, 0),
        ("ask", 2, 0),
        ("deny", 0, 2),
    ]
    assert answer.context["different"] == 2
    assert len(admin.get(TRY, {"differs": "yes"}).context["rows"]) == 2
    assert admin.get(TRY, {"verdict": "allow"}).context["rows"] == []


def test_a_tool_that_a_harness_brings_is_judged_by_what_is_said_of_it(admin, rules):
    (brought, _) = results(admin, tool="wipe_disk", risk="low", effect="read")
    (as_named, _) = results(admin, tool="wipe_disk")
    (out_of_reach, _) = results(admin, tool="notes__delete_note", scope="web-only")

    assert (brought["verdict"].rule, brought["known"]) == ("default.low", False)
    assert as_named["verdict"].rule == "rules[0]"
    assert out_of_reach["known"] and not out_of_reach["reached"]


def test_below_the_bar_no_verdict_is_asked_for_and_the_page_says_so(admin, rules):
    assert results(admin, tool="hitspec__fetch", confidence="0.5")[0]["least"] == 0.85
    assert results(admin, tool="hitspec__fetch", confidence="0.85")[0]["least"] is None


@pytest.mark.parametrize("given", ["much", "1.1", "-0.1", "nan"])
def test_a_confidence_that_is_none_is_said_and_stays(admin, rules, given):
    text = admin.get(TRY, {"tool": "hitspec__fetch", "confidence": given}).content.decode()

    assert "Confidence must be a number from 0 to 1." in text and f'value="{given}"' in text


def test_a_policy_that_is_only_in_the_draft_can_be_tried(admin, workspace, rules):
    entries.add(workspace, "policies", {"name": "night", "execution": {"rules": [{"verdict": "ask"}]}}, by=EDITOR)

    answer = admin.get("/w/acme/policies/night/try", {"tool": "hitspec__fetch", "scope": "default"})

    assert answer.context["results"][0]["proposal"] is None
    assert answer.context["results"][1]["verdict"].verdict == "ask"
    assert admin.get("/w/acme/policies/nothing/try").status_code == 404


def test_a_dry_run_leaves_no_trace(admin, workspace, rules):
    before = (Decision.objects.count(), Event.objects.count())

    admin.get(TRY, {"tool": "hitspec__fetch", "risk": "critical"})

    assert (Decision.objects.count(), Event.objects.count()) == before
