"""What holds of every answer, whatever the catalog and the request."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing.engine import describe_tool, load_registry, rank, resolve, resolve_detailed, search_tools
from tests.engine.tools import document, endpoint, tool

WORDS = (
    "list fetch delete create send page event email object bucket file plan search report forecast invoice table query run show "
    "calendar database note image weather team message symbol code index markdown"
).split()
FILLERS = [
    "the",
    "a",
    "please",
    "do not",
    "without",
    "https://example.com/delete/event",
    "and",
    "my",
    "calender",
    "why",
    "good",
    "tomorrow",
    "日本",
]

some_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
queries = st.lists(st.sampled_from(WORDS + FILLERS), max_size=9).map(" ".join)
tools = st.builds(
    lambda name, description, effect: tool("_".join(name), description, effect=effect),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
    some_words,
    st.sampled_from(["read", "write", "erase", "execute"]),
)
endpoints = st.lists(
    st.builds(
        lambda name, found, hint, description, enabled: endpoint(
            name,
            *found,
            use_when=[hint],
            description=description,
            enabled=enabled,
            tool_use_when={found[0]["name"]: [hint]},
        ),
        st.sampled_from(["one", "two", "three", "four", "five", "six"]),
        st.lists(tools, min_size=1, max_size=4, unique_by=lambda one: one["name"]),
        some_words,
        some_words,
        st.sampled_from([True, True, True, False]),
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda one: one["name"],
)


@given(endpoints, queries)
def test_the_parts_of_every_candidate_add_up_to_its_score(given_endpoints: list[dict[str, Any]], query: str) -> None:
    answer = resolve(load_registry(document(*given_endpoints)), query, explain=True)

    for candidate in answer["explanation"]["candidates"]:
        parts = [*candidate["contributions"], *candidate["adjustments"]]
        assert sum(part["score"] for part in parts) == pytest.approx(candidate["score"], abs=1e-6)
    scores = [candidate["score"] for candidate in answer["explanation"]["candidates"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) <= 20


@settings(max_examples=40)
@given(endpoints, queries, st.integers(0, 10_000))
def test_the_order_of_a_document_changes_no_answer(
    given_endpoints: list[dict[str, Any]], query: str, seed: int
) -> None:
    shuffled = copy.deepcopy(given_endpoints)
    random.Random(seed).shuffle(shuffled)
    for one in shuffled:
        random.Random(seed + 1).shuffle(one["tools"])

    one, other = (
        resolve(load_registry(document(*found)), query, explain=True) for found in (given_endpoints, shuffled)
    )

    assert one == other


@settings(max_examples=40)
@given(endpoints, endpoints, queries)
def test_what_is_out_of_scope_changes_nothing(
    inside: list[dict[str, Any]], outside: list[dict[str, Any]], query: str
) -> None:
    others = [{**one, "name": f"out-{one['name']}"} for one in outside]
    scopes = [{"name": "default", "endpoints": [one["name"] for one in inside]}]

    alone = load_registry(document(*inside, scopes=scopes))
    among = load_registry(document(*inside, *others, scopes=scopes))

    assert resolve(among, query, explain=True) == resolve(alone, query, explain=True)
    assert search_tools(among, query) == search_tools(alone, query)


@given(endpoints, queries, st.data())
def test_a_narrowed_scope_answers_like_a_catalog_of_those_tools(
    found: list[dict[str, Any]], query: str, data: st.DataObject
) -> None:
    every = [(one["name"], made["name"]) for one in found for made in one["tools"]]
    kept = data.draw(st.lists(st.sampled_from(every), unique=True))
    scopes = [{"name": "default", "tools": [f"{name}__{wire}" for name, wire in kept]}]
    answer = resolve(load_registry(document(*found, scopes=scopes)), query, explain=True)

    allowed = {name for name, _ in kept}
    shown = [answer["recommendation"], *answer["alternatives"], *answer["explanation"]["candidates"]]
    assert {one["namespaced"].split("__")[0] for one in shown if one} <= allowed


@given(endpoints, queries)
def test_the_control_fields_agree_with_each_other(found: list[dict[str, Any]], query: str) -> None:
    resolution = resolve_detailed(load_registry(document(*found)), query)
    answer = resolution.answer

    assert 0 <= answer["probability"] <= answer["match_probability"] <= 1
    assert answer["ambiguous"] is (answer["status"] == "ambiguous")
    if answer["status"] == "confident":
        assert answer["probability"] >= 0.8
        assert answer["confidence"] in ("high", "medium")
    if answer["status"] != "no_match":
        assert (answer["score_gap"] == 0) is ("score_tie" in answer["reason_codes"])
        assert answer["reason_codes"]
    enabled = {one["name"] for one in found if one["enabled"]}
    assert all(one["server"] in enabled for one in [answer["recommendation"], *answer["alternatives"]] if one)


@settings(max_examples=40)
@given(endpoints, queries, st.integers(0, 10_000))
def test_the_order_of_hints_and_tags_changes_no_score(found: list[dict[str, Any]], query: str, seed: int) -> None:
    for number, one in enumerate(found):
        one["tags"] = WORDS[number : number + 3]
        one["use_when"] = [*one["use_when"], *WORDS[number + 3 : number + 6]]
        one["tool_use_when"] = {key: [*hints, *one["use_when"]] for key, hints in one["tool_use_when"].items()}
    shuffled = copy.deepcopy(found)
    for one in shuffled:
        for listed in (one["tags"], one["use_when"], *one["tool_use_when"].values()):
            random.Random(seed).shuffle(listed)

    one, other = (resolve_detailed(load_registry(document(*given)), query) for given in (found, shuffled))

    assert one.candidates == other.candidates
    for key in ("status", "confidence", "reason_codes", "probability", "match_probability"):
        assert one.answer[key] == other.answer[key]


@settings(max_examples=40)
@given(endpoints, tools, queries)
def test_a_tool_that_is_denied_changes_nothing_for_its_neighbours(
    found: list[dict[str, Any]], other: dict[str, Any], query: str
) -> None:
    other["name"] = f"zz_{other['name']}"
    name = found[0]["name"]
    with_it = copy.deepcopy(found)
    with_it[0]["tools"].append(other)
    with_it[0]["tool_use_when"][other["name"]] = [query] if query.strip() else []
    scopes = [{"name": "default", "deny": [f"{name}__{other['name']}"]}]

    alone, among = load_registry(document(*found)), load_registry(document(*with_it, scopes=scopes))

    assert resolve(among, query, explain=True) == resolve(alone, query, explain=True)
    assert search_tools(among, query) == search_tools(alone, query)
    assert rank(among, query) == rank(alone, query)
    assert describe_tool(among, f"{name}__{other['name']}") is None


@settings(max_examples=80)
@given(endpoints, queries)
def test_without_the_hint_that_is_named_the_score_is_lower_by_what_it_brought(
    found: list[dict[str, Any]], query: str
) -> None:
    answer = resolve(load_registry(document(*found)), query, explain=True)
    named = [
        (one, part) for one in answer["explanation"]["candidates"] for part in one["contributions"] if "hint" in part
    ]
    if not named:
        return
    first = named[0][0]
    hint, field = named[0][1]["hint"], named[0][1]["field"]
    assert all(one is first and part["hint"] == hint and part["field"] == field for one, part in named)
    name = first["namespaced"].split("__")[0]
    less = copy.deepcopy(found)
    for one in less:
        if one["name"] == name and field == "use_when":
            one["use_when"].remove(hint)
        if one["name"] == name and field == "tool_use_when":
            one["tool_use_when"] = {}

    after = resolve(load_registry(document(*less)), query, explain=True)

    left = {one["namespaced"]: one for one in after["explanation"]["candidates"]}
    score = left[first["namespaced"]]["score"] if first["namespaced"] in left else 0.0
    brought = sum(part["score"] for _, part in named)
    assert brought > 0
    assert first["score"] - score == pytest.approx(brought, abs=1e-6)
    if not any("hint" in part for part in left.get(first["namespaced"], first)["contributions"]):
        others = [part for part in first["contributions"] if "hint" not in part]
        assert others == left[first["namespaced"]]["contributions"]


def test_a_hint_is_named_where_one_has_a_word_of_the_request() -> None:
    made = document(
        endpoint("web", tool("fetch"), tool("send"), tool_use_when={"fetch": ["plan the invoice"]}),
        endpoint("other", tool("plan")),
    )

    answer = resolve(load_registry(made), "please plan the invoice", explain=True)

    first = answer["explanation"]["candidates"][0]
    assert first["namespaced"] == "web__fetch"
    assert {part.get("hint") for part in first["contributions"] if part["field"] == "tool_use_when"} == {
        "plan the invoice"
    }
    assert "Without the hint “plan the invoice”, other__plan would come first." in answer["explanation"]["flips"]


any_characters = st.text(st.characters(exclude_categories=()), max_size=40)
mixed = st.lists(
    any_characters | st.sampled_from([*WORDS, *FILLERS, "\ud800", "\x00", "\u202e", "🧭", "ก็"]), max_size=12
)


@settings(max_examples=60)
@given(endpoints, mixed, st.sampled_from(["", " ", "_", "\n"]), st.sampled_from([1, 1, 1, 40]))
def test_any_text_gets_an_answer(found: list[dict[str, Any]], words: list[str], glue: str, times: int) -> None:
    query = glue.join(words * times)
    catalog = load_registry(document(*found))

    answer = resolve(catalog, query, explain=True)

    if len(query.encode(errors="surrogatepass")) > 2048:
        assert answer == {"error": "query exceeds 2048 bytes", "max_query_bytes": 2048}
        assert search_tools(catalog, query) == answer
    else:
        assert answer["status"] in ("confident", "ambiguous", "no_match")
        assert answer == resolve(catalog, query, explain=True)
        assert search_tools(catalog, query)["count"] >= 0
    assert describe_tool(catalog, query) is None
    rank(catalog, query)


@pytest.mark.parametrize("letter", ["a", "é", "字", "🧭", "\ud800", " ", "_", "/", "a ", "not ", "`", "ก"])
@pytest.mark.parametrize("size", [2047, 2048, 2049, 5000])
def test_one_letter_again_and_again_gets_an_answer(letter: str, size: int) -> None:
    bytes_each = len(letter.encode(errors="surrogatepass"))
    query = letter * (size // bytes_each)
    catalog = load_registry(document(endpoint("one", tool("a"), tool("字"), tool("not_a"))))

    assert ("error" in resolve(catalog, query)) is (len(query.encode(errors="surrogatepass")) > 2048)


# --- bounds ---------------------------------------------------------------------------------------------------------
long_text = st.text(st.sampled_from("aé字🧭 \n\t-"), max_size=700)
wide_text = st.text(st.sampled_from("aé字🧭 -"), min_size=1, max_size=60).map(lambda text: f"x{text}"[:60].strip())
wide_tools = st.builds(
    lambda name, title, description, fields, required: tool(
        f"{name}_find",
        f"find {description}",
        title=f"find {title}"[:200],
        input_schema={"type": "object", "properties": {field: {} for field in fields}, "required": required},
    ),
    st.sampled_from([f"t{number}" for number in range(40)]),
    wide_text,
    long_text,
    st.lists(st.text("ab字", max_size=140), max_size=60, unique=True),
    st.lists(st.text("ab字", max_size=140), max_size=60, unique=True),
)
wide_endpoints = st.lists(
    st.builds(
        lambda name, found, description, tags, hints: endpoint(
            name,
            *found,
            description=description,
            tags=tags,
            use_when=hints,
            tool_use_when={found[0]["name"]: hints},
        ),
        st.sampled_from([f"e{number}" for number in range(9)]),
        st.lists(wide_tools, min_size=1, max_size=12, unique_by=lambda one: one["name"]),
        long_text,
        st.lists(wide_text, max_size=12),
        st.lists(wide_text, max_size=8),
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda one: one["name"],
)


def size(value: Any) -> int:
    return len(value.encode(errors="replace") if isinstance(value, str) else json.dumps(value).encode())


def bounded(match: dict[str, Any]) -> None:
    assert size(match.get("title", "")) <= 160
    assert size(match["description"]) <= 256
    assert size(match.get("server_description", "")) <= 160
    for name, most, most_bytes in (
        ("tags", 6, 128),
        ("use_when", 3, 256),
        ("tool_use_when", 3, 256),
        ("matched_terms", 24, 256),
    ):
        items = match.get(name, [])
        assert len(items) <= most
        assert sum(map(size, items)) <= most_bytes
        assert all(size(item) <= 128 for item in items)


@settings(max_examples=25)
@given(wide_endpoints, st.sampled_from(["find", "find x a", "e1 t1 find 字"]), st.integers(-2, 14))
def test_every_answer_keeps_the_bounds(found: list[dict[str, Any]], query: str, hits: int) -> None:
    catalog = load_registry(document(*found))

    answer = resolve(catalog, query, max_hits=hits, explain=True)
    listed = search_tools(catalog, query, max_hits=100)

    for match in (*answer["alternatives"], *listed["matches"]):
        bounded(match)
    for matches in (answer["alternatives"], listed["matches"]):
        whole = len(json.dumps(matches, ensure_ascii=False, separators=(",", ":")).encode()) - 2
        assert whole <= 12_288 or len(matches) == 1
    assert len(answer["alternatives"]) <= (5 if hits <= 0 else min(hits, 10))
    assert len(listed["matches"]) == listed["returned"] <= listed["count"]
    assert listed["truncated"] is (listed["returned"] < listed["count"])
    assert 0 <= answer["probability"] <= answer["match_probability"] <= 1
    assert answer["probability"] == round(answer["probability"], 4)
    assert len(answer["explanation"]["candidates"]) <= 20
    assert all(0 <= one["probability"] <= answer["match_probability"] for one in answer["explanation"]["candidates"])
    if (best := answer["recommendation"]) is not None:
        bounded(best)
        template = best["argument_template"]
        assert len(template) <= 48
        assert all(0 < size(name) <= 128 for name in template)
        assert sum(map(size, template)) <= 2048
        assert best["required_fields"] == [name for name, value in template.items() if value == "<value>"]
    assert answer["recommendation"] is not None or answer["status"] == "no_match"
