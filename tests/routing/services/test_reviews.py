from __future__ import annotations

import copy
from importlib import import_module

import pytest
from django.apps import apps

from routing.choices import RevisionState
from routing.errors import InvalidRequest, NeedsApproval, NotAllowed, StaleDraft, Superseded
from routing.models import Actor, Edit, Revision, Workspace
from routing.reviewing import edits_of, standing, touching
from routing.services import entries, registry, reviews, revisions
from tests.routing.conftest import DOCUMENT

ADA = Actor(kind="operator", name="ada")
BEN = Actor(kind="operator", name="ben")
CAM = Actor(kind="operator", name="cam")


@pytest.fixture
def careful(published) -> Workspace:
    """A workspace that asks for two approvals, with a change of Ada's proposed as revision 3."""
    Workspace.objects.filter(pk=published.pk).update(approvals_needed=2)
    registry.put(published, changed(), message="Describe notes", seen=None, by=ADA)
    return Workspace.objects.get(pk=published.pk)


def changed(text: str = "Notes of the team"):
    document = copy.deepcopy(DOCUMENT)
    document["endpoints"][1]["description"] = text
    return document


def found(workspace, number=3):
    workspace = Workspace.objects.get(pk=workspace.pk)
    return standing(revisions.find(workspace, number), workspace)


def publish(workspace, number=3, **more):
    return revisions.publish_revision(workspace, number, message="Go", by=CAM, **more)


def test_a_proposal_goes_live_once_enough_people_have_approved(careful):
    reviews.approve(careful, 3, comment="Reads well", by=BEN)
    with pytest.raises(NeedsApproval) as refused:
        publish(careful)
    first = revisions.find(careful, 3).state
    reviews.approve(careful, 3, by=CAM)
    approved = revisions.find(careful, 3).state
    live = publish(careful)

    assert (first, approved, live.state) == ("proposed", "approved", "live")
    assert "1 of the 2 approvals" in refused.value.message
    assert [(review.by, review.comment) for review in found(careful).given] == [("ben", "Reads well"), ("cam", "")]
    assert (live.approvals_needed, live.emergency) == (2, False)


def test_one_person_counts_once_however_often_and_by_whichever_key(careful):
    key = Actor(kind="key", name="ci", acts_as="ben")
    for actor in (BEN, BEN, key):
        reviews.approve(careful, 3, by=actor)

    assert len(found(careful).given) == 1


@pytest.mark.parametrize("author", [ADA, Actor(kind="key", name="ci", acts_as="ada")])
def test_whoever_changed_anything_in_a_proposal_does_not_approve_it(careful, author):
    with pytest.raises(NotAllowed, match="nobody approves their own changes"):
        reviews.approve(careful, 3, by=author)

    assert found(careful).given == ()


def test_self_approval_is_a_setting_that_holds_at_once_in_both_directions(careful):
    Workspace.objects.filter(pk=careful.pk).update(self_approval=True)
    reviews.approve(careful, 3, by=ADA)
    with_it = len(found(careful).given)
    Workspace.objects.filter(pk=careful.pk).update(self_approval=False)

    assert (with_it, len(found(careful).given)) == (1, 0)


def test_everybody_whose_change_is_in_the_proposal_is_an_author_and_nobody_else(published):
    entries.edit(published, "endpoints", "notes", {"description": "Ada's"}, by=ADA)
    entries.edit(published, "endpoints", "hitspec", {"tags": ["web"]}, by=BEN)
    entries.edit(published, "endpoints", "hitspec", {"description": "Cam's"}, by=CAM)
    entries.edit(published, "endpoints", "hitspec", {"description": "HTTP request runner"}, by=CAM)  # taken back

    proposed = registry.propose_draft(published, message="Both", by=CAM)

    assert sorted(proposed.authors) == ["ada", "ben"]
    reviews.approve(published, proposed.number, by=CAM)


def test_a_part_of_what_somebody_added_makes_one_an_author_too(published):
    extra = {"name": "lingua", "kind": "declared", "description": "Translates"}
    registry.put(published, DOCUMENT | {"endpoints": [*DOCUMENT["endpoints"], extra]}, message="", seen=None, by=ADA)
    entries.edit(published, "endpoints", "lingua", {"tags": ["text"]}, by=BEN)

    assert sorted(registry.propose_draft(published, message="", by=CAM).authors) == ["ada", "ben"]


