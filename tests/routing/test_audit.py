from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as installed
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from uuid_utils.compat import uuid7

import routing.services
from control import accounts, invitations, keys, members
from control.models import HarnessKey, Invitation, Membership
from routing import bus, working
from routing.engine.diff import Change
from routing.errors import InvalidRegistry
from routing.events import GENESIS
from routing.formats import read, write_yaml
from routing.models import (
    Actor,
    AuditEntry,
    AuditHead,
    CanaryRow,
    CapabilityRow,
    Edit,
    EndpointRow,
    EntryRow,
    IgnoredFinding,
    Inspection,
    Label,
    PolicyRow,
    ProviderSetting,
    Remark,
    Review,
    Revision,
    Schedule,
    ScopeRow,
    Search,
    ShadowPolicy,
    SourceCheck,
    ToolRow,
    Workspace,
)
from routing.services import (
    audit,
    decisions,
    entries,
    imports,
    inspections,
    labels,
    ledger,
    registry,
    remarks,
    reviews,
    revisions,
    schedules,
    searches,
    sessions,
    sources,
    tools,
    undoing,
    vocabulary,
    waiting,
    workspaces,
)
from routing.services.canaries import ending, starting
from routing.services.canaries.starting import Terms
from routing.services.decisions import Caller
from routing.services.doctor import examinations, ignoring, mending
from routing.services.providers import settings
from routing.services.shadow_policies import running as shadow_policies
from tests.cast import person
from tests.routing.conftest import DOCUMENT, EDITOR

ROOT = Path(__file__).parents[2]
SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"  # the form of a token, and none
GOVERNED = (
    Workspace,
    CanaryRow,
    Edit,
    EndpointRow,
    ToolRow,
    CapabilityRow,
    ScopeRow,
    PolicyRow,
    EntryRow,
    Revision,
    Review,
    Remark,
    Schedule,
    ShadowPolicy,
    SourceCheck,
    HarnessKey,
    Membership,
    Invitation,
    Session,
    User,
    Inspection,
    IgnoredFinding,
    Label,
    ProviderSetting,
)
GRAPH = {"root_state": "start", "states": [{"id": "start", "goal": "read", "tools": [{"name": "fetch"}]}]}
CHANGED = {**DOCUMENT, "scopes": [{"name": "default"}]}
PAPER = {**DOCUMENT, "capabilities": [{"name": "paper"}]}
SOME = Terms(scopes=("web-only",))


def told_entries(workspace: Workspace) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(workspace=workspace).order_by("seq"))


def newest(workspace: Workspace) -> AuditEntry:
    return told_entries(workspace)[-1]


# --- complete by construction -----------------------------------------------------------------------------------------
def _key(workspace: Workspace) -> HarnessKey:
    return keys.create_key(workspace, "default", name="old", by=EDITOR)[0]


def _invited(workspace: Workspace) -> tuple[Invitation, str]:
    person(EDITOR.name, workspace)
    return invitations.invite(workspace, "Ben", "viewer", by=EDITOR)


def _signed_in(user):
    session = SessionStore()
    session["_auth_user_id"] = str(user.pk)
    session.create()
    return user


def _proposed(workspace: Workspace) -> int:
    return revisions.propose(workspace, CHANGED, by=EDITOR).number


def _proposed_by_another(workspace: Workspace) -> int:
    return revisions.propose(workspace, CHANGED, by=Actor(kind="operator", name="ben")).number


def _scheduled(workspace: Workspace) -> Schedule:
    registry.replace_working_copy(workspace, CHANGED, by=EDITOR)
    return schedules.plan(workspace, timezone.now() + timedelta(hours=1), message="Later", by=EDITOR)


def _canary(workspace: Workspace) -> CanaryRow:
    registry.replace_working_copy(workspace, PAPER, by=EDITOR)
    return starting.start(workspace, SOME, message="To some", by=EDITOR)


def _went_live(workspace: Workspace) -> Revision:
    """The revision of a canary that is live by now, of which the canary has not heard."""
    revision = _canary(workspace).revision
    revision.workspace = Workspace.objects.get(pk=workspace.pk)
    return revision


