from __future__ import annotations

import pytest

from control import saved
from control.models import SavedView
from routing.models import AuditEntry
from tests.cast import person

VIEWS = "/w/acme/views"


def save(client, name="Fell back", page="decisions", query="/w/acme/decisions?status=fallback&sort=time", **more):
    return client.post(VIEWS, {"do": "save", "page": page, "name": name, "query": query, **more})


def test_a_view_keeps_filters_and_order_and_is_offered_on_its_list(admin):
    led = save(admin, query="/w/acme/decisions?status=fallback&sort=time&after=x&page=7")

    text = admin.get("/w/acme/decisions").content.decode()
    assert led["Location"] == "/w/acme/decisions?status=fallback&sort=time"
    assert "Fell back" in text and 'href="/w/acme/decisions?status=fallback&amp;sort=time"' in text
    assert "Fell back" not in admin.get("/w/acme/tools").content.decode()


def test_own_views_are_nobody_else_s_and_leave_no_entry(enter, workspace):
    save(enter("viewer"))
    view = SavedView.objects.get()
    other = enter("administrator")

    assert "Fell back" not in other.get("/w/acme/decisions").content.decode()
    assert other.post(VIEWS, {"do": "delete", "view": view.pk}).status_code == 404
    assert not AuditEntry.objects.filter(action__startswith="view.").exists()


def test_shared_views_are_everybody_s_and_told_in_the_log(enter, workspace):
    editor, viewer = enter("editor"), enter("viewer")
    save(editor, shared="yes")
    view = SavedView.objects.get()

    assert "Fell back" in viewer.get("/w/acme/decisions").content.decode()
    assert viewer.post(VIEWS, {"do": "rename", "view": view.pk, "name": "Mine"}).status_code == 403
    assert save(viewer, name="Ours", shared="yes").status_code == 403
    editor.post(VIEWS, {"do": "rename", "view": view.pk, "name": "Handed back"})
    editor.post(VIEWS, {"do": "delete", "view": view.pk})
    told = AuditEntry.objects.filter(action__startswith="view.").order_by("seq").values_list("action", "target")
    assert list(told) == [
        ("view.shared", "view Fell back"),
        ("view.renamed", "view Handed back"),
        ("view.removed", "view Handed back"),
    ]


def test_a_default_view_opens_its_list_until_it_is_no_default_any_more(admin):
    save(admin)
    view = SavedView.objects.get()
    admin.post(VIEWS, {"do": "default", "view": view.pk})

    assert admin.get("/w/acme/decisions")["Location"] == "/w/acme/decisions?status=fallback&sort=time"
    page = admin.get("/w/acme/decisions?status=fallback")
    assert page.context["clear"] == page.context["active"][0]["without"] == "/w/acme/decisions?view=all"
    assert admin.get("/w/acme/decisions?view=all").status_code == 200
    assert admin.get("/w/acme/decisions", headers={"HX-Request": "true"}).status_code == 200
    admin.post(VIEWS, {"do": "usual", "view": view.pk})
    assert admin.get("/w/acme/decisions").status_code == 200


def test_a_deleted_view_comes_back_by_undo(admin):
    save(admin)
    text = admin.post(VIEWS, {"do": "delete", "view": SavedView.objects.get().pk}, follow=True).content.decode()
    assert "Undo" in text.split('id="toasts"')[1] and not SavedView.objects.exists()

    save(admin, query="status=fallback&sort=time")

    assert SavedView.objects.get().query == "status=fallback&sort=time"


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "x" * 10_000, "turned\u202eround", "nul\0"])
def test_what_is_no_name_is_refused_in_words_and_kept_in_its_field(admin, name):
    response = save(admin, name=name)

    assert response.status_code == 422
    assert 'id="again"' in response.content.decode()
    assert not SavedView.objects.exists()


def test_hostile_names_and_filters_stay_text(admin):
    name = "<script>alert(1)</script> \U0001f680"
    save(admin, name=name, query="/w/acme/decisions?q=%22%3E%3Cscript%3E&__proto__=x&A=1")

    assert SavedView.objects.get().name == name
    for page in ("/w/acme/decisions", VIEWS):
        text = admin.get(page).content.decode()
        assert "<script>alert" not in text and "&lt;script&gt;alert(1)" in text
    assert SavedView.objects.get().query == "q=%22%3E%3Cscript%3E&__proto__=x"


def test_a_name_stands_alone_and_the_number_is_bounded(admin, monkeypatch):
    monkeypatch.setattr(saved, "MOST", 2)
    assert [save(admin, name=name).status_code for name in ("One", "One", "Two", "Three")] == [302, 422, 302, 422]


def test_a_list_that_a_role_may_not_see_takes_no_view(enter):
    assert save(enter("viewer"), page="audit").status_code == 403
    assert save(enter("auditor"), page="no-list").status_code == 404


@pytest.mark.parametrize("given", ["", "x", "²", "9" * 30, "7"])
def test_a_view_that_is_not_there_is_not_found(admin, given):
    assert admin.post(VIEWS, {"do": "rename", "view": given, "name": "x"}).status_code == 404


def test_a_stranger_saves_nothing(stranger, workspace):
    assert save(stranger).status_code == 404
    assert not SavedView.objects.filter(user=person("another")).exists()
