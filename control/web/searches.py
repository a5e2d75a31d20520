"""Searches: the list, the page of one with its tree as it grows, and cancelling it."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import allows, may
from control.web import telling, words
from control.web.harness_sessions import short
from control.web.search_tree import draw, principal
from routing import listings
from routing.errors import NotFound
from routing.models import Decision, Workspace
from routing.services import searches

DRAWN = (24, 60, 150)  # nodes of the tree that are drawn
ZOOMS = ((0, "Fit"), (70, "70 %"), (100, "100 %"), (140, "140 %"))
METHOD_WORDS = {"exact": "exact", "puct": "PUCT", "best_path": "best path"}


@require_safe
@may("decision.view")
def listing(request: Any, workspace: Workspace) -> HttpResponse:
    rows = Decision.objects.filter(workspace=workspace, type="search").defer("content").select_related("search")
    after, before = _place(request.GET.get("after")), _place(request.GET.get("before"))
    page = listings.page_of(rows, key="pk", after=after, before=before)
    context = {
        "rows": [_line(row) for row in page.rows],
        "previous_page": f"?before={page.previous}" if page.previous else "",
        "next_page": f"?after={page.next}" if page.next else "",
        "previous_word": "Newer",
        "next_word": "Older",
        "may_run": allows(request.role, "search.run"),
    }
    return render(request, "searches/list.html", context)


def _place(given: str | None) -> uuid.UUID | None:
    try:
        return uuid.UUID(given or "")
    except ValueError:
        return None


def _line(row: Decision) -> dict[str, Any]:
    return {
        "decision": row,
        "short": short(str(row.pk)),
        "verdict": _verdict(row),
        "method": METHOD_WORDS.get(row.search.method, row.search.method),
        "instead": telling.instead(row),
    }


def _verdict(row: Decision) -> str:
    return row.status if row.state == "finished" and row.status else row.state


# --- one search -----------------------------------------------------------------------------------------------------
@require_safe
@never_cache
@vary_on_headers("HX-Request")
@may("decision.view")
def page(request: Any, workspace: Workspace, search: uuid.UUID) -> HttpResponse:
    row = _find(workspace, search)
    template = "searches/detail.html" + ("#facts" if request.htmx else "")
    context = _told(workspace, row, request.GET) | {"may_cancel": allows(request.role, "search.run")}
    return render(request, template, context)


def _find(workspace: Workspace, search: uuid.UUID) -> Decision:
    try:
        return searches.find(workspace.pk, None, str(search))
    except NotFound:
        raise Http404 from None


def _told(workspace: Workspace, row: Decision, asked: QueryDict) -> dict[str, Any]:
    told, tree = searches.describe(row), searches.tree_of(row)
    result: Mapping[str, Any] = told["result"] or {}
    line = result.get("principal_variation", ())
    look = Look(reverse("search", args=[workspace.name, row.pk]), asked)
    drawing = draw(tree, most=look.most, folded=look.folded, line=line)
    for node in drawing.nodes:
        node.address = look.fold(node.key)
    best = result.get("tool") or (principal(tree)[0]["tool"] if len(tree) > 1 else None)
    return {
        "decision": row,
        "search": told,
        "result": result,
        "short": short(str(row.pk)),
        "verdict": _verdict(row),
        "shape": words.badge(_verdict(row)).shape,
        "best": best,
        "say": _say(row, told, result, best),
        "method": METHOD_WORDS.get(told["method"], told["method"]),
        "weighs": told["method"] == "exact",
        "figures": _figures(told),
        "look": look,
        "drawing": drawing,
        "line": principal(tree, line),
        "first_steps": _first_steps(tree, result),
        "beside": _beside(result, best),
        "evidence": _evidence(told.get("evidence")),
        "stream": _stream(workspace, row),
    }


class Look:
    """How the tree is looked at: what is folded, how many nodes are drawn, how large; each a part of the address."""

    def __init__(self, path: str, asked: QueryDict) -> None:
        self._path = path
        self.folded = frozenset(filter(None, asked.get("fold", "")[:4000].split(".")))
        self.most = next((one for one in DRAWN if str(one) == asked.get("nodes")), DRAWN[0])
        self.zoom = next((one for one, _ in ZOOMS if str(one) == asked.get("zoom")), 0)

    @property
    def here(self) -> str:
        return self._address()

    def fold(self, key: str) -> str:
        """The address where this node is folded, or not any more."""
        return self._address(folded=self.folded ^ {key})

    @property
    def zooms(self) -> list[dict[str, Any]]:
        return [{"word": word, "address": self._address(zoom=one), "here": one == self.zoom} for one, word in ZOOMS]

    @property
    def sizes(self) -> list[dict[str, Any]]:
        return [{"word": one, "address": self._address(most=one), "here": one == self.most} for one in DRAWN]

    def _address(self, *, folded: Collection[str] | None = None, most: int = 0, zoom: int | None = None) -> str:
        query = {
            "fold": ".".join(sorted(self.folded if folded is None else folded)),
            "nodes": str(most or self.most),
            "zoom": str(self.zoom if zoom is None else zoom),
        }
        usual = {"fold": "", "nodes": str(DRAWN[0]), "zoom": "0"}
        given = {name: value for name, value in query.items() if value != usual[name]}
        return f"{self._path}?{urlencode(given)}" if given else self._path


def _say(row: Decision, told: Mapping[str, Any], result: Mapping[str, Any], best: str | None) -> str:
    if row.state == "queued":
        return "Kept, and waiting for a worker."
    if row.state == "running":
        return "leads so far." if best else "A worker has begun; the tree appears with its first steps."
    if row.state == "failed":
        return f"No result: {row.error or 'the search failed'}."
    if not result:
        return "Cancelled before anything was tried."
    if result["fallback"]:
        return words.reason(result["fallback_reason"]).sentence
    how = "is the best there is." if told["method"] == "exact" else _share(result)
    ended = {"deadline": " The deadline ended the search.", "cancelled": " It was cancelled; this is its best so far."}
    return how + ended.get(result["stopped_by"], "")


def _share(result: Mapping[str, Any]) -> str:
    visits = result["root_visits"]
    share = visits.get(result["tool"], 0) / (sum(visits.values()) or 1)
    best = max(result["root_values"].values()) == result["root_values"][result["tool"]]
    return f"holds {share:.0%} of the visits{' and the best value' if best else ''}."


def _figures(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    progress, cost = told["progress"], told["cost"]
    of, done = progress["of"], progress["simulations"]
    final = told["finished_at"] is not None
    asked = (told["result"] or {}).get("policy_evaluations", 0)
    return [
        {
            "word": "Simulations",
            "value": f"{done:,}" if of else "none",
            "of": f"of {of:,}" if of else "an exact search weighs every path",
            "width": round(100 * done / of, 2) if of else 100 * final,
        },
        {"word": "Time", "value": _time(progress["elapsed_ms"]), "of": "on the worker", "width": 100 * final},
        {
            "word": "Processor",
            "value": _time(cost["cpu_ms"]) if final else "–",
            "of": f"{cost['provider_requests']} provider requests" if final else "told at the end",
            "width": 100 * final,
        },
        {
            "word": "Prior asked",
            "value": f"{asked}",
            "of": "times" if final else "told at the end",
            "width": 100 * final,
        },
    ]


def _time(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds:.1f} ms"


def _first_steps(tree: Sequence[Mapping[str, Any]], result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The root's actions, as far as the tree shows them; those that it leaves out by their values alone."""
    steps = {node["tool"]: dict(node) for node in tree if node["depth"] == 1}
    for tool, value in result.get("root_values", {}).items():
        visits = result["root_visits"].get(tool, 0)
        steps.setdefault(tool, {"tool": tool, "visits": visits, "value": value, "prior": None, "reward": None})
    most = max((step["visits"] for step in steps.values()), default=0)
    for step in steps.values():
        step["width"] = round(100 * step["visits"] / most, 2) if most else 0
    return sorted(steps.values(), key=lambda step: (-step["visits"], -step["value"], step["tool"]))


def _beside(result: Mapping[str, Any], best: str | None) -> list[dict[str, Any]]:
    others = (("One step ahead only", result.get("one_step")), ("Exact optimum", result.get("exact")))
    return [
        {"word": word, "tool": other["tool"], "value": other["value"], "agrees": other["tool"] == best}
        for word, other in others
        if other
    ]


def _evidence(given: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]] | None:
    return None if given is None else [{**one, "before": one["from"]} for one in given]


def _stream(workspace: Workspace, row: Decision) -> str:
    return f"{reverse('live-events')}?{urlencode({'workspace': workspace.name, 'scope': row.scope})}"


@require_POST
@may("search.run")
def cancel(request: Any, workspace: Workspace, search: uuid.UUID) -> HttpResponse:
    row = _find(workspace, search)
    if row.is_final:
        messages.info(request, "It has ended already.")
    else:
        searches.cancel_by_operator(workspace.pk, str(search), by=request.actor)
        messages.success(request, "Cancelled. What it has found so far is kept.")
    return redirect("search", workspace.name, search)
