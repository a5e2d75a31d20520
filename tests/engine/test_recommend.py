"""Answers: their shape and their bounds."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from routing.engine import describe_tool, load_registry, rank, resolve, resolve_detailed, search_tools
from routing.engine.recommend import HINTS
from routing.engine.summary import arguments
from tests.engine.tools import document, endpoint, office_catalog, schema, tool

ALWAYS = {
    "contract_version", "catalog_revision", "status", "confidence", "reason_codes", "query", "recommendation", "ambiguous", "alternatives",
    "hint", "probability", "match_probability", "tier",
}  # fmt: skip
OF_A_MATCH = {"matched_fraction", "score_gap", "alternatives_truncated"}


def test_an_answer_has_the_keys_of_the_contract() -> None:
    answer = resolve(office_catalog(), "list the events")

    assert set(answer) == ALWAYS | OF_A_MATCH
    assert set(answer["recommendation"]) == {
        "namespaced", "server", "tool", "title", "description", "server_description", "use_when", "tool_use_when", "score", "matched_terms",
        "metadata_truncated", "required_fields", "argument_template", "argument_template_truncated", "category", "risk", "effect",
    }  # fmt: skip
    assert (answer["contract_version"], answer["tier"]) == (1, "static")
    json.dumps(answer)


def test_no_match_leaves_out_what_only_a_match_has() -> None:
    answer = resolve(office_catalog(), "knit socks")

    assert set(answer) == ALWAYS
    assert (answer["recommendation"], answer["alternatives"], answer["ambiguous"], answer["confidence"]) == (
        None,
        [],
        False,
        "none",
    )


@pytest.mark.parametrize(("filler", "refused"), [("a" * 2048, False), ("a" * 2049, True), ("ä" * 1025, True)])
def test_a_query_over_the_cap_is_refused_and_not_repeated(filler: str, refused: bool) -> None:
    answer = resolve(office_catalog(), filler)

    assert (answer == {"error": "query exceeds 2048 bytes", "max_query_bytes": 2048}) is refused
    assert (filler in json.dumps(answer, ensure_ascii=False)) is not refused
    assert ("error" in search_tools(office_catalog(), filler)) is refused


@pytest.mark.parametrize(("wanted", "given"), [(-3, 5), (0, 5), (1, 1), (7, 7), (10, 10), (11, 10), (500, 10)])
def test_alternatives_are_bounded(wanted: int, given: int) -> None:
    catalog = load_registry(
        document(endpoint("grid", *(tool(f"inspect_{word}", "Inspect one workflow.") for word in "abcdefghijklmnopq")))
    )

    answer = resolve(catalog, "inspect one workflow", max_hits=wanted)

    assert len(answer["alternatives"]) == given
    assert answer["alternatives_truncated"]


def test_long_metadata_is_cut_and_the_cut_is_disclosed() -> None:
    catalog = load_registry(
        document(
            endpoint(
                "wordy",
                tool("speak", "talk " * 200),
                description="d" * 400,
                tags=[f"tag{n}" for n in range(9)],
                use_when=["h" * 250],
            )
        )
    )

    told = resolve(catalog, "speak")["recommendation"]

    assert told["metadata_truncated"]
    assert len(told["description"].encode()) <= 256 and told["description"].endswith("…")
    assert len(told["server_description"].encode()) <= 160
    assert all(len(hint.encode()) <= 128 for hint in told["use_when"])


def test_the_matches_fit_into_the_byte_limit() -> None:
    tools = [tool(f"inspect_{number:03}", "Inspect the workflow. " + "é" * 120) for number in range(100)]
    catalog = load_registry(document(endpoint("grid", *tools, description="w" * 160, use_when=["v" * 120, "u" * 120])))

    found = search_tools(catalog, "inspect workflow", max_hits=100)

    assert len(json.dumps(found["matches"], ensure_ascii=False, separators=(",", ":")).encode()) <= 12_288 + 2
    assert found["byte_limited"] and found["truncated"]
    assert (found["count"], found["returned"]) == (100, len(found["matches"]))


def test_each_outcome_has_its_own_hint() -> None:
    catalog = office_catalog()
    many = endpoint("wide", tool("spread", "Spread it.", input_schema=schema(**{f"f{n}": "string" for n in range(60)})))

    assert resolve(catalog, "fetch the URL as Markdown")["hint"] == HINTS["ready"]
    assert resolve(catalog, "list")["hint"] == HINTS["ambiguous"]
    assert resolve(catalog, "knit socks")["hint"] == HINTS["no_match"]
    assert resolve(catalog, "")["hint"] == HINTS["generic"]
    assert resolve(load_registry(document(many)), "spread it: wide spread")["hint"] == HINTS["describe"]


def test_required_inputs_come_first_in_the_schemas_order() -> None:
    given = arguments(schema(["to", "missing"], subject="string", to="array", body="string"))

    assert given.required == ("to", "missing")
    assert list(given.template.items()) == [
        ("to", "<value>"),
        ("missing", "<value>"),
        ("body", None),
        ("subject", None),
    ]
    assert not given.truncated


@pytest.mark.parametrize(
    ("schema_", "required", "fields"),
    [
        ({"properties": {f"p{n:02}": {} for n in range(49)}, "required": ["p01"]}, ("p01",), 1),
        ({"properties": {}, "required": [f"p{n:02}" for n in range(60)]}, tuple(f"p{n:02}" for n in range(48)), 48),
        ({"properties": {"n" * 129: {}, "ok": {}}}, (), 1),
        ({"properties": {f"{n:02}" + "n" * 98: {} for n in range(30)}}, (), 20),
        ({"properties": {"a": {}}, "required": ["a", 3]}, ("a",), 1),
        ({"properties": [], "required": "a"}, (), 0),
    ],
)
def test_a_breach_of_the_template_limits_is_disclosed(
    schema_: dict[str, object], required: tuple[str, ...], fields: int
) -> None:
    given = arguments(schema_)

    assert given.truncated
    assert given.required == required
    assert len(given.template) == fields


def test_a_tool_without_inputs_has_an_empty_template() -> None:
    assert arguments({}) == arguments({"type": "object"})
    assert (arguments({}).template, arguments({}).truncated) == ({}, False)


def test_search_without_content_words_lists_the_scope_by_name() -> None:
    found = search_tools(office_catalog(), "the")

    names = [one["namespaced"] for one in found["matches"]]
    assert names == sorted(names)
    assert (found["count"], found["truncated"]) == (10, False)
    assert all("score" not in one for one in found["matches"])


def test_search_ranks_like_resolve() -> None:
    for query in ("rainfall in the city next week", "put an appointment on the agenda", "newest messages"):
        answer = resolve(office_catalog(), query)
        listed = [answer["recommendation"], *answer["alternatives"]]

        found = search_tools(office_catalog(), query, max_hits=len(listed))

        assert [(one["namespaced"], one["score"]) for one in found["matches"]] == [
            (one["namespaced"], one["score"]) for one in listed
        ]
        assert found["count"] >= found["returned"]
        assert found["truncated"] is answer["alternatives_truncated"]


def test_search_leaves_meaning_out_where_the_policy_does() -> None:
    lexical = office_catalog(policies=[{"name": "default", "resolver": {"tier": "lexical"}}])

    by_words, by_meaning = (search_tools(one, "rainfall in town") for one in (lexical, office_catalog()))

    assert all(one.get("matched_terms") for one in by_words["matches"])
    assert by_words["matches"][0]["score"] < by_meaning["matches"][0]["score"]


@pytest.mark.parametrize("query", ["knit socks", "zxqvw blorfendish"])
def test_search_lists_nothing_where_nothing_fits(query: str) -> None:
    assert search_tools(office_catalog(), query)["matches"] == []


@pytest.mark.parametrize(("wanted", "given"), [(0, 20), (-1, 20), (7, 7), (1000, 100)])
def test_search_is_bounded(wanted: int, given: int) -> None:
    catalog = load_registry(document(endpoint("g", *(tool(f"t{number:03}") for number in range(120)))))

    assert search_tools(catalog, "", max_hits=wanted)["returned"] == given


@pytest.mark.parametrize("name", ["hitspec__fetch", "hitspec__hitspec_fetch"])
def test_a_tool_is_described_by_either_spelling(name: str) -> None:
    told = describe_tool(office_catalog(gateway={"pins": ["hitspec__fetch"]}), name)

    assert told is not None
    assert (told["namespaced"], told["downstream"], told["pinned"], told["available"]) == (
        "hitspec__fetch",
        "hitspec_fetch",
        True,
        True,
    )
    assert set(told["provenance"]) == {"category", "risk", "effect"}


def test_a_tool_outside_the_scope_cannot_be_described() -> None:
    catalog = office_catalog(scopes=[{"name": "narrow", "endpoints": ["mail"]}])

    assert describe_tool(catalog, "hitspec__fetch", scope="narrow") is None
    assert describe_tool(catalog, "nothing__here") is None


def test_a_tool_that_is_away_is_described_as_such() -> None:
    told = describe_tool(office_catalog(offline=("mail",)), "mail__send_email")

    assert told is not None and told["available"] is False


def test_an_unknown_scope_is_an_error() -> None:
    with pytest.raises(KeyError):
        resolve(office_catalog(), "fetch", scope="nowhere")


def test_what_services_keep_of_a_decision_holds_no_word_of_the_request() -> None:
    kept = resolve_detailed(office_catalog(), "fetch zanzibar pages as Markdown")

    assert kept.candidates[0].public == "hitspec__fetch"
    assert kept.candidates[0].probability == kept.answer["probability"]
    assert "zanzibar" not in repr(kept.candidates) and "markdown" not in repr(kept.candidates).lower()


def test_rank_orders_a_scope_and_gives_each_candidate_its_chance() -> None:
    found = rank(office_catalog(), "list the events of the calendar", limit=3)

    assert found[0].public == "calendar__list_events"
    assert sum(one.probability for one in found) <= 1.0001
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_the_policy_says_how_many_alternatives_where_nobody_else_does() -> None:
    catalog = office_catalog(policies=[{"name": "default", "resolver": {"max_hits": 1}}])

    assert len(resolve_detailed(catalog, "list the events and messages").answer["alternatives"]) == 1
    assert len(resolve_detailed(catalog, "list the events and messages", max_hits=2).answer["alternatives"]) == 2


def test_an_explanation_tells_the_kinds_of_match_apart() -> None:
    answer = resolve(office_catalog(), "display calender appointments of the event", explain=True)

    found = {
        (part["term"], part["match"]) for one in answer["explanation"]["candidates"] for part in one["contributions"]
    }
    assert {
        ("calend", "typo"),
        ("appoint", "exact"),
        ("event", "exact"),
        ("event", "stem"),
        ("display", "synonym"),
    } <= found


def test_an_explanation_says_what_would_change_the_answer() -> None:
    flips = resolve(office_catalog(offline=("mail",)), "send an email message", explain=True)["explanation"]["flips"]

    assert "mail__send_email would come first if it were available." in flips


def test_a_catalog_answers_many_threads_alike() -> None:
    catalog, queries = (
        office_catalog(),
        ["list the events", "send an emial", "fetch https://example.com/x", "rain tomorrow"] * 20,
    )

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda query: resolve(catalog, query), queries))

    assert answers == [resolve(office_catalog(), query) for query in queries]


@pytest.mark.parametrize(
    "hint", ["fetch as Markdown", "fetch a URL as Markdown", "fetch https://example.org/a/b as Markdown"]
)
def test_a_hint_that_says_just_what_is_asked_outranks_a_name_that_does(hint):
    named = {
        "name": "pages",
        "kind": "declared",
        "tools": [{"name": "fetch_markdown", "description": "Fetch a page as Markdown"}],
    }
    hinted = {
        "name": "reader",
        "kind": "declared",
        "tools": [{"name": "get", "description": "Get an address"}],
        "tool_use_when": {"get": [hint]},
    }
    catalog = load_registry({"version": 1, "endpoints": [named, hinted]})
    without = load_registry({"version": 1, "endpoints": [named, {**hinted, "tool_use_when": {}}]})

    assert best(resolve(catalog, "fetch https://example.com/guide as Markdown")) == "reader__get"
    assert best(resolve(without, "fetch https://example.com/guide as Markdown")) == "pages__fetch_markdown"


def best(answer):
    return (answer["recommendation"] or {}).get("namespaced")
