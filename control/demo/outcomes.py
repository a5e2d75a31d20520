"""What the demo says happened after a recommendation. All of it is simulated: no tool is ever called.

The shares are invented so that every page has something to show. They are no measurement of any tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

# How often a harness follows the advice: almost always when it is confident, seldom when it has to compare first.
FOLLOWED = {"confident": 0.82, "ambiguous": 0.35, "selected": 0.9}
CAUTION = (
    0.4  # of advice to erase or to execute something, this share of the usual is followed: the rest is asked about
)
COMPARED = 0.25  # of followed ambiguous advice: an alternative was taken
TRANSPORT = {"ok": 90, "error": 5, "timeout": 2, "unknown": 3}
DOMAIN = {"success": 80, "partial": 6, "failure": 9, "unknown": 5}
SILENT = 0.08  # of calls that returned: the harness never says whether they did the job
TIMEOUT_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """An event for POST /events, and how long after the answer it is sent."""

    after_s: float
    event: Mapping[str, Any]


def simulate(answer: Mapping[str, Any], *, prefix: str, dice: Random) -> list[Report]:
    """The events that follow one answer of resolve or route; none when nothing was called."""
    target = _called(answer, dice)
    if target is None:
        return []
    common = {"target": target, "decision_id": answer["decision_id"]}
    started_s = dice.uniform(0.05, 0.6)
    invocation = {"id": f"{prefix}-i", "kind": "invocation", "status": "started", **common}
    reports = [Report(after_s=started_s, event=invocation)]
    return reports + _outcomes(common | {"invocation_id": f"{prefix}-i"}, started_s, prefix, dice)


def _called(answer: Mapping[str, Any], dice: Random) -> str | None:
    status, names = _advice(answer)
    if not names or dice.random() >= FOLLOWED.get(status, 0) * (CAUTION if _is_dangerous(answer) else 1):
        return None
    if status == "ambiguous" and len(names) > 1 and dice.random() < COMPARED:
        return dice.choice(names[1:])
    return names[0]


def _is_dangerous(answer: Mapping[str, Any]) -> bool:
    return (answer.get("recommendation") or {}).get("effect") in ("erase", "execute")


def _advice(answer: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Status, and the recommended name with its alternatives."""
    if "status" not in answer:
        return ("fallback", []) if answer["fallback"] else ("selected", [answer["tool"]])
    best = answer["recommendation"]
    rest = [alternative["namespaced"] for alternative in answer["alternatives"]]
    return answer["status"], ([best["namespaced"]] if best else []) + rest


def _outcomes(common: Mapping[str, Any], started_s: float, prefix: str, dice: Random) -> list[Report]:
    transport = _one_of(TRANSPORT, dice)
    took_s = TIMEOUT_S if transport == "timeout" else min(dice.lognormvariate(-1.6, 0.7), TIMEOUT_S)
    returned = {
        "id": f"{prefix}-t",
        "kind": "transport_outcome",
        "status": transport,
        "duration_ms": round(took_s * 1000),
        **common,
    }
    reports = [Report(after_s=started_s + took_s, event=returned)]
    if transport != "ok" or dice.random() < SILENT:
        return reports
    achieved = {"id": f"{prefix}-d", "kind": "domain_outcome", "status": _one_of(DOMAIN, dice), **common}
    return [*reports, Report(after_s=started_s + took_s + dice.uniform(0.1, 1.5), event=achieved)]


def _one_of(weights: Mapping[str, int], dice: Random) -> str:
    return dice.choices(list(weights), list(weights.values()))[0]