# Each write service: what makes it ready, and the call. Both get a workspace whose registry is published.


def _of_server(w):
    entries.add(w, "endpoints", {"name": "server", "kind": "mcp", "url": "https://mcp.example/mcp"}, by=EDITOR)


def _inspected(w):
    _of_server(w)
    found = {"tools": [{"name": "read", "description": "Read a file"}]}
    return Inspection.objects.create(workspace=w, endpoint="server", kind="discover", by="x", found=found)


def _examined(w):
    """The key of a finding that can be mended without a word."""
    entries.edit(w, "endpoints", "notes", {"tool_use_when": {"add_notes": ["write it down"]}}, by=EDITOR)
    examinations.make(w.pk)
    w.refresh_from_db()
    found = examinations.of(w, examinations.draft_digest(w))
    return next(one["key"] for one in found.findings if one["code"] == "hint_without_tool")


def _ignored(w):
    return ignoring.ignore(w, _examined(w), "It is meant so", by=EDITOR).key


def _decided(w):
    caller = Caller(workspace_id=w.pk, scope="default", harness="x")
    pk = decisions.resolve(caller, "fetch a public web page as Markdown")["decision_id"]
    ledger.write(w.pk)
    return pk


def _labelled(w):
    pk = _decided(w)
    labels.say(w, pk, "right", by=EDITOR)
    return pk


def _in_session(w):
    caller = Caller(workspace_id=w.pk, scope="default", harness="x")
    session = sessions.open_session(caller, policy=None, ttl_s=600)
    return sessions.record_execution(caller, session.id, tool="a", arguments=None, result_class=None)[0]


def _searched(w):
    caller = Caller(workspace_id=w.pk, scope="default", harness="x")
    return searches.request_search(str(uuid7()), caller, searches.SearchRequest(**GRAPH, bounds={}))


def _drafted(w):
    entries.add(w, "policies", {"name": "default", "resolver": {"match_at": 0.7}}, by=EDITOR)


def _scored(w):
    _drafted(w)
    return shadow_policies.start(w, "default", by=EDITOR).pk


def _kept_in(w, mode: str, document) -> None:
    """A registry that is kept in a file, which says this."""
    file = installed.SOURCE_ROOTS[0] / "registry.yaml"
    file.write_text(write_yaml(document))
    workspaces.configure(w, {"source_file": str(file), "source_mode": mode}, by=EDITOR)


@pytest.fixture(autouse=True)
def source_root(tmp_path, settings) -> None:
    settings.SOURCE_ROOTS = [tmp_path]


def _version(w):
    return entries.version(working.copy_of(w).entry("endpoints", "server"))


