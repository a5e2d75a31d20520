"""A shadow policy: what another policy's values would have made of a decision, from what was in hand when it was made.

Nothing is ranked anew and nobody is asked anything. `of_resolve` and `of_route` take along what the two policies are judged
by, as plain numbers and names; `judged_again` makes the decision from them. What would need another ranking or an answer that
nobody gave is not guessed: `Unjudged` says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from routing.engine.calibration import Calibration
from routing.engine.config import RoutingConfig
from routing.engine.decision_table import direct_threshold
from routing.engine.execution import Proposal, RuleExecutionPolicy
from routing.engine.meaning import AUTO, DEEP
from routing.engine.models import RouteDecision, RoutingMode, ToolDescriptor
from routing.engine.naming import ToolNames
from routing.engine.policies import EffectivePolicy
from routing.engine.policy import AMBIGUOUS, CONFIDENT, NO_MATCH, Thresholds, Verdict, doubts, probabilities
from routing.engine.replay import HANDED_BACK, SELECTED, TO_BE_CONFIRMED, decided_again, recorded_route
from routing.engine.scoring import DIGITS, Lineup

BLOCKS = ("router", "resolver", "execution")  # of a policy, that a decision is judged by
Blocks = Mapping[str, Mapping[str, Any]]

SAME = "same"
KINDS = (
    "other_choice",
    "would_fall_back",
    "would_not_fall_back",
    "other_fallback",
    "would_be_confident",
    "would_be_ambiguous",
    "would_be_no_match",
    "other_verdict",
)
# Why a decision cannot be judged again.
ASKS_OTHERWISE, NOBODY_ASKED, NO_ANSWER = "asks_otherwise", "nobody_asked", "no_answer"
RANKS_OTHERWISE, NEEDS_ENCODER, OF_SESSION = "ranks_otherwise", "needs_encoder", "of_session"
NOT_REPRODUCED, BROKEN = "not_reproduced", "broken"
WHY_NOT = (
    ASKS_OTHERWISE,
    NOBODY_ASKED,
    NO_ANSWER,
    RANKS_OTHERWISE,
    NEEDS_ENCODER,
    OF_SESSION,
    NOT_REPRODUCED,
    BROKEN,
)

# Settings of the router by which a provider is asked something else.
ASKING = (
    "providers",
    "hierarchical_threshold",
    "adaptive_hierarchy",
    "hierarchical_min_savings_ratio",
    "description_limit",
    "history_limit",
    "state_field_limit",
    "constraint_limit",
)
Grounds = Mapping[str, Any]  # what was in hand when a decision was made; goes through JSON as it is
_UNANSWERED = ("provider_error", "router_error", "missing_openrouter_api_key")
_ZERO_GAP = Thresholds(risk_at={})


class Unjudged(Exception):
    """This decision cannot be judged again. `why` is one of WHY_NOT."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two answers: as the ledger would tell it, and the figure that met a bar.

    `measure` says which figure it was: confidence, probability, match_probability or gap; empty where no bar decided.
    """

    status: str
    target: str | None = None
    reason: str = ""
    proposed: str | None = None  # what a planner is asked to confirm
    verdict: str | None = None  # allow | ask | deny
    measure: str = ""
    value: float | None = None
    bar: float | None = None

    def told(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """A policy's values as decisions are judged by them."""

    blocks: Blocks
    config: RoutingConfig
    thresholds: Thresholds
    execution: RuleExecutionPolicy

    @classmethod
    def of(cls, blocks: Blocks, names: ToolNames | None = None) -> Values:
        """From `blocks_of`, as it was kept. Raises RouterConfigurationError for values out of bounds."""
        return cls(
            blocks=blocks,
            config=RoutingConfig.from_policy(blocks["router"]),
            thresholds=Thresholds.of(blocks["resolver"]),
            execution=RuleExecutionPolicy.of(blocks["execution"], names=names),
        )


def blocks_of(policy: EffectivePolicy) -> dict[str, dict[str, Any]]:
    """What a policy comes to, as far as decisions are judged by it: plain values that can be kept as JSON."""
    return {block: {name: _plain(one) for name, one in getattr(policy, block).items()} for block in BLOCKS}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def takes(decision_id: str, share: float) -> bool:
    """Whether a decision is among this share of all; the same for everybody who asks."""
    return int(decision_id[-8:], 16) < share * 2**32


