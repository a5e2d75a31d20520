"""Lookups of our own find the same on every database."""

from __future__ import annotations

import pytest
from django.utils import timezone

from routing.models import Decision, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def targets():
    """Keeps decisions with these targets; answers those whose target begins so."""
    workspace = Workspace.objects.create(name="acme")

    def targets(kept: list[str | None], start: str) -> set[str | None]:
        for target in kept:
            Decision.objects.create(
                workspace=workspace, type="resolve", created_at=timezone.now(), scope="default", target=target
            )
        return set(Decision.objects.filter(target__begins=start).values_list("target", flat=True))

    return targets


@pytest.mark.parametrize(
    ("start", "found"),
    [
        ("notes__", {"notes__add", "notes__"}),
        ("notes_", {"notes__add", "notes__", "notes_x"}),
        ("not%s", {"not%s__add"}),
        ("back\\", {"back\\slash"}),
        ("Ünï", {"Ünïcode__add"}),
        ("absent", set()),
    ],
)
def test_what_begins_so_is_found_letter_by_letter(targets, start, found):
    kept = [
        "notes__add",
        "notes__",
        "notes_x",
        "notesx__add",
        "Notes__add",
        "not%s__add",
        "back\\slash",
        "Ünïcode__add",
        None,
    ]

    assert targets(kept, start) == found
