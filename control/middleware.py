"""Middleware. Ours is written for async; Django's own runs for the console only, so that API calls skip its thread hops."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any, cast

from asgiref.sync import iscoroutinefunction, sync_to_async
from axes.middleware import AxesMiddleware
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.decorators import sync_and_async_middleware
from django_htmx.middleware import HtmxMiddleware
from uuid_utils import uuid7
from whitenoise.middleware import WhiteNoiseMiddleware

from control.api.errors import problem
from control.web import problems
from routing.errors import ReadOnlySource
from routing.services import audit

GetResponse = Callable[[HttpRequest], Any]
Middleware = Callable[[HttpRequest], Any]
MACHINE_PATHS = ("/api/", "/healthz", "/readyz", "/metrics", "/v1/", "/mcp")
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


def is_for_machines(path: str) -> bool:
    """Whether a path belongs to harnesses and probes rather than to people at the console."""
    return path.startswith(MACHINE_PATHS)


def _around(get_response: GetResponse, before: Callable[..., None], after: Callable[..., None]) -> Middleware:
    if iscoroutinefunction(get_response):

        async def handle_async(request: HttpRequest) -> HttpResponseBase:
            before(request)
            response = await cast(Awaitable[HttpResponseBase], get_response(request))
            after(request, response)
            return response

        return handle_async

    def handle(request: HttpRequest) -> HttpResponseBase:
        before(request)
        response = cast(HttpResponseBase, get_response(request))
        after(request, response)
        return response

    return handle


@sync_and_async_middleware
def audit_origin(get_response: GetResponse) -> Middleware:
    """What a request does is told to the audit log under its id and address."""
    if iscoroutinefunction(get_response):

        async def handle_async(request: HttpRequest) -> HttpResponseBase:
            with _origin(request):
                return await cast(Awaitable[HttpResponseBase], get_response(request))

        return handle_async

    def handle(request: HttpRequest) -> HttpResponseBase:
        with _origin(request):
            return cast(HttpResponseBase, get_response(request))

    return handle


def _origin(request: HttpRequest) -> AbstractContextManager[None]:
    return audit.origin(request.request_id, request.META.get("REMOTE_ADDR") or "")  # type: ignore[attr-defined]


def id_for(given: str) -> str:
    """The id of a request whose sender proposes this one."""
    return given if _REQUEST_ID.fullmatch(given) else str(uuid7())


@sync_and_async_middleware
def request_id(get_response: GetResponse) -> Middleware:
    """Give each request an id (the caller's X-Request-Id when it is harmless) and send it back."""

    def before(request: HttpRequest) -> None:
        request.request_id = id_for(request.headers.get("X-Request-Id", ""))  # type: ignore[attr-defined]

    def after(request: HttpRequest, response: HttpResponseBase) -> None:
        response["X-Request-Id"] = request.request_id  # type: ignore[attr-defined]

    return _around(get_response, before, after)


@sync_and_async_middleware
def method_errors(get_response: GetResponse) -> Middleware:
    """Say of a method that a call does not have what other errors say, in their shape."""

    def after(request: HttpRequest, response: HttpResponseBase) -> None:
        if isinstance(response, HttpResponseNotAllowed) and request.path_info.startswith("/api/"):
            told = problem(request, "method_not_allowed", f"This call takes {response['Allow']}.")
            response.content = told.content
            response["Content-Type"] = told["Content-Type"]

    return _around(get_response, lambda request: None, after)


@sync_and_async_middleware
def security_headers(get_response: GetResponse) -> Middleware:
    """Set the content security policy and its companions on every answer."""

    def after(request: HttpRequest, response: HttpResponseBase) -> None:
        for name, value in SECURITY_HEADERS.items():
            response.headers.setdefault(name, value)

    return _around(get_response, lambda request: None, after)


@sync_and_async_middleware
def refused_edits(get_response: GetResponse) -> Middleware:
    """Any edit of the console may be refused because the registry is kept in a file; it is told in one way."""
    handle = _around(get_response, lambda request: None, lambda request, response: None)

    def process_exception(request: HttpRequest, error: Exception) -> HttpResponse | None:
        return problems.kept_in_a_file(request, error) if isinstance(error, ReadOnlySource) else None

    handle.process_exception = process_exception  # type: ignore[attr-defined]
    return handle


def _when(applies: Callable[[str], bool], inner: Callable[[GetResponse], Any]) -> Callable[[GetResponse], Middleware]:
    """Run a middleware of Django's only for the paths to which it applies."""

    @sync_and_async_middleware
    def factory(get_response: GetResponse) -> Middleware:
        wrapped = inner(get_response)
        if iscoroutinefunction(get_response):

            async def handle_async(request: HttpRequest) -> Any:
                # WhiteNoise answers a file at once; everything else answers by and by.
                answer = (wrapped if applies(request.path_info) else get_response)(request)
                return await answer if inspect.isawaitable(answer) else answer

            # AuthenticationMiddleware and others mark views through these hooks.
            _copy_hooks(wrapped, handle_async, applies)
            return handle_async

        def handle(request: HttpRequest) -> Any:
            return (wrapped if applies(request.path_info) else get_response)(request)

        _copy_hooks(wrapped, handle, applies)
        return handle

    return cast(Callable[[GetResponse], Middleware], factory)


def _copy_hooks(wrapped: Any, handle: Any, applies: Callable[[str], bool]) -> None:
    hook = getattr(wrapped, "process_view", None)
    if hook is None:
        return

    def process_view(request: HttpRequest, *args: Any) -> Any:
        return hook(request, *args) if applies(request.path_info) else None

    async def process_view_async(request: HttpRequest, *args: Any) -> Any:
        return await sync_to_async(hook)(request, *args) if applies(request.path_info) else None

    # Django would send a hook that is not async to a thread for every request, API calls included.
    handle.process_view = process_view_async if iscoroutinefunction(handle) else process_view


def _console(path: str) -> bool:
    return not is_for_machines(path) and not path.startswith("/static/")


static_files = _when(lambda path: path.startswith("/static/"), WhiteNoiseMiddleware)
console_session = _when(_console, SessionMiddleware)
console_common = _when(_console, CommonMiddleware)
console_csrf = _when(_console, CsrfViewMiddleware)
console_authentication = _when(_console, AuthenticationMiddleware)
console_messages = _when(_console, MessageMiddleware)
console_htmx = _when(_console, HtmxMiddleware)
console_throttle = _when(_console, AxesMiddleware)