WRITES = {
    "routing.services.registry.create_workspace": (None, lambda w, _: registry.create_workspace("new", by=EDITOR)),
    "routing.services.registry.replace_working_copy": (
        None,
        lambda w, _: registry.replace_working_copy(w, CHANGED, by=EDITOR),
    ),
    "routing.services.entries.explain": (
        lambda w: entries.edit(w, "endpoints", "hitspec", {"description": "Else"}, by=EDITOR),
        lambda w, _: entries.explain(w, "endpoints", "hitspec", "endpoints[hitspec].description", "Why", by=EDITOR),
    ),
    "routing.services.entries.edit": (
        None,
        lambda w, _: entries.edit(w, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR),
    ),
    "routing.services.entries.edit_many": (
        None,
        lambda w, _: entries.edit_many(w, "endpoints", ["notes", "hitspec"], lambda _: {"enabled": False}, by=EDITOR),
    ),
    "routing.services.entries.add": (
        None,
        lambda w, _: entries.add(w, "capabilities", {"name": "paper"}, by=EDITOR),
    ),
    "routing.services.entries.remove": (
        lambda w: entries.add(w, "capabilities", {"name": "paper"}, by=EDITOR),
        lambda w, _: entries.remove(w, "capabilities", ["paper"], by=EDITOR),
    ),
    "routing.services.entries.rename": (
        lambda w: entries.add(w, "capabilities", {"name": "paper"}, by=EDITOR),
        lambda w, _: entries.rename(w, "capabilities", "paper", "sheet", by=EDITOR),
    ),
    "routing.services.tools.edit": (
        None,
        lambda w, _: tools.edit(w, [("notes", "add_note")], {"risk": "high"}, by=EDITOR),
    ),
    "routing.services.vocabulary.merge": (
        lambda w: [entries.add(w, "capabilities", {"name": one}, by=EDITOR) for one in ("paper", "sheet")],
        lambda w, _: vocabulary.merge(w, "paper", "sheet", by=EDITOR),
    ),
    "routing.services.vocabulary.remove": (
        lambda w: entries.add(w, "capabilities", {"name": "paper"}, by=EDITOR),
        lambda w, _: vocabulary.remove(w, "paper", by=EDITOR),
    ),
    "routing.services.shadow_policies.running.start": (
        _drafted,
        lambda w, _: shadow_policies.start(w, "default", by=EDITOR),
    ),
    "routing.services.shadow_policies.running.stop": (
        _scored,
        lambda w, pk: shadow_policies.stop(w, pk, by=EDITOR),
    ),
    "routing.services.providers.settings.settle": (
        None,
        lambda w, _: settings.settle(w, "jev", {"monthly_budget": 5.0}, by=EDITOR),
    ),
    "routing.services.inspections.request": (
        _of_server,
        lambda w, _: inspections.request(w, "server", "discover", by=EDITOR),
    ),
    "routing.services.inspections.cancel": (
        _inspected,
        lambda w, row: inspections.cancel(w, row.pk, by=EDITOR),
    ),
    "routing.services.inspections.take": (
        _inspected,
        lambda w, row: inspections.take(w, row.pk, ["read"], read=_version(w), by=EDITOR),
    ),
    "routing.services.labels.say": (
        _decided,
        lambda w, pk: labels.say(w, pk, "wrong", "notes__add_note", by=EDITOR),
    ),
    "routing.services.labels.take_back": (
        _labelled,
        lambda w, pk: labels.take_back(w, pk, by=EDITOR),
    ),
    "routing.services.doctor.ignoring.ignore": (
        _examined,
        lambda w, key: ignoring.ignore(w, key, "It is meant so", by=EDITOR),
    ),
    "routing.services.doctor.ignoring.heed": (
        _ignored,
        lambda w, key: ignoring.heed(w, key, by=EDITOR),
    ),
    "routing.services.doctor.mending.mend": (
        _examined,
        lambda w, key: mending.mend(w, key, by=EDITOR),
    ),
    "routing.services.imports.into_draft": (
        None,
        lambda w, _: imports.into_draft(
            w, read(json.dumps({"version": 1, "capabilities": [{"name": "paper"}]})), by=EDITOR
        ),
    ),
    "routing.services.registry.propose_draft": (
        lambda w: registry.replace_working_copy(w, CHANGED, by=EDITOR),
        lambda w, _: registry.propose_draft(w, message="", by=EDITOR),
    ),
    "routing.services.reviews.approve": (
        _proposed_by_another,
        lambda w, number: reviews.approve(w, number, by=EDITOR),
    ),
    "routing.services.reviews.reject": (
        _proposed_by_another,
        lambda w, number: reviews.reject(w, number, reason="Not now", by=EDITOR),
    ),
    "routing.services.reviews.comment": (
        _proposed_by_another,
        lambda w, number: reviews.comment(w, number, text="Reads well", by=EDITOR),
    ),
    "routing.services.registry.put": (
        None,
        lambda w, _: registry.put(w, CHANGED, message="", seen=None, by=EDITOR),
    ),
    "routing.services.registry.restore": (None, lambda w, _: registry.restore(w, 1, message="", by=EDITOR)),
    "routing.services.registry.discard_draft": (
        lambda w: registry.replace_working_copy(w, CHANGED, by=EDITOR),
        lambda w, _: registry.discard_draft(w, by=EDITOR),
    ),
    "routing.services.revisions.propose": (None, lambda w, _: revisions.propose(w, CHANGED, by=EDITOR)),
    "routing.services.revisions.publish": (
        lambda w: registry.replace_working_copy(w, CHANGED, by=EDITOR),
        lambda w, _: revisions.publish(w, message="", by=EDITOR),
    ),
    "routing.services.revisions.publish_revision": (
        _proposed,
        lambda w, number: revisions.publish_revision(w, number, message="", by=EDITOR),
    ),
    "routing.services.imports.import_registry": (
        None,
        lambda w, _: imports.import_registry(w, {"version": 1, "scopes": [{"name": "more"}]}, by=EDITOR),
    ),
    "routing.services.canaries.starting.start": (
        lambda w: registry.replace_working_copy(w, PAPER, by=EDITOR),
        lambda w, _: starting.start(w, SOME, message="To some", by=EDITOR),
    ),
    "routing.services.canaries.starting.start_revision": (
        lambda w: revisions.propose(w, PAPER, by=EDITOR).number,
        lambda w, number: starting.start_revision(w, number, SOME, message="To some", by=EDITOR),
    ),
    "routing.services.canaries.ending.stop": (
        _canary,
        lambda w, row: ending.stop(row, "Not now.", by=EDITOR),
    ),
    "routing.services.canaries.ending.stop_revision": (
        _canary,
        lambda w, row: ending.stop_revision(w, row.revision.number, by=EDITOR),
    ),
    "routing.services.canaries.ending.give_way": (
        _went_live,
        lambda w, revision: ending.give_way(revision, by=EDITOR),
    ),
    "routing.services.remarks.say": (
        None,
        lambda w, _: remarks.say(w, "endpoints[notes].tags", "Why?", by=EDITOR),
    ),
    "routing.services.remarks.answer": (
        lambda w: remarks.say(w, "endpoints[notes].tags", "Why?", by=EDITOR).pk,
        lambda w, first: remarks.answer(w, first, "So that it is found", by=EDITOR),
    ),
    "routing.services.remarks.resolve": (
        lambda w: remarks.say(w, "endpoints[notes].tags", "Why?", by=EDITOR).pk,
        lambda w, first: remarks.resolve(w, first, by=EDITOR),
    ),
    "routing.services.schedules.plan": (
        lambda w: registry.replace_working_copy(w, CHANGED, by=EDITOR),
        lambda w, _: schedules.plan(w, timezone.now() + timedelta(hours=1), message="Later", by=EDITOR),
    ),
    "routing.services.schedules.cancel": (
        _scheduled,
        lambda w, schedule: schedules.cancel(w, schedule.pk, by=EDITOR),
    ),
    "routing.services.waiting.give_up": (
        _scheduled,
        lambda w, _: waiting.give_up(w, "Not any more.", by=EDITOR),
    ),
    "routing.services.undoing.undo": (
        lambda w: entries.edit(w, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR),
        lambda w, _: undoing.undo(w, Edit.objects.get(workspace=w, revision=None).pk, by=EDITOR),
    ),
    "routing.services.sources.take": (
        lambda w: _kept_in(w, "two-way", CHANGED),
        lambda w, _: sources.take(w, seen=sources.look(w).mark, by=EDITOR),
    ),
    "routing.services.sources.write": (
        lambda w: _kept_in(w, "two-way", CHANGED),
        lambda w, _: sources.write(w, seen=sources.look(w).mark, by=EDITOR),
    ),
    "routing.services.workspaces.configure": (
        None,
        lambda w, _: workspaces.configure(w, {"approvals_needed": 2}, by=EDITOR),
    ),
    "routing.services.sessions.sessions.reset_by_operator": (
        _in_session,
        lambda w, session: sessions.reset_by_operator(w.pk, session.id, "all", by=EDITOR),
    ),
    "routing.services.searches.request.request_by_operator": (
        None,
        lambda w, _: searches.request_by_operator(
            w.pk, "default", searches.SearchRequest(**GRAPH, bounds={}), by=EDITOR
        ),
    ),
    "routing.services.searches.cancelling.cancel_by_operator": (
        _searched,
        lambda w, row: searches.cancel_by_operator(w.pk, str(row.pk), by=EDITOR),
    ),
    "control.keys.create_key": (None, lambda w, _: keys.create_key(w, "default", by=EDITOR)),
    "control.keys.rotate_key": (_key, lambda w, key: keys.rotate_key(key, by=EDITOR)),
    "control.keys.revoke_key": (_key, lambda w, key: keys.revoke_key(key, by=EDITOR)),
    "control.members.admit": (
        lambda w: person("ada"),
        lambda w, user: members.admit(user, w, "viewer", by=EDITOR),
    ),
    "control.members.open_workspace": (
        lambda w: person("ada"),
        lambda w, user: members.open_workspace("newer", "", user, by=EDITOR),
    ),
    "control.members.change_role": (
        lambda w: person("ada", w, "viewer"),
        lambda w, _: members.change_role(w, "ada", "editor", by=EDITOR),
    ),
    "control.members.deactivate": (
        lambda w: person("ada", w, "viewer"),
        lambda w, _: members.deactivate(w, "ada", by=EDITOR),
    ),
    "control.members.reactivate": (
        lambda w: person("ada", w, "viewer") and members.deactivate(w, "ada", by=EDITOR),
        lambda w, _: members.reactivate(w, "ada", by=EDITOR),
    ),
    "control.members.remove": (
        lambda w: person("ada", w, "viewer"),
        lambda w, _: members.remove(w, "ada", by=EDITOR),
    ),
    "control.invitations.invite": (None, lambda w, _: invitations.invite(w, "Ben", "viewer", by=EDITOR)),
    "control.invitations.renew": (
        lambda w: _invited(w)[0],
        lambda w, row: invitations.renew(w, row.pk, by=EDITOR),
    ),
    "control.invitations.withdraw": (
        lambda w: _invited(w)[0],
        lambda w, row: invitations.withdraw(w, row.pk, by=EDITOR),
    ),
    "control.invitations.accept": (
        lambda w: (_invited(w)[1], person("ada")),
        lambda w, ready: invitations.accept(*ready, by=EDITOR),
    ),
    "control.invitations.accept_as_new": (
        lambda w: _invited(w)[1],
        lambda w, token: invitations.accept_as_new(token, "ben", "a-long-password", by=EDITOR),
    ),
    "control.accounts.change_password": (
        lambda w: person("ada", w),
        lambda w, user: accounts.change_password(user, "another-long-password", by=EDITOR),
    ),
    "control.accounts.sign_out_everywhere": (
        lambda w: _signed_in(person("ada", w)),
        lambda w, user: accounts.sign_out_everywhere(user, by=EDITOR),
    ),
    "control.members.admit_administrators": (
        lambda w: _superuser(),
        lambda w, _: members.admit_administrators(w, by=EDITOR),
    ),
}


