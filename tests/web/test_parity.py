"""One set of rules behind both doors: what a person does on the pages and what the person's key does by the API.

Each rule is tried through each door, and where it counts persons, through both at once.
"""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from control.access import rights_of
from control.keys import create_key
from control.models import Membership
from routing.choices import RevisionState
from routing.formats import write_yaml
from routing.models import Actor, AuditEntry, Revision, Workspace
from routing.reviewing import proposal_of, standing
from routing.services import entries, registry, revisions, workspaces
from tests.cast import person
from tests.routing.conftest import DOCUMENT, EDITOR

DOORS = ("pages", "keys")
BROKEN = {"version": 1, "endpoints": [{"name": "notes", "kind": "declared", "tools": [{"name": 5}]}]}


def described(text: str) -> dict[str, Any]:
    """The registry with another description of one endpoint."""
    document = deepcopy(DOCUMENT)
    document["endpoints"][1]["description"] = text
    return document


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    text: str
    done: bool


class Pages:
    """A person at the console."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.client = Client()
        self.client.force_login(Membership.objects.get(workspace=workspace, user__username=name).user)

    def _post(self, path: str, sent: dict[str, Any]) -> Answer:
        answer = self.client.post(f"/w/acme/{path}", sent)
        return Answer(status=answer.status_code, text=answer.content.decode(), done=answer.status_code == 302)

    def read(self) -> dict[str, Any]:
        """What is carried to the deed, so that it is noticed when somebody was quicker."""
        page = self.client.get("/w/acme/import")
        return {"seen": page.context["seen"]} if page.status_code == 200 else {}

    def change(self, document: dict[str, Any], read: dict[str, Any] | None = None) -> Answer:
        """Bring a document into the draft and propose it."""
        look = self.client.post(
            "/w/acme/import", {"text": json.dumps(document), "format": "auto", "strategy": "update"}
        )
        if look.status_code != 200:
            return Answer(status=look.status_code, text=look.content.decode(), done=False)
        kept = {name: look.context[name] for name in ("found", "seen", "strategy")} | (read or {})
        taken = self._post("import", kept | {"do": "take", "message": "Describe"})
        return self._post("publish/propose", {"message": "Describe"}) if taken.done else taken

    def approve(self, number: int) -> Answer:
        return self._post(f"revisions/{number}/review", {"verdict": "approve", "comment": ""})

    def reject(self, number: int, reason: str) -> Answer:
        return self._post(f"revisions/{number}/review", {"verdict": "reject", "comment": reason})

    def publish(self, number: int, **more: Any) -> Answer:
        emergency = {"emergency": "on"} if more.get("emergency") else {}
        return self._post("publish", {"message": "Go", "confirmed": "on", **emergency})

    def restore(self, number: int) -> Answer:
        return self._post(f"revisions/{number}/restore", {"message": "Back"})


class Keys:
    """The same person's key, with every right that the role allows."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        role = Membership.objects.get(workspace=workspace, user__username=name).role
        by = Actor(kind="operator", name=name)
        _, key = create_key(workspace, "default", name=f"of-{name}", rights=sorted(rights_of(role)), by=by)
        self.client, self.headers = Client(), {"Authorization": f"Bearer {key}"}

    def _send(self, method: str, path: str, body: dict[str, Any], **headers: str) -> Answer:
        send = getattr(self.client, method)
        answer = send(
            f"/api/v1/{path}",
            json.dumps(body),
            content_type="application/json",
            headers=self.headers | {name.replace("_", "-"): value for name, value in headers.items()},
        )
        refused = answer.status_code != 200 or answer.json().get("state") == "refused"
        return Answer(status=answer.status_code, text=answer.content.decode(), done=not refused)

    def read(self) -> dict[str, Any]:
        answer = self.client.get("/api/v1/registry?revision=draft", headers=self.headers)
        return {"seen": answer.json()["digest"]} if answer.status_code == 200 else {}

    def change(self, document: dict[str, Any], read: dict[str, Any] | None = None) -> Answer:
        if read is None:
            return self._send("post", "registry/import", {"document": document, "message": "Describe"})
        return self._send(
            "put", "registry", {"document": document, "message": "Describe"}, If_Match=f'"{read["seen"]}"'
        )

    def approve(self, number: int) -> Answer:
        return self._send("post", f"revisions/{number}/approve", {})

    def reject(self, number: int, reason: str) -> Answer:
        return self._send("post", f"revisions/{number}/reject", {"reason": reason})

    def publish(self, number: int, **more: Any) -> Answer:
        return self._send("post", f"revisions/{number}/publish", {"message": "Go", **more})

    def restore(self, number: int) -> Answer:
        return self._send("post", f"revisions/{number}/restore", {"message": "Back"})


