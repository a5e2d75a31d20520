"""People of a workspace, invitations, accounts."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from control.keys import create_key
from control.models import HarnessKey, Invitation, Membership
from routing.models import AuditEntry, Workspace
from tests.cast import PASSWORD, person
from tests.routing.conftest import EDITOR

NEW = {"username": "ada", "password1": "correct horse battery", "password2": "correct horse battery"}


def invite(admin, role="editor", label="Ada from payments") -> str:
    text = admin.post("/w/acme/people/invite", {"label": label, "role": role, "days": "7"}).content.decode()
    return re.search(r"/join/[\w-]+", text)[0]


def role_of(name, workspace):
    return Membership.objects.filter(user__username=name, workspace=workspace).values_list("role", flat=True).first()


def test_an_invitation_makes_an_account_once(admin, workspace):
    link = invite(admin)
    browser = Client()

    assert "asked in as editor" in browser.get(link).content.decode()
    joined = browser.post(link, NEW)

    assert (joined.status_code, joined["Location"]) == (302, "/w/acme/")
    assert browser.get("/w/acme/").status_code == 200
    assert role_of("ada", workspace) == "editor"
    again = Client().get(link)
    assert again.status_code == 404 and "not valid any more" in again.content.decode()
    assert link.rsplit("/", 1)[1] not in str(list(AuditEntry.objects.values_list("after", "target")))
    assert Invitation.objects.get().digest != link.rsplit("/", 1)[1]


def test_who_has_an_account_joins_with_it(admin, stranger, workspace):
    link = invite(admin, "reviewer")

    assert "signed in as <b>a-stranger</b>" in stranger.get(link).content.decode()
    assert stranger.post(link)["Location"] == "/w/acme/"
    assert role_of("a-stranger", workspace) == "reviewer"


@pytest.mark.parametrize(
    "given,said",
    [
        ({"username": "the-administrator"}, "That name is taken"),
        ({"username": "a b"}, "valid username"),
        ({"username": ".."}, "a letter or a digit"),
        ({"username": ""}, "Choose a user name"),
        ({"password2": "another one entirely"}, "match"),
        ({"password1": "password", "password2": "password"}, "too common"),
    ],
)
def test_what_does_not_fit_is_told_beside_its_field_and_the_link_stays_good(admin, given, said):
    link = invite(admin)
    answer = Client().post(link, NEW | given)

    assert answer.status_code == 422 and said in answer.content.decode()
    assert Client().post(link, NEW).status_code == 302


def test_a_withdrawn_or_renewed_link_is_dead(admin):
    link = invite(admin)
    row = Invitation.objects.get()
    fresh = re.search(r"/join/[\w-]+", admin.post(f"/w/acme/people/invitations/{row.pk}/renew").content.decode())[0]
    assert (Client().get(link).status_code, Client().get(fresh).status_code) == (404, 200)

    admin.post(f"/w/acme/people/invitations/{row.pk}/withdraw")
    assert Client().get(fresh).status_code == 404


@pytest.mark.parametrize("given", [{"days": "0"}, {"days": "x"}, {"role": "king"}, {"label": ""}, {"label": "x" * 201}])
def test_a_bad_invitation_is_refused_in_its_form(admin, given):
    answer = admin.post("/w/acme/people/invite", {"label": "Ada", "role": "viewer", "days": "7"} | given)

    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.content.decode() and 'class="note bad"' in answer.content.decode()
    assert not Invitation.objects.exists()


@pytest.mark.parametrize(
    ("label", "told"),
    [("Ada\u202e😀", "Must not hold direction marks"), ("Ada\x07", "Must not hold control characters")],
)
def test_what_a_label_must_not_hold_is_named(admin, label, told):
    answer = admin.post("/w/acme/people/invite", {"label": label, "role": "viewer", "days": "7"})

    assert told in answer.content.decode()
    assert not Invitation.objects.exists()


def test_a_label_may_hold_emoji(admin):
    admin.post("/w/acme/people/invite", {"label": "👩\u200d💻 of payments", "role": "viewer", "days": "7"})

    assert Invitation.objects.get().label == "👩\u200d💻 of payments"


def test_the_last_administrator_can_neither_leave_nor_step_down(admin, workspace):
    for path, body in (("role", {"role": "viewer"}), ("deactivate", {}), ("remove", {})):
        text = admin.post(f"/w/acme/people/the-administrator/{path}", body, follow=True).content.decode()
        assert "last administrator" in text
    assert role_of("the-administrator", workspace) == "administrator"

    person("bo", workspace, "administrator")
    admin.post("/w/acme/people/the-administrator/role", {"role": "viewer"})
    assert role_of("the-administrator", workspace) == "viewer"


def test_whoever_is_shut_out_finds_nothing_until_they_are_let_in(admin, enter, workspace):
    editor = enter("editor")
    asked = admin.get("/w/acme/people/the-editor/deactivate").content.decode()
    assert "sees nothing of this workspace" in asked

    admin.post("/w/acme/people/the-editor/deactivate")
    assert editor.get("/w/acme/").status_code == 404
    admin.post("/w/acme/people/the-editor/reactivate")
    assert editor.get("/w/acme/").status_code == 200
    admin.post("/w/acme/people/the-editor/remove")
    assert editor.get("/w/acme/").status_code == 404


def test_a_viewer_sees_who_is_there_and_no_button(enter):
    text = enter("viewer").get("/w/acme/people").content.decode()

    assert "the-viewer" in text and "Shut out" not in text and "Make a link" not in text


def test_a_password_is_changed_with_the_old_one_and_ends_other_sessions(admin, workspace):
    other = Client()
    other.force_login(get_user_model().objects.get(username="the-administrator"))
    form = {"old_password": PASSWORD, "new_password1": "a much longer one 17", "new_password2": "a much longer one 17"}

    assert admin.post("/account", form | {"old_password": "wrong"}).status_code == 422
    assert admin.post("/account", form)["Location"] == "/account"
    assert admin.get("/w/acme/").status_code == 200
    assert other.get("/w/acme/").status_code == 302
    assert "a much longer" not in str(list(AuditEntry.objects.values_list("after", "changes")))


def test_only_whoever_runs_the_installation_makes_workspaces(admin):
    assert admin.post("/workspaces", {"name": "second"}).status_code == 403

    get_user_model().objects.filter(username="the-administrator").update(is_superuser=True)
    assert admin.post("/workspaces", {"name": "No Such"}).status_code == 422
    assert admin.post("/workspaces", {"name": "acme"}).status_code == 422
    assert admin.post("/workspaces", {"name": "second", "title": "Second"})["Location"] == "/w/second/"
    assert Workspace.objects.filter(name="second").exists()


# --- keys -----------------------------------------------------------------------------------------------------------
def make_key(client, **given) -> str:
    body = {"name": "ci", "scope": "default", "rights": ["decide", "read"]} | given
    text = client.post("/w/acme/keys/new", body).content.decode()
    return re.search(r"swy_[\w-]+", text)[0]


def call(key, **more):
    headers = {"Authorization": f"Bearer {key}"}
    return Client().post("/api/v1/resolve", "{}", content_type="application/json", headers=headers, **more).status_code


def test_a_key_is_shown_once_works_and_is_revoked(enter):
    editor = enter("editor")
    plain = make_key(editor)
    listed = editor.get("/w/acme/keys").content.decode()

    assert call(plain) == 422  # let in; the body lacks its query
    assert plain not in listed and plain[-4:] in listed
    row = HarnessKey.objects.get(name="ci")
    assert "refused within a second" in editor.get(f"/w/acme/keys/{row.pk}/revoke").content.decode()
    editor.post(f"/w/acme/keys/{row.pk}/revoke")
    assert call(plain) == 401
    assert plain not in str(list(AuditEntry.objects.values_list("after", "before")))


def test_a_rotated_key_overlaps_with_the_one_before(enter):
    editor = enter("editor")
    old = make_key(editor)
    row = HarnessKey.objects.get(name="ci")
    text = editor.post(f"/w/acme/keys/{row.pk}/rotate", {"overlap": "1"}).content.decode()
    new = re.search(r"swy_[\w-]+", text)[0]
    assert (call(old), call(new)) == (422, 422)

    newest = re.search(r"swy_[\w-]+", editor.post(f"/w/acme/keys/{row.pk}/rotate", {"overlap": "0"}).content.decode())[
        0
    ]
    assert (call(old), call(new), call(newest)) == (401, 401, 422)


def test_a_rotation_that_is_sent_twice_makes_one_key(enter):
    editor = enter("editor")
    make_key(editor)
    address = f"/w/acme/keys/{HarnessKey.objects.get(name='ci').pk}/rotate"
    seen = re.search(r'name="seen" value="([^"]+)"', editor.get(address).content.decode())[1]
    new = re.search(r"swy_[\w-]+", editor.post(address, {"overlap": "1", "seen": seen}).content.decode())[0]

    again = editor.post(address, {"overlap": "1", "seen": seen})

    assert again.status_code == 422 and "swy_" not in again.content.decode()
    assert "was rotated after this page was opened" in again.content.decode()
    assert call(new) == 422
    assert AuditEntry.objects.filter(action="key.rotated").count() == 1


def test_a_key_works_only_from_its_addresses(enter):
    plain = make_key(enter("editor"), allowed_addresses="192.0.2.0/24\n2001:db8::1")

    assert call(plain) == 401
    assert call(plain, REMOTE_ADDR="192.0.2.9") == 422
    assert call(plain, REMOTE_ADDR="::ffff:192.0.2.9") == 422
    assert call(plain, REMOTE_ADDR="2001:db8::2") == 401


@pytest.mark.parametrize(
    "given",
    [
        {"rights": ["registry.publish"]},  # an editor may not publish, so no key of theirs does
        {"rights": []},
        {"scope": "nowhere"},
        {"expires": "0"},
        {"expires": "soon"},
        {"allowed_addresses": "example.com"},
        {"name": "bad\u202ename"},
    ],
)
def test_a_bad_key_is_refused_in_its_form(enter, given):
    body = {"name": "ci", "scope": "default", "rights": ["decide"]} | given
    answer = enter("editor").post("/w/acme/keys/new", body)

    assert answer.status_code == 422 and "note bad" in answer.content.decode()
    assert not HarnessKey.objects.exists()


def test_keys_of_somebody_who_left_are_refused_and_shown_as_such(admin, enter):
    plain = make_key(enter("editor"))
    admin.post("/w/acme/people/the-editor/remove")

    assert call(plain) == 401
    assert "whoever made it is no member" in admin.get("/w/acme/keys").content.decode()


@pytest.mark.parametrize("sort", ["", "name", "-name", "scope", "-scope", "created", "used", "-used"])
def test_pages_of_keys_meet_without_gaps_in_every_order(admin, workspace, monkeypatch, sort):
    monkeypatch.setattr("control.web.keys.PAGE", 3)
    for number in range(8):
        row, _ = create_key(workspace, ("default", "web-only")[number % 2], name=f"key {number}", by=EDITOR)
        HarnessKey.objects.filter(pk=row.pk).update(last_used_at=timezone.now() if number % 3 else None)
    order = {"name": "name", "scope": "scope", "used": "last_used_at"}.get(sort.removeprefix("-"), "pk")

    seen, address, pages = [], f"/w/acme/keys?sort={sort}", []
    while address:
        page = admin.get(address)
        pages.append([line["key"].pk for line in page.context["rows"]])
        seen += [line["key"] for line in page.context["rows"]]
        address = page.context["next_page"]
    back = admin.get(page.context["previous_page"])

    values = [getattr(key, order) for key in seen if getattr(key, order) is not None]
    assert len({key.pk for key in seen}) == len(seen) == 8 and len(pages) == 3
    assert values == sorted(values, reverse=sort.startswith("-") or not sort)
    assert [line["key"].pk for line in back.context["rows"]] == pages[-2]


def test_keys_are_filtered_and_sorted(admin):
    for number in range(60):
        make_key(admin, name=f"key-{number:02}", scope="web-only" if number % 2 else "default")

    text = admin.get("/w/acme/keys?scope=web-only&sort=name").content.decode()
    assert text.index("key-01") < text.index("key-03") and "key-02" not in text
    assert "No key fits" in admin.get("/w/acme/keys?q=nothing%00").content.decode()


def test_snippets_name_this_installation_and_only_what_it_serves(enter):
    text = enter("viewer").get("/w/acme/connect?scope=web-only", headers={"Host": "testserver"}).content.decode()

    assert "http://testserver/api/v1/resolve" in text and "web-only" in text
    assert "Not in this version" in text and "/v1/chat/completions" in text
    assert "hooks install --host codex" in text
    assert "&quot;command&quot;: &quot;switchyard&quot;" in text
