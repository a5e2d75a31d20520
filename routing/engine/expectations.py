"""Run what a document expects of itself: each expectation is asked, and the keys that come out differently are named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from routing.engine.activity import assemble
from routing.engine.catalog import Catalog
from routing.engine.errors import SearchGraphError
from routing.engine.recommend import resolve
from routing.engine.registry import Expectation
from routing.engine.search import SuppliedGraph, solve

Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What came of one expectation: the keys of `expect` that are not met, and what was answered instead."""

    name: str
    differs: tuple[str, ...] = ()
    status: str | None = None  # of the answer; None for a search, and for a query over the cap
    target: str | None = None  # what was recommended, or the tool that the search begins with

    @property
    def is_met(self) -> bool:
        return not self.differs


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> int:
        return sum(one.is_met for one in self.findings)

    @property
    def failed(self) -> tuple[Mapping[str, Any], ...]:
        """As `check` and the simulator answer them: `{"name", "differs": [keys]}`."""
        return tuple({"name": one.name, "differs": list(one.differs)} for one in self.findings if not one.is_met)


def run_expectations(catalog: Catalog) -> Report:
    """Ask the expectations of the catalog's own document, in their order."""
    away: dict[frozenset[str], Catalog] = {}

    def without(names: frozenset[str]) -> Catalog:
        if names not in away:
            away[names] = _without(catalog, names)
        return away[names]

    return Report(findings=tuple(find(one, without(frozenset(one.offline))) for one in catalog.registry.expectations))


def differences(expectation: Expectation, catalog: Catalog) -> list[str]:
    """The keys of `expect` that the answer does not meet."""
    return list(find(expectation, _without(catalog, expectation.offline)).differs)


def _without(catalog: Catalog, names: Iterable[str]) -> Catalog:
    """The catalog while these endpoints are away too."""
    offline = catalog.offline.union(names)
    return catalog if offline == catalog.offline else catalog.with_offline(offline)


def find(expectation: Expectation, catalog: Catalog) -> Finding:
    """Ask one expectation of a catalog from which what it takes for away is away: a search is solved exactly, everything
    else is resolved.
    """
    return _searched(expectation, catalog) if expectation.search is not None else _resolved(expectation, catalog)


def _resolved(expectation: Expectation, catalog: Catalog) -> Finding:
    hits = 5 if expectation.max_hits is None else expectation.max_hits
    answer = resolve(catalog, query_of(expectation), scope=expectation.scope, max_hits=hits)
    differs = tuple(
        key
        for key, wanted in expectation.expect.items()
        if key in _CHECKS and not _CHECKS[key](answer, _exact(key, wanted, catalog))
    )
    return Finding(name=expectation.name, differs=differs, status=answer.get("status"), target=_recommended(answer))


def _searched(expectation: Expectation, catalog: Catalog) -> Finding:
    """The best first step of the graph, under the bounds of the scope's policy. A graph that is none meets nothing."""
    asked: Mapping[str, Any] = expectation.search or {}
    bounds = catalog.policy(catalog.scope(expectation.scope).policy).mcts
    try:
        graph = SuppliedGraph(asked["states"], asked.get("transitions", ()))
        depth = min(asked.get("max_depth") or bounds["max_depth"], bounds["limits"]["depth_limit"])
        found = solve(graph, asked["root_state"], max_depth=depth, discount=bounds["discount"])
    except SearchGraphError:
        return Finding(name=expectation.name, differs=("search",))
    differs = () if found.decision.tool == expectation.expect.get("tool") else ("tool",)
    return Finding(name=expectation.name, differs=differs, target=found.decision.tool)


def graph_problems(search: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """What is wrong with the graph of an expectation, with paths below it; nothing where it can be searched."""
    try:
        SuppliedGraph(search.get("states", ()), search.get("transitions", ())).number_of(search.get("root_state", ""))
    except SearchGraphError as error:
        return error.problems
    return ()


def query_of(expectation: Expectation) -> str:
    """What is asked: the text, or the activity in the words in which it is resolved."""
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