@pytest.fixture
def team(workspace) -> Workspace:
    """eve edits, rob and ann review, ada rules, vic looks."""
    roles = {"eve": "editor", "rob": "reviewer", "ann": "reviewer", "ada": "administrator", "vic": "viewer"}
    for name, role in roles.items():
        person(name, workspace, role)
    return workspace


@pytest.fixture(params=DOORS)
def door(request, team):
    """A person by name, through the door that is tried."""
    kind = {"pages": Pages, "keys": Keys}[request.param]
    return lambda name: kind(team, name)


def asks_for(team: Workspace, approvals: int, **more: Any) -> None:
    workspaces.configure(team, {"approvals_needed": approvals, **more}, by=EDITOR)


def proposal(team: Workspace) -> Revision:
    return proposal_of(team)


def drafted(team: Workspace) -> str:
    return registry.working_document(team)["endpoints"][1]["description"]


def live(team: Workspace) -> str:
    return revisions.live_document(team)["endpoints"][1]["description"]


# --- drafts and conflicts ---------------------------------------------------------------------------------------------
def test_a_change_is_drafted_and_proposed_and_not_live(door, team):
    assert door("eve").change(described("Notes of the team")).done

    assert (drafted(team), live(team)) == ("Notes of the team", "Notebook")
    assert (proposal(team).state, proposal(team).authors) == (RevisionState.PROPOSED, ["eve"])


def test_whoever_was_slower_is_told_and_nobodys_work_is_lost(door, team):
    eve = door("eve")
    read = eve.read()
    entries.edit(team, "endpoints", "notes", {"description": "Theirs"}, by=EDITOR)

    answer = eve.change(described("Mine"), read)

    assert answer.status == 409 and not answer.done
    assert drafted(team) == "Theirs" and proposal(team) is None
    assert eve.change(described("Mine"), eve.read()).done
    assert drafted(team) == "Mine"


def test_a_broken_document_is_refused_whole_with_its_place(door, team):
    answer = door("eve").change(BROKEN)

    assert not answer.done and "endpoints[0].tools[0].name" in answer.text
    assert drafted(team) == "Notebook" and proposal(team) is None


def test_saying_the_same_again_is_no_new_proposal(door, team):
    eve = door("eve")
    eve.change(described("Notes of the team"))
    first = proposal(team).number

    assert eve.change(described("Notes of the team")).done

    assert proposal(team).number == first and team.revisions.count() == first


# --- approvals --------------------------------------------------------------------------------------------------------
def test_it_goes_live_with_as_many_approvals_as_are_asked_for_and_not_before(door, team):
    asks_for(team, 2)
    door("eve").change(described("Notes of the team"))
    number = proposal(team).number
    rob, ann = door("rob"), door("ann")

    assert rob.publish(number).status == 409
    assert rob.approve(number).done and rob.publish(number).status == 409
    assert rob.approve(number).done and rob.publish(number).status == 409  # one person counts once
    assert ann.approve(number).done and ann.publish(number).done

    assert live(team) == "Notes of the team"


def test_an_author_does_not_approve_unless_the_workspace_says_so(door, team):
    asks_for(team, 1)
    ada = door("ada")
    ada.change(described("Notes of the team"))
    number = proposal(team).number

    refused = ada.approve(number)
    assert not refused.done and "nobody approves their own changes" in refused.text
    asks_for(team, 1, self_approval=True)
    assert ada.approve(number).done and ada.publish(number).done


@pytest.mark.parametrize(("changes", "approves"), [(Pages, Keys), (Keys, Pages)])
def test_a_person_is_the_same_behind_both_doors(team, changes, approves):
    asks_for(team, 2)
    changes(team, "ada").change(described("Notes of the team"))
    number = proposal(team).number

    assert not approves(team, "ada").approve(number).done
    assert changes(team, "rob").approve(number).done and approves(team, "rob").approve(number).done
    assert len(standing(proposal(team), team).given) == 1


