"""Run a kept search (on a worker): the claim is held while it goes on, its progress is told, a wish to cancel ends it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db.models import F
from django.utils import timezone

from routing import bus
from routing.choices import DecisionState
from routing.engine import MCTSConfig, MCTSToolRouter, SuppliedGraph
from routing.engine.search.history import Evidence, Habit, learn
from routing.models import Decision, Search
from routing.services.decisions.claims import hold
from routing.services.decisions.messages import message
from routing.services.decisions.result import Result
from routing.services.searches import results
from routing.services.searches.history import sessions_of, tools_in
from routing.services.searches.prior import Opinion
from routing.services.searches.results import Task
from routing.services.searches.worker import Standing, Worker
from routing.snapshot import answering

MOST_RUNS = 3  # a search that its workers die of is not tried for ever
HOLD_EVERY_S = 3.0
LASTS_AT_MOST_S = 50 * 60  # the text of a request is erased after an hour


def decide_search(row: Decision, content: Mapping[str, Any]) -> Result:
    """Look ahead, and tell what was found. An exception of the search reaches the caller."""
    Search.objects.filter(pk=row.pk).update(runs=F("runs") + 1)
    row.revision = answering(row.workspace_id, row.scope, row.harness).revision
    search = Search.objects.get(pk=row.pk)
    if search.cancel_requested:
        columns = {"reason_codes": ["cancelled"]}
        return Result(state=DecisionState.CANCELLED, columns=columns, event=None)
    if search.runs > MOST_RUNS:
        died = f"{MOST_RUNS} workers died over this search"
        return Result(state=DecisionState.FAILED, columns={"error": died}, event=None)
    config = _within_the_hour(row, MCTSConfig(**content["config"]))
    if content["history"] is None:
        task = _supplied(row, content, config)
    else:
        learnt = _learnt(row, content, config)
        if not isinstance(learnt, Task):
            return results.without_evidence(row, config, learnt)
        task = learnt
    found = Worker(task.router, Lookout(row).look).run(task.root)
    return results.of_search(row, task, found)


def _supplied(row: Decision, content: Mapping[str, Any], config: MCTSConfig) -> Task:
    graph = SuppliedGraph(content["states"], content["transitions"])
    present = answering(row.workspace_id, row.scope, row.harness)
    opinion = Opinion(present, present.catalog.policy(row.policy)) if content["use_prior"] else None
    router = MCTSToolRouter(graph, policy_router=opinion, config=config)
    return Task(graph=graph, root=content["root_state"], config=config, router=router, opinion=opinion)


def _learnt(row: Decision, content: Mapping[str, Any], config: MCTSConfig) -> Task | tuple[Evidence, ...]:
    """The task; or the evidence alone, when there is too little of it."""
    asked = content["history"]
    catalog = answering(row.workspace_id, row.scope, row.harness).catalog
    limits, last = catalog.policy(row.policy).mcts["limits"], asked["last_action"]
    found = learn(
        sessions_of(row.workspace_id, row.scope, catalog),
        tools=tools_in(catalog, row.scope, asked["tools"]),
        last_action=None if last is None else catalog.names.public(last),
        min_count=asked["min_count"],
        max_depth=config.max_depth,
        max_states=limits["max_states"],
        max_transitions=limits["max_transitions"],
    )
    if found.graph is None:
        return found.evidence
    router = MCTSToolRouter(found.graph, policy_router=Habit(found) if content["use_prior"] else None, config=config)
    return Task(graph=found.graph, root=found.root, config=config, router=router, evidence=found.evidence)


def _within_the_hour(row: Decision, config: MCTSConfig) -> MCTSConfig:
    left_ms = (LASTS_AT_MOST_S - (timezone.now() - row.created_at).total_seconds()) * 1000
    wanted = config.deadline_ms if config.deadline_ms is not None else left_ms
    return replace(config, deadline_ms=max(1.0, min(wanted, left_ms)))


class Lookout:
    """Looks after a search that runs: holds its claim, writes down and tells how far it is, and sees a wish to cancel."""

    def __init__(self, row: Decision) -> None:
        self._row = row
        self._held = time.monotonic()

    def look(self, standing: Standing | None) -> bool:
        """False when the search is to end: somebody cancelled it, or another worker has it now."""
        if standing is not None:
            Search.objects.filter(pk=self._row.pk).update(
                simulations=standing.simulations, elapsed_ms=standing.elapsed_ms, tree=standing.tree
            )
            bus.tell([message(self._row, "search.progress")])
        if time.monotonic() - self._held > HOLD_EVERY_S:
            self._held = time.monotonic()
            if not hold(self._row):
                return False
        return not Search.objects.filter(pk=self._row.pk, cancel_requested=True).exists()
