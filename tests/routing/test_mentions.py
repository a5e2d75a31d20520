"""Every place of a registry that names an endpoint or one of its tools."""

from __future__ import annotations

import pytest

from routing import inventory, mentions
from routing.engine import load_registry
from routing.engine.errors import RegistryError
from routing.engine.validation import parse_document, without_entries

MODEL = {"name": "local", "kind": "ollama", "url": "http://models.example:11434"}
WHOLE = {
    "version": 1,
    "gateway": {"pins": ["git__log"]},
    "groups": {"code": ["git"]},
    "endpoints": [
        {"name": "git", "kind": "declared", "tools": [{"name": "git_log"}, {"name": "push", "enabled": False}]},
        {"name": "git-lab", "kind": "declared", "tools": [{"name": "log"}]},
        MODEL,
    ],
    "capabilities": [{"name": "history", "prefer": ["git-lab", "git"]}],
    "scopes": [
        {"name": "grouped", "endpoints": ["group:code"], "default_endpoint": "git"},
        {"name": "listed", "endpoints": ["git"], "tools": ["git__git_log"], "pins": ["git__*"]},
        {"name": "denied", "deny": ["git"]},
    ],
    "policies": [
        {
            "name": "careful",
            "selection": {"fallback_endpoints": ["git"]},
            "turns": {"summarizer": "local"},
            "execution": {"rules": [{"verdict": "deny", "risk": "high"}, {"verdict": "ask", "endpoint": "git"}]},
        }
    ],
    "expectations": [
        {"name": "finds", "query": "show the log", "expect": {"in_top_k": {"k": 3, "tools": ["git__log"]}}},
        {"name": "without", "query": "show the log", "offline": ["git"], "expect": {"status": ["no_match"]}},
    ],
}


def told(*endpoints: str) -> list[tuple[str, str]]:
    registry = parse_document(WHOLE).registry
    return [(one.who, one.place) for one in mentions.of_endpoints(registry, endpoints)]


def test_everything_that_names_an_endpoint_is_found():
    assert told("git") == [
        ("the gateway", "among its pins"),
        ("group code", "as a member"),
        ("capability history", "among the endpoints that it prefers"),
        ("scope grouped", "through its group code"),
        ("scope grouped", "as its default endpoint"),
        ("scope listed", "in its list of endpoints"),
        ("scope listed", "in its list of tools"),
        ("scope listed", "among its pins"),
        ("scope denied", "among what it denies"),
        ("policy careful", "among its fallback endpoints"),
        ("policy careful", "in execution rule 2"),
        ("expectation finds", "in what it expects"),
        ("expectation without", "as an endpoint that is away"),
    ]
    assert told("local") == [("policy careful", "as the summarizer of turns")]
    assert told("git-lab") == [("capability history", "among the endpoints that it prefers")]


@pytest.mark.parametrize("endpoint", ["git", "git-lab", "local"])
def test_what_the_registry_refuses_to_lose_is_named(endpoint):
    """Each place that the engine complains about is one that people are told of."""
    registry = parse_document(WHOLE).registry
    with pytest.raises(RegistryError) as refused:
        without_entries(registry, "endpoints", [endpoint])

    places = {problem["path"].split(".")[0].split("[")[0] for problem in refused.value.problems}
    nouns = {"gateway": "the gateway", "groups": "group", "capabilities": "capability", "scopes": "scope"}
    nouns |= {"policies": "policy", "expectations": "expectation"}
    assert {nouns[place] for place in places} <= {
        who if who[:4] == "the " else who.split()[0] for who, _ in told(endpoint)
    }


def test_reach_without_compiling_is_what_the_compiled_catalog_permits():
    registry, catalog = parse_document(WHOLE).registry, load_registry(WHOLE)

    for endpoint in registry.endpoints:
        reach = inventory.reach_of(registry, endpoint.name)
        assert set(reach) == set(catalog.scopes)
        for scope, (seen, every) in reach.items():
            docs = [doc for doc in catalog.tools(scope) if doc.endpoint.name == endpoint.name]
            assert (seen, every) == (len(docs), len(endpoint.tools)), (endpoint.name, scope)
    assert inventory.reach_of(registry, "nothing") is None
