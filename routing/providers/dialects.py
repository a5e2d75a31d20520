"""How a question is put to a decision service, and how its answer is read."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from routing.engine.confidence import peak_confidence
from routing.engine.errors import InvalidProviderResponse
from routing.engine.models import Usage

logger = logging.getLogger(__name__)

_ROUNDING = 0.005  # probabilities come with two decimals


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was answered, each part checked. `confidence` is None where none was reported."""

    choice: str
    probabilities: Mapping[str, float]
    confidence: float | None
    model: str | None = None
    request_id: str | None = None
    usage: Usage | None = None


class WireDialect(Protocol):
    """A spelling of requests and answers. `most_labels` is how many labels a choice may have, None where nobody knows."""

    @property
    def most_labels(self) -> int | None: ...

    def compose(self, *, model: str, state: Any, instructions: str, criteria: Mapping[str, str]) -> dict[str, Any]:
        """The body of a request; `state` is an object or a text."""
        ...

    def read(self, payload: Any, labels: Mapping[str, str]) -> Answer:
        """Raises InvalidProviderResponse for what is no answer to a choice among these labels."""
        ...


@dataclass(frozen=True, slots=True)
class Decisions:
    """The Decisions API: a map of questions, of which one is asked, and a map of answers."""

    most_labels: int | None = 255

    def compose(self, *, model: str, state: Any, instructions: str, criteria: Mapping[str, str]) -> dict[str, Any]:
        question = {"type": "choice", "instructions": instructions, "criteria": dict(criteria)}
        return {"model": model, "state": state, "questions": {"route": question}}

    def read(self, payload: Any, labels: Mapping[str, str]) -> Answer:
        answers = payload.get("answers") if isinstance(payload, Mapping) else None
        answer = answers.get("route") if isinstance(answers, Mapping) else None
        if not isinstance(answer, Mapping) or answer.get("type") != "choice":
            raise InvalidProviderResponse("the decision provider gave no answer to a choice")
        choice = answer.get("choice")
        if not isinstance(choice, str) or choice not in labels:
            raise InvalidProviderResponse("the decision provider chose a label that was not offered")
        probabilities = _probabilities(answer.get("probabilities", {}), labels)
        if probabilities and probabilities.get(choice, 0.0) < max(probabilities.values()):
            logger.warning("A decision provider chose a label that is not its likeliest one.")
        return Answer(
            choice=choice,
            probabilities=probabilities,
            confidence=_share(answer["confidence"], "confidence") if "confidence" in answer else None,
            model=_text(payload.get("model")),
            request_id=_text(payload.get("id")),
            usage=_usage(payload.get("usage")),
        )


# The gateways that serve the same shape take fewer labels than the vendor: 208 is the least that is known of one.
DIALECTS: Mapping[str, WireDialect] = {
    "openrouter": Decisions(),
    "typesafe": Decisions(),
    "compatible": Decisions(most_labels=208),
}


def confidence_of(answer: Answer, labels: int, rule: str) -> float:
    """A choice's confidence by a provider's rule, one of RULES; 0 where what the rule looks at was not told.

    Raises InvalidProviderResponse for probabilities that add up to more than rounding explains: nothing follows from them.
    """
    if rule == "reported":
        return answer.confidence or 0.0
    if sum(answer.probabilities.values()) > 1 + max(_ROUNDING * labels, 2 * _ROUNDING):
        raise InvalidProviderResponse("the decision provider's probabilities add up to more than 1")
    return peak_confidence(answer.probabilities, labels)


def _probabilities(given: Any, labels: Mapping[str, str]) -> dict[str, float]:
    """By offered label; what was not offered is dropped, but must be a probability as well."""
    if not isinstance(given, Mapping):
        raise InvalidProviderResponse("the decision provider's probabilities are no map of labels to numbers")
    read = {label: _share(value, "a probability") for label, value in given.items()}
    return {label: value for label, value in read.items() if label in labels}


def _share(value: Any, what: str) -> float:
    if not _is_number(value) or not 0 <= value <= 1:
        raise InvalidProviderResponse(f"the decision provider gave {what} that is no number from 0 to 1")
    return float(value)


def _usage(given: Any) -> Usage | None:
    """What of it is told as expected: a bill that cannot be read spoils no decision."""
    if not isinstance(given, Mapping):
        return None
    tokens = [given.get(name) for name in ("input_tokens", "output_tokens")]
    read, written = (one if isinstance(one, int) and _is_number(one) and one >= 0 else None for one in tokens)
    cost: Any = given.get("cost")
    priced = float(cost) if _is_number(cost) and cost >= 0 else None
    return Usage(input_tokens=read, output_tokens=written, cost=priced)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
