"""What goes out. Answers are built by services in exactly these shapes; a test holds real answers against them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]
Status = Literal["confident", "ambiguous", "no_match"]
State = Literal["queued", "running", "finished", "failed", "cancelled"]


class Out(Schema):
    model_config = ConfigDict(extra="forbid")


class Detail(Out):
    path: str
    message: str
    value: Any = None
    allowed: Any = None


class Problem(Out):
    code: str
    message: str
    details: list[Detail]
    request_id: str


class ErrorOut(Out):
    error: Problem


class PromiseOut(Out):
    """Kept and going to be done; `poll` tells where the answer will be."""

    decision_id: str
    id: str | None = None
    state: State
    poll: str


class MatchOut(Out):
    namespaced: str
    server: str
    tool: str
    description: str
    title: str | None = None
    server_description: str | None = None
    tags: list[str] = []
    use_when: list[str] = []
    tool_use_when: list[str] = []
    score: float | None = None
    matched_terms: list[str] = []
    metadata_truncated: bool = False


class RecommendationOut(Out):
    namespaced: str
    server: str
    tool: str
    title: str
    description: str
    server_description: str
    use_when: list[str]
    tool_use_when: list[str]
    score: float
    matched_terms: list[str]
    metadata_truncated: bool
    required_fields: list[str]
    argument_template: dict[str, str | None]
    argument_template_truncated: bool
    category: str
    risk: str
    effect: str


class ResolveAnswer(Out):
    """One answer of the resolve contract. `matched_fraction`, `score_gap` and `alternatives_truncated` are absent for no_match."""

    contract_version: Literal[1]
    catalog_revision: str
    status: Status
    confidence: Literal["high", "medium", "low", "none"]
    reason_codes: list[str]
    matched_fraction: Share | None = None
    score_gap: float | None = None
    query: str
    recommendation: RecommendationOut | None
    ambiguous: bool
    alternatives: list[MatchOut]
    alternatives_truncated: bool | None = None
    hint: str
    probability: Share
    match_probability: Share
    tier: str
    explanation: dict[str, Any] | None = None


class ResolveOut(ResolveAnswer):
    decision_id: str
    revision: int


class TooLongOut(Out):
    """The answer to a query over the limit; it has no decision and no event."""

    error: str
    max_query_bytes: int


class AdviceOut(Out):
    """The few fields that a host may put in front of its model."""

    decision_id: str | None
    status: Literal["confident", "ambiguous", "no_match", "unavailable"]
    target: str | None
    required: list[str]
    alternatives: list[str]
    ambiguous: bool
    template_truncated: bool
    alternatives_truncated: bool
    catalog_revision: str | None
    cached: bool
    hint: str | None


class SimulateResolveOut(Out):
    answers: list[ResolveAnswer | TooLongOut]
    warnings: list[dict[str, Any]]


class SearchToolsOut(Out):
    contract_version: Literal[1]
    catalog_revision: str
    query: str
    count: int
    returned: int
    truncated: bool
    byte_limited: bool
    matches: list[MatchOut]


class ToolOut(Out):
    contract_version: Literal[1]
    catalog_revision: str
    server: str
    tool: str
    downstream: str
    namespaced: str
    title: str
    description: str
    server_description: str
    tags: list[str]
    use_when: list[str]
    tool_use_when: list[str]
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: dict[str, Any]
    category: str
    risk: str
    effect: str
    provenance: dict[str, str]
    pinned: bool
    available: bool


class ThresholdsOut(Out):
    direct: Share
    fallback: Share
    by: Literal["default", "policy", "risk", "finish"]


class VerdictOut(Out):
    verdict: Literal["allow", "ask", "deny"]
    rule: str


class RouteOut(Out):
    decision_id: str
    state: Literal["finished"]
    tool: str | None
    category: str | None
    confidence: Share
    probabilities: dict[str, float]
    fallback: bool
    fallback_reason: str | None
    proposed_tool: str | None
    source: Literal["provider", "cache", "coalesced", "local", "session", "none"]
    provider: str | None
    model: str | None
    requests: int
    latency_ms: float
    k: int | None
    top_probability: float | None
    margin: float | None
    thresholds: ThresholdsOut
    execution: VerdictOut | None
    session: dict[str, Any] | None
    policy: str
    revision: int
    catalog_revision: str | None
    usage: dict[str, Any] | None


class Rejection(Out):
    index: int
    id: str | None
    error: dict[str, Any]


class EventsAcceptedOut(Out):
    accepted: int
    duplicates: int
    rejected: list[Rejection]


class EventOut(Out):
    id: str
    seq: int
    at: str
    recorded_at: str
    kind: str
    workspace: str
    scope: str
    harness: str
    decision_id: str | None
    session_id: str | None
    invocation_id: str | None
    revision: int | None
    target: str | None
    status: str | None
    reason_codes: list[str]
    data: dict[str, Any]
    prev_hash: str
    hash: str


class EventPageOut(Out):
    items: list[EventOut]
    next: str | None


class AchievedOut(Out):
    invoked: bool
    transport: str | None
    domain: str | None


class DecisionOut(Out):
    id: str
    type: str
    state: State
    at: str
    scope: str
    harness: str
    session_id: str | None
    policy: str
    revision: int | None
    catalog_revision: str | None
    target: str | None
    status: str | None
    reason_codes: list[str]
    confidence: str | float | None
    probability: float | None
    source: str | None
    fallback_reason: str | None
    latency_ms: float | None
    achieved: AchievedOut


class DecisionPageOut(Out):
    items: list[DecisionOut]
    next: str | None


class CandidateOut(Out):
    target: str
    score: float
    fields: dict[str, float]


class DecisionDetailOut(DecisionOut):
    thresholds: dict[str, Any]
    candidates: list[CandidateOut]
    execution: VerdictOut | None
    answer: RouteOut | None
    events: list[EventOut]


class RegistryOut(Out):
    revision: int | None
    state: str
    digest: str
    document: dict[str, Any]


class ReviewOut(Out):
    by: str
    at: str
    comment: str


class ApprovalsOut(Out):
    given: int
    needed: int
    by: list[ReviewOut]


class RevisionOut(Out):
    revision: int
    state: Literal["proposed", "approved", "rejected", "live", "superseded"]
    digest: str
    base_revision: int | None
    message: str
    created_at: str
    created_by: str
    published_at: str | None
    published_by: str | None
    approvals: ApprovalsOut
    rejected: ReviewOut | None
    emergency: bool


class ProposedOut(Out):
    revision: int
    state: Literal["proposed", "unchanged"]
    digest: str
    base_revision: int | None
    warnings: list[dict[str, Any]]


class PublishedOut(Out):
    revision: int
    state: Literal["live"]
    digest: str
    published_at: str | None


class ImportOut(Out):
    format: str
    entries: list[dict[str, Any]]
    warnings: list[dict[str, Any]]
    secrets: list[dict[str, Any]]
    revision: int | None
    state: str
    digest: str | None


class RevisionPageOut(Out):
    items: list[RevisionOut]
    next: str | None


class ChangeOut(Out):
    path: str
    action: Literal["added", "removed", "changed"]
    before: Any = None
    after: Any = None


class RevisionDetailOut(RevisionOut):
    document: dict[str, Any]
    changes: list[ChangeOut]


ERRORS: dict[int, type[Schema]] = {
    401: ErrorOut,
    403: ErrorOut,
    404: ErrorOut,
    422: ErrorOut,
    500: ErrorOut,
    503: ErrorOut,
}
