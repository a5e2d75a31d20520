"""Answers against a candidate document; nothing is stored and no event is made."""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Router

from control.api.answers import answer
from control.api.auth import needs
from control.api.schemas import out
from control.api.schemas.recommendations import SimulateResolveIn
from routing.services import simulation

router = Router(tags=["simulate"])


@router.post(
    "/simulate/resolve",
    auth=needs("simulate"),
    summary="Resolve against a candidate document",
    operation_id="simulate_resolve",
    response={200: out.SimulateResolveOut, **out.ERRORS},
)
async def simulate_resolve(request: HttpRequest, data: SimulateResolveIn) -> HttpResponse:
    questions = [
        simulation.Question(query=item.text(), max_hits=item.max_hits, explain=item.explain, tier=item.tier)
        for item in data.queries
    ]
    return answer(await sync_to_async(simulation.resolve)(data.registry, data.scope, data.offline, questions))