def _superuser():
    user = person("root")
    user.is_superuser = True
    user.save()
    return user


def everything() -> list[list[tuple]]:
    tables = [list(model.objects.order_by("pk").values_list()) for model in GOVERNED]
    names = sorted(bus.client().scan_iter("switchyard:session:*"))
    tables.append(list(Search.objects.order_by("pk").values_list()))
    return [*tables, [(name, bus.client().get(name)) for name in names]]


def write_services() -> set[str]:
    """Every public function of the services, of keys and of people that is told who acts."""
    names = [found.name for found in pkgutil.walk_packages(routing.services.__path__, "routing.services.")]
    modules = [importlib.import_module(name) for name in names] + [keys, members, invitations, accounts]
    return (
        {
            f"{module.__name__}.{name}"
            for module in modules
            for name, function in inspect.getmembers(module, inspect.isfunction)
            if function.__module__ == module.__name__
            and not name.startswith("_")
            and (by := inspect.signature(function).parameters.get("by"))
            and by.annotation == "Actor"
        }
        - {
            "routing.services.audit.record",
            "routing.services.registry.others_in_draft",
            "routing.services.waiting.fail",  # refused, and so not done: tests/routing/test_schedules.py
            "routing.services.edits.note",  # a part of every change of the draft, which is told as a whole
            "routing.services.reviews.void",  # likewise
            "routing.services.registry.note_change",  # what tells it
            "routing.services.revisions.told_when_refused",  # likewise
            "routing.services.recordings.reading.read",  # writes nothing but its entry: tests/routing/services/test_recordings.py
            "routing.services.providers.accounts.close_breaker",  # on the bus: tests/routing/services/test_shared_providers.py
        }
    )


