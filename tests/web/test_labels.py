from __future__ import annotations

import pytest

from routing.models import Label


@pytest.fixture
def editor(enter):
    return enter("editor")


def test_a_label_is_said_on_the_page_shown_and_taken_back(editor, decide):
    decision = decide()
    address = f"/w/acme/decisions/{decision.pk}"

    asked = editor.get(address).content.decode()
    said = editor.post(f"{address}/label", {"say": "other", "tool": "hitspec__validate"})
    told = editor.get(address).content.decode()

    assert "Was it right?" in asked and 'value="hitspec__validate"' in asked
    assert said["Location"] == f"{address}#labels"
    assert "should have been" in told and "the-editor" in told
    editor.post(f"{address}/label", {"say": "nothing"})
    assert not Label.objects.exists()


def test_a_tool_that_nobody_knows_is_refused_beside_the_field(editor, decide):
    address = f"/w/acme/decisions/{decide().pk}"

    refused = editor.post(f"{address}/label", {"say": "other", "tool": "<b>nobody__knows"})
    text = refused.content.decode()

    assert refused.status_code == 422
    assert "no tool of this name" in text and 'value="&lt;b&gt;nobody__knows"' in text
    assert 'aria-invalid="true"' in text


def test_the_list_is_labelled_in_place_and_filtered(editor, decide):
    one, two = decide(), decide("check one request definition")
    posted = editor.post(
        f"/w/acme/decisions/{one.pk}/label", {"say": "right", "in": "list"}, headers={"HX-Request": "true"}
    )
    plain = editor.post(
        f"/w/acme/decisions/{two.pk}/label", {"say": "wrong", "in": "list", "back": "/w/acme/decisions?label=none"}
    )

    assert f'id="label-{one.pk}"' in posted.content.decode() and "Right" in posted.content.decode()
    assert plain["Location"] == "/w/acme/decisions?label=none"
    for label, wanted in (("right", {one.pk}), ("wrong", {two.pk}), ("none", set())):
        rows = editor.get(f"/w/acme/decisions?label={label}").context["rows"]
        assert {row["decision"].pk for row in rows} == wanted
    assert "labelled right" in editor.get("/w/acme/decisions?label=right").content.decode()


@pytest.mark.parametrize("role", ["viewer", "auditor"])
def test_who_only_looks_on_sees_labels_and_says_nothing(enter, decide, role):
    decision = decide()
    looker = enter(role)

    assert looker.post(f"/w/acme/decisions/{decision.pk}/label", {"say": "right"}).status_code == 403
    assert "Nobody has said." in looker.get(f"/w/acme/decisions/{decision.pk}").content.decode()
    assert 'name="say"' not in looker.get("/w/acme/decisions").content.decode()


def test_reviewers_label_too(enter, decide):
    decision = decide()

    assert enter("reviewer").post(f"/w/acme/decisions/{decision.pk}/label", {"say": "wrong"}).status_code == 302
    assert Label.objects.get().person == "the-reviewer"


def test_an_address_elsewhere_is_not_gone_back_to(editor, decide):
    form = {"say": "right", "in": "list", "back": "https://elsewhere.example/w/acme/decisions?"}

    assert editor.post(f"/w/acme/decisions/{decide().pk}/label", form)["Location"] == "/w/acme/decisions"