def test_an_edit_of_an_open_proposal_makes_a_new_number_without_approvals(careful):
    reviews.approve(careful, 3, by=BEN)
    registry.put(careful, changed("Other words"), message="", seen=None, by=ADA)

    assert revisions.find(careful, 3).state == RevisionState.SUPERSEDED
    assert (len(found(careful, 3).given), len(found(careful, 4).given)) == (0, 0)
    with pytest.raises(Superseded):
        reviews.approve(careful, 3, by=CAM)


def test_an_edit_in_the_draft_takes_the_approvals_of_the_proposal(careful):
    reviews.approve(careful, 3, by=BEN)
    reviews.approve(careful, 3, by=CAM)
    entries.edit(careful, "endpoints", "hitspec", {"tags": ["web"]}, by=ADA)
    entries.edit(careful, "endpoints", "hitspec", {"tags": ["web", "http"]}, by=ADA)  # as it was

    assert (found(careful).given, revisions.find(careful, 3).state) == ((), "proposed")
    with pytest.raises(NeedsApproval):
        publish(careful)
    reviews.approve(careful, 3, by=BEN)
    assert len(found(careful).given) == 1


def test_what_the_draft_no_longer_says_is_not_approved_unless_the_draft_was_discarded(careful):
    entries.edit(careful, "endpoints", "hitspec", {"tags": ["web"]}, by=ADA)
    with pytest.raises(StaleDraft, match="nothing was counted"):
        reviews.approve(careful, 3, by=BEN)
    given = found(careful).given
    registry.discard_draft(careful, by=ADA)
    reviews.approve(careful, 3, by=BEN)

    assert (given, len(found(careful).given)) == ((), 1)


def test_saying_the_same_again_takes_no_approval(careful):
    reviews.approve(careful, 3, by=BEN)
    registry.put(careful, changed(), message="", seen=None, by=ADA)
    entries.edit(careful, "endpoints", "notes", {"description": "Notes of the team"}, by=ADA)

    assert len(found(careful).given) == 1


def test_a_rejected_proposal_keeps_its_reason_and_never_goes_live(careful):
    reviews.approve(careful, 3, by=BEN)
    reviews.reject(careful, 3, reason="The words are misleading", by=CAM)

    rejection = found(careful).rejection
    assert (rejection.by, rejection.comment) == ("cam", "The words are misleading")
    for act in (lambda: publish(careful, emergency=True), lambda: reviews.approve(careful, 3, by=CAM)):
        with pytest.raises(Superseded, match="rejected"):
            act()
    again, is_new, _ = registry.put(careful, changed(), message="", seen=None, by=ADA)
    assert (again.number, is_new, again.state) == (4, True, "proposed")


@pytest.mark.parametrize("emergency", [True, False])
def test_a_rejected_draft_is_not_published_unless_it_is_proposed_anew(careful, emergency):
    Workspace.objects.filter(pk=careful.pk).update(approvals_needed=0)
    reviews.reject(careful, 3, reason="The words are misleading", by=CAM)

    with pytest.raises(Superseded, match="rejected as revision 3; propose it again"):
        revisions.publish(careful, message="Now", emergency=emergency, by=CAM)
    registry.propose_draft(careful, message="Once more", by=ADA)

    assert revisions.publish(careful, message="Now", emergency=emergency, by=CAM).number == 4


def test_a_rejection_needs_a_reason(careful):
    with pytest.raises(InvalidRequest):
        reviews.reject(careful, 3, reason="  ", by=BEN)

    assert revisions.find(careful, 3).state == RevisionState.PROPOSED


def test_an_emergency_goes_past_the_approvals_and_is_recorded(careful):
    live = publish(careful, emergency=True)

    assert (live.state, live.emergency, live.approvals_needed, live.published_by) == ("live", True, 2, "cam")


def test_what_is_live_keeps_the_approvals_that_it_went_live_with(careful):
    for actor in (BEN, CAM):
        reviews.approve(careful, 3, by=actor)
    publish(careful)
    Workspace.objects.filter(pk=careful.pk).update(approvals_needed=5)
    entries.edit(careful, "endpoints", "notes", {"tags": ["x"]}, by=ADA)

    assert (found(careful).needed, len(found(careful).given)) == (2, 2)


def test_more_approvals_may_be_asked_for_while_a_proposal_is_open(careful):
    for actor in (BEN, CAM):
        reviews.approve(careful, 3, by=actor)
    Workspace.objects.filter(pk=careful.pk).update(approvals_needed=3)

    with pytest.raises(NeedsApproval):
        publish(careful)


