"""The workspaces of a person, and a new one for whoever runs the installation."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from control import members
from control.models import Membership
from control.web.forms.people import WorkspaceForm, refuse
from routing.errors import InvalidRequest
from routing.models import Actor


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: Any) -> HttpResponse:
    form = WorkspaceForm(request.POST if request.method == "POST" else None)
    if request.method == "POST":
        if not request.user.is_superuser:
            raise PermissionDenied("Only whoever runs the installation makes workspaces.")
        if form.is_valid() and (name := _made(request, form)):
            return redirect("overview", name)
    memberships = Membership.objects.active().filter(user=request.user).select_related("workspace__live_revision")
    context = {"memberships": memberships.order_by("workspace__name"), "form": form}
    return render(request, "workspaces/list.html", context, status=422 if form.errors else 200)


def _made(request: Any, form: WorkspaceForm) -> str:
    given, actor = form.cleaned_data, Actor(kind="operator", name=request.user.get_username())
    try:
        return members.open_workspace(given["name"], given["title"], request.user, by=actor).name
    except InvalidRequest as error:
        refuse(form, error.details, str(error))
        return ""
