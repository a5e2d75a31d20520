"""Every address of the product, walked by everybody: each role, a stranger, a visitor, and keys with and without the right.

Whoever adds a route or a call declares here what it needs; the walk fails until they do.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone
from uuid_utils.compat import uuid7

from control import invitations
from control.access import RIGHTS, ROLES, rights_of
from control.api.api import api
from control.keys import create_key
from control.web import urls
from control.web.expecting import mark_of
from routing.engine.canary import MEASURES
from routing.models import (
    Actor,
    CanaryRow,
    Edit,
    Inspection,
    Recording,
    Replay,
    Schedule,
    ShadowPolicy,
    Workspace,
)
from routing.models.actor import SYSTEM
from routing.sealing import seal
from routing.services import decisions, ledger, registry, remarks, revisions, searches, sessions
from routing.services.decisions import Caller
from routing.services.doctor import examinations
from routing.services.searches import SearchRequest
from tests import baseline
from tests.cast import person
from tests.routing.conftest import DOCUMENT, EDITOR

DECISION, KEY, INVITATION, LOOK = "<decision>", "<key>", "<invitation>", "<look>"
REMARK, SCHEDULE, EDIT, SESSION, SEARCH = "<remark>", "<schedule>", "<edit>", "<session>", "<search>"
REPLAY, SHADOW, CANARY = "<replay>", "<shadow>", "<canary>"
FINDING = "<finding>"
NAMELESS = "01a2297f-9bcb-770a-b322-25f1a3d9350a"  # an id that nothing has
WORDS = [{"name": "notes"}]
GRAPH = {"root_state": "start", "states": [{"id": "start", "goal": "read", "tools": [{"name": "fetch"}]}]}
EXPECTATIONS = [{"name": "a page is fetched", "query": "fetch a page", "expect": {"alternatives_max": 10}}]
EXPECTED = mark_of("a page is fetched")
POLICIES = [{"name": "default"}, {"name": "careful"}]
PROVIDERS = [{"name": "jev", "kind": "openrouter"}]


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """An address of the console inside a workspace: the action that each of its methods needs, and what it names."""

    get: str = ""
    post: str = ""
    names: tuple[
        Any, ...
    ] = ()  # known things, for its place holders; the capitals stand for what was made for the walk
    unseen: tuple[Any, ...] = ()  # the same of things that are not there
    sends: tuple[tuple[str, str], ...] = ()  # what a form must say to be one at all


DOORS = {
    "overview": Door(get="overview.view"),
    "go": Door(get="overview.view"),
    "setup": Door(get="overview.view", post="registry.import", sends=(("from", "import"),)),
    "setup-progress": Door(get="overview.view"),
    "setup-key": Door(post="key.manage", sends=(("name", "walked"), ("scope", "default"))),
    "setup-leave": Door(post="overview.view"),
    "shortcuts": Door(get="overview.view"),
    "views": Door(
        get="overview.view",
        post="overview.view",
        sends=(("do", "save"), ("page", "decisions"), ("name", "Mine"), ("query", "?scope=default")),
    ),
    "panel-figures": Door(get="overview.view"),
    "panel-tail": Door(get="overview.view"),
    "decisions": Door(get="decision.view"),
    "decision": Door(get="decision.view", names=(DECISION,), unseen=(NAMELESS,)),
    "decision-text": Door(post="query.read", names=(DECISION,), unseen=(NAMELESS,)),
    "label": Door(post="decision.label", names=(DECISION,), unseen=(NAMELESS,), sends=(("say", "right"),)),
    "sessions": Door(get="decision.view"),
    "session": Door(get="decision.view", names=(SESSION,), unseen=(NAMELESS,)),
    "session-reset": Door(
        get="harness_session.reset",
        post="harness_session.reset",
        names=(SESSION, "all"),
        unseen=(NAMELESS, "all"),
    ),
    "searches": Door(get="decision.view"),
    "search": Door(get="decision.view", names=(SEARCH,), unseen=(NAMELESS,)),
    "search-new": Door(get="search.run", post="search.run"),
    "search-cancel": Door(post="search.run", names=(SEARCH,), unseen=(NAMELESS,)),
    "endpoints": Door(get="registry.view"),
    "endpoint": Door(get="registry.view", names=("hitspec",), unseen=("nothing",)),
    "endpoint-edit": Door(post="endpoint.edit", names=("hitspec", "tags"), unseen=("nothing", "tags")),
    "endpoint-form": Door(get="endpoint.edit", post="endpoint.edit", names=("hitspec",), unseen=("nothing",)),
    "endpoint-switch": Door(get="endpoint.edit", post="endpoint.edit", names=("hitspec",), unseen=("nothing",)),
    "endpoint-remove": Door(get="endpoint.edit", post="endpoint.edit", names=("hitspec",), unseen=("nothing",)),
    "endpoint-new": Door(get="endpoint.edit", post="endpoint.edit"),
    "endpoints-bulk": Door(post="endpoint.edit"),
    "tools-bulk": Door(post="endpoint.edit"),
    "endpoint-inspect": Door(post="endpoint.inspect", names=("hitspec", "test"), unseen=("nothing", "test")),
    "inspection": Door(get="registry.view", names=("hitspec", LOOK), unseen=("hitspec", NAMELESS)),
    "inspection-stop": Door(post="endpoint.inspect", names=("hitspec", LOOK), unseen=("hitspec", NAMELESS)),
    "inspection-take": Door(post="endpoint.edit", names=("hitspec", LOOK), unseen=("hitspec", NAMELESS)),
    "lab": Door(get="registry.view"),
    "lab-propose": Door(post="policy.edit", sends=(("policy", "default"), ("at", "0.9"))),
    "doctor": Door(get="registry.view"),
    # A finding that is gone is no place that was never there: the list says that somebody else dealt with it.
    "doctor-ignore": Door(post="finding.ignore", names=(FINDING,), sends=(("reason", "meant so"),)),
    "doctor-mend": Door(post="endpoint.edit", names=(FINDING,)),
    "tools": Door(get="registry.view"),
    "tool": Door(get="registry.view", post="endpoint.edit", names=("hitspec__fetch",), unseen=("hitspec__nothing",)),
    "capabilities": Door(get="registry.view"),
    "capability": Door(get="registry.view", names=("notes",), unseen=("nothing",)),
    "capability-edit": Door(post="capability.edit", names=("notes", "synonyms"), unseen=("nothing", "synonyms")),
    "capability-delete": Door(get="capability.edit", post="capability.edit", names=("notes",), unseen=("nothing",)),
    "capability-merge": Door(get="capability.edit", post="capability.edit", names=("notes",), unseen=("nothing",)),
    "capability-new": Door(get="capability.edit", post="capability.edit"),
    "coverage": Door(get="registry.view"),
    "scopes": Door(get="registry.view"),
    "scope": Door(get="registry.view", names=("web-only",), unseen=("nothing",)),
    "scope-edit": Door(get="scope.edit", post="scope.edit", names=("web-only",), unseen=("nothing",)),
    "scope-delete": Door(get="scope.edit", post="scope.edit", names=("web-only",), unseen=("nothing",)),
    "scope-new": Door(get="scope.edit", post="scope.edit"),
    "playground": Door(get="registry.view", post="registry.view", sends=(("q", "fetch a page"),)),
    "expectations": Door(get="registry.view"),
    "expectation-edit": Door(
        get="expectation.edit", post="expectation.edit", names=(EXPECTED,), unseen=("0123456789abcdef",)
    ),
    "expectation-remove": Door(
        get="expectation.edit", post="expectation.edit", names=(EXPECTED,), unseen=("0123456789abcdef",)
    ),
    "expectation-new": Door(get="expectation.edit", post="expectation.edit"),
    "policies": Door(get="registry.view"),
    "policy": Door(get="registry.view", names=("careful",), unseen=("nothing",)),
    "policy-edit": Door(post="policy.edit", names=("careful", "routing"), unseen=("nothing", "routing")),
    "policy-try": Door(get="registry.view", names=("careful",), unseen=("nothing",)),
    "policy-shadow": Door(get="registry.view", post="policy.edit", names=("careful",), unseen=("nothing",)),
    "policy-shadow-stop": Door(post="policy.edit", names=("careful", SHADOW), unseen=("careful", NAMELESS)),
    "policy-delete": Door(get="policy.edit", post="policy.edit", names=("careful",), unseen=("nothing",)),
    "policy-new": Door(get="policy.edit", post="policy.edit"),
    "providers": Door(get="registry.view"),
    "provider": Door(get="registry.view", names=("jev",), unseen=("nothing",)),
    "provider-edit": Door(post="provider.edit", names=("jev", "timeout_s"), unseen=("nothing", "timeout_s")),
    "provider-form": Door(get="provider.edit", post="provider.edit", names=("jev",), unseen=("nothing",)),
    "provider-remove": Door(get="provider.edit", post="provider.edit", names=("jev",), unseen=("nothing",)),
    "provider-test": Door(post="provider.test", names=("jev",), unseen=("nothing",)),
    "provider-reset": Door(post="provider.reset", names=("jev",), unseen=("nothing",)),
    "provider-settle": Door(post="provider.settle", names=("jev",), unseen=("nothing",)),
    "provider-preview": Door(
        post="registry.try",
        names=("jev",),
        unseen=("nothing",),
        sends=(("goal", "a"), ("scope", "default"), ("policy", "default")),
    ),
    "provider-new": Door(get="provider.edit", post="provider.edit"),
    "connect": Door(get="harness.connect"),
    "keys": Door(get="key.view"),
    "key-create": Door(get="key.manage", post="key.manage"),
    "key-rotate": Door(get="key.manage", post="key.manage", names=(KEY,), unseen=(NAMELESS,)),
    "key-revoke": Door(get="key.manage", post="key.manage", names=(KEY,), unseen=(NAMELESS,)),
    "people": Door(get="people.view"),
    "invite": Door(post="people.manage"),
    "invitation-renew": Door(post="people.manage", names=(INVITATION,), unseen=(NAMELESS,)),
    "invitation-withdraw": Door(post="people.manage", names=(INVITATION,), unseen=(NAMELESS,)),
    "member-role": Door(post="people.manage", names=("the-viewer",), unseen=("nobody",)),
    "member-deactivate": Door(get="people.manage", post="people.manage", names=("the-viewer",), unseen=("nobody",)),
    "member-reactivate": Door(post="people.manage", names=("the-viewer",), unseen=("nobody",)),
    "member-remove": Door(get="people.manage", post="people.manage", names=("the-viewer",), unseen=("nobody",)),
    "publish": Door(get="registry.view", post="revision.publish"),
    "propose": Door(post="draft.propose"),
    "publish-checks": Door(get="registry.view"),
    "replay-draft": Door(get="registry.view", post="replay.run"),
    "replay-of": Door(
        get="registry.view", post="replay.run", names=("endpoint", "hitspec"), unseen=("endpoint", "nothing")
    ),
    "replay-stop": Door(post="replay.run", names=(REPLAY,), unseen=(NAMELESS,)),
    "canary-start": Door(post="revision.publish"),
    "schedule": Door(post="revision.publish"),
    "schedule-cancel": Door(post="revision.publish", names=(SCHEDULE,), unseen=(NAMELESS,)),
    "undo": Door(get="draft.discard", post="draft.discard", names=(EDIT,), unseen=(NAMELESS,)),
    "remark": Door(post="draft.propose"),
    "remark-answer": Door(post="draft.propose", names=(REMARK,), unseen=(NAMELESS,)),
    "remark-resolve": Door(post="draft.propose", names=(REMARK,), unseen=(NAMELESS,)),
    "source": Door(get="registry.view"),
    "source-take": Door(post="registry.import"),
    "source-write": Door(post="source.write"),
    "settings": Door(get="workspace.view", post="workspace.configure"),
    "discard": Door(get="draft.discard", post="draft.discard"),
    "import": Door(get="registry.import", post="registry.import"),
    "draft-yaml": Door(get="registry.view"),
    "draft-json": Door(get="registry.view"),
    "revisions": Door(get="revision.view"),
    "compare": Door(get="registry.view"),
    "revision": Door(get="revision.view", names=(2,), unseen=(99,)),
    "revision-export": Door(get="registry.view", names=(2,), unseen=(99,)),
    "revision-json": Door(get="registry.view", names=(2,), unseen=(99,)),
    "review": Door(post="revision.review", names=(2,), unseen=(99,)),
    "comment": Door(post="draft.propose", names=(2,), unseen=(99,)),
    "restore": Door(get="revision.restore", post="revision.restore", names=(2,), unseen=(99,)),
    "canary": Door(get="revision.view", names=(CANARY,), unseen=(1,)),
    "canary-promote": Door(get="revision.publish", post="revision.publish", names=(CANARY,), unseen=(1,)),
    "canary-stop": Door(post="revision.publish", names=(CANARY,), unseen=(1,)),
    "audit": Door(get="audit.view"),
    "audit-verify": Door(post="ledger.verify"),
    "audit-csv": Door(get="audit.view"),
    "audit-jsonl": Door(get="audit.view"),
    "audit-entry": Door(get="audit.view", names=(2,), unseen=(999,)),
}

# What stands outside workspaces, and what a visitor who has not signed in is answered: (method, status).
OUTSIDE = {
    "healthz": ("get", 200),
    "readyz": ("get", 503),  # the tests have no worker
    "metrics": ("get", 401),
    "live/events": ("get", 401),
    "api/v1/live/events": ("get", 401),
    "api/v1/openapi.json": ("get", 200),
    "api/v1/": ("get", 404),
    "api/<path:rest>": ("get", 404),
    "": ("get", 302),
    "account": ("get", 302),
    "account/sessions": ("post", 302),
    "workspaces": ("get", 302),
    "join/<str:token>": ("get", 404),
    "sign-in": ("get", 200),
    "sign-out": ("post", 302),
    "theme": ("post", 302),
    "zone": ("post", 302),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An operation of the API: the right that it needs, a body that names a known thing, and what it names."""

    right: str
    body: dict[str, Any] | None = None
    names: dict[str, Any] | None = None
    unseen: dict[str, Any] | None = None