def test_a_proposal_whose_base_is_no_longer_live_cannot_be_reviewed(careful):
    Revision.objects.filter(workspace=careful, number=3).update(base_number=1)

    with pytest.raises(Superseded):
        reviews.approve(careful, 3, by=BEN)


def test_a_comment_decides_nothing(careful):
    reviews.comment(careful, 3, text="Is that meant?", by=ADA)

    assert (found(careful).given, revisions.find(careful, 3).state) == ((), "proposed")


def test_who_changed_what_and_why_stays_with_the_revision(published):
    registry.put(published, changed(), message="Describe notes", seen=None, by=ADA)
    entries.edit(published, "endpoints", "hitspec", {"tags": ["web"]}, by=BEN)
    revisions.publish(published, message="Go", by=CAM)

    edits = edits_of(published, Workspace.objects.get(pk=published.pk).live_revision)
    ((why,), (tags,)) = touching(["endpoints[notes].description", "endpoints[hitspec].tags"], edits).values()
    assert (why.by, why.message, tags.by) == ("ada", "Describe notes", "ben")
    assert edits_of(published) == []


def test_what_is_not_published_yet_stays_the_drafts(published):
    registry.put(published, changed(), message="", seen=None, by=ADA)
    entries.edit(published, "endpoints", "hitspec", {"tags": ["web"]}, by=BEN)
    revisions.publish_revision(published, 3, message="Go", by=CAM)

    assert [edit.by for edit in edits_of(published)] == ["ben"]
    assert [edit.by for edit in edits_of(published, revisions.find(published, 3))] == ["ada"]


def test_each_save_is_a_step_that_undo_can_take_back(published):
    for text in ("N", "No", "Not", "Not"):
        entries.edit(published, "endpoints", "notes", {"description": text}, by=ADA)

    kept = Edit.objects.filter(workspace=published, revision=None)
    assert [edit.paths for edit in kept] == [
        ["endpoints[notes].description"]
    ] * 3  # a save that changes nothing is none


def test_a_dropped_draft_leaves_the_proposals_edits_and_the_working_copy_follows_it_live(published):
    registry.put(published, changed(), message="Describe notes", seen=None, by=ADA)
    registry.discard_draft(published, by=ADA)
    proposal = revisions.find(published, 3)
    kept = [edit.message for edit in edits_of(published, proposal)]
    publish(published)

    assert kept == ["Describe notes"]
    assert registry.draft_changes(published) == []


def test_paths_are_bounded(published):
    document = changed()
    document["endpoints"][1]["tools"] = [{"name": f"t{n}", "description": "d"} for n in range(600)]
    registry.put(published, document, message="", seen=None, by=ADA)

    (edit,) = edits_of(published)
    assert edit.paths == ["endpoints[notes]"]


def test_a_draft_and_a_proposal_from_before_keep_their_authors(published):
    entries.edit(published, "endpoints", "notes", {"tags": ["x"]}, by=ADA)
    registry.propose_draft(published, message="", by=ADA)
    Revision.objects.filter(workspace=published).update(authors=[], created_by="ada and ben")
    Edit.objects.all().delete()

    import_module("routing.migrations.0007_reviews").keep_authors(apps, None)

    assert revisions.find(published, 3).authors == ["ada", "ben"]
    with pytest.raises(NotAllowed):
        reviews.approve(published, 3, by=BEN)
    assert registry.propose_draft(published, message="", by=CAM).authors == ["ada", "ben"]


@pytest.mark.parametrize(
    ("path", "edited", "reached"),
    [
        ("endpoints[a].tags", "endpoints[a].tags", True),
        ("endpoints[a].tags", "endpoints[a]", True),
        ("endpoints[a]", "endpoints[a].tools[x].risk", True),
        ("endpoints[a].tags", "endpoints", True),
        ("endpoints", "endpoints[a].tags", True),
        ("groups.web", "groups", True),
        ("anything[at].all", "", True),
        ("endpoints[a].tags", "endpoints[ab].tags", False),
        ("endpoints[a.b].tags", "endpoints[a].tags", False),
        ("endpoints[a].tags", "endpoints[a].tag", False),
        ("endpoints[a].tags", "endpoints.order", False),
        ("capabilities[a]", "endpoints[a]", False),
    ],
)
def test_an_edit_reaches_what_lies_in_it_and_what_it_lies_in(path, edited, reached):
    assert bool(touching([path], [Edit(paths=[edited])])[path]) is reached
