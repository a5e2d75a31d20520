"""Every address of the console with every role and a stranger, every call of the API with every right: none is forgotten.

A new page or call is walked without a change here, unless its address holds something that PLACES does not name.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from control.access import DEFAULT_RIGHTS, RIGHTS, ROLES, allows
from control.api.api import api as ninja
from control.keys import create_key
from control.roles_page import guarded, page
from routing.models.actor import SYSTEM
from routing.services import entries, registry, revisions
from tests.cast import person
from tests.routing.conftest import DOCUMENT, EDITOR

ABSENT = "00000000-0000-7000-8000-000000000000"
# What stands in an address where a page is about one thing. Where there is none of it, whoever is let in gets 404.
PLACES = {
    "name": "hitspec",
    "public": "hitspec__fetch",
    "part": "description",
    "number": "1",
    "seq": "1",
    "username": "nobody",
    "default": ABSENT,
}


@pytest.fixture
def workspace(db):
    workspace = registry.create_workspace("acme", by=EDITOR)
    registry.replace_working_copy(workspace, DOCUMENT, by=EDITOR)
    revisions.publish(workspace, message="Two endpoints", by=EDITOR)
    entries.edit(workspace, "endpoints", "notes", {"tags": ["draft"]}, by=EDITOR)
    return workspace


def address(pattern) -> str:
    path = str(pattern.pattern)
    for name, converter in pattern.pattern.converters.items():
        kind = type(converter).__name__
        place = PLACES.get(name) or (
            ABSENT if kind == "UUIDConverter" else "1" if kind == "IntConverter" else "hitspec"
        )
        path = path.replace(f"<uuid:{name}>", place).replace(f"<int:{name}>", place)
        path = path.replace(f"<str:{name}>", place).replace(f"<path:{name}>", place)
    return f"/w/acme/{path}"


@pytest.fixture
def enter(workspace):
    def enter(role: str | None) -> Client:
        client = Client(raise_request_exception=False)
        if role == "stranger":
            client.force_login(person("a-stranger"))
        elif role is not None:
            client.force_login(person(f"the-{role}", workspace, role))
        return client

    return enter


def answers(call, path: str) -> set[int]:
    """As an htmx request and as a plain one; without the answer that the address does not take the method."""
    return {call(path, headers=headers).status_code for headers in ({}, {"HX-Request": "true"})} - {405}


@pytest.mark.parametrize("role", [str(role) for role in ROLES])
def test_every_address_lets_in_exactly_the_roles_that_have_its_action(enter, role):
    client = enter(role)

    for pattern, action, posts in guarded():
        if pattern.name == "discard":
            continue  # it would take the draft from the pages after it; tests of its own try it
        for call, needed in ((client.get, action), (client.post, posts)):
            found = answers(call, address(pattern))
            told = (pattern.name, role, needed, found)
            assert 500 not in found, told
            assert 403 not in found if allows(role, needed) else found <= {403}, told


def test_a_stranger_finds_no_address(enter):
    client = enter("stranger")

    found = [answers(call, address(pattern)) for pattern, *_ in guarded() for call in (client.get, client.post)]
    assert set().union(*found) == {404}


def test_a_visitor_is_led_to_the_gate(enter):
    client = enter(None)

    for pattern, *_ in guarded():
        path = address(pattern)
        plain = client.get(path)
        if plain.status_code != 405:
            assert (plain.status_code, plain["Location"].split("?")[0]) == (302, "/sign-in"), path


def test_the_page_of_the_documentation_says_what_the_table_says():
    written = Path(__file__).parents[2] / "docs" / "roles.md"

    assert written.read_text(encoding="utf-8") == page(), "run: python3 manage.py roles_page --to docs/roles.md"


# --- the API ----------------------------------------------------------------------------------------------------------
def operations():
    """Each call with its method, path and the right that it says it needs."""
    for prefix, router in ninja._routers:
        for template, view in router.path_operations.items():
            for operation in view.operations:
                needed = [one.right for one in operation.auth_callbacks if hasattr(one, "right")]
                path = f"/api/v1{prefix}{template}".replace("//", "/")
                for name, place in (
                    ("{number}", "1"),
                    ("{path:name}", "hitspec__fetch"),
                    ("{decision_id}", ABSENT),
                ):
                    path = path.replace(name, place)
                for method in operation.methods:
                    yield pytest.param(method, path, needed, id=f"{method} {path}")


OPERATIONS = list(operations())


def test_the_walk_knows_the_calls():
    assert len(OPERATIONS) >= 17


def ask(key, method, path):
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    body = {} if method == "GET" else {"data": "{}", "content_type": "application/json"}
    return Client(raise_request_exception=False).generic(
        method, path, body.get("data", ""), body.get("content_type", "application/json"), headers=headers
    )


@pytest.mark.parametrize("method,path,needed", OPERATIONS)
def test_every_call_names_one_right_and_takes_keys_that_have_it(workspace, method, path, needed):
    assert len(needed) == 1
    having = create_key(workspace, "default", rights=needed, by=SYSTEM)[1]
    lacking = create_key(workspace, "default", rights=[right for right in RIGHTS if right not in needed], by=SYSTEM)[1]

    assert ask(None, method, path).status_code == 401
    assert ask("swy_unknown", method, path).status_code == 401
    assert ask(lacking, method, path).status_code == 403
    assert ask(having, method, path).status_code not in (401, 403, 500)


@pytest.mark.parametrize("role", [str(role) for role in ROLES])
def test_a_key_never_does_more_than_whoever_made_it(workspace, role):
    from control.access import rights_of
    from routing.models import Actor

    maker = person("the-maker", workspace, role)
    key = create_key(workspace, "default", rights=RIGHTS, by=Actor(kind="operator", name=maker.username))[1]

    for one in OPERATIONS:
        method, path, needed = one.values
        refused = ask(key, method, path).status_code == 403
        assert refused is (needed[0] not in rights_of(role)), (role, method, path)


def test_the_key_of_another_workspace_finds_nothing_of_this_one(workspace):
    other = registry.create_workspace("other", by=EDITOR)
    key = create_key(other, "default", rights=RIGHTS, by=SYSTEM)[1]

    assert ask(key, "GET", "/api/v1/revisions/2").status_code == 404
    assert ask(key, "GET", "/api/v1/tools/hitspec__fetch").status_code == 404
    assert set(DEFAULT_RIGHTS) <= set(RIGHTS)