NUMBER: dict[str, Any] = {"names": {"number": 2}, "unseen": {"number": 99}}
OF_SEARCH: dict[str, Any] = {"names": {"search_id": SEARCH}, "unseen": {"search_id": NAMELESS}}
OF_SESSION: dict[str, Any] = {"names": {"session_id": SESSION}, "unseen": {"session_id": NAMELESS}}
CALLS = {
    "resolve": Call(right="decide", body={"query": "fetch a page"}),
    "advice": Call(right="decide", body={"goal": "read", "phase": "research", "activity": "fetch a page"}),
    "route": Call(right="decide", body={"goal": "fetch a page", "wait_ms": 0}),
    "search": Call(right="decide", body=GRAPH | {"wait_ms": 0}),
    "get_search": Call(right="decide", **OF_SEARCH),
    "cancel_search": Call(right="decide", body={}, **OF_SEARCH),
    "open_session": Call(right="decide", body={}),
    "get_session": Call(right="decide", **OF_SESSION),
    "record_execution": Call(right="decide", body={"tool": "hitspec__fetch"}, **OF_SESSION),
    "reset_session": Call(right="decide", body={}, **OF_SESSION),
    "search_tools_by_address": Call(right="decide"),
    "search_tools": Call(right="decide", body={"query": "fetch"}),
    "describe_tool": Call(right="decide", names={"name": "hitspec__fetch"}, unseen={"name": "hitspec__nothing"}),
    "simulate_resolve": Call(right="simulate", body={"registry": DOCUMENT, "queries": [{"query": "fetch a page"}]}),
    "simulate_diff": Call(right="simulate", body={"registry": DOCUMENT, "wait_ms": 0}),
    "get_simulated_diff": Call(right="simulate", names={"replay_id": REPLAY}, unseen={"replay_id": NAMELESS}),
    "report_events": Call(
        right="report", body={"events": [{"id": "one", "kind": "invocation", "target": "hitspec__fetch"}]}
    ),
    "list_events": Call(right="read"),
    "list_decisions": Call(right="read"),
    "get_decision": Call(right="read", names={"decision_id": DECISION}, unseen={"decision_id": NAMELESS}),
    "get_registry": Call(right="registry.read"),
    "put_registry": Call(right="registry.write", body={"document": DOCUMENT}),
    "list_revisions": Call(right="registry.read"),
    "get_revision": Call(right="registry.read", **NUMBER),
    "import_registry": Call(right="registry.write", body={"document": DOCUMENT, "dry_run": True}),
    "approve_revision": Call(right="registry.review", body={}, **NUMBER),
    "reject_revision": Call(right="registry.review", body={"reason": "Not now"}, **NUMBER),
    "publish_revision": Call(right="registry.publish", body={"message": "Go"}, **NUMBER),
    "start_canary": Call(right="registry.publish", body={"scopes": ["web-only"]}, **NUMBER),
    "get_canary": Call(right="registry.read", names={"number": CANARY}, unseen={"number": 1}),
    "stop_canary": Call(right="registry.publish", body={}, names={"number": CANARY}, unseen={"number": 1}),
    "restore_revision": Call(right="registry.write", body={}, **NUMBER),
}


