"""People of a workspace: who they are, asking somebody in, roles, and shutting somebody out."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from control import invitations, members
from control.access import allows, may
from control.models import Invitation, Membership
from control.web import confirming
from control.web.confirming import Confirmation
from control.web.forms.people import ROLE_WORDS, InviteForm, refuse
from routing.errors import InvalidRequest, NotFound
from routing.models import Workspace


@never_cache
@require_safe
@may("people.view")
def listing(request: HttpRequest, workspace: Workspace) -> HttpResponse:
    return _page(request, workspace)


def _page(request: Any, workspace: Workspace, *, status: int = 200, **more: Any) -> HttpResponse:
    manages = allows(request.role, "people.manage")
    rows = Membership.objects.filter(workspace=workspace).select_related("user").order_by("user__username")
    needle = request.GET.get("q", "").strip()[:150]
    found = rows.filter(user__username__icontains=needle.replace("\0", "")) if needle else rows
    context = {
        "rows": [{"member": row, "is_you": row.user_id == request.user.pk} for row in found],
        "total": rows.count(),
        "active": rows.active().count(),
        "needle": needle,
        "manages": manages,
        "roles": list(ROLE_WORDS.items()),
        "invited": _invited(workspace) if manages else [],
        "form": more.pop("form", None) or InviteForm(),
        "now": timezone.now(),
    }
    return render(request, "people/list.html", context | more, status=status)


def _invited(workspace: Workspace) -> list[Invitation]:
    return list(Invitation.objects.filter(workspace=workspace, accepted_at__isnull=True, withdrawn_at__isnull=True))


@never_cache
@require_POST
@may("people.manage")
def invite(request: Any, workspace: Workspace) -> HttpResponse:
    form = InviteForm(request.POST)
    if not form.is_valid():
        return _page(request, workspace, form=form, status=422)
    given = form.cleaned_data
    try:
        row, token = invitations.invite(workspace, given["label"], given["role"], days=given["days"], by=request.actor)
    except InvalidRequest as error:
        refuse(form, error.details, str(error))
        return _page(request, workspace, form=form, status=422)
    return _page(request, workspace, made=row, link=_link(request, token))


def _link(request: HttpRequest, token: str) -> str:
    return request.build_absolute_uri(reverse("join", args=[token]))


@never_cache
@require_POST
@may("people.manage")
def renew(request: Any, workspace: Workspace, invitation: Any) -> HttpResponse:
    try:
        row, token = invitations.renew(workspace, invitation, by=request.actor)
    except NotFound:
        raise Http404 from None
    except InvalidRequest as error:
        messages.error(request, str(error))
        return redirect("people", workspace.name)
    return _page(request, workspace, made=row, link=_link(request, token))


@require_POST
@may("people.manage")
def withdraw(request: Any, workspace: Workspace, invitation: Any) -> HttpResponse:
    return _do(
        request,
        workspace,
        lambda: invitations.withdraw(workspace, invitation, by=request.actor),
        "The invitation was withdrawn; its link is dead",
    )


@require_POST
@may("people.manage")
def role(request: Any, workspace: Workspace, username: str) -> HttpResponse:
    wanted = request.POST.get("role", "")
    return _do(
        request,
        workspace,
        lambda: members.change_role(workspace, username, wanted, by=request.actor),
        f"{username} is {wanted} now",
    )


def _do(request: Any, workspace: Workspace, act: Any, said: str) -> HttpResponse:
    try:
        act()
    except NotFound:
        raise Http404 from None
    except InvalidRequest as error:
        details = [str(detail["message"]) for detail in error.details]
        messages.error(request, details[0] if details else str(error))
    else:
        messages.success(request, said)
    return redirect("people", workspace.name)


@require_http_methods(["GET", "HEAD", "POST"])
@may("people.manage")
def deactivate(request: Any, workspace: Workspace, username: str) -> HttpResponse:
    if request.method == "POST":
        return _do(
            request,
            workspace,
            lambda: members.deactivate(workspace, username, by=request.actor),
            f"{username} is shut out of this workspace",
        )
    return _ask(
        request,
        workspace,
        username,
        title=f"Shut {username} out?",
        stops="sees nothing of this workspace from now on",
        back="Let them in again on this page; role and keys come back as they were.",
        deed="Shut out",
    )


def _ask(
    request: Any, workspace: Workspace, username: str, *, title: str, stops: str, back: str, deed: str
) -> HttpResponse:
    """Before somebody is out: what they lose, and their keys with them. The deed is posted to the question's own address."""
    member = _find(workspace, username)
    confirmation = Confirmation(
        stops=[f"{username} ({member.role}) {stops}.", *_keys(workspace, username)],
        action=request.path,
        keep="Keep them in",
        away=reverse("people", args=[workspace.name]),
        title=title,
        back=back,
        deed=deed,
    )
    return confirming.ask(request, confirmation)


def _find(workspace: Workspace, username: str) -> Membership:
    member = Membership.objects.filter(workspace=workspace, user__username=username).first()
    if member is None:
        raise Http404
    return member


def _keys(workspace: Workspace, username: str) -> list[str]:
    names = members.keys_made_by(workspace, username)
    return [f"Keys that act as {username} are refused: {confirming.named(names)}."] if names else []


@require_POST
@may("people.manage")
def reactivate(request: Any, workspace: Workspace, username: str) -> HttpResponse:
    return _do(
        request,
        workspace,
        lambda: members.reactivate(workspace, username, by=request.actor),
        f"{username} is in again",
    )


@require_http_methods(["GET", "HEAD", "POST"])
@may("people.manage")
def remove(request: Any, workspace: Workspace, username: str) -> HttpResponse:
    if request.method == "POST":
        return _do(
            request,
            workspace,
            lambda: members.remove(workspace, username, by=request.actor),
            f"{username} is no member any more",
        )
    return _ask(
        request,
        workspace,
        username,
        title=f"Remove {username} from this workspace?",
        stops="is no member any more",
        back="Only a new invitation brings them back. What they did stays in the audit log.",
        deed="Remove",
    )
