"""The threshold lab: what another threshold would have done to answers of which the outcome is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import may
from control.web import policies, policy_settings, toasts
from control.web.filters import Filters
from control.web.policy_settings import Layers
from routing import working
from routing.engine import lab
from routing.engine.lab import Bin, Judged, Point
from routing.engine.policies import EFFECTS, known_policies
from routing.errors import RoutingError
from routing.models import Workspace
from routing.services import edits, entries
from routing.services.lab import evidence

ASKED = ("policy", "effect", "at", "wrong", "ask")
USUAL = {"wrong": 10.0, "ask": 1.0}  # what a wrong answer costs, where asking costs 1
LEFT, RIGHT, TOP, BOTTOM = 44.0, 472.0, 10.0, 210.0  # of a drawing of 484 × 244
HIGHEST_COST = 1_000_000.0


@require_safe
@vary_on_headers("HX-Request")
@may("registry.view")
def page(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    template = "lab/page.html" + ("#lab" if request.htmx else "")  # type: ignore[attr-defined]
    return render(request, template, _told(request, workspace))


def _told(request: HttpRequest, workspace: Workspace) -> dict[str, Any]:
    filters = Filters.read(request, reverse("lab", args=[workspace.name]), ASKED)
    written = working.copy_of(workspace).registry.policies
    known = sorted(known_policies(written))
    policy = filters.chosen.get("policy", "default")
    policy = policy if policy in known else "default"
    effect = filters.chosen.get("effect", "") if filters.chosen.get("effect") in EFFECTS else ""
    found, resolver = evidence(workspace, policy), Layers(policy, written).effective.resolver
    judged = [one for one in found.judged if effect in ("", one.effect)]
    present = _bar(resolver, effect)
    costs = {name: _cost(filters.chosen.get(name, ""), usual) for name, usual in USUAL.items()}
    chosen = _threshold(filters.chosen.get("at", ""), present)
    points = lab.curve(judged)
    return {
        "filters": filters,
        "policy": policy,
        "policies": [(name, found.policies.get(name, 0)) for name in known],
        "effect": effect,
        "effects": EFFECTS,
        "present": present,
        "at": chosen,
        "costs": costs,
        "count": len(judged),
        "fewest": lab.FEWEST,
        "point": lab.at(judged, chosen),
        "now": lab.at(judged, present),
        "classes": [_class(found.judged, resolver, one, chosen) for one in EFFECTS],
    } | (_drawn(filters, judged, points, chosen, present, costs) if points else {})


def _bar(resolver: Mapping[str, Any], effect: str) -> float:
    """From which probability on an answer is confident under a policy."""
    own = (resolver["risk_at"] or {}).get(effect)
    return max(float(resolver["confident_at"]), float(own or 0.0))


def _threshold(given: str, usual: float) -> float:
    found = _number(given)
    return usual if found is None else min(max(round(found, 2), 0.0), 1.0)


def _cost(given: str, usual: float) -> float:
    found = _number(given)
    return usual if found is None or not 0 <= found <= HIGHEST_COST else found


def _number(given: str) -> float | None:
    try:
        found = float(given)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _class(judged: Sequence[Judged], resolver: Mapping[str, Any], effect: str, chosen: float) -> dict[str, Any]:
    own = [one for one in judged if one.effect == effect]
    return {
        "effect": effect,
        "count": len(own),
        "enough": len(own) >= lab.FEWEST,
        "bar": _bar(resolver, effect),
        "point": lab.at(own, chosen),
    }


# --- drawings ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A line with the area that it may lie in, marks on it, and what is written beside its axes."""

    line: str
    area: str
    marks: Sequence[tuple[str, float, float, str]]  # shape, x, y, words
    ticks: Sequence[tuple[float, float, str]]  # place along, place upwards, words
    label: str
    levels: Sequence[tuple[float, str]] = ()  # place upwards and words, where they are others than along


def _drawn(
    filters: Filters,
    judged: Sequence[Judged],
    points: Sequence[Point],
    chosen: float,
    present: float,
    costs: Mapping[str, float],
) -> dict[str, Any]:
    best = lab.cheapest(points, **costs)
    return {
        "curve": _curve(points, lab.at(judged, chosen), lab.at(judged, present)),
        "price": _price(points, lab.at(judged, chosen), best, costs),
        "diagram": _reliability(lab.reliability(judged)),
        "best": best,
        "best_address": filters.address(at=f"{best.threshold:.2f}") if best else "",
        "rows": [{"point": one, "cost": one.cost(**costs)} for one in points[::5]],
        "cost_now": lab.at(judged, present).cost(**costs),
        "cost_at": lab.at(judged, chosen).cost(**costs),
        "cost_best": best.cost(**costs) if best else None,
    }


def _x(share: float) -> float:
    return round(LEFT + (RIGHT - LEFT) * share, 1)


def _y(share: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * min(max(share, 0.0), 1.0), 1)


def _path(places: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x} {y}" for x, y in places) if places else ""


