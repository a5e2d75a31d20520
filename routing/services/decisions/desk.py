"""Requests of an event loop that workers decide: kept, and looked after, many at a time."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import OperationalError

from routing.errors import Unavailable
from routing.models import Decision
from routing.services.decisions.queue import Request, keep
from routing.services.decisions.statements import select
from routing.together import Together


class Desk:
    def __init__(self) -> None:
        self._keeping = Together("keep-requests", _keep_all)
        self._looking = Together("look-after-requests", _look_at_all)  # does not wait for whoever writes

    async def keep(self, request: Request) -> Decision:
        """As `queue.keep`: its row is kept when this returns. Raises Unavailable."""
        await self._keeping.ask(request)
        return request.row

    async def look(self, decision_id: str) -> Decision:
        """What came of a request: a row with its state, answer and error alone."""
        return await self._looking.ask(decision_id)

    async def close(self) -> None:
        await self._keeping.close()
        await self._looking.close()


def _keep_all(requests: Sequence[Request]) -> list[bool | Exception]:
    try:
        keep(requests)
    except Unavailable as unavailable:
        if len(requests) == 1 or isinstance(unavailable.__cause__, OperationalError):
            return [unavailable] * len(requests)
        return [one for request in requests for one in _keep_all([request])]  # one of them spoils it for the others
    return [True] * len(requests)


def _look_at_all(decision_ids: Sequence[str]) -> list[Decision | Exception]:
    found = {row.pk: row for row in select(("id", "state", "answer", "error", "error_code"), decision_ids)}
    return [found.get(UUID(one)) or Decision.DoesNotExist() for one in decision_ids]
