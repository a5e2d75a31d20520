from __future__ import annotations

import pytest
from django.utils.html import escape

from routing.services import entries, registry, revisions
from tests.routing.conftest import DOCUMENT, EDITOR
from tests.web import crowd

HTMX = {"HX-Request": "true"}


def publish(workspace, document):
    registry.replace_working_copy(workspace, document, by=EDITOR)
    revisions.publish(workspace, message="Another registry", by=EDITOR)


def names(response) -> list[str]:
    return [row["doc"].public for row in response.context["rows"]]


def test_the_list_shows_every_live_tool_with_how_its_traits_are_known(admin, decide):
    decide()

    response = admin.get("/w/acme/tools")
    rows = {row["doc"].public: row for row in response.context["rows"]}

    assert list(rows) == ["hitspec__fetch", "hitspec__validate", "notes__add_note", "notes__delete_note"]
    assert rows["hitspec__fetch"]["recommended"] == 1
    assert rows["notes__delete_note"]["doc"].traits.provenance["effect"] == "declared"
    assert 'erase<span class="sub">declared</span>' in response.content.decode()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=NOTEBOOK", ["notes__add_note", "notes__delete_note"]),
        ("q=hitspec_fetch", ["hitspec__fetch"]),
        ("endpoint=notes", ["notes__add_note", "notes__delete_note"]),
        ("effect=erase", ["notes__delete_note"]),
        ("effect=erase&provenance=declared", ["notes__delete_note"]),
        ("category=mutate&provenance=declared", []),
        ("risk=high", ["notes__delete_note"]),
        ("provenance=overridden", []),
        ("q=nothing-like-it", []),
        ("sort=-tool&endpoint=notes", ["notes__delete_note", "notes__add_note"]),
        ("sort=-risk&endpoint=notes", ["notes__delete_note", "notes__add_note"]),
        ("sort=no-such&page=x&endpoint=notes", ["notes__add_note", "notes__delete_note"]),
    ],
)
def test_filters_and_order_of_the_list(admin, query, found):
    assert names(admin.get(f"/w/acme/tools?{query}")) == found


def test_filters_stay_in_every_address_of_the_page(admin, workspace):
    publish(workspace, crowd.document(2, 130))

    first = admin.get("/w/acme/tools?endpoint=place-001&sort=-tool")
    second = admin.get(first.context["next"])
    text = first.content.decode()

    assert first.context["next"] == "/w/acme/tools?endpoint=place-001&sort=-tool&page=2"
    assert (second.context["previous"], len(names(second))) == ("/w/acme/tools?endpoint=place-001&sort=-tool", 50)
    assert "1 to 50 of 130 tools" in text and "130 of 260 tools" in text
    assert not set(names(first)) & set(names(second))
    assert 'href="/w/acme/tools?endpoint=place-001&amp;sort=risk"' in text
    assert names(admin.get("/w/acme/tools?page=99999"))[-1] == "place-001__write_thing_97"


def test_a_filter_answers_with_the_list_alone(admin):
    text = admin.get("/w/acme/tools?q=note", headers=HTMX).content.decode()

    assert text.startswith("<section") and "<html" not in text


def test_as_many_queries_for_many_tools_as_for_few(admin, workspace, django_assert_max_num_queries):
    admin.get("/w/acme/tools")
    publish(workspace, crowd.document(40, 50))
    admin.get("/w/acme/tools")

    with django_assert_max_num_queries(11):
        assert admin.get("/w/acme/tools").context["total"] == 2000
    with django_assert_max_num_queries(15):
        admin.get("/w/acme/tools/place-001__get_thing_0")


def test_the_page_of_a_tool_tells_fields_traits_reach_and_decisions(admin, decide):
    decision = decide()

    response = admin.get("/w/acme/tools/hitspec__fetch")
    text = response.content.decode()
    reach = {one["scope"]: one["word"] for one in response.context["reach"]}

    assert reach == {"default": "Reached", "web-only": "Reached"}
    assert [line.name for line in response.context["inputs"].lines] == ["url", "format"]
    assert f"/w/acme/decisions/{decision.pk}" in text
    assert "hitspec_fetch" in text
    reach = admin.get("/w/acme/tools/notes__add_note").context["reach"]
    assert {one["scope"]: one["word"] for one in reach} == {"default": "Reached", "web-only": "Not reached"}


