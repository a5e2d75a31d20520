from __future__ import annotations

import pytest

from control.models import HarnessKey
from routing import snapshot
from routing.engine import load_registry
from routing.services import registry
from tests.routing.conftest import DOCUMENT, EDITOR
from tests.web import crowd
from tests.web.test_tools import names, publish

HTMX = {"HX-Request": "true"}
SCOPES = [
    {"name": "nothing", "endpoints": []},
    {"name": "careful", "deny": ["notes__delete_note"], "pins": ["hitspec__fetch"], "mode": "direct"},
    {"name": "two", "tools": ["hitspec__fetch", "notes__add_note"], "expose": "all"},
]


@pytest.fixture
def scoped(workspace):
    publish(workspace, {**DOCUMENT, "scopes": [*DOCUMENT["scopes"], *SCOPES]})
    return workspace


def test_the_list_tells_the_three_states_and_what_is_reached(admin, scoped):
    HarnessKey.objects.create(workspace=scoped, name="one", scope="two", digest="a" * 64, ends_with="abcd")

    response = admin.get("/w/acme/scopes")
    rows = {row["name"]: row for row in response.context["rows"]}

    assert {name: (row["endpoints"], row["tools"]) for name, row in rows.items()} == {
        "careful": (2, 3),
        "default": (2, 4),
        "nothing": (0, 0),
        "two": (2, 2),
        "web-only": (1, 2),
    }
    states = {name: (row["allowed_endpoints"].state, row["allowed_tools"].state) for name, row in rows.items()}
    assert (states["default"], states["nothing"], states["two"]) == (("all", "all"), ("none", "all"), ("all", "these"))
    assert (rows["two"]["keys"], rows["default"]["keys"]) == (1, 0)


@pytest.mark.parametrize("name", ["default", "web-only", "nothing", "careful", "two"])
def test_a_scope_page_shows_what_harnesses_of_it_are_answered_from(admin, scoped, name):
    catalog = snapshot.live(scoped.pk).catalog

    response = admin.get(f"/w/acme/scopes/{name}")

    assert names(response) == [doc.public for doc in catalog.tools(name)]
    assert response.context["reached"] == len(catalog.tools(name))
    assert {one.name for one in response.context["seen"]} == {doc.endpoint.name for doc in catalog.tools(name)}


def test_a_scope_page_tells_its_rules(admin, scoped):
    careful = admin.get("/w/acme/scopes/careful").content.decode()
    nothing = admin.get("/w/acme/scopes/nothing").content.decode()

    assert "notes__delete_note" in careful and "the harness calls endpoints itself" in careful
    assert "finds no tool at all" in nothing and "the list is there and empty" in nothing
    assert admin.get("/w/acme/scopes/two").context["expose"] == "all"


def test_what_is_reached_is_searched_and_filtered(admin, scoped):
    assert names(admin.get("/w/acme/scopes/default?q=note")) == ["notes__add_note", "notes__delete_note"]
    assert names(admin.get("/w/acme/scopes/careful?endpoint=notes&effect=erase")) == []
    text = admin.get("/w/acme/scopes/default?q=note", headers=HTMX).content.decode()
    assert text.startswith("<section") and "2 of 4 tools" in text


def test_what_is_switched_off_is_permitted_and_not_reached(admin, workspace):
    publish(workspace, {**DOCUMENT, "endpoints": [{**DOCUMENT["endpoints"][0], "enabled": False}]})

    response = admin.get("/w/acme/scopes/web-only")

    assert (response.context["reached"], response.context["off"]) == (0, 2)
    assert "2 tools are permitted but switched off or away" in response.content.decode()


def test_scopes_of_the_draft_are_shown_as_such(admin, workspace):
    registry.replace_working_copy(
        workspace,
        {**DOCUMENT, "scopes": [{"name": "web-only", "endpoints": ["notes"]}, {"name": "new", "tools": []}]},
        by=EDITOR,
    )

    assert "draft only" in admin.get("/w/acme/scopes").content.decode()
    assert "Nobody reaches anything through it" in admin.get("/w/acme/scopes/new").content.decode()
    assert "The draft differs from what is live" in admin.get("/w/acme/scopes/web-only").content.decode()
    assert "The draft differs" not in admin.get("/w/acme/scopes/default").content.decode()
    assert admin.get("/w/acme/scopes/no-such").status_code == 404


def test_a_lone_default_scope_teaches_to_narrow(admin, workspace):
    publish(workspace, {**DOCUMENT, "scopes": []})

    assert "Give each harness a scope of its own" in admin.get("/w/acme/scopes").content.decode()


def test_as_many_queries_for_many_scopes_as_for_few(admin, workspace, django_assert_max_num_queries):
    publish(workspace, crowd.document(20, 10, scopes=50))
    admin.get("/w/acme/scopes")

    with django_assert_max_num_queries(12):
        assert admin.get("/w/acme/scopes").context["total"] == 51
    with django_assert_max_num_queries(15):
        admin.get("/w/acme/scopes/team-00")


def test_hostile_names_are_shown_safely(admin, workspace):
    publish(workspace, crowd.hostile())

    text = admin.get("/w/acme/scopes/odd-only").content.decode()

    assert "<script>alert" not in text and "&lt;script&gt;alert" in text
    assert load_registry(crowd.hostile()).view("odd-only").size == 2