# --- nothing is left out ----------------------------------------------------------------------------------------------
def addresses(patterns: list[Any], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        address = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns, address)
        elif isinstance(pattern, URLPattern):
            yield address


def operations() -> dict[str, tuple[str, str, Any]]:
    """By operation id: the method, the path, and the operation itself."""
    return {
        operation.operation_id: (operation.methods[0].lower(), path, operation)
        for _, router in api._routers
        for path, view in router.path_operations.items()
        for operation in view.operations
    }


def test_every_address_and_every_operation_is_declared():
    every = set(addresses(get_resolver().url_patterns))
    rooms = {f"w/<str:workspace>/{room.pattern}" for room in urls.rooms}
    calls = {"api/v1" + path.replace("{", "<").replace("}", ">") for _, path, _ in operations().values()}

    assert every - rooms - calls == set(OUTSIDE)
    assert {room.name for room in urls.rooms} == set(DOORS)
    assert set(operations()) == set(CALLS)


def test_every_view_asks_for_the_actions_that_it_was_declared_with():
    for room in urls.rooms:
        door, view = DOORS[room.name], _guarded(room.callback)
        assert (view.action, view.posts) == (door.get or door.post, door.post or door.get), room.name


def _guarded(view):
    while not hasattr(view, "action"):
        view = view.__wrapped__
    return view


