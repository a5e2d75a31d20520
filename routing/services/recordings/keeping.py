"""Seal what a decision was asked, and keep it beside the decision.

A decision is recorded where its workspace or its policy says so, for as many days as its policy says. Secrets and the query
strings of URLs are masked first; from then on the text exists sealed alone, also on its way over the bus. Whatever goes
wrong here costs the recording and never the decision.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, transaction

from routing.engine.masking import masked
from routing.engine.models import RouteDecision, ToolDescriptor
from routing.engine.policy import shipped_fit
from routing.engine.replay import recorded_route
from routing.events import timestamp
from routing.models import Recording
from routing.sealing import seal
from routing.services.ledger.insert import insert
from routing.snapshot import Live

logger = logging.getLogger(__name__)
Body = Mapping[str, Any]
BODY = "recording"  # the part of an event's body that carries it to the writer


def of_resolve(
    live: Live, policy: str, query: str, answer: Mapping[str, Any], *, tier: str | None, decision_id: str, at: datetime
) -> dict[str, Body]:
    """What goes along with the event of a resolve or an advice; empty where nothing is recorded."""

    def content() -> dict[str, Any]:
        kept = masked(query)
        return {
            "query": kept,
            "whole": kept == query,
            "tier": tier,
            "used": answer["tier"],
            "judge": judge_of(live),
        }

    return _sealed(live, policy, content, decision_id, at)


def of_route(
    live: Live,
    policy: str,
    decision: RouteDecision,
    offered: Callable[[], Mapping[str, ToolDescriptor]],
    *,
    of_catalog: bool,
    text: str | None = None,
    decision_id: str,
    at: datetime,
) -> dict[str, Body]:
    """The same of a route: what the provider answered, and `text` where it takes nothing else to ask again. Without either
    there is nothing to decide again."""
    if not decision.answers and text is None:
        return {}

    def content() -> dict[str, Any]:
        told = {} if text is None else {"query": masked(text)}
        return {"route": recorded_route(decision, offered(), of_catalog=of_catalog)} | told

    return _sealed(live, policy, content, decision_id, at)


def judge_of(live: Live) -> str:
    """By which fit and correction probabilities are made: equal ones make equal probabilities."""
    return f"{shipped_fit()}:{live.catalog.calibration.version}"


def records(live: Live) -> bool:
    """Whether anything of a workspace is recorded: it says so, or a policy does."""
    policies = (live.catalog.policy(policy.name) for policy in live.catalog.registry.policies)
    return live.record_queries or any(policy.resolver["record_queries"] for policy in policies)


def _sealed(
    live: Live, policy: str, content: Callable[[], Mapping[str, Any]], decision_id: str, at: datetime
) -> dict[str, Body]:
    try:
        rules = live.catalog.policy(policy).resolver
        if not (live.record_queries or rules["record_queries"]):
            return {}
        until = timestamp(at + timedelta(days=rules["record_days"]))
        return {BODY: {"decision_id": decision_id, "until": until, "sealed": seal(content()).decode()}}
    except Exception as error:  # its message may quote the text
        logger.error("a decision could not be recorded: %s", type(error).__name__)
        return {}


def keep(workspace_id: Any, bodies: Sequence[Body]) -> None:
    """Keep the recordings that came along with events, inside the transaction that makes their decisions."""
    rows = [
        {
            "decision_id": recording["decision_id"],
            "workspace_id": workspace_id,
            "until": datetime.fromisoformat(recording["until"]),
            "sealed": recording["sealed"].encode(),
        }
        for recording in (body[BODY] for body in bodies if body.get(BODY))
    ]
    if not rows:
        return
    try:
        with transaction.atomic():
            insert(Recording, rows, skip_known=True)
    except DatabaseError as error:
        logger.error("%d recordings could not be kept: %s", len(rows), type(error).__name__)