def test_every_write_service_is_tried_here() -> None:
    assert write_services() == set(WRITES)


@pytest.mark.parametrize("service", WRITES)
def test_what_a_service_writes_has_an_entry(published, service):
    prepare, write = WRITES[service]
    ready = prepare(published) if prepare else None
    before, told = everything(), AuditEntry.objects.count()

    write(published, ready)

    assert everything() != before
    assert AuditEntry.objects.count() > told
    last = AuditEntry.objects.order_by("-pk_id").first()
    assert (last.actor_kind, last.actor, last.result) == ("operator", "an-editor", "done")
    assert last.action and last.target


@pytest.mark.parametrize("service", WRITES)
def test_what_cannot_be_told_is_not_written(published, service, monkeypatch):
    prepare, write = WRITES[service]
    ready = prepare(published) if prepare else None
    before = everything()

    def broken(*args, **kwargs):
        raise RuntimeError("the log is full")

    monkeypatch.setattr(audit, "record", broken)
    with pytest.raises(RuntimeError):
        write(published, ready)

    assert everything() == before


def test_nobody_else_writes_what_is_governed() -> None:
    """Who writes these tables in another module than the services that were tried would escape the log."""
    names = "|".join(model.__name__ for model in GOVERNED)
    write = re.compile(
        rf"\b(?:{names})\.objects\b[^#\n]*\.(?:create|update|delete|bulk_create|get_or_create|update_or_create|save)\("
    )
    writers = {
        str(path.relative_to(ROOT))
        for place in ("control", "routing")
        for path in (ROOT / place).rglob("*.py")
        if "migrations" not in path.parts and write.search(path.read_text(encoding="utf-8"))
    }

    assert writers - {
        "routing/services/ledger/write.py",  # how long the chain is, and how much there is to learn from
        "routing/services/calibration.py",
        "routing/working.py",  # which version of the working copy the tables hold
        "control/uses.py",  # when a key was used last
        "control/preferences.py",  # what a member set aside for themselves
    } <= {
        "control/accounts.py",
        "control/invitations.py",
        "control/keys.py",
        "control/members.py",
        "routing/mapping.py",
        "routing/services/canaries/ending.py",
        "routing/services/canaries/looking.py",  # keeps what was counted of one that runs
        "routing/services/canaries/starting.py",
        "routing/services/doctor/ignoring.py",
        "routing/services/inspections.py",
        "routing/services/labels.py",
        "routing/services/registry.py",
        "routing/services/edits.py",  # remarks follow the proposal that they are about
        "routing/services/remarks.py",
        "routing/services/reviews.py",
        "routing/services/revisions.py",
        "routing/services/schedules.py",
        "routing/services/shadow_policies/running.py",
        "routing/services/sources.py",
        "routing/services/workspaces.py",
    }


