"""The four kinds of event, what each may carry, and how they are chained.

A row's hash is SHA-256 over the previous row's hash and the canonical JSON (keys sorted, no spaces, non-ASCII kept) of
everything else that the row says; the first row follows 64 zeros. docs/ledger.md describes it for auditors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
from uuid_utils import uuid7

from routing.choices import EventKind

GENESIS = "0" * 64

# All that a row's `data` may hold, by kind. Whatever is not named here cannot be stored: no texts, arguments or results.
RECOMMENDATION_DATA = (
    "type",
    "catalog_revision",
    "policy",
    "confidence",
    "probability",
    "match_probability",
    "ambiguous",
    "required_fields",
    "alternatives",
    "alternatives_truncated",
    "argument_template_truncated",
    "score_gap",
    "matched_fraction",
    "source",
    "provider",
    "model",
    "fallback",
    "fallback_reason",
    "proposed_tool",
    "latency_ms",
    "query_digest",
    "method",
    "simulations",
    "verdict",
)
REPORTED_DATA = ("duration_ms", "attempt", "result_bytes", "tokens_in", "tokens_out", "cost")
CHAINED = (
    "workspace",
    "seq",
    "id",
    "at",
    "recorded_at",
    "kind",
    "scope",
    "harness",
    "decision_id",
    "session_id",
    "invocation_id",
    "revision",
    "target",
    "status",
    "reason_codes",
    "data",
)
# The same of a row of the audit log.
AUDITED = (
    "workspace",
    "seq",
    "at",
    "actor_kind",
    "actor",
    "action",
    "target",
    "result",
    "before",
    "after",
    "changes",
    "message",
    "request_id",
    "address",
)


def allowed(data: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Only the named fields, in their order, without empty ones."""
    return {name: data[name] for name in names if data.get(name) is not None}


def recommendation(
    said: Mapping[str, Any],
    *,
    at: datetime,
    scope: str,
    harness: str | None,
    decision_id: str,
    session_id: str | None,
    revision: int | None,
    target: str | None,
    status: str,
    reason_codes: Iterable[str] = (),
) -> dict[str, Any]:
    """The event that a decision was made, with a new id; of `said` what such an event may hold."""
    return {
        "id": str(uuid7()),
        "at": timestamp(at),
        "kind": EventKind.RECOMMENDATION.value,
        "scope": scope,
        "harness": harness,
        "decision_id": decision_id,
        "session_id": session_id,
        "revision": revision,
        "target": target,
        "status": status,
        "reason_codes": list(reason_codes),
        "data": allowed(said, RECOMMENDATION_DATA),
    }


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC with microseconds, as it is hashed and shown."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def canonical(row: Mapping[str, Any], names: tuple[str, ...] = CHAINED) -> bytes:
    return orjson.dumps({name: row[name] for name in names}, option=orjson.OPT_SORT_KEYS)


def chain_hash(prev_hash: str, row: Mapping[str, Any], names: tuple[str, ...] = CHAINED) -> str:
    """The hash of a row (see the module's docstring); `row` has the keys of `names`, times as `timestamp` spells them."""
    return hashlib.sha256(prev_hash.encode() + canonical(row, names)).hexdigest()


def content_digest(content: Mapping[str, Any]) -> str:
    """Tells a repeated report from a conflicting one: SHA-256 of what the caller sent."""
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
