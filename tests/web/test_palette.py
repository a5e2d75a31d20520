"""The finder: what is found, in which order, for whom, and how quickly."""

from __future__ import annotations

import re
from html import unescape

import pytest

from control.web.finding import Named, Query
from control.web.palette import ABOUT, ACTIONS, PAGES, exists
from routing.services import registry, revisions
from tests.routing.conftest import EDITOR
from tests.web import crowd


def best(text: str, *names: str) -> list[str]:
    return [found.name for found in Query(text).best([Named.of(name) for name in names], 10)]


def test_the_name_itself_comes_first_then_its_beginning_then_its_words():
    names = ("a_prefetched_page", "web__fetch_page", "fetch_all", "web__fetch", "fetch", "nothing", "to-fetch")

    assert best("fetch", *names) == [
        "fetch",
        "web__fetch",
        "fetch_all",
        "web__fetch_page",
        "to-fetch",
        "a_prefetched_page",
    ]


def test_every_word_must_fit_in_any_order():
    assert best("page web", "web__fetch_page", "web__fetch", "page_of_the_web") == [
        "page_of_the_web",
        "web__fetch_page",
    ]


@pytest.mark.parametrize("text", ["(", "[a", "\\", "*", "a|b", "%", "_", "\0", "<script>", "\u202e", "𝒳", "x" * 10_000])
def test_no_text_breaks_the_question(text, admin, workspace):
    response = admin.get("/w/acme/go", {"q": text})

    assert response.status_code == 200
    assert "<script>" not in response.content.decode().split("<main")[1]


def test_the_part_that_was_typed_is_emphasised():
    assert Query("FETCH mark").spans("npx_fetch__as_markdown") == [
        ("npx_", False),
        ("fetch", True),
        ("__as_", False),
        ("mark", True),
        ("down", False),
    ]


def found(client, text: str, **headers) -> list[tuple[str, str]]:
    """Address and text of each hit."""
    page = client.get("/w/acme/go", {"q": text}, headers={"HX-Request": "true"} | headers).content.decode()
    hits = re.findall(r'<a role="option".*?href="([^"]*)".*?>(.*?)</a>', page, re.DOTALL)
    return [(unescape(address), unescape(re.sub(r"<[^>]+>", "", text)).strip()) for address, text in hits]


def addresses(client, text: str) -> list[str]:
    return [address for address, _ in found(client, text)]


def test_entities_of_every_kind_are_found(admin, workspace, decide):
    registry.replace_working_copy(
        workspace, registry.working_document(workspace) | {"capabilities": [{"name": "web-fetch"}]}, by=EDITOR
    )
    decision = str(decide().pk)

    assert addresses(admin, "hitspec__fetch")[0] == "/w/acme/tools/hitspec__fetch"
    assert "/w/acme/endpoints/hitspec" in addresses(admin, "hitspec")
    assert "/w/acme/capabilities/web-fetch" in addresses(admin, "web-fetch")
    assert "/w/acme/scopes/web-only" in addresses(admin, "web-only")
    assert "/w/acme/revisions/2" in addresses(admin, "2")
    assert addresses(admin, "revision 2")[0] == "/w/acme/revisions/2"
    assert addresses(admin, "audit 1")[0] == "/w/acme/audit/1"
    assert addresses(admin, decision)[0] == f"/w/acme/decisions/{decision}"
    assert addresses(admin, decision[:13])[0] == f"/w/acme/decisions/{decision}"
    assert addresses(admin, f"{decision[:8]}-{decision[-4:]}")[0] == f"/w/acme/decisions/{decision}"
    assert "/w/acme/revisions/2" in addresses(admin, "two endpoints")
    assert "/w/acme/publish" in addresses(admin, "publish")
    assert "/w/acme/decisions?q=hitspec" in addresses(admin, "hitspec")


def test_nothing_of_another_workspace_is_found(admin, workspace):
    other = registry.create_workspace("other", by=EDITOR)
    registry.replace_working_copy(other, crowd.document(1, 1), by=EDITOR)
    revisions.publish(other, message="Secret plans", by=EDITOR)

    for text in ("place-000", "Secret plans", "get_thing_0"):
        assert not [address for address in addresses(admin, text) if "q=" not in address]


def test_a_role_is_offered_only_what_opens(enter, workspace):
    for role in ("viewer", "auditor", "editor", "reviewer"):
        client = enter(role)
        for text in ("", "hitspec", "2", "publish", "audit"):
            offered = addresses(client, text)
            assert offered
            assert [address for address in offered if client.get(address).status_code != 200] == []


def test_an_auditor_finds_nothing_of_the_registry(enter):
    assert not [one for one in addresses(enter("auditor"), "hitspec") if "/endpoints" in one or "/tools" in one]


def test_the_page_without_script_has_the_same_hits_as_links(admin):
    page = admin.get("/w/acme/go", {"q": "hitspec"}).content.decode()

    assert page.count("<h1") == 1
    assert 'href="/w/acme/endpoints/hitspec"' in page.split("<main")[1]
    assert "Nothing here is called" in admin.get("/w/acme/go", {"q": "xyzzy-no"}).content.decode() or ABOUT


def test_every_page_and_deed_that_the_console_has_is_named_once():
    named = [(place.title, place.url) for place in (*PAGES, *ACTIONS)]

    assert len(set(named)) == len(named)
    assert exists("overview") and not exists("no-such-page")


def test_a_hostile_name_is_text(admin, workspace):
    registry.replace_working_copy(workspace, crowd.hostile(), by=EDITOR)
    revisions.publish(workspace, message="<script>alert(2)</script>", by=EDITOR)
    page = admin.get("/w/acme/go", {"q": "alert"}).content.decode().split("<main")[1]

    assert "<script>" not in page
    assert "alert" in page


def test_among_ten_thousand_tools_a_search_takes_few_queries_and_shows_some(
    admin, workspace, django_assert_max_num_queries
):
    registry.replace_working_copy(workspace, crowd.document(200, 50), by=EDITOR)
    revisions.publish(workspace, message="Many", by=EDITOR)
    admin.get("/w/acme/go?q=a")

    for text, most in (
        ("thing", 40),
        ("t", 40),
        ("thing_49", 40),
        ("place-199__list", 40),
        ("no such thing at all", 4),
    ):
        with django_assert_max_num_queries(13):  # how long it takes: bench/console_pages.py
            assert len(found(admin, text)) <= most
