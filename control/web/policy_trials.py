"""A dry run of a policy's execution rules: what they say of one tool and of every tool of a scope, live beside draft.

Nothing is decided, run, asked or recorded here.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import may
from control.web import policy_settings
from control.web.filters import Filters, number, turns
from routing import inventory, snapshot, working
from routing.engine.catalog import Catalog
from routing.engine.execution import Proposal, RuleExecutionPolicy, Verdict
from routing.engine.execution_ground import Floor, Ground, rules_owner
from routing.engine.inference import CATEGORIES, Traits, describe_traits, infer_traits
from routing.engine.policies import EFFECTS, RISKS, VERDICTS, effective
from routing.engine.registry import Endpoint, Registry, Tool
from routing.models import Workspace

FACTS = ("category", "risk", "effect", "endpoint")
ASKED = ("scope", "confidence", "tool", *FACTS)
LISTED = ("q", "verdict", "differs")
USUAL_CONFIDENCE = 0.9


@dataclass(frozen=True, kw_only=True)
class Side:
    """The policy as one of the two registries has it, live or draft."""

    word: str
    policy: str
    ground: Ground

    @property
    def is_there(self) -> bool:
        return self.policy in self.ground.policies

    @cached_property
    def execution(self) -> RuleExecutionPolicy:
        return self.ground.execution(self.policy)

    @cached_property
    def floor(self) -> Floor:
        return Floor(effective(self.policy, self.ground.registry.policies))

    @property
    def layer(self) -> str:
        """The policy whose rules these are."""
        return rules_owner(self.policy, self.ground.policies) or self.policy

    def verdicts(self, scope: str, confidence: float) -> dict[str, tuple[Proposal, Verdict]]:
        """By public name, for every tool that a scope reaches."""
        if not self.is_there or scope not in self.ground.scopes:
            return {}
        tools = {rule.tool for rule in self.execution.rules}
        endpoints = {rule.endpoint for rule in self.execution.rules}
        known: dict[Any, Verdict] = {}  # tools that no rule tells apart have the same verdict
        found = {}
        for one in _proposals(self.ground, scope):
            named = (one.endpoint if one.endpoint in endpoints else None, one.tool if one.tool in tools else None)
            key = (one.effect, one.risk, one.category, *named)
            if key not in known:
                known[key] = self.execution.judge_proposal(replace(one, confidence=confidence))
            found[one.tool] = (one, known[key])
        return found


# What a scope may run is asked for again with every figure that somebody tries; a registry never changes.
_known_proposals: OrderedDict[tuple[int, str], tuple[Registry, tuple[Proposal, ...]]] = OrderedDict()
MOST_KNOWN = 4


def _proposals(ground: Ground, scope: str) -> tuple[Proposal, ...]:
    """One for each tool that a scope reaches, whatever the confidence."""
    key = (id(ground.registry), scope)
    held = _known_proposals.get(key)
    if held is None or held[0] is not ground.registry:
        held = _known_proposals[key] = (ground.registry, tuple(ground.proposals(scope)))
    while len(_known_proposals) > MOST_KNOWN:
        _known_proposals.popitem(last=False)
    return held[1]


@require_safe
@vary_on_headers("HX-Request")
@may("registry.view")
def page(request: HttpRequest, workspace: Workspace, name: str) -> HttpResponse:
    sides = _sides(workspace, name)
    if not any(side.is_there for side in sides):
        raise Http404
    filters = Filters.read(request, reverse("policy-try", args=[workspace.name, name]), (*ASKED, *LISTED))
    chosen = filters.chosen
    scopes = sorted({scope for side in sides for scope in side.ground.scopes})
    scope = chosen.get("scope") or _usual_scope(sides, scopes)
    confidence, problem = _confidence(chosen.get("confidence", ""))
    context = {
        "name": name,
        "in_draft": sides[1].is_there,
        "scopes": scopes,
        "scope": scope,
        "confidence": f"{confidence:g}" if not problem else chosen["confidence"],
        "problem": problem,
        "chosen": chosen,
        "categories": CATEGORIES,
        "risks": RISKS,
        "effects": EFFECTS,
        "results": [] if problem else [_result(side, chosen, scope, confidence) for side in sides],
        "asks": any(chosen.get(fact) for fact in ("tool", *FACTS)),
    } | _table(request, workspace, filters, sides, scope, confidence)
    template = "policies/try.html" + ("#list" if request.htmx else "")  # type: ignore[attr-defined]
    return render(request, template, context)


def _sides(workspace: Workspace, policy: str) -> tuple[Side, Side]:
    live, copy = snapshot.live(workspace.pk), working.copy_of(workspace)
    known = _known_traits(live.catalog)
    now = Side(word=f"Live, revision {live.revision}", policy=policy, ground=Ground(live.catalog.registry, known))
    return now, Side(word="Draft", policy=policy, ground=Ground(copy.registry, known))


def _known_traits(catalog: Catalog) -> Any:
    """What a tool is: as the live catalog found out, where the tool is the same there."""

    def traits(endpoint: Endpoint, tool: Tool) -> Traits:
        doc = catalog.tool(endpoint.name, tool.name)
        return doc.traits if doc is not None and (doc.tool is tool or doc.tool == tool) else describe_traits(tool)

    return traits


def _usual_scope(sides: Iterable[Side], scopes: list[str]) -> str:
    """The first scope that decides by the policy."""
    using = (
        scope
        for side in sides
        for scope, known in sorted(side.ground.scopes.items())
        if side.policy in {known.policy, *(known.policies or ())}
    )
    return next(using, "default" if "default" in scopes else scopes[0])


def _confidence(text: str) -> tuple[float, str]:
    """The confidence that was asked about, and what is wrong with it."""
    if not text:
        return USUAL_CONFIDENCE, ""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    return (value, "") if 0 <= value <= 1 else (USUAL_CONFIDENCE, "Confidence must be a number from 0 to 1.")


# --- one tool -------------------------------------------------------------------------------------------------------
def _result(side: Side, chosen: Mapping[str, str], scope: str, confidence: float) -> dict[str, Any]:
    """The verdict of one side on what was asked, with the rule that decided and those that were passed over."""
    if not side.is_there:
        return {"side": side, "proposal": None}
    pair = side.ground.names.pair(chosen.get("tool", ""))
    proposal = _proposal(side, chosen, confidence)
    verdict, asked = side.execution.judge_proposal(proposal), side.execution.trace(proposal)
    lines = [
        {"id": one.rule, "words": _rule_words(side, place), "misses": _whys(side, place, one.misses, proposal)}
        for place, one in enumerate(asked)
    ]
    least = side.floor(proposal)
    return {
        "side": side,
        "proposal": proposal,
        "known": pair is not None,
        "reached": pair is not None and scope in side.ground.scopes and side.ground.reach(scope).permit(*pair),
        "verdict": verdict,
        "why": lines[-1]["words"] if lines and not lines[-1]["misses"] else _default_words(side, proposal),
        "passed": [line for line in lines if line["misses"]],
        "not_asked": len(side.execution.rules) - len(asked),
        "least": None if confidence >= least or math.isinf(least) else least,
        "selects_nothing": math.isinf(least),
    }


def _proposal(side: Side, chosen: Mapping[str, str], confidence: float) -> Proposal:
    """The registry's own tool, or one that a harness brings; facts that are given stand in place of what is known."""
    tool = chosen.get("tool", "")
    pair = side.ground.names.pair(tool)
    given = {fact: chosen[fact] for fact in FACTS if chosen.get(fact)}
    given = {fact: one for fact, one in given.items() if one in {"risk": RISKS, "effect": EFFECTS}.get(fact, (one,))}
    if pair is not None:
        known = side.ground.proposal(side.ground.endpoints[pair[0]], side.ground.tool(pair), confidence)
        facts = {name: getattr(known, name) for name in ("tool", *FACTS)}
    else:
        facts = {"tool": tool, "endpoint": None, **infer_traits(tool, "")}
    return Proposal(**facts | given, confidence=confidence)


