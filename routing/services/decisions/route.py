"""Route: which next step. The request is kept and decided by a worker; the answer says who decided and by which bounds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from uuid_utils.compat import uuid7

from routing.choices import DecisionState, DecisionType, EventKind
from routing.engine import Catalog, rank
from routing.engine.config import RoutingConfig
from routing.engine.decision_table import decide_early, direct_threshold, judge_choice, validate_tools
from routing.engine.execution import Proposal, Verdict, judge_execution
from routing.engine.inference import Traits, describe_traits
from routing.engine.models import (
    FALLBACK,
    ActionSummary,
    HarnessState,
    RiskLevel,
    RouteDecision,
    RoutingMode,
    ToolDescriptor,
)
from routing.engine.policies import EffectivePolicy, effective
from routing.engine.registry import Tool
from routing.engine.shortlist import query_of
from routing.errors import InvalidRequest, NotFound
from routing.events import RECOMMENDATION_DATA, allowed, timestamp
from routing.models import Decision
from routing.providers.local import LocalProvider
from routing.sealing import keyed_digest
from routing.services.decisions.caller import Caller
from routing.services.decisions.queue import request
from routing.services.decisions.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRequest:
    """What POST /route asks. `tools` None means the resolver's best of the scope."""

    goal: str
    observation: str | None = None
    last_action: str | None = None
    recent_actions: tuple[tuple[str, str], ...] = ()
    constraints: tuple[str, ...] = ()
    tools: tuple[Mapping[str, Any], ...] | None = None
    session_id: str | None = None
    policy: str | None = None


def request_route(decision_id: str, caller: Caller, asked: RouteRequest) -> Decision:
    """Keep a route request for a worker. Raises NotFound for a policy that the scope does not allow, InvalidRequest for
    tools that cannot be told apart, Unavailable when it cannot be kept."""
    live = caller.live()
    policy = _policy_of(live.catalog, caller.scope, asked.policy)
    if policy.router["mode"] != RoutingMode.PLANNER_ONLY:
        _check_tools(asked.tools or ())
    facts = {"policy": policy.name, "revision": live.revision, "session_id": asked.session_id}
    return request(decision_id, DecisionType.ROUTE, caller, asdict(asked), **facts)


def _policy_of(catalog: Catalog, scope: str, wanted: str | None) -> EffectivePolicy:
    own = catalog.scopes[scope]
    if wanted is not None and wanted != own.policy and wanted not in (own.policies or ()):
        raise NotFound("There is no such policy for this key's scope.")
    return catalog.policy(wanted or own.policy)


def _check_tools(tools: Sequence[Mapping[str, Any]]) -> None:
    """Every tool needs a name of its own that is not the reserved label."""
    problems: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    for place, tool in enumerate(tools):
        name = str(tool["name"])
        path = f"tools[{place}].name"
        if not name.strip():
            problems.append({"path": path, "message": "must not be blank"})
        elif name == FALLBACK:
            problems.append({"path": path, "message": f"{FALLBACK} is reserved", "value": name})
        elif name in seen:
            problems.append({"path": path, "message": f"is the name of tools[{seen[name]}] too", "value": name[:200]})
        seen.setdefault(name, place)
    if problems:
        raise InvalidRequest("The tools cannot be told apart.", problems)


def decide_route(row: Decision, content: Mapping[str, Any]) -> Result:
    """Decide a kept request (on a worker) under the revision that is live now."""
    began = time.perf_counter()
    caller = Caller(workspace_id=row.workspace_id, scope=row.scope, harness=row.harness)
    live = caller.live()
    policy = live.catalog.policy(row.policy)
    state = _state(content)
    given = content["tools"]
    offer = _from_scope(live.catalog, caller.scope, state, policy) if given is None else _brought(given)
    decision, bar = _decide(offer, state, policy)
    verdict = _verdict(offer, policy, decision)
    latency_ms = round((time.perf_counter() - began) * 1000, 3)
    answer = {
        "decision_id": str(row.pk),
        "state": DecisionState.FINISHED.value,
        **_decided(decision),
        "latency_ms": latency_ms,
        "thresholds": asdict(bar),
        "execution": None if verdict is None else asdict(verdict),
        "session": None,
        "policy": policy.name,
        "revision": live.revision,
        "catalog_revision": live.catalog.revision(caller.scope) if given is None else None,
        "usage": None,
    }
    return Result(state=DecisionState.FINISHED, columns=_columns(answer), event=_event(row, answer, content["goal"]))


