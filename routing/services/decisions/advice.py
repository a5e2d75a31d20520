"""Advice: a resolve reduced to the few fields that a host may put in front of its model, and not asked twice for one activity.

What is remembered are names and flags under a keyed digest; no word of the activity leaves the process.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from routing import bus
from routing.choices import DecisionType
from routing.engine import assemble
from routing.errors import InvalidRequest, NotFound
from routing.sealing import keyed_digest
from routing.services.decisions.caller import Caller
from routing.services.decisions.resolve import resolve

logger = logging.getLogger(__name__)
MOST_ALTERNATIVES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What a harness is doing. `goal_id` stands for the goal where equal goals are written differently."""

    goal: str
    phase: str
    activity: str
    outcome: str | None = None
    input_kinds: tuple[str, ...] = ()
    goal_id: str | None = None

    def text(self) -> str:
        return assemble(self.goal, self.phase, self.activity, self.outcome, self.input_kinds)

    def key(self, scope: str) -> str:
        """Equal for the same work in the same scope: case and white space do not count, nor does the wished outcome."""
        goal = ["id", self.goal_id] if self.goal_id else ["goal", _folded(self.goal)]
        parts = [
            scope,
            goal,
            _folded(self.phase),
            _folded(self.activity),
            sorted({_folded(kind) for kind in self.input_kinds}),
        ]
        return keyed_digest("advice", orjson.dumps(parts).decode())


def advise(
    caller: Caller, activity: Activity, *, reconsider: bool = False, failed_decision_id: str | None = None
) -> dict[str, Any]:
    """The body of POST /advice. Whatever goes wrong in resolving is `unavailable` advice: it must not fail the user's turn.

    Raises InvalidRequest when the assembled text is too long, NotFound when the caller's scope is gone.
    """
    key = _key(caller, activity)
    if failed_decision_id:
        _forget(caller, failed_decision_id)
    found = None if reconsider else _remembered(caller, key)
    if found is not None:
        return _shown(found, activity, cached=True)
    made = _made(caller, activity)
    if made is None:
        return _shown(_NOTHING, activity, cached=False)
    _remember(caller, key, made)
    return _shown(made, activity, cached=False)


def _key(caller: Caller, activity: Activity) -> str:
    """Advice by a canary is remembered apart from advice by what is live, which may differ in more than its tools."""
    canary = caller.live().is_canary
    return activity.key(f"{caller.scope}@{caller.live().digest}" if canary else caller.scope)


_NOTHING: Mapping[str, Any] = {
    "decision_id": None,
    "status": "unavailable",
    "target": None,
    "required": [],
    "alternatives": [],
    "ambiguous": False,
    "template_truncated": False,
    "alternatives_truncated": False,
    "catalog_revision": None,
    "route": None,
}


def _made(caller: Caller, activity: Activity) -> dict[str, Any] | None:
    try:
        answer = resolve(caller, activity.text(), max_hits=MOST_ALTERNATIVES, type_=DecisionType.ADVICE.value)
    except NotFound:
        raise
    except Exception as error:  # a harness goes on without a hint, whatever it was
        logger.error("no advice: %s", type(error).__name__)
        return None
    if "error" in answer:
        raise InvalidRequest(
            "The activity is too long.",
            [{"path": "", "message": f"all parts together must have at most {answer['max_query_bytes']} bytes"}],
        )
    return _reduced(answer)


def _reduced(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Names and flags of an answer, and the two names that its hint is made of."""
    best: Mapping[str, Any] = answer["recommendation"] or {}
    return {
        "decision_id": answer["decision_id"],
        "status": answer["status"],
        "target": best.get("namespaced"),
        "required": list(best.get("required_fields", ())),
        "alternatives": [match["namespaced"] for match in answer["alternatives"][:MOST_ALTERNATIVES]],
        "ambiguous": answer["ambiguous"],
        "template_truncated": best.get("argument_template_truncated", False),
        "alternatives_truncated": answer.get("alternatives_truncated", False),
        "catalog_revision": answer["catalog_revision"],
        "route": [best["server"], best["title"] or best["tool"]] if best else None,
    }


def _shown(advice: Mapping[str, Any], activity: Activity, *, cached: bool) -> dict[str, Any]:
    said = {name: value for name, value in advice.items() if name != "route"}
    return said | {"cached": cached, "hint": _hint(advice, " ".join(activity.phase.split()))}


def _hint(advice: Mapping[str, Any], phase: str) -> str | None:
    if not advice["target"]:
        return None
    endpoint, tool = advice["route"]
    return f"Capability route · {phase} → {endpoint} · {tool}" + (" (compare first)" if advice["ambiguous"] else "")


# --- memory ---------------------------------------------------------------------------------------------------------
def _remembered(caller: Caller, key: str) -> dict[str, Any] | None:
    """What was advised for the same activity, unless the catalog has changed since."""
    try:
        found = bus.find_advice(caller.workspace_id, key)
    except bus.BusAway:
        return None
    if found is None or found["catalog_revision"] != caller.live().catalog.revision(caller.scope):
        return None
    return found


def _remember(caller: Caller, key: str, advice: Mapping[str, Any]) -> None:
    catalog = caller.live().catalog
    rules = catalog.policy(catalog.scopes[caller.scope].policy).resolver
    seconds = rules["advice_no_match_ttl_s" if advice["target"] is None else "advice_ttl_s"]
    if seconds < 1:
        return
    try:
        bus.keep_advice(caller.workspace_id, caller.scope, key, advice, int(seconds))
    except bus.BusAway:
        logger.info("bus away: advice is not remembered")


def _forget(caller: Caller, decision_id: str) -> None:
    try:
        bus.drop_advice(caller.workspace_id, caller.scope, [decision_id])
    except bus.BusAway:
        logger.info("bus away: there is no advice to forget")


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
