"""Every setting of a policy in one table: its default, its type and bounds, its unit and what it means.

Validation, the effective values of a policy and the page that explains them all read this table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from routing.engine.registry import Policy

EFFECTS = ("read", "write", "erase", "execute")
RISKS = ("low", "medium", "high", "critical")
ROUTINGS = ("explicit", "capability", "advise")
TIERS = ("auto", "lexical", "static", "deep")
VERDICTS = ("allow", "ask", "deny")
MAX_LINEAGE = 16  # policies that extend one another


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One field of a policy block.

    `type` is one of: flag, integer, number, choice, fixed (a choice of one), names (registry names), choices (list of
    choices), by_effect (effect -> number), aliases (text -> text), rules, block (nested `settings`), endpoint, endpoints.
    """

    name: str
    type: str
    default: Any
    meaning: str
    low: float | None = None
    high: float | None = None
    above: float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""
    optional: bool = False  # null is allowed and stands for "not set"
    settings: tuple[Setting, ...] = ()


def _share(name: str, default: float | None, meaning: str, *, optional: bool = False) -> Setting:
    return Setting(name=name, type="number", default=default, low=0, high=1, meaning=meaning, optional=optional)


def _count(name: str, default: int, low: int, meaning: str, *, high: int | None = None, unit: str = "") -> Setting:
    return Setting(name=name, type="integer", default=default, low=low, high=high, meaning=meaning, unit=unit)


def _seconds(name: str, default: float, meaning: str) -> Setting:
    return Setting(name=name, type="number", default=default, low=0, meaning=meaning, unit="s")


def _flag(name: str, default: bool, meaning: str) -> Setting:
    return Setting(name=name, type="flag", default=default, meaning=meaning)


def _choice(name: str, choices: tuple[str, ...], default: str, meaning: str) -> Setting:
    return Setting(
        name=name, type="choice" if len(choices) > 1 else "fixed", choices=choices, default=default, meaning=meaning
    )


def _by_effect(name: str, meaning: str) -> Setting:
    return Setting(name=name, type="by_effect", default={}, low=0, high=1, choices=EFFECTS, meaning=meaning)


LANE = (
    _choice(
        "resolve", ("inline", "worker"), "inline", "Where a resolve is computed: in the web process or by a worker."
    ),
    _choice("route", ("worker",), "worker", "A route is always decided by a worker."),
    _choice("search", ("worker",), "worker", "A search always runs on a worker."),
)

RESOLVER = (
    _count("max_hits", 5, 1, "How many tools an answer names at most.", high=10),
    _choice("tier", TIERS, "auto", "How much is spent on understanding the query."),
    _share("confident_at", 0.80, "From this probability on a recommendation may be confident."),
    _share("match_at", 0.50, "Below this match probability the answer is no_match."),
    _by_effect("risk_at", "A stricter confident_at for tools of one effect."),
    Setting(
        name="min_gap", type="number", default=0, low=0, meaning="How far the first tool must stand above the second."
    ),
    _flag("erasing_never_first_on_tie", True, "Among equal tools one that erases is never put first."),
    _seconds("advice_ttl_s", 900, "How long advice is reused for the same activity."),
    _seconds("advice_no_match_ttl_s", 20, "How long advice that found nothing is reused."),
    _flag("record_queries", False, "Record queries, encrypted, for replays, also where the workspace does not."),
    _count("record_days", 7, 1, "How long recorded queries are kept.", unit="days"),
)