def test_a_change_that_was_refused_leaves_neither_itself_nor_an_entry(published):
    told = len(told_entries(published))

    with pytest.raises(InvalidRegistry):
        entries.edit(published, "endpoints", "notes", {"kind": "no such kind"}, by=EDITOR)

    assert len(told_entries(published)) == told


# --- what an entry says -------------------------------------------------------------------------------------------------
def test_an_entry_says_which_fields_changed_from_what_to_what(published):
    entries.edit(published, "endpoints", "notes", {"description": "Notes of the team"}, by=Actor(kind="key", name="ci"))

    entry = newest(published)

    assert (entry.actor_kind, entry.actor, entry.action, entry.target) == (
        "key",
        "ci",
        "endpoint.changed",
        "endpoint notes",
    )
    assert entry.changes == [
        {
            "path": "endpoints[notes].description",
            "action": "changed",
            "before": "Notebook",
            "after": "Notes of the team",
        }
    ]
    assert entry.before["digest"] == revisions.find(published, 2).digest != entry.after["digest"]


def test_the_name_of_the_outer_action_is_kept(published):
    registry.put(published, CHANGED, message="Fewer scopes", seen=None, by=EDITOR)
    registry.discard_draft(published, by=EDITOR)

    assert [(entry.action, entry.message) for entry in told_entries(published)[-3:]] == [
        ("registry.put", "Fewer scopes"),
        ("revision.proposed", "Fewer scopes"),
        ("draft.discarded", ""),
    ]


