"""What people think of decisions: right, wrong, or which tool it should have been. Each has one opinion, and may change it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from routing.choices import LabelVerdict
from routing.engine.calibration import FAILURE, SUCCESS
from routing.errors import InvalidRequest, NotFound
from routing.models import Actor, Decision, Label, Workspace
from routing.services import audit
from routing.snapshot import live

logger = logging.getLogger(__name__)
NAMED = 20  # tools that a refusal lists


@transaction.atomic
def say(workspace: Workspace, decision_id: UUID, verdict: str, tool: str = "", *, by: Actor) -> Label:
    """Say what one thinks of a decision, in place of what one said of it before. `tool` is what it should have been.

    Raises NotFound, and InvalidRequest for a decision that is not made yet, no such verdict or no such tool.
    """
    decision = _found(workspace, decision_id)
    if not decision.is_final:
        raise InvalidRequest("This decision is not made yet.")
    if verdict not in LabelVerdict.values:
        raise InvalidRequest(
            "A decision is right or wrong.",
            [{"path": "verdict", "message": "is no verdict", "value": verdict[:200], "allowed": LabelVerdict.values}],
        )
    named = _tool(decision, tool.strip()) if verdict == LabelVerdict.WRONG and tool.strip() else ""
    if named and named == decision.target:
        raise InvalidRequest(
            f"{named} is what was recommended. Say that the decision is right, or name another tool.",
            [{"path": "tool", "message": "is what was recommended", "value": named[:200]}],
        )
    before = Label.objects.filter(decision=decision, person=by.person).first()
    label, _ = Label.objects.update_or_create(
        workspace=workspace,
        decision=decision,
        person=by.person,
        defaults={"verdict": verdict, "tool": named, "by": str(by), "at": timezone.now()},
    )
    if _facts(before) != _facts(label):
        _learn_again(workspace)
    audit.record(
        workspace.pk, "decision.labelled", f"decision {decision.pk}", by=by, before=_facts(before), after=_facts(label)
    )
    return label


@transaction.atomic
def take_back(workspace: Workspace, decision_id: UUID, *, by: Actor) -> None:
    """Have no opinion any more. Raises NotFound."""
    decision = _found(workspace, decision_id)
    label = Label.objects.filter(decision=decision, person=by.person).first()
    if label is None:
        raise NotFound("You have not labelled this decision.")
    label.delete()
    _learn_again(workspace)
    audit.record(workspace.pk, "decision.unlabelled", f"decision {decision.pk}", by=by, before=_facts(label))


def of(decision: Decision) -> list[Label]:
    """All opinions, the newest first."""
    return list(Label.objects.filter(decision=decision))


def as_outcomes(first: str, target: str | None, labels: Iterable[Label]) -> list[tuple[str, str]]:
    """What labels say of the tool that came first and of others, each (tool, status), as outcomes would.

    Where nothing was recommended, "right" says that the first tool rightly was not; "wrong" alone says nothing of it.
    """
    found: list[tuple[str, str]] = []
    for label in labels:
        if label.tool:
            found.append((label.tool, SUCCESS))
            if label.tool != first:
                found.append((first, FAILURE))
        elif label.verdict == LabelVerdict.RIGHT:
            found.append((first, SUCCESS if target else FAILURE))
        elif target:
            found.append((first, FAILURE))
    return found


def tools_for(decision: Decision) -> Sequence[str]:
    """Tools that it may have had to be: its candidates first, then the others of its scope as it is now."""
    catalog = live(decision.workspace_id).catalog
    candidates = [str(one["target"]) for one in decision.candidates if one.get("target")]
    others = [doc.public for doc in catalog.tools(decision.scope)] if decision.scope in catalog.scopes else []
    return list(dict.fromkeys([*candidates, *others]))


def _found(workspace: Workspace, decision_id: UUID) -> Decision:
    rows = Decision.objects.filter(workspace=workspace, pk=decision_id).defer("content", "answer", "execution")
    decision = rows.first()
    if decision is None:
        raise NotFound("There is no such decision here.")
    return decision


def _tool(decision: Decision, name: str) -> str:
    """The public name of a tool in either spelling, of those that it may have had to be."""
    catalog, known = live(decision.workspace_id).catalog, tools_for(decision)
    pair = catalog.pair(name)
    doc = catalog.tool(*pair) if pair else None
    public = doc.public if doc else name
    if public not in known:
        raise InvalidRequest(
            f"Scope {decision.scope} has no tool of this name, and it was no candidate.",
            [{"path": "tool", "message": "is no tool of the scope", "value": name[:200], "allowed": known[:NAMED]}],
        )
    return public


def _facts(label: Label | None) -> dict[str, Any]:
    return {} if label is None else {"verdict": str(label.verdict)} | ({"tool": label.tool} if label.tool else {})


def _learn_again(workspace: Workspace) -> None:
    """There is something new to fit the judge to."""
    Workspace.objects.filter(pk=workspace.pk).update(outcomes_new=F("outcomes_new") + 1)
