"""The registry document as values: what a workspace's whole routing configuration is.

Field names, order and defaults are those of the document; `validation.parse_document` makes these from a mapping and
`validation.to_document` turns them back. Sequences are tuples, mappings are plain dicts that nobody changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

JsonObject = Mapping[str, Any]
TRAITS = ("category", "risk", "effect")  # of a tool: given, or else read off what it says of itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    expose: str = "lazy"
    pins: tuple[str, ...] = ()
    connect_timeout_s: float = 30
    call_timeout_s: float = 1800
    response_budget_bytes: int = 32768
    verbatim: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A decision provider account. `url`, `path` and `credential` default by kind."""

    name: str
    kind: str
    url: str | None = None
    path: str | None = None
    model: str = "typesafe/jev-1.13"
    credential: str | None = None
    timeout_s: float = 5.0
    max_retries: int = 2
    hedge_after_s: float | None = None
    confidence: str = "reported"
    max_connections: int = 16
    breaker_failures: int = 5
    breaker_open_s: float = 30
    send: tuple[str, ...] = ("goal", "observation", "last_action", "recent_actions", "constraints", "descriptions")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointCapability:
    name: str
    level: float = 1.0
    provenance: str = "declared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    name: str
    title: str | None = None
    description: str = ""
    input_schema: JsonObject = field(default_factory=dict)
    output_schema: JsonObject | None = None
    annotations: JsonObject = field(default_factory=dict)
    category: str | None = None
    risk: str | None = None
    effect: str | None = None
    overridden: tuple[str, ...] = ()  # which of TRAITS an operator set against what the server says
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    name: str
    title: str | None = None
    kind: str
    url: str | None = None
    transport: str = "http"
    launch: str | None = None
    credential: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    enabled: bool = True
    description: str = ""
    tags: tuple[str, ...] = ()
    capabilities: tuple[EndpointCapability, ...] = ()
    use_when: tuple[str, ...] = ()
    tool_use_when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tools: tuple[Tool, ...] = ()
    model: str | None = None
    context_window: int | None = None
    effective_context: int | None = None
    tool_tier: str | None = None
    features: Mapping[str, bool | None] = field(default_factory=dict)
    plans_only: bool = False
    cost_in: float | None = None
    cost_out: float | None = None
    priority: int = 100
    max_concurrency: int | None = None
    data_zone: str | None = None
    adapters: tuple[JsonObject, ...] = ()
    owner: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    name: str
    description: str = ""
    synonyms: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    prefer: tuple[str, ...] = ()
    deprecated: bool = False
    replaced_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a harness may see. None means all, an empty tuple means none."""

    name: str
    endpoints: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    pins: tuple[str, ...] | None = None
    mode: str = "gateway"
    expose: str | None = None
    tool_schema_budget_bytes: int | None = None
    policy: str = "default"
    policies: tuple[str, ...] | None = None  # None = just `policy`
    data_zones: tuple[str, ...] | None = None
    default_endpoint: str | None = None
    harness: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Named rules. Each block holds only what was given; `policies.effective` merges and fills them."""

    name: str
    extends: str | None = None
    routing: str | None = "explicit"  # None = as the extended policy has it
    lane: JsonObject = field(default_factory=dict)
    resolver: JsonObject = field(default_factory=dict)
    router: JsonObject = field(default_factory=dict)
    mcts: JsonObject = field(default_factory=dict)
    execution: JsonObject = field(default_factory=dict)
    tool_calls: JsonObject = field(default_factory=dict)
    selection: JsonObject = field(default_factory=dict)
    turns: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    name: str
    scope: str = "default"
    query: str | None = None
    activity: JsonObject | None = None
    search: JsonObject | None = None
    max_hits: int | None = None
    offline: tuple[str, ...] = ()
    endpoint: str | None = None
    note: str | None = None
    expect: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """A whole valid document. Lists keep their order; `scopes` and `policies` hold only what the document says
    (the implied `default` scope and policy are added by the catalog)."""

    gateway: Gateway = field(default_factory=Gateway)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    providers: tuple[Provider, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    scopes: tuple[Scope, ...] = ()
    policies: tuple[Policy, ...] = ()
    task_rules: tuple[JsonObject, ...] = ()
    contracts: tuple[JsonObject, ...] = ()
    expectations: tuple[Expectation, ...] = ()