def test_a_publication_names_both_revisions_and_what_they_differ_in(published):
    entries.edit(published, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR)
    revisions.publish(published, message="Tag it", by=EDITOR)

    entry = newest(published)

    assert (entry.action, entry.target, entry.message) == ("revision.published", "revision 3", "Tag it")
    assert (entry.before["live_revision"], entry.after["live_revision"]) == (2, 3)
    assert [change["path"] for change in entry.changes] == ["endpoints[notes].tags"]


def test_an_emergency_past_the_approvals_is_recorded_as_such(published):
    workspaces.configure(published, {"approvals_needed": 1}, by=EDITOR)
    number = _proposed(published)
    revisions.publish_revision(published, number, message="", emergency=True, by=EDITOR)

    assert newest(published).after["emergency"] is True


def test_settings_say_what_they_were_and_are(published):
    call_command("workspace", "acme", "--approvals", "2", "--allow-private", "10.0.0.0/8")

    entry = newest(published)

    assert (entry.action, entry.actor_kind) == ("workspace.configured", "system")
    assert entry.before == {"approvals_needed": 0, "allow_private": []}
    assert entry.after == {"approvals_needed": 2, "allow_private": ["10.0.0.0/8"]}


def test_a_key_is_told_without_the_key_and_without_its_digest(published):
    row, plain = keys.create_key(published, "default", name="ci", by=EDITOR)
    keys.revoke_key(row, by=EDITOR)

    told = str([audit.said(entry) for entry in told_entries(published)])

    assert "key ci" in told and plain not in told and row.digest not in told and plain[4:20] not in told


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"use {SECRET} from now on", f"use {audit.HIDDEN} from now on"),
        ("see https://ada:pw@example.com/x now", f"see {audit.HIDDEN} now"),
        ("as in 3f2c9a1d4b5e6f708192a3b4c5d6e7f8091a2b3c", "as in 3f2c9a1d4b5e6f708192a3b4c5d6e7f8091a2b3c"),
        ("see https://example.com/docs", "see https://example.com/docs"),
        (
            "Ties should not read as confident.\n\nTwo of them did.",
            "Ties should not read as confident.\n\nTwo of them did.",
        ),
        ("a\0b\ud800", "a\ufffdb?"),
    ],
)
def test_a_message_keeps_its_words_and_hides_what_looks_like_a_secret(published, text, kept):
    assert audit.record(published.pk, "test.done", by=EDITOR, message=text).message == kept


def test_a_large_change_is_told_by_digest_and_very_many_by_their_number(published):
    many = [{"name": f"e{n}", "kind": "declared", "description": "x" * 5000} for n in range(300)]
    registry.replace_working_copy(published, {**DOCUMENT, "endpoints": [*DOCUMENT["endpoints"], *many]}, by=EDITOR)

    changes = newest(published).changes

    assert len(changes) == audit.MOST_CHANGES + 1
    assert changes[0]["after"]["digest"].startswith("sha256:")
    assert changes[-1] == {"path": "", "action": "left_out", "number": 100}


