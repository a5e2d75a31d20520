from __future__ import annotations

from uuid import uuid4

import pytest

from routing.models import ShadowDifference, ShadowPolicy
from routing.services import entries, registry, revisions
from routing.services.shadow_policies import judging, running
from tests.routing.conftest import DOCUMENT, EDITOR

PAGE = "/w/acme/policies/default/shadow"
STRICT = {"name": "default", "resolver": {"confident_at": 0.999}}


@pytest.fixture
def drafted(workspace):
    registry.replace_working_copy(workspace, {**DOCUMENT, "policies": [STRICT]}, by=EDITOR)
    return workspace


@pytest.fixture
def shadow(drafted) -> ShadowPolicy:
    return running.start(drafted, "default", by=EDITOR)


def text(answer) -> str:
    return " ".join(answer.content.decode().split())


def test_a_draft_that_says_the_same_has_nothing_to_score(admin, workspace):
    page = text(admin.get(PAGE))

    assert "No shadow policy has run here" in page and "the very values that are live" in page
    assert "Score live traffic with this draft" not in page
    assert "Shadow policy" not in text(admin.get("/w/acme/policies/default"))


def test_an_editor_scores_live_traffic_with_the_draft(enter, drafted):
    editor = enter("editor")
    assert "Score live traffic with this draft" in text(editor.get("/w/acme/policies/default"))
    form = text(editor.get(PAGE))
    assert 'name="days" inputmode="numeric" value="7"' in form and 'value="100"' in form

    answer = editor.post(PAGE, {"days": "3", "percent": "50", "scope": ["web-only"]}, follow=True)

    row = ShadowPolicy.objects.get()
    assert (row.share, row.scopes, row.by, (row.until - row.began_at).days) == (0.5, ["web-only"], "the-editor", 3)
    assert "Scoring live decisions" in text(answer) and "3 days left" in text(answer)


def test_a_viewer_reads_it_and_begins_nothing(enter, shadow):
    viewer = enter("viewer")

    page = text(viewer.get(PAGE))
    assert "Scoring live decisions" in page and "Stop" not in page
    assert viewer.post(PAGE, {}).status_code == 403
    assert viewer.post(f"{PAGE}/{shadow.pk}/stop").status_code == 403


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"days": "31"}, "Days must be 1 to 30."),
        ({"days": "soon"}, "Days must be a whole number."),
        ({"percent": "0"}, "The share of the decisions must be 1 to 100 %."),
        ({"percent": "101"}, "The share of the decisions must be 1 to 100 %."),
        ({"scope": ["nowhere"]}, "Scope nowhere is no scope that decides by this policy."),
    ],
)
def test_what_is_out_of_bounds_is_told_and_what_was_filled_in_stays(admin, drafted, sent, said):
    answer = admin.post(PAGE, {"days": "9", **sent})

    assert answer.status_code == 422
    assert said in text(answer)
    assert f'value="{sent.get("days", "9")}"' in text(answer)
    assert not ShadowPolicy.objects.exists()


def test_differences_are_counted_listed_and_lead_to_their_decisions(admin, decide, shadow):
    decision = decide()
    decide("hello, how are you?")

    answer = admin.get(PAGE)

    page = text(answer)
    assert (answer.context["sums"].seen, answer.context["sums"].different) == (2, 1)
    assert f'/w/acme/decisions/{decision.pk}">Would be ambiguous' in page
    assert "below the bar 0.999" in page and "the bar 0.8 is reached" in page
    assert "resolver confident at" in page
    for place in ("/w/acme/", "/w/acme/policies", "/w/acme/policies/default"):
        assert PAGE in text(admin.get(place))


