"""Run what a document expects of itself: each expectation is asked, and the keys that come out differently are named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from routing.engine.activity import assemble
from routing.engine.catalog import Catalog
from routing.engine.recommend import resolve
from routing.engine.registry import Expectation

Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    passed: int
    failed: tuple[Mapping[str, Any], ...]  # {"name", "differs": [keys]}
    skipped: tuple[str, ...] = ()  # names of those that ask for a search


def run_expectations(catalog: Catalog) -> Report:
    """Ask the expectations of the catalog's own document, those that are about resolving."""
    asked = [one for one in catalog.registry.expectations if one.search is None]
    failed = []
    for expectation in asked:
        differs = differences(expectation, catalog)
        if differs:
            failed.append({"name": expectation.name, "differs": differs})
    skipped = tuple(one.name for one in catalog.registry.expectations if one.search is not None)
    return Report(passed=len(asked) - len(failed), failed=tuple(failed), skipped=skipped)


def differences(expectation: Expectation, catalog: Catalog) -> list[str]:
    """The keys of `expect` that the answer does not meet."""
    if expectation.offline:
        catalog = catalog.with_offline({*catalog.offline, *expectation.offline})
    hits = 5 if expectation.max_hits is None else expectation.max_hits
    answer = resolve(catalog, _query(expectation), scope=expectation.scope, max_hits=hits)
    return [
        key
        for key, wanted in expectation.expect.items()
        if key in _CHECKS and not _CHECKS[key](answer, _exact(key, wanted, catalog))
    ]


def _query(expectation: Expectation) -> str:
    activity = expectation.activity
    return assemble(**activity) if activity is not None else expectation.query or ""


def _exact(key: str, wanted: Any, catalog: Catalog) -> Any:
    """Names of tools in the spelling of answers: an expectation may use either."""
    if key == "recommendation":
        return _public(wanted, catalog)
    if key in ("recommendation_in", "not_recommended", "not_in_results", "not_confident_except"):
        return [_public(name, catalog) for name in wanted]
    if key in ("in_top_k", "not_in_top_k"):
        return {**wanted, "tools": [_public(name, catalog) for name in wanted["tools"]]}
    return wanted


def _public(name: str | None, catalog: Catalog) -> str | None:
    pair = catalog.pair(name) if name is not None else None
    tool = catalog.tool(*pair) if pair is not None else None
    return name if tool is None else tool.public


def _recommended(answer: Answer) -> str | None:
    return (answer.get("recommendation") or {}).get("namespaced")


def _results(answer: Answer) -> list[str]:
    first = _recommended(answer)
    return [*([first] if first else []), *(one["namespaced"] for one in answer.get("alternatives", ()))]


def _detail(key: str) -> Callable[[Answer, Any], bool]:
    return lambda answer, wanted: bool((answer.get("recommendation") or {}).get(key) == wanted)


def _includes(answer: Answer, codes: Iterable[str]) -> bool:
    return set(codes) <= set(answer.get("reason_codes", ()))


def _excludes(answer: Answer, codes: Iterable[str]) -> bool:
    return not set(codes) & set(answer.get("reason_codes", ()))


_CHECKS: Mapping[str, Callable[[Answer, Any], bool]] = {
    "status": lambda answer, wanted: answer.get("status") in wanted,
    "recommendation": lambda answer, wanted: "error" not in answer and _recommended(answer) == wanted,
    "recommendation_in": lambda answer, wanted: _recommended(answer) in wanted,
    "not_recommended": lambda answer, wanted: _recommended(answer) not in wanted,
    "in_top_k": lambda answer, wanted: set(wanted["tools"]) <= set(_results(answer)[: wanted["k"]]),
    "not_in_top_k": lambda answer, wanted: not set(wanted["tools"]) & set(_results(answer)[: wanted["k"]]),
    "not_in_results": lambda answer, wanted: not set(wanted) & set(_results(answer)),
    "not_confident_except": lambda answer, wanted: (
        answer.get("status") != "confident" or _recommended(answer) in wanted
    ),
    "ambiguous": lambda answer, wanted: bool(answer.get("ambiguous")) == wanted,
    "confidence_in": lambda answer, wanted: answer.get("confidence") in wanted,
    "reason_codes_include": _includes,
    "reason_codes_exclude": _excludes,
    "required_fields": _detail("required_fields"),
    "argument_template_truncated": _detail("argument_template_truncated"),
    "alternatives_max": lambda answer, wanted: len(answer.get("alternatives", ())) <= wanted,
}