ROUTER = (
    _choice("mode", ("hybrid", "jev_only", "planner_only"), "hybrid", "Who decides: both, the decision provider, the planner."),
    _share("direct_execution_threshold", 0.85, "From this confidence on a tool is selected without the planner."),
    _share("fallback_threshold", 0.60, "Below this confidence the planner decides."),
    _count("hierarchical_threshold", 24, 1, "With more tools than this a category is chosen first.", unit="tools"),
    _flag("adaptive_hierarchy", True, "Choose a category first only where that makes requests smaller."),
    _share("hierarchical_min_savings_ratio", 0.15, "How much smaller two requests must be than one."),
    _count("route_cache_size", 128, 0, "Decisions kept for equal requests; 0 keeps none.", unit="decisions"),
    _seconds("fallback_cache_ttl_seconds", 5, "How long a fallback is reused; 0 never."),
    _count("goal_cache_size", 0, 0, "Decisions kept by goal alone; 0 keeps none.", unit="decisions"),
    _seconds("goal_cache_ttl_seconds", 300, "How long a decision is reused for the same goal."),
    _count("max_same_action_repeats", 2, 1, "How often an equal action may repeat before it is a loop.", unit="times"),
    _count("max_route_steps", 50, 1, "Routes that a session may ask for.", unit="routes"),
    _count("max_consecutive_fallbacks", 2, 1, "Fallbacks in a row that open a session's circuit.", unit="fallbacks"),
    _count("description_limit", 160, 32, "Characters of a tool's description that a provider sees.", unit="characters"),
    _count("history_limit", 3, 1, "Recent actions that a provider sees.", unit="actions"),
    _count("state_field_limit", 800, 64, "Characters of each state text that a provider sees.", unit="characters"),
    _count("constraint_limit", 4, 0, "Constraints that a provider sees.", unit="constraints"),
    Setting(name="providers", type="names", default=("local",), meaning="Decision providers, tried in this order."),
    _count("candidates", 24, 2, "The resolver's best of the scope when a call brings no tools.", high=254, unit="tools"),
    _by_effect("risk_thresholds", "A direct threshold of its own for tools of one effect."),
    _share("finish_threshold", None, "From this confidence on finishing is selected without the planner.", optional=True),
    _seconds("circuit_half_open_seconds", 0, "After how long an open circuit lets one route pass; 0 never."),
    Setting(
        name="provider_timeout_s", type="number", default=None, above=0, unit="s", optional=True,
        meaning="How long a provider may take under this policy; unset: as the provider says.",
    ),
)  # fmt: skip

MCTS_LIMITS = (
    _count("max_simulations", 4096, 1, "Simulations that a caller may ask for.", high=5_000_000, unit="simulations"),
    _count("max_states", 256, 1, "States that a supplied graph may have.", high=256, unit="states"),
    _count("max_transitions", 1024, 0, "Transitions that a supplied graph may have.", high=1024, unit="transitions"),
    _count("depth_limit", 8, 1, "Depth that a caller may ask for.", high=64, unit="steps"),
)

MCTS = (
    _count("simulations", 64, 1, "Simulations of a search.", high=5_000_000, unit="simulations"),
    _count("max_depth", 4, 1, "How many steps a search looks ahead.", high=64, unit="steps"),
    Setting(name="exploration_constant", type="number", default=1.5, low=0, meaning="Weight of the unexplored."),
    _share("discount", 0.95, "Weight of a step's future."),
    _count("max_policy_evaluations", 1, 0, "How often a provider may be asked for priors.", unit="requests"),
    Setting(name="min_prior", type="number", default=1e-6, above=0, high=1, meaning="The least prior of a tool."),
    _choice("method", ("auto", "exact", "puct", "best_path"), "auto", "How a graph is searched."),
    Setting(
        name="limits", type="block", default={}, settings=MCTS_LIMITS, meaning="What a caller may ask for at most."
    ),
    _count("deadline_ms", 10000, 1, "When a search stops with its best so far.", unit="ms"),
)

EXECUTION = (
    Setting(name="rules", type="rules", default=(), meaning="The first rule that fits a tool decides."),
    _share(
        "medium_min_confidence", None, "Medium risk is allowed from this confidence on; unset: denied.", optional=True
    ),
)

TOOL_CALLS = (
    _choice("mode", ("off", "observe", "strict", "repair", "constrain"), "repair", "What is done about tool calls."),
    Setting(
        name="tiers", type="choices", default=("structured", "adapter", "prose"), choices=("structured", "adapter", "prose"),
        meaning="Ways of calling tools that are accepted, best first.",
    ),
    _flag("forbid_prose", False, "Refuse calls that are written as prose."),
    _flag("allow_parallel", False, "Accept several calls in one answer."),
    Setting(name="argument_aliases", type="aliases", default={}, meaning="Argument names read as others."),
    Setting(
        name="lossy_repair_effects", type="choices", default=("read",), choices=EFFECTS,
        meaning="Effects for which a repair may drop something.",
    ),
    _count("reprompts", 1, 0, "How often a model is asked again.", high=1, unit="times"),
    _flag("keep_raw", False, "Keep what the model said word for word."),
)  # fmt: skip

