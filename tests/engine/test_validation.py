"""What a registry document must be, and that every breach is told at once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing.engine.canonical import document_digest
from routing.engine.errors import RegistryError
from routing.engine.registry import Registry
from routing.engine.validation import parse_document, to_document

CANARY = "sk-canary-0123456789abcdef"


def problems(document: Any) -> dict[str, dict[str, Any]]:
    with pytest.raises(RegistryError) as caught:
        parse_document(document)
    return {problem["path"]: problem for problem in caught.value.problems}


def endpoint(**fields: Any) -> dict[str, Any]:
    return {"name": "hitspec", "kind": "declared", **fields}


def with_endpoint(**fields: Any) -> dict[str, Any]:
    return {"version": 1, "endpoints": [endpoint(**fields)]}


def with_policy(**fields: Any) -> dict[str, Any]:
    return {"version": 1, "policies": [{"name": "careful", **fields}]}


def with_tools(*names: str, **more: Any) -> dict[str, Any]:
    return {**with_endpoint(tools=[{"name": name} for name in names]), **more}


def test_the_shortest_document_says_nothing():
    assert parse_document({"version": 1}).registry == Registry()


def test_every_problem_is_told_at_once_with_its_place():
    found = problems(
        {
            "version": 2,
            "gateway": {"expose": "some", "connect_timeout_s": 0},
            "endpoints": [
                {"name": "A", "kind": "declared"},
                {"name": "b", "kind": "ftp"},
                {"name": "c", "kind": "mcp", "tools": [{"name": "x", "risk": "huge"}]},
            ],
            "nonsense": 1,
        }
    )

    assert set(found) == {
        "version",
        "gateway.expose",
        "gateway.connect_timeout_s",
        "endpoints[0].name",
        "endpoints[1].kind",
        "endpoints[2].url",
        "endpoints[2].tools[0].risk",
        "nonsense",
    }
    assert found["endpoints[2].tools[0].risk"]["allowed"] == ["low", "medium", "high", "critical"]
    assert found["endpoints[2].tools[0].risk"]["value"] == "huge"


@pytest.mark.parametrize("name", ["hitspec", "a", "0", "a.b-c_d", "x" * 64])
def test_a_name_of_the_allowed_characters_is_taken(name):
    assert parse_document(with_endpoint(name=name)).registry.endpoints[0].name == name


@pytest.mark.parametrize(
    "name",
    ["", "A", "a__b", "a_", "-a", ".a", "_a", "x" * 65, "a b", "mcphub", "switchyard", "é", None, 1, ["a"], "a\n"],
)
def test_a_name_outside_the_rules_is_a_problem(name):
    assert "endpoints[0].name" in problems(with_endpoint(name=name))


def test_a_name_is_unique_in_its_list():
    twice = problems({"version": 1, "scopes": [{"name": "a"}, {"name": "b"}, {"name": "a"}]})

    assert twice["scopes[2].name"]["message"] == "is the name of scopes[0] too"


def test_tool_names_are_kept_as_published_and_unique_per_endpoint():
    document = {
        "version": 1,
        "endpoints": [
            endpoint(tools=[{"name": "Do It/now"}]),
            {"name": "b", "kind": "declared", "tools": [{"name": "Do It/now"}]},
        ],
    }

    assert [one.tools[0].name for one in parse_document(document).registry.endpoints] == ["Do It/now"] * 2
    assert "endpoints[0].tools[1].name" in problems(with_tools("x", "x"))


@pytest.mark.parametrize("name", ["", "x" * 257, "a\nb", "a\x00", "\ud800", "a\x85b", 3, None])
def test_a_tool_name_without_end_or_with_control_characters_is_a_problem(name):
    assert "endpoints[0].tools[0].name" in problems(with_endpoint(tools=[{"name": name}]))


@pytest.mark.parametrize(
    "hint",
    [
        "",
        "  ",
        "x" * 257,
        "é" * 129,
        "a\tb",
        "a\nb",
        "a\x9f",
        "a\u202eb",
        "\u2066a\u2069",
        "\u200b",
        " \u2060\ufeff\u3164",
        1,
        None,
    ],
)
def test_a_hint_is_one_line_of_at_most_256_bytes(hint):
    assert "endpoints[0].use_when[0]" in problems(with_endpoint(use_when=[hint]))
    assert "endpoints[0].tool_use_when.x[0]" in problems(with_endpoint(tool_use_when={"x": [hint]}))


@pytest.mark.parametrize(
    ("name", "message"),
    [("fetch\u202ehctef", "must not hold direction marks"), ("\u200b\u2060", "must not be blank")],
)
def test_a_tools_name_can_be_seen_and_turns_nothing_round(name, message):
    assert problems(with_tools(name))["endpoints[0].tools[0].name"]["message"] == message


def test_only_a_trait_that_is_given_is_overridden():
    def told(**tool):
        return problems(with_endpoint(tools=[{"name": "x", **tool}]))

    assert told(overridden=["risk"])["endpoints[0].tools[0].overridden"]["message"] == (
        "names risk, which this tool does not give"
    )
    assert "endpoints[0].tools[0].overridden[0]" in told(overridden=["name"])
    assert "endpoints[0].tools[0].overridden" in told(overridden="risk", risk="low")


def test_overridden_traits_have_one_spelling():
    written = {"name": "x", "effect": "read", "category": "git", "overridden": ["effect", "category", "effect"]}

    registry = parse_document({"version": 1, "endpoints": [endpoint(tools=[written])]}).registry

    tool = to_document(registry)["endpoints"][0]["tools"][0]
    assert tool["overridden"] == ["category", "effect"]


def test_words_that_run_right_to_left_and_joined_emoji_are_hints_like_others():
    hints = ["לחפש קובץ", "\u200fابحث", "👩\u200d💻 review code"]

    assert parse_document(with_endpoint(use_when=hints)).registry.endpoints[0].use_when == tuple(hints)


def test_a_declared_endpoint_has_no_url():
    assert "declared" in problems(with_endpoint(url="https://x.example"))["endpoints[0].url"]["message"]


def test_a_hint_may_fill_256_bytes_and_a_list_may_hold_eight():
    assert parse_document(with_endpoint(use_when=["é" * 128] * 8)).registry.endpoints[0].use_when == ("é" * 128,) * 8
    assert "endpoints[0].use_when" in problems(with_endpoint(use_when=["x"] * 9))


def test_tool_hints_may_have_128_keys():
    assert parse_document(with_endpoint(tool_use_when={f"t{n}": ["x"] for n in range(128)})).warnings
    assert "endpoints[0].tool_use_when" in problems(with_endpoint(tool_use_when={f"t{n}": ["x"] for n in range(129)}))


def test_a_tool_hint_may_use_any_spelling_and_one_that_meets_no_tool_is_a_warning():
    document = with_tools("hitspec_fetch", "hitspec_list", "ping")
    document["endpoints"][0]["tool_use_when"] = {
        "hitspec_fetch": ["a"],
        "list": ["b"],
        "hitspec__ping": ["c"],
        "gone": ["d"],
    }

    warnings = parse_document(document).warnings

    assert [warning["path"] for warning in warnings] == ["endpoints[0].tool_use_when.gone"]


def test_two_spellings_of_one_tool_are_a_warning():
    document = with_tools("hitspec_fetch")
    document["endpoints"][0]["tool_use_when"] = {"hitspec_fetch": ["a"], "fetch": ["b"]}

    assert [warning["path"] for warning in parse_document(document).warnings] == ["endpoints[0].tool_use_when.fetch"]


def test_unknown_capability_names_are_a_warning():
    warnings = parse_document(
        with_endpoint(capabilities=["web-fetch", {"name": "long-context", "level": 0.5}])
    ).warnings

    assert [warning["path"] for warning in warnings] == ["endpoints[0].capabilities[0]", "endpoints[0].capabilities[1]"]


@pytest.mark.parametrize("fields", [{"kind": "mcp"}, {"kind": "openai"}, {"kind": "ollama", "launch": None}])
def test_a_target_is_required_unless_declared_or_launched(fields):
    assert "endpoints[0].url" in problems(with_endpoint(**fields))


def test_a_launched_endpoint_needs_no_url_and_no_command_is_taken():
    assert (
        parse_document(with_endpoint(kind="mcp", launch="host:hitspec")).registry.endpoints[0].launch == "host:hitspec"
    )
    assert "endpoints[0].launch" in problems(with_endpoint(kind="mcp", launch="npx -y hitspec"))
    assert "endpoints[0].launch" in problems(with_endpoint(kind="openai", url="https://x.example", launch="host:a"))


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x.example",
        "x.example",
        "http://",
        "https://a b",
        "http://x.example:99999",
        "javascript:1",
        5,
        "http://x\n",
        "http://[::1",
    ],
)
def test_a_url_is_http_or_https_with_a_host(url):
    assert "endpoints[0].url" in problems(with_endpoint(kind="mcp", url=url))


SECRETS = [
    with_endpoint(kind="mcp", url="https://x.example", credential=CANARY),
    with_endpoint(kind="mcp", url="https://x.example", headers={"Authorization": f"Bearer {CANARY}"}),
    with_endpoint(kind="mcp", url="https://x.example", headers={"X-Api-Key": CANARY}),
    with_endpoint(kind="mcp", url="https://x.example", headers={"X-Anything": CANARY}),
    with_endpoint(kind="mcp", url="https://x.example", headers={"Authorization": [CANARY]}),
    with_endpoint(kind="mcp", url=f"https://user:{CANARY}@x.example/"),
    with_endpoint(kind="mcp", url=f"https://x.example/?api_key={CANARY}"),
    with_endpoint(kind="mcp", url=[CANARY]),
    with_endpoint(kind="mcp", url="https://x.example", launch=CANARY),
    with_endpoint(kind="mcp", url="https://x.example", api_key=CANARY),
    with_endpoint(kind="mcp", url="https://x.example", credentials={"token": CANARY}),
    with_endpoint(kind=CANARY),
    {"version": 1, "providers": [{"name": "p", "kind": "openrouter", "credential": CANARY}]},
    {"version": 1, "providers": [{"name": "p", "kind": "local", "credential": CANARY}]},
    {"version": 1, "scopes": [{"name": "s", "policy": CANARY}]},
]


@pytest.mark.parametrize("document", SECRETS)
def test_a_literal_secret_is_a_problem_and_never_repeated(document):
    found = problems(document)

    assert CANARY not in json.dumps(found)


@pytest.mark.parametrize("value", ["hunter2", "x", "Basic dXNlcjpwYXNz"])
@pytest.mark.parametrize(
    "header", ["Authorization", "X-API-Key", "api-key", "Cookie", "X-Auth-Token", "Proxy-Authorization", "X-Secret"]
)
def test_a_header_that_carries_secrets_takes_references_only(header, value):
    found = problems(with_endpoint(headers={header: value}))

    assert "value" not in found[f"endpoints[0].headers.{header}"]


HARMLESS = {
    "Accept": "application/json, text/event-stream",
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101",
    "X-Team": "search-and-discovery-platform-team-2",
    "Accept-Language": "en-GB",
    "X-Version": "2026-01-31",
    "X-Github-Api": "application/vnd.github.v3+json",
}


def test_references_and_harmless_literals_are_kept():
    headers = {"Authorization": "env:HITSPEC_TOKEN", "X-Key": "vault:team/hitspec", **HARMLESS}

    assert parse_document(with_endpoint(headers=headers)).registry.endpoints[0].headers == headers


@pytest.mark.parametrize(
    "headers", [{"a b": "x"}, {"X-A": "x\r\ny: z"}, {"X-A": 1}, {"X-A": "x", "x-a": "y"}, {"": "x"}, [1]]
)
def test_odd_headers_are_problems(headers):
    assert problems(with_endpoint(headers=headers))


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"enabled": 1}, "enabled"),
        ({"enabled": "true"}, "enabled"),
        ({"priority": True}, "priority"),
        ({"priority": "1"}, "priority"),
        ({"priority": 1.5}, "priority"),
        ({"cost_in": float("nan")}, "cost_in"),
        ({"cost_in": float("inf")}, "cost_in"),
        ({"cost_in": -1}, "cost_in"),
        ({"cost_in": True}, "cost_in"),
        ({"tags": "web"}, "tags"),
        ({"tags": None}, "tags"),
        ({"description": None}, "description"),
        ({"description": 1}, "description"),
        ({"transport": "sse"}, "transport"),
        ({"features": {"vision": "yes"}}, "features.vision"),
        ({"features": {"sight": True}}, "features.sight"),
        ({"capabilities": [{"name": "x", "level": 1.1}]}, "capabilities[0].level"),
        ({"context_window": 0}, "context_window"),
        ({"tools": {}}, "tools"),
        ({"tools": [{"name": "x", "input_schema": []}]}, "tools[0].input_schema"),
        ({"tools": [{"name": "x", "input_schema": {"a": {1}}}]}, "tools[0].input_schema.a"),
        ({"tools": [{"name": "x", "input_schema": {1: "a"}}]}, 'tools[0].input_schema["int key"]'),
        ({"tools": [{"name": "x", "annotations": {"a": float("nan")}}]}, "tools[0].annotations.a"),
        ({"tools": [{"name": "x", "effect": "reads"}]}, "tools[0].effect"),
        ({"adapters": [{"type": "lora"}]}, "adapters[0].capability"),
        ({"adapters": [{"capability": "x", "score": {"min": 1, "max": 0}}]}, "adapters[0].score.max"),
    ],
)
def test_types_are_strict_and_numbers_finite(fields, path):
    assert f"endpoints[0].{path}" in problems(with_endpoint(**fields))


def test_exec_is_read_as_execute():
    tool = parse_document(with_endpoint(tools=[{"name": "run", "effect": "exec"}])).registry.endpoints[0].tools[0]

    assert tool.effect == "execute"


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (with_tools("x", scopes=[{"name": "s", "endpoints": ["nope"]}]), "scopes[0].endpoints[0]"),
        (with_tools("x", scopes=[{"name": "s", "endpoints": ["group:nope"]}]), "scopes[0].endpoints[0]"),
        (with_tools("x", scopes=[{"name": "s", "tools": ["hitspec__nope"]}]), "scopes[0].tools[0]"),
        (with_tools("x", scopes=[{"name": "s", "tools": ["x"]}]), "scopes[0].tools[0]"),
        (with_tools("x", scopes=[{"name": "s", "deny": ["nope"]}]), "scopes[0].deny[0]"),
        (with_tools("x", scopes=[{"name": "s", "pins": ["nope__*"]}]), "scopes[0].pins[0]"),
        (with_tools("x", scopes=[{"name": "s", "policy": "nope"}]), "scopes[0].policy"),
        (with_tools("x", scopes=[{"name": "s", "policies": ["fast", "nope"]}]), "scopes[0].policies[1]"),
        (with_tools("x", scopes=[{"name": "s", "default_endpoint": "nope"}]), "scopes[0].default_endpoint"),
        (with_tools("x", gateway={"pins": ["hitspec__nope"]}), "gateway.pins[0]"),
        (with_tools("x", groups={"g": ["nope"]}), "groups.g[0]"),
        (with_tools("x", capabilities=[{"name": "c", "prefer": ["nope"]}]), "capabilities[0].prefer[0]"),
        (with_tools("x", capabilities=[{"name": "c", "replaced_by": "nope"}]), "capabilities[0].replaced_by"),
        (with_policy(extends="nope"), "policies[0].extends"),
        (with_policy(router={"providers": ["nope"]}), "policies[0].router.providers[0]"),
        (with_policy(selection={"fallback_endpoints": ["nope"]}), "policies[0].selection.fallback_endpoints[0]"),
        (with_policy(turns={"summarizer": "nope"}), "policies[0].turns.summarizer"),
        (
            with_tools(
                "x", expectations=[{"name": "e", "scope": "nope", "query": "q", "expect": {"ambiguous": False}}]
            ),
            "expectations[0].scope",
        ),
        (
            with_tools("x", expectations=[{"name": "e", "query": "q", "expect": {"recommendation": "hitspec__y"}}]),
            "expectations[0].expect.recommendation",
        ),
        (
            with_tools(
                "x", expectations=[{"name": "e", "query": "q", "expect": {"in_top_k": {"k": 1, "tools": ["a__b"]}}}]
            ),
            "expectations[0].expect.in_top_k.tools[0]",
        ),
        (
            with_tools(
                "x", expectations=[{"name": "e", "query": "q", "offline": ["nope"], "expect": {"ambiguous": False}}]
            ),
            "expectations[0].offline[0]",
        ),
        (with_tools("x", expectations=[{"name": "e", "query": "q", "activity": {}, "expect": {}}]), "expectations[0]"),
        (with_tools("x", expectations=[{"name": "e", "query": "q"}]), "expectations[0].expect"),
        (
            with_tools("x", expectations=[{"name": "e", "query": "q", "expect": {"status": "confident"}}]),
            "expectations[0].expect.status",
        ),
    ],
)
def test_a_name_that_is_used_must_exist(document, path):
    assert path in problems(document)


def test_names_that_exist_may_be_used_in_either_spelling_also_of_a_disabled_endpoint():
    document = with_tools(
        "hitspec_fetch",
        groups={"web": ["hitspec"]},
        gateway={"pins": ["hitspec", "hitspec__*", "hitspec__fetch"]},
        scopes=[
            {
                "name": "s",
                "endpoints": ["group:web", "hitspec"],
                "tools": ["hitspec__fetch", "hitspec__hitspec_fetch"],
                "deny": ["hitspec__fetch"],
                "policy": "fast",
            }
        ],
        expectations=[
            {"name": "e", "scope": "s", "query": "", "offline": ["hitspec"], "expect": {"recommendation": None}}
        ],
    )
    document["endpoints"][0]["enabled"] = False

    assert parse_document(document).warnings == ()


def test_tools_of_an_endpoint_that_was_not_asked_yet_are_a_warning():
    document = {
        "version": 1,
        "endpoints": [endpoint(kind="mcp", url="https://x.example")],
        "scopes": [{"name": "s", "tools": ["hitspec__fetch"]}],
    }

    assert [warning["path"] for warning in parse_document(document).warnings] == ["scopes[0].tools[0]"]


def test_policies_that_extend_each_other_in_a_circle_are_each_named():
    circle = [
        {"name": "a", "extends": "b"},
        {"name": "b", "extends": "c"},
        {"name": "c", "extends": "a"},
        {"name": "d", "extends": "a"},
    ]

    assert set(problems({"version": 1, "policies": circle})) == {f"policies[{n}].extends" for n in range(3)}
    assert "policies[0].extends" in problems(with_policy(name="own", extends="own"))


def test_a_policy_may_extend_an_implied_one():
    assert parse_document(with_policy(extends="fast")).registry.policies[0].extends == "fast"


@pytest.mark.parametrize(
    ("block", "bad", "path"),
    [
        ("resolver", {"max_hits": 0}, "max_hits"),
        ("resolver", {"max_hits": 11}, "max_hits"),
        ("resolver", {"confident_at": 1.01}, "confident_at"),
        ("resolver", {"tier": "best"}, "tier"),
        ("resolver", {"risk_at": {"destroy": 1}}, "risk_at.destroy"),
        ("router", {"mode": "free"}, "mode"),
        ("router", {"hierarchical_threshold": 0}, "hierarchical_threshold"),
        ("router", {"description_limit": 31}, "description_limit"),
        ("router", {"state_field_limit": 63}, "state_field_limit"),
        ("router", {"candidates": 255}, "candidates"),
        ("router", {"candidates": 1}, "candidates"),
        ("router", {"max_route_steps": True}, "max_route_steps"),
        ("router", {"risk_thresholds": {"erase": "high"}}, "risk_thresholds.erase"),
        ("router", {"fallback_threshold": 0.9}, "fallback_threshold"),
        ("router", {"direct_execution_threshold": 0.5}, "direct_execution_threshold"),
        ("router", {"route_cache_size": -1}, "route_cache_size"),
        ("mcts", {"min_prior": 0}, "min_prior"),
        ("mcts", {"discount": 1.5}, "discount"),
        ("mcts", {"limits": {"max_simulations": 5_000_001}}, "limits.max_simulations"),
        ("mcts", {"limits": {"more": 1}}, "limits.more"),
        ("lane", {"route": "inline"}, "route"),
        ("execution", {"rules": [{"effect": "erase"}]}, "rules[0].verdict"),
        ("execution", {"rules": [{"verdict": "maybe"}]}, "rules[0].verdict"),
        ("execution", {"medium_min_confidence": 2}, "medium_min_confidence"),
        ("tool_calls", {"reprompts": 2}, "reprompts"),
        ("tool_calls", {"tiers": ["magic"]}, "tiers[0]"),
        ("selection", {"margin": -0.1}, "margin"),
        ("turns", {"trigger": None}, "trigger"),
        ("turns", {"keep_turns": 1}, "keep_turns"),
    ],
)
def test_policy_settings_have_bounds(block, bad, path):
    assert f"policies[0].{block}.{path}" in problems(with_policy(**{block: bad}))


def test_thresholds_are_compared_after_extending():
    base = {"name": "base", "router": {"direct_execution_threshold": 0.7}}
    child = {"name": "child", "extends": "base", "router": {"fallback_threshold": 0.75}}

    assert set(problems({"version": 1, "policies": [base, child]})) == {"policies[1].router.fallback_threshold"}


@pytest.mark.parametrize("root", [None, 1, "x", [], [["version", 1]], True, 1.5])
def test_a_root_that_is_no_mapping_is_a_problem(root):
    assert "" in problems(root)


def test_deep_nesting_endless_values_and_recursion_are_problems():
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    holds_itself: list[Any] = []
    holds_itself.append(holds_itself)

    assert problems(with_endpoint(tools=[{"name": "x", "input_schema": deep}]))
    assert problems(with_endpoint(tools=[{"name": "x", "input_schema": {"a": holds_itself}}]))
    assert problems(with_endpoint(tools=holds_itself))


def test_aliases_that_multiply_are_refused_before_they_fill_the_memory():
    bomb: list[Any] = ["x"] * 10
    for _ in range(12):
        bomb = [bomb] * 10

    assert problems(with_endpoint(tools=[{"name": "x", "input_schema": {"a": bomb}}]))


def test_a_flood_of_problems_is_cut_and_said_to_be():
    flood = {"version": 1, "endpoints": [1] * 5000}

    with pytest.raises(RegistryError) as caught:
        parse_document(flood)

    assert len(caught.value.problems) == 1001
    assert caught.value.problems[-1]["message"] == "4000 more problems are not listed"


def test_values_are_cut_to_200_characters():
    assert len(problems(with_endpoint(kind="word " * 100))["endpoints[0].kind"]["value"]) == 200


ODD_KEYS = st.one_of(
    st.text(max_size=5), st.integers(), st.none(), st.booleans(), st.floats(), st.binary(max_size=2), st.tuples()
)
KNOWN_KEYS = st.sampled_from(
    "version gateway groups providers endpoints capabilities scopes policies expectations task_rules contracts name kind url tools headers "
    "use_when tool_use_when tags input_schema credential router resolver mcts limits execution rules expect query extends prefer pins".split()
)
ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=8),
        st.binary(max_size=3),
        st.dates(),
        st.complex_numbers(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(KNOWN_KEYS, ODD_KEYS), inner, max_size=6),
        st.tuples(inner),
        st.frozensets(st.text()),
    ),
    max_leaves=30,
)


@given(document=st.one_of(ANYTHING, st.dictionaries(st.one_of(KNOWN_KEYS, ODD_KEYS), ANYTHING, max_size=8)))
@settings(max_examples=300, deadline=None)
def test_hostile_input_is_always_a_registry_error_or_a_registry(document):
    try:
        parsed = parse_document(document)
    except RegistryError as error:
        assert error.problems
        json.dumps(error.problems, ensure_ascii=False, allow_nan=False).encode()
    else:
        assert parse_document(to_document(parsed.registry)).registry == parsed.registry


def test_the_digest_does_not_hang_on_the_order_of_keys_or_on_defaults_written_out():
    short = {
        "version": 1,
        "endpoints": [
            {"name": "a", "kind": "openai", "url": "https://x.example", "context_window": 100, "tools": [{"name": "t"}]}
        ],
    }
    long = {
        "endpoints": [
            {
                "tools": [{"enabled": True, "input_schema": {}, "name": "t", "risk": None}],
                "url": "https://x.example",
                "effective_context": 100,
                "context_window": 100.0,
                "priority": 100,
                "transport": "http",
                "kind": "openai",
                "name": "a",
            }
        ],
        "gateway": {"expose": "lazy", "pins": [], "connect_timeout_s": 30.0},
        "scopes": [],
        "version": 1,
    }

    assert document_digest(short) == document_digest(long)
    assert document_digest(short) != document_digest({**short, "gateway": {"expose": "all"}})
    assert document_digest(short).startswith("sha256:")


def test_defaults_of_policies_scopes_and_providers_change_no_digest():
    plain = {
        "version": 1,
        "policies": [{"name": "p"}],
        "scopes": [{"name": "s"}],
        "providers": [{"name": "o", "kind": "openrouter"}],
    }
    written = {
        "version": 1,
        "policies": [
            {
                "name": "p",
                "routing": "explicit",
                "router": {"fallback_threshold": 0.6, "providers": ["local"]},
                "mcts": {"limits": {"max_states": 256}},
            }
        ],
        "scopes": [{"name": "s", "policy": "default", "policies": ["default"], "endpoints": None, "deny": []}],
        "providers": [
            {
                "name": "o",
                "kind": "openrouter",
                "url": "https://openrouter.ai",
                "credential": "env:OPENROUTER_API_KEY",
                "max_retries": 2,
            }
        ],
    }

    assert document_digest(plain) == document_digest(written)


def test_a_default_that_overrides_a_parent_is_kept():
    document = {
        "version": 1,
        "policies": [
            {"name": "base", "routing": "advise", "resolver": {"match_at": 0.7}},
            {"name": "child", "extends": "base", "routing": "explicit", "resolver": {"match_at": 0.5}},
        ],
    }

    assert to_document(parse_document(document).registry)["policies"][1] == document["policies"][1]


def test_all_and_none_stay_apart():
    document = {"version": 1, "scopes": [{"name": "all"}, {"name": "none", "endpoints": [], "tools": [], "pins": []}]}

    assert to_document(parse_document(document).registry) == document


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (1.0, 1),
        (1e16, 10**16),
        (10**16, 10**16),
        (0.5, 0.5),
        (-0.0, 0),
        (2**63, 2**63),
        (2.0**63, 2**63),
        (1e22, 1e22),
        (10**22, 1e22),
        (1.7976931348623157e308, 1.7976931348623157e308),
        (int(1.7976931348623157e308), 1.7976931348623157e308),
    ],
)
def test_a_number_has_one_spelling_however_a_database_writes_it(given, kept):
    document = with_endpoint(tools=[{"name": "x", "input_schema": {"maximum": given}}])

    found = to_document(parse_document(document).registry)["endpoints"][0]["tools"][0]["input_schema"]["maximum"]

    assert (found, type(found)) == (kept, type(kept))


def test_a_number_beyond_all_bounds_is_a_problem():
    assert problems(with_endpoint(tools=[{"name": "x", "input_schema": {"maximum": 10**400}}]))


@pytest.mark.parametrize("key", ["recommendation_in", "not_recommended", "not_in_results", "not_confident_except"])
def test_an_expectation_names_tools_that_are_as_long_as_names_may_be(key):
    wire = "n" * 256
    expectation = {"name": "long", "query": "x", "expect": {key: [f"hitspec__{wire}"]}}
    top = {"name": "top", "query": "x", "expect": {"in_top_k": {"k": 1, "tools": [f"hitspec__{wire}"]}}}

    parsed = parse_document(with_tools(wire, expectations=[expectation, top]))

    assert len(parsed.registry.expectations) == 2
