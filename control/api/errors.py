"""Domain errors become one JSON shape here, and here alone status numbers are known."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, AuthorizationError, HttpError, ValidationError

from routing.engine.errors import RegistryError
from routing.errors import RoutingError

logger = logging.getLogger(__name__)

STATUS = {
    "bad_json": 400,
    "unauthenticated": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "stale_draft": 409,
    "superseded": 409,
    "needs_approval": 409,
    "expectations_failed": 409,
    "canary_running": 409,
    "source_read_only": 409,
    "source_unreadable": 409,
    "idempotency_conflict": 409,
    "replay_disabled": 409,
    "too_large": 413,
    "unsupported_media_type": 415,
    "invalid_request": 422,
    "invalid_registry": 422,
    "rate_limited": 429,
    "internal": 500,
    "provider_error": 502,
    "invalid_provider_response": 502,
    "unavailable": 503,
    "provider_unconfigured": 503,
    "provider_timeout": 504,
}
VALUE_LIMIT = 200
_SECRET = ("credential", "headers", "password", "key", "token", "authorization")


class RequestError(RoutingError):
    """A fault in how the request was sent, under a code of its own."""

    def __init__(self, code: str, message: str, details: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(message, details)
        self.code = code


class Forbidden(RoutingError):
    code = "forbidden"


def problem(request: HttpRequest, code: str, message: str, details: Sequence[Mapping[str, Any]] = ()) -> HttpResponse:
    """The one error shape: code for machines, sentence for people, every problem by its path."""
    return problem_of(id_of(request), code, message, details)


def id_of(request: HttpRequest) -> str:
    """The id that the middleware gave a request."""
    return str(getattr(request, "request_id", ""))


def problem_of(request_id: str, code: str, message: str, details: Sequence[Mapping[str, Any]] = ()) -> HttpResponse:
    body = {"error": {"code": code, "message": message, "details": list(details), "request_id": request_id}}
    response = JsonResponse(body, status=STATUS[code])
    if code == "unauthenticated":
        response["WWW-Authenticate"] = 'Bearer realm="switchyard"'
    return response


def register(api: NinjaAPI) -> None:
    """Give each kind of error its answer."""
    answers: dict[type[Exception], Callable[[HttpRequest, Any], HttpResponse]] = {
        RoutingError: lambda request, error: problem(request, error.code, error.message, _details(error.details)),
        RegistryError: lambda request, error: problem(
            request, "invalid_registry", "The registry document breaks its rules.", _details(error.problems)
        ),
        ValidationError: lambda request, error: _invalid(request, error.errors),
        AuthenticationError: lambda request, error: unauthenticated(request),
        AuthorizationError: lambda request, error: problem(request, "forbidden", "This key lacks the right."),
        Http404: lambda request, error: problem(request, "not_found", "There is no such thing here."),
        RequestDataTooBig: lambda request, error: problem(
            request, "too_large", "The body is larger than this call takes."
        ),
        HttpError: _http_error,
        Exception: _unexpected,
    }
    for kind, reply in answers.items():
        api.add_exception_handler(kind, reply)


async def unknown(request: HttpRequest, rest: str) -> HttpResponse:
    """Any address below /api that is no call."""
    return problem(request, "not_found", "There is no such call; /api/v1/openapi.json lists them all.")


def unauthenticated(request: HttpRequest) -> HttpResponse:
    return problem(request, "unauthenticated", "Send a valid key: Authorization: Bearer <key>.")


def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    if isinstance(error.__cause__, RoutingError):  # the library wraps what the parser of bodies raises
        return problem(request, error.__cause__.code, error.__cause__.message, _details(error.__cause__.details))
    code = next((code for code, status in STATUS.items() if status == error.status_code), "invalid_request")
    return problem(request, code, str(error))


def _unexpected(request: HttpRequest, error: Exception) -> HttpResponse:
    # The message of an unforeseen error may quote what was asked, so only its kind and place are logged.
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place else "unknown place"
    logger.error("unexpected %s at %s, request %s", type(error).__name__, where, getattr(request, "request_id", ""))
    return problem(request, "internal", "Something went wrong here; the request id helps to find it in the log.")


def _invalid(request: HttpRequest, errors: Sequence[Mapping[str, Any]]) -> HttpResponse:
    details = [detail_of(error) for error in errors]
    first = details[0] if details else {"path": "", "message": "is not valid"}
    message = f"{first['path'] or 'The body'}: {first['message']}" + (
        f" (and {len(details) - 1} more)" if len(details) > 1 else ""
    )
    return problem(request, "invalid_request", message, details)


def detail_of(error: Mapping[str, Any]) -> dict[str, Any]:
    path = path_of(error["loc"])
    detail: dict[str, Any] = {"path": path, "message": _sentence(error)}
    given = error.get("input")
    if isinstance(given, str | int | float | bool) and not _is_secret(path):
        detail["value"] = given[:VALUE_LIMIT] if isinstance(given, str) else given
    if "expected" in (context := error.get("ctx") or {}):
        detail["allowed"] = str(context["expected"]).replace("'", "")
    return detail


def _sentence(error: Mapping[str, Any]) -> str:
    known = {"missing": "is required", "extra_forbidden": "is not known here", "list_type": "must be a list"}
    known |= dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must be an object")
    if (error.get("ctx") or {}).get("min_length") == 1:
        known |= dict.fromkeys(("too_short", "string_too_short"), "must not be empty")
    text = str(known.get(str(error["type"]), error["msg"]))
    return text.removeprefix("Value error, ")


def path_of(loc: Sequence[Any]) -> str:
    """`("body", "data", "tools", 2, "risk")` → `tools[2].risk`: where it was sent and under which name is no part of it."""
    steps = list(loc[2:] if loc and loc[0] == "body" and len(loc) > 1 else loc[1:])
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def _is_secret(path: str) -> bool:
    return any(word in path.lower() for word in _SECRET)


def _details(details: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**detail, "value": detail["value"][:VALUE_LIMIT]} if isinstance(detail.get("value"), str) else dict(detail)
        for detail in details
    ]
