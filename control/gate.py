"""What somebody is answered who is not signed in, or not any more: the way to the gate, and back without losing what they sent."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.core import signing
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

SALT = "held"
MOST_BYTES = 512 * 1024  # of what is held, packed; a larger file is chosen again
HELD_FOR_S = 3600
_NOT_HELD = ("csrfmiddlewaretoken", "password")


def to_sign_in(request: HttpRequest) -> HttpResponseBase:
    """To the gate and back to this page. What a form sent is held until its sender has signed in again."""
    is_part = bool(request.headers.get("HX-Request"))
    if request.method in ("GET", "HEAD"):
        address = _gate(_page_of_part(request) if is_part else request.get_full_path())
        return _whole_page_to(address) if is_part else redirect(address)
    back = _page_of_part(request) if is_part else _referring_page(request)
    if is_part:  # the text is still in its field: the page says so itself
        return HttpResponse(status=401, headers={"HX-Reswap": "none"})
    context = {"next": back, "held": _held(request), "ended": True}
    return render(request, "session/sign_in.html", context, status=401)


def _gate(following: str) -> str:
    return f"{reverse('sign-in')}?{urlencode({'next': following})}"


def _whole_page_to(address: str) -> HttpResponseBase:
    response = redirect(address)
    response.status_code = 204
    response["HX-Redirect"] = address
    return response


def _page_of_part(request: HttpRequest) -> str:
    """The page that asked for a part of itself: whoever has signed in again wants to see the whole of it."""
    return _own(request, request.headers.get("HX-Current-URL", ""))


def _referring_page(request: HttpRequest) -> str:
    """The page that a form was on: its own address may answer to nothing but forms."""
    return _own(request, request.headers.get("Referer", ""))


def _own(request: HttpRequest, address: str) -> str:
    parts = urlsplit(address)
    if parts.netloc != request.get_host():
        return reverse("home")
    return parts.path + (f"?{parts.query}" if parts.query else "")


def _held(request: HttpRequest) -> str:
    """The form as it was sent, signed, so that nobody else can have a form sent in somebody's name."""
    fields = {name: values for name, values in request.POST.lists() if not any(word in name for word in _NOT_HELD)}
    packed = signing.dumps({"path": request.get_full_path(), "fields": fields}, salt=SALT, compress=True)
    return packed if fields and len(packed) <= MOST_BYTES else ""


def released(packed: str) -> dict[str, Any] | None:
    """What was held: the address that it was for, and the fields with their values. None when it is not ours or too old."""
    try:
        held: dict[str, Any] = signing.loads(packed, salt=SALT, max_age=HELD_FOR_S)
    except signing.BadSignature:
        return None
    return held
