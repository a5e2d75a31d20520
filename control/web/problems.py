"""Pages for what went wrong, in the console's own language. They never show how the code looks inside."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.messages.storage.base import Message
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse

from control.web.context import theme_of
from control.web.forms.imports import LARGEST
from routing.errors import ReadOnlySource

OUT = ("/", "To the first page")


def _page(
    request: HttpRequest, status: int, title: str, say: str, art: str = "end", lead: tuple[str, str] = OUT
) -> HttpResponse:
    # A page of its own even for htmx: a problem is never swapped into the middle of another page.
    request_id = getattr(request, "request_id", "")
    context = {"heading": title, "say": say, "status": status, "art": art, "request_id": request_id, "lead": lead}
    return render(request, "problems/problem.html", context, status=status)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if isinstance(exception, RequestDataTooBig | TooManyFieldsSent):
        return _too_large(request, exception)
    return _page(
        request,
        400,
        "That request could not be read",
        "Go back and try again; if it happens twice, tell an administrator.",
    )


def _too_large(request: HttpRequest, exception: Exception) -> HttpResponse:
    """More than a form takes. It was not read, so nothing of it can be shown again: the browser has it."""
    if isinstance(exception, RequestDataTooBig):
        size = f"{(settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0) // 1024 // 1024} MiB"
        most = f"all that is written into a form may be {size} together, and a registry document or its text {LARGEST}"
    else:
        most = f"a form may hold {settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:,} fields"
    say = f"Nothing of it was read or saved: {most}. Go back, your browser keeps what you wrote, and send less at once."
    return _page(request, 413, "That is more than a form takes", say)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    say = str(exception) if exception and str(exception) else "Your role here does not include this."
    return _page(
        request, 403, "This is not for your role", f"{say} An administrator of the workspace can change roles.", "gap"
    )


class SessionOver(Http404):
    """There is no such session, as there is none of every one that decisions name after a while."""

    def __init__(self, listing: str) -> None:
        super().__init__()
        self.listing = listing


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if isinstance(exception, SessionOver):
        say = "Sessions are kept for as long as they last, a week at most, and this one has ended or was never here. Its decisions stay."
        return _page(request, 404, "This session is over", say, lead=(exception.listing, "To the sessions"))
    say = "It may have been renamed or retired, or it belongs to a workspace that you are not a member of."
    return _page(request, 404, "There is nothing here", say)


def nothing_to_undo(request: HttpRequest, draft: str) -> HttpResponse:
    """A change that the draft does not hold: whoever sent their undo twice is told so."""
    say = "This change is not in the draft any more: it was taken back already, or the draft was published or discarded since. Nothing was done."
    return _page(request, 404, "There is nothing to take back", say, lead=(draft, "To the draft"))


def server_error(request: HttpRequest) -> HttpResponse:
    say = "The fault is on our side and is written to the log. Nothing that you sent was half done: changes are saved whole or not at all."
    # Without the request: what broke may be the database, which the frame would ask who is signed in.
    context = {"heading": "Something broke", "say": say, "status": 500, "art": "gap", "theme": theme_of(request)}
    context["lead"] = OUT
    context["request_id"] = getattr(request, "request_id", "")
    return HttpResponse(render_to_string("problems/problem.html", context), status=500)


def kept_in_a_file(request: Any, refusal: ReadOnlySource) -> HttpResponse:
    """An edit of a registry that is changed in its file alone. Where a page asked in passing, it is told beside it."""
    if not getattr(request, "htmx", False):
        lead = (reverse("source", args=[request.workspace.name]), "To the source of truth")
        return _page(request, 409, "This registry is kept in a file", refusal.message, "gap", lead)
    toast = render(request, "shared/_toast.html", {"text": Message(messages.ERROR, refusal.message)}, status=409)
    toast["HX-Retarget"], toast["HX-Reswap"] = "#toasts", "beforeend"
    return toast


def csrf_failure(request: HttpRequest, reason: str = "", **kwargs: Any) -> HttpResponse:
    say = "The page was open for too long, or it was sent from somewhere else. Load it again and repeat what you did."
    return _page(request, 403, "This form is no longer valid", say, "gap")
