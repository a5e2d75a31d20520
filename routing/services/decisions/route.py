"""Route: which next step. The request is kept and decided by a worker; the answer says who decided and by which bounds."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from routing.choices import DecisionState, DecisionType
from routing.engine.config import RoutingConfig
from routing.engine.decision_table import direct_threshold
from routing.engine.execution import Proposal, RuleExecutionPolicy, Verdict
from routing.engine.models import FALLBACK, ActionSummary, HarnessState, RouteDecision, RoutingMode
from routing.engine.policies import EffectivePolicy, effective
from routing.engine.replay import asks_local_alone
from routing.engine.shortlist import query_of
from routing.errors import InvalidRequest
from routing.models import Decision
from routing.sealing import keyed_digest
from routing.services import providers, sessions
from routing.services.decisions.caller import Caller
from routing.services.decisions.claims import hold_while_waiting
from routing.services.decisions.offers import Offer, brought, from_scope
from routing.services.decisions.queue import Request, draft, keep
from routing.services.decisions.result import Result, event_of
from routing.services.providers import Routed, shadows
from routing.services.recordings import keeping
from routing.services.shadow_policies import taking
from routing.snapshot import Live


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
    """Keep a route request for a worker. Raises Unavailable when it cannot be kept, and what `draft_route` raises."""
    drafted = draft_route(decision_id, caller, asked)
    keep([drafted])
    return drafted.row


def draft_route(decision_id: str, caller: Caller, asked: RouteRequest) -> Request:
    """A route request that is ready to be kept. Raises NotFound for a policy that the scope does not allow and for a
    session of another, InvalidRequest for tools that cannot be told apart."""
    live = caller.live()
    policy = caller.policy(sessions.policy_for(caller, asked.session_id, asked.policy))
    if policy.router["mode"] != RoutingMode.PLANNER_ONLY:
        _check_tools(asked.tools or ())
    facts = {"policy": policy.name, "revision": live.revision, "session_id": asked.session_id}
    row = draft(decision_id, DecisionType.ROUTE, caller, asdict(asked), **facts)
    return Request(row=row, waits=providers.longest_s(live, policy) > 0)


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
    offer = from_scope(live.catalog, caller.scope, state, policy) if given is None else brought(given)
    admission = sessions.admit(row)
    hold_while_waiting(row, providers.longest_s(live, policy))
    routed = _decide(live, offer, state, policy, admission.refusal if admission else None)
    decision, bar = routed.decision, bar_of(policy, offer, routed.decision)
    admission = sessions.settle(row, admission, fallback=decision.fallback)
    verdict = verdict_of(offer, live.catalog.execution(policy.name), decision)
    latency_ms = round((time.perf_counter() - began) * 1000, 3)
    answer = {
        "decision_id": str(row.pk),
        "state": DecisionState.FINISHED.value,
        **_decided(routed),
        "latency_ms": latency_ms,
        "thresholds": asdict(bar),
        "execution": None if verdict is None else asdict(verdict),
        "session": admission.session if admission else None,
        "policy": policy.name,
        "revision": live.revision,
        "catalog_revision": live.catalog.revision(caller.scope) if given is None else None,
        "usage": None if routed.usage is None else asdict(routed.usage),
    }
    shadows.consider(
        shadows.Made(
            live=live, policy=policy, scope=offer.scope, state=state, tools=offer.descriptors, decision=decision
        )
    )
    codes = [*filter(None, [answer["fallback_reason"]]), *(admission.reason_codes if admission else ())]
    columns = _columns(answer) | {"reason_codes": codes}
    event = _event(row, answer, content["goal"]) | {"reason_codes": codes}
    event |= _recording(row, live, policy, offer, routed, state)
    event |= taking.of_route(live, policy, row, offer, decision, None if verdict is None else verdict.verdict)
    return Result(state=DecisionState.FINISHED, columns=columns, event=event)


def _recording(
    row: Decision, live: Live, policy: EffectivePolicy, offer: Offer, routed: Routed, state: HarnessState
) -> dict[str, Any]:
    # Tools that a caller brought are not kept, and what another provider would answer nobody knows: no text would help.
    # What a session refused was put to nobody.
    can_ask_again = (
        offer.scope is not None and asks_local_alone(live.catalog, policy) and routed.decision.source != "session"
    )
    return keeping.of_route(
        live,
        policy.name,
        routed.decision,
        lambda: {name: one.descriptor for name, one in offer.tools.items()},
        of_catalog=offer.scope is not None,
        text=query_of(state) if can_ask_again else None,
        decision_id=str(row.pk),
        at=row.created_at,
    )


def _state(content: Mapping[str, Any]) -> HarnessState:
    return HarnessState(
        goal=content["goal"],
        observation=content["observation"],
        last_action=content["last_action"],
        recent_actions=[ActionSummary(tool=tool, outcome=outcome) for tool, outcome in content["recent_actions"]],
        constraints=list(content["constraints"]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The thresholds that a decision met, and who set them: default, policy, risk or finish."""

    direct: float
    fallback: float
    by: str