def test_the_list_is_filtered_and_turned_a_page_at_a_time(admin, decide, shadow, monkeypatch):
    monkeypatch.setattr(
        "routing.listings.page_of.__kwdefaults__", {"after": None, "before": None, "size": 2, "upwards": False}
    )
    newest = [decide().pk for _ in range(3)][::-1]
    listed = [line["difference"].decision_id for line in admin.get(PAGE).context["rows"]]
    older = admin.get(admin.get(PAGE).context["next_page"])

    assert listed == newest[:2]
    assert [line["difference"].decision_id for line in older.context["rows"]] == newest[2:]
    assert len(admin.get(f"{PAGE}?kind=would_be_ambiguous&scope=default").context["rows"]) == 2
    assert "No difference fits" in text(admin.get(f"{PAGE}?kind=would_fall_back"))


def test_parts_are_fetched_by_themselves(admin, shadow):
    state = admin.get(PAGE, headers={"HX-Request": "true", "HX-Target": "state"}).content.decode()
    rows = admin.get(PAGE, headers={"HX-Request": "true", "HX-Target": "list"}).content.decode()

    assert state.lstrip().startswith('<div id="state"') and 'hx-trigger="every 3s"' in state
    assert rows.lstrip().startswith('<section class="panel" id="list"')


def test_what_cannot_be_judged_again_is_told_with_its_reason(admin, decide, shadow, monkeypatch):
    monkeypatch.setattr(judging, "compare", lambda *_: 1 / 0)
    decide()

    assert "1 decision was not judged again" in text(admin.get(PAGE))
    assert "It could not be judged again." in text(admin.get(PAGE))


def test_few_outcomes_are_counted_and_no_share_is_told(admin, decide, shadow):
    decide(reports=(("invocation", "started"), ("domain_outcome", "success")))

    assert "1 right, 0 wrong" in text(admin.get(PAGE))
    assert "too few to say more" in text(admin.get(PAGE))


def test_a_draft_that_went_on_is_told(admin, shadow, drafted):
    assert "Take these values into review" in text(admin.get(PAGE))
    entries.edit(drafted, "policies", "default", {"resolver": {"confident_at": 0.7}}, by=EDITOR)

    page = text(admin.get(PAGE))
    assert "The draft has changed since; start again to use it." in page
    assert "Take these values into review" not in page


def test_it_is_stopped_and_another_may_begin(admin, shadow):
    assert admin.post(f"/w/acme/policies/fast/shadow/{shadow.pk}/stop").status_code == 404
    assert admin.post(f"{PAGE}/{uuid4()}/stop").status_code == 404

    page = text(admin.post(f"{PAGE}/{shadow.pk}/stop", follow=True))

    assert "the-administrator stopped it." in page and "Score live traffic with this draft" in page
    admin.post(PAGE, {"days": "1", "percent": "100"})
    assert f"{PAGE}?run={shadow.pk}" in text(admin.get(PAGE))
    assert "the-administrator stopped it." in text(admin.get(f"{PAGE}?run={shadow.pk}"))


def test_who_begins_one_beside_another_is_told(admin, shadow):
    answer = admin.post(PAGE, {"days": "7", "percent": "100"})

    assert answer.status_code == 422 and "Nothing was begun." in text(answer)
    assert ShadowPolicy.objects.get() == shadow


@pytest.mark.parametrize(("at", "which"), [(0.999, "with these values"), (0.95, "with other values")])
def test_a_publication_of_the_policy_is_told_as_its_end(admin, shadow, drafted, at, which):
    entries.edit(drafted, "policies", "default", {"resolver": {"confident_at": at}}, by=EDITOR)
    revisions.publish(drafted, message="Go", by=EDITOR)
    running.end_due()

    assert f"It ended when the policy was published; it is live {which} now." in text(admin.get(PAGE))


def test_a_policy_that_is_nowhere_has_no_page(admin, workspace):
    assert admin.get("/w/acme/policies/nothing/shadow").status_code == 404


def test_differences_that_went_with_their_decisions_leave_the_counts(admin, decide, shadow):
    decide().delete()

    assert not ShadowDifference.objects.exists()
    assert admin.get(PAGE).context["sums"].different == 1
    assert "No difference is listed" in text(admin.get(PAGE))
