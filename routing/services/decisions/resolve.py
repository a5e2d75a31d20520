"""Resolve: which tool for this activity. Ranked and judged in memory; recorded before it is answered."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.utils import timezone
from uuid_utils import uuid7

from routing.bus import Handover
from routing.choices import DecisionType
from routing.engine import Resolution, describe_tool, resolve_detailed, search_tools
from routing.engine.encoder import Encoder
from routing.engine.meaning import AUTO, DEEP
from routing.errors import NotFound
from routing.events import recommendation, timestamp
from routing.sealing import keyed_digest
from routing.services import ledger, meaning
from routing.services.decisions.caller import Caller
from routing.services.recordings import keeping
from routing.services.shadow_policies import taking
from routing.snapshot import Live

Answer = dict[str, Any]


def resolve(
    caller: Caller,
    query: str,
    *,
    max_hits: int | None = None,
    explain: bool = False,
    tier: str | None = None,
    session_id: str | None = None,
    type_: str = DecisionType.RESOLVE.value,
) -> Answer:
    """The answer of POST /resolve, recorded as a decision of `type_`. Its event is on the bus (else in the database) before this returns.

    Raises Unavailable when neither keeps it, NotFound when the caller's scope is gone. A query that is too long is
    answered without a decision.
    """
    began = _Beginning.now(caller)
    resolution = judge(began.live, caller, query, max_hits=max_hits, explain=explain, tier=tier)
    answer, event = _decided(began, caller, query, resolution, tier=tier, session_id=session_id, type_=type_)
    if event is not None:
        ledger.record(caller.workspace_id, event)
    return answer


async def resolve_on_loop(
    handover: Handover,
    caller: Caller,
    query: str,
    *,
    max_hits: int | None = None,
    explain: bool = False,
    tier: str | None = None,
    session_id: str | None = None,
) -> Answer:
    """`resolve` for an event loop, where `needs_no_worker` says so: judged on the spot; what waits is the coroutine alone."""
    began = _Beginning.now(caller)
    question = _Question(live=began.live, caller=caller, query=query, max_hits=max_hits, explain=explain, tier=tier)
    resolution = question.answered(question.wished)
    if question.goes_deep(resolution):
        encoder = await meaning.ask_on_loop(began.live, caller.scope, query)
        resolution = resolution if encoder is None else question.deepened(resolution, encoder)
    answer, event = _decided(began, caller, query, resolution, tier=tier, session_id=session_id)
    if event is not None:
        await ledger.record_on_loop(handover, caller.workspace_id, event)
    return answer


def needs_no_worker(caller: Caller) -> bool:
    """Whether a resolve is decided where it is asked."""
    return resolve_lane(caller) == "inline"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Beginning:
    """When a decision began, and by which catalog it is made."""

    at: datetime
    clock: float
    live: Live

    @classmethod
    def now(cls, caller: Caller) -> _Beginning:
        return cls(clock=time.perf_counter(), at=timezone.now(), live=caller.live())


def _decided(
    began: _Beginning,
    caller: Caller,
    query: str,
    resolution: Resolution,
    *,
    tier: str | None,
    session_id: str | None,
    type_: str = DecisionType.RESOLVE.value,
) -> tuple[Answer, Mapping[str, Any] | None]:
    """The answer, and the event with which it must be kept before anyone sees it; none for a query that is too long."""
    if "error" in resolution.answer:
        return resolution.answer, None
    decision_id = str(uuid7())
    latency_ms = round((time.perf_counter() - began.clock) * 1000, 3)
    facts = Facts(
        live=began.live,
        caller=caller,
        resolution=resolution,
        query=query,
        decision_id=decision_id,
        at=began.at,
        latency_ms=latency_ms,
        tier=tier,
        session_id=session_id,
        type=type_,
    )
    answer = resolution.answer | {"decision_id": decision_id, "revision": began.live.revision}
    return answer, facts.event() | {"decision": facts.decision()} | facts.alongside()


def judge(
    live: Live, caller: Caller, query: str, *, max_hits: int | None, explain: bool, tier: str | None
) -> Resolution:
    """The engine's answer under the scope's policy; the same call in the web process and on a worker.

    The deep tier is used where it is asked for, and where the tier is left open and the answer would be ambiguous. It may
    take its time budget; when it gives nothing, the answer is the one without it.
    """
    question = _Question(live=live, caller=caller, query=query, max_hits=max_hits, explain=explain, tier=tier)
    found = question.answered(question.wished)
    if not question.goes_deep(found):
        return found
    encoder = meaning.ask(live, caller.scope, query)
    return found if encoder is None else question.deepened(found, encoder)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A request under its scope's policy."""

    live: Live
    caller: Caller
    query: str
    max_hits: int | None
    explain: bool
    tier: str | None

    @property
    def rules(self) -> Mapping[str, Any]:
        catalog = self.live.catalog
        return catalog.policy(catalog.scopes[self.caller.scope].policy).resolver

    @property
    def wished(self) -> str:
        return self.tier or str(self.rules["tier"])

    def answered(self, tier: str, encoder: Encoder | None = None) -> Resolution:
        return resolve_detailed(
            self.live.catalog,
            self.query,
            scope=self.caller.scope,
            max_hits=self.rules["max_hits"] if self.max_hits is None else self.max_hits,
            explain=self.explain,
            tier=tier,
            encoder=encoder,
        )

    def deepened(self, found: Resolution, encoder: Encoder) -> Resolution:
        return replace(self.answered(DEEP, encoder), before=found)

    def goes_deep(self, found: Resolution) -> bool:
        """Whether this answer is to be looked for in the deep tier too."""
        return self.wished == DEEP or self.wished == AUTO and bool(found.answer.get("ambiguous"))


