from __future__ import annotations

import pytest

from routing import working
from routing.services import registry, warming


def forget():
    working._copies.clear()
    working._frozen.clear()
    registry._counted.clear()


@pytest.mark.django_db(transaction=True)  # a copy read inside a transaction is not kept
def test_a_process_that_has_started_reads_no_draft_for_its_first_page(published, django_assert_max_num_queries):
    forget()
    warming.drafts.forget()
    warming.drafts.refresh()

    published.refresh_from_db()
    with django_assert_max_num_queries(0):
        assert registry.draft_change_count(published) == 0
    with django_assert_max_num_queries(1):
        working.copy_of(published)


def test_a_draft_that_cannot_be_read_holds_up_no_other(published, by, monkeypatch, caplog):
    other = registry.create_workspace("other", by=by)
    count, seen = registry.draft_change_count, []

    def counted(workspace):
        if workspace == published:
            raise ValueError("broken")
        seen.append(workspace.name)
        return count(workspace)

    monkeypatch.setattr(registry, "draft_change_count", counted)
    warming.drafts.forget()
    warming.drafts.refresh()

    assert seen == [other.name]
    assert "the draft of workspace acme cannot be read" in caplog.text
