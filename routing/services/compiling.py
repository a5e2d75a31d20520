"""Catalogs of documents that are not live: compiled beside the requests, once for each document, and kept for a while.

A draft of ten thousand tools takes a second. So it is made in a thread of its own; whoever asks gets it when it is there,
and may wait for a moment.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from functools import cache
from typing import Any

from routing import snapshot, working
from routing.engine import Catalog, load_registry, rank
from routing.models import Revision, Workspace
from routing.snapshot import Live

MOST = 6  # catalogs that a process keeps; they share what stayed the same
_kept: OrderedDict[Any, Future[Catalog]] = OrderedDict()
_lock = threading.Lock()


def draft(workspace: Workspace, *, offline: Iterable[str] = (), scope: str = "default") -> Future[Catalog]:
    """The draft, compiled or on its way."""
    copy = working.copy_of(workspace)
    live = snapshot.live(workspace.pk)
    return _of(live, copy.digest, copy.registry, offline, scope)


def revision(row: Revision, *, offline: Iterable[str] = (), scope: str = "default") -> Future[Catalog]:
    """A frozen document, compiled or on its way."""
    live = snapshot.live(row.workspace_id)
    return _of(live, row.digest, working.frozen(row), offline, scope)


def live(workspace: Workspace, *, offline: Iterable[str] = (), scope: str = "default") -> Future[Catalog]:
    """What is live, while some endpoints are away."""
    present = snapshot.live(workspace.pk)
    return _of(present, present.digest, present.catalog.registry, offline, scope)


def answering(workspace: Workspace, *, offline: Iterable[str] = (), scope: str = "default") -> Future[Catalog]:
    """What a scope is answered from, a canary's catalog where it is for the scope, while some endpoints are away."""
    present = snapshot.answering(workspace.pk, scope)
    return _of(present, present.digest, present.catalog.registry, offline, scope)


def within(wanted: Future[Catalog], seconds: float) -> Catalog | None:
    """The catalog, when it is there in time; raises what kept it from being made."""
    try:
        return wanted.result(timeout=seconds)
    except TookTooLong:
        return None


def _of(present: Live, digest: str, document: Any, offline: Iterable[str], scope: str) -> Future[Catalog]:
    away = frozenset(offline)
    if digest == present.digest and not away:
        ready: Future[Catalog] = Future()
        ready.set_result(present.catalog)
        return ready
    key = (present.workspace_id, digest, away, present.catalog.calibration)
    with _lock:
        found = _kept.get(key)
        if found is None or (found.done() and found.exception() is not None):
            found = _kept[key] = _pool().submit(_made, present.catalog, document, away, scope)
        _kept.move_to_end(key)
        while len(_kept) > MOST:
            _kept.popitem(last=False)
    return found


def _made(previous: Catalog, document: Any, away: frozenset[str], scope: str) -> Catalog:
    catalog = load_registry(document, previous=previous)
    known = {endpoint.name for endpoint in catalog.registry.endpoints}
    if here := away & known:
        catalog = catalog.with_offline(here)
    if scope in catalog.scopes:
        rank(catalog, "warm the index", scope=scope, limit=1)  # what the first question would wait for
    return catalog


@cache
def _pool() -> ThreadPoolExecutor:
    """One at a time: two would only slow each other down, and every request with them."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="compile")
