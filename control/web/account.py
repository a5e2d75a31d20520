"""A person's own account, and joining a workspace by an invitation."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from control import accounts, invitations
from control.models import Invitation, Membership
from control.web.forms.people import JoinForm, PasswordForm, refuse
from routing.errors import InvalidRequest
from routing.models import Actor

BACKEND = "django.contrib.auth.backends.ModelBackend"


def _actor(name: str) -> Actor:
    return Actor(kind="operator", name=name)


@never_cache
@sensitive_post_parameters()
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: Any) -> HttpResponse:
    """The account; posting changes the password."""
    form = PasswordForm(request.user, request.POST) if request.method == "POST" else PasswordForm(request.user)
    if request.method == "POST" and form.is_valid():
        accounts.change_password(
            request.user, form.cleaned_data["new_password1"], by=_actor(request.user.get_username())
        )
        update_session_auth_hash(request, request.user)
        messages.success(request, "The password is changed. Other browsers are signed out.")
        return redirect("account")
    memberships = Membership.objects.active().filter(user=request.user).select_related("workspace")
    context = {"form": form, "memberships": memberships.order_by("workspace__name")}
    return render(request, "account/page.html", context, status=422 if form.errors else 200)


@login_required
@require_POST
def sign_out_elsewhere(request: Any) -> HttpResponse:
    number = accounts.sign_out_everywhere(
        request.user, keep=request.session.session_key, by=_actor(request.user.get_username())
    )
    messages.success(request, f"{number} other {'session' if number == 1 else 'sessions'} ended")
    return redirect("account")


# --- joining --------------------------------------------------------------------------------------------------------
@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """What an invitation's link opens: make an account, or join with one's own."""
    found = invitations.find(token)
    if found is None:
        return render(request, "account/join.html", {"not_valid": invitations.NOT_VALID}, status=404)
    if request.method != "POST":
        return _offer(request, found, JoinForm())
    return (
        _join_as_oneself(request, found, token) if request.user.is_authenticated else _join_new(request, found, token)
    )


def _offer(
    request: HttpRequest, found: Invitation, form: JoinForm, *, status: int = 200, problem: str = ""
) -> HttpResponse:
    context = {"invitation": found, "form": form, "problem": problem, "here": request.get_full_path()}
    return render(request, "account/join.html", context, status=status)


def _join_as_oneself(request: Any, found: Invitation, token: str) -> HttpResponse:
    try:
        invitations.accept(token, request.user, by=_actor(request.user.get_username()))
    except InvalidRequest as error:
        return _offer(request, found, JoinForm(), status=422, problem=str(error))
    return redirect("overview", found.workspace.name)


def _join_new(request: HttpRequest, found: Invitation, token: str) -> HttpResponse:
    form = JoinForm(request.POST)
    if not form.is_valid():
        return _offer(request, found, form, status=422)
    name, password = form.cleaned_data["username"], form.cleaned_data["password1"]
    try:
        member = invitations.accept_as_new(token, name, password, by=_actor(name))
    except InvalidRequest as error:
        refuse(form, error.details, str(error))
        return _offer(request, found, form, status=422)
    login(request, member.user, backend=BACKEND)
    return redirect("overview", found.workspace.name)
