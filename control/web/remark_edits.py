"""Remarks on lines: the forms that make, answer and close them. Each leads back to the page and place that it was on."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from control.access import may
from control.web import publish, revisions
from control.web.forms.publish import CommentForm
from control.web.remarking import LONGEST_PATH, Asked
from routing.errors import NotFound, RoutingError
from routing.models import Remark, Workspace
from routing.services import remarks as service


@require_POST
@may("draft.propose")
def say(request: Any, workspace: Workspace) -> HttpResponse:
    """Say something about a line. What was written comes back in its field when it is not taken."""
    form = CommentForm(request.POST)
    path, line = request.POST.get("path", "")[:LONGEST_PATH], request.POST.get("line", "0")
    place = int(line) if line.isascii() and line.isdecimal() and len(line) < 5 else 0
    if not form.is_valid() or not path:
        wrong = str(next(iter(form.errors.get("comment", ["Say which change you mean."]))))
        return _again(
            request, workspace, Asked(path=path, line=place, text=request.POST.get("comment", ""), error=wrong)
        )
    revision = request.POST.get("revision", "")
    try:
        made = service.say(
            workspace,
            path,
            form.cleaned_data["comment"],
            line=place,
            quote=request.POST.get("quote", ""),
            number=int(revision) if revision.isascii() and revision.isdecimal() and len(revision) < 9 else None,
            by=request.actor,
        )
    except RoutingError as error:
        text = form.cleaned_data["comment"]
        return _again(request, workspace, Asked(path=path, line=place, text=text, error=error.message), 409)
    return _back(request, workspace, f"r-{made.pk}")


def _again(request: Any, workspace: Workspace, wanted: Asked, status: int = 422) -> HttpResponse:
    number = request.POST.get("page_of", "")
    if number.isascii() and number.isdecimal() and len(number) < 9:
        return revisions.show_again(request, workspace, int(number), wanted, status)
    return publish.show_again(request, workspace, wanted, status)


@require_POST
@may("draft.propose")
def answer(request: Any, workspace: Workspace, remark: UUID) -> HttpResponse:
    form = CommentForm(request.POST)
    if not form.is_valid():
        get_object_or_404(Remark, workspace=workspace, pk=remark)
        messages.error(request, str(form.errors["comment"][0]))
        return _back(request, workspace, f"r-{remark}")
    return _done(request, workspace, remark, lambda: service.answer(workspace, remark, _text(form), by=request.actor))


def _text(form: CommentForm) -> str:
    return str(form.cleaned_data["comment"])


@require_POST
@may("draft.propose")
def resolve(request: Any, workspace: Workspace, remark: UUID) -> HttpResponse:
    resolved = request.POST.get("resolved") != "no"
    return _done(
        request, workspace, remark, lambda: service.resolve(workspace, remark, resolved=resolved, by=request.actor)
    )


def _done(request: Any, workspace: Workspace, remark: UUID, deed: Any) -> HttpResponse:
    try:
        deed()
    except NotFound:
        raise Http404 from None
    except RoutingError as error:
        messages.error(request, error.message)
    return _back(request, workspace, f"r-{remark}")


def _back(request: HttpRequest, workspace: Workspace, part: str) -> HttpResponse:
    """To the page and the place that the form was on."""
    number, page = request.POST.get("page_of", ""), request.POST.get("page", "")
    is_number = number.isascii() and number.isdecimal() and len(number) < 9
    names = [workspace.name, int(number)] if is_number else [workspace.name]
    address = reverse("revision" if is_number else "publish", args=names)
    query = f"?{urlencode({'page': page})}" if page.isascii() and page.isdecimal() and page != "1" else ""
    return redirect(f"{address}{query}#{part}")
