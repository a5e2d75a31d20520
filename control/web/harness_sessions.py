"""Sessions of harnesses: what goes on, what stands out, the evidence of one, and its reset."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import allows, may
from control.web import telling
from control.web.confirming import Confirmation, ask
from control.web.problems import SessionOver
from routing import listings
from routing.engine.config import RoutingConfig
from routing.engine.session import circuit_of
from routing.engine.shared_session import RESETS, Execution, Incident
from routing.errors import NotFound, Unavailable
from routing.models import Decision, Workspace
from routing.services import sessions
from routing.services.sessions import Session, limits

SHOWN = 200
SHOWN_DECISIONS = 50
STATES = (("", "All"), ("attention", "Needs attention"))
CIRCUIT = {
    "closed": ("confident", "Closed", "Circuit closed"),
    "open": ("deny", "Open", "Circuit open"),
    "half_open": ("ambiguous", "Half open", "Circuit half open"),
}
LOOP_WORDS = {
    "repeat": "the same action again and again",
    "alternation": "back and forth",
    "cycle": "round in a circle",
}
INCIDENTS = {
    "loop_repeat": ("deny", "Loop: the same action again and again"),
    "loop_alternation": ("deny", "Loop: back and forth between two actions"),
    "loop_cycle": ("deny", "Loop: round in a circle"),
    "circuit_opened": ("deny", "Circuit opened after too many fallbacks"),
    "circuit_closed": ("confident", "Circuit closed by a selection"),
    "reset_fallbacks": ("unknown", "Circuit reset"),
    "reset_all": ("unknown", "Steps, fallbacks and executions reset"),
}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@require_safe
@never_cache
@vary_on_headers("HX-Request")
@may("decision.view")
def listing(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    """The sessions under way, the newest first; those in a loop or with an open circuit alone where that is asked for."""
    try:
        found = sessions.newest(workspace.pk, SHOWN)
    except Unavailable as problem:
        return render(request, "sessions/list.html", {"away": problem.message}, status=503)
    now = time.time()
    rows = [_row(one, now) for one in found]
    attention = sum(row["attention"] for row in rows)
    wanted = "attention" if request.GET.get("state") == "attention" else ""
    context = {
        "rows": [row for row in rows if row["attention"] or not wanted],
        "state": wanted,
        "states": STATES,
        "total": len(rows),
        "attention": attention,
        "capped": len(found) == SHOWN,
    }
    return render(request, "sessions/list.html", context)


def _row(session: Session, now: float) -> dict[str, Any]:
    config = limits(session)
    state = session.shared.state
    circuit, loop = circuit_of(state, config, now), session.shared.loop(config)
    return {
        "session": session,
        "short": short(session.id),
        "began": moment(session.created_at),
        "ends": moment(session.expires_at),
        "steps": state.steps,
        "fallbacks": state.consecutive_fallbacks,
        "config": config,
        "spent": state.steps >= config.max_route_steps,
        "circuit": CIRCUIT[circuit],
        "loop": loop,
        "last": session.shared.executions[-1].tool if session.shared.executions else "",
        "attention": circuit == "open" or loop is not None or state.steps >= config.max_route_steps,
    }


@require_safe
@never_cache
@vary_on_headers("HX-Request")
@may("decision.view")
def page(request: Any, workspace: Workspace, session: UUID) -> HttpResponse:
    found = _find(workspace, session)
    template = "sessions/detail.html" + ("#facts" if request.htmx else "")
    return render(
        request, template, _told(workspace, found) | {"resets": allows(request.role, "harness_session.reset")}
    )


def _told(workspace: Workspace, session: Session) -> dict[str, Any]:
    row, config = _row(session, time.time()), limits(session)
    decisions = _decisions(workspace, session)
    return {
        **row,
        "say": _say(session, config, row),
        "shape": "denied" if row["attention"] else "confident",
        "figures": _figures(session, config),
        "executions": _evidence(session.shared.executions),
        "incidents": [_incident(one) for one in reversed(session.shared.incidents)],
        "decisions": [
            {"decision": one, "verdict": telling.verdict(one), "instead": telling.instead(one)} for one in decisions
        ],
        "more_decisions": len(decisions) == SHOWN_DECISIONS,
        "stream": f"{reverse('live-events')}?workspace={workspace.name}&scope={session.scope}",
    }


def _say(session: Session, config: RoutingConfig, row: Mapping[str, Any]) -> str:
    """What holds routes up, then what goes round."""
    loop = row["loop"]
    round_ = f"The latest executions: {LOOP_WORDS[loop.kind]}." if loop else ""
    return " ".join(filter(None, (_limit(session, config, row), round_))) or (
        "Within its limits: nothing repeats, and routes are decided."
    )


def _limit(session: Session, config: RoutingConfig, row: Mapping[str, Any]) -> str:
    circuit = row["circuit"][1]
    if row["spent"]:
        return "All steps are used: further routes are refused until the session is reset or ends."
    if circuit == "Open":
        after = config.circuit_half_open_seconds
        how = f"one route is let through after {after:g} s, or " if after else ""
        return f"After {session.shared.state.consecutive_fallbacks} fallbacks in a row routes are refused: {how}a reset closes it."
    if circuit == "Half open":
        return "The next route is let through, and closes the circuit if a tool is selected."
    return ""


def _figures(session: Session, config: RoutingConfig) -> list[dict[str, Any]]:
    state, now = session.shared.state, time.time()
    lasts = session.expires_at - session.created_at
    return [
        _figure("Steps", state.steps, config.max_route_steps),
        _figure("Fallbacks in a row", state.consecutive_fallbacks, config.max_consecutive_fallbacks),
        _figure("Executions kept", len(session.shared.executions), max(24, config.max_same_action_repeats + 1)),
        {
            "word": "Time",
            "value": lasting(max(0.0, now - session.created_at)),
            "of": f"of {lasting(lasts)}",
            "width": round(min(100.0, 100 * (now - session.created_at) / lasts), 2),
        },
    ]


def _figure(word: str, value: int, most: int) -> dict[str, Any]:
    return {
        "word": word,
        "value": f"{value:,}",
        "of": f"of {most:,}",
        "width": round(min(100.0, 100 * value / most), 2),
    }


def _evidence(executions: tuple[Execution, ...]) -> list[dict[str, Any]]:
    """Newest first; equal actions have the same mark, so that a loop is seen as a pattern."""
    marks: dict[tuple[str, str | None, str | None], str] = {}
    rows = []
    for one in executions:
        known = (one.tool, one.arguments, one.result_class)
        place = len(marks)
        mark = marks.setdefault(known, f"{LETTERS[place % 26]}{place // 26 or ''}")
        rows.append(
            {
                "tool": one.tool,
                "mark": mark,
                "arguments": "none" if one.arguments is None else one.arguments[:12],
                "result_class": one.result_class or "",
                "at": moment(one.at),
            }
        )
    return rows[::-1]


def _incident(one: Incident) -> dict[str, Any]:
    shape, word = INCIDENTS[one.kind]
    return {"shape": shape, "word": word, "at": moment(one.at), "tool": one.tool, "period": one.period, "by": one.by}


def _decisions(workspace: Workspace, session: Session) -> list[Decision]:
    """The newest of the session's own. Its id was made when it began, so no decision of it has a smaller one."""
    rows = listings.decisions(workspace).filter(scope=session.scope, pk__gt=UUID(session.id), session_id=session.id)
    return list(rows.order_by("-id")[:SHOWN_DECISIONS])


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@may("harness_session.reset")
def reset(request: Any, workspace: Workspace, session: UUID, what: str) -> HttpResponse:
    """Close the circuit, or forget steps and executions too: asked first, done on POST."""
    found = _find(workspace, session)
    if what not in RESETS:
        raise Http404
    away = reverse("session", args=[workspace.name, session])
    if request.method != "POST":
        return ask(request, _question(found, what, request.path, away))
    try:
        sessions.reset_by_operator(workspace.pk, found.id, what, by=request.actor)
    except (Unavailable, NotFound) as problem:
        messages.error(request, problem.message)
    else:
        messages.success(
            request, "The circuit is closed." if what == "fallbacks" else "The session starts from nought."
        )
    return redirect(away)


