"""What a candidate document would answer. Pure: nothing is read from the database and nothing is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from routing.engine import load_registry, resolve_detailed
from routing.engine.errors import RegistryError
from routing.engine.validation import parse_document
from routing.errors import InvalidRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    query: str
    max_hits: int | None = None
    explain: bool = False
    tier: str | None = None


def resolve(
    document: Mapping[str, Any], scope: str, offline: Sequence[str], questions: Sequence[Question]
) -> dict[str, Any]:
    """The body of POST /simulate/resolve; raises InvalidRegistry for a bad document, an unknown scope or offline name."""
    try:
        parsed = parse_document(document)
    except RegistryError as error:
        raise InvalidRegistry("The registry document breaks its rules.", error.problems) from None
    catalog = load_registry(parsed.registry)
    _check_names(catalog, parsed.registry, scope, offline)
    catalog = catalog.with_offline(offline)
    policy = catalog.policy(catalog.scopes[scope].policy)
    answers = [
        resolve_detailed(
            catalog,
            question.query,
            scope=scope,
            max_hits=policy.resolver["max_hits"] if question.max_hits is None else question.max_hits,
            explain=question.explain,
            tier=question.tier or policy.resolver["tier"],
        ).answer
        for question in questions
    ]
    return {"answers": answers, "warnings": [dict(warning) for warning in parsed.warnings]}


def _check_names(catalog: Any, registry: Any, scope: str, offline: Sequence[str]) -> None:
    names = {endpoint.name for endpoint in registry.endpoints}
    problems = [
        {"path": f"offline[{place}]", "message": f"there is no endpoint {name[:200]}", "value": name}
        for place, name in enumerate(offline)
        if name not in names
    ]
    if scope not in catalog.scopes:
        problems.insert(
            0,
            {
                "path": "scope",
                "message": f"there is no scope {scope[:200]}",
                "value": scope,
                "allowed": ", ".join(catalog.scopes),
            },
        )
    if problems:
        raise InvalidRegistry("The request names what the document does not hold.", problems)