def _area(upper: Sequence[tuple[float, float]], lower: Sequence[tuple[float, float]]) -> str:
    return f"{_path([*upper, *reversed(lower)])}Z" if upper else ""


def _ticks(words: Callable[[float], str]) -> list[tuple[float, float, str]]:
    return [(_x(share), _y(share), words(share)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _curve(points: Sequence[Point], chosen: Point, now: Point) -> Drawing:
    """Precision over coverage, with the interval of each."""
    drawn = [one for one in points if one.acted]
    marks = [(shape, one) for shape, one in (("no_match", now), ("confident", chosen)) if one.acted]
    return Drawing(
        line=_path([(_x(one.coverage), _y(one.precision or 0.0)) for one in drawn]),
        area=_area(
            [(_x(one.coverage), _y(one.interval.high)) for one in drawn],
            [(_x(one.coverage), _y(one.interval.low)) for one in drawn],
        ),
        marks=[(shape, _x(one.coverage), _y(one.precision or 0.0), f"{one.threshold:.2f}") for shape, one in marks],
        ticks=_ticks(_percent),
        label=f"Share of confident answers that were right, over the share of all answers that would be confident; at "
        f"{chosen.threshold:.2f} {_percent(chosen.precision or 0.0)} of {_percent(chosen.coverage)}",
    )


def _price(points: Sequence[Point], chosen: Point, best: Point | None, costs: Mapping[str, float]) -> Drawing:
    """Cost of one answer over the threshold."""
    highest = max(one.cost(**costs) for one in points) or 1.0
    marks = [(shape, one) for shape, one in (("confident", chosen), ("ambiguous", best)) if one is not None]
    return Drawing(
        line=_path([(_x(one.threshold), _y(one.cost(**costs) / highest)) for one in points]),
        area="",
        marks=[
            (shape, _x(one.threshold), _y(one.cost(**costs) / highest), f"{one.threshold:.2f}") for shape, one in marks
        ],
        ticks=_ticks("{:.2f}".format),
        levels=[(_y(share), f"{highest * share:.2f}") for share in (0.0, 0.5, 1.0)],
        label="Cost of one answer over the threshold"
        + (f", least at {best.threshold:.2f}" if best is not None else ""),
    )


def _reliability(bins: Sequence[Bin]) -> dict[str, Any]:
    """What was told against what came of it, with intervals; on the diagonal both are the same."""
    return {
        "bins": [
            {
                "x": _x(one.told),
                "y": _y(one.share),
                "low": _y(one.interval.low),
                "high": _y(one.interval.high),
                "bin": one,
            }
            for one in bins
        ],
        "ticks": _ticks(_percent),
        "from": (_x(0), _y(0)),
        "to": (_x(1), _y(1)),
        "label": "Share that was right, by the probability that was told: "
        + ", ".join(f"{_percent(one.told)} told, {_percent(one.share)} right" for one in bins),
    }


# --- proposing --------------------------------------------------------------------------------------------------------
@require_POST
@may("policy.edit")
def propose(request: Any, workspace: Workspace) -> HttpResponse:
    """Write a threshold into the policy of the draft: `confident_at`, or for one effect `risk_at`."""
    copy = working.copy_of(workspace)
    name, effect = request.POST.get("policy", ""), request.POST.get("effect", "")
    at, known = _number(request.POST.get("at", "")), known_policies(copy.registry.policies)
    back = reverse("lab", args=[workspace.name])
    if name not in known or at is None or not 0 <= at <= 1 or effect not in ("", *EFFECTS):
        messages.error(request, "Nothing was changed: choose a policy of the draft and a threshold from 0 to 1.")
        return redirect(back)
    bar = float(Layers(name, copy.registry.policies).effective.resolver["confident_at"])
    if effect and at < bar:
        messages.error(
            request, f"Nothing was changed: below confident_at, {bar:.2f}, a threshold for one effect has no say."
        )
        return redirect(back)
    try:
        _write(workspace, name, f"risk_at.{effect}" if effect else "confident_at", round(at, 2), request.actor)
    except RoutingError as error:
        messages.error(request, error.message)
        return redirect(back)
    what = f"{name}: {'risk_at ' + effect if effect else 'confident_at'} {at:.2f} in the draft"
    toasts.stepped(request, what, edits.latest(workspace, request.actor.person), back=back)
    return redirect("policy", workspace.name, name)


def _write(workspace: Workspace, name: str, key: str, value: float, by: Any) -> None:
    """As the policy's own form does: a policy that is there without being written down is written down."""
    copy, message = working.copy_of(workspace), "Threshold lab"
    body = policies.find(copy, name)
    changes = {"resolver": policy_settings.put(body.get("resolver") or {}, key, value, object())}
    if copy.entry("policies", name) is None:
        entries.add(workspace, "policies", body | changes, by=by, message=message)
    else:
        entries.edit(workspace, "policies", name, changes, read=entries.version(body), by=by, message=message)
