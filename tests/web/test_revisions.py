from __future__ import annotations

import pytest

from routing.services import entries, revisions
from tests.routing.conftest import EDITOR


@pytest.fixture
def published(workspace):
    for number in range(3, 5):
        entries.edit(workspace, "endpoints", "notes", {"tags": [f"n{number}"]}, by=EDITOR)
        revisions.publish(workspace, message=f"Number {number} %", by=EDITOR)
    return workspace


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("", [4, 3, 2, 1]),
        ("sort=time", [1, 2, 3, 4]),
        ("sort=time&after=2", [3, 4]),
        ("sort=time&before=3", [1, 2]),
        ("q=number+3", [3]),
        ("q=%25", [4, 3]),
        ("q=nothing", []),
        ("state=live", [4]),
        ("state=nonsense", []),
        ("after=%C2%B2", [4, 3, 2, 1]),
    ],
)
def test_revisions_are_filtered_and_sorted(admin, published, query, numbers):
    page = admin.get(f"/w/acme/revisions?{query}")

    assert [row.number for row in page.context["rows"]] == numbers
    if not numbers:
        assert "No revision fits" in page.content.decode()


def test_an_auditor_reads_the_record_of_a_revision_and_nothing_of_its_document(enter):
    auditor, viewer = enter("auditor"), enter("viewer")
    read = auditor.get("/w/acme/revisions/2").content.decode()
    seen = viewer.get("/w/acme/revisions/2").content.decode()

    assert "Two endpoints" in read and "Digest" in read and "hitspec" in seen
    for hidden in ("hitspec", "export.yaml", "revisions/compare"):
        assert hidden not in read
    assert "revisions/compare" not in auditor.get("/w/acme/revisions").content.decode()
    for closed in ("revisions/2/export.yaml", "revisions/2/export.json", "revisions/compare?from=1&to=2"):
        assert (auditor.get(f"/w/acme/{closed}").status_code, viewer.get(f"/w/acme/{closed}").status_code) == (403, 200)