def _state(content: Mapping[str, Any]) -> HarnessState:
    return HarnessState(
        goal=content["goal"],
        observation=content["observation"],
        last_action=content["last_action"],
        recent_actions=[ActionSummary(tool=tool, outcome=outcome) for tool, outcome in content["recent_actions"]],
        constraints=list(content["constraints"]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A tool on offer: what the provider sees of it, and what the policies ask about it."""

    descriptor: ToolDescriptor
    traits: Traits
    endpoint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    tools: Mapping[str, Offered]
    provider: LocalProvider

    @property
    def descriptors(self) -> list[ToolDescriptor]:
        return [offered.descriptor for offered in self.tools.values()]


def _from_scope(catalog: Catalog, scope: str, state: HarnessState, policy: EffectivePolicy) -> Offer:
    """The scope's best candidates for the goal and what was seen last, by public name."""
    ranked = rank(catalog, query_of(state), scope=scope, limit=policy.router["candidates"])
    tools = {}
    for candidate in ranked:
        doc = catalog.tool(candidate.endpoint, candidate.wire)
        if candidate.available and doc is not None:
            tools[candidate.public] = _offered(candidate.public, doc.tool, candidate.endpoint)
    return Offer(tools=tools, provider=LocalProvider(catalog, scope=scope))


def _brought(given: Iterable[Mapping[str, Any]]) -> Offer:
    return Offer(
        tools={tool["name"]: _offered(tool["name"], _declared(tool)) for tool in given}, provider=LocalProvider()
    )


def _declared(tool: Mapping[str, Any]) -> Tool:
    return Tool(
        name=tool["name"],
        title=tool.get("title"),
        description=tool.get("description") or "",
        annotations=tool.get("annotations") or {},
        category=tool.get("category"),
        risk=tool.get("risk"),
    )


def _offered(name: str, tool: Tool, endpoint: str | None = None) -> Offered:
    traits = describe_traits(tool)
    words = " ".join(filter(None, (tool.title, tool.description))) or tool.name
    descriptor = ToolDescriptor(
        name=name,
        description=words,
        category=traits.category,
        risk=RiskLevel(traits.risk),
        schema=tool.input_schema,
        effect=traits.effect,
    )
    return Offered(descriptor=descriptor, traits=traits, endpoint=endpoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The thresholds that a decision met, and who set them: default, policy, risk or finish."""

    direct: float
    fallback: float
    by: str


def _decide(offer: Offer, state: HarnessState, policy: EffectivePolicy) -> tuple[RouteDecision, Bar]:
    config = RoutingConfig.from_policy(policy.router)
    usual = Bar(direct=config.direct_execution_threshold, fallback=config.fallback_threshold, by=_set_by(policy))
    early = decide_early(config, offer.descriptors)
    if early is not None:
        return early, usual
    validate_tools(offer.descriptors)
    choice = offer.provider.choose(state, offer.descriptors)
    bar = _bar(usual, config, offer.tools.get(choice.choice))
    return judge_choice(choice, config, offer.descriptors, direct=bar.direct), bar


def _bar(usual: Bar, config: RoutingConfig, chosen: Offered | None) -> Bar:
    """The thresholds for what was chosen: finishing and risky effects may have a direct threshold of their own."""
    if chosen is None:
        return usual
    direct, by = direct_threshold(config, chosen.descriptor)
    return usual if by == "default" else replace(usual, direct=direct, by=by)


def _set_by(policy: EffectivePolicy) -> str:
    names = ("direct_execution_threshold", "fallback_threshold")
    return "default" if all(policy.router[name] == _DEFAULTS[name] for name in names) else "policy"


_DEFAULTS = effective("default", ()).router


def _decided(decision: RouteDecision) -> dict[str, Any]:
    asked = decision.source != "none"
    return {
        "tool": decision.tool,
        "category": decision.category,
        "confidence": round(decision.confidence, 4),
        "probabilities": {name: round(value, 4) for name, value in decision.probabilities.items()},
        "fallback": decision.fallback,
        "fallback_reason": decision.fallback_reason,
        "proposed_tool": decision.proposed_tool,
        "source": decision.source,
        "provider": "local" if asked else None,
        "model": None,
        "requests": int(asked),
        "k": decision.k,
        "top_probability": _rounded(decision.top_probability),
        "margin": _rounded(decision.margin),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _verdict(offer: Offer, policy: EffectivePolicy, decision: RouteDecision) -> Verdict | None:
    """Advice apart, authority apart: what the execution policy says about running the selected tool."""
    if decision.tool is None:
        return None
    chosen = offer.tools[decision.tool]
    proposal = Proposal(
        tool=decision.tool,
        endpoint=chosen.endpoint,
        category=chosen.traits.category,
        risk=chosen.traits.risk,
        effect=chosen.traits.effect,
        confidence=decision.confidence,
    )
    return judge_execution(policy.execution, proposal)


def _columns(answer: Mapping[str, Any]) -> dict[str, Any]:
    ranked = sorted(answer["probabilities"].items(), key=lambda item: (-item[1], item[0]))
    return {
        "answer": answer,
        "revision": answer["revision"],
        "catalog_revision": answer["catalog_revision"],
        "target": answer["tool"],
        "status": "fallback" if answer["fallback"] else "selected",
        "reason_codes": [answer["fallback_reason"]] if answer["fallback_reason"] else [],
        "confidence": str(answer["confidence"]),
        "probability": answer["top_probability"],
        "source": answer["source"],
        "fallback_reason": answer["fallback_reason"],
        "latency_ms": answer["latency_ms"],
        "thresholds": answer["thresholds"],
        "candidates": [{"target": name, "score": score, "fields": {}} for name, score in ranked if name != FALLBACK][
            :10
        ],
        "execution": answer["execution"],
    }


def _event(row: Decision, answer: Mapping[str, Any], goal: str) -> dict[str, Any]:
    said = {
        **answer,
        "type": DecisionType.ROUTE.value,
        "probability": answer["top_probability"],
        "alternatives": [item["target"] for item in _columns(answer)["candidates"] if item["target"] != answer["tool"]][
            :5
        ],
        "query_digest": keyed_digest("query", " ".join(goal.split()).casefold()),
        "verdict": (answer["execution"] or {}).get("verdict"),
    }
    return {
        "id": str(uuid7()),
        "at": timestamp(row.created_at),
        "kind": EventKind.RECOMMENDATION.value,
        "scope": row.scope,
        "harness": row.harness,
        "decision_id": str(row.pk),
        "session_id": row.session_id,
        "revision": answer["revision"],
        "target": answer["tool"],
        "status": "fallback" if answer["fallback"] else "selected",
        "reason_codes": [answer["fallback_reason"]] if answer["fallback_reason"] else [],
        "data": allowed(said, RECOMMENDATION_DATA),
    }
