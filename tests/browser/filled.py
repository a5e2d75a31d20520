"""A workspace in which there is something of everything, with ordinary names and with names that try to leave their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from django.urls import reverse
from django.utils import timezone
from uuid_utils.compat import uuid7

from control.keys import create_key, rotate_key
from control.web.expecting import mark_of
from routing import snapshot, working
from routing.engine.policies import effective
from routing.engine.shadow_policy import KINDS as SHADOW_KINDS
from routing.engine.shadow_policy import SAME, WHY_NOT, Side, blocks_of
from routing.models import (
    Actor,
    CanaryRow,
    Decision,
    Inspection,
    Label,
    Replay,
    ShadowDifference,
    ShadowPolicy,
    Workspace,
)
from routing.models.actor import SYSTEM
from routing.services import entries, ledger, registry, remarks, replays, reviews, revisions
from routing.services.doctor import examinations, ignoring
from routing.services.ledger import Report
from routing.services.replays.findings import KINDS
from tests.cast import person
from tests.routing.conftest import DOCUMENT, EDITOR
from tests.web import crowd
from tests.web import test_walk as walk
from tests.web.test_walk import DECISION, DOORS, KEY, LOOK, SHADOW, known

WORDS = [
    {"name": "notes", "synonyms": ["much text", "نص طويل"], "keywords": ["book"], "prefer": ["hitspec", "notes"]},
    {"name": "gap"},
    {"name": "bygone", "deprecated": True, "replaced_by": "notes"},
]
RULES = [{"verdict": "ask", "effect": "erase"}, {"verdict": "deny", "tool": "shell__*"}]
POLICIES = [
    {"name": "default"},
    {"name": "careful", "extends": "default", "router": {"fallback_threshold": 0.7}, "execution": {"rules": RULES}},
]
MODEL = {
    "name": "m" * 64,
    "kind": "openai",
    "url": "https://models.example/v1",
    "credential": "env:MODEL_KEY",
    "model": "a-model",
    "context_window": 200_000,
    "cost_in": 0.25,
    "tags": ["t" * 40, "web"],
    "capabilities": [{"name": "notes", "level": 0.6}],
}
REMOTE = {"name": "remote", "kind": "mcp", "url": "https://mcp.example/mcp", "enabled": False}
PROVIDERS = [{"name": "jev", "kind": "compatible", "url": "https://decisions.example/v1", "credential": "env:JEV_KEY"}]
ODD_EXPECTATION = {
    "name": crowd.HOSTILE[:200],
    "activity": {"goal": crowd.HOSTILE, "phase": "p" * 60, "activity": "long " * 300, "input_kinds": [crowd.HOSTILE]},
    "endpoint": "hitspec",
    "note": crowd.HOSTILE,
    "expect": {
        "in_top_k": {"k": 10, "tools": ["notes__add_note", "odd__" + "n" * 256]},
        "alternatives_max": 10,
        "note": crowd.HOSTILE,
    },
}
EXPECTATIONS = [*walk.EXPECTATIONS, ODD_EXPECTATION]
FOUND = {"tools": [{"name": crowd.HOSTILE, "description": crowd.HOSTILE}, {"name": "read", "description": "Read"}]}


def document() -> dict[str, Any]:
    odd = crowd.hostile()
    hitspec, notes = DOCUMENT["endpoints"]
    carried = [{"name": "notes", "level": 0.6}, "elsewhere"]
    return {
        **DOCUMENT,
        "endpoints": [hitspec, {**notes, "capabilities": carried}, *odd["endpoints"], MODEL, REMOTE],
        "capabilities": [*WORDS, *odd["capabilities"]],
        "scopes": [*DOCUMENT["scopes"], odd["scopes"][1], {"name": "careful", "policy": "careful", "endpoints": []}],
        "policies": POLICIES,
        "providers": PROVIDERS,
        "expectations": EXPECTATIONS,
    }


def fill(workspace: Workspace, decide: Callable[..., str]) -> dict[str, Any]:
    """Put it all there; answers what stands for the doors' capitals, and under "odd" what does in the second walk."""
    person("the-viewer", workspace, "viewer")
    stranger = person("x" * 150, workspace, "editor")
    registry.replace_working_copy(workspace, document(), by=EDITOR)
    revisions.publish(workspace, message=crowd.HOSTILE, by=EDITOR)
    made = known(workspace, decide()) | {walk.SESSION: walk.a_session(workspace)}
    nothing = decide("bake a cake with cherries")
    _report(workspace, made[DECISION])
    hint = {"use_when": ["fetch a page", crowd.HOSTILE[:200]], "title": crowd.HOSTILE}
    entries.edit(workspace, "endpoints", "hitspec", hint, by=EDITOR)
    entries.edit(workspace, "endpoints", "notes", {"description": "long " * 400}, by=EDITOR)
    Workspace.objects.filter(pk=workspace.pk).update(approvals_needed=2, record_queries=True)
    proposal = registry.propose_draft(workspace, message="Say when to fetch", by=EDITOR)
    reviews.approve(workspace, proposal.number, comment="Reads well " + crowd.HOSTILE, by=_operator("ben"))
    answered = remarks.say(workspace, "endpoints[notes]", crowd.HOSTILE * 20, by=EDITOR)
    remarks.answer(workspace, answered.pk, "w" * 900, by=_operator("ben"))
    _replayed(workspace, made[DECISION])
    key, _ = create_key(workspace, "default", name="مفتاح <b>", allowed_addresses=["192.0.2.0/24"], by=SYSTEM)
    rotate_key(key, by=EDITOR)
    create_key(workspace, "web-only", name=_of_the_canary(), expires_days=1, by=SYSTEM)
    look = Inspection.objects.create(
        workspace=workspace, endpoint="remote", kind="discover", state="finished", said=crowd.HOSTILE * 5, found=FOUND
    )
    _examine(workspace)
    _label(made[DECISION])
    _shadowed(made[SHADOW], made[DECISION], nothing)
    CanaryRow.objects.update(
        reason=crowd.HOSTILE, ended_by=crowd.HOSTILE[:200], override=crowd.HOSTILE, ended_at=timezone.now()
    )
    tool = max((one["name"] for one in crowd.hostile()["endpoints"][0]["tools"]), key=len)
    odd = {
        DECISION: nothing,
        KEY: key.pk,
        LOOK: look.pk,
        "hitspec": "odd",
        "hitspec__fetch": f"odd__{tool}",
        "notes": "long-context",
        "web-only": "odd-only",
        "careful": "default",
        "the-viewer": stranger.username,
        walk.EXPECTED: mark_of(crowd.HOSTILE[:200]),
        2: proposal.number,
    }
    return {**made, "odd": odd}


