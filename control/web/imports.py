"""Bring a file into the draft: read it, show what would happen, then take it; and the draft as a file.

Between the two steps the page carries the document that was read, signed, which holds no secrets; never the file.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from control.access import may
from control.web import exporting, toasts
from control.web.forms.imports import LARGEST, STRATEGY_WORDS, ImportForm, TakeForm
from routing import working
from routing.errors import ReadOnlySource, StaleDraft
from routing.formats import Import, read
from routing.formats.merging import STRATEGIES
from routing.models import Workspace
from routing.reviewing import changes_since
from routing.services import imports, registry

SALT = "import"
KEPT_FOR_S = 12 * 3600
MOST_CHOICES = 200  # entries that are decided one by one; the others follow the choice for all
ORDER = ("refused", "renamed", "updated", "added", "skipped")
CHANGED = "The draft has changed since you looked. This is what would happen now; nothing was taken yet."
TOO_OLD = "What was read is too old or is of another workspace. Choose the file again."


@require_safe
@may("registry.view")
def export(request: HttpRequest, workspace: Workspace, form: str) -> HttpResponse:
    return exporting.document(working.copy_of(workspace).document, form, f"{workspace.name}-draft")


@never_cache
@sensitive_post_parameters("text")
@require_http_methods(["GET", "HEAD", "POST"])
@may("registry.import")
def page(request: Any, workspace: Workspace) -> HttpResponse:
    if request.method != "POST":
        return _ask(request, ImportForm())
    if "found" not in request.POST:
        return _read(request, workspace)
    found = _unpacked(workspace, request.POST["found"])
    if found is None:
        form = ImportForm({})
        form.errors.clear()
        form.add_error(None, TOO_OLD)
        return _ask(request, form, 422)
    return _decide(request, workspace, found)


def _ask(request: Any, form: ImportForm, status: int = 200, result: Any = None) -> HttpResponse:
    seen = request.POST.get("seen") or registry.draft_digest(request.workspace)
    context = {"form": form, "largest": LARGEST, "result": result, "seen": seen}
    return render(request, "imports/new.html", context, status=status)


def _read(request: Any, workspace: Workspace) -> HttpResponse:
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return _ask(request, form, 422)
    content, filename = form.content()
    found = read(content, form.cleaned_data["format"], filename)
    strategy = form.cleaned_data["strategy"]
    if found.problems or found.document is None:
        result, _ = imports.look(workspace, found, strategy=strategy)
        return _ask(request, form, 422, result)
    return _show(request, workspace, found, strategy, {})


def _decide(request: Any, workspace: Workspace, found: Import) -> HttpResponse:
    form = TakeForm(request.POST)
    strategy = request.POST.get("strategy", "")
    strategy = strategy if strategy in STRATEGIES else "update"
    choices = _choices(request.POST)
    if problem := _unfit(form, request.POST):
        return _show(request, workspace, found, strategy, choices, why=problem, status=422)
    if request.POST.get("do") != "take":
        return _show(request, workspace, found, strategy, choices)
    given = form.cleaned_data
    try:
        result = imports.into_draft(
            workspace,
            found,
            strategy=strategy,
            choices=choices,
            seen=given["seen"],
            message=given["message"],
            by=request.actor,
        )
    except ReadOnlySource as error:
        return _show(request, workspace, found, strategy, choices, why=error.message, status=409)
    except StaleDraft:
        return _show(request, workspace, found, strategy, choices, why=CHANGED, status=409)
    if result["state"] == imports.REFUSED:
        return _show(request, workspace, found, strategy, choices, status=422)
    if result["state"] == imports.UNCHANGED:
        messages.info(request, "Nothing new: the draft says all of it already")
    else:
        toasts.drafted(request, "Imported into the draft", about="", back=reverse("publish", args=[workspace.name]))
    return redirect("publish", workspace.name)


def _unfit(form: TakeForm, sent: Any) -> str:
    """What is wrong with what was chosen; an entry for which nothing is chosen follows the choice for all."""
    if not form.is_valid() and "message" in form.errors:
        return "Shorten the message."
    chosen = {value for field, value in sent.items() if field.startswith("choice:") and value}
    if "strategy" in form.errors or not chosen <= set(STRATEGIES):
        return f"Choose one of {', '.join(STRATEGIES)}, for all and for each entry."
    return ""


def _choices(sent: Any) -> dict[tuple[str, str], str]:
    """Fields `choice:KIND:NAME` that name a strategy; others follow the choice for all."""
    found = {}
    for field, value in sent.items():
        kind, _, name = field.removeprefix("choice:").partition(":")
        if field.startswith("choice:") and value in STRATEGIES:
            found[kind, name] = value
    return found


def _show(
    request: HttpRequest,
    workspace: Workspace,
    found: Import,
    strategy: str,
    choices: dict[tuple[str, str], str],
    *,
    why: str = "",
    status: int = 200,
) -> HttpResponse:
    result, seen = imports.look(workspace, found, strategy=strategy, choices=choices)
    read = request.POST.get("seen", "")[:100]
    clashes = imports.clashes(workspace, found)
    counts = Counter(entry["action"] for entry in result["entries"])
    context = {
        "result": result,
        "rows": sorted(result["entries"], key=lambda entry: ORDER.index(entry["action"])),
        "counts": [(action, counts[action]) for action in ORDER if counts[action]],
        "ready": result["state"] != imports.REFUSED,
        "why": why,
        "since": changes_since(workspace, read) if read and read != seen else [],
        "seen": seen,
        "found": _packed(workspace, found),
        "strategy": strategy,
        "strategies": list(STRATEGY_WORDS.items()),
        "clashes": [
            {"kind": kind, "name": name, "choice": choices.get((kind, name), "")}
            for kind, name in clashes[:MOST_CHOICES]
        ],
        "more": max(0, len(clashes) - MOST_CHOICES),
        "message": request.POST.get("message", ""),
    }
    return render(request, "imports/look.html", context, status=status)


def _packed(workspace: Workspace, found: Import) -> str:
    return signing.dumps(asdict(found), salt=f"{SALT}:{workspace.pk}", compress=True)


def _unpacked(workspace: Workspace, packed: str) -> Import | None:
    """What an earlier step read; None when it is too old, not ours, or of another workspace."""
    try:
        return Import(**signing.loads(packed, salt=f"{SALT}:{workspace.pk}", max_age=KEPT_FOR_S))
    except signing.BadSignature:
        return None
