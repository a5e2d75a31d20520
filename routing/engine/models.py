"""Values of the decision router: what a harness says, what a provider answers, what is decided.

Constructors check nothing, as harnesses expect of them; `decision_table.validate_tools` and `decision_table.check_choice` do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn, Protocol

FALLBACK = "__fallback__"  # the label by which a provider says that nothing fits


class RiskLevel(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class RoutingMode(StrEnum):
    PLANNER_ONLY = "planner_only"
    JEV_ONLY = "jev_only"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class ToolDescriptor:
    name: str
    description: str
    category: str | None = None  # inferred when absent
    risk: RiskLevel = RiskLevel.MEDIUM
    schema: Mapping[str, Any] = field(default_factory=dict)  # never sent to a provider
    effect: str | None = None  # read | write | erase | execute; inferred when absent
    # trait -> declared | annotation | inferred, where an adapter made it; says nothing about what the tool is
    provenance: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ActionSummary:
    tool: str
    outcome: str
    arguments_hash: str | None = None  # never sent to a provider


@dataclass(slots=True)
class HarnessState:
    """Where the harness is. Mutable, since a harness keeps one and brings it up to date."""

    goal: str
    observation: str | None = None
    last_action: str | None = None
    recent_actions: list[ActionSummary] = field(default_factory=list)  # oldest first
    constraints: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a provider charged for an answer; None where it did not say. `cost` is in the account's currency."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class ChoiceDecision:
    """A provider's answer: one of the offered labels, or FALLBACK, and where it came from as far as that is known."""

    choice: str
    probabilities: Mapping[str, float]
    confidence: float
    confidence_source: str = "reported"  # or "peak": worked out from the probabilities
    model: str | None = None  # the version that answered, which an alias does not tell
    request_id: str | None = None  # the provider's own, for questions about a bill
    usage: Usage | None = None
    requests: int = 1  # sent for this answer, repeated ones included


class Shares(dict[str, float]):
    """Probabilities by label that nobody changes, so that one decision may be given to many. Copies are plain dicts."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("the probabilities of a decision do not change")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[dict[str, float]], tuple[dict[str, float]]]:
        return dict, (dict(self),)


@dataclass(frozen=True, slots=True)
class RouteDecision:
    """A selected tool, or a fallback with its reason: the planner decides then.

    A fallback has no tool, but may still carry confidence, category and probabilities. `proposed_tool` is what the
    planner is asked to confirm; `k` counts the labels offered, the fallback among them.
    """

    tool: str | None = None
    category: str | None = None
    confidence: float = 0.0
    probabilities: Mapping[str, float] = field(default_factory=dict)
    fallback: bool = False
    fallback_reason: str | None = None
    proposed_tool: str | None = None
    source: str = "none"  # provider | cache | coalesced | local | session | none
    k: int | None = None
    top_probability: float | None = None
    margin: float | None = None  # of the likeliest label over the next
    answers: tuple[ChoiceDecision, ...] = field(default=(), repr=False, compare=False)  # of the provider, in order


class DecisionProvider(Protocol):
    """An outside model that picks one of several labels, each told by a short text.

    It may also have an attribute `identity`, equal as long as the same model answers by the same rules: answers are not kept
    beyond a change of it; and `most_labels`, how many it takes in one request.
    """

    async def choose(self, *, state: str, instructions: str, criteria: Mapping[str, str]) -> ChoiceDecision: ...


class ToolChooser(Protocol):
    """Picks one of the tools, or the label FALLBACK, in process; it may have an `identity` like a DecisionProvider."""

    def choose(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> ChoiceDecision: ...
