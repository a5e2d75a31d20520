"""The decision router: whom it asks, what it keeps, and that what is kept is what would be said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine import (
    ActionSummary,
    ChoiceDecision,
    HarnessState,
    InvalidProviderResponse,
    JevToolRouter,
    ProviderError,
    ProviderTimeoutError,
    RiskLevel,
    RouteDecision,
    RouterConfigurationError,
    RoutingConfig,
    RoutingMode,
    ToolDescriptor,
    ToolSet,
    UnknownToolError,
)
from routing.engine.models import FALLBACK
from routing.engine.router import estimate

READ = ToolDescriptor("read_file", "Read one file by path", "inspect", RiskLevel.LOW)
SEARCH = ToolDescriptor("search_code", "Search the sources", " Inspect", RiskLevel.LOW)
WRITE = ToolDescriptor("write_file", "Replace a file", "mutate", RiskLevel.MEDIUM)
DONE = ToolDescriptor("complete", "Finish the work", "Finish", RiskLevel.LOW)
TOOLS = [READ, SEARCH, WRITE]
FORCED = RoutingConfig(hierarchical_threshold=2, adaptive_hierarchy=False)

Answer = Callable[[Mapping[str, str], str], ChoiceDecision]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Provider:
    """Answers by a function of the labels and the state, or with a list of answers; keeps what it was asked."""

    def __init__(self, *answers: ChoiceDecision | Exception, by: Answer | None = None) -> None:
        self.answers = list(answers)
        self.by = by
        self.calls: list[dict[str, Any]] = []
        self.gate: asyncio.Event | None = None
        self.cancelled = 0

    async def choose(self, *, state: str, instructions: str, criteria: Mapping[str, str]) -> ChoiceDecision:
        self.calls.append({"state": state, "instructions": instructions, "criteria": criteria})
        if self.gate is not None:
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if self.by is not None:
            return self.by(criteria, state)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def choice(label: str, confidence: float = 0.97, **others: float) -> ChoiceDecision:
    return ChoiceDecision(label, {label: confidence, **others}, confidence)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def route(router: JevToolRouter, goal: str = "g", tools: Any = TOOLS, **state: Any) -> RouteDecision:
    return run(router.route(HarnessState(goal, **state), tools))


# Whom it asks


def test_nobody_is_asked_where_the_planner_decides_alone():
    router = JevToolRouter(None, RoutingConfig(mode=RoutingMode.PLANNER_ONLY))

    for tools in ([], TOOLS, [READ, READ], [ToolDescriptor("", "")]):
        assert route(router, tools=tools).fallback_reason == "planner_only"


def test_every_other_mode_needs_a_provider():
    for mode in (RoutingMode.HYBRID, RoutingMode.JEV_ONLY):
        with pytest.raises(ValueError, match="provider"):
            JevToolRouter(None, RoutingConfig(mode=mode))


def test_a_single_tool_is_asked_about_too():
    provider = Provider(choice(FALLBACK, 0.9))

    assert route(JevToolRouter(provider), tools=[READ]).fallback_reason == "no_matching_tool"
    assert list(provider.calls[0]["criteria"]) == ["read_file", FALLBACK]


@pytest.mark.parametrize("tools", [[], ToolSet([])])
def test_without_tools_nobody_is_asked(tools):
    provider = Provider(choice("read_file"))

    decision = route(JevToolRouter(provider), tools=tools)

    assert (decision.fallback_reason, decision.source, provider.calls) == ("no_tools", "none", [])


def test_tools_that_cannot_be_told_apart_are_refused_in_every_mode_that_chooses():
    for mode in ("hybrid", "jev_only"):
        with pytest.raises(ValueError, match="duplicate"):
            route(JevToolRouter(Provider(choice("a")), RoutingConfig(mode=RoutingMode(mode))), tools=[READ, READ])


def test_a_provider_may_do_with_the_criteria_what_it_likes():
    def spoil(criteria: Any, state: str) -> ChoiceDecision:
        criteria.clear()
        return choice("read_file")

    provider, tools = Provider(by=spoil), ToolSet(TOOLS)
    router = JevToolRouter(provider, RoutingConfig(route_cache_size=0))

    assert [route(router, tools=tools).tool for _ in range(2)] == ["read_file", "read_file"]
    assert route(JevToolRouter(Provider(choice("write_file"))), tools=tools).tool == "write_file"


# What comes of an answer


@pytest.mark.parametrize(
    ("answer", "error", "reason"),
    [
        (ProviderError("x"), ProviderError, "provider_error"),
        (ProviderTimeoutError("x"), ProviderTimeoutError, "provider_error"),
        (InvalidProviderResponse("x"), InvalidProviderResponse, "router_error"),
        (choice("ghost"), UnknownToolError, "router_error"),
        (ChoiceDecision("read_file", {}, True), InvalidProviderResponse, "router_error"),
        (ChoiceDecision("read_file", {"read_file": 7}, 0.9), InvalidProviderResponse, "router_error"),
        (ChoiceDecision("read_file", [], 0.9), InvalidProviderResponse, "router_error"),  # type: ignore[arg-type]
        (None, InvalidProviderResponse, "router_error"),
    ],
)
def test_an_answer_that_is_none_is_handed_to_the_planner_or_raised(answer, error, reason):
    provider = Provider(answer)
    router = JevToolRouter(provider)

    decision = route(router)
    route(router)

    assert (decision.tool, decision.fallback_reason, decision.confidence) == (None, reason, 0.0)
    assert len(provider.calls) == 2  # no such answer is kept
    with pytest.raises(error):
        route(JevToolRouter(Provider(answer), RoutingConfig(mode=RoutingMode.JEV_ONLY)))


def test_what_nobody_foresaw_reaches_the_caller_in_every_mode():
    for mode in ("hybrid", "jev_only"):
        with pytest.raises(ZeroDivisionError):
            route(JevToolRouter(Provider(ZeroDivisionError()), RoutingConfig(mode=RoutingMode(mode))))


shares = st.floats(0, 1)


@given(shares, shares, shares, st.sampled_from(["hybrid", "jev_only"]), st.booleans())
def test_the_bounds_of_the_decision_table(confidence, one, other, mode, fits):
    lower, direct = min(one, other), max(one, other)
    config = RoutingConfig(mode=mode, fallback_threshold=lower, direct_execution_threshold=direct)
    label = "read_file" if fits else FALLBACK

    decision = route(JevToolRouter(Provider(ChoiceDecision(label, {}, confidence)), config))

    if not fits:
        expected = "no_matching_tool"
    elif confidence < lower:
        expected = "low_confidence"
    elif confidence < direct and mode == "hybrid":
        expected = "planner_confirmation"
    else:
        expected = None
    assert decision.fallback_reason == expected
    assert decision.fallback is (expected is not None)
    assert decision.tool == (None if expected else "read_file")
    assert decision.proposed_tool == ("read_file" if expected == "planner_confirmation" else None)
    assert decision.confidence == confidence


def test_a_decision_explains_itself():
    answer = choice("read_file", 0.7, write_file=0.2, **{FALLBACK: 0.1}, ghost=0.9)

    decision = route(JevToolRouter(Provider(answer)))

    assert (decision.source, decision.k, decision.top_probability) == ("provider", 4, 0.7)
    assert decision.margin == pytest.approx(0.5)
    assert decision.answers == (answer,)
    assert "ghost" not in decision.probabilities
    assert json.loads(json.dumps(decision.probabilities)) == decision.probabilities


def test_probabilities_of_a_decision_do_not_change():
    decision = route(JevToolRouter(Provider(choice("read_file"))))

    for change in (lambda it: it.update(a=1), lambda it: it.pop("read_file"), lambda it: it.__setitem__("a", 1)):
        with pytest.raises(TypeError):
            change(decision.probabilities)


def test_finishing_needs_more_than_reading_where_that_is_configured():
    config = RoutingConfig(finish_threshold=0.95, risk_thresholds={"read": 0.7})
    tools = [READ, DONE]

    assert route(JevToolRouter(Provider(choice("read_file", 0.7)), config), tools=tools).tool == "read_file"
    assert route(JevToolRouter(Provider(choice("complete", 0.94)), config), tools=tools).proposed_tool == "complete"
    assert route(JevToolRouter(Provider(choice("complete", 0.95)), config), tools=tools).tool == "complete"


# A category first


def test_the_category_is_chosen_first_and_then_one_of_its_tools():
    provider = Provider(choice("inspect", 0.9), choice("search_code", 0.95))

    decision = route(JevToolRouter(provider, FORCED))

    assert (decision.tool, decision.category, decision.confidence) == ("search_code", "inspect", 0.9)
    assert (decision.k, decision.probabilities) == (3, {"search_code": 0.95})
    assert [list(call["criteria"]) for call in provider.calls] == [
        ["inspect", "mutate", FALLBACK],
        ["read_file", "search_code", FALLBACK],
    ]
    assert [answer.choice for answer in decision.answers] == ["inspect", "search_code"]


@pytest.mark.parametrize(
    ("answers", "reason", "confidence", "category"),
    [
        ([choice(FALLBACK, 0.3)], "no_matching_category", 0.3, None),
        ([choice("inspect", 0.59)], "low_category_confidence", 0.59, "inspect"),
        ([choice("inspect", 0.9), choice(FALLBACK, 0.95)], "no_matching_tool", 0.95, "inspect"),
        ([choice("inspect", 0.9), choice("read_file", 0.5)], "low_confidence", 0.5, "inspect"),
        ([choice("inspect", 0.7), choice("read_file", 0.99)], "planner_confirmation", 0.7, "inspect"),
        ([choice("inspect", 0.9), choice("write_file", 0.99)], "router_error", 0.0, None),
        ([choice("inspect", 0.9), ProviderError("x")], "provider_error", 0.0, None),
    ],
)
def test_either_choice_may_end_it(answers, reason, confidence, category):
    provider = Provider(*answers)

    decision = route(JevToolRouter(provider, FORCED))

    assert (decision.tool, decision.fallback_reason) == (None, reason)
    assert (decision.confidence, decision.category, len(provider.calls)) == (confidence, category, len(answers))


def test_one_category_is_no_choice():
    provider = Provider(choice("a"))

    route(JevToolRouter(provider, FORCED), tools=[ToolDescriptor(name, "", "git") for name in "abc"])

    assert list(provider.calls[0]["criteria"]) == ["a", "b", "c", FALLBACK]


def fixture(tools: int, categories: int) -> ToolSet:
    return ToolSet(
        [
            ToolDescriptor(f"tool_{place:03d}", "d" * 100, f"cat{place % categories}", RiskLevel.LOW)
            for place in range(tools)
        ]
    )


@pytest.mark.parametrize(
    ("tools", "categories", "sizes"),
    [(25, 5, (3191, 499, 851)), (25, 2, (3191, 366, 1787)), (48, 4, (5882, 498, 1670)), (200, 8, (23666, 762, 3191))],
)
def test_the_estimate_of_both_ways(tools, categories, sizes):
    offered = fixture(tools, categories)

    assert estimate(158, offered.flat(160), offered.categories(160)) == sizes


def first_labels(config: RoutingConfig, tools: ToolSet, *, seconds: float = 0.0) -> list[list[str]]:
    """The labels of the first requests of three routes whose requests take so long."""
    clock = Clock()

    def answer(criteria: Mapping[str, str], state: str) -> ChoiceDecision:
        clock.now += seconds
        return choice(next(iter(criteria)), 0.9)

    provider = Provider(by=answer)
    router = JevToolRouter(provider, config, clock=clock)
    found = []
    for place in range(3):
        before = len(provider.calls)
        route(router, f"goal {place}", tools)
        found.append(list(provider.calls[before]["criteria"]))
    return found


def test_a_category_is_chosen_first_only_where_that_makes_requests_smaller():
    few, many = fixture(24, 4), fixture(25, 5)

    assert len(first_labels(RoutingConfig(), few)[0]) == 25
    assert len(first_labels(RoutingConfig(), many)[0]) == 6
    assert len(first_labels(RoutingConfig(hierarchical_min_savings_ratio=0.7), many)[0]) == 26


def test_a_slow_provider_is_asked_once_where_waiting_is_weighed():
    config = RoutingConfig(hierarchical_characters_per_second=5000)

    quick, slow = (first_labels(config, fixture(25, 5), seconds=seconds) for seconds in (0.1, 1.0))

    assert [len(labels) for labels in quick] == [6, 6, 6]
    assert [len(labels) for labels in slow] == [6, 26, 26]  # nothing was measured before the first
    assert len(first_labels(RoutingConfig(), fixture(25, 5), seconds=1.0)[2]) == 6
    with pytest.raises(RouterConfigurationError):
        RoutingConfig(hierarchical_characters_per_second=-1)


# More tools than a provider takes


def many_tools(total: int, *, categories: int = 1) -> list[ToolDescriptor]:
    nouns = ("invoice", "weather", "calendar", "ticket", "recipe")
    return [
        ToolDescriptor(f"get_{nouns[n % 5]}_{n}", f"Get {nouns[n % 5]} number {n}", f"c{n % categories}")
        for n in range(total)
    ]


def test_too_many_tools_are_short_listed_by_what_the_state_asks_for():
    provider = Provider(by=lambda criteria, _: choice(next(iter(criteria))))
    tools = [*many_tools(299), ToolDescriptor("translate_letter", "Translate a letter into French", "c0")]

    decision = route(JevToolRouter(provider), "translate this letter into French", tools)

    labels = list(provider.calls[0]["criteria"])
    assert (len(labels), decision.k) == (255, 255)
    assert "translate_letter" in labels
    assert labels[:-1] == [tool.name for tool in tools if tool.name in labels]  # in the order of the list


def test_a_provider_may_take_fewer_labels():
    provider = Provider(by=lambda criteria, _: choice(next(iter(criteria))))
    provider.most_labels = 11  # type: ignore[attr-defined]

    route(JevToolRouter(provider), "what is the weather like", many_tools(20))

    assert len(provider.calls[0]["criteria"]) == 11


def test_categories_may_make_the_short_list_needless():
    provider = Provider(by=lambda criteria, _: choice(next(iter(criteria))))

    route(JevToolRouter(provider), "weather", many_tools(300, categories=3))

    assert [len(call["criteria"]) for call in provider.calls] == [4, 101]


def test_a_tool_that_was_not_offered_cannot_be_chosen():
    tools = many_tools(300)
    chosen = Provider(by=lambda criteria, _: choice(next(tool.name for tool in tools if tool.name not in criteria)))

    assert route(JevToolRouter(chosen), "weather", tools).fallback_reason == "router_error"


# What it keeps


def test_an_equal_request_is_answered_from_memory():
    provider = Provider(choice("read_file"))
    router = JevToolRouter(provider)

    first, again = route(router), route(router, tools=ToolSet(reversed(TOOLS)))

    assert (first.source, again.source, len(provider.calls)) == ("provider", "cache", 1)
    assert replace(again, source="provider") == first


@pytest.mark.parametrize(
    "change",
    [
        {"goal": "h"},
        {"observation": "y"},
        {"observation": None},
        {"last_action": "read_file"},
        {"recent_actions": [ActionSummary("read_file", "ok")]},
        {"constraints": ["no writes"]},
    ],
)
def test_another_state_is_another_request(change):
    provider = Provider(choice("read_file"))
    router = JevToolRouter(provider)

    run(router.route(HarnessState("g", "x"), TOOLS))
    run(router.route(replace(HarnessState("g", "x"), **change), TOOLS))

    assert len(provider.calls) == 2


def test_an_observation_that_changes_beyond_what_is_sent_has_changed():
    provider = Provider(choice("read_file"))
    router = JevToolRouter(provider)

    for end in ("a", "b"):
        route(router, observation="x" * 5000 + end)

    assert len(provider.calls) == 2


@pytest.mark.parametrize(
    "other",
    [
        replace(READ, description="Read a file"),
        replace(READ, risk=RiskLevel.HIGH),
        replace(READ, category="git"),
        replace(READ, effect="read"),
    ],
)
def test_other_tools_are_another_request(other):
    provider = Provider(choice("read_file"))
    router = JevToolRouter(provider)

    for tools in ([READ, WRITE], [other, WRITE]):
        route(router, tools=tools)

    assert len(provider.calls) == 2


def test_another_model_is_asked_anew():
    provider = Provider(choice("read_file"))
    router = JevToolRouter(provider)

    for identity in ("jev-1.12", "jev-1.13", "jev-1.12"):
        provider.identity = identity  # type: ignore[attr-defined]
        route(router)

    assert len(provider.calls) == 2


def test_a_list_that_is_changed_in_place_is_looked_at_again():
    provider, tools = Provider(choice("read_file")), list(TOOLS)
    router = JevToolRouter(provider)

    route(router, tools=tools)
    tools[2] = replace(WRITE, description="Overwrite a file")
    route(router, tools=tools)

    assert "Overwrite" in provider.calls[1]["criteria"]["write_file"]


def test_tools_that_are_made_anew_for_every_look_are_told_apart():
    class Made(list[str]):
        """Descriptors that nobody keeps, so that others may come to lie where they lay."""

        def __iter__(self) -> Any:
            return (ToolDescriptor(name, f"about {name}", "inspect") for name in super().__iter__())

    provider = Provider(by=lambda criteria, _: choice(next(iter(criteria))))
    router = JevToolRouter(provider, RoutingConfig(route_cache_size=0))

    for place in range(200):
        assert route(router, tools=Made([f"a{place}", f"b{place}"])).tool == f"a{place}"


def test_fallbacks_are_kept_only_briefly():
    clock, provider = Clock(), Provider(choice("read_file", 0.7), choice("read_file", 0.97))
    router = JevToolRouter(provider, clock=clock)

    reasons = []
    for seconds in (0, 4.9, 0.1, 1e9):
        clock.now += seconds
        reasons.append(route(router).fallback_reason)

    assert reasons == ["planner_confirmation", "planner_confirmation", None, None]
    assert len(provider.calls) == 2


def test_fallbacks_may_not_be_kept_at_all():
    provider = Provider(choice(FALLBACK))
    router = JevToolRouter(provider, RoutingConfig(fallback_cache_ttl_seconds=0))

    route(router), route(router)

    assert len(provider.calls) == 2


def test_the_least_recently_used_goes_first():
    provider = Provider(choice("read_file"))
    router = JevToolRouter(provider, RoutingConfig(route_cache_size=2))

    for goal in ("a", "b", "a", "c", "a", "b"):
        route(router, goal)

    assert [json.loads(call["state"])["goal"] for call in provider.calls] == ["a", "b", "c", "b"]


def test_a_goal_alone_is_enough_where_that_is_wanted():
    clock, provider = Clock(), Provider(choice("read_file"))
    router = JevToolRouter(provider, RoutingConfig(goal_cache_size=8, goal_cache_ttl_seconds=60), clock=clock)

    route(router, "Find  the\nTest", observation="a")
    assert route(router, "find the test", observation="b", constraints=["c"]).source == "cache"
    clock.now += 60
    assert route(router, "find the test", observation="d").source == "provider"


@pytest.mark.parametrize("answer", [choice("read_file", 0.84), choice(FALLBACK, 0.99), ProviderError("x")])
def test_only_sure_selections_are_kept_by_goal(answer):
    provider = Provider(answer, choice("read_file"))
    router = JevToolRouter(provider, RoutingConfig(goal_cache_size=8))

    route(router, observation="a"), route(router, observation="b")

    assert len(provider.calls) == 2


def test_an_unsure_selection_of_jev_only_is_not_kept_by_goal():
    provider = Provider(choice("read_file", 0.7))
    router = JevToolRouter(provider, RoutingConfig(mode=RoutingMode.JEV_ONLY, goal_cache_size=8))

    assert [route(router, observation=text).tool for text in "ab"] == ["read_file", "read_file"]
    assert len(provider.calls) == 2


def answer_of(criteria: Mapping[str, str], state: str) -> ChoiceDecision:
    """Some answer that depends on nothing but the labels, whatever their order, and the state."""
    labels = sorted(criteria)
    seed = sum(map(ord, state + "".join(labels)))
    return choice(labels[seed % len(labels)], (seed * 37 % 101) / 100)


requests = st.tuples(
    st.sampled_from("ab"),
    st.sampled_from([None, "x", "y", "x" * 900, "x" * 900 + "y"]),
    st.sampled_from([(), ("read_file",), ("read_file", "write_file")]),
    st.permutations(TOOLS).map(tuple) | st.just((READ, WRITE)),
    st.booleans(),
    st.sampled_from([0, 1, 4, 60]),
)


@given(st.lists(requests, max_size=25), st.sampled_from([1, 2, 128]), st.booleans())
def test_what_is_kept_is_what_an_uncached_router_says(asked, size, category_first):
    clock = Clock()
    own = {"hierarchical_threshold": 2, "adaptive_hierarchy": False} if category_first else {}
    cached = JevToolRouter(Provider(by=answer_of), RoutingConfig(route_cache_size=size, **own), clock=clock)
    uncached = JevToolRouter(Provider(by=answer_of), RoutingConfig(route_cache_size=0, **own), clock=clock)

    async def compare() -> None:
        for goal, observation, actions, tools, as_set, seconds in asked:
            clock.now += seconds
            state = HarnessState(goal, observation, recent_actions=[ActionSummary(tool, "ok") for tool in actions])
            kept = await cached.route(state, ToolSet(tools) if as_set else list(tools))
            assert replace(kept, source="provider") == await uncached.route(state, tools)

    run(compare())


# Many at once


def at_once(router: JevToolRouter, provider: Provider, copies: int) -> list[RouteDecision]:
    async def ask() -> list[RouteDecision]:
        provider.gate = asyncio.Event()
        waiting = [asyncio.ensure_future(router.route(HarnessState("g"), list(TOOLS))) for _ in range(copies)]
        await asyncio.sleep(0.01)
        provider.gate.set()
        return await asyncio.gather(*waiting)

    found: list[RouteDecision] = run(ask())
    return found


@pytest.mark.parametrize("size", [0, 128])
def test_fifty_who_ask_the_same_share_one_request(size):
    provider = Provider(choice("read_file"))

    decisions = at_once(JevToolRouter(provider, RoutingConfig(route_cache_size=size)), provider, 50)

    assert len(provider.calls) == 1
    assert {decision.tool for decision in decisions} == {"read_file"}
    assert sorted(decision.source for decision in decisions) == ["coalesced"] * 49 + ["provider"]


def test_an_error_reaches_all_who_wait_and_the_next_one_asks_anew():
    provider = Provider(ProviderError("x"), choice("read_file"))
    router = JevToolRouter(provider, RoutingConfig(mode=RoutingMode.JEV_ONLY))

    async def ask() -> list[Any]:
        provider.gate = asyncio.Event()
        waiting = [asyncio.ensure_future(router.route(HarnessState("g"), TOOLS)) for _ in range(50)]
        await asyncio.sleep(0.01)
        provider.gate.set()
        failed = await asyncio.gather(*waiting, return_exceptions=True)
        return [*failed, await router.route(HarnessState("g"), TOOLS)]

    *failed, last = run(ask())
    assert {type(error) for error in failed} == {ProviderError}
    assert (last.tool, len(provider.calls)) == ("read_file", 2)


@pytest.mark.parametrize("leaving", [[0], [0, 1, 2], [3, 7]])
def test_who_leaves_takes_nothing_from_the_others(leaving):
    provider = Provider(choice("read_file"))
    router = JevToolRouter(provider)

    async def ask() -> list[Any]:
        provider.gate = asyncio.Event()
        waiting = [asyncio.ensure_future(router.route(HarnessState("g"), TOOLS)) for _ in range(8)]
        await asyncio.sleep(0.01)
        for place in leaving:
            waiting[place].cancel()
        await asyncio.sleep(0.01)
        provider.gate.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    for place, outcome in enumerate(run(ask())):
        assert isinstance(outcome, asyncio.CancelledError) if place in leaving else outcome.tool == "read_file"
    assert (len(provider.calls), provider.cancelled) == (1, 0)


def test_the_last_to_leave_takes_the_request_along():
    provider = Provider(choice("read_file"))
    router = JevToolRouter(provider)

    async def ask() -> RouteDecision:
        provider.gate = asyncio.Event()
        waiting = [asyncio.ensure_future(router.route(HarnessState("g"), TOOLS)) for _ in range(3)]
        await asyncio.sleep(0.01)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        provider.gate.set()
        return await router.route(HarnessState("g"), TOOLS)

    assert run(ask()).source == "provider"
    assert (len(provider.calls), provider.cancelled) == (2, 1)


def test_a_state_that_changes_while_a_request_is_made_is_kept_under_what_was_asked():
    provider = Provider(by=lambda _, state: choice("read_file" if '"old"' in state else "write_file"))
    router = JevToolRouter(provider)

    async def ask() -> list[str | None]:
        provider.gate = asyncio.Event()
        state = HarnessState("g", "old")
        first = asyncio.ensure_future(router.route(state, TOOLS))
        await asyncio.sleep(0.01)
        state.observation = "new"
        provider.gate.set()
        return [
            (await first).tool,
            *[(await router.route(HarnessState("g", text), TOOLS)).tool for text in ("old", "new")],
        ]

    assert run(ask()) == ["read_file", "read_file", "write_file"]


def test_one_router_may_serve_one_loop_after_the_other():
    provider = Provider(choice("read_file"))
    router = JevToolRouter(provider, RoutingConfig(route_cache_size=0))

    assert [route(router).tool for _ in range(3)] == ["read_file"] * 3