def _of_the_canary() -> str:
    """A long name whose key the canary answers: which those are depends on the installation."""
    audience = snapshot.audience_of(CanaryRow.objects.get())
    return next(name for name in (f"{n:04}" + "n" * 60 for n in count()) if audience.holds("web-only", name))


def _shadowed(shadow: Any, *decisions: Any) -> None:
    """A shadow policy that found something of every kind."""
    row = ShadowPolicy.objects.get(pk=shadow)
    values = blocks_of(effective("careful", snapshot.live(row.workspace_id).catalog.registry.policies))
    row.base, row.values = values, {**values, "execution": {**values["execution"], "rules": []}}
    row.counts = {"default": dict.fromkeys((SAME, *SHADOW_KINDS), 12_345), "odd-only": {SAME: 3}}
    row.unjudged = dict.fromkeys(WHY_NOT, 2)
    row.by = "x" * 150
    row.save()
    tool = "odd__" + "n" * 200
    live = Side(status="selected", target=tool, verdict="allow", measure="confidence", value=0.912, bar=0.85)
    other = Side(status="fallback", reason="planner_confirmation", proposed=tool, measure="gap", value=0.1, bar=0.2)
    ShadowDifference.objects.bulk_create(
        ShadowDifference(
            shadow=row,
            decision_id=decision,
            at=row.began_at,
            scope="default",
            kind=kind,
            live=live.told(),
            other=other.told(),
        )
        for decision, kind in zip(decisions, ("would_fall_back", "other_verdict"), strict=True)
    )