def _rule_words(side: Side, place: int) -> str:
    rule = side.execution.rules[place]
    fields = ("verdict", "effect", "risk", "category", "tool", "endpoint", "min_confidence")
    return policy_settings.rule_words({name: getattr(rule, name) for name in fields})


def _whys(side: Side, place: int, misses: Iterable[str], proposal: Proposal) -> list[str]:
    rule = side.execution.rules[place]
    return [_why(fact, getattr(rule, fact), getattr(proposal, fact, None), proposal.confidence) for fact in misses]


def _why(fact: str, wanted: Any, given: Any, confidence: float) -> str:
    if fact == "min_confidence":
        return f"confidence {confidence:g} is below {wanted:g}"
    if not given:
        return f"it has no {fact}, and {wanted} is asked for" if fact != "tool" else f"it is not {wanted}"
    return f"{fact} is {given}, not {wanted}"


def _default_words(side: Side, proposal: Proposal) -> str:
    words = dict(policy_settings.risks(policy_settings.Layers(side.policy, side.ground.registry.policies)))
    return f"No rule fits, so the risk decides. {proposal.risk.capitalize()}: {words[proposal.risk].lower()}."


# --- every tool of the scope ----------------------------------------------------------------------------------------
def _table(
    request: HttpRequest,
    workspace: Workspace,
    filters: Filters,
    sides: tuple[Side, Side],
    scope: str,
    confidence: float,
) -> dict[str, Any]:
    live, draft = (side.verdicts(scope, confidence) for side in sides)
    words = [{name: one[1].verdict for name, one in side.items()} for side in (live, draft)]
    names = sorted({**live, **draft})
    page_ = inventory.cut([name for name in names if _fits(name, words, filters.chosen)], number(request))
    kept = {name: filters.chosen[name] for name in ("scope", "confidence") if name in filters.chosen}
    rows = [_line(name, live.get(name), draft.get(name)) for name in page_.rows]
    for line in rows:
        line["address"] = f"{filters.path}?{urlencode({**kept, 'tool': line['name']})}"
    counts = [Counter(side.values()) for side in words]
    return {
        "filters": filters,
        "rows": rows,
        "total": len(names),
        "different": sum(words[0].get(name) != words[1].get(name) for name in names),
        "counts": [
            {
                "verdict": verdict,
                "live": counts[0][verdict],
                "draft": counts[1][verdict],
                "address": filters.address(verdict=verdict, differs=""),
            }
            for verdict in VERDICTS
        ],
        "verdicts": VERDICTS,
        "active": [chip for chip in filters.chips({"q": "about"}) if chip["name"] in LISTED],
        "clear": filters.address(**dict.fromkeys(LISTED, "")),
        "keep": [(name, value) for name, value in filters.chosen.items() if name not in LISTED],
        "differs_address": filters.address(differs="yes", verdict=""),
    } | turns(filters, page_)


def _line(name: str, live: tuple[Proposal, Verdict] | None, draft: tuple[Proposal, Verdict] | None) -> dict[str, Any]:
    now, then = (None if one is None else one[1] for one in (live, draft))
    return {
        "name": name,
        "proposal": (draft or live or (None,))[0],
        "live": now,
        "draft": then,
        "differs": (now and now.verdict) != (then and then.verdict),
    }


def _fits(name: str, words: Sequence[Mapping[str, str]], chosen: Mapping[str, str]) -> bool:
    live, draft = (side.get(name) for side in words)
    if chosen.get("q", "").casefold() not in name.casefold() or (chosen.get("differs") and live == draft):
        return False
    wanted = chosen.get("verdict")
    return not wanted or wanted in (live, draft)
