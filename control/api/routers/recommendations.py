"""Resolve and route: which tool for this activity, which next step."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Router
from uuid_utils.compat import uuid7

from control.api.answers import answer, await_decision, outcome
from control.api.auth import caller, needs
from control.api.errors import id_of
from control.api.schemas import out
from control.api.schemas.recommendations import AdviceIn, ResolveIn, RouteIn
from routing.choices import DecisionState, DecisionType
from routing.generation import is_kept_fresh
from routing.models import Decision
from routing.services import decisions
from routing.services.decisions import Caller, resolve_worker

router = Router(tags=["recommendations"])


@router.post(
    "/resolve",
    auth=needs("decide"),
    summary="Which tool for this activity",
    operation_id="resolve",
    response={200: out.ResolveOut | out.TooLongOut, 202: out.PromiseOut, **out.ERRORS},
)
async def resolve(request: HttpRequest, data: ResolveIn) -> HttpResponse:
    who, query = caller(request), data.text()
    asked: dict[str, Any] = {"max_hits": data.max_hits, "tier": data.tier, "session_id": data.session_id}
    if await _lane(who) == "worker":
        return await _resolve_on_a_worker(request, who, query, asked, data.wait_ms)
    return answer(await sync_to_async(decisions.resolve)(who, query, explain=data.explain, **asked))


async def _lane(who: Caller) -> str:
    return decisions.resolve_lane(who) if is_kept_fresh() else await sync_to_async(decisions.resolve_lane)(who)


async def _resolve_on_a_worker(
    request: HttpRequest, who: Caller, query: str, asked: dict[str, Any], wait_ms: int
) -> HttpResponse:
    inline = await sync_to_async(_inline)(who, query, asked["max_hits"])
    if "error" in inline:
        return answer(inline)
    decision_id = str(uuid7())
    content = {"query": query, "max_hits": asked["max_hits"], "tier": asked["tier"]}

    def accept() -> Decision:
        return decisions.request(decision_id, DecisionType.RESOLVE, who, content, session_id=asked["session_id"])

    row = await await_decision(decision_id, accept, wait_ms)
    if row.state == DecisionState.FINISHED:
        return answer(resolve_worker.complete(row.answer or {}, inline))
    return outcome(row, id_of(request))


@router.post(
    "/advice",
    auth=needs("decide"),
    summary="Bounded advice for an activity, not decided twice",
    operation_id="advice",
    response={200: out.AdviceOut, **out.ERRORS},
)
async def advice(request: HttpRequest, data: AdviceIn) -> HttpResponse:
    activity = decisions.Activity(
        goal=data.goal,
        phase=data.phase,
        activity=data.activity,
        outcome=data.outcome,
        input_kinds=tuple(data.input_kinds),
        goal_id=data.goal_id,
    )
    failed = str(data.failed_decision_id) if data.failed_decision_id else None
    made = sync_to_async(decisions.advise)
    return answer(await made(caller(request), activity, reconsider=data.reconsider, failed_decision_id=failed))


@router.post(
    "/route",
    auth=needs("decide"),
    summary="Which next step, decided by a worker",
    operation_id="route",
    response={200: out.RouteOut, 202: out.PromiseOut, **out.ERRORS, **out.PROVIDER_ERRORS},
)
async def route(request: HttpRequest, data: RouteIn) -> HttpResponse:
    who, decision_id = caller(request), str(uuid7())
    asked = data.asked()
    row = await await_decision(decision_id, lambda: decisions.request_route(decision_id, who, asked), data.wait_ms)
    return outcome(row, id_of(request))


def _inline(who: Caller, query: str, max_hits: int | None) -> dict[str, Any]:
    return decisions.judge(who.live(), who, query, max_hits=max_hits, explain=False, tier="lexical").answer