def _replayed(workspace: Workspace, decision: str) -> None:
    """A replay of the draft as it is now that found something of every kind."""
    tool = "odd__" + "n" * 200
    sides = {"status": "ambiguous", "target": tool, "probability": 0.4, "gap": 0.2, "reasons": ["close_scores"]}
    one = {
        "count": 3,
        "before": {**sides, "status": "confident", "runner": None},
        "after": {**sides, "runner": tool},
        "scopes": ["default", "odd-only"],
        "because": ["endpoints[hitspec]", "capabilities[نص]"],
        "decisions": [decision],
        "gaps": [[0.2, 4.0], []],
        "gone": False,
    }
    result = {
        "compared": 20,
        "skipped": 2,
        "counts": {"same": 5},
        "flips": [],
        "flips_truncated": False,
        "kinds": dict.fromkeys(KINDS, 3),
        "groups": [{**one, "kind": kind} for kind in KINDS],
        "groups_truncated": False,
        "seconds": 0.3,
        "expectations": {"passed": 0, "failed": []},
    }
    Replay.objects.create(
        workspace=workspace,
        about=replays.DRAFT,
        by="x",
        against=snapshot.live(workspace.pk).revision,
        digest=working.copy_of(workspace).digest,
        state="finished",
        result=result,
    )


def _report(workspace: Workspace, decision: str) -> None:
    facts = [("invocation", "started"), ("transport_outcome", "ok"), ("domain_outcome", "failure")]
    reports = [
        Report(id=f"i{n}", kind=kind, target="hitspec__fetch", status=status, decision_id=decision)
        for n, (kind, status) in enumerate(facts)
    ]
    ledger.accept(workspace.pk, "default", "a-harness", reports)
    ledger.write(workspace.pk)


def _label(decision: str) -> None:
    """So many answers are labelled that the threshold lab draws them."""
    row = Decision.objects.get(pk=decision)
    for number in range(40):
        row.pk, row.probability, row.reason_codes = uuid7(), 0.5 + number / 100, ["clear_margin"]
        row.save(force_insert=True)
        verdict = "wrong" if number % 4 == 0 else "right"
        Label.objects.create(
            workspace=row.workspace,
            decision=row,
            verdict=verdict,
            person="x",
            by=crowd.HOSTILE[:200],
            at=row.created_at,
        )


def _examine(workspace: Workspace) -> None:
    """The hint doctor has looked, and somebody leaves one of its findings as it is."""
    examinations.make(workspace.pk)
    workspace.refresh_from_db()
    examined = examinations.of(workspace, examinations.draft_digest(workspace))
    assert examined is not None
    ignoring.ignore(workspace, examined.findings[-1]["key"], crowd.HOSTILE[:400], by=EDITOR)


def _operator(name: str) -> Actor:
    return Actor(kind="operator", name=name)


def addresses(made: dict[str, Any], walk: str) -> Iterator[tuple[str, str]]:
    """Name and path of every page of the console, as the table of its doors has them: with "plain" or with "odd" names."""
    odd = made["odd"] if walk == "odd" else {}
    for name, door in DOORS.items():
        if not door.get or (odd and not door.names):
            continue
        if name.startswith("inspection") and odd:
            names: list[Any] = ["remote", odd[LOOK]]
        else:
            names = [odd.get(one, made.get(one, one)) for one in door.names]
        yield name, reverse(name, args=["acme", *names])
