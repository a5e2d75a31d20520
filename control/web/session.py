"""Sign in, sign out, and the theme: what a person settles with the console itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from axes.helpers import get_cool_off
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate, login, logout
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from control import gate, preferences
from control.web import setup
from control.web.context import THEME_COOKIE, THEMES
from routing.models import Workspace

# One text for an unknown name and for a wrong password: neither tells a guesser anything.
NO_MATCH = (
    "That name and password do not go together. After {limit} tries in a row, signing in waits for {minutes} minutes."
)
# What a form carries beside what somebody wrote: marks of what was read, which say nothing to a reader.
UNSAID = ("read", "seen", "found")
YEAR = 365 * 24 * 3600


def own_path(request: HttpRequest, given: str | None) -> str:
    """The path to go on to: one of this site's own, else the first page."""
    path = given or ""
    is_own = path.startswith("/") and url_has_allowed_host_and_scheme(path, allowed_hosts=None, require_https=False)
    return path if is_own else reverse("home")


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponseBase:
    if request.user.is_authenticated:
        return redirect(own_path(request, request.GET.get("next")))
    if request.method != "POST":
        return _page(request, next=request.GET.get("next", ""))
    name, password = request.POST.get("username", ""), request.POST.get("password", "")
    user = authenticate(request, username=name, password=password)
    held = request.POST.get("held", "")
    if user is None:
        return _page(request, next=request.POST.get("next", ""), held=held, username=name, problem=_no_match())
    login(request, user)
    back, sent = own_path(request, request.POST.get("next")), gate.released(held)
    context = {"sent": sent, "back": back, "unsaid": UNSAID}
    return render(request, "session/held.html", context) if sent else redirect(back)


def _no_match() -> str:
    return NO_MATCH.format(limit=settings.AXES_FAILURE_LIMIT, minutes=_minutes(get_cool_off()))


def _minutes(span: timedelta | None) -> int:
    return max(1, round((span or timedelta()).total_seconds() / 60))


def locked_out(request: HttpRequest, credentials: Any = None, *args: Any, **kwargs: Any) -> HttpResponse:
    """What axes answers while it refuses tries from here: when to come back, and nothing about the account."""
    span = get_cool_off(request) or timedelta()
    again = timezone.now() + span
    response = _page(
        request,
        next=request.POST.get("next", ""),
        held=request.POST.get("held", ""),
        username=request.POST.get("username", ""),
        locked=f"in {_minutes(span)} minutes, at {again:%H:%M} UTC",
        status=429,
    )
    response["Retry-After"] = str(int(span.total_seconds()))
    return response


def _page(request: HttpRequest, *, status: int = 200, **context: Any) -> HttpResponse:
    return render(request, "session/sign_in.html", context, status=status)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("sign-in")


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Keep the theme with the person, and in a cookie for the gate, so that no page flashes in the other one first."""
    chosen = request.POST.get("theme", "auto")
    response = redirect(own_path(request, request.POST.get("next")))
    if request.user.is_authenticated:
        preferences.choose_theme(request.user, chosen)
    if chosen in {choice["value"] for choice in THEMES}:
        response.set_cookie(
            THEME_COOKIE, chosen, max_age=YEAR, httponly=True, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE
        )
    return response


@require_POST
def zone(request: HttpRequest) -> HttpResponse:
    """Keep the zone in which a person reads times."""
    if not request.user.is_authenticated:
        return redirect("sign-in")
    chosen = request.POST.get("zone", "")[:64]
    if preferences.choose_zone(request.user, chosen):
        messages.success(request, f"Times are told in {chosen}")
    else:
        messages.error(request, "That time zone is not known. Nothing was changed.")
    return redirect(own_path(request, request.POST.get("next")))


@never_cache
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """To the first workspace of the person, to its setup while nothing is in it, or to the gate."""
    if not request.user.is_authenticated:
        return redirect("sign-in")
    first = Workspace.objects.visible_to(request.user).order_by("created_at").first()
    if first is None:
        return render(request, "session/no_workspace.html")
    return redirect("setup" if setup.leads(request.user, first) else "overview", first.name)
