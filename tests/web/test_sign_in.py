from __future__ import annotations

import pytest
from django.test import Client

from control.web.session import own_path
from routing.models import Revision
from routing.services import entries
from tests.cast import PASSWORD, person
from tests.routing.conftest import EDITOR

pytestmark = pytest.mark.django_db


def try_to_enter(client: Client, name: str, password: str, **more):
    return client.post("/sign-in", {"username": name, "password": password, **more})


def test_a_member_signs_in_and_lands_on_the_overview(workspace):
    person("ada", workspace)

    response = Client().post("/sign-in", {"username": "ada", "password": PASSWORD}, follow=True)

    assert response.request["PATH_INFO"] == "/w/acme/"
    assert response.context["figures"].total == 0


def test_an_unknown_name_and_a_wrong_password_read_the_same(workspace):
    person("ada", workspace)

    unknown, wrong = try_to_enter(Client(), "nobody", "x"), try_to_enter(Client(), "ada", "x")

    assert unknown.context["problem"] == wrong.context["problem"]
    assert "_auth_user_id" not in wrong.client.session


def test_after_five_wrong_tries_even_the_right_password_waits(workspace):
    person("ada", workspace)
    client = Client()
    for _ in range(5):
        last = try_to_enter(client, "ada", "wrong")

    refused = try_to_enter(client, "ada", PASSWORD)

    assert (last.status_code, refused.status_code) == (429, 429)
    assert "Try again in 15 minutes" in refused.content.decode()
    assert refused["Retry-After"] == "900"
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", ""]
)
def test_signing_in_never_leads_to_another_site(workspace, elsewhere):
    person("ada", workspace)

    response = try_to_enter(Client(), "ada", PASSWORD, next=elsewhere)

    assert response["Location"] == "/"


def test_signing_in_goes_on_to_the_page_that_was_asked_for(workspace, rf):
    asked = Client().get("/w/acme/endpoints?q=hit")

    assert asked["Location"] == "/sign-in?next=%2Fw%2Facme%2Fendpoints%3Fq%3Dhit"
    assert own_path(rf.get("/"), "/w/acme/endpoints?q=hit") == "/w/acme/endpoints?q=hit"


def test_a_part_that_finds_nobody_signed_in_leads_back_to_its_page(workspace):
    page = {"HX-Request": "true", "HX-Current-URL": "http://testserver/w/acme/?scope=web-only"}

    response = Client().get("/w/acme/panels/tail", headers=page)

    assert response["HX-Redirect"] == "/sign-in?next=%2Fw%2Facme%2F%3Fscope%3Dweb-only"


def test_what_a_form_sent_after_the_session_ended_is_held_until_its_sender_is_back(workspace):
    person("ada", workspace)
    entries.edit(workspace, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR)
    client, said = Client(), "Why <b>not</b>\nمرحبا"
    headers = {"Referer": "http://testserver/w/acme/publish"}

    ended = client.post(
        "/w/acme/publish/propose", {"message": said, "new_password1": "hidden", "seen": "sha256:9"}, headers=headers
    )
    wrong = try_to_enter(client, "ada", "wrong", held=ended.context["held"], next=ended.context["next"])
    back = try_to_enter(client, "ada", PASSWORD, held=wrong.context["held"], next=wrong.context["next"])
    text = back.content.decode()

    assert (ended.status_code, wrong.status_code, back.status_code) == (401, 200, 200)
    assert back.context["sent"] == {
        "path": "/w/acme/publish/propose",
        "fields": {"message": [said], "seen": ["sha256:9"]},
    }
    assert 'name="seen" value="sha256:9"' in text and ">seen<" not in text and ">message<" in text
    assert 'href="/w/acme/publish"' in text and "&lt;b&gt;not" in text and "<b>not" not in text
    assert Revision.objects.filter(workspace=workspace, number=3).count() == 0
    assert client.post("/w/acme/publish/propose", {"message": said}).status_code == 302
    assert Revision.objects.get(workspace=workspace, number=3).message == said


@pytest.mark.parametrize("held", ["x", "a.b.c", ""])
def test_a_form_that_nobody_held_is_not_offered(workspace, held):
    person("ada", workspace)

    assert try_to_enter(Client(), "ada", PASSWORD, held=held)["Location"] == "/"


def test_a_part_that_is_saved_by_nobody_says_so_and_changes_nothing(workspace):
    edit = {"value": "Mine", "read": "x"}
    page = {"HX-Request": "true", "HX-Current-URL": "http://testserver/w/acme/endpoints/hitspec"}

    response = Client().post("/w/acme/endpoints/hitspec/edit/description", edit, headers=page)

    assert (response.status_code, response.content) == (401, b"")


def test_the_way_back_never_leads_to_another_site(workspace):
    headers = {"Referer": "https://evil.example/w/acme/publish"}

    assert Client().post("/w/acme/publish", {"message": "x"}, headers=headers).context["next"] == "/"


def test_signing_out_needs_a_post(admin):
    assert admin.get("/sign-out").status_code == 405
    assert "_auth_user_id" in admin.session

    admin.post("/sign-out")

    assert "_auth_user_id" not in admin.session


def test_a_form_without_its_token_is_refused_in_the_console_s_own_words(workspace):
    client = Client(enforce_csrf_checks=True)

    response = try_to_enter(client, "ada", "x")

    assert response.status_code == 403
    assert "This form is no longer valid" in response.content.decode()


def test_the_session_cookie_is_kept_from_scripts_and_other_sites(workspace):
    person("ada", workspace)
    client = Client()

    try_to_enter(client, "ada", PASSWORD)

    cookie = client.cookies["switchyard_session"]
    assert cookie["httponly"] and cookie["samesite"] == "Lax"


def test_the_theme_is_written_by_the_server(admin):
    assert b'data-theme="auto"' in admin.get("/w/acme/").content

    response = admin.post("/theme", {"theme": "dark", "next": "/w/acme/endpoints"})

    assert response["Location"] == "/w/acme/endpoints"
    assert b'data-theme="dark"' in admin.get("/w/acme/").content


def test_a_theme_that_does_not_exist_changes_nothing(admin):
    admin.post("/theme", {"theme": '"><script>'})

    assert b'data-theme="auto"' in admin.get("/w/acme/").content


def test_a_person_without_a_workspace_is_told_so(stranger):
    assert "You belong to no workspace yet" in stranger.get("/").content.decode()
