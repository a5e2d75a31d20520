"""`catalog_revision` changes exactly when something changes that routing reads: one row for every field of the document."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing.engine import load_registry, resolve, search_tools
from routing.engine.errors import RegistryError
from routing.engine.registry import (
    Capability,
    Endpoint,
    EndpointCapability,
    Expectation,
    Gateway,
    Policy,
    Provider,
    Registry,
    Scope,
    Tool,
)
from tests.engine.tools import document, endpoint, schema, tool

TOOL = "endpoints.0.tools.0."
ENDPOINT = "endpoints.0."
MODEL = "endpoints.1."

# path -> (what stands there instead, whether the catalog of the default scope is another one then)
CHANGES: dict[str, tuple[Any, bool]] = {
    TOOL + "name": ("hitspec_get", True),
    TOOL + "title": ("Get", True),
    TOOL + "description": ("Get it.", True),
    TOOL + "input_schema": (schema(["url"], url="string"), True),
    TOOL + "output_schema": ({"type": "array"}, False),
    TOOL + "annotations": ({"title": "Fetch it", "destructiveHint": True}, True),
    TOOL + "category": ("network", True),
    TOOL + "risk": ("high", True),
    TOOL + "effect": ("erase", True),
    TOOL + "overridden": (["category"], True),
    TOOL + "enabled": (False, True),
    ENDPOINT + "name": ("hitspex", True),
    ENDPOINT + "title": ("Web", True),
    ENDPOINT + "kind": ("mcp", False),
    ENDPOINT + "enabled": (False, True),
    ENDPOINT + "description": ("Bounded retrieval.", True),
    ENDPOINT + "tags": (["web", "http"], True),
    ENDPOINT + "capabilities": ([{"name": "web-fetch", "level": 0.5}], True),
    ENDPOINT + "use_when": (["read a public page"], True),
    ENDPOINT + "tool_use_when": ({"hitspec_fetch": ["read a page"]}, True),
    ENDPOINT + "tools": ([tool("hitspec_fetch", "Request one address.")], True),
    ENDPOINT + "url": ("https://other.example/mcp", False),
    ENDPOINT + "transport": ("sse", False),
    ENDPOINT + "launch": ("host:other", False),
    ENDPOINT + "credential": ("env:OTHER", False),
    ENDPOINT + "headers": ({"Accept": "text/plain"}, False),
    ENDPOINT + "plans_only": (True, False),
    ENDPOINT + "priority": (5, False),
    ENDPOINT + "max_concurrency": (2, False),
    ENDPOINT + "data_zone": ("eu", False),
    ENDPOINT + "owner": ("the web team", False),
    ENDPOINT + "note": ("moves in May", False),
    MODEL + "model": ("other", False),
    MODEL + "context_window": (4096, False),
    MODEL + "effective_context": (2048, False),
    MODEL + "tool_tier": ("prose", False),
    MODEL + "features": ({"streaming": True}, False),
    MODEL + "cost_in": (2.0, False),
    MODEL + "cost_out": (3.0, False),
    MODEL + "adapters": ([{"capability": "web-fetch"}], False),
    ENDPOINT + "capabilities.0.name": ("other", True),
    ENDPOINT + "capabilities.0.level": (0.25, True),
    ENDPOINT + "capabilities.0.provenance": ("measured", False),
    "capabilities.0.name": ("mailing", True),  # then nobody carries the one that is described
    "capabilities.0.description": ("Gets pages.", False),
    "capabilities.0.synonyms": (["ophalen", "hämta"], True),
    "capabilities.0.keywords": (["adres"], True),
    "capabilities.0.prefer": (["mail"], False),
    "capabilities.0.deprecated": (True, False),
    "capabilities.0.replaced_by": ("other", False),
    "scopes.0.name": ("others", False),
    "scopes.0.endpoints": (["mail"], True),
    "scopes.0.tools": (["hitspec__fetch"], True),
    "scopes.0.deny": (["mail__send"], True),
    "scopes.0.pins": (["mail"], False),
    "scopes.0.mode": ("direct", False),
    "scopes.0.expose": ("all", False),
    "scopes.0.tool_schema_budget_bytes": (100, False),
    "scopes.0.policy": ("strict", False),
    "scopes.0.policies": (["default", "strict"], False),
    "scopes.0.data_zones": (["eu"], False),
    "scopes.0.default_endpoint": ("small", False),
    "scopes.0.harness": ({"type": "cli"}, False),
    "policies.0.name": ("stricter", False),
    "policies.0.extends": ("default", False),
    "policies.0.routing": ("advise", False),
    "policies.0.lane": ({"resolve": "worker"}, False),
    "policies.0.resolver": ({"confident_at": 0.9}, False),
    "policies.0.router": ({"candidates": 3}, False),
    "policies.0.mcts": ({"simulations": 3}, False),
    "policies.0.execution": ({"rules": [{"verdict": "ask"}]}, False),
    "policies.0.tool_calls": ({"mode": "off"}, False),
    "policies.0.selection": ({"sticky": False}, False),
    "policies.0.turns": ({"keep_last_turns": 2}, False),
    "gateway.expose": ("all", False),
    "gateway.pins": (["mail"], False),
    "gateway.connect_timeout_s": (3, False),
    "gateway.call_timeout_s": (3, False),
    "gateway.response_budget_bytes": (512, False),
    "gateway.verbatim": (True, False),
    "groups": ({"web": ["small", "mail"]}, False),
    "providers": ([{"name": "far", "kind": "openrouter"}], False),
    "task_rules": ([{"id": "one"}], False),
    "contracts": ([{"id": "one"}], False),
    "expectations": ([{"name": "one", "query": "fetch", "expect": {"ambiguous": False}}], False),
}  # fmt: skip

# Fields of the document that have no row: those whose entries have rows of their own, and those that only tell tests.
COVERED = {Registry: {"gateway", "endpoints", "capabilities", "scopes", "policies"}, Provider: None, Expectation: None}
OF = {
    Tool: TOOL,
    Endpoint: ENDPOINT,
    EndpointCapability: ENDPOINT + "capabilities.0.",
    Capability: "capabilities.0.",
    Scope: "scopes.0.",
    Policy: "policies.0.",
    Gateway: "gateway.",
    Registry: "",
}


def whole() -> dict[str, Any]:
    web = endpoint(
        "hitspec",
        tool("hitspec_fetch", "Request one address.", input_schema=schema(url="string"), category="fetching"),
        tool("hitspec_validate", "Check one request."),
        capabilities=[{"name": "web-fetch"}],
        tags=["web"],
        use_when=["retrieve a public page"],
    )
    small = {"name": "small", "kind": "openai", "url": "http://127.0.0.1:9/v1", "model": "one"}
    mail = endpoint("mail", tool("send", "Deliver a message."))
    return document(
        web,
        small,
        mail,
        gateway={},
        groups={"web": ["mail"]},
        capabilities=[{"name": "web-fetch", "synonyms": ["ophalen"]}, {"name": "other"}],
        scopes=[{"name": "default"}],
        policies=[{"name": "strict"}],
    )


def changed(path: str, value: Any) -> dict[str, Any]:
    made = copy.deepcopy(whole())
    *way, last = path.split(".")
    if path in (ENDPOINT + "kind", ENDPOINT + "url", ENDPOINT + "transport"):
        made["endpoints"][0] |= {"kind": "mcp", "url": "https://one.example/mcp"}
    if path == ENDPOINT + "launch":
        made["endpoints"][0] |= {"kind": "mcp", "launch": "host:one"}
    place: Any = made
    for step in way:
        place = place[int(step)] if step.isdecimal() else place[step]
    place[last] = value
    return made


@pytest.mark.parametrize("path", CHANGES)
def test_a_revision_changes_exactly_with_what_routing_reads(path: str) -> None:
    value, another = CHANGES[path]

    before, after = load_registry(whole()), load_registry(changed(path, value))

    assert (before.revision("default") != after.revision("default")) is another


@pytest.mark.parametrize("kind", OF)
def test_every_field_of_the_document_has_a_row(kind: Any) -> None:
    named = {path.removeprefix(OF[kind]).split(".")[0] for path in CHANGES if path.startswith(OF[kind])}
    if kind is Endpoint:
        named |= {path.removeprefix(MODEL) for path in CHANGES if path.startswith(MODEL)}

    assert {one.name for one in dataclasses.fields(kind)} - (COVERED.get(kind) or set()) <= named


@pytest.mark.parametrize("offline", [(), ("mail",), ("small",)])
def test_an_endpoint_with_tools_that_is_away_makes_another_catalog(offline: tuple[str, ...]) -> None:
    catalog = load_registry(whole())

    assert (catalog.with_offline(offline).revision("default") != catalog.revision("default")) is (offline == ("mail",))


@pytest.mark.parametrize("moved", [("use_when", "tags"), ("tags", "use_when")])
def test_a_word_that_moves_from_one_field_to_another_is_seen(moved: tuple[str, str]) -> None:
    made = whole()
    source, to = moved
    made["endpoints"][0][to] = [*made["endpoints"][0][to], *made["endpoints"][0][source]]
    made["endpoints"][0][source] = []

    assert load_registry(made).revision("default") != load_registry(whole()).revision("default")


def test_a_hint_under_either_spelling_of_its_tool_is_the_same_catalog() -> None:
    one, other = (
        load_registry(changed(ENDPOINT + "tool_use_when", {key: ["read a page"]})) for key in ("fetch", "hitspec_fetch")
    )

    assert one.revision("default") == other.revision("default")


QUERIES = ("fetch the page", "ophalen", "deliver a message", "check the request", "retrieve a public page", "page")
paths = st.lists(
    st.sampled_from(sorted(path for path in CHANGES if not path.startswith(("scopes.", "policies.", TOOL + "name")))),
    min_size=1,
    max_size=3,
    unique=True,
)


@settings(max_examples=25)
@given(paths)
def test_equal_revisions_give_equal_answers(several: list[str]) -> None:
    made = whole()
    for path in several:
        *way, last = path.split(".")
        place: Any = made
        for step in way:
            place = place[int(step)] if step.isdecimal() else place[step]
        place[last] = CHANGES[path][0]
        if path.endswith("kind"):
            made["endpoints"][0]["url"] = "https://one.example/mcp"
    try:
        other = load_registry(made)
    except RegistryError:  # some changes fit only with others
        return
    before = load_registry(whole())

    if before.revision("default") == other.revision("default"):
        for query in QUERIES:
            assert resolve(other, query, explain=True) == resolve(before, query, explain=True)
            assert search_tools(other, query) == search_tools(before, query)