def test_a_tool_that_is_switched_off_says_so(admin, workspace):
    document = {**DOCUMENT, "endpoints": [{**DOCUMENT["endpoints"][0], "enabled": False}, DOCUMENT["endpoints"][1]]}
    publish(workspace, document)

    response = admin.get("/w/acme/tools/hitspec__fetch")

    assert "while its endpoint is switched off" in response.content.decode()
    assert {one["word"] for one in response.context["reach"]} == {"Permitted, but off"}


def test_a_tool_of_the_draft_says_that_nobody_reaches_it_yet(admin, workspace):
    document = {**DOCUMENT, "endpoints": [*DOCUMENT["endpoints"], {**crowd.document(1, 1)["endpoints"][0]}]}
    registry.replace_working_copy(workspace, document, by=EDITOR)

    assert "in the draft only" in admin.get("/w/acme/tools/place-000__get_thing_0").content.decode()
    entries.remove(workspace, "endpoints", ["notes"], by=EDITOR)
    assert "The draft no longer has this tool" in admin.get("/w/acme/tools/notes__add_note").content.decode()


@pytest.mark.parametrize("name", ["nothing", "hitspec__nothing", "nothing__fetch", "__", "hitspec__"])
def test_what_is_no_tool_is_not_found(admin, name):
    assert admin.get(f"/w/acme/tools/{name}").status_code == 404


def test_hostile_names_are_shown_and_lead_to_their_pages(admin, workspace):
    publish(workspace, crowd.hostile())

    response = admin.get("/w/acme/tools")
    text = response.content.decode()

    assert "<script>alert" not in text and escape("<script>alert(1)</script>") in text
    assert len(response.context["rows"]) == 3
    for row in response.context["rows"]:
        page = admin.get(row["address"])
        assert page.status_code == 200 and page.context["doc"].public == row["doc"].public
        assert "<script>alert" not in page.content.decode()


def test_a_registry_without_tools_teaches_how_to_bring_some_in(admin, workspace):
    publish(workspace, {"version": 1})
    assert "import_registry" in admin.get("/w/acme/tools").content.decode()

    registry.replace_working_copy(workspace, DOCUMENT, by=EDITOR)
    page = admin.get("/w/acme/tools")
    assert "4 tools are in the draft only" in page.content.decode()
    assert {tuple(row["draft"]) for row in page.context["rows"]} == {("in the draft only",)}


def test_tools_that_the_draft_alone_has_stand_among_the_others_and_are_filtered_with_them(admin, workspace):
    fresh = {"name": "more", "kind": "declared", "tools": [{"name": "more_erase", "effect": "erase"}, {"name": "see"}]}
    entries.add(workspace, "endpoints", fresh, by=EDITOR)

    def listed(query: str = "") -> dict[str, list[str]]:
        return {row["doc"].public: row["draft"] for row in admin.get(f"/w/acme/tools{query}").context["rows"]}

    assert listed()["more__erase"] == listed()["more__see"] == ["in the draft only"]
    assert listed()["hitspec__fetch"] == []
    assert set(listed("?effect=erase")) == {"notes__delete_note", "more__erase"}
    assert set(listed("?endpoint=more&q=see")) == {"more__see"}
    row = next(row for row in admin.get("/w/acme/tools?endpoint=more").context["rows"])
    assert admin.get(row["address"]).status_code == 200 and not row["available"]


def test_a_tool_of_the_draft_alone_is_changed_with_others_in_one_step(admin, workspace):
    entries.add(workspace, "endpoints", {"name": "more", "kind": "declared", "tools": [{"name": "see"}]}, by=EDITOR)
    page = admin.get("/w/acme/tools")
    picks = [row["pick"] for row in page.context["rows"] if row["doc"].public in ("more__see", "hitspec__fetch")]

    admin.post("/w/acme/bulk/tools", {"do": "set", "risk": "high", "pick": picks, "seen": page.context["seen"]})

    rows = admin.get("/w/acme/tools").context["rows"]
    assert {row["doc"].public: row["draft"] for row in rows if row["pick"] in picks} == {
        "hitspec__fetch": ["risk high in the draft"],
        "more__see": ["in the draft only"],
    }
