"""Assembles the HTTP API for harnesses and scripts; nothing else."""

from __future__ import annotations

from ninja import NinjaAPI

from control.api import errors
from control.api.parsing import JsonParser
from control.api.routers import ledger, recommendations, registry, simulate, tools

api = NinjaAPI(
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
api.add_router("", tools.router)
api.add_router("", simulate.router)
api.add_router("", ledger.router)
api.add_router("", registry.router)
