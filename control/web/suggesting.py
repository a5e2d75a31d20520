"""Expectations that suggest themselves: of decisions that people said something about, and what such a decision fills in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from control.access import allows
from control.web import expecting
from control.web.forms import expectations as forms
from control.web.forms.expectations import ExpectationForm
from routing.choices import DecisionType, LabelVerdict
from routing.errors import NotFound
from routing.models import Decision, Label, Workspace
from routing.services.recordings import reading

SHOWN, LOOKED_AT = 5, 60
RESOLVED = (DecisionType.RESOLVE.value, DecisionType.ADVICE.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """What people found a decision should come to, which no expectation of the draft says yet."""

    decision: Decision
    tool: str
    by: str
    verdict: str


def suggestions(workspace: Workspace, lines: Any) -> list[Suggestion]:
    """Of the last labels, newest first; one for each tool in each scope. `lines` are the expectations that there are."""
    said = {(line.scope, name) for line in lines if line.change != "removed" for name in expecting.named(line.body)}
    rows = Label.objects.filter(workspace=workspace, decision__type__in=RESOLVED).select_related("decision")
    found: dict[tuple[str, str], Suggestion] = {}
    for label in rows.defer("decision__content", "decision__answer", "decision__candidates")[:LOOKED_AT]:
        tool = meant(label.decision, label)
        if tool and (key := (label.decision.scope, tool)) not in said and key not in found:
            found[key] = Suggestion(decision=label.decision, tool=tool, by=label.by, verdict=label.verdict)
    return list(found.values())[:SHOWN]


def meant(decision: Decision, label: Label | None) -> str:
    """The tool that a decision should have come to, as far as is known."""
    if label is None or label.verdict == LabelVerdict.RIGHT:
        return decision.target or ""
    return label.tool


def decision_of(workspace: Workspace, given: str) -> Decision | None:
    """The decision that the address of a new expectation names."""
    try:
        return Decision.objects.filter(workspace=workspace, pk=UUID(given), type__in=RESOLVED).first()
    except ValueError:
        return None


def begun(decision: Decision) -> ExpectationForm:
    """A form with what a decision came to, or with what people say that it should have come to."""
    labels = list(Label.objects.filter(decision=decision))
    label = next((one for one in labels if one.tool), labels[0] if labels else None)  # who names a tool says more
    form, named = ExpectationForm.blank(scope=decision.scope), meant(decision, label)
    agreed = label is None or label.verdict == LabelVerdict.RIGHT
    if agreed and decision.status in dict(forms.STATUSES):
        form.status = [str(decision.status)]
    form.texts["endpoint"] = named.partition("__")[0]
    form.texts["name"] = f"{'As decided' if agreed else 'As it should be'}: {named or 'no tool'}"
    form.texts |= {"recommends": "this" if named else "none", "recommendation": named}
    if not agreed and not named:  # wrong, and nobody said what would be right
        form.texts |= {"recommends": "any", "name": ""}
        if decision.target:
            form.texts["not_recommended"] = decision.target
    return form


def has_text(request: Any, decision: Decision | None) -> bool:
    """Whether the text of a decision was recorded and this person may read it."""
    return decision is not None and allows(request.role, "query.read") and reading.has_text(reading.of(decision))


def fill_in_text(request: Any, workspace: Workspace, decision: Decision | None, form: ExpectationForm) -> None:
    """Put the recorded text into the form; the audit log is told that it was read."""
    if decision is None or not has_text(request, decision):
        return
    try:
        form.texts |= {"kind": "query", "query": reading.read(workspace, decision.pk, by=request.actor)}
    except NotFound:
        form.problems["query"] = "Its text is no longer kept; type what was asked."