def test_every_operation_names_the_right_that_it_was_declared_with():
    named = {name: [one.right for one in operation.auth_callbacks] for name, (_, _, operation) in operations().items()}

    assert named == {name: [call.right] for name, call in CALLS.items()}


# --- the console ------------------------------------------------------------------------------------------------------
def known(workspace, decision: str) -> dict[str, Any]:
    """Make one of everything that doors name in capitals, save the decision; answers what stands for them."""
    revision = workspace.revisions.first()
    later = timezone.now() + timedelta(days=1)
    harness = Caller(workspace_id=workspace.pk, scope="default", harness="x")
    recorded = {"until": later, "sealed": seal({"query": "fetch a page"})}
    Recording.objects.create(workspace=workspace, decision_id=decision, **recorded)
    return {
        DECISION: decision,
        KEY: create_key(workspace, "default", by=SYSTEM)[0].pk,
        LOOK: Inspection.objects.create(workspace=workspace, endpoint="hitspec", kind="test").pk,
        REMARK: remarks.say(workspace, "endpoints[hitspec]", "Why?", by=SYSTEM).pk,
        SCHEDULE: Schedule.objects.create(workspace=workspace, revision=revision, at=later, actor="x").pk,
        EDIT: Edit.objects.create(workspace=workspace, person="x", by="x", at=timezone.now()).pk,
        SEARCH: searches.request_search(str(uuid7()), harness, SearchRequest(**GRAPH, bounds={})).pk,
        REPLAY: Replay.objects.create(
            workspace=workspace, by="x", against=1, digest="x", window={"scopes": ["default"]}
        ).pk,
        SHADOW: ShadowPolicy.objects.create(
            workspace=workspace, policy="careful", revision=2, began_at=timezone.now(), until=later, by="x"
        ).pk,
        CANARY: a_canary(workspace, revision),
        FINDING: finding_of(workspace),
        INVITATION: invitations.invite(workspace, "Ben", "viewer", by=SYSTEM)[0].pk,
    }


