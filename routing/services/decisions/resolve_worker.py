"""The worker's lane of resolve: the same judgement, made where the policy wants it.

The answer that waits in the row is without the words of the request; the web process, which still holds the query, puts
them back (`complete`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from routing.choices import DecisionState
from routing.models import Decision
from routing.services.decisions.caller import Caller
from routing.services.decisions.resolve import Facts, judge
from routing.services.decisions.result import Result

_TEXT = ("query", "explanation")


def decide_resolve(row: Decision, content: Mapping[str, Any]) -> Result:
    began = time.perf_counter()
    caller = Caller(workspace_id=row.workspace_id, scope=row.scope, harness=row.harness)
    live = caller.live()
    query = content["query"]
    resolution = judge(live, caller, query, max_hits=content["max_hits"], explain=False, tier=content["tier"])
    latency_ms = round((time.perf_counter() - began) * 1000, 3)
    facts = Facts(
        live=live,
        caller=caller,
        resolution=resolution,
        query=query,
        decision_id=str(row.pk),
        at=row.created_at,
        latency_ms=latency_ms,
        tier=content["tier"],
        session_id=row.session_id,
    )
    kept = {key: value for key, value in resolution.answer.items() if key not in _TEXT} | {
        "decision_id": str(row.pk),
        "revision": live.revision,
    }
    return Result(
        state=DecisionState.FINISHED,
        columns=facts.outcome() | {"answer": _without_words(kept)},
        event=facts.event() | facts.alongside(),
    )


def _without_words(answer: dict[str, Any]) -> dict[str, Any]:
    """Drop matched terms: words that matched a query count as its text."""
    answer["alternatives"] = [_drop(item) for item in answer["alternatives"]]
    if answer["recommendation"]:
        answer["recommendation"] = _drop(answer["recommendation"])
    return answer


def _drop(match: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in match.items() if key != "matched_terms"}


def complete(answer: Mapping[str, Any], inline: Mapping[str, Any]) -> dict[str, Any]:
    """The worker's answer with the words of the request put back, taken from the inline judgement of the same query."""
    words = {item["namespaced"]: item["matched_terms"] for item in _matches(inline) if item.get("matched_terms")}
    whole: dict[str, Any] = {**answer, "query": inline["query"]}
    for match in _matches(whole):
        if match["namespaced"] in words:
            match["matched_terms"] = words[match["namespaced"]]
    if whole["recommendation"]:
        whole["recommendation"].setdefault("matched_terms", [])
    return whole


def _matches(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [*([answer["recommendation"]] if answer.get("recommendation") else []), *answer.get("alternatives", ())]
