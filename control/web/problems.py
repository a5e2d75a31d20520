"""Pages for what went wrong, in the console's own language. They never show how the code looks inside."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from control.web.context import theme_of


def _page(request: HttpRequest, status: int, title: str, say: str, art: str = "end") -> HttpResponse:
    # A page of its own even for htmx: a problem is never swapped into the middle of another page.
    request_id = getattr(request, "request_id", "")
    context = {"heading": title, "say": say, "status": status, "art": art, "request_id": request_id}
    return render(request, "problems/problem.html", context, status=status)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page(
        request,
        400,
        "That request could not be read",
        "Go back and try again; if it happens twice, tell an administrator.",
    )


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    say = str(exception) if exception and str(exception) else "Your role here does not include this."
    return _page(
        request, 403, "This is not for your role", f"{say} An administrator of the workspace can change roles.", "gap"
    )


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    say = "It may have been renamed or retired, or it belongs to a workspace that you are not a member of."
    return _page(request, 404, "There is nothing here", say)


def server_error(request: HttpRequest) -> HttpResponse:
    say = "The fault is on our side and is written to the log. Nothing that you sent was half done: changes are saved whole or not at all."
    # Without the request: what broke may be the database, which the frame would ask who is signed in.
    context = {"heading": "Something broke", "say": say, "status": 500, "art": "gap", "theme": theme_of(request)}
    context["request_id"] = getattr(request, "request_id", "")
    return HttpResponse(render_to_string("problems/problem.html", context), status=500)


def csrf_failure(request: HttpRequest, reason: str = "", **kwargs: Any) -> HttpResponse:
    say = "The page was open for too long, or it was sent from somewhere else. Load it again and repeat what you did."
    return _page(request, 403, "This form is no longer valid", say, "gap")
