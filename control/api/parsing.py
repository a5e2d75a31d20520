"""Bodies: JSON only, of bounded size, told apart from what cannot be read."""

from __future__ import annotations

from typing import Any

import orjson
from django.http import HttpRequest
from ninja.parser import Parser

from control.api.errors import RequestError

BODY_LIMIT = 1024 * 1024
REGISTRY_LIMIT = 16 * 1024 * 1024
_LARGE = ("/api/v1/registry", "/api/v1/simulate")


class JsonParser(Parser):
    def parse_body(self, request: HttpRequest) -> Any:
        limit = REGISTRY_LIMIT if request.path_info.startswith(_LARGE) else BODY_LIMIT
        if len(request.body) > limit:
            raise RequestError("too_large", f"The body has {len(request.body)} bytes; this call takes at most {limit}.")
        kind = request.content_type or ""
        if kind not in ("application/json", "") and not kind.endswith("+json"):
            raise RequestError("unsupported_media_type", "Send JSON with Content-Type: application/json.")
        return _object(request.body)


def _object(body: bytes) -> Any:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestError(
            "bad_json", f"The body is no JSON: {error.msg} at line {error.lineno} column {error.colno}."
        ) from None
    if not isinstance(value, dict):
        raise RequestError(
            "invalid_request", "The body must be a JSON object.", [{"path": "", "message": "must be an object"}]
        )
    return value
