"""The demo: documents that hold, loading that never overwrites, requests and outcomes that a seed decides."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import islice
from random import Random
from typing import Any

import pytest

from control import demo
from control.demo import build
from control.demo.documents import contextual_routing_document, default_document
from control.demo.keys import AUDIENCES, keys_by_audience
from control.demo.outcomes import simulate
from control.demo.requests import SHARES, read_questions, requests
from control.keys import find_harness
from control.models import Membership, Role
from routing.engine import Catalog, load_registry
from routing.engine.expectations import differences
from routing.engine.registry import Expectation
from routing.engine.validation import parse_document
from routing.models import EndpointRow, Workspace
from routing.models.actor import SYSTEM
from routing.services import registry, revisions

DOCUMENTS = {"default": default_document, "contextual-routing": contextual_routing_document}
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@pytest.fixture(scope="module")
def specialists() -> Catalog:
    return load_registry(contextual_routing_document())


@pytest.fixture(scope="module")
def published() -> Catalog:
    return load_registry(default_document())


# --- documents ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", DOCUMENTS.values(), ids=list(DOCUMENTS))
def test_a_demo_document_has_neither_problems_nor_warnings(make: Any) -> None:
    assert parse_document(make()).warnings == ()


def test_the_published_catalog_is_whole() -> None:
    endpoints = default_document()["endpoints"]

    assert len(endpoints) == 71
    assert sum(len(endpoint["tools"]) for endpoint in endpoints) == 644


@pytest.mark.parametrize("make", DOCUMENTS.values(), ids=list(DOCUMENTS))
def test_every_endpoint_name_obeys_the_rules_and_is_declared(make: Any) -> None:
    for endpoint in make()["endpoints"]:
        assert NAME.fullmatch(endpoint["name"]) and "__" not in endpoint["name"], endpoint["name"]
        assert endpoint["kind"] == "declared"


def test_a_renamed_server_keeps_its_published_name_as_title() -> None:
    titles = {endpoint["name"]: endpoint.get("title") for endpoint in default_document()["endpoints"]}

    assert titles["context7"] == "Context7"
    assert titles["github"] is None


def test_the_overlay_speaks_of_published_endpoints_and_tools_only() -> None:
    overlay = default_document()
    by_name = {endpoint["name"]: {tool["name"] for tool in endpoint["tools"]} for endpoint in overlay["endpoints"]}
    hinted = [endpoint for endpoint in overlay["endpoints"] if endpoint.get("use_when")]

    assert len(hinted) >= 15
    for endpoint in hinted:
        assert set(endpoint.get("tool_use_when", {})) <= by_name[endpoint["name"]], endpoint["name"]


def test_packing_the_same_catalog_twice_gives_the_same_bytes() -> None:
    tools = [
        {"server": "B", "name": "one", "description": "x", "input_schema": {}, "server_description": " b "},
        {
            "server": "a",
            "name": "two",
            "description": "y",
            "input_schema": {"type": "object"},
            "server_description": "a",
        },
    ]

    assert build.pack({"tools": tools}) == build.pack({"tools": tools})
    assert [endpoint["name"] for endpoint in build.endpoints(tools)] == ["a", "b"]


# --- what the resolver makes of them --------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [entry["name"] for entry in contextual_routing_document()["expectations"]])
def test_the_acceptance_checklist_of_contextual_routing_holds(specialists: Catalog, name: str) -> None:
    assert differences(named(specialists, name), specialists) == []


@pytest.mark.parametrize("name", [entry["name"] for entry in default_document()["expectations"]])
def test_the_expectations_over_the_published_catalog_hold(published: Catalog, name: str) -> None:
    assert differences(named(published, name), published) == []


def named(catalog: Catalog, name: str) -> Expectation:
    return next(entry for entry in catalog.registry.expectations if entry.name == name)


def test_ci_agents_see_no_tool_that_erases_a_repository(published: Catalog) -> None:
    assert not published.permits("ci-agents", "github", "delete_repository")
    assert not published.permits("ci-agents", "docker_mcp", "deploy-compose")
    assert published.permits("ci-agents", "git", "git_status")


# --- loading --------------------------------------------------------------------------------------------------------
@pytest.mark.django_db
def test_loading_publishes_both_workspaces_and_admits_administrators(admin_user: Any) -> None:
    demo.load(by=SYSTEM)

    for name, make in DOCUMENTS.items():
        workspace = Workspace.objects.get(name=name)
        assert len(revisions.live_document(workspace)["endpoints"]) == len(make()["endpoints"])
        assert Membership.objects.get(workspace=workspace, user=admin_user).role == Role.ADMINISTRATOR
        assert registry.draft_changes(workspace) == []


@pytest.mark.django_db
def test_loading_again_changes_nothing(admin_user: Any) -> None:
    demo.load(by=SYSTEM)
    before = list(Workspace.objects.values_list("name", "live_revision__number", "live_revision__digest"))

    demo.load(by=SYSTEM)

    assert list(Workspace.objects.values_list("name", "live_revision__number", "live_revision__digest")) == before


@pytest.mark.django_db
def test_a_workspace_with_somebody_s_endpoints_is_left_alone() -> None:
    mine = registry.create_workspace("default", by=SYSTEM)
    registry.replace_working_copy(mine, {"version": 1, "endpoints": [{"name": "mine", "kind": "declared"}]}, by=SYSTEM)

    demo.load(by=SYSTEM)

    assert list(EndpointRow.objects.filter(workspace=mine).values_list("name", flat=True)) == ["mine"]


# --- traffic --------------------------------------------------------------------------------------------------------
def test_a_seed_decides_the_requests() -> None:
    def first(seed: int) -> list[tuple[str, str, Any]]:
        return [(r.audience, r.path, r.body) for r in islice(requests(list(SHARES), seed=seed), 200)]

    assert first(7) == first(7)
    assert first(7) != first(8)
    assert {audience for audience, _, _ in first(7)} == set(SHARES)


def test_every_question_fits_the_limits_of_its_call() -> None:
    for audience, questions in read_questions().items():
        assert audience in SHARES
        assert all(0 < len(query.encode()) <= 2048 for query in questions.resolve)
        assert all(body["goal"] for body in questions.route)


def resolved(status: str, number: int) -> dict[str, Any]:
    best = None if status == "no_match" else {"namespaced": "a__one"}
    return {
        "status": status,
        "decision_id": str(number),
        "recommendation": best,
        "alternatives": [{"namespaced": "a__two"}],
    }


def outcomes_of(status: str) -> list[list[dict[str, Any]]]:
    answers = [(resolved(status, n), Random(n)) for n in range(600)]
    return [
        [dict(r.event) for r in simulate(answer, prefix=f"p-{n}", dice=dice)]
        for n, (answer, dice) in enumerate(answers)
    ]


def test_nothing_is_called_when_nothing_was_recommended() -> None:
    assert all(reports == [] for reports in outcomes_of("no_match"))


def test_outcomes_come_in_every_kind_and_in_the_order_of_the_facts() -> None:
    reports = outcomes_of("confident")
    statuses = Counter(event["status"] for events in reports for event in events)

    assert {"started", "ok", "error", "timeout", "unknown", "success", "failure", "partial"} <= set(statuses)
    assert any(not events for events in reports), "some advice is never followed"
    for events in reports:
        kinds = [event["kind"] for event in events]
        assert kinds == ["invocation", "transport_outcome", "domain_outcome"][: len(kinds)]
        if len(events) == 3:
            assert events[1]["status"] == "ok", "a call that did not return achieves nothing"


def test_ambiguous_advice_is_followed_less_often_than_confident_advice() -> None:
    followed = {status: sum(1 for events in outcomes_of(status) if events) for status in ("confident", "ambiguous")}

    assert followed["ambiguous"] < followed["confident"] / 2


def test_advice_to_erase_something_is_seldom_followed() -> None:
    def followed(effect: str) -> int:
        answers = [resolved("confident", number) for number in range(600)]
        for answer in answers:
            answer["recommendation"]["effect"] = effect
        return sum(1 for n, answer in enumerate(answers) if simulate(answer, prefix="p", dice=Random(n)))

    assert followed("erase") < followed("read") / 2


@pytest.mark.django_db
def test_demo_keys_are_made_once_and_reach_their_scopes(tmp_path: Any) -> None:
    demo.load(by=SYSTEM)
    first_run = {"harness_key": "k"}

    made = keys_by_audience(list(SHARES), tmp_path, first_run)

    assert keys_by_audience(list(SHARES), tmp_path, first_run) == made
    assert (tmp_path / "demo-keys.json").stat().st_mode & 0o077 == 0
    for name, audience in AUDIENCES.items():
        harness = find_harness(made[name])
        assert harness is not None and (harness.workspace, harness.scope) == (audience.workspace, audience.scope)


@pytest.mark.django_db
def test_a_demo_key_that_was_revoked_is_replaced_under_another_name(tmp_path: Any) -> None:
    demo.load(by=SYSTEM)
    (tmp_path / "demo-keys.json").write_text(json.dumps({"research": "swy_gone"}))
    keys_by_audience(["research"], tmp_path, {"harness_key": "k"})
    (tmp_path / "demo-keys.json").unlink()

    again = keys_by_audience(["research"], tmp_path, {"harness_key": "k"})

    harness = find_harness(again["research"])
    assert harness is not None and harness.name == "demo-notebook-2"