SELECTION = (
    _flag("quality", False, "Let measured quality take part in choosing an endpoint."),
    _flag("sticky", True, "Stay with the endpoint of the session while it fits."),
    _flag("mention_in_text", False, "Let @name in the text choose the endpoint."),
    _share("margin", 0.10, "By how much another endpoint must be better to replace the present one."),
    _count("reserve_tokens", 1024, 0, "Context kept free for the answer.", unit="tokens"),
    Setting(name="fallback_endpoints", type="endpoints", default=(), meaning="Endpoints to try when none fits."),
)

TURNS = (
    _count("keep_last_turns", 4, 0, "Turns that are never compacted.", unit="turns"),
    _count("result_max_tokens", 100, 1, "What is left of a tool's result.", unit="tokens"),
    _count("arg_value_max_chars", 60, 1, "What is left of an argument.", unit="characters"),
    Setting(
        name="max_lines", type="integer", default=None, low=1, optional=True, unit="lines", meaning="Lines of a block."
    ),
    _share("trigger", 0.80, "Share of the context from which on turns are compacted."),
    Setting(name="summarizer", type="endpoint", default=None, optional=True, meaning="Endpoint that writes summaries."),
    _flag("inline", False, "Compact within the request."),
)

BLOCKS: Mapping[str, tuple[Setting, ...]] = MappingProxyType(
    {
        "lane": LANE,
        "resolver": RESOLVER,
        "router": ROUTER,
        "mcts": MCTS,
        "execution": EXECUTION,
        "tool_calls": TOOL_CALLS,
        "selection": SELECTION,
        "turns": TURNS,
    }
)

# Present in every workspace unless the document has its own of that name.
IMPLIED: Mapping[str, Policy] = MappingProxyType(
    {
        "default": Policy(name="default"),
        "fast": Policy(
            name="fast",
            router={
                "direct_execution_threshold": 0.72,
                "fallback_threshold": 0.72,
                "hierarchical_threshold": 48,
                "description_limit": 96,
                "history_limit": 1,
                "state_field_limit": 400,
                "constraint_limit": 2,
                "provider_timeout_s": 2,
            },
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectivePolicy:
    """A policy with everything it extends merged in and every default filled."""

    name: str
    routing: str = "explicit"
    lane: Mapping[str, Any] = field(default_factory=dict)
    resolver: Mapping[str, Any] = field(default_factory=dict)
    router: Mapping[str, Any] = field(default_factory=dict)
    mcts: Mapping[str, Any] = field(default_factory=dict)
    execution: Mapping[str, Any] = field(default_factory=dict)
    tool_calls: Mapping[str, Any] = field(default_factory=dict)
    selection: Mapping[str, Any] = field(default_factory=dict)
    turns: Mapping[str, Any] = field(default_factory=dict)


def effective(name: str, policies: Iterable[Policy]) -> EffectivePolicy:
    """The values a policy comes to. Raises KeyError for a name that neither the document nor the defaults know."""
    return merged(lineage(name, known_policies(policies)))


def known_policies(policies: Iterable[Policy]) -> dict[str, Policy]:
    """By name: the document's policies, and the implied ones that it does not define itself."""
    return {**IMPLIED, **{policy.name: policy for policy in policies}}


def lineage(name: str, policies: Mapping[str, Policy]) -> list[Policy]:
    """The policy, what it extends, and so on to the root.

    Raises KeyError when a link is unknown, closes a circle or is the seventeenth.
    """
    chain: list[Policy] = []
    following: str | None = name
    while following is not None:
        if len(chain) == MAX_LINEAGE or any(policy.name == following for policy in chain):
            raise KeyError(following)
        chain.append(policies[following])
        following = chain[-1].extends
    return chain


def merged(chain: Sequence[Policy]) -> EffectivePolicy:
    """One policy out of a lineage, nearest first."""
    routing = next((policy.routing for policy in chain if policy.routing is not None), "explicit")
    blocks = {
        block: _merge(settings, [getattr(policy, block) for policy in chain]) for block, settings in BLOCKS.items()
    }
    return EffectivePolicy(name=chain[0].name, routing=routing, **blocks)


def defaults(settings: Iterable[Setting]) -> dict[str, Any]:
    return {
        setting.name: defaults(setting.settings) if setting.type == "block" else setting.default for setting in settings
    }


def _merge(settings: tuple[Setting, ...], nearest_first: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    values = defaults(settings)
    for given in reversed(nearest_first):
        for name, value in given.items():
            # Mappings add up key by key: a child may set one effect's threshold and keep the others.
            values[name] = {**values[name], **value} if isinstance(value, Mapping) else value
    return values
