from __future__ import annotations

import pytest

from routing import snapshot
from routing.errors import InvalidRegistry, NotFound
from routing.models import Revision
from routing.services import entries, registry, revisions


def test_an_imported_server_without_tools_is_published_and_answers_go_on(published, by, caller):
    document = registry.working_document(published)
    document["endpoints"].append({"name": "intranet", "kind": "mcp", "url": "https://intranet.example/mcp"})
    registry.replace_working_copy(published, document, by=by)
    revision = revisions.publish(published, message="A server", by=by)

    assert snapshot.live(published.pk).revision == revision.number


def test_what_cannot_be_compiled_does_not_go_live(published, by, monkeypatch):
    def fail(*_, **__):
        raise KeyError("word")

    entries.edit(published, "endpoints", "notes", {"tags": ["x"]}, by=by)
    monkeypatch.setattr(snapshot, "load_registry", fail)
    with pytest.raises(InvalidRegistry):
        revisions.publish(published, message="Broken", by=by)

    assert Revision.objects.get(workspace=published, state="live").number == 2


def test_a_workspace_that_cannot_be_compiled_holds_up_no_other(published, by, monkeypatch):
    other = registry.create_workspace("other", by=by)
    snapshot.live(published.pk)
    whole = snapshot.load_registry

    def fail_for_lingua(document, **more):
        if any(endpoint["name"] == "lingua" for endpoint in document.get("endpoints", ())):
            raise KeyError("word")
        return whole(document, **more)

    lingua = {"version": 1, "endpoints": [{"name": "lingua", "kind": "declared"}]}
    registry.replace_working_copy(published, lingua, by=by)
    revisions.publish(published, message="Broken later", by=by)
    monkeypatch.setattr(snapshot, "load_registry", fail_for_lingua)
    registry.replace_working_copy(other, {"version": 1, "groups": {}}, by=by)
    fresh = revisions.publish(other, message="Fine", by=by)

    assert snapshot.live(published.pk).revision == 2
    assert snapshot.live(other.pk).revision == fresh.number


def test_an_unknown_workspace_is_not_found(published):
    with pytest.raises(NotFound):
        snapshot.live("01a22980-3479-7380-8d01-4e2eb5ac266f")