def test_an_entry_names_the_request_it_was_made_in(published):
    with audit.origin("req-1", "10.0.0.7"):
        inside = audit.record(published.pk, "test.done", by=EDITOR)
    outside = audit.record(published.pk, "test.done", by=EDITOR)

    assert (inside.request_id, inside.address) == ("req-1", "10.0.0.7")
    assert (outside.request_id, outside.address) == ("", "")


# --- the chain ------------------------------------------------------------------------------------------------------------
def test_numbers_have_no_gap_and_every_entry_follows_the_one_before(published):
    rows = told_entries(published)

    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert [row.prev_hash for row in rows] == [GENESIS, *(row.hash for row in rows[:-1])]
    assert audit.verify(published).ok
    assert audit.verify(published).checked == len(rows)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("actor", "somebody"),
        ("actor_kind", "key"),
        ("action", "draft.discarded"),
        ("target", "endpoint x"),
        ("result", "refused"),
        ("before", {"digest": "sha256:0"}),
        ("after", None),
        ("changes", []),
        ("message", "never said"),
        ("request_id", "other"),
        ("address", "10.0.0.9"),
    ],
)
def test_a_changed_entry_is_found_by_its_own_number(published, column, value):
    told = Change(path="x", action="changed", before=1, after=2)
    facts = {"before": {"x": 1}, "after": {"x": 2}, "changes": [told], "message": "because"}
    with audit.origin("a-request", "10.0.0.1"):
        entry = audit.record(published.pk, "a.b", "c", by=EDITOR, **facts)
        audit.record(published.pk, "a.b", by=EDITOR)
    AuditEntry.objects.filter(pk=entry.pk).update(**{column: value})

    found = audit.verify(published)

    assert (found.ok, found.first_bad, found.reason) == (False, entry.seq, "hash")


@pytest.mark.parametrize("place", [1, 3, -1])
def test_a_removed_entry_is_found_by_the_missing_number(published, place):
    seqs = [entry.seq for entry in told_entries(published)]
    removed = seqs[-1] if place == -1 else place
    AuditEntry.objects.filter(workspace=published, seq=removed).delete()

    found = audit.verify(published)

    assert (found.first_bad, found.reason) == (removed, "gap")


def test_a_head_that_was_removed_or_set_back_is_found_and_appending_goes_on(published):
    last = newest(published).seq
    AuditHead.objects.filter(workspace=published).update(seq=1)
    assert audit.verify(published).reason == "gap"
    AuditHead.objects.filter(workspace=published).delete()
    assert audit.verify(published).first_bad == last + 1

    assert audit.record(published.pk, "test.done", by=EDITOR).seq == last + 1


def test_workspaces_have_chains_of_their_own(published):
    other = registry.create_workspace("other", by=EDITOR)

    assert told_entries(other)[0].seq == 1
    AuditEntry.objects.filter(workspace=other).update(actor="x")
    assert audit.verify(published).ok
    assert not audit.verify(other).ok


@pytest.mark.django_db(transaction=True)
def test_writers_at_the_same_moment_neither_block_each_other_nor_break_the_chain():
    """Each takes the locks that real writers take: the registry's, a key's, and the log's alone."""
    workspace = registry.create_workspace("acme", by=EDITOR)
    registry.replace_working_copy(workspace, DOCUMENT, by=EDITOR)
    writes = [
        lambda n: entries.edit(workspace, "endpoints", "notes", {"description": f"Notes {n}"}, by=EDITOR),
        lambda n: keys.create_key(workspace, "default", name=f"key-{n}", by=EDITOR),
        lambda n: audit.record(workspace.pk, "access.denied", by=EDITOR),
        lambda n: revisions.publish(workspace, message=f"Number {n}", by=EDITOR),
    ]
    told, failed = len(told_entries(workspace)), []

    def work(write):
        try:
            for number in range(6):
                write(number)
        except Exception as error:
            failed.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(write,)) for write in writes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    assert failed == []
    assert audit.verify(workspace).ok
    assert len(told_entries(workspace)) >= told + 18