def test_an_approval_holds_for_what_was_approved_and_for_nothing_else(door, team):
    asks_for(team, 1)
    eve, rob = door("eve"), door("rob")
    eve.change(described("Notes of the team"))
    assert rob.approve(proposal(team).number).done

    assert eve.change(described("Something else")).done

    assert proposal(team).state == RevisionState.PROPOSED
    assert rob.publish(proposal(team).number).status == 409
    assert live(team) == "Notebook"


def test_an_approval_that_comes_after_the_draft_changed_is_not_counted(door, team):
    asks_for(team, 2)
    door("eve").change(described("Notes of the team"))
    number, rob = proposal(team).number, door("rob")
    entries.edit(team, "endpoints", "notes", {"description": "Something else"}, by=EDITOR)

    answer = rob.approve(number)

    assert answer.status == 409 and "The draft changed" in answer.text and "nothing was counted" in answer.text
    assert standing(proposal(team), team).given == () and proposal(team).state == RevisionState.PROPOSED


def test_a_rejection_needs_its_reason_and_keeps_the_draft(door, team):
    asks_for(team, 1)
    door("eve").change(described("Notes of the team"))
    number, rob = proposal(team).number, door("rob")

    assert rob.reject(number, "").status == 422
    assert rob.reject(number, "Say whose").done

    assert Revision.objects.get(workspace=team, number=number).state == RevisionState.REJECTED
    assert drafted(team) == "Notes of the team"
    assert not rob.approve(number).done


def test_an_emergency_is_the_administrators_and_marked(door, team):
    asks_for(team, 1)
    door("eve").change(described("Notes of the team"))
    number = proposal(team).number

    assert door("rob").publish(number, emergency=True).status == 403
    assert door("ada").publish(number, emergency=True).done
    assert Revision.objects.get(workspace=team, number=number).emergency


def test_a_restore_is_a_proposal_like_others(door, team):
    asks_for(team, 1)
    assert door("eve").restore(1).done

    assert proposal(team).number == 3 and proposal(team).state == RevisionState.PROPOSED
    assert live(team) == "Notebook"


# --- who may, and what is told ----------------------------------------------------------------------------------------
def test_a_viewer_changes_nothing(door, team):
    vic = door("vic")
    entries.edit(team, "endpoints", "notes", {"description": "Theirs"}, by=EDITOR)
    number = registry.propose_draft(team, message="Theirs", by=EDITOR).number

    for answer in (
        vic.change(described("Mine")),
        vic.approve(number),
        vic.reject(number, "No"),
        vic.publish(number),
        vic.restore(1),
    ):
        assert answer.status == 403
    assert (drafted(team), live(team)) == ("Theirs", "Notebook")
    assert AuditEntry.objects.filter(workspace=team, action="access.denied", result="refused").count() == 5


def test_the_audit_log_tells_the_same_of_both(door, team):
    asks_for(team, 1)
    told = AuditEntry.objects.filter(workspace=team).order_by("-seq").first().seq
    eve, rob = door("eve"), door("rob")
    eve.change(described("Notes of the team"))
    number = proposal(team).number
    rob.publish(number)
    rob.approve(number)
    rob.publish(number)

    rows = (
        AuditEntry.objects.filter(workspace=team, seq__gt=told)
        .exclude(action__in=("right.used", "key.created", "session.opened"))
        .order_by("seq")
    )
    assert [(row.action, row.result) for row in rows] == [
        ("registry.imported", "done"),
        ("revision.proposed", "done"),
        ("revision.published", "refused"),
        ("revision.approved", "done"),
        ("revision.published", "done"),
    ]
    assert {row.message for row in rows if row.action.startswith("registry")} == {"Describe"}
    assert all(row.request_id and row.actor in ("eve", "rob", "of-eve", "of-rob") for row in rows)
    assert rows[0].changes and rows[0].before != rows[0].after


# --- kept in a file ---------------------------------------------------------------------------------------------------
def test_a_registry_that_is_kept_in_a_file_is_changed_by_nobody_here(door, team, tmp_path, settings):
    settings.SOURCE_ROOTS = [tmp_path]
    (tmp_path / "registry.yaml").write_text(write_yaml(revisions.live_document(team)))
    workspaces.configure(team, {"source_file": str(tmp_path / "registry.yaml")}, by=EDITOR)
    eve = door("eve")

    for answer in (eve.change(described("Mine")), eve.change(described("Mine"), eve.read()), eve.restore(1)):
        assert answer.status == 409 and "kept in registry.yaml. Change it there" in answer.text
    assert drafted(team) == "Notebook" and proposal(team) is None
