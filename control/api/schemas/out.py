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

    decision_id: str | None
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


class DiffSideOut(Out):
    status: Literal["confident", "ambiguous", "no_match", "selected", "fallback"]
    target: str | None
    probability: float | None


class FlipOut(Out):
    decision_id: str
    at: str
    scope: str
    before: DiffSideOut
    after: DiffSideOut


class DiffCountsOut(Out):
    """Each compared decision is counted once; `flipped` when its status stays and its target changes."""

    same: int
    flipped: int
    became_confident: int
    became_ambiguous: int
    became_no_match: int


class FailedExpectationOut(Out):
    name: str
    differs: list[str]


class DiffExpectationsOut(Out):
    passed: int
    failed: list[FailedExpectationOut]


class DiffResultOut(Out):
    compared: int
    skipped: int
    counts: DiffCountsOut
    flips: list[FlipOut]
    flips_truncated: bool
    expectations: DiffExpectationsOut


class DiffProgressOut(Out):
    done: int
    of: int


class SimulateDiffOut(Out):
    """`result` is null until the replay has finished."""

    id: str
    state: State
    progress: DiffProgressOut
    result: DiffResultOut | None


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


class ExecutionOut(Out):
    tool: str
    result_class: str | None
    at: str


class SessionOut(Out):
    id: str
    policy: str
    created_at: str
    expires_at: str
    steps: int
    max_route_steps: int
    consecutive_fallbacks: int
    max_consecutive_fallbacks: int
    circuit: Literal["closed", "open", "half_open"]
    loop: bool
    executions: list[ExecutionOut]


class RecordedOut(Out):
    loop: bool
    kind: Literal["repeat", "alternation", "cycle"] | None
    period: int | None
    session: SessionOut


class NextStepOut(Out):
    tool: str | None
    category: str | None
    confidence: Share
    probabilities: dict[str, float]
    fallback: bool
    fallback_reason: str | None


class RouteOut(NextStepOut):
    decision_id: str
    state: Literal["finished"]
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
    session: SessionOut | None
    policy: str
    revision: int
    catalog_revision: str | None
    usage: dict[str, Any] | None


class SearchProgressOut(Out):
    simulations: int
    of: int
    elapsed_ms: float


class FirstStepOut(Out):
    tool: str
    value: float


class SearchResultOut(NextStepOut):
    principal_variation: list[str]
    root_visits: dict[str, int]
    root_values: dict[str, float]
    simulations: int
    policy_evaluations: int
    stopped_by: Literal["complete", "deadline", "cancelled"]
    one_step: FirstStepOut | None
    exact: FirstStepOut | None


class SearchCostOut(Out):
    simulations: int
    cpu_ms: float
    provider_requests: int


class EvidenceOut(Out):
    """What the ledger knows of one tool after another; `from` is null where nothing went before."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    from_: str | None = Field(alias="from")
    tool: str
    count: int
    succeeded: int
    reward: float


class TreeNodeOut(Out):
    id: int
    parent: int | None
    tool: str | None
    depth: int
    visits: int
    value: float
    prior: float | None
    reward: float
    terminal: bool


class SearchOut(Out):
    """`evidence` is there for a search over history, `tree` when it was asked for, `error` when the search failed."""

    id: str
    decision_id: str
    state: State
    method: Literal["exact", "puct", "best_path"]
    progress: SearchProgressOut
    result: SearchResultOut | None
    cost: SearchCostOut
    created_at: str
    finished_at: str | None
    evidence: list[EvidenceOut] | None = None
    tree: list[TreeNodeOut] | None = None
    error: str | None = None


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
    answer: RouteOut | SearchOut | None
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
    canary: Literal["running", "promoted", "stopped"] | None = None


class CountedOut(Out):
    count: int
    of: int


class CanaryMeasureOut(Out):
    """A share in both groups. `surely` is how much it has risen at least; above `bound` the canary is stopped."""

    measure: Literal["no_match", "fallback", "failure"]
    canary: CountedOut
    live: CountedOut
    rise: float | None
    low: float | None
    high: float | None
    surely: float | None
    bound: float
    standing: Literal["waiting", "within", "beyond"]


class CanaryDecisionsOut(Out):
    canary: int
    live: int


class CanaryBoundsOut(Out):
    no_match: float
    fallback: float
    failure: float


class CanaryOut(Out):
    revision: int
    live_revision: int
    state: Literal["running", "promoted", "stopped"]
    scopes: list[str] | None
    percent: int | None
    bounds: CanaryBoundsOut
    minimum: int
    until: str | None
    at_end: Literal["stop", "promote"]
    started_at: str
    started_by: str
    ended_at: str | None
    ended_by: str | None
    reason: str | None
    broken: str | None
    decisions: CanaryDecisionsOut
    measures: list[CanaryMeasureOut]


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
PROVIDER_ERRORS: dict[int, type[Schema]] = {502: ErrorOut, 504: ErrorOut}  # mode jev_only