def _question(session: Session, what: str, action: str, away: str) -> Confirmation:
    state = session.shared.state
    everything = what == "all"
    stops = [f"{state.consecutive_fallbacks} fallbacks in a row are forgotten: routes are decided again."]
    if everything:
        count = len(session.shared.executions)
        stops += [f"{state.steps} steps and {count} executions are forgotten, and with them any loop."]
    return Confirmation(
        title=f"Reset {'everything of ' if everything else 'the circuit of '}session {short(session.id)}?",
        stops=stops,
        back="The harness is not told. What is forgotten does not come back; decisions and ledger stay as they are.",
        action=action,
        deed="Reset everything" if everything else "Close the circuit",
        keep="Leave it",
        away=away,
        harmless=not everything,
    )


def _find(workspace: Workspace, session: UUID) -> Session:
    try:
        return sessions.find_in_workspace(workspace.pk, str(session))
    except NotFound:
        raise SessionOver(reverse("sessions", args=[workspace.name])) from None


def lasting(seconds: float) -> str:
    """A span of time in its largest two units."""
    minutes = int(seconds // 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    hours, days = minutes // 60, minutes // 1440
    if days:
        return f"{days} d {hours % 24} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"


def short(id_: str) -> str:
    return f"{id_[:8]}-{id_[-4:]}"


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