# --- what is taken along ----------------------------------------------------------------------------------------------
def of_resolve(
    judged: tuple[Lineup, Verdict],
    calibration: Calibration,
    *,
    tier: str | None,
    may_go_deep: bool,
    before: Grounds | None = None,
) -> Grounds:
    """What a resolve or an advice is judged by. `tier`: that was asked for; `may_go_deep`: the encoder was there to be asked;
    `before`: the same of the answer on which it was asked."""
    lineup, verdict = judged
    ranking = lineup.present
    first, second = [*ranking.candidates[:2], None, None][:2]
    said: dict[str, Any] = {
        "tier": tier,
        "used": ranking.tier,
        "may_go_deep": may_go_deep,
        "status": verdict.status,
        "match": verdict.match_probability,
        "right": verdict.probability,
        "before": before,
    }
    if first is None or ranking.request.small_talk or not ranking.request.content:
        return said | {"settled": True, "reason": verdict.reasons[0] if verdict.reasons else ""}
    return said | {
        "settled": False,
        "first": first.doc.public,
        "effect": first.doc.traits.effect,
        "gap": None if second is None else round(first.score - second.score, DIGITS),
        "doubts": list(doubts(ranking, _ZERO_GAP)),
        "whole": None if lineup.absent_best is None else _chance(lineup, calibration),
    }


def _chance(lineup: Lineup, calibration: Calibration) -> float | None:
    """That something fits, were all there that is off or away."""
    return None if lineup.whole is None else calibration(*probabilities(lineup.whole))[0]


def of_route(
    decision: RouteDecision,
    offered: Mapping[str, ToolDescriptor],
    *,
    of_catalog: bool,
    facts: Mapping[str, str | None],
    verdict: str | None,
) -> Grounds:
    """What a route is judged by: its provider's answers, and `facts` (endpoint, category, risk, effect) of the tool that was
    chosen, sure enough or not; of its execution the `verdict`."""
    return {
        "of_catalog": of_catalog,
        "source": decision.source,
        "tool": decision.tool,
        "proposed": decision.proposed_tool,
        "reason": decision.fallback_reason,
        "verdict": verdict,
        "facts": dict(facts),
        "route": recorded_route(decision, offered, of_catalog=of_catalog) if decision.answers else None,
    }


# --- judging again ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The live answer beside that of the shadow policy. `kind` is SAME or one of KINDS."""

    kind: str
    live: Side
    shadow: Side


def compare(grounds: Grounds, base: Values, shadow: Values) -> Comparison:
    """A decision that was made by the values `base`, made again by those of the shadow. Raises Unjudged."""
    if "route" in grounds:
        live, other = _routed(grounds, base, shadow)
        known = (grounds["tool"], grounds["reason"], grounds["verdict"]) == (
            live.target,
            live.reason or None,
            live.verdict,
        )
    else:
        live, other = _resolved(grounds, base, base), _resolved(grounds, base, shadow)
        known = live.status == grounds["status"]
    if not known:  # what it was judged by is not all of it: then nothing is said of the other side either
        raise Unjudged(NOT_REPRODUCED)
    return Comparison(kind=kind_of(live, other), live=live, shadow=other)


def kind_of(live: Side, shadow: Side) -> str:
    if live.status != shadow.status:
        return _BECAME[shadow.status]
    if live.target != shadow.target:
        return "other_choice"
    if live.proposed != shadow.proposed:
        return "other_fallback"
    return SAME if live.verdict == shadow.verdict else "other_verdict"


_BECAME = {
    HANDED_BACK: "would_fall_back",
    SELECTED: "would_not_fall_back",
    CONFIDENT: "would_be_confident",
    AMBIGUOUS: "would_be_ambiguous",
    NO_MATCH: "would_be_no_match",
}


def _resolved(grounds: Grounds, base: Values, values: Values) -> Side:
    rules, usual = values.blocks["resolver"], base.blocks["resolver"]
    if grounds["tier"] is None and rules["tier"] != usual["tier"]:
        raise Unjudged(RANKS_OTHERWISE)
    deepens = (grounds["tier"] or rules["tier"]) == AUTO
    if deepens and grounds["before"] is not None:
        early = _met(grounds["before"], values, usual)
        if early.status != AMBIGUOUS:  # then the encoder would not have been asked
            return early
    found = _met(grounds, values, usual)
    would_ask = deepens and grounds["used"] != DEEP and grounds["may_go_deep"]
    if would_ask and found.status == AMBIGUOUS != grounds["status"]:
        raise Unjudged(NEEDS_ENCODER)
    return found


