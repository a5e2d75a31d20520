"""Settings of a workspace: how many approvals, who may approve, what may be called, what is recorded."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from control.access import allows, may
from control.web.forms.workspace import SettingsForm
from routing.models import Workspace
from routing.services import workspaces


@require_http_methods(["GET", "HEAD", "POST"])
@may("workspace.view", posts="workspace.configure")
def page(request: Any, workspace: Workspace) -> HttpResponse:
    """Everybody in the workspace may read its settings; administrators change them."""
    if request.method != "POST":
        return _show(request, workspace, SettingsForm.of(workspace))
    form = SettingsForm(request.POST, present=workspace.source_file)
    if not form.is_valid():
        return _show(request, workspace, form, 422)
    if form.cleaned_data["read"] != SettingsForm.mark(workspace):
        form.add_error(None, "Somebody changed the settings after you opened this page. Look at them again, then save.")
        form.data = {**request.POST.dict(), "read": SettingsForm.mark(workspace)}
        return _show(request, workspace, form, 409)
    changed = form.changed(workspace)
    if changed:
        workspaces.configure(workspace, changed, message=form.cleaned_data["message"], by=request.actor)
    messages.success(request, "Settings saved" if changed else "Nothing was changed")
    return redirect("settings", workspace.name)


def _show(request: HttpRequest, workspace: Workspace, form: SettingsForm, status: int = 200) -> HttpResponse:
    role = request.role  # type: ignore[attr-defined]
    now = Workspace.objects.get(pk=workspace.pk)
    context = {
        "form": form,
        "now": now,
        "may_configure": allows(role, "workspace.configure"),
        "roots": settings.SOURCE_ROOTS,
    }
    return render(request, "workspace/settings.html", context, status=status)
