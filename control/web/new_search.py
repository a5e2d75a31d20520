"""Asking for a search: its graph as text or as rows, what is wrong with it beside its place; what is right goes to a worker."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from control.access import may
from control.api.errors import detail_of
from control.api.schemas.searches import SearchIn
from control.web.annotated import annotate
from control.web.search_graph import GraphRows, why_not
from routing import snapshot
from routing.errors import RoutingError
from routing.models import Workspace
from routing.services import searches

NEAR = 100  # characters of a broken line that are shown on each side of the place
MOST_TEXT = 1_048_576
EXAMPLE = {
    "root_state": "start",
    "states": [
        {"id": "start", "goal": "a green build", "tools": [{"name": "quick_fix"}, {"name": "find_cause"}]},
        {"id": "cause-known", "goal": "a green build", "tools": [{"name": "fix_cause"}]},
        {"id": "green", "goal": "a green build"},
    ],
    "transitions": [
        {"from_state": "start", "tool": "quick_fix", "to_state": "green", "reward": 0.4, "terminal": True},
        {"from_state": "start", "tool": "find_cause", "to_state": "cause-known", "reward": 0.0},
        {"from_state": "cause-known", "tool": "fix_cause", "to_state": "green", "reward": 1.0, "terminal": True},
    ],
    "method": "puct",
    "simulations": 512,
}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@may("search.run")
def new(request: Any, workspace: Workspace) -> HttpResponse:
    scopes = list(snapshot.live(workspace.pk).catalog.scopes)
    given = {
        "text": request.POST.get("search", json.dumps(EXAMPLE, indent=2)),
        "scope": request.POST.get("scope", "default"),
        "scopes": scopes,
    }
    if request.method != "POST":
        return render(request, "searches/new.html", given)
    document, problem = _document(given["text"])
    if problem:
        return render(request, "searches/new.html", given | problem, status=422)
    wanted = request.POST.get("do", "start")
    if request.POST.get("as") == "rows" and not why_not(document):
        given["rows"] = GraphRows.posted(document, request.POST)
        document = given["rows"].document
        given["text"] = _written(document)
    if wanted != "start":
        return _changed(request, given, document, wanted)
    return _started(request, workspace, given, document)


def _changed(request: HttpRequest, given: dict[str, Any], document: Any, wanted: str) -> HttpResponse:
    """The same graph in its other form, or with a row more or less."""
    rows = given.pop("rows", None)
    if wanted == "rows":
        problem = why_not(document)
        if problem:
            return _refused(request, given, None, [{"path": "", "message": problem}])
        rows = GraphRows(document)
    elif wanted == "text":
        rows = None
    elif rows is not None:
        rows.change(wanted)
        given["text"] = _written(rows.document)
    return render(request, "searches/new.html", given | {"rows": rows})


def _started(request: Any, workspace: Workspace, given: dict[str, Any], document: Any) -> HttpResponse:
    if given["scope"] not in given["scopes"]:
        return _refused(request, given, None, [{"path": "scope", "message": "is no scope of what is live"}])
    try:
        asked = SearchIn.model_validate(document).asked()
        row = searches.request_by_operator(workspace.pk, given["scope"], asked, by=request.actor)
    except ValidationError as error:
        details = [detail_of({**one, "loc": ("body", "data", *one["loc"])}) for one in error.errors()]
        return _refused(request, given, document, details)
    except RoutingError as error:
        return _refused(request, given, document, error.details or [{"path": "", "message": error.message}])
    return redirect("search", workspace.name, row.pk)


def _written(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)


def _document(text: str) -> tuple[Any, dict[str, Any] | None]:
    """What the text says; or, where it is no JSON, what to tell beside the line that breaks off."""
    if len(text.encode("utf-8", "surrogatepass")) > MOST_TEXT:
        return None, {"problems": [{"path": "", "message": "The text is longer than 1 MiB."}]}
    try:
        return json.loads(text, parse_constant=_refuse_constant), None
    except json.JSONDecodeError as error:
        place = f"Line {error.lineno}, column {error.colno}"
        problems = [{"path": "", "message": f"{place}: {error.msg.lower()}"}]
        return None, {"problems": problems, "broken_line": _around(text.split("\n")[error.lineno - 1], error.colno)}
    except (ValueError, RecursionError):
        return None, {"problems": [{"path": "", "message": "A number is not finite, or it is nested too deeply."}]}


def _around(line: str, column: int) -> str:
    """The line that breaks off; of a long one what stands around the place."""
    start = max(0, column - NEAR) if len(line) > 2 * NEAR else 0
    end = start + 2 * NEAR
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _refused(
    request: HttpRequest, given: dict[str, Any], document: Any, problems: Sequence[Mapping[str, Any]]
) -> HttpResponse:
    rows = given.get("rows")
    if rows is not None:
        rows.refuse(problems)
    lines = annotate(document, problems) if document is not None and rows is None else []
    return render(request, "searches/new.html", given | {"problems": problems, "lines": lines}, status=422)
