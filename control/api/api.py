"""Assembles the HTTP API for harnesses and scripts; nothing else."""

from __future__ import annotations

from typing import Any

from ninja import NinjaAPI
from ninja.errors import ValidationError, ValidationErrorContext

from control.api import errors
from control.api.parsing import JsonParser
from control.api.routers import ledger, recommendations, registry, searches, sessions, simulate, tools


class Api(NinjaAPI):
    def validation_error_from_error_contexts(
        self, error_contexts: list[ValidationErrorContext[Any]]
    ) -> ValidationError:
        """Keep the value that was sent, which the library drops: an error is to say what it met."""
        problems: list[dict[str, Any]] = []
        for context in error_contexts:
            source = context.model.__ninja_param_source__
            places = context.model.__ninja_flatten_map_reverse__
            found = context.pydantic_validation_error.errors(include_url=False)
            problems += [{**error, "loc": (source, *places.get(error["loc"], error["loc"]))} for error in found]
        return ValidationError(problems)


api = Api(
    title="Switchyard",
    version="1",
    description="Which tool, endpoint or model an agent should use next; what it did; and what is published.",
    docs_url=None,
    openapi_url="/openapi.json",
    parser=JsonParser(),
    urls_namespace="api",
)
errors.register(api)
api.add_router("", recommendations.router)
api.add_router("", searches.router)
api.add_router("", sessions.router)
api.add_router("", tools.router)
api.add_router("", simulate.router)
api.add_router("", ledger.router)
api.add_router("", registry.router)
