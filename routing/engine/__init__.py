"""Pure decisions: which tool for this activity, which step next. No Django, no clock, no I/O.

The tour, in the order of a request:

    registry    what a workspace's document says, as values (`validation` reads it, `naming` names its tools)
    catalog     a registry compiled: `load_registry`; `parts` and `index` hold the postings, `scope` what each harness may see
                (`sayings` are operators' words for capabilities, `lexicon` what the words of texts say)
    activity    what a harness is doing, put together as one text
    query       that text read into terms: asked for, mentioned, forbidden, or no request at all (`text`, `vocabulary`)
    matching    which words of the catalog a term may stand for (`concepts`, `tongues` and `kindred` hold what is known of words)
    scoring     rank the tools in sight (`evidence` holds the request against them, `wording` how it is put, `meaning` the vectors of
                words, `encoder` those of sentences)
    policy      judge the ranking: confident, ambiguous, no_match (`calibration` corrects it by what came of earlier answers)
    recommend   the front door, `resolve`, and the answers of the contract (`summary` bounds them, `explain` gives reasons,
                `counterfactual` what one hint brings)
    adapters    tools as hosts describe them, as descriptors (`inference` tells what their words and annotations say)
    router      which tool next, asked of a provider (`models` holds the values, `config` the bounds): `toolset` and `compaction`
                say what it is told, `cache` keeps answers, `shortlist` leaves the likeliest of too many tools
    search      which step first, looking several ahead: over a graph or a simulator
    session     steps and fallbacks of a task, `loops` what goes round in it, `execution` whether a choice may be run
                (`execution_review` finds rules that never decide)
    decision_table  what was chosen, judged: selected, to be confirmed, or a fallback with its reason
    expectations  what a document expects of itself, asked
    replay      recorded decisions made again under two catalogs (`masking` keeps secrets out of what is recorded)
    lab         what another threshold would have done to answers that turned out right or wrong
    doctor      what of a catalog would go wrong before anybody asks: hints that clash, tools that nothing finds

Errors are in `errors`; `policies` is the table of every setting, `canonical` the one spelling that digests are made of.

Each name is fetched from its module when it is first asked for, so that whoever needs a few values does not wait for the
tables of the ranker. A new name stands twice, below and in `__all__`; a test holds the two together.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from routing.engine.activity import assemble
    from routing.engine.adapters import GenericToolAdapter, MCPToolAdapter, ToolAdapter, normalize_tools
    from routing.engine.catalog import Catalog, load_registry
    from routing.engine.confidence import peak_confidence, recomputed_confidence
    from routing.engine.config import RoutingConfig
    from routing.engine.decision_table import judge_choice, validate_tools
    from routing.engine.errors import (
        InvalidProviderResponse,
        PolicyDeniedError,
        ProviderError,
        ProviderTimeoutError,
        RegistryError,
        RouterConfigurationError,
        RouterError,
        RoutingLoopError,
        SearchGraphError,
        UnknownToolError,
    )
    from routing.engine.execution import DefaultExecutionPolicy, ExecutionPolicy, ExecutionRule, RuleExecutionPolicy
    from routing.engine.loops import Loop, LoopGuard
    from routing.engine.models import (
        ActionSummary,
        ChoiceDecision,
        DecisionProvider,
        HarnessState,
        RiskLevel,
        RouteDecision,
        RoutingMode,
        ToolDescriptor,
        Usage,
    )
    from routing.engine.recommend import (
        Ranked,
        Resolution,
        describe_tool,
        rank,
        resolve,
        resolve_detailed,
        search_tools,
    )
    from routing.engine.router import JevToolRouter
    from routing.engine.search import (
        MCTSConfig,
        MCTSResult,
        MCTSToolRouter,
        SearchEnvironment,
        SearchProgress,
        SimulatedStep,
        SuppliedGraph,
        TreeNode,
        solve,
    )
    from routing.engine.session import RoutingSession, SessionState, admit, settle
    from routing.engine.toolset import ToolSet

_HOMES = {
    name: f"routing.engine.{module}"
    for module, names in {
        "activity": "assemble",
        "adapters": "GenericToolAdapter MCPToolAdapter ToolAdapter normalize_tools",
        "catalog": "Catalog load_registry",
        "confidence": "peak_confidence recomputed_confidence",
        "config": "RoutingConfig",
        "decision_table": "judge_choice validate_tools",
        "errors": "InvalidProviderResponse PolicyDeniedError ProviderError ProviderTimeoutError RegistryError RouterConfigurationError RouterError RoutingLoopError SearchGraphError UnknownToolError",
        "execution": "DefaultExecutionPolicy ExecutionPolicy ExecutionRule RuleExecutionPolicy",
        "loops": "Loop LoopGuard",
        "models": "ActionSummary ChoiceDecision DecisionProvider HarnessState RiskLevel RouteDecision RoutingMode ToolDescriptor Usage",
        "recommend": "Ranked Resolution describe_tool rank resolve resolve_detailed search_tools",
        "router": "JevToolRouter",
        "search": "MCTSConfig MCTSResult MCTSToolRouter SearchEnvironment SearchProgress SimulatedStep SuppliedGraph TreeNode solve",
        "session": "RoutingSession SessionState admit settle",
        "toolset": "ToolSet",
    }.items()
    for name in names.split()
}


if not TYPE_CHECKING:  # a type checker that saw it would take any name for granted

    def __getattr__(name: str) -> Any:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(home), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


__all__ = [
    "ActionSummary",
    "Catalog",
    "ChoiceDecision",
    "DecisionProvider",
    "DefaultExecutionPolicy",
    "ExecutionPolicy",
    "ExecutionRule",
    "GenericToolAdapter",
    "HarnessState",
    "InvalidProviderResponse",
    "JevToolRouter",
    "Loop",
    "LoopGuard",
    "MCPToolAdapter",
    "MCTSConfig",
    "MCTSResult",
    "MCTSToolRouter",
    "PolicyDeniedError",
    "ProviderError",
    "ProviderTimeoutError",
    "Ranked",
    "RegistryError",
    "Resolution",
    "RiskLevel",
    "RouteDecision",
    "RouterConfigurationError",
    "RouterError",
    "RoutingConfig",
    "RoutingLoopError",
    "RoutingMode",
    "RoutingSession",
    "RuleExecutionPolicy",
    "SearchEnvironment",
    "SearchGraphError",
    "SearchProgress",
    "SessionState",
    "SimulatedStep",
    "SuppliedGraph",
    "ToolAdapter",
    "ToolDescriptor",
    "ToolSet",
    "TreeNode",
    "UnknownToolError",
    "Usage",
    "admit",
    "assemble",
    "describe_tool",
    "judge_choice",
    "load_registry",
    "normalize_tools",
    "peak_confidence",
    "rank",
    "recomputed_confidence",
    "resolve",
    "resolve_detailed",
    "search_tools",
    "settle",
    "solve",
    "validate_tools",
]
