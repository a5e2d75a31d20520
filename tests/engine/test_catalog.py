"""Catalogs: permission, revisions, and recompiling only what changed."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from routing.engine import RegistryError, load_registry, resolve
from tests.engine.tools import document, endpoint, office, office_catalog, tool


def names(catalog: Any, scope: str) -> set[str]:
    return {doc.public for doc in catalog.tools(scope)}


@pytest.mark.parametrize(
    ("scope", "reached"),
    [
        ({}, {"a__one", "a__two", "b__one"}),
        ({"endpoints": []}, set()),
        ({"tools": []}, set()),
        ({"endpoints": ["a"]}, {"a__one", "a__two"}),
        ({"tools": ["a__a_one"]}, {"a__one"}),
        ({"tools": ["a__one", "b__one"], "endpoints": ["b"]}, {"b__one"}),
        ({"endpoints": ["group:both"]}, {"a__one", "a__two", "b__one"}),
        ({"deny": ["a"]}, {"b__one"}),
        ({"deny": ["a__one"], "tools": ["a__one", "a__two"]}, {"a__two"}),
    ],
)
def test_a_scope_reaches_what_both_lists_permit_and_deny_does_not(scope: dict[str, Any], reached: set[str]) -> None:
    registry = document(
        endpoint("a", tool("a_one"), tool("two")),
        endpoint("b", tool("one")),
        groups={"both": ["a", "b"]},
        scopes=[{"name": "s", **scope}],
    )

    assert names(load_registry(registry), "s") == reached


def test_permission_is_on_the_exact_pair() -> None:
    registry = document(
        endpoint("live", tool("echo"), tool("live_echo")), scopes=[{"name": "s", "tools": ["live__live_echo"]}]
    )
    catalog = load_registry(registry)

    assert catalog.permits("s", "live", "live_echo")
    assert not catalog.permits("s", "live", "echo")


def test_a_default_scope_is_implied() -> None:
    assert len(office_catalog().tools("default")) == 10


def test_the_order_of_a_document_is_no_part_of_its_revision() -> None:
    turned = office()
    turned["endpoints"].reverse()
    for one in turned["endpoints"]:
        one["tools"].reverse()

    assert load_registry(turned).revision("default") == office_catalog().revision("default")


def changed(path: str, value: Any) -> dict[str, Any]:
    registry = copy.deepcopy(office())
    calendar = registry["endpoints"][1]
    target = calendar["tools"][0] if path.startswith("tool.") else calendar
    target[path.removeprefix("tool.")] = value
    return registry


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("tool.description", "Another."),
        ("tool.title", "Another"),
        (
            "tool.input_schema",
            {
                "type": "object",
                "properties": {"title": {"type": "array"}, "start": {"type": "string"}},
                "required": ["title"],
            },
        ),
        (
            "tool.input_schema",
            {"type": "object", "properties": {"title": {"type": "string"}, "start": {"type": "string"}}},
        ),
        ("tool.enabled", False),
        ("enabled", False),
        ("tags", ["arrange meetings and check free time"]),
        ("use_when", ["arrange meetings", "and check free time"]),
        ("tool_use_when", {"create_event": ["x"]}),
    ],
)
def test_whatever_a_tool_says_is_part_of_the_revision(path: str, value: Any) -> None:
    assert load_registry(changed(path, value)).revision("default") != office_catalog().revision("default")


def test_text_moved_from_one_field_to_another_makes_another_revision() -> None:
    one = load_registry(document(endpoint("a", tool("t"), tags=["x"], use_when=["y"])))
    other = load_registry(document(endpoint("a", tool("t"), tags=["y"], use_when=["x"])))

    assert one.revision("default") != other.revision("default")


def test_a_scopes_revision_is_its_own() -> None:
    scopes = [{"name": "mail", "endpoints": ["mail"]}]
    one = load_registry({**office(), "scopes": scopes})
    other = load_registry({**changed("tool.description", "Another."), "scopes": scopes})

    assert one.revision("mail") == other.revision("mail")
    assert one.revision("default") != other.revision("default")


def test_the_revision_has_the_shape_of_the_contract() -> None:
    name, digits = office_catalog().revision("default").rsplit("-", 1)

    assert name == "catalog-v1"
    assert len(digits) == 24 and int(digits, 16) >= 0


def test_one_changed_endpoint_leaves_the_other_parts_as_they_were() -> None:
    before = office_catalog()
    after = before.replace(endpoint("mail", tool("send_letter", "Post a letter on paper.")))

    kept = [part for part in after.index.parts if any(part is old for old in before.index.parts)]
    assert len(kept) == len(before.index.parts) - 1
    assert resolve(after, "send a letter on paper")["recommendation"]["namespaced"] == "mail__send_letter"
    assert "mail__send_letter" not in names(before, "default")


def test_a_replaced_endpoint_answers_as_if_loaded_anew() -> None:
    registry = office()
    registry["endpoints"][2] = endpoint("mail", tool("send_letter", "Post a letter on paper."))
    query = "list the events and send a letter"

    assert resolve(office_catalog().replace(registry["endpoints"][2]), query) == resolve(load_registry(registry), query)


def test_an_endpoint_that_nobody_knows_cannot_be_away() -> None:
    with pytest.raises(RegistryError) as caught:
        load_registry(office(), offline=("mail", "nowhere"))

    assert [problem["path"] for problem in caught.value.problems] == ["offline[1]"]


@pytest.mark.parametrize("key", ["impact", "codemap_impact", "codemap__impact"])
def test_a_hint_may_be_keyed_by_any_spelling(key: str) -> None:
    catalog = load_registry(
        document(
            endpoint(
                "codemap",
                tool("codemap_impact"),
                tool("codemap_find"),
                tool_use_when={key: ["estimate the blast radius"]},
            )
        )
    )

    assert resolve(catalog, "estimate the blast radius")["recommendation"]["tool_use_when"] == [
        "estimate the blast radius"
    ]


@pytest.mark.parametrize(
    "others", [[], [{"name": "x", "kind": "declared", "tools": [{"name": "x_get", "description": "Fetch a page"}]}]]
)
@pytest.mark.parametrize("enabled", [True, False])
def test_an_endpoint_without_tools_changes_no_answer_and_breaks_none(others, enabled):
    bare = {
        "name": "my-server",
        "kind": "declared",
        "enabled": enabled,
        "description": "Words that nobody else says",
        "tags": ["peculiar"],
        "use_when": ["something singular is wanted"],
    }
    for query in ("my serverr", "peculiar singular words", "fetch a page"):
        with_it = resolve(load_registry({"version": 1, "endpoints": [bare, *others]}), query)
        without = resolve(load_registry({"version": 1, "endpoints": others}), query)
        assert with_it == without


def test_replacing_an_endpoint_names_what_breaks_a_rule() -> None:
    with pytest.raises(RegistryError) as caught:
        office_catalog().replace({**office()["endpoints"][1], "kind": "telegraph"})
    assert [problem["path"] for problem in caught.value.problems] == ["endpoints[1].kind"]
