"""The playground: type what an agent is about to do, and see what live and draft make of it. Nothing is stored or recorded.

What is typed travels in the body of a POST alone; a link that shares it carries it behind the #, which no server sees.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from control.access import may
from control.web import figures, trying, words
from control.web.forms.playground import FORMS, Trial
from control.web.trying import Side
from routing import snapshot, working
from routing.engine import Catalog
from routing.engine.policies import known_policies
from routing.models import Revision, Workspace
from routing.services import compiling, playground, registry

PATIENCE_S = 0.1  # how long a page that asks again waits for a catalog that is being compiled
PATIENCE_WITHOUT_SCRIPT_S = 20.0
REVISIONS = 20
TOGGLES = 8
Document = dict[str, Any]


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@may("registry.view")
def page(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    trial = Trial.read(request.POST)
    compiling.draft(workspace, offline=trial.away, scope=trial.scope)  # begun while somebody is still typing
    context = _frame(workspace, trial) | {"asked": bool(trial.text) and trial.form != "endpoint"}
    if context["asked"]:
        context |= (_routed if trial.form == "route" else _ranked)(request, workspace, trial)
    return render(request, _template(request), context)


def _template(request: HttpRequest) -> str:
    if not _is_part(request):
        return "playground/page.html"
    return "playground/_flips.html" if request.POST.get("part") == "flips" else "playground/page.html#answer"


def _is_part(request: HttpRequest) -> bool:
    return request.method == "POST" and bool(request.htmx)  # type: ignore[attr-defined]


def _frame(workspace: Workspace, trial: Trial) -> Document:
    copy, live = working.copy_of(workspace), snapshot.live(workspace.pk)
    rows = Revision.objects.filter(workspace=workspace).exclude(number=live.revision).defer("manifest")
    known = {"default", *live.catalog.scopes, *(one.name for one in copy.registry.scopes)}
    return {
        "trial": trial,
        "texts": trial.texts,
        "forms": FORMS,
        "scopes": sorted(known),
        "policies": sorted(known_policies(copy.registry.policies)),
        "changes": registry.draft_change_count(workspace),
        "revisions": list(rows.order_by("-number")[:REVISIONS]),
        "live_revision": live.revision,
    }


# --- the two sides ------------------------------------------------------------------------------------------------------
Ask = Callable[[Catalog], Any]


def _sides(request: HttpRequest, workspace: Workspace, trial: Trial, ask: Ask) -> list[Side]:
    live = snapshot.answering(workspace.pk, trial.scope)
    note = f"revision {live.revision}" if live.revision else "nothing published yet"
    note += ", its canary" if live.is_canary else ""
    wanted = compiling.answering(workspace, offline=trial.away, scope=trial.scope)
    sides = [_side(request, "live", "Live", note, wanted, trial, ask)]
    if trial.against == "draft":
        number = registry.draft_change_count(workspace)
        note = (
            f"{number:,} {'change' if number == 1 else 'changes'} on revision {live.revision}" if number else "as live"
        )
        wanted = compiling.draft(workspace, offline=trial.away, scope=trial.scope)
        sides.append(_side(request, "other", "Draft", note, wanted, trial, ask))
    elif trial.against.isdecimal():
        row = Revision.objects.filter(workspace=workspace, number=int(trial.against)).first()
        if row is not None:
            wanted = compiling.revision(row, offline=trial.away, scope=trial.scope)
            sides.append(_side(request, "other", f"Revision {row.number}", str(row.state), wanted, trial, ask))
    return sides


def _side(
    request: HttpRequest, key: str, word: str, note: str, wanted: Future[Catalog], trial: Trial, ask: Ask
) -> Side:
    catalog = compiling.within(wanted, PATIENCE_S if _is_part(request) else PATIENCE_WITHOUT_SCRIPT_S)
    if catalog is None:
        return Side(key=key, word=word, note=note)
    if trial.scope not in catalog.scopes:
        return Side(key=key, word=word, note=note, problem=f"There is no scope {trial.scope} here.")
    found = ask(catalog)
    error = getattr(found, "answer", {}).get("error", "")
    return Side(key=key, word=word, note=note, resolution=None if error else found, problem=error)


def _ranked(request: HttpRequest, workspace: Workspace, trial: Trial) -> Document:
    weighs = not _is_part(request) or request.POST.get("part") == "flips"  # it takes longer than a ranking may
    spent = 0.0

    def ask(catalog: Catalog) -> Any:
        nonlocal spent
        began = time.perf_counter()
        found = playground.ranked(catalog, trial.scope, trial.text, weigh_hints=weighs)
        spent += time.perf_counter() - began
        return found

    sides = _sides(request, workspace, trial, ask)
    live, last, most = sides[0], sides[-1], trying.largest(sides)
    target = trial.why.partition(":")[2] or next((one.public for one in last.candidates), "")
    shown = next((side for side in sides if trial.why.startswith(f"{side.key}:")), last)
    return {
        "sides": [
            {
                "side": side,
                "rows": trying.rows(side, None if side is live else live, most),
                "needed": trying.needed(side),
                "first": side.candidates[0].public if side.candidates else "",
            }
            for side in sides
        ],
        "target": target,
        "points": trying.points(shown, target, trial.text),
        "weighs": weighs,
        "flips": trying.flips(sides),
        "waiting": any(side.resolution is None and not side.problem for side in sides),
        "spent": f"{1000 * spent:.1f} ms",
        "groups": _groups(sides),
        "toggles": _toggles(sides, trial.away),
        "expected": _expected(trial, last),
    }


def _groups(sides: Iterable[Side]) -> list[tuple[str, str]]:
    used = {
        words.FIELD_GROUPS.get(field, "f-text") for side in sides for one in side.candidates for field in one.fields
    }
    told = [group for group in words.GROUP_ORDER if group[0] in used]
    return [*told, figures.ADJUSTMENTS] if told else []


def _toggles(sides: Iterable[Side], away: Iterable[str]) -> list[tuple[str, bool]]:
    """Endpoints whose being away may be tried: those that are, then those of the first candidates."""
    gone = dict.fromkeys(away, True)
    near = dict.fromkeys((one.endpoint for side in sides for one in side.candidates), False)
    return list((near | gone).items())[: TOGGLES + len(gone)]


def _expected(trial: Trial, side: Side) -> list[tuple[str, str]]:
    """The fields of an expectation that says what came out."""
    name = " ".join(trial.text.split())
    fields: list[tuple[str, str]] = [("name", name if len(name) <= 80 else f"{name[:79]}…"), *trial.asked().items()]
    fields += [("scope", trial.scope), ("offline", "\n".join(trial.away)), ("status", side.status)]
    named = side.recommended
    fields += [("recommends", "this" if named else "none"), ("recommendation", named)]
    return [*fields, ("endpoint", named.partition("__")[0])]


# --- a route ------------------------------------------------------------------------------------------------------------
def _routed(request: HttpRequest, workspace: Workspace, trial: Trial) -> Document:
    def ask(catalog: Catalog) -> Any:
        known = known_policies(catalog.registry.policies)
        return playground.routed(catalog, trial.scope, trial.policy, trial.state) if trial.policy in known else _NONE

    sides = _sides(request, workspace, trial, ask)
    return {
        "routes": [_route(side, trial) for side in sides],
        "waiting": any(side.resolution is None and not side.problem for side in sides),
    }


class _NoPolicy:
    """Stands for an answer where a side does not have the policy."""

    answer: Mapping[str, str]

    def __init__(self) -> None:
        self.answer = {"error": "There is no such policy here."}


_NONE = _NoPolicy()


def _route(side: Side, trial: Trial) -> Document:
    tried = side.resolution
    if tried is None:
        return {"side": side}
    decision = tried.decision
    likely = sorted(decision.probabilities.items(), key=lambda one: (-one[1], one[0]))[: trying.SHOWN]
    return {
        "side": side,
        "tried": tried,
        "decision": decision,
        "status": "fallback" if decision.fallback else "selected",
        "reason": words.reason(decision.fallback_reason) if decision.fallback_reason else None,
        "bars": figures.candidate_bars([{"target": n, "score": p} for n, p in likely], by_field=False, largest=1.0),
    }