def _decide(live: Live, offer: Offer, state: HarnessState, policy: EffectivePolicy, refusal: str | None) -> Routed:
    if refusal is not None:
        return Routed(decision=RouteDecision(fallback=True, fallback_reason=refusal, source="session"))
    return providers.decide(live, policy, offer.scope, state, offer.descriptors)


def bar_of(policy: EffectivePolicy, offer: Offer, decision: RouteDecision) -> Bar:
    """The thresholds for what was chosen: finishing and risky effects may have a direct threshold of their own."""
    config = RoutingConfig.from_policy(policy.router)
    usual = Bar(direct=config.direct_execution_threshold, fallback=config.fallback_threshold, by=_set_by(policy))
    chosen = offer.tools.get(decision.answers[-1].choice) if decision.answers else None
    if chosen is None:
        return usual
    direct, by = direct_threshold(config, chosen.descriptor)
    return usual if by == "default" else replace(usual, direct=direct, by=by)


def _set_by(policy: EffectivePolicy) -> str:
    names = ("direct_execution_threshold", "fallback_threshold")
    return "default" if all(policy.router[name] == _DEFAULTS[name] for name in names) else "policy"


_DEFAULTS = effective("default", ()).router


def _decided(routed: Routed) -> dict[str, Any]:
    decision = routed.decision
    return {
        "tool": decision.tool,
        "category": decision.category,
        "confidence": round(decision.confidence, 4),
        "probabilities": {name: round(value, 4) for name, value in decision.probabilities.items()},
        "fallback": decision.fallback,
        "fallback_reason": decision.fallback_reason,
        "proposed_tool": decision.proposed_tool,
        "source": decision.source,
        "provider": routed.provider,
        "model": routed.model,
        "requests": routed.requests,
        "k": decision.k,
        "top_probability": _rounded(decision.top_probability),
        "margin": _rounded(decision.margin),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def verdict_of(offer: Offer, execution: RuleExecutionPolicy, decision: RouteDecision) -> Verdict | None:
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
    return execution.judge_proposal(proposal)


def _columns(answer: Mapping[str, Any]) -> dict[str, Any]:
    ranked = sorted(answer["probabilities"].items(), key=lambda item: (-item[1], item[0]))
    return {
        "answer": answer,
        "revision": answer["revision"],
        "catalog_revision": answer["catalog_revision"],
        "target": answer["tool"],
        "status": "fallback" if answer["fallback"] else "selected",
        "confidence": str(answer["confidence"]),
        "probability": answer["top_probability"],
        "source": answer["source"],
        "cost": (answer["usage"] or {}).get("cost") or None,
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
    return event_of(row, said, revision=answer["revision"], tool=answer["tool"], fallback=answer["fallback"])