def a_canary(workspace, revision) -> int:
    """One that has ended, of this revision; answers its number."""
    terms = {"live_number": 1, "minimum": 100, "percent": 10, "bounds": dict.fromkeys(MEASURES, 0.05)}
    CanaryRow.objects.create(
        workspace=workspace, revision=revision, state="stopped", actor="x", started_at=timezone.now(), **terms
    )
    return revision.number


def finding_of(workspace) -> str:
    examinations.make(workspace.pk)
    examined = examinations.of(workspace, examinations.draft_digest(Workspace.objects.get(pk=workspace.pk)))
    return examined.findings[0]["key"]


@pytest.fixture(scope="module")
def world(lasting_db):
    """A workspace in which every kind of thing is known, and who walks through it: members by role, and a stranger."""
    workspace = baseline.two_endpoints()
    whole = {**DOCUMENT, "capabilities": WORDS, "policies": POLICIES, "providers": PROVIDERS}
    whole |= {"expectations": EXPECTATIONS}
    registry.replace_working_copy(workspace, whole, by=EDITOR)
    revisions.publish(workspace, message="Words and policies", by=EDITOR)
    clients = {role: _browser(person(f"the-{role}", workspace, role)) for role in ROLES}
    return known(workspace, _decided(workspace)), clients | {"stranger": _browser(person("a-stranger"))}


