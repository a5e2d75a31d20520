"""What the ledger knows of a scope's sessions: their calls in order, each with what came of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from routing.choices import DomainStatus, EventKind, TransportStatus
from routing.engine import Catalog, ToolDescriptor
from routing.engine.inference import describe_traits
from routing.engine.models import RiskLevel
from routing.engine.search.history import Invoked
from routing.models import ChainHead, Event

# How far back is looked: rows of the scope, and numbers of the chain among which they are found.
MOST_ROWS = 60_000
MOST_NUMBERS = 400_000
_KINDS = (EventKind.INVOCATION, EventKind.TRANSPORT_OUTCOME, EventKind.DOMAIN_OUTCOME)
_BY_DOMAIN = {DomainStatus.SUCCESS: 1.0, DomainStatus.PARTIAL: 0.5, DomainStatus.FAILURE: 0.0}
_BY_TRANSPORT = {TransportStatus.OK: 1.0, TransportStatus.ERROR: 0.0, TransportStatus.TIMEOUT: 0.0}


def sessions_of(workspace_id: Any, scope: str, catalog: Catalog) -> list[list[Invoked]]:
    """The newest calls of a scope by session, in their order, tools by public name. A call worked if its job was done; where
    nobody said, if it came back."""
    head = ChainHead.objects.filter(workspace_id=workspace_id).values_list("seq", flat=True).first() or 0
    rows = Event.objects.filter(
        workspace_id=workspace_id, scope=scope, kind__in=_KINDS, seq__gt=max(0, head - MOST_NUMBERS)
    )
    names = ("seq", "at", "kind", "event_id", "session_id", "invocation_id", "decision_id", "target", "status", "data")
    newest = list(rows.order_by("-seq").values(*names)[:MOST_ROWS])
    calls = [row for row in newest if row["kind"] == EventKind.INVOCATION and row["session_id"] and row["target"]]
    outcomes = _outcomes([row for row in newest if row["kind"] != EventKind.INVOCATION])
    by_session: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for call in sorted(calls, key=lambda row: (row["at"], row["seq"])):
        by_session[call["session_id"]].append(call)
    return [[_invoked(call, outcomes, catalog) for call in session] for session in by_session.values()]


Outcomes = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]


def _outcomes(rows: Sequence[Mapping[str, Any]]) -> Outcomes:
    """By the call that they name; those that name none, by their decision and target."""
    found: defaultdict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["invocation_id"]:
            found["", row["invocation_id"]].append(row)
        elif row["decision_id"]:
            found[row["decision_id"], row["target"]].append(row)
    return found


def _invoked(call: Mapping[str, Any], outcomes: Outcomes, catalog: Catalog) -> Invoked:
    own = [
        *outcomes.get(("", call["event_id"]), ()),
        *(outcomes.get((call["decision_id"], call["target"]), ()) if call["decision_id"] else ()),
    ]
    costs = [row["data"].get("cost") or 0.0 for row in (call, *own)]
    return Invoked(tool=catalog.names.public(call["target"]), worked=_worked(own), cost=float(max(costs)))


def _worked(own: Sequence[Mapping[str, Any]]) -> float | None:
    for kind, known in ((EventKind.DOMAIN_OUTCOME, _BY_DOMAIN), (EventKind.TRANSPORT_OUTCOME, _BY_TRANSPORT)):
        told = [known[row["status"]] for row in own if row["kind"] == kind and row["status"] in known]
        if told:
            return told[0]  # the newest
    return None


def tools_in(catalog: Catalog, scope: str, wanted: Sequence[str] | None) -> dict[str, ToolDescriptor]:
    """The tools that may be chosen, by public name: those of the scope that are available, or of them the wanted ones."""
    found: dict[str, ToolDescriptor] = {}
    names = None if wanted is None else {catalog.names.public(name) for name in wanted}
    for doc in catalog.tools(scope):
        if names is not None and doc.public not in names:
            continue
        traits = describe_traits(doc.tool)
        found[doc.public] = ToolDescriptor(
            name=doc.public,
            description=doc.tool.description,
            category=traits.category,
            risk=RiskLevel(traits.risk),
        )
    return found
