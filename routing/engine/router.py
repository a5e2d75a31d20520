"""The decision router: which tool next. A provider is asked at most twice, and only where no earlier answer holds."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, cast

from routing.engine.cache import DecisionCache
from routing.engine.compaction import CompactState, compact
from routing.engine.config import RoutingConfig
from routing.engine.decision_table import (
    MALFORMED,
    check_choice,
    decide,
    direct_threshold,
    failed,
    fallback,
    undecided,
)
from routing.engine.errors import ProviderError
from routing.engine.models import (
    FALLBACK,
    ChoiceDecision,
    DecisionProvider,
    HarnessState,
    RouteDecision,
    RoutingMode,
    ToolChooser,
    ToolDescriptor,
)
from routing.engine.toolset import Categories, Offer, ToolSet, subset

CHOOSE_TOOL = "Choose the tool to use next; if none fits, choose __fallback__."
CHOOSE_CATEGORY = "Choose the category of the tool to use next; if none fits, choose __fallback__."
MOST_LABELS = 255  # that a provider takes, unless it says otherwise; one of them is the fallback
LISTS_KNOWN = 16  # lists of tools that are recognised when they come again
RECENT_SHARE = 0.2  # of the newest request in the measured round trip

# What a request carries besides its labels, in characters (with the fallback's label): see `estimate`.
_AROUND_TOOLS = len(FALLBACK) + 96
_AROUND_CATEGORIES = len(FALLBACK) + 64


class JevToolRouter:
    """Routes by a decision provider, under one configuration; used from one event loop at a time.

    Equal requests share an answer, also while the first is still being made. An answer is kept as long as tools, state and
    provider stay what they were, a fallback only for `fallback_cache_ttl_seconds`; with `goal_cache_size` the state may
    change as long as the goal does not. A provider that can become another (an alias, a changed model) says so in an
    attribute `identity`; one that takes fewer labels than 255 says so in `most_labels`. A chooser of this process
    (`ToolChooser`) is asked through `route_here`, and sees the tools themselves.

    `clock` counts seconds; it times the caches and how long requests take. Raises ValueError without a provider, unless
    the mode is planner_only.
    """

    def __init__(
        self,
        provider: DecisionProvider | ToolChooser | None,
        config: RoutingConfig | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config or RoutingConfig()
        if provider is None and self._config.mode is not RoutingMode.PLANNER_ONLY:
            raise ValueError("a decision provider is needed, unless the mode is planner_only")
        self._provider = provider
        self._clock = clock
        self._exact = DecisionCache(self._config.route_cache_size, clock)
        self._by_goal = DecisionCache(self._config.goal_cache_size, clock)
        self._in_flight: dict[Hashable, _Flight] = {}
        self._known: OrderedDict[tuple[int, ...], ToolSet] = OrderedDict()
        self._round_trip: float | None = None

    @property
    def config(self) -> RoutingConfig:
        return self._config

    @property
    def provider(self) -> DecisionProvider | ToolChooser | None:
        return self._provider

    @property
    def round_trip_seconds(self) -> float | None:
        """How long a request to the provider takes, recent ones counting most; None before the first."""
        return self._round_trip

    async def route(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        """The next tool, or a fallback with its reason.

        Raises ValueError for tools that cannot be told apart; in mode jev_only also ProviderError,
        InvalidProviderResponse and UnknownToolError.
        """
        # A change of the observation beyond what a provider sees of it is a change all the same.
        found = self._known_or_asked(state, tools, (state.observation,))
        return await self._shared(found) if isinstance(found, _Request) else found

    def route_here(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        """`route` by a chooser of this process, which is asked at once about all tools: nothing is waited for."""
        found = self._known_or_asked(state, tools, (state.goal, state.observation))
        if not isinstance(found, _Request):
            return found
        chooser = cast(ToolChooser, self._provider)
        offered = found.tools.by_name
        try:
            choice = chooser.choose(state, found.tools)
            check_choice(choice, offered)
        except MALFORMED:
            if self._config.mode is RoutingMode.JEV_ONLY:
                raise
            return failed("router_error", k=len(offered) + 1)
        decision = decide(choice, self._config, offered, answers=(choice,))
        self._keep(found, decision)
        return decision

    def _known_or_asked(
        self, state: HarnessState, tools: Sequence[ToolDescriptor], whole: tuple[object, ...]
    ) -> RouteDecision | _Request:
        """The decision where there is one without asking anybody; else what is to be asked. `whole`: what of the state counts
        uncut, where a decision is told from another."""
        early = undecided(self._config, tools)
        if early is not None:
            return early
        offered = tools if isinstance(tools, ToolSet) else self._tool_set(tools)
        told = compact(state, self._config)
        answering = getattr(self._provider, "identity", None)
        seen = hash(tuple([text if isinstance(text, str) else None for text in whole]))
        key = (told, seen, offered.digest, answering)
        kept = self._exact.get(key)
        if kept is not None:
            return kept
        goal_key: Hashable = None
        if self._config.goal_cache_size:
            goal_key = (" ".join(state.goal.lower().split()), offered.digest, answering)
            kept = self._by_goal.get(goal_key)
            if kept is not None:
                return kept
        return _Request(told, told.text(), offered, key, goal_key, answers=[])

    def _tool_set(self, tools: Sequence[ToolDescriptor]) -> ToolSet:
        """Descriptors do not change, so a list of the very same ones needs no second look."""
        given = tuple(tools)
        same = tuple(map(id, given))  # nobody else can have these while the set below keeps their owners
        known = self._known.get(same)
        if known is None:
            known = self._known[same] = ToolSet(given)
            if len(self._known) > LISTS_KNOWN:
                self._known.popitem(last=False)
        self._known.move_to_end(same)
        return known

    async def _shared(self, request: _Request) -> RouteDecision:
        """One decision for all who ask for it at the same time. Who leaves early leaves the others their answer; the last
        one to leave takes the request along."""
        flight = self._in_flight.get(request.key)
        joined = flight is not None
        if flight is None:
            flight = self._in_flight[request.key] = _Flight(asyncio.ensure_future(self._decided(request)))
            flight.task.add_done_callback(partial(self._forget, request.key, flight))
        flight.waiting += 1
        try:
            decision = await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and flight.task.cancel():
                self._forget(request.key, flight)
        return replace(decision, source="coalesced") if joined else decision

    def _forget(self, key: Hashable, flight: _Flight, _: object = None) -> None:
        if self._in_flight.get(key) is flight:
            del self._in_flight[key]

    async def _decided(self, request: _Request) -> RouteDecision:
        """A new decision, kept for those who ask the same later; none is kept where no answer came."""
        try:
            decision = await self._asked(request)
        except (ProviderError, *MALFORMED) as error:
            if self._config.mode is RoutingMode.JEV_ONLY:
                raise
            reason = "provider_error" if isinstance(error, ProviderError) else "router_error"
            return failed(reason, answers=tuple(request.answers))
        self._keep(request, decision)
        return decision

    def _keep(self, request: _Request, decision: RouteDecision) -> None:
        seconds = self._config.fallback_cache_ttl_seconds if decision.fallback else None
        self._exact.put(request.key, decision, seconds=seconds)
        if request.goal_key is not None and self._is_direct(decision, request.tools):
            self._by_goal.put(request.goal_key, decision, seconds=self._config.goal_cache_ttl_seconds)

    def _is_direct(self, decision: RouteDecision, tools: ToolSet) -> bool:
        if decision.tool is None:
            return False
        return decision.confidence >= direct_threshold(self._config, tools.named(decision.tool))[0]

    async def _asked(self, request: _Request) -> RouteDecision:
        if self._category_first(len(request.text), request.tools):
            return await self._choose_by_category(request)
        return await self._choose(request, request.tools.flat(self._config.description_limit))

    async def _choose_by_category(self, request: _Request) -> RouteDecision:
        """Two requests: one over the categories, and where it is sure enough one over the tools of the chosen one."""
        categories = request.tools.categories(self._config.description_limit)
        first = await self._ask(request, CHOOSE_CATEGORY, categories.criteria, categories.offers)
        answers = tuple(request.answers)
        if first.choice == FALLBACK:
            return fallback("no_matching_category", first, categories.offers, answers=answers)
        if first.confidence < self._config.fallback_threshold:
            reason = "low_category_confidence"
            return fallback(reason, first, categories.offers, category=first.choice, answers=answers)
        return await self._choose(request, categories.offers[first.choice], after=first)

    async def _choose(self, request: _Request, offer: Offer, *, after: ChoiceDecision | None = None) -> RouteDecision:
        """One request over the tools of an offer: all, or those of the category that was chosen before."""
        most = self._most_labels() - 1
        if len(offer.tools) > most:
            from routing.engine.shortlist import shortlist  # few need the ranker, and it takes long to load

            offer = subset(offer, shortlist(request.tools.catalog, offer.tools, request.told, most))
        choice = await self._ask(request, CHOOSE_TOOL, offer.criteria, offer.tools)
        if after is not None and choice.choice != FALLBACK and after.confidence < choice.confidence:
            # A tool is no surer than the way to it.
            choice = ChoiceDecision(choice.choice, choice.probabilities, after.confidence)
        category = None if after is None else after.choice
        return decide(choice, self._config, offer.tools, category=category, answers=tuple(request.answers))

    async def _ask(
        self, request: _Request, instructions: str, criteria: Mapping[str, str], labels: Iterable[str]
    ) -> ChoiceDecision:
        provider = cast(DecisionProvider, self._provider)  # the mode without one asks nobody
        began = self._clock()
        choice = await provider.choose(state=request.text, instructions=instructions, criteria=dict(criteria))
        took = self._clock() - began
        self._round_trip = (
            took if self._round_trip is None else self._round_trip + RECENT_SHARE * (took - self._round_trip)
        )
        check_choice(choice, labels)
        request.answers.append(choice)
        return choice

    def _most_labels(self) -> int:
        return getattr(self._provider, "most_labels", None) or MOST_LABELS

    def _category_first(self, state_size: int, offered: ToolSet) -> bool:
        """Whether to choose a category first: many tools in several categories, where the two requests are so much
        smaller than the one that they are worth the time of a second."""
        config = self._config
        if len(offered) <= config.hierarchical_threshold:
            return False
        categories = offered.categories(config.description_limit)
        if len(categories.offers) < 2 or FALLBACK in categories.offers or len(categories.offers) >= self._most_labels():
            return False
        if not config.adaptive_hierarchy:
            return True
        flat, first, second = estimate(state_size, offered.flat(config.description_limit), categories)
        waiting = config.hierarchical_characters_per_second * (self._round_trip or 0.0)
        return first + second + waiting <= flat * (1 - config.hierarchical_min_savings_ratio)


class _Request(NamedTuple):
    """What is to be decided, and under which keys the decision is kept."""

    told: CompactState
    text: str
    tools: ToolSet
    key: Hashable
    goal_key: Hashable  # None where decisions are not kept by goal
    answers: list[ChoiceDecision]  # of the provider, as they come


class _Flight:
    """A decision that is being made, and how many wait for it."""

    __slots__ = ("task", "waiting")

    def __init__(self, task: asyncio.Future[RouteDecision]) -> None:
        self.task = task
        self.waiting = 0


def estimate(state_size: int, flat: Offer, categories: Categories) -> tuple[int, int, int]:
    """Sizes in characters: of the one request over all tools; of the one over categories; of the largest that may follow."""
    return (
        state_size + flat.size + _AROUND_TOOLS,
        state_size + categories.size + _AROUND_CATEGORIES,
        state_size + categories.largest + _AROUND_TOOLS,
    )