def _decided(workspace) -> str:
    caller = Caller(workspace_id=workspace.pk, scope="default", harness="a-harness")
    decision_id = decisions.resolve(caller, "fetch https://example.com/guide as Markdown")["decision_id"]
    ledger.write(workspace.pk)
    return str(decision_id)


@pytest.fixture
def workspace(world, db) -> Workspace:
    return Workspace.objects.get(name="acme")


@pytest.fixture
def full(world, workspace):
    """The world as it was made, for each walk."""
    made, people = world
    return made | {SESSION: a_session(workspace)}, people


def a_session(workspace) -> str:
    """Kept on the bus, which is empty at the beginning of each test."""
    harness = Caller(workspace_id=workspace.pk, scope="default", harness="x")
    return sessions.open_session(harness, policy=None, ttl_s=600).id


def _browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def _asked(client: Client, method: str, address: str, **more: Any) -> int:
    """The status; what was written meanwhile is undone, so that everybody meets the same workspace."""
    cookies = copy.deepcopy(client.cookies)
    with transaction.atomic():
        status = getattr(client, method)(address, **more).status_code
        transaction.set_rollback(True)
    client.cookies = cookies
    return status


@pytest.mark.parametrize("name", DOORS)
def test_a_room_opens_for_the_roles_that_have_its_action_and_for_nobody_else(full, name):
    made, people = full
    door = DOORS[name]
    names = [made.get(one, one) for one in door.names]
    address, elsewhere = reverse(name, args=["acme", *names]), reverse(name, args=["no-such", *names])
    there = reverse(name, args=["acme", *door.unseen]) if door.unseen else None

    for method, action in (("get", door.get), ("post", door.post)):
        if not action:
            assert _asked(people["administrator"], method, address) == 405
            continue
        sent = {"data": dict(door.sends)} if method == "post" else {}
        for role, actions in ROLES.items():
            found = _asked(people[role], method, address, **sent)
            assert (found not in (401, 403, 404, 405)) if action in actions else found == 403, (method, role, found)
            if there and action in actions:
                assert _asked(people[role], method, there) == 404, (method, role)
            assert _asked(people[role], method, elsewhere) == 404
        assert _asked(people["stranger"], method, address) == 404
        assert _asked(Client(), method, address) == (302 if method == "get" else 401)


