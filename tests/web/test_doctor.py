from __future__ import annotations

import pytest

from routing.models import IgnoredFinding
from routing.services import entries, registry
from routing.services.doctor import examinations
from tests.routing.conftest import DOCUMENT, EDITOR
from tests.web import crowd

PAGE = "/w/acme/doctor"
TWINS = {
    **DOCUMENT,
    "endpoints": [
        *DOCUMENT["endpoints"],
        {
            "name": "books",
            "kind": "declared",
            "tools": [
                {"name": "jot", "description": "Keep a thought."},
                {"name": "tear", "description": "Throw away."},
            ],
            "tool_use_when": {"jot": ["write down what the customer said"], "jott": ["keep a thought"]},
        },
        {
            "name": "crm",
            "kind": "declared",
            "tools": [{"name": "log_call"}, {"name": "list_calls", "description": "Enumerate calls."}],
            "tool_use_when": {"log_call": ["write down what a customer said"]},
        },
    ],
    "capabilities": [{"name": "nobody"}],
}


@pytest.fixture
def ill(workspace):
    registry.replace_working_copy(workspace, TWINS, by=EDITOR)
    examine(workspace)
    return workspace


def examine(workspace) -> None:
    examinations.make(workspace.pk)
    workspace.refresh_from_db()


def text_of(client, address: str = PAGE) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def finding(client, code: str, address: str = PAGE):
    return next(row for row in client.get(address).context["rows"] if row["finding"]["code"] == code)


def test_until_a_worker_has_looked_the_page_says_so_and_asks_again(admin, workspace, monkeypatch):
    asked = []
    monkeypatch.setattr(examinations.workers, "_send", asked.append)

    text = text_of(admin)

    assert "Being examined" in text and 'hx-trigger="load delay:1s, every 3s"' in text
    assert asked == [str(workspace.pk)]


def test_without_a_worker_the_page_says_that_none_can_be_reached(admin, workspace, monkeypatch):
    def away(_):
        raise OSError

    monkeypatch.setattr(examinations.workers, "_send", away)

    assert "No worker can be reached" in text_of(admin)


def test_a_clash_is_told_with_its_words_and_leads_to_the_hint(admin, ill):
    row = finding(admin, "hint_clash")

    assert set(row["finding"]["words"]) >= {"customer", "said"}
    page = admin.get(row["edit"].partition("#")[0]).content.decode()
    opened = page.split('class="toolhints" id="d-tool-')
    assert sum(part.split(">", 1)[0].endswith(" open") for part in opened[1:]) == 1
    assert "autofocus" in page


def test_filters_and_pages_are_kept_in_the_address(admin, ill):
    by_kind = admin.get(f"{PAGE}?kind=capability_unused").context
    by_endpoint = admin.get(f"{PAGE}?endpoint=crm&severity=high").context

    assert {row["finding"]["code"] for row in by_kind["rows"]} == {"capability_unused"}
    assert all(row["finding"]["severity"] == "high" for row in by_endpoint["rows"]) and by_endpoint["rows"]
    assert "kind: Capabilities that nobody has" in text_of(admin, f"{PAGE}?kind=capability_unused")
    assert "No finding fits" in text_of(admin, f"{PAGE}?kind=rule_never")


def test_live_is_another_place_to_look_and_offers_no_edit(admin, ill):
    live = admin.get(f"{PAGE}?of=live").context

    assert not [row for row in live["rows"] if row["finding"]["code"] == "hint_clash"]
    assert not any(row["edit"] or row["applies"] for row in live["rows"])


def test_the_menu_and_the_checks_count_what_is_open(admin, ill):
    count = admin.get(PAGE).context["open"]

    assert f'Hint doctor<span class="count">{count}</span>' in text_of(admin)
    assert f"hint doctor: {count} open findings, " in text_of(admin, "/w/acme/publish")


def test_a_finding_is_left_with_a_reason_and_opened_again(enter, ill):
    editor = enter("editor")
    row = finding(editor, "hint_clash")
    address = f"{PAGE}/{row['finding']['key']}/ignore"

    refused = editor.post(address, {"reason": " ", "back": f"{PAGE}?kind=hint_clash"}, follow=True).content.decode()
    editor.post(address, {"reason": crowd.HOSTILE[:200], "back": "https://elsewhere.example/"})
    text = text_of(editor, f"{PAGE}?show=ignored")

    assert "Say why it is left" in refused
    assert "Left as it is by" in text and "<script>" not in text
    assert IgnoredFinding.objects.get().key == row["finding"]["key"]
    opened = editor.post(address, {"do": "heed", "back": f"{PAGE}?show=ignored"})
    assert opened["Location"] == f"{PAGE}?show=ignored"
    assert not IgnoredFinding.objects.exists()


def test_an_edit_that_needs_no_words_is_made_in_one_step_and_can_be_undone(admin, ill):
    row = finding(admin, "hint_without_tool")
    assert row["applies"]

    said = admin.post(f"{PAGE}/{row['finding']['key']}/mend", {"back": PAGE}, follow=True).content.decode()

    (books,) = [one for one in registry.working_document(ill)["endpoints"] if one["name"] == "books"]
    assert books["tool_use_when"]["jot"][-1] == "keep a thought"
    assert "books: mended in the draft" in said and "Undo" in said
    examine(ill)
    assert not [row for row in admin.get(PAGE).context["rows"] if row["finding"]["code"] == "hint_without_tool"]


def test_what_somebody_else_dealt_with_meanwhile_is_said_on_the_list(admin, ill):
    mended, left = finding(admin, "hint_without_tool"), finding(admin, "capability_unused")
    mend, ignore = (f"{PAGE}/{mended['finding']['key']}/mend", f"{PAGE}/{left['finding']['key']}/ignore")
    admin.post(mend, {"back": PAGE})
    unexamined = admin.post(mend, {"back": PAGE}, follow=True).content.decode()
    examine(ill)
    gone = admin.post(mend, {"back": PAGE}, follow=True).content.decode()
    never_ignored = admin.post(ignore, {"do": "heed", "back": PAGE}, follow=True).content.decode()

    assert "The draft changed since it was examined" in unexamined
    assert "This is no longer found: what it was about has changed." in gone
    assert "This is not ignored." in never_ignored
    assert all('id="list"' in page for page in (unexamined, gone, never_ignored))


def test_who_does_not_edit_sees_findings_and_no_button(enter, ill):
    viewer = enter("viewer")
    text = text_of(viewer)

    assert "hint" in text and "Do it in the draft" not in text and "Ignore it" not in text
    assert enter("auditor").get(PAGE).status_code == 403


def test_the_page_of_an_endpoint_tells_what_is_found_about_it(admin, ill):
    text = text_of(admin, "/w/acme/endpoints/crm")

    assert 'id="h-doctor"' in text and "What a customer said" not in text
    assert 'id="h-doctor"' not in text_of(admin, "/w/acme/endpoints/hitspec")


def test_what_hostile_names_say_stays_text(admin, workspace):
    registry.replace_working_copy(workspace, crowd.hostile(), by=EDITOR)
    entries.edit(workspace, "endpoints", "odd", {"use_when": [crowd.HOSTILE[:200]]}, by=EDITOR)
    examine(workspace)

    text = text_of(admin, f"{PAGE}?show=all")

    assert "<script>alert" not in text and "\u202e" not in text