def resolve_lane(caller: Caller) -> str:
    """Where the scope's policy wants resolves decided: `inline` or `worker`."""
    catalog = caller.live().catalog
    return str(catalog.policy(catalog.scopes[caller.scope].policy).lane["resolve"])


def browse(caller: Caller, query: str, max_hits: int) -> Answer:
    """Tools of the scope by relevance, or by name for a query without content words. No decision, no event."""
    return search_tools(caller.live().catalog, query, scope=caller.scope, max_hits=max_hits)


def describe(caller: Caller, name: str) -> Answer:
    """One tool of the scope in full; NotFound alike for unknown and out-of-scope names."""
    found = describe_tool(caller.live().catalog, name, scope=caller.scope)
    if found is None:
        raise NotFound("There is no such tool in this key's scope.")
    return found


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What may be kept of a resolve: names, numbers and codes, never a word of the query."""

    live: Live
    caller: Caller
    resolution: Resolution
    query: str
    decision_id: str
    at: datetime
    latency_ms: float
    tier: str | None = None  # that was asked for
    session_id: str | None = None
    type: str = DecisionType.RESOLVE.value

    @property
    def answer(self) -> Answer:
        return self.resolution.answer

    @property
    def recommendation(self) -> Mapping[str, Any]:
        return self.answer.get("recommendation") or {}

    @property
    def policy(self) -> str:
        return self.live.catalog.scopes[self.caller.scope].policy

    def event(self) -> dict[str, Any]:
        return recommendation(
            self._said(),
            at=self.at,
            scope=self.caller.scope,
            harness=self.caller.harness,
            decision_id=self.decision_id,
            session_id=self.session_id,
            revision=self.live.revision,
            target=self.recommendation.get("namespaced"),
            status=self.answer["status"],
            reason_codes=self.answer["reason_codes"],
        )

    def _said(self) -> dict[str, Any]:
        alternatives: Sequence[Mapping[str, Any]] = self.answer.get("alternatives") or ()
        return {
            **self.answer,
            "type": self.type,
            "policy": self.policy,
            "required_fields": self.recommendation.get("required_fields"),
            "argument_template_truncated": self.recommendation.get("argument_template_truncated"),
            "alternatives": [item["namespaced"] for item in alternatives],
            "source": "local",
            "latency_ms": self.latency_ms,
            "query_digest": keyed_digest("query", " ".join(self.query.split()).casefold()),
        }

    def decision(self) -> dict[str, Any]:
        """The columns of the decision's row (see routing.models.Decision)."""
        return {
            "id": self.decision_id,
            "type": self.type,
            "created_at": timestamp(self.at),
            "scope": self.caller.scope,
            "harness": self.caller.harness,
            "session_id": self.session_id,
            **self.outcome(),
        }

    def alongside(self) -> dict[str, Any]:
        """What goes along and is no part of what the ledger keeps: a recording, and what a shadow policy judges by."""
        return self._recording() | taking.of_resolve(
            self.live,
            self.policy,
            self.caller.scope,
            self.resolution,
            query=self.query,
            tier=self.tier,
            decision_id=self.decision_id,
            at=self.at,
        )

    def _recording(self) -> dict[str, Any]:
        """Sealed."""
        return keeping.of_resolve(
            self.live, self.policy, self.query, self.answer, tier=self.tier, decision_id=self.decision_id, at=self.at
        )

    def outcome(self) -> dict[str, Any]:
        return {
            "policy": self.policy,
            "revision": self.live.revision,
            "catalog_revision": self.answer["catalog_revision"],
            "target": self.recommendation.get("namespaced"),
            "status": self.answer["status"],
            "reason_codes": list(self.answer["reason_codes"]),
            "confidence": self.answer["confidence"],
            "probability": self.answer["probability"],
            "match_probability": self.answer["match_probability"],
            "shipped": None if self.resolution.shipped is None else list(self.resolution.shipped),
            "score_gap": self.answer.get("score_gap"),
            "source": "local",
            "latency_ms": self.latency_ms,
            "thresholds": dict(self.resolution.thresholds or {}),
            "candidates": candidates(self.resolution.candidates),
        }


def candidates(ranked: Sequence[Any]) -> list[dict[str, Any]]:
    """At most ten considered tools with their score by field."""
    return [
        {"target": c.public, "score": round(c.score, 4), "fields": {name: round(v, 4) for name, v in c.fields.items()}}
        for c in ranked[:10]
    ]
