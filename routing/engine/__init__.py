"""Pure decisions: which tool for this activity, which step next. No Django, no clock, no I/O.

The tour, in the order of a request:

    registry    what a workspace's document says, as values (`validation` reads it, `naming` names its tools)
    catalog     a registry compiled: `load_registry`; `parts` and `index` hold the postings, `scope` what each harness may see
                (`sayings` are operators' words for capabilities)
    activity    what a harness is doing, put together as one text
    query       that text read into terms: asked for, mentioned, forbidden, or no request at all (`text`, `vocabulary`)
    matching    which words of the catalog a term may stand for (`concepts`, `tongues` and `kindred` hold what is known of words)
    scoring     rank the tools in sight (`evidence` holds the request against them, `meaning` the vectors of words)
    policy      judge the ranking: confident, ambiguous, no_match (`calibration` corrects it by what came of earlier answers)
    recommend   the front door, `resolve`, and the answers of the contract (`summary` bounds them, `explain` gives reasons,
                `counterfactual` what one hint brings)
    router      what a provider chose, judged by the decision table (`models` holds the values, `config` the bounds)
    session     steps and the fallback circuit of one session (`loops` sees when actions go round in circles)
    execution   whether a selected tool may be run: rules apart from routing
    expectations  what a document expects of itself, asked

Errors are in `errors`; `policies` is the table of every setting, `canonical` the one spelling that digests are made of.
"""

from routing.engine.activity import assemble
from routing.engine.catalog import Catalog, load_registry
from routing.engine.config import RoutingConfig
from routing.engine.errors import (
    InvalidProviderResponse,
    PolicyDeniedError,
    ProviderError,
    ProviderTimeoutError,
    RegistryError,
    RouterConfigurationError,
    RouterError,
    RoutingLoopError,
    UnknownToolError,
)
from routing.engine.execution import (
    DefaultExecutionPolicy,
    ExecutionPolicy,
    ExecutionRule,
    RuleExecutionPolicy,
)
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
from routing.engine.recommend import Ranked, Resolution, describe_tool, rank, resolve, resolve_detailed, search_tools
from routing.engine.router import judge_choice, validate_tools
from routing.engine.session import RoutingSession, SessionState, admit, settle

__all__ = [
    "ActionSummary",
    "Catalog",
    "ChoiceDecision",
    "DecisionProvider",
    "DefaultExecutionPolicy",
    "ExecutionPolicy",
    "ExecutionRule",
    "HarnessState",
    "InvalidProviderResponse",
    "Loop",
    "LoopGuard",
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
    "SessionState",
    "ToolDescriptor",
    "UnknownToolError",
    "Usage",
    "admit",
    "assemble",
    "describe_tool",
    "judge_choice",
    "load_registry",
    "rank",
    "resolve",
    "resolve_detailed",
    "search_tools",
    "settle",
    "validate_tools",
]
