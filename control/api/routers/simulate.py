"""What a candidate document would answer, and what it would have answered: no event is made, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Router
from uuid_utils.compat import uuid7

from control.api.answers import answer, await_final, promise
from control.api.auth import needs
from control.api.errors import problem
from control.api.schemas import out
from control.api.schemas.simulate import SimulateDiffIn, SimulateResolveIn
from routing import working
from routing.choices import DecisionState
from routing.errors import InvalidRequest, NotFound
from routing.models import Replay, Workspace
from routing.services import replays, revisions, simulation
from routing.services.replays import Window

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


@router.post(
    "/simulate/diff",
    auth=needs("simulate"),
    summary="Recorded decisions that would change, made again by a worker",
    operation_id="simulate_diff",
    response={200: out.SimulateDiffOut, 202: out.PromiseOut, **out.ERRORS},
)
async def simulate_diff(request: HttpRequest, data: SimulateDiffIn) -> HttpResponse:
    replay_id = uuid7()
    row = await await_final(Replay, str(replay_id), lambda: _request(request, data, replay_id), data.wait_ms)
    if row.state == DecisionState.FAILED:
        details = [{"path": "id", "message": row.error or "failed", "value": str(row.pk)}]
        return problem(request, "unavailable", "The replay was kept but could not be made.", details)
    if not row.is_final:
        return promise(row, f"/api/v1/simulate/diff/{row.pk}", id=str(row.pk))
    return answer(replays.describe(row))


def _request(request: Any, data: SimulateDiffIn, replay_id: Any) -> Replay:
    workspace = _workspace(request)
    replays.refuse_unrecorded(workspace)
    document = data.registry
    if document is None:
        document = working.frozen(revisions.find(workspace, data.revision or 0))
    return replays.request(
        workspace,
        document,
        window=_seen(request, data.window.asked()),
        against=data.against,
        who=str(request.auth.actor),
        replay_id=replay_id,
    )


@router.get(
    "/simulate/diff/{replay_id}",
    auth=needs("simulate"),
    summary="A replay as it stands",
    operation_id="get_simulated_diff",
    response={200: out.SimulateDiffOut, **out.ERRORS},
)
async def get_simulated_diff(request: HttpRequest, replay_id: str) -> HttpResponse:
    return answer(replays.describe(await sync_to_async(_find)(request, replay_id)))


def _find(request: Any, replay_id: str) -> Replay:
    row = replays.find(_workspace(request), replay_id)
    if not _sees_all(request) and row.window["scopes"] != [request.auth.scope]:
        raise NotFound
    return row


def _seen(request: Any, window: Window) -> Window:
    """The window as far as the key sees: decisions of its own scope, and of all where it may read the registry."""
    if _sees_all(request):
        return window
    own = request.auth.scope
    problems = [
        {"path": f"window.scopes[{place}]", "message": "is no scope that this key sees", "value": name, "allowed": own}
        for place, name in enumerate(window.scopes or ())
        if name != own
    ]
    if problems:
        raise InvalidRequest(f"{problems[0]['path']}: {problems[0]['message']}", problems)
    return replace(window, scopes=(own,))


def _sees_all(request: Any) -> bool:
    return "registry.read" in request.auth.rights


def _workspace(request: Any) -> Workspace:
    return Workspace.objects.get(pk=request.auth.workspace_id)