@pytest.mark.django_db
@pytest.mark.parametrize("address", OUTSIDE)
def test_what_stands_outside_workspaces_gives_a_visitor_nothing_of_them(address):
    method, status = OUTSIDE[address]
    path = address.replace("<path:rest>", "nothing").replace("<str:token>", "nothing")

    assert _asked(Client(), method, f"/{path}") == status


# --- the API ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def keys_of(full, workspace):
    """Keys of the walk: one that has everything but one right, one with that right alone, and one of another workspace."""
    other = registry.create_workspace("other", by=EDITOR)

    def keys_of(right: str) -> dict[str, str]:
        rest = [one for one in RIGHTS if one != right]
        return {
            "with": create_key(workspace, "default", rights=[right], by=SYSTEM)[1],
            "without": create_key(workspace, "default", rights=rest, by=SYSTEM)[1],
            "elsewhere": create_key(other, "default", rights=RIGHTS, by=SYSTEM)[1],
        }

    return keys_of


@pytest.mark.parametrize("name", CALLS)
def test_a_call_answers_keys_that_have_its_right_and_no_others(full, keys_of, name):
    made, _ = full
    call = CALLS[name]
    keys = keys_of(call.right)
    method, path, _ = operations()[name]
    known, unseen = _path(path, call.names, made), _path(path, call.unseen, made)

    def asked(key: str | None, address: str) -> int:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        body = {} if call.body is None else {"data": json.dumps(call.body), "content_type": "application/json"}
        query = "?query=fetch" if name == "search_tools_by_address" else ""
        return _asked(Client(), method, address + query, headers=headers, **body)

    assert asked(keys["with"], known) in (200, 201, 202, 409)
    assert asked(keys["without"], known) == 403
    assert (asked(None, known), asked("swy_nobody", known)) == (401, 401)
    if call.names:
        assert asked(keys["with"], unseen) == 404
        assert asked(keys["elsewhere"], known) == 404


@pytest.mark.parametrize("role", ROLES)
def test_a_key_may_what_its_maker_may_and_no_more(full, workspace, role):
    made, _ = full
    _, key = create_key(workspace, "default", rights=RIGHTS, by=Actor(kind="operator", name=f"the-{role}"))

    for name, call in CALLS.items():
        method, path, _ = operations()[name]
        headers = {"Authorization": f"Bearer {key}"}
        body = {} if call.body is None else {"data": json.dumps(call.body), "content_type": "application/json"}
        found = _asked(Client(), method, _path(path, call.names, made), headers=headers, **body)
        assert (found == 403) is (call.right not in rights_of(role)), (name, found)


def _path(path: str, names: dict[str, Any] | None, made: dict[str, Any]) -> str:
    for name, value in (names or {}).items():
        for holder in (f"{{{name}}}", f"{{path:{name}}}"):
            path = path.replace(holder, str(made.get(value, value)))
    return f"/api/v1{path}"