def _met(grounds: Grounds, values: Values, usual: Mapping[str, Any]) -> Side:
    """What was ranked meets the thresholds, as in `policy.judge`."""
    if grounds["settled"]:
        return Side(status=NO_MATCH, reason=grounds["reason"])
    rules, thresholds = values.blocks["resolver"], values.thresholds
    gap, match, found = grounds["gap"], grounds["match"], list(grounds["doubts"])
    if gap == 0 and rules["erasing_never_first_on_tie"] != usual["erasing_never_first_on_tie"]:
        raise Unjudged(RANKS_OTHERWISE)
    if match < thresholds.match_at:
        figures = {"measure": "match_probability", "value": match, "bar": thresholds.match_at}
        return Side(status=NO_MATCH, reason="low_probability", **figures)
    right = min(grounds["right"], match / 2) if "functional_twins" in found else grounds["right"]
    figures = {"measure": "probability", "value": right, "bar": thresholds.bar(grounds["effect"])}
    if not found and gap and gap < thresholds.min_gap:
        found, figures = ["close_scores"], {"measure": "gap", "value": gap, "bar": thresholds.min_gap}
    elif grounds["whole"] is not None and grounds["whole"] >= thresholds.match_at:
        found.append("best_candidate_unavailable")
    if not found and right >= thresholds.bar(grounds["effect"]):
        return Side(status=CONFIDENT, target=grounds["first"], **figures)
    if found and figures["measure"] == "probability":  # no bar decided
        figures = {}
    reason = found[0] if found else "low_probability"
    return Side(status=AMBIGUOUS, target=grounds["first"], reason=reason, **figures)


def _routed(grounds: Grounds, base: Values, shadow: Values) -> tuple[Side, Side]:
    if grounds["source"] == "session":  # what a session refuses hangs on all that came before in it
        raise Unjudged(OF_SESSION)
    if grounds["route"] is None or grounds["reason"] in _UNANSWERED:
        return _unasked(grounds, base, shadow)
    if shadow.config.mode is not RoutingMode.PLANNER_ONLY and not _asks_alike(grounds, base, shadow):
        raise Unjudged(ASKS_OTHERWISE)
    return _decided(grounds, base), _decided(grounds, shadow)


def _unasked(grounds: Grounds, base: Values, shadow: Values) -> tuple[Side, Side]:
    """No provider answered: the planner decides, here and there, unless the other policy has somebody asked."""
    live, modes = Side(status=HANDED_BACK, reason=grounds["reason"] or ""), (base.config.mode, shadow.config.mode)
    if modes[1] is RoutingMode.PLANNER_ONLY or grounds["reason"] == "no_tools":
        return live, live
    if modes[0] is RoutingMode.PLANNER_ONLY:
        raise Unjudged(NOBODY_ASKED)
    if not _asks_alike(grounds, base, shadow) or modes[1] is RoutingMode.JEV_ONLY:
        raise Unjudged(NO_ANSWER)
    return live, live


def _asks_alike(grounds: Grounds, base: Values, shadow: Values) -> bool:
    """Whether the same providers are asked the same. The local one sees tools and state as they are."""
    here, there = base.blocks["router"], shadow.blocks["router"]
    names = ("providers",) if list(here["providers"]) == list(there["providers"]) == ["local"] else ASKING
    if grounds["of_catalog"]:
        names = (*names, "candidates")
    return all(here[name] == there[name] for name in names)


def _decided(grounds: Grounds, values: Values) -> Side:
    """The provider's answers meet the decision table, and what is selected the execution rules."""
    route, facts = grounds["route"], grounds["facts"]
    tools = route["tools"]

    def offered(name: str) -> ToolDescriptor | None:
        return ToolDescriptor(name, "", category=tools[name][0], effect=tools[name][1]) if name in tools else None

    decision = decided_again(route, values.config, offered)
    if decision is None:
        raise Unjudged(NO_ANSWER)
    tool = offered(decision.tool or decision.proposed_tool or route["answers"][-1][0])
    figures = _figures(decision, values, tool)
    if decision.tool is None:
        reason = decision.fallback_reason or ""
        return Side(status=HANDED_BACK, reason=reason, proposed=decision.proposed_tool, **figures)
    proposal = Proposal(
        tool=decision.tool,
        endpoint=facts["endpoint"],
        category=facts["category"],
        risk=facts["risk"] or "medium",
        effect=facts["effect"],
        confidence=decision.confidence,
    )
    verdict = values.execution.judge_proposal(proposal)
    return Side(status=SELECTED, target=decision.tool, verdict=verdict.verdict, **figures)


def _figures(decision: RouteDecision, values: Values, tool: ToolDescriptor | None) -> dict[str, Any]:
    """The confidence, and the bar that it met or missed."""
    config, reason = values.config, decision.fallback_reason
    if reason in ("low_confidence", "low_category_confidence"):
        bar = config.fallback_threshold
    elif tool is None or reason not in (None, TO_BE_CONFIRMED):
        return {}
    else:
        bar = direct_threshold(config, tool)[0] if config.mode is RoutingMode.HYBRID else config.fallback_threshold
    return {"measure": "confidence", "value": decision.confidence, "bar": bar}
